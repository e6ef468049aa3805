/**
 * Makes the engine allocate short-lived objects in the young heap.
 * @see docs/decisions/0013-young-heap.md
 */

import { setFlagsFromString } from 'node:v8';

/**
 * By default the engine allocates objects in the old heap if those of the same kind outlived the young one at the start,
 * when that is small and mostly in use. A request's context there keeps its payload alive, long after the answer, until
 * the old heap is collected.
 */
export function makeObjectsYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
}
