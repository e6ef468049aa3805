/**
 * The words between the daemon and the inspector page: types only, so that the page's build takes nothing of the daemon
 * with it. Times are Unix milliseconds unless a name says otherwise; every text has passed the redactor.
 *
 * | request | answer |
 * | --- | --- |
 * | `GET /open?token=…` | the one-time link: the page, with the session's cookie and, in its document, the session's key |
 * | `GET /hello` | the process's nonce, and the daemon's proof over it and the page's `x-agent-inspector-challenge`, by the key of the session in `x-agent-inspector-session` |
 * | `GET /stream` | Server-Sent Events: `snapshot`, then `delta` and `vitals`; a comment as heartbeat |
 * | `POST /rpc` | JSON-RPC of the control socket's methods; one answer, or lines with `Accept: application/x-ndjson` |
 * | `GET /chart/<machine>` | a Chart |
 * | `GET /actor/<id>` | an ActorDetails, or 404 |
 * | `GET /metrics`, `GET /ready` | Prometheus text; Readiness |
 *
 * The stream, the commands, charts and actors want the HMAC of the key over the nonce as `x-agent-inspector-proof`; the
 * page's files and `/hello` the cookie alone. The words that are signed are in `machines/base/page-proof.ts`.
 * Anything without a session is answered 401, a foreign Host 421, a foreign Origin 403.
 * @see INS-2, INS-3 and SEC-1 in docs/specification.md
 */

import type { Json, JsonObject } from '../../machines/base/json.ts';

/** One living actor as a flat row. */
export interface ActorRow {
  /** Its address, such as `requests/0mg…` or `gateway/runs`; unique among the living. */
  readonly id: string;
  /** The address of the actor that spawned it; null for the supervisor. */
  readonly parent: string | null;
  /** The name of its chart, as `/chart/<machine>` takes it; a pool is `<room>Pool` and has no chart. */
  readonly machine: string;
  /** Dotted where states nest (`up.running`); a ward's is `active`. */
  readonly state: string;
  readonly since: number;
  /** Why it is as it is: a fault, a refusal, the reason of a retry. */
  readonly why?: string;
  /** Of its state: `working`, `resting`, `needsUser`, `ended`; and `failed` or `retrying` where that is so. */
  readonly tags: readonly string[];
  readonly meta?: ActorFacts;
}

/** A living actor, and the question that it waits for while a person must answer. */
export interface LivingRow extends ActorRow {
  readonly question?: string;
}

/** What tells one actor from another, and what filters ask for. */
export interface ActorFacts {
  readonly profile?: string;
  readonly route?: string;
  readonly event?: string;
  /** The delivery that it works for, carried from request to run to delivery. */
  readonly delivery?: string;
  /** The journal's key of the event that it works for. */
  readonly key?: string;
  readonly server?: string;
  /** The registered name of a tool. */
  readonly tool?: string;
  /** A delivery's target. */
  readonly target?: string;
  readonly group?: string;
  readonly job?: string;
  readonly url?: string;
  /** Who called or asked. */
  readonly by?: string;
  readonly attempt?: number;
  /** A connection's registered tools. */
  readonly tools?: number;
  /** Calls of a connection without an answer yet, or events that a burst has gathered. */
  readonly waiting?: number;
  /** A ward's living children. */
  readonly size?: number;
}

/** A transition as it was taken; states passed through without a pause are steps too. */
export interface StepRow {
  /** Rises by one with every step; a gap means steps that were not kept. */
  readonly seq: number;
  readonly at: number;
  readonly actor: string;
  readonly machine: string;
  /** The event's type; empty for an eventless transition. */
  readonly event: string;
  /** Ids of a Chart's states. */
  readonly from: string;
  readonly to: string;
  /** Why, where the step decided something. */
  readonly why?: string;
  readonly delivery?: string;
}

/** `event: snapshot`: the first of a stream, and again whenever a viewer was too slow for the deltas. */
export interface SnapshotMessage {
  readonly at: number;
  readonly actors: readonly ActorRow[];
  /** How many children of a ward are not among the rows, by the ward's id. */
  readonly more: Readonly<Record<string, number>>;
  /** The newest steps that are remembered, oldest first. */
  readonly steps: readonly StepRow[];
  readonly vitals: Vitals;
}

/** `event: delta`: what changed since the message before. */
export interface DeltaMessage {
  readonly at: number;
  /** Rows that are new or other than before, whole. */
  readonly changed: readonly ActorRow[];
  /** Ids of actors that ended. */
  readonly gone: readonly string[];
  readonly steps: readonly StepRow[];
  /** Steps of this batch beyond those listed. */
  readonly skipped: number;
}

/** `event: vitals`: every few seconds, and within a snapshot. */
export interface Vitals {
  readonly at: number;
  readonly version: string;
  readonly pid: number;
  readonly home: string;
  readonly started: number;
  /** The webhooks' base URL; null while nothing listens. */
  readonly url: string | null;
  readonly ready: boolean;
  readonly runs: { readonly running: number; readonly queued: number; readonly concurrency: number };
  /** Living actors by machine. */
  readonly actors: Readonly<Record<string, number>>;
  /** MCP servers by state. */
  readonly servers: Readonly<Record<string, number>>;
  readonly approvals: number;
  /** Requests since the start, by outcome (`accepted`, `ignoredFilter`, `badSignature`, …). */
  readonly requests: Readonly<Record<string, number>>;
  readonly memoryBytes: number;
  /** The longest that the event loop was held up since the vitals before. */
  readonly lagMs: number;
  /** Gateways that share the journal, as far as this one knows; absent where it has the journal for itself. */
  readonly nodes?: number;
  /** The served profiles, where there are several. */
  readonly profiles?: readonly string[];
}

/** `GET /chart/<machine>`: a chart as its definition says; the same for every actor of the machine, so worth caching. */
export interface Chart {
  readonly machine: string;
  readonly states: readonly ChartState[];
  readonly transitions: readonly ChartTransition[];
}

export interface ChartState {
  /** Dotted: `up.running` lies in `up`. */
  readonly id: string;
  readonly parent: string | null;
  /** Its own name. */
  readonly name: string;
  readonly kind: 'atomic' | 'compound' | 'parallel' | 'final';
  /** The chart, or its compound parent, begins here. */
  readonly initial: boolean;
  readonly description: string;
  /** The id of the rule in docs/specification.md; empty where it has none. */
  readonly rule: string;
  readonly tags: readonly string[];
  readonly entry: readonly string[];
  readonly exit: readonly string[];
  readonly invokes: readonly string[];
}

export interface ChartTransition {
  /** Its number in the chart. */
  readonly id: number;
  /** Null where it holds in every state. */
  readonly from: string | null;
  /** Null where no state is left. */
  readonly to: string | null;
  readonly kind: 'event' | 'always' | 'after' | 'done' | 'error';
  /** The event's type, the delay's name, or the id of the invoked; empty for `always`. */
  readonly label: string;
  /** The event's type as a StepRow writes it. */
  readonly event: string;
  readonly guard?: string;
  readonly actions: readonly string[];
}

/** `GET /actor/<id>`. */
export interface ActorDetails extends ActorRow {
  readonly description: string;
  readonly rule: string;
  /** Redacted, bounded in depth and length. */
  readonly context: Json;
  /** Its timers that wait, soonest first. */
  readonly timers: readonly TimerRow[];
  /** Its last steps, oldest first. */
  readonly steps: readonly StepRow[];
  /** The events that it last received, oldest first; only what was seen while somebody watched. */
  readonly events: readonly EventRow[];
  readonly children: readonly string[];
}

export interface TimerRow {
  /** The delay's name, or the event's type. */
  readonly label: string;
  readonly event: string;
  readonly started: number;
  readonly due: number;
}

export interface EventRow {
  readonly at: number;
  readonly type: string;
  /** The sender's address; empty for one from outside the actors. */
  readonly from: string;
  /** What it carried, redacted and bounded. */
  readonly event: JsonObject;
}

/** `GET /ready`: 200 while all parts are well, 503 otherwise. */
export interface Readiness {
  readonly ready: boolean;
  readonly parts: Readonly<Record<string, { readonly ok: boolean; readonly state: string; readonly why?: string }>>;
}

/** The answer of `inspect.why`: everything that is known of one delivery, in the order it happened. */
export interface Story {
  readonly delivery: string;
  readonly key: string;
  readonly route: string;
  readonly profile: string;
  readonly event: string;
  /** As a row of the history says it. */
  readonly status: string;
  readonly received: number;
  /** One sentence: its outcome and why. */
  readonly verdict: string;
  /** What to do about it; empty where there is nothing to do. */
  readonly cure: string;
  /** Why a request was refused, while its route keeps it (SRC-5). */
  readonly findings?: readonly { readonly code: string; readonly text: string }[];
  readonly chapters: readonly Chapter[];
}

/** One actor's part of a story. */
export interface Chapter {
  readonly kind: 'request' | 'group' | 'run' | 'call' | 'question' | 'delivery';
  readonly machine: string;
  /** The actor's address. */
  readonly actor: string;
  readonly title: string;
  readonly state: string;
  readonly began: number;
  /** Absent while it continues. */
  readonly ended?: number;
  readonly stairs: readonly Stair[];
}

/** A state of a chapter with what was decided in it. */
export interface Stair {
  readonly state: string;
  /** Absent where no time was recorded. */
  readonly at?: number;
  readonly result: 'passed' | 'stopped' | 'skipped' | 'waiting' | 'failed';
  /** One line: the scheme chosen, the condition that failed and the value it saw, the target's answer. */
  readonly told: string;
  readonly rule: string;
  /** Longer texts: the prompt, the response, the text on its way. */
  readonly texts?: readonly { readonly title: string; readonly text: string }[];
}
