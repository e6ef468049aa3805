/**
 * The clean-shutdown marker beside a store: it records the state of the file when it was closed in order, so that the
 * next start need not check every page. Opening removes it; after a crash, or if the file differs from the marker, the
 * store is checked.
 * @see DUR-1 in docs/specification.md
 */

import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { privateFile, stampOf } from '../files.ts';
import { storePath } from './lmdb-faults.ts';

/** File timestamps have ticks of up to ten milliseconds: a second change within a tick would not show. */
const tickMs = 20;

/** Writes the marker of a store that this process has closed. Without it, the next start checks the store. */
export async function sealStore(directory: string): Promise<void> {
  const path = storePath(directory);
  try {
    const ageMs = Date.now() - statSync(path).mtimeMs;
    if (ageMs < tickMs) await wait(tickMs);
    writeFileSync(sealPath(directory), stampOf(path) ?? '', { mode: privateFile });
  } catch {
    // The disk is full or not writable. The marker is only an optimization.
  }
}

/** Removes the marker; true if it existed and still matches the file. */
export function breakSeal(directory: string): boolean {
  const isWhole = isSealed(directory);
  try {
    rmSync(sealPath(directory));
    return isWhole;
  } catch {
    return false;
  }
}

/** Whether the store was closed in order and the marker still matches its file. */
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
