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

/** What one turn of the event loop takes of a long list: about two milliseconds of requests to judge. */
export const itemsInTurn = 32;

export type NextTurn = (resume: () => void) => void;

/**
 * Visits all items in order, a share of them in each turn of the event loop, so that other work comes between. The first
 * share is visited before the call returns. A visit that returns false ends it.
 * @see SRC-4 in docs/specification.md
 */
export function inTurns<Item>(
  items: readonly Item[],
  visit: (item: Item, index: number) => boolean,
  nextTurn: NextTurn = setImmediate,
): void {
  const from = (first: number): void => {
    const end = Math.min(first + itemsInTurn, items.length);
    for (let index = first; index < end; index += 1) if (!visit(items[index] as Item, index)) return;
    if (end < items.length) nextTurn(() => from(end));
  };
  from(0);
}
