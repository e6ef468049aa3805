/**
 * Numbers the deliveries in the order in which they are queued, across all chats. Unlike times, the numbers also rise
 * across restarts and when the clock is set back.
 * @see DLV-4 in docs/specification.md
 */

export interface QueueOrder {
  /** The number of the next delivery: the time in Unix milliseconds, unless the clock has been set back. */
  next(): number;
  /** The greatest number so far. */
  last(): number;
  /** Records a number from the journal. */
  saw(order: number): void;
}

export function createQueueOrder(nowMs: () => number): QueueOrder {
  let last = 0;
  return {
    next() {
      last = Math.max(Math.floor(nowMs()), last + 1);
      return last;
    },
    last: () => last,
    saw(order) {
      last = Math.max(last, order);
    },
  };
}
