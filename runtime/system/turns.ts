/**
 * Lets the moves of one thing come one after another: each begins where the one before has ended, also where that fell over
 * something, so that the last word is the one that stands.
 * @see CFG-2 in docs/specification.md
 */

/** Returns what queues a move, and resolves when it is over; never rejects. */
export function createTurns(fellOver: (thrown: unknown) => void): (move: () => Promise<void>) => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  return (move) => {
    last = last.then(move).catch(fellOver);
    return last;
  };
}
