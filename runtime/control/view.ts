/** What the commands may ask of a running daemon: plain JSON in and out. The composition root provides it. */

import type { JsonObject } from '../../machines/base/json.ts';
import type { DeliveryRow, RunRecord, RunRow } from '../../machines/webhook/record.ts';
import type { ChatView } from '../agent/chat-view.ts';
import type { CronView } from '../cron/view.ts';
import type { CancelVerdict } from '../dispatch/cancel-run.ts';
import type { ActorNode } from '../inspector/census.ts';
import type { Feed } from '../inspector/feed.ts';
import type { LinkVerdict } from '../inspector/inspector.ts';
import type { EndedSessions } from '../inspector/sessions.ts';
import type { FollowQuery } from '../inspector/watcher.ts';
import type { Chart, Story } from '../inspector/wire.ts';
import type { McpView } from '../mcp/view.ts';

export interface HistoryQuery {
  readonly limit: number;
  readonly route?: string;
  readonly profile?: string;
  readonly status?: string;
  /** Only rows before this key: the next page. */
  readonly before?: string;
}

/** Which of the events that came under one id is meant: an id is its sender's, and is told apart by route alone. */
export interface EventChoice {
  readonly route?: string;
  readonly profile?: string;
}

export interface SendingQuery extends HistoryQuery {
  /** By any of its names. */
  readonly target?: string;
}

/** Which of the dead letters. */
export type DeadLetterQuery = Pick<SendingQuery, 'route' | 'profile' | 'target'>;

/** What came of doing something to many. */
export interface Sweep {
  readonly done: number;
  readonly left: number;
  /** Why, for the first of those that are left. */
  readonly refusals: readonly { readonly id: string; readonly code: string; readonly error: string }[];
}

/** Deliveries to targets. Refuses what is not known and what must not be. */
export interface DeliveryDesk {
  list(query: SendingQuery): readonly JsonObject[];
  /** One by its id, or by the id of its event. */
  show(id: string): object;
  retry(id: string, how: { readonly force: boolean }): Promise<JsonObject>;
  drop(id: string): Promise<JsonObject>;
  /** All dead letters that fit, the oldest first; one that cannot be touched holds up no other. */
  retryAll(query: DeadLetterQuery): Promise<Sweep>;
  dropAll(query: DeadLetterQuery): Promise<Sweep>;
  /** The configured targets with the state of their connections. */
  targets(): readonly JsonObject[];
}

/** A run's record as people are told it: one that a crash cut off waits, whatever the disk still says. */
export type SeenRun = (key: string, record: RunRecord) => RunRecord;

/** The agent runs of a journal. */
export interface RunHistory {
  /** The rows of the runs that fit, newest first. */
  runs(query: HistoryQuery): readonly RunRow[];
  /** One run with its prompt, response and delivery; undefined where there is none of that id. */
  run(id: string, more?: { readonly transcript?: boolean }): RunRow | undefined;
}

export interface DaemonView extends RunHistory {
  readonly sendings: DeliveryDesk;
  /** The cron jobs. */
  readonly cron: CronView;
  /** The servers' half. */
  readonly mcp: McpView;
  /** The sessions of `agent chat`. */
  readonly chat: ChatView;
  status(): JsonObject;
  /** Begins to stop; the socket closes when the daemon ends. */
  stop(): void;
  /** Resolves when the new configuration is in force, or rejects with why it is not. */
  reload(): Promise<void>;
  /** The base URL; undefined while nothing listens. */
  url(): string | undefined;
  deliveries(query: HistoryQuery): readonly (DeliveryRow & { readonly key: string })[];
  /**
   * One event with its run and delivery, by key or by delivery id: the newest that came to its route. An id that came to
   * several routes is refused where the choice leaves more than one.
   */
  delivery(id: string, choice?: EventChoice): (DeliveryRow & { readonly key: string }) | undefined;
  /** Sends an event through once more; resolves with the answer's status and body. */
  replay(id: string, choice?: EventChoice): Promise<JsonObject | undefined>;
  /** Lets the next request that bears a signature run, though one of its digest came before. */
  forgetSignature(profile: string, digest: string): Promise<unknown>;
  /** Ends a run that has not answered yet. */
  cancelRun(id: string, by: string): Promise<CancelVerdict>;
  tree(): ActorNode;
  /** One actor by its address, times as text. */
  actor(id: string): object | undefined;
  /** Everything that is known of one delivery, by its id or key. */
  why(id: string, choice?: EventChoice): Story | undefined;
  chart(machine: string): Promise<Chart | undefined>;
  /** All actors as rows, and what changes of them. */
  readonly feed: Pick<Feed, 'snapshot' | 'follow'>;
  /** Records of the actors that live already. */
  introduce(query: FollowQuery): readonly JsonObject[];
  /** Calls back with the JSON of every record that fits until the returned function is called. */
  follow(query: FollowQuery, listener: (record: string) => void): () => void;
  /** A link that opens the inspector's page once; `onUsed` is called when it does. */
  link(onUsed?: () => void): LinkVerdict;
  /** Ends every session of the inspector's page. */
  endSessions(): Promise<EndedSessions>;
}
