/** A home of its own for one spec: its files written, its folder gone at the end. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Test } from 'tap';

export interface TestHome {
  readonly path: string;
  write(name: string, text: string, mode?: number): void;
}

/** Makes a home with the given files, by their names in it. */
export function makeHome(t: Test, files: Readonly<Record<string, string>> = {}): TestHome {
  const path = mkdtempSync(join(tmpdir(), 'agent-spec-'));
  t.teardown(() => rmSync(path, { recursive: true, force: true, maxRetries: 10 }));
  const write = (name: string, text: string, mode = 0o600): void => {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), text, { mode });
  };
  for (const [name, text] of Object.entries(files)) write(name, text, /(^|\/)scripts\//.test(name) ? 0o700 : 0o600);
  return { path, write };
}
