/**
 * Numbers the deliveries in the order in which they are queued. The numbers rise across starts and when the clock is set back,
 * which times do not. Knows no chat.
 * @see DLV-4 in docs/specification.md
 */

export interface QueueOrder {
  /** The number of the next delivery: the time in Unix milliseconds where the clock has not been set back. */
  next(): number;
  /** The greatest number so far. */
  last(): number;
  /** Notes a number from the journal. */
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
