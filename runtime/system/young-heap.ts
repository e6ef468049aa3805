/**
 * Sees to it that what lives for a millisecond dies in the young heap.
 * @see docs/decisions/0013-young-heap.md
 */

import { setFlagsFromString } from 'node:v8';

/**
 * The engine makes objects in the old heap at once where those of the same kind outlived the young one at the start, when
 * that is small and most of what is in it is in use. There a request's context, long answered, holds on to its payload
 * until the old heap is collected.
 */
export function makeObjectsYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
}
