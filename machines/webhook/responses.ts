/**
 * The deliveries of a run's response: their places, their keys, and the run's status from all of them. A single delivery is
 * made while its run waits; several are sent after it has closed, each with its own retries.
 * @see DLV-7 in docs/specification.md
 */

import { changed } from '../base/json.ts';
import { type FollowedStep, reportedSteps } from '../config/route.ts';
import {
  type DeliveryRecord,
  type EventRecord,
  isOver,
  outcomeOf,
  type ResponsePlace,
  type RunRecord,
} from './record.ts';

/** An entry of `deliver` that matches an event. */
export interface FollowedPlace extends ResponsePlace {
  /** The steps that are reported there; absent if it only gets the response (DLV-6). */
  readonly on?: readonly FollowedStep[];
}

/** Returns where the response is sent, and which other steps are reported. A response without a place is logged. */
export function followedAt(places: readonly FollowedPlace[]): Pick<EventRecord, 'deliverTo' | 'reports'> {
  const steps = new Set(places.flatMap(({ on = [] }) => reportedSteps(on)));
  return {
    deliverTo: places.flatMap(({ on, ...place }) => (on === undefined || on.includes('finished') ? [place] : [])),
    ...(steps.size === 0 ? {} : { reports: [...steps] }),
  };
}

/** Returns where the response to an event is sent; if no entry of a list matches, to the log. */
export function placesOf(event: EventRecord | undefined): readonly ResponsePlace[] {
  const places = event?.deliverTo ?? [{ target: event?.deliver ?? 'log', extra: event?.deliverExtra ?? {} }];
  return places.length === 0 ? [{ target: 'log', extra: {} }] : places;
}

/** Returns the text for a place. What a template had filled in is not interpreted again (TPL-1). */
export function textFor({ text }: ResponsePlace, response: string): string {
  return text === undefined ? response : text.join(response);
}

/** Returns the keys of a run's deliveries; the first is the run's. */
export function responseKeys(runKey: string, count = 1): readonly string[] {
  return Array.from({ length: count }, (_, index) => nthKey(runKey, index + 1));
}

/** Returns the key of one of several deliveries; the first has the key of its run or notice. */
export function nthKey(first: string, nth = 1): string {
  return nth === 1 ? first : `${first}~${nth}`;
}

/** Returns the key of the run that a delivery's key belongs to; other keys are returned unchanged. */
export function runKeyOf(key: string): string {
  return key.replace(/~\d+$/, '');
}

/**
 * Returns the run with the outcome of its deliveries: `delivering` until all are over, `partial` if only some arrived, else
 * their common outcome.
 */
export function withResponses(run: RunRecord, deliveries: readonly DeliveryRecord[]): RunRecord {
  const [first] = deliveries;
  const rest = withoutOutcome(run);
  if (first === undefined || !deliveries.every(isOver)) return changed(rest, { status: 'delivering' });
  const reason = reasonOf(deliveries);
  const isDropped = deliveries.every(({ status }) => status === 'dropped');
  return changed(rest, {
    status: statusOf(deliveries.map(outcomeOf)),
    ...(reason === undefined ? {} : { reason }),
    ...(isDropped ? { dropped: true } : {}),
  });
}

function withoutOutcome(run: RunRecord): RunRecord {
  if (run.reason === undefined && run.dropped === undefined) return run;
  const { reason: _, dropped: __, ...rest } = run;
  return rest;
}

function statusOf(outcomes: readonly ReturnType<typeof outcomeOf>[]): RunRecord['status'] {
  if (outcomes.every((one) => one === 'delivered')) return 'delivered';
  if (outcomes.includes('delivered')) return 'partial';
  return outcomes.includes('unknown') ? 'unknown' : 'failed';
}

function reasonOf(deliveries: readonly DeliveryRecord[]): string | undefined {
  const [first] = deliveries;
  if (deliveries.length === 1) return first?.reason;
  const open = deliveries.filter(({ status }) => status !== 'delivered');
  if (open.length === 0) return undefined;
  // Most reasons begin with their target.
  const whys = open.map(({ target, status, reason = status }) =>
    reason.startsWith(`${target}: `) ? reason : `${target}: ${reason}`,
  );
  return `${deliveries.length - open.length} of ${deliveries.length} delivered; ${whys.join('; ')}`;
}
