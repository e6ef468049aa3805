/**
 * Says by which marks the records of the history are found, so that a listing by route, status, target or id looks at few
 * others. A mark is a hint: every record that a question is about bears the question's mark, others may bear it too; an
 * event is found by the claim of its id instead, while there is one. Whoever asks looks at the record itself.
 *
 * Work under way goes through many statuses in little time; it bears none of them and is found by being due instead.
 * @see DUR-2 and CON-4 in docs/specification.md
 */

import type { JsonObject } from '../base/json.ts';
import { canonicalTarget } from '../config/targets.ts';
import { claimName, claimNames, claimsOf, type DeliveryRecord, outcomeOf, repeatsId } from './record.ts';

export interface Marks {
  /** Borne by many records: one stands for all of a stretch of time. */
  readonly shared: readonly string[];
  /** Borne by this record alone, or by few: written by its key. */
  readonly own: string | undefined;
  /** Borne by the events of one piece of work: by one in an hour, or by many in a stretch of time. */
  readonly ofWork: string | undefined;
}

/** Statuses that pass: while its work is due, a record that shows one is found by that. */
const passing: ReadonlySet<unknown> = new Set([
  'accepted',
  'coalesced',
  'cron',
  'queued',
  'running',
  'delivering',
  'sending',
  'waitingToRetry',
]);

export function routeMark(route: string): string {
  return `r${route}`;
}

/** Of a status on any route, or on one. */
export function statusMark(status: string, route?: string): string {
  return route === undefined ? `s${status}` : `p${status}/${route}`;
}

export function targetMark(target: string): string {
  return `t${canonicalTarget(target) ?? target}`;
}

export function jobMark(job: string): string {
  return `c${job}`;
}

/** Of the events that bear an id, those that repeat it left out and those that a claim of the id leads to. */
export function idMark(deliveryId: string): string {
  return `i${deliveryId}`;
}

/** What the names of the claims begin with that lead to events of a mark; undefined where the mark is none of an id. */
export function claimsOfMark(mark: string): string | undefined {
  return mark.startsWith('i') ? claimsOf(mark.slice(1)) : undefined;
}

/** The name under which the id of an event is claimed. */
export function claimOfEvent({ profile, route, deliveryId }: JsonObject): string | undefined {
  if (typeof profile !== 'string' || typeof route !== 'string' || typeof deliveryId !== 'string') return undefined;
  return claimName(profile, route, deliveryId);
}

/** The names of all claims that are kept as long as an event. */
export function claimsOfEvent({ profile, route, deliveryId, signatureDigest }: JsonObject): readonly string[] {
  if (typeof profile !== 'string' || typeof route !== 'string' || typeof deliveryId !== 'string') return [];
  return claimNames({
    profile,
    route,
    deliveryId,
    signatureDigest: typeof signatureDigest === 'string' ? signatureDigest : undefined,
  });
}

/** Of the replays of an event. */
export function replayMark(eventKey: string): string {
  return `o${eventKey}`;
}

/** Of the events that led to a run or a delivery of another key. */
export function workMark(work: string): string {
  return `w${work}`;
}

/** Whether a record in this status may be one whose work is due, and so bear no mark of the status. */
export function isPassing(status: unknown): boolean {
  return passing.has(status);
}

/** The marks of an event. One that led to work shows the outcome of that, so it bears no status of its own. */
export function marksOfEvent(key: string, event: JsonObject): Marks {
  const { route, status, cronJob, deliveryId, work, replayOf } = event;
  const shared = typeof route === 'string' ? [routeMark(route)] : [];
  if (typeof work !== 'string') shared.push(...marksOfStatus(status, route));
  if (typeof cronJob === 'string') shared.push(jobMark(cronJob));
  if (typeof replayOf === 'string') shared.push(replayMark(replayOf));
  return {
    shared,
    own: typeof deliveryId === 'string' && !repeatsId(event) ? idMark(deliveryId) : undefined,
    ofWork: typeof work === 'string' && work !== key ? workMark(work) : undefined,
  };
}

/** The marks of a run or of a delivery to a target. */
export function marksOfWork(work: JsonObject, isDue: boolean): Marks {
  const { route, status, target } = work;
  const shared = typeof route === 'string' ? [routeMark(route)] : [];
  if (typeof target === 'string') shared.push(targetMark(target));
  if (!isDue || !isPassing(status)) shared.push(...marksOfStatus(status, route));
  return { shared, own: undefined, ofWork: undefined };
}

/** The marks that an event bears for a status that it shows. */
export function marksOfStatus(status: unknown, route: unknown): readonly string[] {
  if (typeof status !== 'string') return [];
  return typeof route === 'string' ? [statusMark(status), statusMark(status, route)] : [statusMark(status)];
}

interface Shown {
  readonly status?: unknown;
}

/** What the events of some work show of it; undefined where they show what they were answered as. */
export function shownOfWork(run: Shown | undefined, delivery: Shown | undefined): string | undefined {
  const { status } = run ?? delivery ?? {};
  if (typeof status !== 'string' || status === 'queued') return undefined;
  return run === undefined ? outcomeOf({ status } as DeliveryRecord) : status;
}
