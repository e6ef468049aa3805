/**
 * Sums of events by status, route and duration, for one span of time or several.
 * @see INS-4 in docs/specification.md
 */

import { addDuration, addDurations, type Durations, percentilesOf } from '../../machines/base/durations.ts';
import { type EventOutcome, eventOutcomes, outcomeOfStatus } from '../../machines/base/event-outcome.ts';
import { getOrMake } from '../../machines/base/get-or-make.ts';
import type { EventCounts } from '../control/contract/events.ts';

export interface CountedEvent {
  readonly key: string;
  /** `profile/route`. */
  readonly route: string;
  readonly status: string;
  /** From the request to the delivery; absent until it is delivered. */
  readonly tookMs?: number;
}

export interface Sum {
  readonly statuses: Map<string, number>;
  readonly durations: Durations;
  /** The newest of its events. */
  lastKey: string;
}

/** By `profile/route`. */
export type Sums = Map<string, Sum>;

export function sumsOf(events: Iterable<CountedEvent>): Sums {
  const sums: Sums = new Map();
  for (const { key, route, status, tookMs } of events) {
    const sum = sumOf(sums, route);
    sum.statuses.set(status, (sum.statuses.get(status) ?? 0) + 1);
    if (tookMs !== undefined) addDuration(sum.durations, tookMs);
    if (key > sum.lastKey) sum.lastKey = key;
  }
  return sums;
}

export function unite(parts: Iterable<Sums>): Sums {
  const all: Sums = new Map();
  for (const part of parts) for (const [route, sum] of part) addTo(sumOf(all, route), sum);
  return all;
}

export function allRoutes(sums: Sums): Sum {
  const all = newSum();
  for (const sum of sums.values()) addTo(all, sum);
  return all;
}

/** Returns how many events have each outcome; with statuses, only of events that have one of them. */
export function countsOf({ statuses }: Sum, only?: ReadonlySet<string>): EventCounts {
  const counts: Record<EventOutcome, number> = { delivered: 0, ignored: 0, open: 0, failed: 0 };
  for (const [status, count] of statuses) {
    if (only === undefined || only.has(status)) counts[outcomeOfStatus(status)] += count;
  }
  return counts;
}

export function totalOf(counts: EventCounts): number {
  return eventOutcomes.reduce((total, outcome) => total + counts[outcome], 0);
}

/** Returns the median and the 95th percentile of the durations; empty without durations. */
export function timesOf({ durations }: Sum): { readonly median_ms?: number; readonly p95_ms?: number } {
  const [median, p95] = percentilesOf(durations, [0.5, 0.95]) ?? [];
  return median === undefined || p95 === undefined ? {} : { median_ms: median, p95_ms: p95 };
}

function sumOf(sums: Sums, route: string): Sum {
  return getOrMake(sums, route, newSum);
}

function newSum(): Sum {
  return { statuses: new Map(), durations: new Map(), lastKey: '' };
}

function addTo(sum: Sum, { statuses, durations, lastKey }: Sum): void {
  for (const [status, count] of statuses) sum.statuses.set(status, (sum.statuses.get(status) ?? 0) + count);
  addDurations(sum.durations, durations);
  if (lastKey > sum.lastKey) sum.lastKey = lastKey;
}
