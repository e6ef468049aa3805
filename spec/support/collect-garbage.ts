/** Collects garbage now: what is held weakly must not be what a promise rests on, nor be counted as held. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (how?: { readonly type: 'minor' }) => void;

export async function collectGarbage(): Promise<void> {
  for (let round = 0; round < 5; round += 1) {
    collect();
    // Finalizers run between turns.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Empties the young heap: what is still in use moves to the old one. */
export function emptyYoungHeap(): void {
  // An object moves when it outlives its second collection.
  collect({ type: 'minor' });
  collect({ type: 'minor' });
}

/** The bytes on the heap and in buffers that something still holds. */
export function heldBytes(): number {
  // Buffers that one collection finds dead may be counted until the next begins.
  collect();
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
