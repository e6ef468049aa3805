/**
 * The notices of a failed run: when there are any, their keys and text. A run with a response has not failed, whatever
 * happens to its delivery, and a run that its owner cancelled needs no notice.
 * @see DIS-4 in docs/specification.md
 */

import { cut } from '../base/json.ts';
import { defaultProfile } from '../base/names.ts';
import type { NoticePlace } from '../config/notice-place.ts';
import type { DeliveryRecord, EventRecord, RunRecord } from './record.ts';
import { nthKey } from './responses.ts';

/** The most characters of the sender's text, and of the reason. */
const longestName = 120;
const longestReason = 600;

/** Returns the key of a notice's delivery. */
export function noticeKey(runKey: string, nth?: number): string {
  return nthKey(`${runKey}.failed`, nth);
}

/** Returns the keys of all notices that a run may have: for `on_failure`, and for http. */
export function noticeKeys(runKey: string): readonly string[] {
  return [noticeKey(runKey), noticeKey(runKey, 2)];
}

/** Whether a run has finally failed without a response. */
export function hasFailed({ response, status }: RunRecord): boolean {
  return response === undefined && (status === 'failed' || status === 'interrupted');
}

/** Returns the deliveries that report a failed run; none if it has not finally failed, or no notice is configured. */
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

/** The command names the event by its key: a sender chooses the delivery id, which a shell would interpret. */
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

/** The prefix of the route name of a job fired by schedule or by hand. */
const jobRoutes = 'cron/';

/** A text as one line without invisible characters, which could hide or reorder it. */
function line(text: string, limit: number): string {
  const shown = text.replace(/[\p{C}\p{Z}]+/gu, ' ').trim();
  const short = cut(shown, limit);
  return short === shown ? shown : `${short}…`;
}
