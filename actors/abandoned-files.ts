/**
 * Removes the temporary files of a process that was killed in the middle of a write. They may hold secrets. Never fails:
 * a file that cannot be removed is left.
 * @see HOME-3 in docs/specification.md
 */

import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** The names that `writeFilesAtomic` and `tryLock` give. */
const temporary = /\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp$/;
/** A write takes milliseconds, so a file of this age has no writer any more. */
const abandonedMs = 3_600_000;

/** @returns how many files were removed */
export async function sweepAbandoned(folders: readonly string[], nowMs: number): Promise<number> {
  let gone = 0;
  for (const folder of folders) {
    const names = await readdir(folder).catch(() => []);
    for (const name of names.filter((one) => temporary.test(one))) {
      const path = join(folder, name);
      const found = await stat(path).catch(() => undefined);
      if (found === undefined || nowMs - found.mtimeMs < abandonedMs) continue;
      gone += await rm(path).then(
        () => 1,
        () => 0,
      );
    }
  }
  return gone;
}
