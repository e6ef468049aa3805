/**
 * The contract of the control socket: the parameters and the result of every method, and the queries that the rooms below
 * answer. Types only, shared by the handlers, the client, the command line, the inspector's page and the specs. Parameters
 * come from outside, so handlers check them at run time all the same. Times are ISO 8601 unless a name ends in `Ms`.
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

/** What each method takes and answers. */
export interface Contract {
  'approvals.answer': {
    params: ById & {
      readonly grant?: boolean;
      readonly by?: string;
      readonly values?: JsonObject;
      /** Reaches the caller as the reason of a denial. */
      readonly note?: string;
      /** What a yes covers: this call unless given. */
      readonly remember?: Remember;
      /** Limits what is always allowed to these values of arguments, by path. */
      readonly where?: JsonObject;
    };
    result: { readonly answered: string };
  };
  'approvals.answered': { params: object; result: readonly AnsweredRow[] };
  'approvals.list': { params: object; result: readonly ApprovalRow[] };
  'approvals.show': { params: ById; result: ApprovalDetail };
  'approvals.watch': { params: object; result: { readonly pending: readonly ApprovalRow[] } };
  /** What people changed, newest first. */
  'audit.list': {
    params: { readonly limit?: number; readonly since?: string; readonly search?: string };
    result: readonly AuditRow[];
  };
  'chat.cancel': { params: InChat; result: { readonly cancelling: boolean } };
  'chat.new': { params: InChat; result: { readonly forgotten: true } };
  'chat.open': { params: InProfile; result: ChatOpened };
  'chat.say': { params: InChat & { readonly text: string }; result: TurnResult };
  'chat.tools': { params: InChat; result: readonly ToolSummary[] };
  /** With a text: the findings if that were the config.yaml of the profile. */
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
  /** An unconfirmed delivery arrived, as a person has seen at the target. */
  'deliveries.confirm': { params: BulkChoice & { readonly reason?: string }; result: Bulk };
  'deliveries.drop': {
    params: (SendingChoice | BulkChoice) & { readonly reason?: string };
    result: OutgoingRow | Swept | Bulk;
  };
  'deliveries.list': { params: Partial<SendingQuery>; result: readonly OutgoingRow[] };
  /** How far several deliveries are. */
  'deliveries.progress': { params: { readonly ids: readonly string[] }; result: BulkProgress };
  'deliveries.retry': {
    params: (SendingChoice | BulkChoice) & { readonly force?: boolean };
    result: OutgoingRow | Swept | Bulk;
  };
  'deliveries.show': { params: ById; result: OutgoingDetail };
  'deliveries.targets': { params: object; result: readonly TargetRow[] };
  /** A shell command that sends the event's payload, signed with `$SECRET`. */
  'events.curl': { params: EventChoice & ById; result: { readonly curl: string } };
  /** With `whole` the complete payload, not its first 64 KB. */
  'events.open': { params: EventChoice & ById & { readonly whole?: boolean }; result: OpenedEvent };
  'failures.groups': {
    params: Partial<FailureChoice> & { readonly by?: FailureGrouping };
    result: { readonly count: number; readonly groups: readonly FailureGroupRow[] };
  };
  'failures.list': {
    params: Partial<FailureChoice> & { readonly key?: string; readonly cursor?: string; readonly limit?: number };
    result: { readonly rows: readonly FailureRow[]; readonly next?: string };
  };
  'events.follow': { params: EventSearch; result: EventNews };
  'events.search': { params: EventSearch & { readonly cursor?: string; readonly limit?: number }; result: FoundEvents };
  /** Refused with `journal-local` where the journal is not in Postgres. */
  'gateway.database': { params: object; result: DatabaseShown };
  /** The versions of the tables before, 0 where there were none, and now. */
  'gateway.migrate': { params: object; result: { readonly from: number; readonly to: number } };
  /** The living gateways of the database, by their names; this one alone where the journal is its own. */
  'gateway.nodes': { params: object; result: readonly NodeRow[] };
  'gateway.reload': { params: object; result: { readonly reloaded: true } };
  'gateway.status': { params: object; result: GatewayStatus };
  'gateway.stop': { params: object; result: { readonly stopping: true } };
  'inspect.chart': { params: { readonly machine: string }; result: Chart };
  'inspect.endSessions': { params: object; result: { readonly ended: number } };
  'inspect.follow': { params: FollowQuery; result: { readonly snapshot: ActorNode } };
  /** `as`: whose session the link opens, `owner` unless given. */
  'inspect.link': {
    params: { readonly as?: string; readonly read_only?: boolean };
    result: { readonly url: string };
  };
  /** `node`: another gateway of the database, as `gateway.nodes` names it. */
  'inspect.show': { params: { readonly actor: string; readonly node?: string }; result: ActorShown };
  'inspect.tree': { params: { readonly node?: string }; result: ActorNode };
  'inspect.watch': { params: object; result: SnapshotMessage };
  'inspect.why': { params: EventChoice & ById; result: Story };
  /** What the verified copy holds, and how many documents were written into the home. */
  'journal.copy': {
    params: { readonly to: 'postgres' | 'lmdb' };
    result: { readonly records: number; readonly claims: number; readonly documents: number };
  };
  'link.add': {
    params: InProfile & { readonly url: string; readonly name?: string };
    result: { readonly added: string; readonly profile: string };
  };
  'link.read': { params: InProfile & { readonly url: string }; result: LinkReading };
  /** The secrets of the entry go into `.env`; with `values: 'all'` every literal of `env` and `headers` does. */
  'mcp.add': {
    params: ServerChoice & {
      readonly entry: JsonObject;
      readonly force?: boolean;
      readonly values?: 'all';
      /** Only whether it could be added. */
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
  /** Changes the keys that are given; null takes one out. */
  'mcp.edit': {
    params: ServerChoice & { readonly changes: JsonObject; readonly values?: 'all'; readonly dry?: boolean };
    result: { readonly edited: string } & ChangedServer;
  };
  'mcp.enable': { params: ServerChoice; result: { readonly enabled: string } & ChangedServer };
  'mcp.getPrompt': { params: Caller & { readonly name: string; readonly arguments?: JsonObject }; result: Offered };
  /** Adds servers of other agent programs, by the names under which `mcp.importable` offers them. */
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
  'mcp.watch': { params: Caller; result: { readonly watching: string } };
  'overview.read': { params: InProfile & { readonly range?: NamedRange }; result: Overview };
  'overview.watch': {
    params: InProfile & { readonly range?: NamedRange };
    result: { readonly watching: NamedRange };
  };
  'runs.cancel': { params: ById; result: { readonly cancelled: string } | { readonly cancelling: string } };
  'runs.list': { params: Partial<HistoryQuery>; result: readonly RunRow[] };
  'runs.show': { params: ById & { readonly transcript?: boolean }; result: RunDetail };
  /** Writes which agent program runs. */
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
  'setup.webhooks': { params: InProfile; result: { readonly file: string; readonly url: string | null } };
  'webhook.deliveries': { params: Partial<HistoryQuery>; result: readonly HistoryRow[] };
  /** With `handshake` the text of one is complete, though it may be a secret. */
  'webhook.delivery': { params: EventChoice & ById & { readonly handshake?: boolean }; result: HistoryDetail };
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
    /** `url` is complete, with the secret where the provider shows it there. */
    result: RouteRow & {
      /** The listener's own address, where `url` is another one. */
      readonly local_url?: string;
      /** Absent where the provider sends it later. */
      readonly secret?: string;
      readonly verify_token?: string;
      readonly provider?: ProviderWords;
    };
  };
  'webhook.test': {
    params: RouteChoice & { readonly payload?: Json; readonly sample?: string; readonly event?: string } & {
      /** Stops before the claim: nothing is written, delivered or run. */
      readonly checks_only?: boolean;
      readonly by?: string;
    };
    /** `note` says where the event was handed in without a signature. */
    result: { readonly status: number; readonly body: string; readonly note?: string };
  };
}

/** What the daemon sends unasked to a peer that subscribed or waits for an answer. */
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
/** The methods that need no parameter. */
export type PlainMethod = { [M in Method]: object extends Params<M> ? M : never }[Method];

/** Asks the daemon; resolves with the result of the method, rejects with a Refusal where the daemon refuses. */
export interface Ask {
  <M extends Method>(method: M, params: Params<M>): Promise<Result<M>>;
  <M extends PlainMethod>(method: M): Promise<Result<M>>;
}

/** Why a request was refused; of a route's, the newest first. */
export interface Diagnosis {
  /** Of its row in the history. */
  readonly key: string;
  readonly received_at: string;
  readonly outcome: string;
  readonly findings: NonNullable<Story['findings']>;
}

export interface AuditRow {
  readonly at: string;
  /**
   * The user who signed in, or the name that a link was made for; `owner` for other links and at the terminal, and
   * `unknown user` for a refused sign-in that names no user.
   */
  readonly who: string;
  readonly from: 'terminal' | 'page';
  /** `dropped deliveries`. */
  readonly what: string;
  readonly method: string;
  /** The parameters that name what was changed and how. */
  readonly on: JsonObject;
  /** Why it was not done. */
  readonly refused?: string;
}

export interface InProfile {
  /** Absent: the default profile or, in a list, all of them. */
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

/** On whose behalf a tool is called or an offer read. */
export interface Caller extends InProfile {
  readonly caller?: string;
  readonly program?: string;
  readonly run?: string;
  /** As W3C Trace Context serializes it. */
  readonly traceparent?: string;
  /** Globs that narrow what the caller may use, separated by commas. */
  readonly toolsets?: string;
  /** The toolsets of the caller's run. */
  readonly lent?: readonly string[];
}

/** Which of the events that came under one id is meant: an id is its sender's, and is told apart by route alone. */
export interface EventChoice {
  readonly route?: string;
  readonly profile?: string;
}

/** What a person changes of an event that is replayed; what is absent stays. */
export interface ReplayEdit {
  /** As a sender would write it. */
  readonly payload?: string;
  /** The event type. */
  readonly event?: string;
  /** Another route of its profile. */
  readonly to?: string;
  /** Runs as usual and delivers nothing; the response is kept with the event. */
  readonly dry?: boolean;
}

export interface HistoryQuery extends EventChoice {
  /** The most rows to answer. */
  readonly limit: number;
  readonly status?: string;
  /** Only rows before this key: the next page. */
  readonly before?: string;
  /** Only rows of events that came since this time. */
  readonly since?: string;
}

export interface SendingQuery extends HistoryQuery {
  /** By any of its names. */
  readonly target?: string;
}

/** Which of the dead letters. */
export type DeadLetterQuery = Pick<SendingQuery, 'route' | 'profile' | 'target'>;

/** One delivery by its id, or with `all` every dead letter that fits. */
export type SendingChoice = ById | (DeadLetterQuery & { readonly all: true });

/** Several deliveries: by their ids, or all open failures of a group. */
export type BulkChoice = { readonly ids: readonly string[] } | (InProfile & { readonly key: string });

/** The outcome of an action on several deliveries. */
export interface Bulk {
  /** The ids of those that the action was applied to. */
  readonly done: readonly string[];
  readonly skipped: readonly { readonly id: string; readonly why: string }[];
}

export interface BulkProgress {
  readonly delivered: number;
  readonly failed: number;
  /** An attempt failed, and another follows. */
  readonly retrying: number;
  /** Queued, or being sent. */
  readonly waiting: number;
}

/** Failed deliveries: those that wait for a person, or those that a person dropped. */
export interface FailureChoice extends InProfile {
  readonly state: 'open' | 'dropped';
}

export interface FailureGroupRow extends Omit<FailureGroup, 'firstMs' | 'lastMs'> {
  readonly first: string;
  readonly last: string;
  /** Failures over time, from the first of all groups until now. */
  readonly buckets: readonly number[];
}

export interface FailureRow {
  readonly id: string;
  /** The key of its event. */
  readonly event_key: string;
  readonly route: string;
  readonly event: string;
  /** The platform and the place. */
  readonly place: string;
  readonly status: DeliveryRecord['status'];
  /** The beginning of the text. */
  readonly text: string;
  readonly attempts: number;
  readonly reason?: string;
  readonly note?: string;
  readonly last_attempt_at: string;
}

/** Only records that fit all that is given. */
export interface FollowQuery {
  /** Part of the actor's address. */
  readonly actor?: string;
  readonly machine?: string;
  readonly route?: string;
  readonly server?: string;
  readonly delivery?: string;
  /** Events received and whole snapshots too, as the tools of Stately want them; else spawns and steps. */
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
  /** The gateway where it waits, if that is another one. */
  readonly node?: string;
}

export interface ApprovalDetail extends ApprovalRow {
  /** The arguments of the call, or the schema of the form. */
  readonly detail: Json;
  /** The hints of the tool, as its server gives them. */
  readonly hints?: { readonly destructive?: boolean; readonly idempotent?: boolean; readonly open_world?: boolean };
  /** What the model said when it asked for the call. */
  readonly said?: string;
  readonly asked_by?: AskedBy;
  /** The prompt of the run that asks. */
  readonly prompt?: string;
}

/** The run that asks, and what led to it. */
export interface AskedBy {
  /** The program or the model. */
  readonly agent?: string;
  readonly route: string;
  readonly event: string;
  readonly delivery_id: string;
  readonly event_key?: string;
  /** Who caused the event, as its sender says. */
  readonly person?: string;
}

/** A question that is over. */
export interface AnsweredRow extends ApprovalRow {
  readonly verdict: 'approved' | 'denied' | 'timedOut';
  readonly answered_at: string;
  /** Who answered: `cli`, `page`, `chat`; absent where no answer came in time. */
  readonly by?: string;
  readonly remember?: Remember;
  readonly note?: string;
}

export interface ChatOpened extends InChat {
  readonly profile: string;
  readonly provider: string;
  readonly model: string;
  /** How many the model is offered. */
  readonly tools: number;
}

export interface TurnResult {
  readonly outcome: string;
  readonly text?: string;
  readonly reason?: string;
  /** Questions to the model. */
  readonly steps?: number;
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly cost?: number;
}

export interface ToolSummary {
  readonly name: string;
  readonly description: string;
}

/** A job; or an entry of `jobs.json` that is none, or that file where it cannot be read. */
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
  /** The platform asks for a pause until then. */
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
  /** Why, for the first of those that are left. */
  readonly refusals: readonly { readonly id: string; readonly code: string; readonly error: string }[];
}

export interface Swept extends Omit<Sweep, 'done'> {
  readonly retried?: number;
  readonly dropped?: number;
}

export interface TargetRow {
  readonly name: string;
  readonly target: string;
  /** The platform's name as people write it: `Slack`. */
  readonly title: string;
  readonly profile: string;
  readonly state: string;
  readonly since: string;
  readonly account?: string;
  readonly home_channel?: string;
  /** Deliveries in its queue. */
  readonly waiting?: number;
  /** The platform asks for a pause until then. */
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

export interface GatewayStatus {
  readonly pid: number;
  readonly version: string;
  readonly uptime_seconds: number;
  readonly home: string;
  readonly state: string;
  readonly config: { readonly in_force: boolean; readonly fault?: string };
  readonly webhook: ListenerStatus;
  readonly inspector: ListenerStatus;
  readonly journal: string;
  /** MCP connections by state. */
  readonly servers: Readonly<Record<string, number>>;
  /** Living actors by machine. */
  readonly actors: Readonly<Record<string, number>>;
  /**
   * Requests to its routes in each of the last 60 minutes, the running one last; counted since its start. Absent where a
   * gateway of an earlier version answers.
   */
  readonly requests_by_minute?: readonly number[];
  /** How long the commits of the last hour took, where the journal is shared and there were some. */
  readonly commit_ms?: { readonly median: number; readonly p95: number };
  /** The last work that it took from other gateways that had ended, newest first; absent where there was none. */
  readonly recovered?: readonly RecoveredWork[];
}

export interface RecoveredWork {
  readonly at: string;
  readonly kind: 'batch' | 'delivery' | 'run';
  /** The gateway that had it. */
  readonly from: string;
  readonly profile: string;
  readonly route: string;
  /** The key of its newest event. */
  readonly event: string;
  /** The platform of a delivery, as it is configured. */
  readonly target?: string;
}

/** The database of a shared journal. */
export interface DatabaseShown {
  /** Its host and name. */
  readonly place: string;
  /** The release of Postgres. */
  readonly server: string;
  /** The version of its tables. */
  readonly tables: number;
  /** To the server, of all databases and programs. */
  readonly connections: { readonly used: number; readonly most: number };
  readonly synchronous_commit: string;
  /** `awaited`: for which of them a commit waits, as `synchronous_standby_names` says; absent for none. */
  readonly standbys: { readonly connected: number; readonly awaited?: string };
  /** What may lose something or soon keep a gateway from using it, as `agent doctor` finds it. */
  readonly risks: readonly { readonly what: string; readonly cure: string }[];
}

/** A gateway of the database. */
export interface NodeRow {
  /** `gateway.node` of its configuration, or its host and home. */
  readonly node: string;
  readonly session: string;
  /** Whether it sends the deliveries of all. */
  readonly leader: boolean;
  /** Whether it is the gateway that was asked. */
  readonly self: boolean;
  /** How long ago it renewed its session, in milliseconds. */
  readonly silent_ms: number;
  /** Absent where it gave none. */
  readonly status?: GatewayStatus;
  /** Why it gave none. */
  readonly error?: string;
}

/** The gateways of one database, as the commands of one of them see them. */
export interface Nodes {
  /** Rejects with a refusal where the database cannot be asked. */
  list(): Promise<readonly NodeRow[]>;
  /** Has a request answered where it belongs; `own` answers it here. */
  routed(
    request: { readonly method: string; readonly params: JsonObject },
    asker: Pick<AuditRow, 'who' | 'from'> | undefined,
    own: () => Promise<Json>,
  ): Promise<Json>;
  /** The rows of a list at every other gateway that answers, each with the name of its gateway. */
  ofOthers<Row extends object>(method: string): Promise<readonly (Row & { readonly node: string })[]>;
  /**
   * The questions that wait for a person at the others, as they were known some seconds ago; asks them anew where need be.
   * The same list as before where nothing has changed.
   */
  questionsOfOthers(): readonly ApprovalRow[];
  /** Answers what another gateway asks; does not reject. */
  answer(question: string): Promise<string>;
}

export interface ActorNode {
  readonly id: string;
  readonly machine: string;
  readonly state: string;
  readonly since: string;
  readonly children: readonly ActorNode[];
  /** How many children a ward has beyond those listed. */
  readonly more?: number;
}

/** As the page's `GET /actor/<id>`, with times as people and scripts read them. */
export interface ActorShown extends Omit<ActorDetails, 'since' | 'timers' | 'steps' | 'events'> {
  readonly since: string;
  readonly timers: readonly (Omit<TimerRow, 'started' | 'due'> & { readonly started: string; readonly due: string })[];
  readonly steps: readonly (Pick<StepRow, 'event' | 'from' | 'to' | 'why'> & { readonly at: string })[];
  readonly events: readonly (Omit<EventRow, 'at'> & { readonly at: string })[];
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
  /** How many are registered. */
  readonly tools: number;
  readonly since: string;
  /** Attempts and sessions that failed in a row. */
  readonly failures?: number;
  /** When it is tried again, where that is planned. */
  readonly next_at?: string;
  readonly error?: string;
  /** Which of its tools, and why. */
  readonly left_out?: readonly string[];
}

export interface ConfigSource {
  readonly file: string;
  readonly profile: string;
  /** All that are served. */
  readonly profiles: readonly string[];
  /** The lines of the file; references are as they are written. */
  readonly disk: readonly string[];
  readonly saved_at?: string;
  /** Of this file. */
  readonly findings: readonly Diagnostic[];
  /** Absent without a daemon. */
  readonly in_force?: {
    readonly lines: readonly string[];
    readonly since: string;
    /** Why the file on disk is not in force; absent where it is. */
    readonly refused?: string;
    /** Settings that the file changes and that count from the next start only. */
    readonly restart_for: readonly string[];
    /** Since the daemon started, newest first. */
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
  /** Written into `.env`, by name. */
  readonly variables: readonly string[];
  /** Variables of `.env` to which nothing refers any more. */
  readonly unused: readonly string[];
  /** Why the file as it is now does not come into force; absent where it does, or no daemon runs. */
  readonly not_in_force?: string;
}

/** An entry as the file has it, secrets masked. */
export interface ServerDetail {
  readonly name: string;
  readonly profile: string;
  readonly file: string;
  readonly line: number;
  readonly entry: JsonObject;
  readonly enabled: boolean;
  /** Where its command starts. */
  readonly cwd?: string;
  readonly variables: readonly { readonly name: string; readonly from: VariableSource }[];
  readonly findings: readonly Diagnostic[];
  /** A sentence for each setting that lowers a guard. */
  readonly lowers: readonly string[];
  /** Variables of `.env` to which only this entry refers. */
  readonly own_variables: readonly string[];
}

export interface ServerCall {
  readonly id: string;
  /** The registered name. */
  readonly tool: string;
  readonly caller: string;
  /** `result`, `error` where the tool says so, or the code of why there is none. */
  readonly outcome: string;
  readonly why?: string;
  readonly started_at: string;
  readonly milliseconds: number;
  readonly tries: number;
}

/** A server of another agent program; no value of a variable is in it. */
export interface ImportableServer {
  readonly name: string;
  readonly program: string;
  readonly file: string;
  readonly foreign_name: string;
  readonly entry: JsonObject;
  /** That are written into `.env`. */
  readonly variables: readonly string[];
  /** That are set nowhere yet. */
  readonly missing: readonly string[];
  /** Sentences for the person who is asked. */
  readonly notes: readonly string[];
  /** `new` and `taken` can be added, `taken` under the name given here. */
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

/** What a connection of its own found; where none was asked for, that the entry can be read. */
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
      /** Tools that the filter leaves out. */
      readonly filtered?: number;
      /** Which of its tools are left out, and why. */
      readonly left_out?: readonly string[];
      readonly instructions?: string;
    }
  /** With `needs_login` it was reached, and only a person can continue. */
  | {
      readonly ok: false;
      readonly error: string;
      readonly needs_login?: true;
      /** The last lines of its standard error. */
      readonly stderr?: readonly string[];
    };

export interface RunDetail extends RunRow {
  readonly prompt: string;
  readonly response: string | null;
  /** Questions to the model. */
  readonly steps?: number;
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly cost?: number;
  readonly delivery?: DeliveryRecord;
  /** All of them, where its response has several. */
  readonly deliveries?: readonly DeliveryRecord[];
  /** The notice that it failed. */
  readonly notice?: DeliveryRecord;
  /** Where it is asked for. */
  readonly transcript?: Json;
}

/** An event of the history. */
export interface HistoryRow extends DeliveryRow {
  /** The journal's key, which is unique where delivery ids repeat. */
  readonly key: string;
}

export interface HistoryDetail extends HistoryRow {
  readonly record: EventRecord;
  readonly run?: RunRecord;
  readonly delivery?: DeliveryRecord;
  /** All of them, where its response has several. */
  readonly deliveries?: readonly DeliveryRecord[];
  /** That its run failed, as it was sent to `on_failure`. */
  readonly notice?: DeliveryRecord;
}

/** Events by outcome. Refused and unconfirmed ones count as failed, unfinished ones as open. */
export type EventCounts = Readonly<Record<EventOutcome, number>>;

/** The events of a span of time. */
export interface EventBucket extends EventCounts {
  /** Its beginning. */
  readonly at: string;
  /** From the request to the delivery, of the events that were delivered, within one percent. */
  readonly median_ms?: number;
  readonly p95_ms?: number;
}

/** Events over a range of time, in at most 60 spans of equal length. Equal refused requests are one row and count once. */
export interface CountedEvents {
  /** As it was asked for. */
  readonly from: string;
  /** The end of the last span. */
  readonly to: string;
  readonly bucket_ms: number;
  /** Where the reading has not yet come to the beginning of the range: since when events are counted. */
  readonly counted_from?: string;
  readonly total: number;
  readonly counts: EventCounts;
  readonly buckets: readonly EventBucket[];
  readonly median_ms?: number;
  readonly p95_ms?: number;
}

/** The events of one route among them. */
export interface CountedRoute extends Omit<CountedEvents, 'from' | 'to' | 'bucket_ms' | 'counted_from'> {
  readonly route: string;
  readonly profile: string;
  /** When its last event of the range came. */
  readonly last_at: string;
}

export interface EventSearch {
  /** Words, phrases in quotes, and filters such as `route:stripe`; empty: all events. */
  readonly q?: string;
  /** `15m`, `1h`, `24h`, `7d`, `<time>..<time>`, `<time>..`, or `all`, which is the default. */
  readonly range?: string;
}

/** An event that a search found. */
export interface EventFound extends HistoryRow {
  /** Where it was delivered, or what it waits for; absent where the reason says it. */
  readonly result?: string;
  /** The platform and place of its delivery, where there is a reason and that may be the delivery's. */
  readonly place?: string;
  /** From the request to the delivery. */
  readonly took_ms?: number;
  readonly replay_of?: string;
}

/** What a search counts. A filter by status narrows the total and the buckets, not the chips. */
export interface SearchedEvents extends CountedEvents {
  readonly chips: Readonly<Record<ChipName, number>>;
}

export interface FoundEvents extends SearchedEvents {
  /** Newest first. */
  readonly rows: readonly EventFound[];
  /** What to ask with for older rows; absent where there are none. */
  readonly cursor?: string;
  /** When the oldest event of the history came. */
  readonly oldest_at?: string;
}

/** What has changed of the events that a search finds. */
export interface EventNews extends SearchedEvents {
  /** New ones, and those that changed among the newest and the unfinished ones. */
  readonly rows: readonly EventFound[];
}

/** What a person needs at the provider whose webhook leads to a route (SUB-1). */
export interface ProviderWords {
  readonly title: string;
  /** The provider's page on how it signs. */
  readonly page: string;
  /** Which secret the provider knows. */
  readonly secret: string;
  /** Whether the owner types the secret there; else the provider made it. */
  readonly typed: boolean;
  /** The provider sends it in its handshake. */
  readonly sent?: true;
  /** A recorded event to try the route with. */
  readonly sample?: string;
}

export interface OverviewChoice {
  readonly range: NamedRange;
  /** Absent: of all profiles. */
  readonly profile?: string;
}

/** The overview, read once or watched. */
export interface OverviewService {
  read(choice: OverviewChoice): Promise<Overview>;
  /** Calls back with the overview, at once and whenever it has changed, until the returned function is called. */
  watch(choice: OverviewChoice, heard: (overview: Overview) => void): () => void;
}

/** What the page's overview shows, as aggregates: it costs the same at one event a minute and at a hundred a second. */
export interface Overview {
  readonly at: string;
  readonly range: NamedRange;
  /** No profile has a route: the page shows the first steps. */
  readonly routeless: boolean;
  /** What needs a person: the first rows, and how many there are. */
  readonly needs: Top<Need>;
  readonly events: CountedEvents;
  readonly open: OpenCounts;
  readonly routes: Top<RouteHealth>;
  readonly servers: Top<ServerHealth>;
  readonly targets: Top<TargetHealth>;
}

/** The first rows of a table in their order, and the number of all. */
export interface Top<Row> {
  readonly total: number;
  readonly rows: readonly Row[];
}

export type NeedKind = 'approval' | 'failures' | 'unconfirmed' | 'server' | 'target' | 'login' | 'config';

export interface Need {
  /** Unique among the needs, and the same while the need lasts. */
  readonly id: string;
  readonly kind: NeedKind;
  readonly title: string;
  readonly reason: string;
  readonly since?: string;
  /** An approval's deadline. */
  readonly until?: string;
  /** The one button that resolves it: its text, and the place of the page that it leads to, without `#/`. */
  readonly action: { readonly label: string; readonly place: string };
}

export interface OpenCounts {
  readonly running: number;
  /** How many runs are allowed at the same time. */
  readonly slots: number;
  readonly batching: number;
  /** Runs that wait for a person. */
  readonly waiting: number;
  /** Deliveries that wait for their next try. */
  readonly retrying: number;
  readonly queued: number;
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
  /** By time, each with all events and those that failed. */
  readonly trend: readonly (readonly [events: number, failed: number])[];
  readonly median_ms?: number;
  readonly last_at?: string;
}

export interface ServerHealth extends HealthRow {
  /** Of its connection. */
  readonly state: string;
  readonly tools: number;
  /** Calls that ended in the range, since the gateway started. */
  readonly calls: number;
  readonly median_ms?: number;
  readonly error?: string;
}

export interface TargetHealth extends HealthRow {
  readonly title: string;
  /** Of its connection. */
  readonly state: string;
  readonly account?: string;
  /** Deliveries that ended in the range, since the gateway started. */
  readonly sent: number;
  readonly failed: number;
  /** Deliveries that wait for a person. */
  readonly open: number;
  readonly median_ms?: number;
  readonly error?: string;
}

/** What a home and its computer have of what the first steps set up. */
export interface Setup {
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
  /** The provider's page on how it signs. */
  readonly page: string;
  /** Which secret the provider knows. */
  readonly secret: string;
  /** The provider makes the secret; otherwise one is generated where none is given. */
  readonly secret_needed: boolean;
  /** A recorded event to try a route with. */
  readonly sample?: string;
}

/** A route; or what cannot be used: a route, a file or a line of one, without source, profile and state. */
export interface RouteRow {
  readonly name: string;
  readonly url: string;
  /** Empty accepts all. */
  readonly events: readonly string[];
  readonly deliver: string;
  readonly description: string;
  readonly source?: Route['source'];
  readonly profile?: string;
  readonly enabled?: boolean;
  readonly problem?: string;
  /** How it stands, where a daemon runs. */
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
  /** The conditions in words. */
  readonly filter_words?: readonly string[];
  readonly limits?: readonly string[];
}

/**
 * A run's record as it is shown: one that a crash cut off waits, whatever the disk still says. `heldBy` is the session
 * that holds it there: what another gateway runs is no cut-off run.
 */
export type SeenRun = (key: string, record: RunRecord, heldBy: string | undefined) => RunRecord;

/** The agent runs of a journal. */
export interface RunHistory {
  /** The rows of the runs that fit, newest first. */
  runs(query: HistoryQuery): Promise<readonly RunRow[]>;
  /** One run with its prompt, response and delivery, by its id, a unique prefix of that or `latest`; undefined if none fits. */
  run(id: string, more?: { readonly transcript?: boolean }): Promise<RunDetail | undefined>;
}

export type LinkVerdict =
  | { readonly kind: 'link'; readonly url: string }
  | { readonly kind: 'refused'; readonly why: string };

/** Deliveries to targets. Refuses what is not known and what must not be. */
export interface DeliveryDesk {
  list(query: SendingQuery): Promise<readonly OutgoingRow[]>;
  /** One by its id, or by the id of its event. */
  show(id: string): Promise<OutgoingDetail>;
  /** One by its id, or by the id of its event all of it that have ended and not arrived; a sweep where those are several. */
  retry(id: string, how: { readonly force: boolean }): Promise<OutgoingRow | Sweep>;
  /** @param note why, kept with the record */
  drop(id: string, note?: string): Promise<OutgoingRow | Sweep>;
  retryEach(ids: readonly string[], how: { readonly force: boolean }): Promise<Bulk>;
  dropEach(ids: readonly string[], note?: string): Promise<Bulk>;
  /** Each is unconfirmed and arrived, as a person has seen. */
  confirmEach(ids: readonly string[], note?: string): Promise<Bulk>;
  /** All dead letters that fit, the oldest first; one that cannot be touched holds up no other. */
  retryAll(query: DeadLetterQuery): Promise<Sweep>;
  dropAll(query: DeadLetterQuery): Promise<Sweep>;
  /** The configured targets with the state of their connections. */
  targets(): readonly TargetRow[];
}
