/** The state of a gateway, of the others of its database, and the changes that people made. */

import type { Json, JsonObject } from '../../../machines/base/json.ts';
import type { ApprovalRow } from './approvals.ts';

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

export interface ListenerStatus {
  readonly enabled: boolean;
  readonly url: string | null;
  readonly fault?: string;
}

export interface WebhookStatus extends ListenerStatus {
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
  /** Whether `agent gateway` started it, so that no service and no terminal has its process. */
  readonly background?: true;
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
  /** Delivery targets by state. Absent from a gateway of an earlier version. */
  readonly targets?: Readonly<Record<string, number>>;
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
