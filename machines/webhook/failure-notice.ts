/**
 * The notice of a run that failed: when there is one, its key, and its text. A run that responded has not failed,
 * whatever becomes of its response, and one that its owner cancelled needs no notice. Knows no journal and no target.
 * @see DIS-4 in docs/specification.md
 */

import { cut } from '../base/json.ts';
import { defaultProfile } from '../base/names.ts';
import type { DeliveryRecord, EventRecord, RunRecord } from './record.ts';

/** Characters of the sender's words, and of the reason. */
const longestName = 120;
const longestReason = 600;

/** Returns the key of the notice's delivery. */
export function noticeKey(runKey: string): string {
  return `${runKey}.failed`;
}

/** Whether a run has failed for good without a response. */
export function hasFailed({ response, status }: RunRecord): boolean {
  return response === undefined && (status === 'failed' || status === 'interrupted');
}

/** Returns the delivery that reports a run; undefined where the run has not failed for good, or no notice is asked for. */
export function failureNotice(
  key: string,
  run: RunRecord,
  { event, nowMs }: { readonly event: EventRecord | undefined; readonly nowMs: number },
): DeliveryRecord | undefined {
  if (event?.onFailure === undefined || !hasFailed(run)) return undefined;
  const { target, extra } = event.onFailure;
  return {
    eventKey: run.eventKey,
    failedRun: key,
    deliveryId: event.deliveryId,
    profile: run.profile,
    route: run.route,
    event: event.event,
    target,
    status: 'queued',
    text: noticeText(run, event),
    extra,
    queuedAtMs: nowMs,
  };
}

/** The command names the event by its key: a sender chooses its delivery id, and a shell would read that. */
function noticeText(run: RunRecord, { event, deliveryId }: EventRecord): string {
  const { status, reason, eventKey } = run;
  const about = `${sourceOf(run)}, event ${line(event, longestName)}, delivery ${line(deliveryId, longestName)}`;
  return [
    `Run ${status}: ${about}`,
    `Reason: ${line(reason ?? 'unknown', longestReason)}`,
    `Timeline and remedy: agent inspect why ${eventKey}`,
  ].join('\n');
}

function sourceOf({ kind, route, profile }: RunRecord): string {
  const ofJob = kind === 'cron' && route.startsWith(jobRoutes);
  const source = ofJob ? `cron job "${line(route.slice(jobRoutes.length), longestName)}"` : `route "${route}"`;
  return profile === defaultProfile ? source : `${source} of profile "${profile}"`;
}

/** What the route of a firing by schedule or by hand begins with. */
const jobRoutes = 'cron/';

/** A text as one line without invisible characters, which could hide or reorder what a person reads. */
function line(text: string, limit: number): string {
  const shown = text.replace(/[\p{C}\p{Z}]+/gu, ' ').trim();
  const short = cut(shown, limit);
  return short === shown ? shown : `${short}…`;
}
