/** Deliveries to targets, their failures, and what a person does about them. */

import type { SweptStatus } from '../../../machines/base/status.ts';
import type { FailureGroup } from '../../../machines/dispatch/failure-groups.ts';
import type { DeliveryRecord, DeliveryRow } from '../../../machines/webhook/record.ts';
import type { ById, HistoryQuery, InProfile } from './choices.ts';

export interface DeliveryQuery extends HistoryQuery {
  /** Any name of the target. */
  readonly target?: string;
}

/** Selects deliveries that are retried or dropped together: dead letters, or those of another status. */
export interface SweepQuery extends Pick<DeliveryQuery, 'route' | 'profile' | 'target' | 'since'> {
  readonly status?: SweptStatus;
}

/**
 * One delivery by its id, with `all` every matching dead letter, or with `since` or `status` alone those that failed since then
 * or have this status: a gateway that does not know it yet would take all.
 */
export type DeliveryChoice =
  | ById
  | (SweepQuery & { readonly all: true })
  | (SweepQuery & { readonly since: string })
  | (SweepQuery & { readonly status: SweptStatus });

/** Several deliveries: by their ids, or all open failures of a group. */
export type BulkChoice =
  | { readonly ids: readonly string[] }
  | (Omit<FailureChoice, 'state'> & { readonly key: string });

/** The outcome of an action on several deliveries. */
export interface Bulk {
  /** The ids to which the action was applied. */
  readonly done: readonly string[];
  readonly skipped: readonly { readonly id: string; readonly why: string }[];
}

export interface BulkProgress {
  readonly delivered: number;
  readonly failed: number;
  /** Deliveries with a failed attempt and another one planned. */
  readonly retrying: number;
  /** Deliveries that are queued or in progress. */
  readonly waiting: number;
}

/** Selects failed deliveries: those that wait for a person, or those that a person dropped. */
export interface FailureChoice extends InProfile {
  readonly state: 'open' | 'dropped';
  /** Only those that failed since then, an ISO 8601 time. */
  readonly since?: string;
}

export interface FailureGroupRow extends Omit<FailureGroup, 'firstMs' | 'lastMs'> {
  readonly first: string;
  readonly last: string;
  /** Failures over time, from the earliest failure of all groups until now. */
  readonly buckets: readonly number[];
}

export interface FailureRow extends Pick<DeliveryRow, 'id' | 'route' | 'event' | 'status' | 'attempts' | 'reason'> {
  readonly event_key: string;
  /** The platform and the place, such as a channel. */
  readonly place: string;
  /** The beginning of the text. */
  readonly text: string;
  readonly note?: string;
  readonly last_attempt_at: string;
}

/** A delivery to a target. */
export interface OutgoingRow extends DeliveryRow {
  /** The platform has requested a pause until then. */
  readonly paused_until?: string;
  readonly pause_reason?: string;
}

export interface OutgoingDetail extends OutgoingRow {
  readonly record: DeliveryRecord;
}

/** The outcome of an action on many deliveries. */
export interface Sweep {
  readonly done: number;
  readonly left: number;
  /** The reasons for the first of the remaining ones. */
  readonly refusals: readonly { readonly id: string; readonly code: string; readonly error: string }[];
}

export interface Swept extends Omit<Sweep, 'done'> {
  readonly retried?: number;
  readonly dropped?: number;
}

/** The outcome of a cancellation of many runs. */
export interface CancelledRuns extends Omit<Sweep, 'done'> {
  readonly cancelled: number;
}

export interface TargetRow extends Pick<OutgoingRow, 'paused_until' | 'pause_reason'> {
  readonly name: string;
  readonly target: string;
  /** The platform's display name, such as `Slack`. */
  readonly title: string;
  readonly profile: string;
  readonly state: string;
  readonly since: string;
  readonly account?: string;
  readonly home_channel?: string;
  /** Deliveries in its queue. */
  readonly waiting?: number;
  readonly note?: string;
  readonly error?: string;
}

/** Deliveries to targets. Rejects with a Refusal for unknown ids and forbidden actions. */
export interface DeliveryService {
  list(query: DeliveryQuery): Promise<readonly OutgoingRow[]>;
  /** One by its id, or by the id of its event. */
  show(id: string): Promise<OutgoingDetail>;
  /**
   * Retries one delivery by its id, or by an event's id all of its deliveries that ended without arriving; returns a
   * Sweep for several.
   */
  retry(id: string, how: { readonly force: boolean }): Promise<OutgoingRow | Sweep>;
  /** @param note the reason, stored with the record */
  drop(id: string, note?: string): Promise<OutgoingRow | Sweep>;
  retryEach(ids: readonly string[], how: { readonly force: boolean }): Promise<Bulk>;
  dropEach(ids: readonly string[], note?: string): Promise<Bulk>;
  /** Marks unconfirmed deliveries as arrived, because a person has seen them at the target. */
  confirmEach(ids: readonly string[], note?: string): Promise<Bulk>;
  /**
   * Retries all matching deliveries, dead letters unless a status is given, with `force` also deliveries that may have arrived, the oldest first; one that
   * cannot be retried does not block the others.
   */
  retryAll(query: SweepQuery, how: { readonly force: boolean }): Promise<Sweep>;
  /** Of those that wait the newest first, so that none is sent in the place of another. */
  dropAll(query: SweepQuery, note?: string): Promise<Sweep>;
  /** The configured targets with the state of their connections. */
  targets(): readonly TargetRow[];
}
