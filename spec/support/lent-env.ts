/** Variables of this process for the time of a spec, for code that reads the environment itself. */

import type { Test } from 'tap';

/** Sets the variables until the test ends. May be called again in the same test. */
export function lendEnv(t: Pick<Test, 'teardown'>, variables: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(variables)) {
    const before = process.env[name];
    process.env[name] = value;
    t.teardown(() => {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    });
  }
}
