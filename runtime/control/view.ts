/** The interface of a running daemon for the commands: plain JSON in and out. The composition root provides it. */

import type { JsonObject } from '../../machines/base/json.ts';
import type { Hold } from '../../machines/config/hints.ts';
import type { Answer } from '../../machines/config/sources.ts';
import type { RefusedRequest } from '../../machines/webhook/diagnose-refusal.ts';
import type { EventRecord } from '../../machines/webhook/record.ts';
import type { ChatView } from '../agent/chats.ts';
import type { ConfigHistory } from '../config/config-history.ts';
import type { CronView } from '../cron/view.ts';
import type { RunCancels } from '../dispatch/cancel-run.ts';
import type { SearchEvents } from '../dispatch/event-search.ts';
import type { EventStats } from '../dispatch/event-stats.ts';
import type { FailureView } from '../dispatch/failure-view.ts';
import type { Feed } from '../inspector/feed.ts';
import type { EndedSessions, PageGuest } from '../inspector/sessions.ts';
import type { McpView } from '../mcp/view.ts';
import type { OwnRequest, ReplayChanges } from '../webhook/own-request.ts';
import type { ActorNode, ActorShown, FollowQuery } from './contract/actors.ts';
import type { EventChoice, HistoryQuery } from './contract/choices.ts';
import type { DeliveryService } from './contract/deliveries.ts';
import type { OpenedEvent } from './contract/event-wire.ts';
import type { HistoryDetail, HistoryRow } from './contract/events.ts';
import type { GatewayStatus } from './contract/gateway.ts';
import type { OverviewService } from './contract/overview.ts';
import type { RunHistory } from './contract/runs.ts';
import type { LinkVerdict } from './contract/servers.ts';
import type { Chart, Timeline } from './contract/wire.ts';
import type { Result } from './contract.ts';

interface OpenOptions {
  /** With the complete payload. */
  readonly whole?: boolean;
  /** The response that the provider of a route reads instead of the usual body. */
  readonly answerOf?: (event: Pick<EventRecord, 'route' | 'profile'>) => Answer | undefined;
  /** What holds the runs of a route. */
  readonly heldBy?: (event: Pick<EventRecord, 'route' | 'profile'>) => Hold | undefined;
}

export interface EventView {
  /** The timeline of one event, by its id or key. */
  why(id: string, choice?: EventChoice): Promise<Timeline | undefined>;
  /** The same in the format of the page. */
  openEvent(id: string, choice?: EventChoice, options?: OpenOptions): Promise<OpenedEvent | undefined>;
  /** Replays an event; resolves with the answer's status and body, and the key of the new event. */
  replay(id: string, choice?: EventChoice, changes?: ReplayChanges): Promise<Result<'webhook.replay'> | undefined>;
  /** Replays ended events as they are, in this order. */
  replayEach(keys: readonly string[]): Promise<Result<'events.replayAll'>>;
}

export interface DaemonView extends RunHistory, EventView {
  readonly deliveryService: DeliveryService;
  readonly failures: FailureView;
  readonly cron: CronView;
  /** The servers' half. */
  readonly mcp: McpView;
  readonly overview: OverviewService;
  /** The sessions of `agent chat`. */
  readonly chat: ChatView;
  status(): GatewayStatus;
  /** The configuration's history since the daemon started. */
  readonly configHistory: ConfigHistory;
  /** Begins to stop; the socket closes when the daemon ends. */
  stop(): void;
  /** Resolves when the new configuration is in force; rejects with the reason if it is not. */
  reload(): Promise<void>;
  /** Applies changed subscriptions to the runs that wait at once. */
  applyRoutes(): Promise<void>;
  /** The base URL; undefined while nothing listens. */
  url(): string | undefined;
  deliveries(query: HistoryQuery): Promise<readonly HistoryRow[]>;
  /** The keys of all events that match, newest first: of a million, rows would not fit into memory. */
  deliveryKeys(query: Omit<HistoryQuery, 'limit'>): Promise<string[]>;
  /**
   * One event with its run and delivery, by key or by delivery id: the newest one of its route. Rejects with a Refusal if
   * the choice leaves several routes.
   * @param isHandshakeShown includes the text of a handshake, which its owner enters at the provider and which may be a
   * secret
   * @param acts finds the event that an action on this id would find
   */
  delivery(
    id: string,
    choice?: EventChoice,
    isHandshakeShown?: boolean,
    acts?: boolean,
  ): Promise<HistoryDetail | undefined>;
  readonly events: SearchEvents;
  /** The counts of the history's events over a range, by route. */
  readonly countRoutes: EventStats['countRoutes'];
  /** Sends a request of the owner; resolves with the answer that its sender would get. */
  sendOwn(request: OwnRequest): Promise<Result<'webhook.test'>>;
  /** The last refused requests of a route, newest first, each with a different reason. */
  refusals(profile: string, route: string): readonly RefusedRequest[];
  /** Releases the claim of a signature's digest, so that the next request with it can run. */
  forgetSignature(digest: string): Promise<unknown>;
  /** Ends runs that have not answered yet. */
  readonly runCancels: RunCancels;
  tree(): ActorNode;
  /** One actor by its address, with times as text. */
  actor(id: string): ActorShown | undefined;
  chart(machine: string): Promise<Chart | undefined>;
  /** All actors as rows, and their changes. */
  readonly feed: Pick<Feed, 'snapshot' | 'follow'>;
  /** Records of the running actors. */
  introduce(query: FollowQuery): readonly JsonObject[];
  /** Calls back with the JSON of every matching record until the returned function is called. */
  follow(query: FollowQuery, listener: (record: string) => void): () => void;
  /** Makes a one-time link to the inspector's page for a guest; `onUsed` is called when it is opened. */
  link(onUsed?: () => void, guest?: PageGuest): LinkVerdict;
  /** Ends every session of the inspector's page. */
  endSessions(): Promise<EndedSessions>;
}
