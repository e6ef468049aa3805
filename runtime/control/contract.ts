/**
 * The contract of the control socket: the parameters and the result of every method, and the interfaces that answer them.
 * Types only, shared by the handlers, the client, the command line, the inspector's page and the specs. Parameters are
 * untrusted, so handlers still check them at run time. Times are ISO 8601 unless a name ends in `Ms`.
 * @see CLI-3, CON-4 and INS-2 in docs/specification.md
 */

import type { EventOutcome } from '../../machines/base/event-outcome.ts';
import type { ChipName } from '../../machines/base/event-query.ts';
import type { Json, JsonObject } from '../../machines/base/json.ts';
import type { NamedRange } from '../../machines/base/time-range.ts';
import type { Diagnostic } from '../../machines/config/diagnostic.ts';
import type { Route } from '../../machines/config/route.ts';
import type { ShownSetting, VariableSource } from '../../machines/config/shown-settings.ts';
import type { FailureGroup, FailureGrouping } from '../../machines/dispatch/failure-groups.ts';
import type { Remember } from '../../machines/mcp/approval-rules.ts';
import type { CallFault } from '../../machines/mcp/call-faults.ts';
import type { ShapedResult } from '../../machines/mcp/tool-result.ts';
import type {
  DeliveryRecord,
  DeliveryRow,
  EventRecord,
  RunRecord,
  RunRow,
  SendingRow,
} from '../../machines/webhook/record.ts';
import type { OpenedEvent } from '../inspector/event-wire.ts';
import type {
  ActorDetails,
  Chart,
  DeltaMessage,
  EventRow,
  SnapshotMessage,
  StepRow,
  Story,
  TimerRow,
} from '../inspector/wire.ts';

/** The parameters and the result of each method. */
export interface Contract {
  'approvals.answer': {
    params: ById & {
      readonly grant?: boolean;
      readonly by?: string;
      readonly values?: JsonObject;
      /** Passed to the caller as the reason of a denial. */
      readonly note?: string;
      /** The scope of an approval: this call unless given. */
      readonly remember?: Remember;
      /** Limits `always` to these argument values, by path. */
      readonly where?: JsonObject;
    };
    /** For `always`, why the rule in the file is not applied, if it is not. */
    result: { readonly answered: string; readonly not_in_force?: string };
  };
  'approvals.answered': { params: object; result: readonly AnsweredRow[] };
  'approvals.list': { params: object; result: readonly ApprovalRow[] };
  'approvals.show': { params: ById; result: ApprovalDetail };
  'approvals.watch': { params: object; result: { readonly pending: readonly ApprovalRow[] } };
  /** Changes by people, newest first. */
  'audit.list': {
    params: { readonly limit?: number; readonly since?: string; readonly search?: string };
    result: readonly AuditRow[];
  };
  'chat.cancel': { params: InChat; result: { readonly cancelling: boolean } };
  'chat.new': { params: InChat; result: { readonly forgotten: true } };
  'chat.open': { params: InProfile; result: ChatOpened };
  'chat.say': { params: InChat & { readonly text: string }; result: TurnResult };
  'chat.tools': { params: InChat; result: readonly ToolSummary[] };
  /** With a text: the findings as if it were the profile's config.yaml. */
  'config.check': { params: InProfile & { readonly text?: string }; result: readonly Diagnostic[] };
  'config.hints': { params: object; result: readonly string[] };
  'config.schema': { params: object; result: object };
  'config.show': {
    params: InProfile;
    result: { readonly file: string; readonly settings: readonly ShownSetting[] };
  };
  /** The source of a profile's config.yaml on disk and in force, secrets masked, with all findings of the home. */
  'config.source': { params: InProfile; result: ConfigSource };
  'cron.add': {
    params: InProfile & { readonly name: string; readonly record: JsonObject; readonly force?: boolean };
    result: ChangedJob;
  };
  'cron.list': { params: InProfile; result: readonly JobRow[] };
  'cron.pause': { params: JobChoice; result: ChangedJob };
  'cron.remove': {
    params: JobChoice;
    result: { readonly removed: string; readonly id: string; readonly profile: string };
  };
  'cron.resume': { params: JobChoice; result: ChangedJob };
  'cron.run': {
    params: JobChoice & { readonly context?: string; readonly force?: boolean };
    result: { readonly run: string; readonly profile: string };
  };
  'cron.show': { params: JobChoice & { readonly limit?: number }; result: JobDetail };
  /** A person has seen at the target that an unconfirmed delivery arrived. */
  'deliveries.confirm': { params: BulkChoice & { readonly reason?: string }; result: Bulk };
  'deliveries.drop': {
    params: (SendingChoice | BulkChoice) & { readonly reason?: string };
    result: OutgoingRow | Swept | Bulk;
  };
  'deliveries.list': { params: Partial<SendingQuery>; result: readonly OutgoingRow[] };
  /** The progress of several deliveries. */
  'deliveries.progress': { params: { readonly ids: readonly string[] }; result: BulkProgress };
  'deliveries.retry': {
    params: (SendingChoice | BulkChoice) & { readonly force?: boolean };
    result: OutgoingRow | Swept | Bulk;
  };
  'deliveries.show': { params: ById; result: OutgoingDetail };
  'deliveries.targets': { params: object; result: readonly TargetRow[] };
  /** A shell command that sends the event's payload, signed with `$SECRET`. */
  'events.curl': { params: EventChoice & ById; result: { readonly curl: string } };
  'events.follow': { params: EventSearch; result: EventNews };
  /** With `whole` the complete payload, not just its first 64 KB. */
  'events.open': { params: EventChoice & ById & { readonly whole?: boolean }; result: OpenedEvent };
  'events.search': { params: EventSearch & { readonly cursor?: string; readonly limit?: number }; result: FoundEvents };
  'failures.groups': {
    params: Partial<FailureChoice> & { readonly by?: FailureGrouping };
    result: { readonly count: number; readonly groups: readonly FailureGroupRow[] };
  };
  'failures.list': {
    params: Partial<FailureChoice> & { readonly key?: string; readonly cursor?: string; readonly limit?: number };
    result: { readonly rows: readonly FailureRow[]; readonly next?: string };
  };
  /** Refused with `journal-local` unless the journal is in Postgres. */
  'gateway.database': { params: object; result: DatabaseShown };
  /** The table versions before (0 for none) and now. */
  'gateway.migrate': { params: object; result: { readonly from: number; readonly to: number } };
  /** The running gateways of the database by name; only this one if the journal is not shared. */
  'gateway.nodes': { params: object; result: readonly NodeRow[] };
  'gateway.reload': { params: object; result: { readonly reloaded: true } & Pick<GatewayStatus, 'restart_for'> };
  'gateway.status': { params: object; result: GatewayStatus };
  'gateway.stop': { params: object; result: { readonly stopping: true } };
  'inspect.chart': { params: { readonly machine: string }; result: Chart };
  'inspect.endSessions': { params: object; result: { readonly ended: number } };
  'inspect.follow': { params: FollowQuery; result: { readonly snapshot: ActorNode } };
  /** `as`: the user of the session that the link opens, `owner` unless given. */
  'inspect.link': {
    params: { readonly as?: string; readonly read_only?: boolean };
    result: { readonly url: string };
  };
  /** `node`: another gateway of the database, by its name in `gateway.nodes`. */
  'inspect.show': { params: { readonly actor: string; readonly node?: string }; result: ActorShown };
  'inspect.tree': { params: { readonly node?: string }; result: ActorNode };
  'inspect.watch': { params: object; result: SnapshotMessage };
  'inspect.why': { params: EventChoice & ById; result: Story };
  /** The record counts of the verified copy, and the number of documents written into the home. */
  'journal.copy': {
    params: { readonly to: 'postgres' | 'lmdb' };
    result: { readonly records: number; readonly claims: number; readonly documents: number };
  };
  'link.add': {
    params: InProfile & { readonly url: string; readonly name?: string };
    result: { readonly added: string; readonly profile: string } & Pick<ChangedServer, 'not_in_force'>;
  };
  'link.read': { params: InProfile & { readonly url: string }; result: LinkReading };
  /** Writes the secrets of the entry into `.env`; with `values: 'all'` every literal of `env` and `headers`. */
  'mcp.add': {
    params: ServerChoice & {
      readonly entry: JsonObject;
      readonly force?: boolean;
      readonly values?: 'all';
      /** Only checks whether it could be added. */
      readonly dry?: boolean;
    };
    result: { readonly added: string } & ChangedServer;
  };
  'mcp.call': {
    params: Caller & { readonly name: string; readonly arguments?: JsonObject };
    result: ShapedResult | Failed;
  };
  /** The last calls of a server since the daemon started, newest first. */
  'mcp.calls': { params: ServerChoice & { readonly limit?: number }; result: readonly ServerCall[] };
  'mcp.disable': { params: ServerChoice; result: { readonly disabled: string } & ChangedServer };
  /** Changes the given keys; null removes a key. */
  'mcp.edit': {
    params: ServerChoice & { readonly changes: JsonObject; readonly values?: 'all'; readonly dry?: boolean };
    result: { readonly edited: string } & ChangedServer;
  };
  'mcp.enable': { params: ServerChoice; result: { readonly enabled: string } & ChangedServer };
  'mcp.gateways': { params: Caller; result: readonly string[] };
  'mcp.getPrompt': { params: Caller & { readonly name: string; readonly arguments?: JsonObject }; result: Offered };
  /** Adds servers of other agent programs, by their names in `mcp.importable`. */
  'mcp.import': {
    params: InProfile & { readonly names: readonly string[] };
    result: {
      readonly added: readonly string[];
      readonly failed: readonly { readonly name: string; readonly why: string }[];
    };
  };
  'mcp.importable': { params: InProfile; result: readonly ImportableServer[] };
  'mcp.instructions': { params: Caller; result: { readonly instructions?: string } };
  'mcp.list': { params: object; result: readonly ServerRow[] };
  'mcp.login': {
    params: ServerChoice & { readonly flow?: string; readonly from?: 'page'; readonly again?: boolean };
    result: { readonly logged_in: string };
  };
  'mcp.loginPaste': { params: ServerChoice & { readonly url: string }; result: { readonly taken: string } };
  'mcp.logs': { params: ServerChoice & { readonly lines?: number }; result: readonly string[] };
  'mcp.oauthServers': { params: object; result: readonly { readonly profile: string; readonly server: string }[] };
  'mcp.prompts': { params: Caller; result: readonly JsonObject[] };
  'mcp.readResource': { params: Caller & { readonly uri: string }; result: Offered };
  'mcp.reconnect': { params: ServerChoice; result: { readonly reconnecting: string } };
  'mcp.remove': { params: ServerChoice; result: { readonly removed: string } & ChangedServer };
  'mcp.resourceTemplates': { params: Caller; result: readonly JsonObject[] };
  'mcp.resources': { params: Caller; result: readonly JsonObject[] };
  'mcp.show': { params: ServerChoice; result: ServerDetail };
  'mcp.test': {
    params: ServerChoice & {
      readonly entry?: JsonObject;
      /** The configured entry with these keys changed. */
      readonly changes?: JsonObject;
      readonly connect?: boolean;
    };
    result: ProbeReport;
  };
  'mcp.tools': { params: Caller & { readonly server?: string }; result: readonly ToolRow[] };
  'mcp.watch': {
    params: Caller;
    /** `unknown_toolsets`: those of the parameters that do not exist now. */
    result: { readonly watching: string; readonly unknown_toolsets?: readonly string[] };
  };
  'overview.read': { params: InProfile & { readonly range?: NamedRange }; result: Overview };
  'overview.watch': {
    params: InProfile & { readonly range?: NamedRange };
    result: { readonly watching: NamedRange };
  };
  'runs.cancel': { params: ById; result: { readonly cancelled: string } | { readonly cancelling: string } };
  'runs.list': { params: Partial<HistoryQuery>; result: readonly RunRow[] };
  'runs.show': { params: ById & { readonly transcript?: boolean }; result: RunDetail };
  /** Writes the agent program into the configuration. */
  'setup.agent': {
    params: InProfile & { readonly program: string };
    result: { readonly file: string; readonly command: readonly string[] };
  };
  'setup.read': { params: InProfile; result: Setup };
  /** Writes a platform into config.yaml and its token into `.env`. */
  'setup.target': {
    params: InProfile & { readonly target: string; readonly token: string; readonly home_channel?: string };
    result: { readonly file: string; readonly variable: string };
  };
  'setup.webhooks': { params: object; result: { readonly file: string; readonly url: string | null } };
  'webhook.deliveries': { params: Partial<HistoryQuery>; result: readonly HistoryRow[] };
  /**
   * With `handshake` the text of a handshake is complete, even if it may be a secret. With `acts` the event is the one that
   * `webhook.replay` finds by this id; one that has no payload to replay is refused.
   */
  'webhook.delivery': {
    params: EventChoice & ById & { readonly handshake?: boolean; readonly acts?: boolean };
    result: HistoryDetail;
  };
  'webhook.doctor': {
    params: RouteChoice;
    result: { readonly name: string; readonly profile: string; readonly refusals: readonly Diagnosis[] };
  };
  'webhook.disable': { params: RouteChoice; result: RouteEnabled };
  'webhook.edit': { params: RouteChoice & { readonly record?: JsonObject }; result: RouteDetail };
  'webhook.enable': { params: RouteChoice; result: RouteEnabled };
  'webhook.list': { params: object; result: readonly RouteRow[] };
  'webhook.remove': { params: RouteChoice; result: { readonly removed: string } };
  'webhook.replay': {
    params: EventChoice & ById & ReplayEdit;
    result: { readonly status: number; readonly body: string; readonly key: string };
  };
  'webhook.samples': { params: RouteChoice; result: { readonly samples: readonly string[] } };
  'webhook.show': { params: RouteChoice; result: RouteDetail };
  'webhook.subscribe': {
    params: RouteChoice & { readonly record?: JsonObject; readonly force?: boolean };
    /** `url` is complete, and contains the secret if the provider expects it there. */
    result: RouteRow & {
      /** The listener's own address, if `url` is a different one. */
      readonly local_url?: string;
      /** Absent if the provider sends it later. */
      readonly secret?: string;
      readonly verify_token?: string;
      readonly provider?: ProviderWords;
    };
  };
  'webhook.test': {
    params: RouteChoice & { readonly sample?: string; readonly event?: string } & {
      /** A text is JSON, and sent as written. */
      readonly payload?: Json;
      /** Stops before the claim: nothing is written, delivered or run. */
      readonly checks_only?: boolean;
      readonly by?: string;
    };
    /** `note` is given if the event was submitted without a signature. */
    result: { readonly status: number; readonly body: string; readonly note?: string };
  };
}

/** Notifications to a peer that has subscribed or waits for an answer. */
export interface Notices {
  'approvals.answered': AnsweredRow;
  'approvals.asked': ApprovalRow;
  'chat.event': JsonObject;
  'events.news': EventNews;
  'inspect.delta': DeltaMessage;
  /** The link was opened. */
  'inspect.opened': object;
  'inspect.record': JsonObject;
  'mcp.loginProgress': JsonObject;
  'overview.changed': Overview;
}

export type Method = keyof Contract;
export type Params<M extends Method> = Contract[M]['params'];
export type Result<M extends Method> = Contract[M]['result'];
/** The methods without required parameters. */
export type PlainMethod = { [M in Method]: object extends Params<M> ? M : never }[Method];

/** Calls a method; resolves with its result, rejects with a Refusal if the daemon refuses. */
export interface Ask {
  <M extends Method>(method: M, params: Params<M>): Promise<Result<M>>;
  <M extends PlainMethod>(method: M): Promise<Result<M>>;
}

/** Why a request was refused; for a route, the newest first. */
export interface Diagnosis {
  /** The key of its row in the history. */
  readonly key: string;
  readonly received_at: string;
  readonly outcome: string;
  readonly findings: NonNullable<Story['findings']>;
}

export interface AuditRow {
  readonly at: string;
  /**
   * The user who signed in, or for whom a link was made; `owner` for other links and at the terminal, and `unknown user`
   * for a refused sign-in without a known user.
   */
  readonly who: string;
  readonly from: 'terminal' | 'page';
  /** For example `dropped deliveries`. */
  readonly what: string;
  readonly method: string;
  /** The parameters that identify the change. */
  readonly on: JsonObject;
  /** Why it was refused or failed. */
  readonly refused?: string;
}

export interface InProfile {
  /** Absent: the default profile or, in a list, all profiles. */
  readonly profile?: string;
}

export interface ById {
  readonly id: string;
}

export interface InChat {
  readonly session: string;
}

export interface JobChoice extends InProfile {
  /** Its id or its name. */
  readonly job: string;
}

export interface RouteChoice extends InProfile {
  readonly name: string;
}

export interface ServerChoice extends InProfile {
  readonly server: string;
}

/** The caller of a tool or reader of an offer. */
export interface Caller extends InProfile {
  readonly caller?: string;
  readonly program?: string;
  readonly run?: string;
  /** In the format of W3C Trace Context. */
  readonly traceparent?: string;
  /** Globs that limit the caller's tools, separated by commas. */
  readonly toolsets?: string;
  /** The toolsets of the caller's run. */
  readonly lent?: readonly string[];
}

/** Selects among events with the same id, since a sender's id is unique only per route. */
export interface EventChoice {
  readonly route?: string;
  readonly profile?: string;
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

export interface HistoryQuery extends EventChoice {
  /** Maximum number of rows. */
  readonly limit: number;
  readonly status?: string;
  /** Only rows before this key, for the next page. */
  readonly before?: string;
  /** Only rows of events received since this time. */
  readonly since?: string;
}

export interface SendingQuery extends HistoryQuery {
  /** Any name of the target. */
  readonly target?: string;
}

/** Selects dead letters. */
export type DeadLetterQuery = Pick<SendingQuery, 'route' | 'profile' | 'target'>;

/** One delivery by its id, or with `all` every matching dead letter. */
export type SendingChoice = ById | (DeadLetterQuery & { readonly all: true });

/** Several deliveries: by their ids, or all open failures of a group. */
export type BulkChoice = { readonly ids: readonly string[] } | (InProfile & { readonly key: string });

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
}

export interface FailureGroupRow extends Omit<FailureGroup, 'firstMs' | 'lastMs'> {
  readonly first: string;
  readonly last: string;
  /** Failures over time, from the earliest failure of all groups until now. */
  readonly buckets: readonly number[];
}

export interface FailureRow {
  readonly id: string;
  /** The key of its event. */
  readonly event_key: string;
  readonly route: string;
  readonly event: string;
  /** The platform and the place, such as a channel. */
  readonly place: string;
  readonly status: DeliveryRecord['status'];
  /** The beginning of the text. */
  readonly text: string;
  readonly attempts: number;
  readonly reason?: string;
  readonly note?: string;
  readonly last_attempt_at: string;
}

/** Selects the records that match all given fields. */
export interface FollowQuery {
  /** Part of the actor's address. */
  readonly actor?: string;
  readonly machine?: string;
  readonly route?: string;
  readonly server?: string;
  readonly delivery?: string;
  /** Also events received and complete snapshots, as Stately's tools require; else only spawns and steps. */
  readonly full?: boolean;
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

export interface ChatOpened extends InChat {
  readonly profile: string;
  readonly provider: string;
  readonly model: string;
  /** Number of tools that are offered to the model. */
  readonly tools: number;
}

export interface TurnResult {
  readonly outcome: string;
  readonly text?: string;
  readonly reason?: string;
  /** Requests to the model. */
  readonly steps?: number;
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly cost?: number;
}

export interface ToolSummary {
  readonly name: string;
  readonly description: string;
}

/** A job; or an invalid entry of `jobs.json`, or that file if it cannot be read. */
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
  readonly run?: string;
  readonly problem?: string;
  readonly why?: string;
}

/** Another process may have removed the job in the meantime. */
export type ChangedJob = Partial<JobRow> & Pick<JobRow, 'id' | 'profile'>;

export interface JobDetail extends JobRow {
  readonly prompt: string;
  readonly skills: readonly string[];
  readonly model?: string;
  readonly deliver_extra: JsonObject;
  readonly on_failure?: string;
  readonly on_failure_extra?: JsonObject;
  readonly grace_seconds: number;
  readonly created_at?: string;
  readonly next: readonly string[];
  /** Newest first; absent without a daemon. */
  readonly history?: readonly FiringRow[];
}

export interface FiringRow {
  readonly at: string;
  readonly cause: string;
  readonly status: string;
  readonly due_at?: string;
  readonly reason?: string;
  readonly run?: string;
  readonly delivery_id: string;
}

/** A delivery to a target. */
export interface OutgoingRow extends SendingRow {
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

export interface TargetRow {
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
  /** The platform has requested a pause until then. */
  readonly paused_until?: string;
  readonly pause_reason?: string;
  readonly note?: string;
  readonly error?: string;
}

export interface ListenerStatus {
  readonly enabled: boolean;
  readonly url: string | null;
  readonly fault?: string;
}

export interface WebhookStatus extends ListenerStatus {
  /** The HTTP server that listens. */
  readonly server?: 'uWebSockets.js' | 'node:http';
  /** Why uWebSockets.js is not used, or what it does not take. */
  readonly server_remark?: string;
}

export interface GatewayStatus {
  readonly pid: number;
  readonly version: string;
  readonly uptime_seconds: number;
  readonly home: string;
  /** The PATH of its process, where it looks for programs. Absent from a gateway of an earlier version. */
  readonly path?: string;
  readonly state: string;
  /** In force and with a fault: sections that have findings took their defaults. */
  readonly config: { readonly in_force: boolean; readonly fault?: string };
  /** Settings whose new value takes effect at the next start; absent if there are none. */
  readonly restart_for?: readonly string[];
  readonly webhook: WebhookStatus;
  readonly inspector: ListenerStatus;
  /** `ready`, or why it is not. */
  readonly journal: string;
  /** MCP connections by state. */
  readonly servers: Readonly<Record<string, number>>;
  /** Running actors by machine. */
  readonly actors: Readonly<Record<string, number>>;
  /**
   * Requests to its routes in each of the last 60 minutes, the current one last; counted since its start. Absent from a
   * gateway of an earlier version.
   */
  readonly requests_by_minute?: readonly number[];
  /** Commit durations of the last hour; absent if there were none or the journal is not shared. */
  readonly commit_ms?: { readonly median: number; readonly p95: number };
  /** The last work that was adopted from stopped gateways, newest first; absent if there is none. */
  readonly recovered?: readonly RecoveredWork[];
}

export interface RecoveredWork {
  readonly at: string;
  readonly kind: 'batch' | 'delivery' | 'run';
  /** The gateway that held it before. */
  readonly from: string;
  readonly profile: string;
  readonly route: string;
  /** The key of its newest event. */
  readonly event: string;
  /** The platform of a delivery, by its configured name. */
  readonly target?: string;
}

/** The database of a shared journal. */
export interface DatabaseShown {
  /** Host and name of the database. */
  readonly place: string;
  /** The release of Postgres. */
  readonly server: string;
  /** The version of the tables. */
  readonly tables: number;
  /** Connections to the server, over all databases and programs. */
  readonly connections: { readonly used: number; readonly most: number };
  readonly synchronous_commit: string;
  /** `awaited`: the standbys that a commit waits for, from `synchronous_standby_names`; absent for none. */
  readonly standbys: { readonly connected: number; readonly awaited?: string };
  /** What may lose data, or will soon keep a gateway from using it; the same as the findings of `agent doctor`. */
  readonly risks: readonly { readonly what: string; readonly cure: string }[];
}

/** A gateway of the database. */
export interface NodeRow {
  /** Its configured `gateway.node`, or its host and home. */
  readonly node: string;
  readonly session: string;
  /** Whether it sends the deliveries of all gateways. */
  readonly leader: boolean;
  /** Whether it is the gateway that answers this request. */
  readonly self: boolean;
  /** Milliseconds since it renewed its session. */
  readonly silent_ms: number;
  /** Absent if it did not answer. */
  readonly status?: GatewayStatus;
  /** Why it did not answer. */
  readonly error?: string;
}

/** The gateways of one database, for the commands of one of them. */
export interface Nodes {
  /** Rejects with a Refusal if the database cannot be queried. */
  list(): Promise<readonly NodeRow[]>;
  /** Passes a request to the gateway that it concerns; `own` answers it here. */
  routed(
    request: { readonly method: string; readonly params: JsonObject },
    asker: Pick<AuditRow, 'who' | 'from'> | undefined,
    own: () => Promise<Json>,
  ): Promise<Json>;
  /** The rows of a list from every other gateway that answers, each with the name of its gateway. */
  ofOthers<Row extends object>(method: string): Promise<readonly (Row & { readonly node: string })[]>;
  /**
   * Open questions at other gateways. A silent gateway keeps its last answer for ten seconds. If the gateways have not been
   * known for ten seconds, as while the database is away, returns a promise, which resolves with undefined if they still are
   * not; never rejects. Refreshes in the background. Returns the same array if nothing has changed.
   */
  questionsOfOthers(): readonly ApprovalRow[] | Promise<readonly ApprovalRow[] | undefined>;
  /** Asks for them now; a silent gateway keeps its last answer likewise. Never rejects; undefined if they are not known. */
  askQuestionsOfOthers(): Promise<readonly ApprovalRow[] | undefined>;
  /** Answers a question of another gateway; never rejects. */
  answer(question: string): Promise<string>;
}

export interface ActorNode {
  readonly id: string;
  readonly machine: string;
  readonly state: string;
  readonly since: string;
  readonly children: readonly ActorNode[];
  /** Number of further children of a pool that are not listed. */
  readonly more?: number;
}

/** The same as `GET /actor/<id>` of the page, with times as text. */
export interface ActorShown extends Omit<ActorDetails, 'since' | 'timers' | 'steps' | 'events'> {
  readonly since: string;
  readonly timers: readonly (Omit<TimerRow, 'started' | 'due'> & { readonly started: string; readonly due: string })[];
  readonly steps: readonly (Pick<StepRow, 'event' | 'from' | 'to' | 'why'> & { readonly at: string })[];
  readonly events: readonly (Omit<EventRow, 'at'> & { readonly at: string })[];
}

/** A link, parsed for one profile. */
export interface LinkReading {
  readonly name: string;
  readonly kind: 'command' | 'url';
  readonly config: JsonObject;
  /** A sentence for each setting of the entry that weakens a protection. */
  readonly lowers: readonly string[];
  /** The profile already has a server of that name. */
  readonly taken: boolean;
  /** The profiles to which it may be added. */
  readonly profiles: readonly string[];
}

/** A call without a result. */
export interface Failed {
  readonly error: CallFault;
}

/** The protocol's answer, or why there is none. */
export type Offered = Json | undefined | Failed;

export interface ServerRow {
  readonly name: string;
  readonly profile: string;
  readonly state: string;
  readonly transport: string;
  readonly era: string | null;
  /** Number of registered tools. */
  readonly tools: number;
  readonly since: string;
  /** Consecutive failed attempts and sessions. */
  readonly failures?: number;
  /** The time of the next attempt, if one is planned. */
  readonly next_at?: string;
  readonly error?: string;
  /** Its references to variables that are not set. */
  readonly unset?: readonly string[];
  /** The tools that are left out, and why, and the patterns of the filter that match none. */
  readonly left_out?: readonly string[];
}

export interface ConfigSource {
  readonly file: string;
  readonly profile: string;
  /** All served profiles. */
  readonly profiles: readonly string[];
  /** The lines of the file, with references unresolved. */
  readonly disk: readonly string[];
  readonly saved_at?: string;
  /** Findings of this file. */
  readonly findings: readonly Diagnostic[];
  /** Absent without a daemon. */
  readonly in_force?: {
    readonly lines: readonly string[];
    readonly since: string;
    /** Why the file on disk is not in force; absent if it is. */
    readonly refused?: string;
    /** Changed settings that take effect only at the next start. */
    readonly restart_for: readonly string[];
    /** Changes since the daemon started, newest first. */
    readonly changes: readonly {
      readonly at: string;
      readonly kind: 'applied' | 'refused';
      readonly what: readonly string[];
    }[];
  };
  /** The variables that the file refers to. */
  readonly variables: readonly { readonly name: string; readonly from: VariableSource }[];
}

/** The outcome of a change of config.yaml. */
export interface ChangedServer {
  readonly profile: string;
  /** Names of the variables that were written into `.env`. */
  readonly variables: readonly string[];
  /** Variables of `.env` without a reference left. */
  readonly unused: readonly string[];
  /** The file says so already. */
  readonly unchanged?: true;
  /** Why the current file is not applied; absent if it is, or no daemon runs. */
  readonly not_in_force?: string;
}

/** An entry as written in the file, secrets masked. */
export interface ServerDetail {
  readonly name: string;
  readonly profile: string;
  readonly file: string;
  readonly line: number;
  readonly entry: JsonObject;
  readonly enabled: boolean;
  /** The working folder of its command. */
  readonly cwd?: string;
  readonly variables: readonly { readonly name: string; readonly from: VariableSource }[];
  readonly findings: readonly Diagnostic[];
  /** A sentence for each setting that weakens a protection. */
  readonly lowers: readonly string[];
  /** Variables of `.env` that only this entry refers to. */
  readonly own_variables: readonly string[];
}

export interface ServerCall {
  readonly id: string;
  /** The registered name. */
  readonly tool: string;
  readonly caller: string;
  /** `result`, `error` if the tool reports one, or the code of the fault. */
  readonly outcome: string;
  readonly why?: string;
  readonly started_at: string;
  readonly milliseconds: number;
  readonly tries: number;
}

/** A server of another agent program, without the values of its variables. */
export interface ImportableServer {
  readonly name: string;
  readonly program: string;
  readonly file: string;
  readonly foreign_name: string;
  readonly entry: JsonObject;
  /** Variables that are written into `.env`. */
  readonly variables: readonly string[];
  /** Variables that are not set yet. */
  readonly missing: readonly string[];
  /** Sentences for the person who decides. */
  readonly notes: readonly string[];
  /** `new` and `taken` can be added, `taken` under the given name. */
  readonly standing: 'new' | 'same' | 'taken' | 'unusable';
  readonly why?: string;
}

export interface ToolRow {
  readonly name: string;
  readonly server: string;
  readonly tool: string;
  readonly description: string;
  readonly available: boolean;
  readonly input_schema: Json;
  readonly output_schema?: Json;
  readonly title?: Json;
  readonly icons?: Json;
  readonly annotations?: JsonObject;
  readonly _meta?: JsonObject;
}

/** The result of a separate connection; with `connect: false`, whether the entry is valid. */
export type ProbeReport =
  | {
      readonly ok: true;
      readonly needs_login?: never;
      readonly era?: string;
      readonly milliseconds?: number;
      readonly tools?: readonly {
        readonly name: string;
        readonly tool: string;
        readonly description: string;
        /** A person is asked before it runs. */
        readonly asks: boolean;
        readonly read_only: boolean;
      }[];
      /** Number of tools that the filter leaves out. */
      readonly filtered?: number;
      /** The tools that are left out, and why, and the patterns of the filter that match none. */
      readonly left_out?: readonly string[];
      readonly instructions?: string;
    }
  /** With `needs_login` the server was reached, and only a person can continue. */
  | {
      readonly ok: false;
      readonly error: string;
      readonly needs_login?: true;
      /** Its refusal names resource metadata: it logs in by OAuth. */
      readonly names_oauth?: true;
      /** The last lines of its standard error. */
      readonly stderr?: readonly string[];
    };

export interface RunDetail extends RunRow {
  readonly prompt: string;
  readonly response: string | null;
  /** Requests to the model. */
  readonly steps?: number;
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly cost?: number;
  readonly delivery?: DeliveryRecord;
  /** All deliveries, if the response has several. */
  readonly deliveries?: readonly DeliveryRecord[];
  /** The delivery of the notice about the failure. */
  readonly notice?: DeliveryRecord;
  /** Present if requested. */
  readonly transcript?: Json;
}

/** An event of the history. */
export interface HistoryRow extends DeliveryRow {
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

/** Events by outcome. Refused and unconfirmed ones count as failed, unfinished ones as open. */
export type EventCounts = Readonly<Record<EventOutcome, number>>;

/** The events of a span of time. */
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

/** The counts of one route. */
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

/** Changes to the events that match a search. */
export interface EventNews extends SearchedEvents {
  /** New rows, and changed ones among the newest and the unfinished rows. */
  readonly rows: readonly EventFound[];
  /** How many more there are, all below the last of `rows`. */
  readonly left_out?: number;
}

/** What a person needs to set up a route at its provider (SUB-1). */
export interface ProviderWords {
  readonly title: string;
  /** The provider's documentation of its signature. */
  readonly page: string;
  /** A description of the secret. */
  readonly secret: string;
  /** Whether the owner enters the secret there; otherwise the provider generates it. */
  readonly typed: boolean;
  /** The provider sends the secret in its handshake. */
  readonly sent?: true;
  /** A recorded event to try the route with. */
  readonly sample?: string;
}

export interface OverviewChoice {
  readonly range: NamedRange;
  /** Absent: all profiles. */
  readonly profile?: string;
}

/** The overview, read once or watched. */
export interface OverviewService {
  read(choice: OverviewChoice): Promise<Overview>;
  /** Calls back with the overview, at once and after each change, until the returned function is called. */
  watch(choice: OverviewChoice, heard: (overview: Overview) => void): () => void;
}

/** The aggregates of the page's overview: they cost the same at one event a minute and at a hundred a second. */
export interface Overview {
  readonly at: string;
  readonly range: NamedRange;
  /** No profile has a route: the page shows the first steps. */
  readonly routeless: boolean;
  /** What needs a person: the first rows, and their number. */
  readonly needs: Top<Need>;
  readonly events: CountedEvents;
  readonly open: OpenCounts;
  readonly routes: Top<RouteHealth>;
  readonly servers: Top<ServerHealth>;
  readonly targets: Top<TargetHealth>;
}

/** The first rows of a table in order, and the number of all rows. */
export interface Top<Row> {
  readonly total: number;
  readonly rows: readonly Row[];
}

export type NeedKind = 'approval' | 'failures' | 'unconfirmed' | 'route' | 'server' | 'target' | 'login' | 'config';

export interface Need {
  /** Unique among the needs, and stable while the need lasts. */
  readonly id: string;
  readonly kind: NeedKind;
  readonly title: string;
  readonly reason: string;
  readonly since?: string;
  /** An approval's deadline. */
  readonly until?: string;
  /** The button that resolves it: its text, and its target on the page, without `#/`. */
  readonly action: { readonly label: string; readonly place: string };
}

export interface OpenCounts {
  readonly running: number;
  /** How many runs are allowed at the same time. */
  readonly slots: number;
  readonly batching: number;
  /** Runs that wait for a person. */
  readonly waiting: number;
  /** Deliveries that wait for their next attempt. */
  readonly retrying: number;
  /** Runs that wait for a slot. */
  readonly queued: number;
  /** Deliveries under way, or waiting for their turn at their target. */
  readonly delivering: number;
}

export type Health = 'failing' | 'waiting' | 'retrying' | 'healthy' | 'quiet' | 'off';

interface HealthRow {
  readonly name: string;
  readonly profile: string;
  readonly health: Health;
}

export interface RouteHealth extends HealthRow {
  /** The provider's name, or how an event is signed. */
  readonly source: string;
  readonly events: number;
  readonly failed: number;
  /** By time: the number of events and of failed ones. */
  readonly trend: readonly (readonly [events: number, failed: number])[];
  readonly median_ms?: number;
  readonly last_at?: string;
}

export interface ServerHealth extends HealthRow {
  /** The state of its connection. */
  readonly state: string;
  readonly tools: number;
  /** Calls that ended in the range, counted since the gateway started. */
  readonly calls: number;
  readonly median_ms?: number;
  readonly error?: string;
}

export interface TargetHealth extends HealthRow {
  readonly title: string;
  /** The state of its connection. */
  readonly state: string;
  readonly account?: string;
  /** Deliveries that arrived in the range, and attempts that failed, counted since the gateway started. */
  readonly sent: number;
  readonly failed: number;
  /** Deliveries that wait for a person. */
  readonly open: number;
  readonly median_ms?: number;
  readonly error?: string;
}

/** Which of the first steps a profile of a home and its computer have completed. */
export interface Setup {
  readonly profile: string;
  /** The base URL of the webhooks; null while nothing listens. */
  readonly url: string | null;
  readonly webhooks_enabled: boolean;
  /** Whether other computers can reach the address, or a route has a public one. */
  readonly reachable: boolean;
  readonly home: string;
  readonly runner: string;
  /** Agent programs on PATH. */
  readonly agents: readonly {
    readonly program: string;
    readonly title: string;
    readonly command: readonly string[];
    readonly note?: string;
  }[];
  readonly sources: readonly SourceChoice[];
  /** Platforms that `setup.target` can write. */
  readonly targets: readonly { readonly name: string; readonly title: string }[];
  readonly done: {
    readonly route: boolean;
    readonly event: boolean;
    readonly agent: boolean;
    readonly server: boolean;
    readonly target: boolean;
  };
}

export interface SourceChoice {
  readonly name: string;
  readonly title: string;
  /** The provider's documentation of its signature. */
  readonly page: string;
  /** A description of the secret. */
  readonly secret: string;
  /** The provider generates the secret; otherwise one is generated if none is given. */
  readonly secret_needed: boolean;
  /** A recorded event to try a route with. */
  readonly sample?: string;
}

/** A route; or an invalid route, file or line of a file, without source, profile and state. */
export interface RouteRow {
  readonly name: string;
  readonly url: string;
  /** Empty accepts all event types. */
  readonly events: readonly string[];
  readonly deliver: string;
  readonly description: string;
  readonly source?: Route['source'];
  readonly profile?: string;
  readonly enabled?: boolean;
  readonly problem?: string;
  /** The state of the route; absent without a daemon. */
  readonly mark?: RouteMark;
  readonly last_event_at?: string;
  /** Events of the last hour. */
  readonly last_hour?: number;
  readonly last_24h?: { readonly total: number; readonly failed: number };
}

/** `failing`: half of the last ten minutes, or the last five; `quiet`: no event in 24 hours. */
export type RouteMark = 'healthy' | 'retrying' | 'failing' | 'disabled' | 'quiet';

export interface RouteEnabled {
  readonly name: string;
  readonly profile: string;
  readonly enabled: boolean;
}

export interface RouteDetail extends RouteRow {
  readonly definition: Route;
  readonly place?: { readonly file: string; readonly line?: number };
  /** Whether requests are verified, and where the secret comes from. */
  readonly secret?: { readonly set: boolean; readonly from?: string };
  /** Such as "GitHub". */
  readonly source_words?: string;
  /** The conditions in words. */
  readonly filter_words?: readonly string[];
  readonly limits?: readonly string[];
}

/**
 * A run's record for display: an interrupted run is shown as waiting, whatever the disk says. `heldBy` is the session
 * that holds it: a run of another gateway is not interrupted.
 */
export type SeenRun = (key: string, record: RunRecord, heldBy: string | undefined) => RunRecord;

/** The agent runs of a journal. */
export interface RunHistory {
  /** The rows of the matching runs, newest first. */
  runs(query: HistoryQuery): Promise<readonly RunRow[]>;
  /**
   * One run with its prompt, response and delivery, by its id, a unique prefix of the id or `latest`; undefined if none
   * matches.
   */
  run(id: string, more?: { readonly transcript?: boolean }): Promise<RunDetail | undefined>;
}

export type LinkVerdict =
  | { readonly kind: 'link'; readonly url: string }
  | { readonly kind: 'refused'; readonly why: string };

/** Deliveries to targets. Rejects with a Refusal for unknown ids and forbidden actions. */
export interface DeliveryService {
  list(query: SendingQuery): Promise<readonly OutgoingRow[]>;
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
   * Retries all matching dead letters, with `force` also deliveries that may have arrived, the oldest first; one that
   * cannot be retried does not block the others.
   */
  retryAll(query: DeadLetterQuery, how: { readonly force: boolean }): Promise<Sweep>;
  dropAll(query: DeadLetterQuery, note?: string): Promise<Sweep>;
  /** The configured targets with the state of their connections. */
  targets(): readonly TargetRow[];
}
