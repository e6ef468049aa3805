/**
 * Answers the commands about the running daemon: from the actor tree, the journal and the last refusals.
 * @see CON-4, DUR-2 and INS-1 in docs/specification.md
 */

import type { AnyActorRef } from 'xstate';
import type { Collection, Records } from '../../actors/store/journal.ts';
import type { JournalKeeper } from '../../actors/store/keeper.ts';
import { defined } from '../../machines/base/json.ts';
import type { ChartRef } from '../../machines/base/pool.ts';
import { iso } from '../../machines/base/since.ts';
import { journalOpening } from '../../machines/base/status.ts';
import { readablePayload } from '../../machines/webhook/body.ts';
import type { journalMachine } from '../../machines/webhook/journal.machine.ts';
import {
  type DeliveryRecord,
  type EventRecord,
  type EventSummary,
  eventSummary,
  type RunRecord,
  signatureClaim,
} from '../../machines/webhook/record.ts';
import type { Reply } from '../../machines/webhook/reply.ts';
import { noticeKey } from '../../machines/webhook/run-notices.ts';
import { createSearchEvents } from '../dispatch/event-search.ts';
import type { EventStats } from '../dispatch/event-stats.ts';
import { createFailureView } from '../dispatch/failure-view.ts';
import { type Alike, alikeOf, createFindEvent } from '../dispatch/find-event.ts';
import { eventsLike } from '../dispatch/history.ts';
import { newestFirst } from '../dispatch/newest-first.ts';
import { furtherOf } from '../dispatch/responses.ts';
import { createRunHistory, matches, questionOf } from '../dispatch/run-history.ts';
import { type HttpServer, httpServerNames } from '../http/http-server.ts';
import { stateOf, viewOf } from '../inspector/actor-view.ts';
import { countActors, describeTree } from '../inspector/census.ts';
import type { Inspector } from '../inspector/inspector.ts';
import type { Metrics } from '../observe/metrics.ts';
import { anyRoute, everyCommit } from '../observe/metrics-counts.ts';
import type { Recent } from '../observe/recent-counts.ts';
import type { Decisions } from '../webhook/event-log.ts';
import type { OwnRequest } from '../webhook/own-request.ts';
import type { ActorShown } from './contract/actors.ts';
import type { HistoryQuery } from './contract/choices.ts';
import type { DeliveryService } from './contract/deliveries.ts';
import type { HistoryDetail } from './contract/events.ts';
import type { GatewayStatus, RecoveredWork, WebhookStatus } from './contract/gateway.ts';
import type { SeenRun } from './contract/runs.ts';
import type { ActorDetails } from './contract/wire.ts';
import { createEventView, type EventViewPorts } from './event-view.ts';
import type { DaemonView } from './view.ts';

/** The parts of the view that others provide as they are. */
type Provided =
  | 'applyRoutes'
  | 'chat'
  | 'configHistory'
  | 'cron'
  | 'mcp'
  | 'overview'
  | 'reload'
  | 'runCancels'
  | 'url';

export interface ViewPorts extends Omit<EventViewPorts, 'find' | 'get' | 'runOf'>, Pick<DaemonView, Provided> {
  readonly root: AnyActorRef;
  readonly home: string;
  /** The PATH of this process. */
  readonly path: string;
  readonly isBackground: boolean;
  readonly version: string;
  readonly inspector: Inspector;
  readonly keeper: JournalKeeper;
  readonly decisions: Decisions;
  readonly deliveryService: (keyOf: (id: string) => Promise<string | undefined>) => DeliveryService;
  /** Sends a request of the owner; resolves with the answer that its sender would get. */
  readonly sendOwn: (request: OwnRequest) => Promise<Reply>;
  readonly seenRun: SeenRun;
  readonly stats: EventStats;
  /** The runs that wait for a person, each with its oldest question. */
  readonly runsThatWait: () => ReadonlyMap<string, string>;
  readonly recent: Pick<Metrics['recent'], 'requests' | 'commits'>;
  readonly recovered: () => readonly RecoveredWork[];
  readonly webhookEnabled: () => boolean;
  /** Why the HTTP server does not listen as configured; undefined while it does. */
  readonly webhookFault: () => string | undefined;
  readonly webhookServer: () => HttpServer | undefined;
  /** Why the configuration on disk is not in force; undefined if it is. */
  readonly configFault: () => string | undefined;
  /** What of the configuration in force takes its default because of findings; undefined if nothing does. */
  readonly configFindings: () => string | undefined;
  readonly redactText: (text: string) => string;
  /** How long the gateway has run, whatever its clock has done since. */
  readonly upMs: () => number;
  readonly nowMs: () => number;
}

type Work = RunRecord | DeliveryRecord;

const hourMs = 3_600_000;

export function createDaemonView(ports: ViewPorts): DaemonView {
  const { root, keeper, decisions, inspector } = ports;
  const get = async <In extends Collection>(
    collection: In,
    key: string | undefined,
  ): Promise<Records[In] | undefined> =>
    key === undefined ? undefined : (await keeper.journal()?.get(collection, key))?.value;
  const runOf = async (key: string | undefined): Promise<RunRecord | undefined> => {
    const stored = key === undefined ? undefined : await keeper.journal()?.get('runs', key);
    return stored && ports.seenRun(stored.key, stored.value, stored.heldBy);
  };
  const workOf = async ({ work }: EventRecord): Promise<Work | undefined> =>
    (await runOf(work)) ?? (await get('deliveries', work));

  const find = createFindEvent({ journal: keeper.journal, refused: decisions.refused });
  const eventView = createEventView({ ...ports, find, get, runOf });

  const deliveryService = ports.deliveryService(async (id) => (await find(id, {}, true))?.event.work);

  return {
    failures: createFailureView({ ...ports, get }),
    deliveryService,
    mcp: ports.mcp,
    chat: ports.chat,
    cron: ports.cron,
    overview: ports.overview,
    configHistory: ports.configHistory,
    status: () => ({
      pid: process.pid,
      version: ports.version,
      uptime_seconds: Math.floor(ports.upMs() / 1_000),
      home: ports.home,
      path: ports.path,
      ...(ports.isBackground ? { background: true as const } : {}),
      state: stateOf(viewOf(root)),
      config: defined({
        in_force: ports.configFault() === undefined,
        fault: ports.configFault() ?? ports.configFindings(),
      }),
      ...defined({ restart_for: unlessEmpty(ports.configHistory.restartFor()) }),
      webhook: {
        enabled: ports.webhookEnabled(),
        url: ports.url() ?? null,
        ...serverOf(ports.webhookServer()),
        ...defined({ fault: ports.webhookFault() }),
      },
      inspector: { ...inspector.listener() },
      journal: journalState(root.system.get('journal')),
      servers: ports.mcp.states(),
      targets: targetStates(deliveryService),
      actors: countActors(root),
      requests_by_minute: ports.recent.requests.lastHour(anyRoute),
      ...commitTimes(ports.recent.commits.read(everyCommit, ports.nowMs() - hourMs)),
      ...defined({ recovered: unlessEmpty(ports.recovered()) }),
    }),
    stop: () => root.send({ type: 'daemon.stop' }),
    reload: ports.reload,
    applyRoutes: ports.applyRoutes,
    url: ports.url,

    async deliveries(query) {
      const journal = keeper.journal();
      const like = await eventsLike(journal, query, ports.seenRun);
      const rows = await newestFirst(journal, like, async ({ key, value: event }) => {
        const row = eventSummary(event, await workOf(event));
        return matches(row, query) ? { key, row, run: event.work, alike: undefined } : undefined;
      });
      const refused = refusedRows(decisions, query);
      const shown = [...rows, ...refused].sort((one, other) => (one.key < other.key ? 1 : -1)).slice(0, query.limit);
      const waiting = ports.runsThatWait();
      return shown.map(({ key, row, run, alike }) => ({
        ...ports.redact(row),
        ...questionOf(run, waiting),
        key,
        ...alikeOf(alike),
      }));
    },
    async deliveryKeys(query) {
      const journal = keeper.journal();
      const like = await eventsLike(journal, { ...query, limit: Number.POSITIVE_INFINITY }, ports.seenRun);
      return newestFirst(journal, like, async ({ key, value: event }) =>
        matches(eventSummary(event, await workOf(event)), query) ? key : undefined,
      );
    },
    async delivery(id, choice, isHandshakeShown = false, acts = false) {
      const found = await find(id, choice, acts);
      if (found === undefined) return undefined;
      const { key, event, alike } = found;
      const run = await runOf(event.work);
      const delivery = await get('deliveries', event.work);
      const notice = event.work === undefined ? undefined : await get('deliveries', noticeKey(event.work));
      const shown = ports.redact({
        ...eventSummary(event, await workOf(event)),
        ...questionOf(event.work, ports.runsThatWait()),
        key,
        ...alikeOf(alike),
        record: event,
        ...payloadOf(event),
        ...defined({ run, delivery }),
        ...(await furtherOf(keeper.journal(), event.work, delivery)),
        ...defined({ notice }),
      });
      if (!isHandshakeShown || event.outcome !== 'handshake') return shown;
      return { ...shown, record: { ...shown.record, body: event.body } };
    },
    events: createSearchEvents({ ...ports, journal: keeper.journal }),
    countRoutes: ports.stats.countRoutes,
    sendOwn: async (request) => {
      const { status, body } = await ports.sendOwn(request);
      return { status, body };
    },
    refusals: decisions.lastRefused,
    forgetSignature: (digest) => keeper.commit([{ kind: 'release', name: signatureClaim(digest) }]),
    ...createRunHistory({ ...ports, journal: keeper.journal }),
    runCancels: ports.runCancels,
    ...eventView,
    tree: () => describeTree(root, { stateTimes: inspector.stateTimes, redact: ports.redactText }),
    actor: (id) => formatActor(inspector.actor(id)),
    chart: inspector.chart,
    feed: inspector.feed,
    introduce: inspector.watcher.introduce,
    follow: inspector.watcher.follow,
    link: inspector.link,
    endSessions: inspector.endSessions,
  };
}

/** The details of an actor, with times as text. */
function formatActor(details: ActorDetails | undefined): ActorShown | undefined {
  if (details === undefined) return undefined;
  const { since, steps, events, timers, ...rest } = details;
  return {
    ...rest,
    since: iso(since),
    timers: timers.map((timer) => ({ ...timer, started: iso(timer.started), due: iso(timer.due) })),
    steps: steps.map(({ at, event, from, to, why }) => defined({ at: iso(at), event, from, to, why })),
    events: events.map((event) => ({ ...event, at: iso(event.at) })),
  };
}

function payloadOf({ body, headers }: EventRecord): Pick<HistoryDetail, 'payload'> {
  const payload = readablePayload(body, headers);
  return payload === body ? {} : { payload };
}

/** The matching refused requests, up to the limit of the listing. */
function refusedRows({ refused }: Decisions, query: HistoryQuery) {
  const rows: { key: string; row: EventSummary; run: undefined; alike: Alike | undefined }[] = [];
  const sinceMs = query.since === undefined ? 0 : Date.parse(query.since);
  for (const { key, event, alike } of refused.newestFirst(query.before)) {
    if (rows.length >= query.limit || event.receivedAtMs < sinceMs) break;
    const row = eventSummary(event, undefined);
    if (matches(row, query)) rows.push({ key, row, run: undefined, alike });
  }
  return rows;
}

function serverOf(httpServer: HttpServer | undefined): Pick<WebhookStatus, 'server' | 'server_remark'> {
  if (httpServer === undefined) return {};
  return defined({ server: httpServerNames[httpServer.kind], server_remark: httpServer.remark });
}

/** Once its connection was cut, a journal has no fault before the attempt to open it again has failed. */
function journalState(journal: ChartRef<typeof journalMachine> | undefined): string {
  if (journal === undefined) return 'ready';
  const { context, value } = journal.getSnapshot();
  return context.fault ?? (value === 'opening' ? journalOpening : 'ready');
}

function unlessEmpty<Row>(rows: readonly Row[]): readonly Row[] | undefined {
  return rows.length === 0 ? undefined : rows;
}

function targetStates(deliveryService: DeliveryService): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { state } of deliveryService.targets()) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}

function commitTimes({ median_ms, p95_ms }: Recent): Pick<GatewayStatus, 'commit_ms'> {
  if (median_ms === undefined || p95_ms === undefined) return {};
  const tenths = (ms: number): number => Math.round(ms * 10) / 10;
  return { commit_ms: { median: tenths(median_ms), p95: tenths(p95_ms) } };
}
