/**
 * What the outside lends to the effects: a log, a clock, randomness, a runner of agents, delivery targets. The effects
 * name these; the composition root fills them with the real thing.
 */

import type { RunAccount } from '../machines/agent/transcript.ts';
import type { JsonObject } from '../machines/base/json.ts';
import type { ProfileName } from '../machines/base/names.ts';
import type { PartlySent, SendOutcome } from '../machines/dispatch/send-outcome.ts';
import type { RunReport } from '../machines/webhook/run-report.ts';

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
  /** 1 for the first; one more for each whose agent had the prompt when a crash cut it off (DUR-1). */
  readonly attempt: number;
  /**
   * Called when the agent can take the prompt; until this resolves it has none, in whatever form. The signal has aborted
   * where it must have none at all. Never rejects.
   */
  readonly handOver?: () => Promise<void>;
  readonly prompt: string;
  readonly toolsets: readonly string[];
  /** The name of another model than the profile's own. */
  readonly model?: string;
  /** The trace that the run belongs to, as W3C writes it. */
  readonly traceparent?: string;
}

export type AgentRunOutcome = (
  | { readonly kind: 'responded'; readonly response: string }
  | { readonly kind: 'failed'; readonly reason: string }
  /** The system lacked descriptors, processes or memory to start it; the agent never had the prompt. */
  | { readonly kind: 'notBegun'; readonly reason: string }
) & {
  /** What it took and what was said, from a runner that knows. */
  readonly account?: RunAccount;
};

/** Runs an agent once. Resolves with an outcome, never rejects; stops its whole process group when the signal aborts. */
export interface AgentRunner {
  (request: AgentRunRequest, signal: AbortSignal): Promise<AgentRunOutcome>;
  /** Returns the response where that follows from the prompt alone: no program or model is asked. */
  readonly respond?: (prompt: string) => string;
}

/** How fast the pieces of a text may follow each other, beside everything else that goes to the platform. */
export interface PiecePace {
  /** Resolves when the next piece may go, or as soon as the signal aborts. */
  turn(signal: AbortSignal): Promise<void>;
  /** The platform asks for a pause. */
  limited(forMs: number): void;
}

export interface DeliveryRequest {
  readonly deliveryId: string;
  readonly profile: ProfileName;
  readonly text: string;
  /** `deliver_extra`, rendered; its `chat_id`, `repo` and so on are the target's to read. */
  readonly extra: JsonObject;
  /** What an earlier attempt has delivered of it. */
  readonly sent?: PartlySent;
  /** Where an earlier try has begun to bring it: the rest goes nowhere else. */
  readonly begunAt?: string;
  /** Absent: as fast as the platform answers. */
  readonly pace?: PiecePace;
  /** What happened to which run, for targets that say more than the text. */
  readonly report: () => Promise<RunReport>;
}

export interface DeliveryTarget {
  /** Where a text with this `deliver_extra` goes, as people call it; undefined where there is no place, or none is said. */
  placeOf(extra: JsonObject): string | undefined;
  /**
   * For how long sending the same delivery again delivers it once, by where it goes; 0 where it never does. Only within
   * this time is one sent again whose outcome is not known. `begunAt` is as in the request.
   */
  deduplicatesForMs(extra: JsonObject, begunAt?: string): number;
  /** Resolves with an outcome, never rejects. */
  deliver(request: DeliveryRequest, signal: AbortSignal): Promise<SendOutcome>;
  /** Delivers before it returns, to nobody outside the gateway; a second time does no harm. Absent where that cannot be. */
  deliverAtOnce?(request: Pick<DeliveryRequest, 'deliveryId' | 'profile' | 'text'>): void;
}
