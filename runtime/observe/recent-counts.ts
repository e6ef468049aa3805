/**
 * Counts outcomes by name and time, with durations, for up to seven days: calls by server, deliveries by target,
 * requests to any route. The last hour is kept by the minute and the rest by the hour, or a week of a busy gateway would
 * take hundreds of megabytes. In memory, so the counts begin with the gateway.
 * @see INS-4 in docs/specification.md
 */

import { addDuration, addDurations, type Durations, percentilesOf } from '../../machines/base/durations.ts';
import { getOrMake } from '../../machines/base/get-or-make.ts';

export interface RecentCounts {
  add(name: string, ended: { readonly tookMs: number; readonly failed: boolean }): void;
  /** The outcomes since a time: to the minute within the last hour, else to the hour. */
  read(name: string, sinceMs: number): Recent;
  /** The outcomes of each of the last 60 minutes, the current one last. */
  lastHour(name: string): readonly number[];
}

export interface Recent {
  readonly count: number;
  readonly failed: number;
  /** The durations of the outcomes that are no failures. */
  readonly median_ms?: number;
  readonly p95_ms?: number;
}

interface Span {
  count: number;
  failed: number;
  readonly durations: Durations;
}

/** The spans of a name, by their number since the epoch. */
interface Spans {
  readonly minutes: Map<number, Span>;
  readonly hours: Map<number, Span>;
}

const minuteMs = 60_000;
const hourMinutes = 60;
const hourMs = hourMinutes * minuteMs;
const keptHours = 7 * 24;

export function createRecentCounts(nowMs: () => number): RecentCounts {
  const names = new Map<string, Spans>();

  function minuteOf(name: string, atMs: number): Span {
    const { minutes, hours } = getOrMake(names, name, () => ({ minutes: new Map(), hours: new Map() }));
    const at = Math.floor(atMs / minuteMs);
    const known = minutes.get(at);
    if (known !== undefined) return known;
    for (const [old, minute] of minutes) {
      const hour = Math.floor(old / hourMinutes);
      // All of its hour is older than the time that is kept by the minute.
      if ((hour + 2) * hourMinutes > at) continue;
      unite(getOrMake(hours, hour, emptySpan), minute);
      minutes.delete(old);
    }
    for (const old of hours.keys()) if (old < at / hourMinutes - keptHours) hours.delete(old);
    return getOrMake(minutes, at, emptySpan);
  }

  return {
    add(name, { tookMs, failed }) {
      const minute = minuteOf(name, nowMs());
      minute.count += 1;
      if (failed) minute.failed += 1;
      else addDuration(minute.durations, tookMs);
    },
    read(name, sinceMs) {
      const all = emptySpan();
      const { minutes = new Map<number, Span>(), hours = new Map<number, Span>() } = names.get(name) ?? {};
      for (const [at, minute] of minutes) if ((at + 1) * minuteMs > sinceMs) unite(all, minute);
      for (const [at, hour] of hours) if ((at + 1) * hourMs > sinceMs) unite(all, hour);
      const [median, p95] = percentilesOf(all.durations, [0.5, 0.95]) ?? [];
      return {
        count: all.count,
        failed: all.failed,
        ...(median === undefined || p95 === undefined ? {} : { median_ms: median, p95_ms: p95 }),
      };
    },
    lastHour(name) {
      const running = Math.floor(nowMs() / minuteMs);
      return Array.from({ length: 60 }, (_, at) => names.get(name)?.minutes.get(running - 59 + at)?.count ?? 0);
    },
  };
}

function emptySpan(): Span {
  return { count: 0, failed: 0, durations: new Map() };
}

function unite(all: Span, more: Span): void {
  all.count += more.count;
  all.failed += more.failed;
  addDurations(all.durations, more.durations);
}
