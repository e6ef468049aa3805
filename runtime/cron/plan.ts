/**
 * Computes a job's plan from its record, the journal's mark and the calendar. Every gateway of a journal computes the
 * same plan, so that all of them compete for one claim.
 * @see CRN-1 in docs/specification.md
 */

import type { CronMark, FireCronJob } from '../../actors/cron/fire-cron-job.ts';
import type { CronJobContext, Plan } from '../../machines/cron/cron-job.machine.ts';
import {
  type CronJob,
  defaultGraceMs,
  type NextDue,
  onTimeMs,
  restOf,
  restReason,
  type Timing,
  timingOf,
} from '../../machines/cron/job.ts';
import { isTrusted, whatIsDue } from '../../machines/cron/missed-run.ts';

export interface PlanPorts {
  readonly fire: FireCronJob;
  readonly findJob: (profile: string, id: string) => CronJob | undefined;
  readonly nextDue: NextDue;
  readonly knowsZone: (zone: string) => boolean;
  /** False while no journal is open. */
  readonly isReady: () => boolean;
}

export const noSchedule = 'it has no schedule; webhooks and `agent cron run` fire it';

export async function planOf(context: CronJobContext, nowMs: number, ports: PlanPorts): Promise<Plan> {
  const { profile } = context;
  const job = ports.findJob(profile, context.job);
  if (job === undefined) return { kind: 'idles', why: 'it is no longer in the file' };
  if (!ports.isReady()) return { kind: 'blind', why: 'the journal is not open' };
  const resting = restOf(job);
  const timing = timingOf(job, ports.knowsZone);
  if (timing.kind !== 'scheduled') {
    if (resting !== undefined) return { kind: 'pauses', why: resting };
    return { kind: 'idles', why: timing.kind === 'none' ? noSchedule : timing.problem };
  }
  const mark = await ports.fire.mark(profile, job.id);
  // Without a start time, or with one from a wrong clock, the schedule begins now, and this is recorded.
  const begins =
    mark === undefined
      ? !isTrusted(job.createdAtMs, nowMs)
      : mark.print !== timing.print || !isTrusted(mark.dueAtMs, nowMs);
  if (begins) {
    const begun = await ports.fire.begin({ nowMs, profile, job }, timing.print, mark);
    // Unrecorded, the schedule would begin anew at its first due time, which would not fire.
    if (begun.kind === 'refused') return { kind: 'blind', why: begun.reason };
  }
  // Of a creation time that lies ahead of what is recorded, the clock was wrong, also in the last day before that time.
  const isWrong = (job.createdAtMs ?? 0) > nowMs && (begins || (mark !== undefined && mark.dueAtMs <= nowMs));
  const createdAtMs = isWrong ? undefined : job.createdAtMs;
  const run = await ports.fire.inFlight(mark);
  if (run !== undefined && resting === undefined) return { kind: 'runs', run };
  const verdict = whatIsDue(
    {
      timing,
      nowMs,
      graceMs: Math.max(onTimeMs, job.graceMs ?? defaultGraceMs),
      anchorMs: createdAtMs ?? 0,
      settledMs: begins ? [nowMs] : [mark?.dueAtMs, context.settledMs ?? undefined, createdAtMs, job.resumedAtMs],
    },
    ports.nextDue,
  );
  // A pause that began before the gateway was started has its entry too.
  const dropped = context.dropped || (mark?.rested === true && (job.resumedAtMs ?? 0) <= mark.dueAtMs);
  switch (verdict.kind) {
    case 'waits':
      if (resting !== undefined) {
        return { kind: 'pauses', why: resting, ...(dropped ? {} : { dueAtMs: verdict.dueAtMs }) };
      }
      return { ...verdict, ...clockWord(mark, nowMs) };
    case 'fires':
    case 'skips':
      if (resting === undefined) {
        return verdict.kind === 'fires' ? verdict : { ...verdict, why: missedWord(job, verdict.dueAtMs, nowMs) };
      }
      if (dropped) return { kind: 'pauses', why: resting };
      return { kind: 'skips', dueAtMs: verdict.dueAtMs, why: restReason(job, resting) };
    case 'never':
      return resting === undefined ? { kind: 'idles', why: neverWord } : { kind: 'pauses', why: resting };
  }
}

/**
 * The next due times of a job, computed from its record alone. Intervals count from its creation, or from the Unix epoch if
 * it has no creation time, or that of a wrong clock.
 */
export function nextTimes(
  job: CronJob,
  timing: Timing,
  afterMs: number,
  { nextDue, count }: { readonly nextDue: NextDue; readonly count: number },
): readonly number[] {
  if (timing.kind !== 'scheduled') return [];
  const found: number[] = [];
  const { createdAtMs = 0 } = job;
  const anchorMs = isTrusted(createdAtMs, afterMs) ? createdAtMs : 0;
  for (let after = afterMs; found.length < count; ) {
    const next = nextDue(timing.schedule, timing.zone, after, anchorMs);
    if (next === undefined) break;
    found.push(next);
    after = next;
  }
  return found;
}

export const neverWord = 'no due time is left in its schedule';

function clockWord(mark: CronMark | undefined, nowMs: number): { readonly why?: string } {
  if (mark === undefined || mark.dueAtMs <= nowMs) return {};
  const until = new Date(mark.dueAtMs).toISOString();
  return { why: `the clock was set back; what was due until ${until} is settled and not fired again` };
}

function missedWord({ graceMs = defaultGraceMs }: CronJob, dueAtMs: number, nowMs: number): string {
  const ago = Math.round((nowMs - dueAtMs) / 1_000);
  return `missed: due ${ago} s ago, which is more than its grace of ${graceMs / 1_000} s`;
}
