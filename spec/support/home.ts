/** A home of its own for one spec: its files written, its folder gone at the end. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Test } from 'tap';

export interface TestHome {
  readonly path: string;
  write(name: string, text: string, mode?: number): void;
}

/** Resolves once a folder is gone. What a killed daemon leaves behind may still write there, and is on its way out. */
export async function removeFolder(path: string): Promise<void> {
  for (;;) {
    try {
      // Its own retries would not empty the folder again.
      rmSync(path, { recursive: true, force: true });
      return;
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw thrown;
      await wait(20);
    }
  }
}

/** Makes a home with the given files, by their names in it. */
export function makeHome(t: Test, files: Readonly<Record<string, string>> = {}): TestHome {
  const path = mkdtempSync(join(tmpdir(), 'agent-spec-'));
  t.teardown(() => removeFolder(path));
  const write = (name: string, text: string, mode = 0o600): void => {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), text, { mode });
  };
  for (const [name, text] of Object.entries(files)) write(name, text, /(^|\/)scripts\//.test(name) ? 0o700 : 0o600);
  return { path, write };
}
