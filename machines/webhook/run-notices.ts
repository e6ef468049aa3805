/**
 * The deliveries that report a run beside its response, if its route requests them: its acceptance, each question that it
 * waits for, and its failure. A run with a response has not failed, whatever happens to its delivery, and a run that its
 * owner cancelled needs no notice.
 * @see DIS-4 and DLV-6 in docs/specification.md
 */

import { cut } from '../base/json.ts';
import { defaultProfile } from '../base/names.ts';
import type { NoticePlace } from '../config/notice-place.ts';
import {
  type DeliveryRecord,
  type EventRecord,
  firedJob,
  type Progress,
  type ReportedQuestion,
  type RunRecord,
} from './record.ts';
import { nthKey } from './responses.ts';

/** The most characters of the sender's text, and of the reason. */
const maxNameLength = 120;
const maxReasonLength = 600;

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
    ...queued(event, noticeText(run, event), nowMs),
    target,
    extra,
  }));
}

/** What all of these deliveries have of their event. */
function queued({ deliveryId, profile, route, event }: Omit<EventRecord, 'work'>, text: string, nowMs: number) {
  return { deliveryId, profile, route, event, status: 'queued', text, queuedAtMs: nowMs } as const;
}

/** The command names the event by its key: a sender chooses the delivery id, which a shell would interpret. */
function noticeText(run: RunRecord, from: EventRecord): string {
  const { status, reason, eventKey } = run;
  const { event, deliveryId } = from;
  const about = `${sourceOf(run, from)}, event ${line(event, maxNameLength)}, delivery ${line(deliveryId, maxNameLength)}`;
  return [
    `Run ${status}: ${about}`,
    `Reason: ${line(reason ?? 'unknown', maxReasonLength)}`,
    `Timeline and remedy: agent inspect why ${eventKey}`,
  ].join('\n');
}

function sourceOf({ kind, route, profile }: RunRecord, event: EventRecord): string {
  const job = kind === 'cron' ? firedJob(event) : undefined;
  const source = job === undefined ? `route "${route}"` : `cron job "${line(job, maxNameLength)}"`;
  return profile === defaultProfile ? source : `${source} of profile "${profile}"`;
}

/** A text as one line without invisible characters, which could hide or reorder it. */
function line(text: string, limit: number): string {
  const shown = text.replace(/[\p{C}\p{Z}]+/gu, ' ').trim();
  const short = cut(shown, limit);
  return short === shown ? shown : `${short}…`;
}

interface ProgressPlace {
  readonly eventKey: string;
  readonly event: Omit<EventRecord, 'work'>;
  readonly nowMs: number;
  /** Its number among all deliveries. */
  readonly order: number;
}

/** Returns the key of a report before the end: one for the event, and one for each question of the run. */
export function progressKey(eventKey: string, progress: Progress): string {
  return progress.kind === 'accepted' ? `${eventKey}.accepted` : `${progress.run}.${progress.question.id}`;
}

/** Returns the report before the end; undefined if the event's route does not request it. */
export function progressReport(
  progress: Progress,
  { eventKey, event, nowMs, order }: ProgressPlace,
): DeliveryRecord | undefined {
  if (event.reports?.includes(progress.kind) !== true) return undefined;
  const text = progress.kind === 'accepted' ? 'The run was accepted.' : questionText(progress.question);
  return { eventKey, progress, ...queued(event, text, nowMs), target: 'http', extra: {}, order };
}

function questionText({ id, kind, server, tool }: ReportedQuestion): string {
  const what = kind === 'tool' ? `an approval to call ${tool}` : `an answer to a form of ${server}`;
  return `The run waits for ${what}: agent approvals show ${id}`;
}
