/** Events of the history: searched, counted, explained and replayed. */

import type { EventOutcome } from '../../../machines/base/event-outcome.ts';
import type { ChipName } from '../../../machines/base/event-query.ts';
import type { DeliveryRecord, EventRecord, EventSummary, RunRecord } from '../../../machines/webhook/record.ts';
import type { Sweep } from './deliveries.ts';
import type { Timeline } from './wire.ts';

/** Why a request was refused; for a route, the newest first. */
export interface Diagnosis {
  /** The key of its row in the history. */
  readonly key: string;
  readonly received_at: string;
  readonly outcome: string;
  readonly findings: NonNullable<Timeline['findings']>;
}

/** The changes to a replayed event; absent fields stay as they were. */
export interface ReplayEdit {
  /** In the sender's format. */
  readonly payload?: string;
  /** The event type. */
  readonly event?: string;
  /** Another route of its profile. */
  readonly to?: string;
  /** Runs as usual but delivers nothing; the response is kept with the event. */
  readonly dry?: boolean;
}

export interface HistoryRow extends EventSummary {
  /** The journal's key, which is unique even if delivery ids repeat. */
  readonly key: string;
}

export interface HistoryDetail extends HistoryRow {
  readonly record: EventRecord;
  /** The payload of a form as JSON; any other payload is the body of the record. */
  readonly payload?: string;
  readonly run?: RunRecord;
  readonly delivery?: DeliveryRecord;
  /** All deliveries, if the response has several. */
  readonly deliveries?: readonly DeliveryRecord[];
  /** The delivery of the notice about its failed run, sent to `on_failure`. */
  readonly notice?: DeliveryRecord;
}

/** The outcome of a replay of several events. */
export interface ReplayedEvents extends Omit<Sweep, 'done'> {
  readonly replayed: number;
  /** Left out, because they were replayed before; of these the newest replay is chosen, if it ended alike. */
  readonly replayed_before: number;
  /** Left out, because their response is there and can be delivered again without another run. */
  readonly with_response: number;
}

/** Events by outcome. Refused and unconfirmed ones count as failed, unfinished ones as open. */
export type EventCounts = Readonly<Record<EventOutcome, number>>;

export interface EventBucket extends EventCounts {
  /** The start of the span. */
  readonly at: string;
  /** From the request to the delivery, of the delivered events, within one percent. */
  readonly median_ms?: number;
  readonly p95_ms?: number;
}

/** Events over a range of time, in at most 60 spans of equal length. Equal refused requests are one row and count once. */
export interface CountedEvents {
  /** As requested. */
  readonly from: string;
  /** The end of the last span. */
  readonly to: string;
  readonly bucket_ms: number;
  /** Since when events are counted, if the count has not reached the start of the range yet. */
  readonly counted_from?: string;
  readonly total: number;
  readonly counts: EventCounts;
  readonly buckets: readonly EventBucket[];
  readonly median_ms?: number;
  readonly p95_ms?: number;
}

export interface CountedRoute extends Omit<CountedEvents, 'from' | 'to' | 'bucket_ms' | 'counted_from'> {
  readonly route: string;
  readonly profile: string;
  /** The time of its last event in the range. */
  readonly last_at: string;
}

export interface EventSearch {
  /** Words, phrases in quotes, and filters such as `route:stripe`; empty matches all events. */
  readonly q?: string;
  /** `15m`, `1h`, `24h`, `7d`, `<time>..<time>`, `<time>..`, or `all`, which is the default. */
  readonly range?: string;
}

/** An event that matches a search. */
export interface EventFound extends HistoryRow {
  /** Where it was delivered, or what it waits for; absent if the reason says so. */
  readonly result?: string;
  /** The platform and place of its delivery; given with a reason that may be the delivery's. */
  readonly place?: string;
  /** From the request to the delivery. */
  readonly took_ms?: number;
  readonly replay_of?: string;
}

/** The counts of a search. A filter by status narrows the total and the buckets, not the chips. */
export interface SearchedEvents extends CountedEvents {
  readonly chips: Readonly<Record<ChipName, number>>;
}

export interface FoundEvents extends SearchedEvents {
  /** Newest first. */
  readonly rows: readonly EventFound[];
  /** The cursor for older rows; absent if there are none. */
  readonly cursor?: string;
  /** The time of the oldest event of the history. */
  readonly oldest_at?: string;
}

export interface EventNews extends SearchedEvents {
  /** New rows, and changed ones among the newest and the unfinished rows. */
  readonly rows: readonly EventFound[];
  /** How many more there are, all below the last of `rows`. */
  readonly left_out?: number;
}
