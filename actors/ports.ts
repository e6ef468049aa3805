/**
 * What the outside lends to the effects: a log, a clock, randomness, a runner of agents, delivery targets. The effects
 * name these; the composition root fills them with the real thing.
 */

import type { JsonObject } from '../machines/base/json.ts';
import type { ProfileName } from '../machines/base/names.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
/** Structured fields of a log line; secrets among them are redacted by the log. */
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
  readonly profile: ProfileName;
  /** 1 for the first; 2 when a crash cut the first off (DUR-1). */
  readonly attempt: number;
  readonly prompt: string;
  readonly toolsets: readonly string[];
  /** The trace that the run belongs to, as W3C spells it. */
  readonly traceparent?: string;
}

export type AgentRunOutcome =
  | { readonly kind: 'responded'; readonly response: string }
  | { readonly kind: 'failed'; readonly reason: string };

/** Runs an agent once. Resolves with an outcome, never rejects; stops its whole process group when the signal aborts. */
export type AgentRunner = (request: AgentRunRequest, signal: AbortSignal) => Promise<AgentRunOutcome>;

export interface DeliveryRequest {
  readonly deliveryId: string;
  readonly profile: ProfileName;
  readonly text: string;
  /** `deliver_extra`, rendered; its `chat_id`, `repo` and so on are the target's to read. */
  readonly extra: JsonObject;
}

export type DeliveryOutcome =
  | { readonly kind: 'delivered'; readonly messageId?: string }
  /** The target said no, or was not reached: nothing was delivered. */
  | { readonly kind: 'failed'; readonly reason: string }
  /** The request went out and no answer came: it may or may not have been delivered. */
  | { readonly kind: 'unknown'; readonly reason: string };

export interface DeliveryTarget {
  /** True where sending the same delivery id twice delivers once; only these are resent after an unknown outcome. */
  readonly deduplicates: boolean;
  /** Resolves with an outcome, never rejects. */
  deliver(request: DeliveryRequest, signal: AbortSignal): Promise<DeliveryOutcome>;
}
