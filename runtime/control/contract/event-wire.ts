/**
 * The result of `events.open`: one event with everything that is known about it, as the page shows it. Types only. Times
 * are Unix milliseconds; every text is redacted.
 * @see INS-4 and DUR-2 in docs/specification.md
 */

import type { Timeline } from './wire.ts';

export interface OpenedEvent extends Omit<Timeline, 'verdict' | 'cure' | 'findings' | 'phases'> {
  /** The gateway that received it, if several share the journal. */
  readonly node?: string;
  /** Absent while any part of it is under way. */
  readonly ended?: number;
  readonly verdict: Verdict;
  /** The sender, and how it was verified. */
  readonly sender: string;
  readonly payload: Payload;
  readonly headers: Readonly<Record<string, string>>;
  readonly prompt?: string;
  readonly response?: string;
  /** Absent while the sender waits for it. */
  readonly answer?: HttpAnswer;
  readonly spans: readonly Span[];
  readonly checks: readonly Check[];
  readonly deliveries: readonly OpenedDelivery[];
  readonly replayOf?: string;
  readonly edited?: true;
  /** A replay whose response is sent to no target. */
  readonly dry?: true;
  /** Newest first. */
  readonly replays: readonly EventReplay[];
  /** The run, if it can be cancelled. */
  readonly run?: string;
  /** The open question that its run waits for. */
  readonly question?: string;
}

/** The tones of the page's marks. */
export type Tone = 'working' | 'needsUser' | 'resting' | 'unconfirmed' | 'failed' | 'ended';

export interface Verdict {
  readonly tone: Tone;
  /** One sentence: outcome and reason. */
  readonly text: string;
  /** What happened on the way, or what follows; may be empty. */
  readonly detail: string;
  /** The place on the page where the cause is shown or changed, such as `routes/default/ci`. */
  readonly place?: string;
}

export interface Payload {
  /** Only the beginning of a long payload. */
  readonly text: string;
  readonly bytes: number;
  readonly whole: boolean;
}

export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

export interface Span {
  /** The address of its actor, or a generated id. */
  readonly id: string;
  readonly kind: 'request' | 'batch' | 'run' | 'model' | 'call' | 'question' | 'delivery';
  readonly name: string;
  readonly note?: string;
  /** The id of the span that it is a part of. */
  readonly parent?: string;
  readonly tone: Tone;
  readonly start: number;
  /** Absent while it is under way. */
  readonly end?: number;
  readonly parts: readonly SpanPart[];
  /** When each further event joined the batch. */
  readonly ticks?: readonly number[];
  /** Such as the arguments and the result of a call. */
  readonly texts?: readonly { readonly title: string; readonly text: string }[];
}

export interface SpanPart {
  readonly start: number;
  /** Absent while it is under way, unless the end of a wait is known. */
  readonly end?: number;
  /** `person`: waits for a person. `pause`: waits to retry. `window`: the batch gathers events. */
  readonly how: 'work' | 'person' | 'pause' | 'window' | 'failed';
}

export interface Check {
  readonly name: string;
  /** `notMatched` and `repeated`: it decided the event, which is no failure. */
  readonly result: 'passed' | 'failed' | 'skipped' | 'notMatched' | 'repeated';
  readonly detail: string;
  readonly ms?: number;
}

export interface OpenedDelivery {
  readonly id: string;
  /** The platform and the place, such as "Slack #deploys". */
  readonly place: string;
  readonly target: string;
  readonly status: string;
  readonly tone: Tone;
  readonly reason?: string;
  /** Why a person dropped it. */
  readonly note?: string;
  /** The notice that the run failed. */
  readonly notice?: true;
  readonly next?: number;
  /** Newest first. */
  readonly attempts: readonly DeliveryAttempt[];
}

export interface DeliveryAttempt {
  readonly number: number;
  readonly at: number;
  /** Absent while the answer is awaited, or after a crash. */
  readonly ms?: number;
  readonly tone: Tone;
  readonly answer: string;
}

export interface EventReplay {
  readonly key: string;
  readonly received: number;
  readonly edited?: true;
  readonly dry?: true;
}
