/**
 * The secondary index of the history, so that a listing by route, status, target or id reads few other records. A mark is a
 * hint: every record that matches a query has the query's mark, others may have it too; an event is found by the claim of
 * its id instead, as long as that exists. The reader checks the record itself.
 *
 * Work in progress changes its status often; it has no mark for these statuses and is found by its due time instead.
 * @see DUR-2 and CON-4 in docs/specification.md
 */

import type { JsonObject } from '../base/json.ts';
import { canonicalTarget } from '../config/targets.ts';
import { claimNames, claimsOf, type DeliveryRecord, outcomeOf, repeatsId } from './record.ts';

interface Marks {
  /** Shared by many records: one entry covers a time bucket. */
  readonly shared: readonly string[];
  /** Of this record alone, or of few: one entry per record key. */
  readonly own: string | undefined;
  /** Of the events of one piece of work: one event within an hour, or many in a time bucket. */
  readonly ofWork: string | undefined;
}

/** Transient statuses: while its work is due, such a record is found by its due time. */
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

/** The mark of a status on any route, or on one. */
export function statusMark(status: string, route?: string): string {
  return route === undefined ? `s${status}` : `p${status}/${route}`;
}

export function targetMark(target: string): string {
  return `t${canonicalTarget(target) ?? target}`;
}

export function jobMark(job: string): string {
  return `c${job}`;
}

/** The mark of the events with an id, except repeats and those that a claim of the id leads to. */
export function idMark(deliveryId: string): string {
  return `i${deliveryId}`;
}

/** Whether a mark is of few records: the events of an id or of a piece of work, the replays of an event. */
export function leadsToFew(mark: string): boolean {
  return /^[iow]/.test(mark);
}

/** The name prefix of the claims that lead to a mark's events; undefined if the mark is not one of an id. */
export function claimsOfMark(mark: string): string | undefined {
  return mark.startsWith('i') ? claimsOf(mark.slice(1)) : undefined;
}

/** The name under which an event's id is claimed. */
export function claimOfEvent(event: JsonObject): string | undefined {
  return claimsOfEvent(event)[0];
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

export function replayMark(eventKey: string): string {
  return `o${eventKey}`;
}

/** The mark of events that led to a run or delivery with another key. */
export function workMark(work: string): string {
  return `w${work}`;
}

/** Whether a record with this status may have due work, and therefore no mark of the status. */
export function isPassing(status: unknown): boolean {
  return passing.has(status);
}

/** The marks of an event. One that led to work shows the work's outcome, so it has no mark of its own status. */
export function marksOfEvent(key: string, event: JsonObject): Marks {
  const { route, status, cronJob, deliveryId, work, replayOf } = event;
  const shared = typeof route === 'string' ? [routeMark(route)] : [];
  if (typeof work !== 'string') shared.push(...marksOfStatus(status === 'cron' ? 'ignored' : status, route));
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

/** The marks of an event for a status that it shows. */
export function marksOfStatus(status: unknown, route: unknown): readonly string[] {
  if (typeof status !== 'string') return [];
  return typeof route === 'string' ? [statusMark(status), statusMark(status, route)] : [statusMark(status)];
}

interface Shown {
  readonly status?: unknown;
}

/** The status that the events of some work show; undefined if they show their own. */
export function shownOfWork(run: Shown | undefined, delivery: Shown | undefined): string | undefined {
  const { status } = run ?? delivery ?? {};
  if (typeof status !== 'string' || status === 'queued') return undefined;
  return run === undefined ? outcomeOf({ status } as DeliveryRecord) : status;
}
