/** The rows that the daemon's methods and its stream answer with, as far as the page reads them. */

import type { Json, JsonObject } from '../../../../machines/base/json.ts';
import type { ActorRow } from '../../wire.ts';

/** A living actor, and the question that it waits for while a person must answer. */
export interface LivingRow extends ActorRow {
  readonly question?: string;
}

export interface DeliveryRow {
  readonly delivery_id: string;
  readonly route: string;
  readonly profile: string;
  readonly event: string;
  readonly status: string;
  readonly reason?: string;
  readonly received_at: string;
  readonly attempts: number;
  /** The journal's key, which is unique where delivery ids repeat. */
  readonly key?: string;
  /** The open question that its run waits for, while a person must answer. */
  readonly question?: string;
  /** The equal refusals that it stands for; the key of the first stays while the newest changes. */
  readonly alike?: {
    readonly count: number;
    readonly first_key: string;
    readonly first_at: string;
  };
}

export interface DeliveryDetail extends DeliveryRow {
  readonly record?: {
    readonly headers?: JsonObject;
    readonly body?: string;
    readonly scheme?: string;
    readonly replayOf?: string;
  };
  readonly run?: JsonObject;
  readonly delivery?: JsonObject;
  /** That its run failed, as it was sent to `on_failure`. */
  readonly notice?: JsonObject;
}

export interface ServerRow {
  readonly name: string;
  readonly profile: string;
  readonly state: string;
  readonly transport: string;
  readonly era: string | null;
  readonly tools: number;
  readonly since: string;
  readonly error?: string;
}

export interface ToolRow {
  readonly name: string;
  readonly server: string;
  readonly tool: string;
  readonly description: string;
  readonly available: boolean;
  readonly input_schema: Json;
  readonly output_schema?: Json;
  readonly annotations?: JsonObject;
}

export interface CallAnswer {
  readonly content?: readonly JsonObject[];
  readonly structuredContent?: Json;
  readonly isError?: boolean;
  readonly error?: { readonly code: string; readonly message: string };
}

export interface ApprovalRow {
  readonly id: string;
  readonly kind: 'tool' | 'form';
  readonly server: string;
  readonly profile: string;
  readonly tool?: string;
  /** The key of the run that waits for the answer. */
  readonly run?: string;
  readonly message: string;
  readonly asked_at: string;
  readonly expires_at: string;
  readonly detail?: Json;
}

export interface JobRow {
  readonly id: string;
  readonly name: string;
  readonly profile: string;
  readonly schedule?: string;
  readonly timezone?: string;
  readonly state: string;
  readonly deliver?: string;
  readonly next_due?: string | null;
  readonly since?: string;
  readonly problem?: string;
  readonly why?: string;
}

export interface JobDetail extends JobRow {
  readonly prompt: string;
  readonly next: readonly string[];
  readonly history?: readonly {
    readonly at: string;
    readonly cause: string;
    readonly status?: string;
    readonly reason?: string;
    readonly run?: string;
  }[];
}

/** A text on its way to a platform. */
export interface OutgoingRow {
  readonly id: string;
  readonly delivery_id: string;
  readonly route: string;
  readonly profile: string;
  readonly event: string;
  readonly target: string;
  readonly status: string;
  readonly reason?: string;
  readonly queued_at: string;
  readonly next_try_at?: string;
  /** The platform asks for a pause until then. */
  readonly paused_until?: string;
}

export interface TargetRow {
  readonly name: string;
  readonly profile: string;
  readonly state: string;
  readonly since: string;
  readonly account?: string;
  readonly waiting?: number;
  /** The platform asks for a pause until then. */
  readonly paused_until?: string;
  readonly pause_reason?: string;
  readonly note?: string;
  readonly error?: string;
}

/** A link as it was read for one profile. */
export interface LinkReading {
  readonly name: string;
  readonly kind: 'command' | 'url';
  readonly config: JsonObject;
  /** A sentence for each setting of the entry that lowers a guard. */
  readonly lowers: readonly string[];
  /** The profile has a server of that name. */
  readonly taken: boolean;
  /** The profiles that it may be added to. */
  readonly profiles: readonly string[];
}
