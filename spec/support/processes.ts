/** What a spec must know of processes: whether one has ended, and a node process that a spec may kill. */

import { readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';

/** Whether a process runs no more: gone, or a zombie that nobody has fetched yet. */
export function hasEnded(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return true;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return /^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return process.platform === 'linux';
  }
}

/** Resolves once a condition holds; the spec's own time limit ends a wait in vain. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await wait(20);
}

/** Collects a stream; the returned function gives the text that has come so far. */
export function collected(stream: Readable | null): () => string {
  let text = '';
  stream?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  return () => text;
}

/** For specs that limit the processes of another user. */
export const asOther =
  process.platform === 'linux' && process.getuid?.() === 0
    ? {}
    : { skip: 'needs root, to limit the processes of another user' };

/** The whole numbers of a file, one a line; none while it is not there. */
export function numbersIn(path: string): number[] {
  try {
    const text = readFileSync(path, 'utf8');
    // A line without its end is still being written.
    return text
      .slice(0, text.lastIndexOf('\n') + 1)
      .split('\n')
      .filter(Boolean)
      .map(Number);
  } catch {
    return [];
  }
}
