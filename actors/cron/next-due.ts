/**
 * The calendar of cron jobs: the first due time after a moment, in a time zone with DST. In spring some local times do
 * not exist, and in autumn some occur twice: a job at fixed times runs once in both cases, and a job with a step or a
 * star keeps its pace. The only file that imports croner.
 * @see CRN-1 and CRN-3 in docs/specification.md
 */

import { Cron } from 'croner';
import { getOrMake } from '../../machines/base/get-or-make.ts';
import { nextOfInterval } from '../../machines/cron/expression.ts';
import type { NextDue } from '../../machines/cron/job.ts';

/** Parsing an expression costs more than evaluating it, and there are few different ones. */
const maxKept = 500;

export function createNextDue(): NextDue {
  const kept = new Map<string, Cron | undefined>();
  const clocks = new Map<string | undefined, Clock>();

  const clockIn = (zone: string | undefined): Clock => getOrMake(clocks, zone, () => clockOf(zone));

  function cronOf(expression: string, zone: string | undefined): Cron | undefined {
    const name = `${expression}|${zone ?? ''}`;
    if (kept.has(name)) return kept.get(name);
    if (kept.size >= maxKept) kept.clear();
    let cron: Cron | undefined;
    const timezone = zone ?? hostZone();
    try {
      cron = new Cron(expression, {
        paused: true,
        mode: '5-part',
        fixedTimeRule: 'no-wildcard',
        ...(timezone === undefined ? {} : { timezone }),
      });
    } catch {
      // The rules reject such an expression earlier; a job that has one is never due.
    }
    kept.set(name, cron);
    return cron;
  }

  return (schedule, zone, afterMs, anchorMs) => {
    if (schedule.kind === 'interval') return nextOfInterval(schedule.everyMs, anchorMs, afterMs);
    const { expression } = schedule;
    const next = (inZone: string | undefined, fromMs: number): number | undefined =>
      cronOf(expression, inZone)?.nextRun(new Date(fromMs))?.getTime();
    try {
      const found = next(zone, afterMs);
      if (found === undefined || hasPace(expression)) return found;
      // Croner skips a time in a gap that ends on another day (23:00 becomes 00:00 in Nuuk).
      const aheadMs = clockIn(zone ?? hostZone());
      const foundLocal = found + aheadMs(found);
      let local = next('UTC', afterMs + aheadMs(afterMs));
      // Searches for gaps only around skipped local times; most schedules have none.
      for (; local !== undefined && local < foundLocal; local = next('UTC', local)) {
        const time = local;
        const gap = gapsBetween(Math.max(afterMs, time - aroundMs), Math.min(found, time + aroundMs), aheadMs).find(
          ({ fromMs, toMs }) => fromMs <= time && time < toMs,
        );
        if (gap !== undefined) return gap.endsAtMs;
      }
      return found;
    } catch {
      // croner reports a time zone that this system does not have only here.
      return undefined;
    }
  };
}

/** Whether the minute or hour has a star or a step: such a schedule skips gaps. */
function hasPace(expression: string): boolean {
  return /[*?/]/.test(expression.split(' ').slice(0, 2).join(' '));
}

/** Local times that the clock skips, as if they were UTC, and the moment of the change. */
interface Gap {
  readonly fromMs: number;
  readonly toMs: number;
  readonly endsAtMs: number;
}

/** Changes of one clock are further apart than this. */
const lookEveryMs = 43_200_000;

/** A local time, taken as UTC, differs from its moment by less than this in any zone. */
const aroundMs = 86_400_000;

/** The gaps that end between two moments, the second excluded, in order. */
function gapsBetween(afterMs: number, beforeMs: number, aheadMs: Clock): Gap[] {
  const gaps: Gap[] = [];
  let before = aheadMs(afterMs);
  for (let from = afterMs; from < beforeMs - 1; ) {
    const to = Math.min(from + lookEveryMs, beforeMs - 1);
    const ahead = aheadMs(to);
    if (ahead > before) {
      let [low, high] = [from, to];
      while (high - low > 1) {
        const middle = Math.floor((low + high) / 2);
        if (aheadMs(middle) === before) low = middle;
        else high = middle;
      }
      gaps.push({ fromMs: high + before, toMs: high + ahead, endsAtMs: high });
    }
    before = ahead;
    from = to;
  }
  return gaps;
}

/** Returns how far a zone's clock is ahead of UTC at a moment, in milliseconds. */
type Clock = (atMs: number) => number;

function clockOf(zone: string | undefined): Clock {
  const format = new Intl.DateTimeFormat('en', {
    ...(zone === undefined ? {} : { timeZone: zone }),
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  return (atMs) => {
    const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]));
    const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
    const local = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
    return local - Math.floor(atMs / 1_000) * 1_000;
  };
}

/** The zone of this machine, or of TZ; undefined if that is a rule without an IANA name, such as `UTC+3`. */
export function hostZone(): string | undefined {
  const zone: string | undefined = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  // An empty TZ.
  return zone === 'Etc/Unknown' ? 'UTC' : zone;
}

/** Whether this system has a zone of that IANA name; an offset is not a zone. */
export function knowsZone(zone: string): boolean {
  if (!/^[A-Za-z]/.test(zone)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}
