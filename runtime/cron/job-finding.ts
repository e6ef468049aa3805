/**
 * The job that a webhook fires: its settings, or why the event is dropped.
 * @see CRN-2 in docs/specification.md
 */

import type { JobFinding } from '../../actors/webhook/claim-delivery.ts';
import { noticePlace } from '../../machines/config/notice-place.ts';
import { type CronJob, restOf, restReason } from '../../machines/cron/job.ts';

export function findingOf(job: CronJob | undefined, ref: string): JobFinding {
  if (job === undefined) return { kind: 'dropped', reason: `cron job "${ref}" does not exist` };
  const { id, prompt, skills, model, deliver, deliverExtra } = job;
  const rest = restOf(job);
  if (rest !== undefined) return { kind: 'dropped', id, reason: restReason(job, rest) };
  const notice = noticePlace(job);
  return {
    kind: 'ready',
    id,
    prompt,
    skills,
    deliver,
    deliverExtra,
    ...(notice === undefined ? {} : { notice }),
    ...(model === undefined ? {} : { model }),
  };
}
