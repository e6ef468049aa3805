/**
 * The calendar of cron jobs: the first due time after a moment, in a zone with its changes of the clock. Once a day in
 * spring some local times do not exist and once in autumn some come twice: a job at fixed times runs once either way, a
 * job with a step or a star keeps its pace. The only file that imports croner.
 * @see CRN-1 in docs/specification.md
 */

import { Cron } from 'croner';
import { nextOfInterval } from '../../machines/cron/expression.ts';
import type { NextDue } from '../../machines/cron/job.ts';

/** Reading an expression costs more than asking it; jobs are few, and their expressions fewer. */
const mostKept = 500;

export function createNextDue(): NextDue {
  const kept = new Map<string, Cron | undefined>();

  function cronOf(expression: string, zone: string | undefined): Cron | undefined {
    const name = `${expression}|${zone ?? ''}`;
    if (kept.has(name)) return kept.get(name);
    if (kept.size >= mostKept) kept.clear();
    let cron: Cron | undefined;
    try {
      cron = new Cron(expression, {
        paused: true,
        mode: '5-part',
        fixedTimeRule: 'no-wildcard',
        timezone: zone ?? hostZone(),
      });
    } catch {
      // What this refuses, the rules have refused before; a job of it is never due.
    }
    kept.set(name, cron);
    return cron;
  }

  return (schedule, zone, afterMs, anchorMs) => {
    if (schedule.kind === 'interval') return nextOfInterval(schedule.everyMs, anchorMs, afterMs);
    try {
      return cronOf(schedule.expression, zone)?.nextRun(new Date(afterMs))?.getTime();
    } catch {
      // A zone that this system does not know shows itself only here.
      return undefined;
    }
  };
}

/** The zone of this machine, or the one that TZ names. */
export function hostZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Tells whether this system knows a zone by its IANA name; an offset is no zone. */
export function knowsZone(zone: string): boolean {
  if (!/^[A-Za-z]/.test(zone)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}
