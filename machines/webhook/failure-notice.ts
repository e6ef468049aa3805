/**
 * The notices of a run that failed: when there are any, their keys, and their text. A run that responded has not failed,
 * whatever happens to its response, and one that its owner cancelled needs no notice. Knows no journal and no target.
 * @see DIS-4 in docs/specification.md
 */

import { cut } from '../base/json.ts';
import { defaultProfile } from '../base/names.ts';
import type { NoticePlace } from '../config/notice-place.ts';
import type { DeliveryRecord, EventRecord, RunRecord } from './record.ts';
import { nthKey } from './responses.ts';

/** Characters of the sender's words, and of the reason. */
const longestName = 120;
const longestReason = 600;

/** Returns the key of a notice's delivery. */
export function noticeKey(runKey: string, nth?: number): string {
  return nthKey(`${runKey}.failed`, nth);
}

/** Returns the keys of all notices that a run may have: at `on_failure`, and to http. */
export function noticeKeys(runKey: string): readonly string[] {
  return [noticeKey(runKey), noticeKey(runKey, 2)];
}

/** Whether a run has failed for good without a response. */
export function hasFailed({ response, status }: RunRecord): boolean {
  return response === undefined && (status === 'failed' || status === 'interrupted');
}

/** Returns the deliveries that report a run; none where the run has not failed for good, or no notice is asked for. */
export function failureNotices(
  key: string,
  run: RunRecord,
  { event, nowMs }: { readonly event: EventRecord | undefined; readonly nowMs: number },
): readonly DeliveryRecord[] {
  if (event === undefined || !hasFailed(run)) return [];
  const { onFailure, reports } = event;
  const places: readonly NoticePlace[] = [
    ...(onFailure === undefined ? [] : [onFailure]),
    ...(reports?.includes('failed') === true ? [{ target: 'http', extra: {} }] : []),
  ];
  return places.map(({ target, extra }, index) => ({
    eventKey: run.eventKey,
    failedRun: key,
    ...(index === 0 ? {} : { nth: index + 1 }),
    deliveryId: event.deliveryId,
    profile: run.profile,
    route: run.route,
    event: event.event,
    target,
    status: 'queued',
    text: noticeText(run, event),
    extra,
    queuedAtMs: nowMs,
  }));
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
