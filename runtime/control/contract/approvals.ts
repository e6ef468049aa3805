/** Questions that wait for a person, and their answers. @see TRU-3 and SEC-7 in docs/specification.md */

import type { Json } from '../../../machines/base/json.ts';
import type { Remember } from '../../../machines/mcp/approval-rules.ts';

export interface ApprovalRow {
  readonly id: string;
  readonly kind: 'tool' | 'form';
  readonly server: string;
  readonly profile: string;
  readonly tool?: string;
  /** The key of the run that waits for the answer. */
  readonly run?: string;
  /** While it waits: the beginning of the call's arguments on one line, secrets masked; `approvals.show` has all. */
  readonly call?: string;
  readonly message: string;
  readonly asked_at: string;
  readonly expires_at: string;
  /** The gateway where it waits, if it is another one. */
  readonly node?: string;
}

export interface ApprovalDetail extends ApprovalRow {
  /** The arguments of the call, or the schema of the form. */
  readonly detail: Json;
  /** The tool's hints, as its server gives them. */
  readonly hints?: { readonly destructive?: boolean; readonly idempotent?: boolean; readonly open_world?: boolean };
  /** The model's text with the call. */
  readonly said?: string;
  readonly asked_by?: AskedBy;
  /** The prompt of the run with the question. */
  readonly prompt?: string;
}

/** The run with the question, and its cause. */
export interface AskedBy {
  /** The name of the program or the model. */
  readonly agent?: string;
  readonly route: string;
  readonly event: string;
  readonly delivery_id: string;
  readonly event_key?: string;
  /** The person who caused the event, according to its sender. */
  readonly person?: string;
}

/** A question that has ended. */
export interface AnsweredRow extends ApprovalRow {
  readonly verdict: 'approved' | 'denied' | 'timedOut';
  readonly answered_at: string;
  /** The surface of the answer: `cli`, `page`, `chat`; absent after a timeout. */
  readonly by?: string;
  readonly remember?: Remember;
  readonly note?: string;
}
