/**
 * The contract of the control socket: the parameters and the result of every method. `contract/` has, by subject, the rows
 * and choices these consist of, and the interfaces that answer them. Types only, shared by the handlers, the client, the
 * command line, the inspector's page and the specs. Parameters are untrusted, so handlers still check them at run time. Times
 * are ISO 8601 unless a name ends in `Ms`.
 * @see CLI-3, CON-4 and INS-2 in docs/specification.md
 */

import type { Json, JsonObject } from '../../machines/base/json.ts';
import type { ReplayedStatus } from '../../machines/base/status.ts';
import type { NamedRange } from '../../machines/base/time-range.ts';
import type { Diagnostic } from '../../machines/config/diagnostic.ts';
import type { ShownSetting } from '../../machines/config/shown-settings.ts';
import type { FailureGrouping } from '../../machines/dispatch/failure-groups.ts';
import type { Remember } from '../../machines/mcp/approval-rules.ts';
import type { ShapedResult } from '../../machines/mcp/tool-result.ts';
import type { RunRow } from '../../machines/webhook/record.ts';
import type { ActorNode, ActorShown, FollowQuery } from './contract/actors.ts';
import type { AnsweredRow, ApprovalDetail, ApprovalRow } from './contract/approvals.ts';
import type { ChatOpened, InChat, ToolSummary, TurnResult } from './contract/chat.ts';
import type { ById, EventChoice, HistoryQuery, InProfile } from './contract/choices.ts';
import type {
  Bulk,
  BulkChoice,
  BulkProgress,
  CancelledRuns,
  DeliveryChoice,
  DeliveryQuery,
  FailureChoice,
  FailureGroupRow,
  FailureRow,
  OutgoingDetail,
  OutgoingRow,
  Swept,
  TargetRow,
} from './contract/deliveries.ts';
import type { OpenedEvent } from './contract/event-wire.ts';
import type {
  Diagnosis,
  EventNews,
  EventSearch,
  FoundEvents,
  HistoryDetail,
  HistoryRow,
  ReplayEdit,
  ReplayedEvents,
} from './contract/events.ts';
import type { AuditRow, DatabaseShown, GatewayStatus, NodeRow } from './contract/gateway.ts';
import type { ChangedJob, JobChoice, JobDetail, JobRow } from './contract/jobs.ts';
import type { Overview } from './contract/overview.ts';
import type { ProviderWords, RouteChoice, RouteDetail, RouteEnabled, RouteHeld, RouteRow } from './contract/routes.ts';
import type { RunDetail } from './contract/runs.ts';
import type {
  Caller,
  ChangedServer,
  Failed,
  ImportableServer,
  LinkReading,
  Offered,
  ProbeReport,
  ServerCall,
  ServerChoice,
  ServerDetail,
  ServerRow,
  ToolRow,
} from './contract/servers.ts';
import type { ConfigSource, Setup } from './contract/setup.ts';
import type { Chart, DeltaMessage, SnapshotMessage, Timeline } from './contract/wire.ts';

/** The parameters and the result of each method. */
interface Contract {
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
  /** Changes the given keys of the record; null removes one. */
  'cron.edit': { params: JobChoice & { readonly record: JsonObject }; result: ChangedJob };
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
    params: (DeliveryChoice | BulkChoice) & { readonly reason?: string };
    result: OutgoingRow | Swept | Bulk;
  };
  'deliveries.list': { params: Partial<DeliveryQuery>; result: readonly OutgoingRow[] };
  'deliveries.progress': { params: { readonly ids: readonly string[] }; result: BulkProgress };
  'deliveries.retry': {
    params: (DeliveryChoice | BulkChoice) & { readonly force?: boolean };
    result: OutgoingRow | Swept | Bulk;
  };
  'deliveries.show': { params: ById; result: OutgoingDetail };
  'deliveries.targets': { params: object; result: readonly TargetRow[] };
  /** A shell command that sends the event's payload, signed with `$SECRET`. */
  'events.curl': { params: EventChoice & ById; result: { readonly curl: string } };
  'events.follow': { params: EventSearch; result: EventNews };
  /** With `whole` the complete payload, not just its first 64 KB. */
  'events.open': { params: EventChoice & ById & { readonly whole?: boolean }; result: OpenedEvent };
  /** Replays ended events as they are, the oldest first. */
  'events.replayAll': {
    params: EventChoice & { readonly status: ReplayedStatus; readonly since?: string };
    result: ReplayedEvents;
  };
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
  'inspect.why': { params: EventChoice & ById; result: Timeline };
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
  /** Adds servers of other agent programs or of a block, by their names in `mcp.importable`, or those that are given. */
  'mcp.import': {
    params: InProfile & {
      readonly names: readonly string[];
      readonly block?: string;
      /** The values of `variables` are written into `.env`. */
      readonly servers?: readonly {
        readonly name: string;
        readonly entry: JsonObject;
        readonly variables: JsonObject;
      }[];
      /** Only checks which could be added. */
      readonly dry?: boolean;
    };
    result: {
      readonly added: readonly string[];
      readonly failed: readonly { readonly name: string; readonly why: string }[];
    } & Pick<ChangedServer, 'not_in_force'>;
  };
  /** Of a block of servers as a server's page shows it, or else of the files of other programs. */
  'mcp.importable': { params: InProfile & { readonly block?: string }; result: readonly ImportableServer[] };
  'mcp.instructions': { params: Caller; result: { readonly instructions?: string } };
  'mcp.list': { params: object; result: readonly ServerRow[] };
  'mcp.login': {
    params: ServerChoice & { readonly flow?: string; readonly from?: 'page'; readonly again?: boolean };
    result: { readonly logged_in: string };
  };
  'mcp.loginPaste': { params: ServerChoice & { readonly url: string }; result: { readonly taken: string } };
  'mcp.logout': {
    params: ServerChoice;
    result: { readonly logged_out: string; readonly was_logged_in: boolean };
  };
  'mcp.logs': { params: ServerChoice & { readonly lines?: number }; result: readonly string[] };
  'mcp.oauthServers': { params: object; result: readonly { readonly profile: string; readonly server: string }[] };
  'mcp.prompts': { params: Caller; result: readonly JsonObject[] };
  'mcp.readResource': { params: Caller & { readonly uri: string }; result: Offered };
  'mcp.reconnect': { params: ServerChoice; result: { readonly reconnecting: string } };
  'mcp.remove': {
    params: ServerChoice;
    /** `login_left`: a server that is added again under its name is still logged in. */
    result: { readonly removed: string; readonly login_left?: true } & ChangedServer;
  };
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
  /** With `all` every matching run that waits or is in progress. */
  'runs.cancel': {
    params: ById | (Omit<HistoryQuery, 'limit' | 'before'> & { readonly all: true });
    result: { readonly cancelled: string } | { readonly cancelling: string } | CancelledRuns;
  };
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
  'webhook.edit': {
    params: RouteChoice & {
      readonly record?: JsonObject;
      /** `keep`: the earlier secret verifies beside that of the record; `drop`: no earlier one does any more. */
      readonly older_secret?: 'keep' | 'drop';
    };
    result: RouteDetail;
  };
  'webhook.enable': { params: RouteChoice; result: RouteEnabled };
  'webhook.hold': { params: RouteChoice; result: RouteHeld };
  'webhook.list': {
    /** `brief`: without the state and the counts, for which the history is read. */
    params: { readonly brief?: boolean };
    result: readonly RouteRow[];
  };
  'webhook.release': { params: RouteChoice; result: RouteHeld };
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
type PlainMethod = { [M in Method]: object extends Params<M> ? M : never }[Method];

/** Calls a method; resolves with its result, rejects with a Refusal if the daemon refuses. */
export interface Ask {
  <M extends Method>(method: M, params: Params<M>): Promise<Result<M>>;
  <M extends PlainMethod>(method: M): Promise<Result<M>>;
}
