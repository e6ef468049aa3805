/**
 * Runs the moves of one thing in order: each begins when the one before has ended or failed, so that the last one
 * decides.
 * @see CFG-2 in docs/specification.md
 */

/** Returns a function that queues a move and resolves when the move has ended; it never rejects. */
export function createTurns(fellOver: (thrown: unknown) => void): (move: () => Promise<void>) => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  return (move) => {
    last = last.then(move).catch(fellOver);
    return last;
  };
}

/** Items of a long list per turn of the event loop: about two milliseconds of requests to judge. */
export const itemsInTurn = 32;

export type NextTurn = (resume: () => void) => void;

/**
 * Visits all items in order, some in each turn of the event loop, so that other work can run in between. The first items
 * are visited before the call returns. A visit that returns false ends it.
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
