/**
 * What the daemon and the inspector page exchange: types only, so that the page's build includes nothing of the daemon.
 * Times are Unix milliseconds unless a name says otherwise; every text is redacted.
 *
 * | request | answer |
 * | --- | --- |
 * | `GET /open?token=…` | the one-time link: the page, with the session's cookie and, in its document, the session's key |
 * | `GET /hello` | the process's nonce, and the daemon's proof over it and the page's `x-agent-inspector-challenge`, by the key of the session in `x-agent-inspector-session` |
 * | `GET /stream` | Server-Sent Events: `snapshot`, then `delta` and `health`; `full` alone if 32 pages are connected |
 * | `POST /rpc` | JSON-RPC of the control socket's methods; one answer, or lines with `Accept: application/x-ndjson` |
 * | `GET /chart/<machine>` | a Chart |
 * | `GET /actor/<id>` | an ActorDetails, or 404 |
 * | `GET /metrics`, `GET /ready` | Prometheus text; Readiness |
 *
 * The stream, the commands, charts and actors need the HMAC of the key over the nonce as `x-agent-inspector-proof`; the
 * page's files and `/hello` only the cookie. The signed texts are in `machines/base/page-proof.ts`. A request without a
 * session is answered 401, one with a foreign Host 421, one with a foreign Origin 403.
 * @see INS-2, INS-3 and SEC-1 in docs/specification.md
 */

import type { Json, JsonObject } from '../../../machines/base/json.ts';

export interface ActorRow {
  /** Its address, such as `requests/0mg…` or `gateway/runs`; unique among the running actors. */
  readonly id: string;
  /** The address of the actor that spawned it; null for the supervisor. */
  readonly parent: string | null;
  /** The name of its chart, as `/chart/<machine>` takes it; a pool is `<room>Pool` and has no chart. */
  readonly machine: string;
  /** Dotted where states nest (`up.running`); a pool's is `active`. */
  readonly state: string;
  readonly since: number;
  /** The reason for its state: a fault, a refusal, why it retries. */
  readonly why?: string;
  /** Tags of its state: `working`, `resting`, `needsUser`, `ended`; `failed` and `retrying` where they apply. */
  readonly tags: readonly string[];
  readonly meta?: ActorFacts;
}

/** A running actor, and the question that it waits for while a person must answer. */
export interface LivingRow extends ActorRow {
  readonly question?: string;
}

/** Facts that distinguish actors and can be filtered by. */
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
  readonly target?: string;
  readonly group?: string;
  readonly job?: string;
  readonly url?: string;
  /** The caller, or who asked. */
  readonly by?: string;
  readonly attempt?: number;
  readonly tools?: number;
  /** Calls of a connection without an answer yet, or events that a batch has gathered. */
  readonly waiting?: number;
  /** The number of a pool's children. */
  readonly size?: number;
}

/** A transition as it was taken; eventless ones are steps too. */
export interface StepRow {
  /** Rises by one with every recorded step. */
  readonly seq: number;
  readonly at: number;
  readonly actor: string;
  readonly machine: string;
  /** The event's type; empty for an eventless transition. */
  readonly event: string;
  /** Ids of a Chart's states. */
  readonly from: string;
  readonly to: string;
  /** The reason, if the step decided something. */
  readonly why?: string;
  readonly delivery?: string;
}

/** `event: snapshot`: the first of a stream, and again whenever a viewer was too slow for the deltas. */
export interface SnapshotMessage {
  readonly at: number;
  readonly actors: readonly ActorRow[];
  /** How many children of a pool are not among the rows, by the pool's id. */
  readonly more: Readonly<Record<string, number>>;
  /** The newest recorded steps, oldest first. */
  readonly steps: readonly StepRow[];
  readonly health: Health;
}

/** `event: delta`: what changed since the message before. */
export interface DeltaMessage {
  readonly at: number;
  /** Complete rows that are new or have changed. */
  readonly changed: readonly ActorRow[];
  /** Ids of actors that ended. */
  readonly gone: readonly string[];
  readonly steps: readonly StepRow[];
  /** Steps of this batch beyond those listed. */
  readonly skipped: number;
}

/** `event: health`: every few seconds, and within a snapshot. */
export interface Health {
  readonly at: number;
  readonly version: string;
  readonly pid: number;
  readonly home: string;
  readonly started: number;
  /** The webhooks' base URL; null while nothing listens. */
  readonly url: string | null;
  readonly ready: boolean;
  readonly runs: { readonly running: number; readonly queued: number; readonly concurrency: number };
  /** Running actors by machine. */
  readonly actors: Readonly<Record<string, number>>;
  /** MCP servers by state. */
  readonly servers: Readonly<Record<string, number>>;
  /** Open questions of all gateways; absent while those of other gateways are not known. */
  readonly approvals?: number;
  /** Requests since the start, by outcome (`accepted`, `ignoredFilter`, `badSignature`, …). */
  readonly requests: Readonly<Record<string, number>>;
  readonly memoryBytes: number;
  /** The longest delay of the event loop since the previous message. */
  readonly lagMs: number;
  /** Rises when the routes in force have changed. */
  readonly routes: number;
  /** Known gateways that share the journal; absent if it is not shared. */
  readonly nodes?: number;
  /** The served profiles, where there are several. */
  readonly profiles?: readonly string[];
}

/** `GET /chart/<machine>`: a chart as defined. It is the same for every actor of the machine, so it can be cached. */
export interface Chart {
  readonly machine: string;
  readonly states: readonly ChartState[];
  readonly transitions: readonly ChartTransition[];
}

export interface ChartState {
  /** Dotted: `up.running` lies in `up`. */
  readonly id: string;
  readonly parent: string | null;
  readonly name: string;
  readonly kind: 'atomic' | 'compound' | 'parallel' | 'final';
  /** The chart, or its compound parent, begins here. */
  readonly initial: boolean;
  readonly description: string;
  /** The rule's id in docs/specification.md; empty if there is none. */
  readonly rule: string;
  readonly tags: readonly string[];
  readonly entry: readonly string[];
  readonly exit: readonly string[];
  readonly invokes: readonly string[];
}

export interface ChartTransition {
  /** Its number in the chart. */
  readonly id: number;
  /** Null if it applies in every state. */
  readonly from: string | null;
  /** Null if the state does not change. */
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
  /** The events that it last received, oldest first; recorded only while a viewer was connected. */
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
  /** The sender's address; empty if the event came from outside the actors. */
  readonly from: string;
  /** What it carried, redacted and bounded. */
  readonly event: JsonObject;
}

/** `GET /ready`: 200 if all parts are ok, otherwise 503. */
export interface Readiness {
  readonly ready: boolean;
  readonly parts: Readonly<Record<string, { readonly ok: boolean; readonly state: string; readonly why?: string }>>;
}

/** The result of `inspect.why`: everything that is known about one event, in the order in which it happened. */
export interface Timeline {
  readonly delivery: string;
  readonly key: string;
  readonly route: string;
  readonly profile: string;
  readonly event: string;
  /** The status in a row of the history. */
  readonly status: string;
  readonly received: number;
  /** One sentence: its outcome and the reason. */
  readonly verdict: string;
  /** What a person can do about it; may be empty. */
  readonly cure: string;
  /** Why a request was refused, while its route keeps it (SRC-5). */
  readonly findings?: readonly { readonly code: string; readonly text: string }[];
  readonly phases: readonly Phase[];
}

/** A phase of a timeline: the part of one actor. */
export interface Phase {
  readonly kind: 'request' | 'group' | 'run' | 'call' | 'question' | 'delivery';
  readonly machine: string;
  readonly actor: string;
  readonly title: string;
  readonly state: string;
  readonly began: number;
  /** Absent while it is under way. */
  readonly ended?: number;
  readonly steps: readonly Step[];
}

/** A step of a phase: a state with what was decided in it. */
export interface Step {
  readonly state: string;
  /** Absent if no time was recorded. */
  readonly at?: number;
  readonly result: 'passed' | 'stopped' | 'skipped' | 'waiting' | 'failed';
  /** One line: the scheme chosen, the condition that failed and the value it saw, the target's answer. */
  readonly detail: string;
  readonly rule: string;
  /** Longer texts: the prompt, the response, the text on its way. */
  readonly texts?: readonly { readonly title: string; readonly text: string }[];
}
