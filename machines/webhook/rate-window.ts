/**
 * A fixed window of one minute that counts a route's requests. A reducer: takes a window and a time, returns the next
 * window.
 * @see LIM-2 in docs/specification.md
 */

export interface RateWindow {
  /** The number of the minute since the epoch. */
  readonly minute: number;
  readonly taken: number;
}

const windowMs = 60_000;

/** Whole seconds until the window ends, if it is full; undefined while there is room. */
export function secondsUntilFree(window: RateWindow | undefined, limit: number, nowMs: number): number | undefined {
  if (limit <= 0) return secondsLeft(nowMs);
  if (window === undefined || window.minute !== minuteOf(nowMs) || window.taken < limit) return undefined;
  return secondsLeft(nowMs);
}

/** The window after one more request; a new one if its minute is over. */
export function takeSlot(window: RateWindow | undefined, nowMs: number): RateWindow {
  const minute = minuteOf(nowMs);
  return { minute, taken: window?.minute === minute ? window.taken + 1 : 1 };
}

/**
 * One gateway's share of a route's limit in a minute; all shares add up to the limit. The remainder goes to another gateway
 * each minute.
 * @param place how many gateways there are, and the index of this one, from 0
 */
export function shareOf(
  limit: number,
  { of, at }: { readonly of: number; readonly at: number },
  nowMs: number,
): number {
  const hasMore = (at + minuteOf(nowMs)) % of < limit % of;
  return Math.floor(limit / of) + (hasMore ? 1 : 0);
}

function minuteOf(nowMs: number): number {
  return Math.floor(nowMs / windowMs);
}

function secondsLeft(nowMs: number): number {
  return Math.ceil((windowMs - (nowMs % windowMs)) / 1_000);
}
