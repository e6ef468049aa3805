/**
 * Does long work between other work, some pieces in each turn of the event loop.
 * @see CFG-2 and SUB-2 in docs/specification.md
 */

import type { Pieces } from '../machines/base/pieces.ts';

/** How long the pieces of one turn may block other work. */
const turnMs = 3;

/** Resolves with the result; undefined if it is no longer wanted. */
export async function inPieces<Result>(pieces: Pieces<Result>): Promise<Result>;
export async function inPieces<Result>(pieces: Pieces<Result>, isWanted: () => boolean): Promise<Result | undefined>;
export async function inPieces<Result>(pieces: Pieces<Result>, isWanted = () => true): Promise<Result | undefined> {
  for (;;) {
    await new Promise((resolve) => setImmediate(resolve));
    if (!isWanted()) return undefined;
    const endsAt = performance.now() + turnMs;
    do {
      const next = pieces.next();
      if (next.done === true) return next.value;
    } while (performance.now() < endsAt);
  }
}
