/**
 * Remembers beside a store that it was closed in order and how its file then stood, so that the next start need not walk
 * through every page of it. The seal is broken by opening: after a crash, and wherever the file is another than the
 * sealed one, the store is looked through.
 * @see DUR-1 in docs/specification.md
 */

import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { privateFile, stampOf } from '../files.ts';
import { storePath } from './lmdb-faults.ts';

/** File systems tell times in ticks of up to ten milliseconds: a change within the tick of the last one would not show. */
const tickMs = 20;

/** Seals a store that nobody here holds open any more. One that cannot be sealed is looked through at the next start. */
export async function sealStore(directory: string): Promise<void> {
  const path = storePath(directory);
  try {
    const ageMs = Date.now() - statSync(path).mtimeMs;
    if (ageMs < tickMs) await wait(tickMs);
    writeFileSync(sealPath(directory), stampOf(path) ?? '', { mode: privateFile });
  } catch {
    // A disk that is full or may not be written any more; the seal is a convenience.
  }
}

/** Breaks the seal; true where it stood and the file is still the one that was sealed. */
export function breakSeal(directory: string): boolean {
  const isWhole = isSealed(directory);
  try {
    rmSync(sealPath(directory));
    return isWhole;
  } catch {
    return false;
  }
}

/** Whether the store was closed in order and its file is still the one that was sealed. */
export function isSealed(directory: string): boolean {
  try {
    const sealed = readFileSync(sealPath(directory), 'utf8');
    return sealed !== '' && sealed === stampOf(storePath(directory));
  } catch {
    return false;
  }
}

function sealPath(directory: string): string {
  return join(directory, 'closed');
}
