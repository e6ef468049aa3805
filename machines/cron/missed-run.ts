/**
 * Decides what a job does next from the time and what was handled before: wait, fire, or skip. A missed due time is caught
 * up once and only within the job's grace; several are caught up by one firing, for the newest. Handled due times are never
 * handled again, wherever the clock is set.
 * @see CRN-1 in docs/specification.md
 */

import type { NextDue, Timing } from './job.ts';

export interface DueQuestion {
  readonly timing: Extract<Timing, { readonly kind: 'scheduled' }>;
  readonly nowMs: number;
  readonly graceMs: number;
  /** The start of intervals. */
  readonly anchorMs: number;
  /** Times up to which everything is handled: the last handled due time, and when the job was created or resumed. */
  readonly settledMs: readonly (number | undefined)[];
}

export type DueVerdict =
  | { readonly kind: 'waits'; readonly dueAtMs: number }
  /** `missedSinceMs` is the oldest due time that this firing replaces, if there are several. */
  | { readonly kind: 'fires'; readonly dueAtMs: number; readonly missedSinceMs?: number }
  /** All missed due times are too old; `dueAtMs` is the newest. */
  | { readonly kind: 'skips'; readonly dueAtMs: number; readonly missedSinceMs?: number }
  | { readonly kind: 'never' };

/**
 * A handled due time further ahead than this comes from a wrong clock; waiting for it would block the job, perhaps for
 * years. Its own claim still prevents firing it twice.
 */
const maxAheadMs = 86_400_000;

export function whatIsDue(question: DueQuestion, nextDue: NextDue): DueVerdict {
  const { timing, nowMs, graceMs, anchorMs } = question;
  const next = (afterMs: number): number | undefined => nextDue(timing.schedule, timing.zone, afterMs, anchorMs);
  const first = next(settledUntil(question));
  if (first === undefined) return { kind: 'never' };
  if (first > nowMs) return { kind: 'waits', dueAtMs: first };
  const inGrace = newestDue(next, Math.max(first, nowMs - graceMs), nowMs);
  const newest = inGrace ?? newestDue(next, first, nowMs) ?? first;
  const verdict = { kind: inGrace === undefined ? 'skips' : 'fires', dueAtMs: newest } as const;
  return first === newest ? verdict : { ...verdict, missedSinceMs: first };
}

/** Whether everything up to this time can be handled: false if it is more than a day ahead. */
export function isTrusted(atMs: number | undefined, nowMs: number): boolean {
  return atMs !== undefined && atMs <= nowMs + maxAheadMs;
}

/** The newest trusted time; the present if there is none. */
function settledUntil({ settledMs, nowMs }: DueQuestion): number {
  const trusted = settledMs.filter((atMs): atMs is number => isTrusted(atMs, nowMs));
  return trusted.length === 0 ? nowMs : Math.max(...trusted);
}

/** The newest due time between two times, inclusive; by bisection, because a job may be due every minute. */
function newestDue(next: (afterMs: number) => number | undefined, fromMs: number, toMs: number): number | undefined {
  let newest = next(fromMs - 1);
  if (newest === undefined || newest > toMs) return undefined;
  let low = newest;
  let high = toMs;
  // The newest is `newest` or the successor of a time in [low, high).
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2);
    const found = next(middle);
    if (found === undefined || found > toMs) high = middle;
    else {
      newest = found;
      low = found;
    }
  }
  return newest;
}
