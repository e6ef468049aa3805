/**
 * The deliveries that report a run before it ends: its acceptance, and each question that it waits for. Only for a route
 * that requests them.
 * @see DLV-6 in docs/specification.md
 */

import type { DeliveryRecord, EventRecord, Progress, ReportedQuestion } from './record.ts';

export interface ProgressPlace {
  /** The key of the event. */
  readonly eventKey: string;
  readonly event: Omit<EventRecord, 'work'>;
  readonly nowMs: number;
  /** Its number among all deliveries. */
  readonly order: number;
}

/** Returns the key of the delivery: one for the event, and one for each question of the run. */
export function progressKey(eventKey: string, progress: Progress): string {
  return progress.kind === 'accepted' ? `${eventKey}.accepted` : `${progress.run}.${progress.question.id}`;
}

/** Returns the delivery; undefined if the event's route does not request it. */
export function progressReport(
  progress: Progress,
  { eventKey, event, nowMs, order }: ProgressPlace,
): DeliveryRecord | undefined {
  if (event.reports?.includes(progress.kind) !== true) return undefined;
  return {
    eventKey,
    progress,
    deliveryId: event.deliveryId,
    profile: event.profile,
    route: event.route,
    event: event.event,
    target: 'http',
    status: 'queued',
    text: progress.kind === 'accepted' ? 'The run was accepted.' : questionText(progress.question),
    extra: {},
    queuedAtMs: nowMs,
    order,
  };
}

function questionText({ id, kind, server, tool }: ReportedQuestion): string {
  const what = kind === 'tool' ? `an approval to call ${tool}` : `an answer to a form of ${server}`;
  return `The run waits for ${what}: agent approvals show ${id}`;
}
