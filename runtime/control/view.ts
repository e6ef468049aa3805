/** What the commands may ask of a running daemon: plain JSON in and out. The composition root provides it. */

import type { JsonObject } from '../../machines/base/json.ts';
import type { Answer } from '../../machines/config/sources.ts';
import type { RefusedRequest } from '../../machines/webhook/diagnose-refusal.ts';
import type { EventRecord } from '../../machines/webhook/record.ts';
import type { ChatView } from '../agent/chat-view.ts';
import type { ConfigHistory } from '../config/config-history.ts';
import type { CronView } from '../cron/view.ts';
import type { CancelVerdict } from '../dispatch/cancel-run.ts';
import type { SearchEvents } from '../dispatch/event-search.ts';
import type { EventStats } from '../dispatch/event-stats.ts';
import type { FailureView } from '../dispatch/failure-view.ts';
import type { OpenedEvent } from '../inspector/event-wire.ts';
import type { Feed } from '../inspector/feed.ts';
import type { EndedSessions, PageGuest } from '../inspector/sessions.ts';
import type { Chart, Story } from '../inspector/wire.ts';
import type { McpView } from '../mcp/view.ts';
import type { OwnRequest } from '../webhook/own-request.ts';
import type { ReplayChanges } from '../webhook/replay.ts';
import type {
  ActorNode,
  ActorShown,
  DeliveryDesk,
  EventChoice,
  FollowQuery,
  GatewayStatus,
  HistoryDetail,
  HistoryQuery,
  HistoryRow,
  LinkVerdict,
  OverviewService,
  Result,
  RunHistory,
} from './contract.ts';

export interface OpenOptions {
  /** With the complete payload. */
  readonly whole?: boolean;
  /** What the provider of a route reads in place of the usual body. */
  readonly answerOf?: (event: Pick<EventRecord, 'route' | 'profile'>) => Answer | undefined;
}

export interface EventView {
  /** Everything that is known of one delivery, by its id or key. */
  why(id: string, choice?: EventChoice): Promise<Story | undefined>;
  /** The same as the page shows it. */
  openEvent(id: string, choice?: EventChoice, options?: OpenOptions): Promise<OpenedEvent | undefined>;
  /** Sends an event through once more; resolves with the answer's status and body, and the key of the new event. */
  replay(id: string, choice?: EventChoice, changes?: ReplayChanges): Promise<Result<'webhook.replay'> | undefined>;
}

export interface DaemonView extends RunHistory, EventView {
  readonly sendings: DeliveryDesk;
  readonly failures: FailureView;
  /** The cron jobs. */
  readonly cron: CronView;
  /** The servers' half. */
  readonly mcp: McpView;
  readonly overview: OverviewService;
  /** The sessions of `agent chat`. */
  readonly chat: ChatView;
  status(): GatewayStatus;
  /** What is known of the configuration in force since the daemon started. */
  readonly configHistory: ConfigHistory;
  /** Begins to stop; the socket closes when the daemon ends. */
  stop(): void;
  /** Resolves when the new configuration is in force, or rejects with why it is not. */
  reload(): Promise<void>;
  /** The base URL; undefined while nothing listens. */
  url(): string | undefined;
  deliveries(query: HistoryQuery): Promise<readonly HistoryRow[]>;
  /**
   * One event with its run and delivery, by key or by delivery id: the newest that came to its route. An id that came to
   * several routes is refused where the choice leaves more than one.
   * @param isHandshakeShown with the text of a handshake that its owner types in at the provider, though it may be a secret
   */
  delivery(id: string, choice?: EventChoice, isHandshakeShown?: boolean): Promise<HistoryDetail | undefined>;
  /** Searches the events of the history. */
  readonly events: SearchEvents;
  /** The counts of the history's events over a range, also by route. */
  readonly countEvents: EventStats['count'];
  /** Answers a request of the owner's as its sender would be answered. */
  sendOwn(request: OwnRequest): Promise<Result<'webhook.test'>>;
  /** The last refused requests of a route, newest first, each with another reason. */
  refusals(profile: string, route: string): readonly RefusedRequest[];
  /** Lets the next request that bears a signature run, though one of its digest came before. */
  forgetSignature(profile: string, digest: string): Promise<unknown>;
  /** Ends a run that has not answered yet. */
  cancelRun(id: string, by: string): Promise<CancelVerdict>;
  tree(): ActorNode;
  /** One actor by its address, times as text. */
  actor(id: string): ActorShown | undefined;
  chart(machine: string): Promise<Chart | undefined>;
  /** All actors as rows, and what changes of them. */
  readonly feed: Pick<Feed, 'snapshot' | 'follow'>;
  /** Records of the actors that live already. */
  introduce(query: FollowQuery): readonly JsonObject[];
  /** Calls back with the JSON of every record that fits until the returned function is called. */
  follow(query: FollowQuery, listener: (record: string) => void): () => void;
  /** A link that opens the inspector's page once for a guest; `onUsed` is called when it does. */
  link(onUsed?: () => void, guest?: PageGuest): LinkVerdict;
  /** Ends every session of the inspector's page. */
  endSessions(): Promise<EndedSessions>;
}
