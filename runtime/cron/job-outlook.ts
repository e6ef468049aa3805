/**
 * When a cron job is due next, what keeps it from being fired or its response from arriving, and what a webhook that
 * fires it gets.
 * @see CRN-1, CRN-2 and CFG-2 in docs/specification.md
 */

import type { LoadedProfile } from '../../actors/config/load-config.ts';
import { hasSkillIn } from '../../actors/config/route-world.ts';
import { createNextDue, knowsZone } from '../../actors/cron/next-due.ts';
import type { JobFinding } from '../../actors/webhook/claim-delivery.ts';
import { disabledTarget, missingSkills } from '../../machines/config/loose-ends.ts';
import { type CronJob, restOf, restReason, type Timing, timingOf, workOf } from '../../machines/cron/job.ts';
import { neverWord, nextTimes } from './plan.ts';

interface JobOutlook {
  readonly timing: Timing;
  /** Undefined if it is never due, or has no schedule. */
  readonly dueAtMs: number | undefined;
  /** Why a job that has a schedule is never due. */
  readonly never: string | undefined;
  readonly problem: string | undefined;
}

const nextDue = createNextDue();

export function outlookOf(job: CronJob, profile: LoadedProfile | undefined): JobOutlook {
  const timing = timingOf(job, knowsZone);
  const [dueAtMs] = nextTimes(job, timing, Date.now(), { nextDue, count: 1 });
  const never =
    timing.kind === 'invalid'
      ? timing.problem
      : timing.kind === 'scheduled' && dueAtMs === undefined
        ? neverWord
        : undefined;
  return { timing, dueAtMs, never, problem: job.flaw ?? never ?? job.doubt ?? looseEnd(job, profile) };
}

/** Why a response or a notice of a failed run would not arrive, or the run have none of its skills. */
function looseEnd({ deliver, onFailure, skills }: CronJob, profile: LoadedProfile | undefined): string | undefined {
  if (profile === undefined) return undefined;
  const { paths, settings } = profile;
  return (
    disabledTarget(deliver, `delivers to "${deliver}"`, settings.platforms) ??
    (onFailure === undefined
      ? undefined
      : disabledTarget(onFailure, `notifies "${onFailure}" of failed runs`, settings.platforms)) ??
    missingSkills(skills, hasSkillIn(paths.skills))
  );
}

/** The job that a webhook fires: its settings, or why the event is dropped. */
export function findingOf(job: CronJob | undefined, ref: string): JobFinding {
  if (job === undefined) return { kind: 'dropped', reason: `cron job "${ref}" does not exist` };
  const rest = restOf(job);
  if (rest !== undefined) return { kind: 'dropped', id: job.id, reason: restReason(job, rest) };
  return { kind: 'ready', work: workOf(job) };
}
