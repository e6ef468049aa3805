/**
 * Counts outcomes by name and minute, with durations, for up to seven days: calls by server, deliveries by target,
 * requests to any route. In memory, so the counts begin with the gateway.
 * @see INS-4 in docs/specification.md
 */

import { addDuration, addDurations, type Durations, percentilesOf } from '../../machines/base/durations.ts';

export interface RecentCounts {
  add(name: string, ended: { readonly tookMs: number; readonly failed: boolean }): void;
  /** The outcomes since a time, to the minute. */
  read(name: string, sinceMs: number): Recent;
  /** The outcomes of each of the last 60 minutes, the current one last. */
  lastHour(name: string): readonly number[];
}

export interface Recent {
  readonly count: number;
  readonly failed: number;
  /** Without failures. */
  readonly median_ms?: number;
  readonly p95_ms?: number;
}

interface Minute {
  count: number;
  failed: number;
  readonly durations: Durations;
}

const minuteMs = 60_000;
const keptMinutes = 7 * 24 * 60;

export function createRecentCounts(nowMs: () => number): RecentCounts {
  const names = new Map<string, Map<number, Minute>>();

  function minuteOf(name: string, atMs: number): Minute {
    const minutes = names.get(name) ?? new Map<number, Minute>();
    names.set(name, minutes);
    const at = Math.floor(atMs / minuteMs);
    const known = minutes.get(at);
    if (known !== undefined) return known;
    for (const old of minutes.keys()) if (old < at - keptMinutes) minutes.delete(old);
    const minute: Minute = { count: 0, failed: 0, durations: new Map() };
    minutes.set(at, minute);
    return minute;
  }

  return {
    add(name, { tookMs, failed }) {
      const minute = minuteOf(name, nowMs());
      minute.count += 1;
      if (failed) minute.failed += 1;
      else addDuration(minute.durations, tookMs);
    },
    read(name, sinceMs) {
      let count = 0;
      let failed = 0;
      const durations: Durations = new Map();
      for (const [at, minute] of names.get(name) ?? []) {
        if ((at + 1) * minuteMs <= sinceMs) continue;
        count += minute.count;
        failed += minute.failed;
        addDurations(durations, minute.durations);
      }
      const [median, p95] = percentilesOf(durations, [0.5, 0.95]) ?? [];
      return {
        count,
        failed,
        ...(median === undefined || p95 === undefined ? {} : { median_ms: median, p95_ms: p95 }),
      };
    },
    lastHour(name) {
      const running = Math.floor(nowMs() / minuteMs);
      return Array.from({ length: 60 }, (_, at) => names.get(name)?.get(running - 59 + at)?.count ?? 0);
    },
  };
}
