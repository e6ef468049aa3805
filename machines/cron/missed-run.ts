/**
 * Decides what a job does next from what time it is and what was handled before: waits, fires, or passes over what it
 * missed. A due time that was missed is made up for once, and only within the job's grace; of several the newest stands
 * for all. Due times that were handled are never handled again, wherever the clock is set.
 * @see CRN-1 in docs/specification.md
 */

import type { NextDue, Timing } from './job.ts';

export interface DueQuestion {
  readonly timing: Extract<Timing, { readonly kind: 'scheduled' }>;
  readonly nowMs: number;
  readonly graceMs: number;
  /** Where intervals are counted from. */
  readonly anchorMs: number;
  /** Moments up to which everything is settled: the due time that was handled last, when the job was made or resumed. */
  readonly settledMs: readonly (number | undefined)[];
}

export type DueVerdict =
  | { readonly kind: 'waits'; readonly dueAtMs: number }
  /** `missedSinceMs` is the oldest due time that this firing stands for, where there are several. */
  | { readonly kind: 'fires'; readonly dueAtMs: number; readonly missedSinceMs?: number }
  /** Everything that was missed is too old; `dueAtMs` is the newest of it. */
  | { readonly kind: 'skips'; readonly dueAtMs: number; readonly missedSinceMs?: number }
  | { readonly kind: 'never' };

/**
 * A handled due time further ahead than this was handled by a clock that went wrong; waiting for it would silence the
 * job, perhaps for years. Its own claim still keeps it from being fired twice.
 */
const mostAheadMs = 86_400_000;

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

/** Tells whether a moment can be one up to which everything is settled: not where it lies more than a day ahead. */
export function isTrusted(atMs: number | undefined, nowMs: number): boolean {
  return atMs !== undefined && atMs <= nowMs + mostAheadMs;
}

/** The newest of the moments that can be trusted; the present where there is none. */
function settledUntil({ settledMs, nowMs }: DueQuestion): number {
  const trusted = settledMs.filter((atMs): atMs is number => isTrusted(atMs, nowMs));
  return trusted.length === 0 ? nowMs : Math.max(...trusted);
}

/** The newest due time from one moment to another, both included; by halving, as a job may be due every minute. */
function newestDue(next: (afterMs: number) => number | undefined, fromMs: number, toMs: number): number | undefined {
  let newest = next(fromMs - 1);
  if (newest === undefined || newest > toMs) return undefined;
  let low = newest;
  let high = toMs;
  // The newest one is `newest` or the successor of a moment in [low, high).
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
