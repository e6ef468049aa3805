/**
 * The interfaces of what the effects need from outside: a log, a clock, randomness, an agent runner, delivery targets.
 * The composition root provides the implementations.
 */

import type { RunAccount } from '../machines/agent/transcript.ts';
import type { JsonObject } from '../machines/base/json.ts';
import type { SendOutcome } from '../machines/dispatch/send-outcome.ts';
import type { DeliveryRecord, RunOutcome } from '../machines/webhook/record.ts';
import type { RunReport } from '../machines/webhook/run-report.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
/** Structured fields of a log line; the log redacts secrets among them. */
export type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  log(level: LogLevel, message: string, fields?: LogFields): void;
  /** Logs at `warn`, once per key for the life of the process. */
  warnOnce(key: string, message: string, fields?: LogFields): void;
}

/** Unix milliseconds. */
export type Now = () => number;

export interface AgentRunRequest {
  readonly runId: string;
  readonly deliveryId: string;
  readonly route: string;
  readonly event: string;
  readonly profile: string;
  /** 1 for the first; plus one for each attempt that a crash cut off after the agent had the prompt (DUR-1). */
  readonly attempt: number;
  /**
   * Called when the agent is ready for the prompt, which must not reach it before this resolves. If the agent must not
   * get the prompt at all, the signal has aborted then. Never rejects.
   */
  readonly handOver?: () => Promise<void>;
  readonly prompt: string;
  readonly toolsets: readonly string[];
  /** A model other than the profile's default. */
  readonly model?: string;
  /** The trace that the run belongs to, in W3C format. */
  readonly traceparent?: string;
}

export type AgentRunOutcome = RunOutcome & {
  /** Tokens, cost and transcript, if the runner provides them. */
  readonly account?: RunAccount;
  /** The end of what a program had printed when it was stopped, behind a colon; empty if nothing. */
  readonly printed?: string;
};

/**
 * Runs an agent once. Resolves with an outcome, never rejects; stops its complete process group when the signal aborts.
 */
export interface AgentRunner {
  (request: AgentRunRequest, signal: AbortSignal): Promise<AgentRunOutcome>;
  /** Returns the response if it follows from the prompt alone, without a program or a model. */
  readonly respond?: (prompt: string) => string;
}

/** The pace between the pieces of one text, shared with all other deliveries to the platform. */
export interface PiecePace {
  /**
   * Resolves when the next piece may go, or as soon as the signal aborts; with the time that is left, if the platform's
   * pause lasts longer than `maxMs`.
   */
  turn(signal: AbortSignal, maxMs?: number): Promise<number | undefined>;
  /** Reports that a piece has arrived, which ends a pause that was requested before the piece was sent. */
  arrived(): void;
  /** Reports that the platform asks for a pause. */
  limited(forMs: number): void;
}

export interface DeliveryRequest
  extends Pick<DeliveryRecord, 'deliveryId' | 'profile' | 'text' | 'extra' | 'sent'>,
    Partial<Pick<DeliveryRecord, 'queuedAtMs'>> {
  /** Where an earlier attempt began to deliver it; the rest goes to the same place. */
  readonly begunAt?: string;
  /** If absent, pieces are sent as fast as the platform answers. */
  readonly pace?: PiecePace;
  /** Ends the waits between pieces; if absent, the delivery's own signal does. */
  readonly waits?: AbortSignal;
  /** Loads the report of the run, for targets that send more than the text. */
  readonly report: () => Promise<RunReport>;
}

export interface DeliveryTarget {
  /** Where a text with this `deliver_extra` goes, in readable form; undefined if there is no place, or none is named. */
  placeOf(extra: JsonObject): string | undefined;
  /** Only the texts of one event are sent in order: a text does not wait for those of other events. */
  readonly isOrderedByEvent?: true;
  /**
   * How long a repeated delivery arrives only once, by its place; 0 if it never does. A delivery with an unknown outcome
   * is repeated only within this time. `begunAt` is as in the request.
   */
  deduplicatesForMs(extra: JsonObject, begunAt?: string): number;
  /** Resolves with an outcome, never rejects. */
  deliver(request: DeliveryRequest, signal: AbortSignal): Promise<SendOutcome>;
  /** Delivers synchronously inside the gateway; repeating it is harmless. Absent if the target cannot do that. */
  deliverAtOnce?(request: Pick<DeliveryRequest, 'deliveryId' | 'profile' | 'text'>): void;
}
