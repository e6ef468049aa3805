/**
 * Assembles the webhook half: the journal, the desks of the routes, the charts with their holes filled, and what the
 * supervisor asks of them. Decides nothing.
 * @see INS-1 and RTE-3 in docs/specification.md
 */

import type { AnyActorLogic, AnyActorRef } from 'xstate';
import type { LoadedHome } from '../actors/config/load-config.ts';
import { createPlaces } from '../actors/dispatch/places.ts';
import { createRunAgent } from '../actors/dispatch/run-agent.ts';
import type { Logger } from '../actors/ports.ts';
import { createKeeper, type JournalKeeper } from '../actors/store/keeper.ts';
import { openLmdbJournal } from '../actors/store/lmdb-journal.ts';
import { openMemoryJournal } from '../actors/store/memory-journal.ts';
import { createRecordWriter } from '../actors/store/record-writer.ts';
import { createBursts } from '../actors/webhook/bursts.ts';
import { createClaimDelivery } from '../actors/webhook/claim-delivery.ts';
import { type CompileOptions, compile } from '../machines/base/compile.ts';
import { done } from '../machines/base/fault.ts';
import { createWard, wardHandle } from '../machines/base/ward.ts';
import type { HomePaths } from '../machines/config/profile.ts';
import type { Route } from '../machines/config/route.ts';
import type { Settings } from '../machines/config/settings.ts';
import type { CompiledRoute } from '../machines/webhook/compile-route.ts';
import { deliveryIdOf } from '../machines/webhook/envelope.ts';
import type { DeliveryRecord, EventRecord, RunRecord } from '../machines/webhook/record.ts';
import { replyTo } from '../machines/webhook/reply.ts';
import type { RequestContext, RequestOutput } from '../machines/webhook/webhook-request.machine.ts';
import { type CancelVerdict, createCancelRun } from './cancel-run.ts';
import type { DeliveryDesk } from './control/view.ts';
import { createCrashedWork } from './crashed-work.ts';
import { assembleCron } from './cron/assemble.ts';
import type { CronView } from './cron/view.ts';
import { createDecisions, type Decisions } from './decisions.ts';
import { createDeliveryDesk } from './delivery-desk.ts';
import { type Exchanges, type LiveRequest, textOf } from './exchanges.ts';
import { createFrontKeeper, urlOf } from './front-keeper.ts';
import { openFront } from './http/choose.ts';
import { createIds, timeKey } from './ids.ts';
import type { Metrics } from './metrics.ts';
import { countDelivery, countRequest, countRun, timedKeeper } from './metrics-counts.ts';
import { assemblePlatforms, wake } from './platforms-half.ts';
import type { ProfileDesk } from './profile-desk.ts';
import { createRateWindows } from './rate-windows.ts';
import { createReceiver } from './receiver.ts';
import type { Redactor } from './redact.ts';
import type { ReplayPorts } from './replay.ts';
import { type ResumePorts, refillDeliveries, refillRuns, resumeWork } from './resume.ts';
import { createRouteDesk, type RouteSources } from './route-desk.ts';
import { createSourceReader } from './route-sources.ts';
import type { Tracing } from './tracing.ts';
import { createEventTraces, createRunTraces } from './tracing-spans.ts';
import { wireDelivery } from './wiring/delivery.ts';
import { wireGateway } from './wiring/gateway.ts';
import { wireGroup } from './wiring/group.ts';
import { wireRequest } from './wiring/request.ts';
import { wireRun } from './wiring/run.ts';
import { wireJournal } from './wiring/supervisor.ts';
import { createWards, type Wards } from './wiring/wards.ts';
import { logDelivery, logRun } from './work-log.ts';

export interface WebhookPorts {
  readonly paths: HomePaths;
  readonly root: () => AnyActorRef;
  /** The home as it was last read. */
  readonly home: () => LoadedHome;
  /** What a profile lends; undefined for one that is not configured. */
  readonly deskOf: (profile: string) => ProfileDesk | undefined;
  /** The settings to listen by: those of a home that waits to come into force, else those in force. */
  readonly wanted: () => Settings;
  /** Lets the home that waits come into force. */
  readonly adopt: () => void;
  readonly redactor: Redactor;
  readonly compiling: CompileOptions;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
  readonly nowMs: () => number;
  readonly log: Logger;
}

export interface Webhooks {
  readonly journal: AnyActorLogic;
  readonly gateway: AnyActorLogic;
  readonly keeper: JournalKeeper;
  readonly decisions: Decisions;
  readonly replay: ReplayPorts;
  /** How many runs hold a place and how many wait for one. */
  load(): { readonly running: number; readonly waiting: number };
  /** Deliveries to targets, for the commands. */
  sendings(keyOf: (id: string) => string | undefined): DeliveryDesk;
  routes(): readonly Route[];
  cancelRun(key: string, by: string): Promise<CancelVerdict>;
  readonly cron: CronView;
  /** The routes in force, with the stores of their subscriptions. */
  sources(): RouteSources;
  /** Whether the front stands where these settings want it, or is closed where they want none. */
  listensAs(settings: Settings): boolean;
  /** Takes up the work that the journal remembers. */
  resume(): Promise<void>;
  /** Takes the home over that was read anew. */
  reconfigure(): void;
  /** Ends what a crashed gateway left behind. */
  abandon(): void;
  /** Lets go of the journal and of everything that looks at it. */
  close(): Promise<void>;
}

const noBody = Buffer.alloc(0);
const internalError = replyTo({ kind: 'internal' });
const draining = replyTo({ kind: 'draining' });

/** How long an owner's session lives without a heartbeat: three heartbeats. */
const sessionTtlMs = 60_000;
/** However short the drain is, exchanges under way get this long to be answered. */
const answerGraceMs = 5_000;
/** A body that stalls for this long ends its exchange. */
const bodyTimeoutMs = 10_000;
/** Runs that may wait in memory; further ones wait on disk. */
const mostWaitingRuns = 10_000;
/** Deliveries likewise: a dead platform must not fill the memory. */
const mostWaitingDeliveries = 10_000;
/** How often deliveries that wait on disk alone are looked for. */
const refillMs = 5_000;

export function assembleWebhooks(ports: WebhookPorts): Webhooks {
  const { paths, root, home, deskOf, redactor, compiling, metrics, tracing, nowMs, log } = ports;
  const traces = createEventTraces(tracing);
  const settings = () => home().main.settings;
  const nextId = createIds();
  const exchanges: Exchanges = new Map();

  const opened = createKeeper({
    open: () =>
      settings().gateway.journal === 'memory'
        ? Promise.resolve(done(openMemoryJournal()))
        : openLmdbJournal({ directory: paths.state, now: nowMs }),
    owner: paths.home,
    sessionTtlMs,
    nowMs,
    refused: (reason) => root().system.get('journal')?.send({ type: 'journal.refused', fault: reason.message }),
  });
  const keeper = timedKeeper(opened, metrics);
  const bursts = createBursts(keeper);
  const writer = createRecordWriter(keeper);
  const places = createPlaces(settings().agent.concurrency);
  const windows = createRateWindows(() => settings().webhook.rateLimit);
  const reader = createSourceReader({ log, learn: redactor.learn });
  let sources = reader.read(home());
  const routes = createRouteDesk(sources);
  const decisions = createDecisions({
    log,
    keeper,
    keptHeaders: (route, headers) => routes.compiled(route).keptHeaders(headers),
    redact: redactor.text,
  });
  const eventOf = (key: string): EventRecord | undefined =>
    keeper.journal()?.get('events', key)?.value as unknown as EventRecord | undefined;

  let standing: Wards | undefined;
  let isAbandoned = false;
  const wards = (): Wards => {
    standing ??= createWards(
      {
        requests: wardHandle(wardRef(root(), 'requests')),
        groups: wardHandle(wardRef(root(), 'groups')),
        runs: wardHandle(wardRef(root(), 'runs')),
        deliveries: wardHandle(wardRef(root(), 'deliveries')),
      },
      nowMs,
    );
    return standing;
  };

  const { ward: platformWard, platforms } = assemblePlatforms({ root, home, compiling, nowMs, log });
  const resumePorts: ResumePorts = {
    keeper,
    writer,
    bursts,
    wards,
    nowMs,
    log,
    onInterrupted: (profile) => deskOf(profile)?.settings.agent.onInterrupted ?? 'rerun',
    deduplicatesForMs: platforms.deduplicatesForMs,
    room: () => mostWaitingRuns - wards().runs.size,
    deliveryRoom: () => mostWaitingDeliveries - wards().deliveries.size,
  };
  // What waits on disk alone is taken up from here; while nothing does, a look at one index is all that it costs.
  const refilling = setInterval(() => {
    if (root().getSnapshot().matches({ up: 'running' })) void refillDeliveries(resumePorts);
  }, refillMs);
  refilling.unref();

  const cron = assembleCron({
    root,
    home,
    keeper,
    // A run that is fired while no ward lives stays on disk for the gateway that comes.
    hasRoom: () => root().system.get('runs') !== undefined && resumePorts.room() > 0,
    open: (opened) => wards().open(opened),
    nextId,
    redact: redactor.record,
    compiling,
    nowMs,
    log,
  });

  const requestLogic = wireRequest({
    desk: {
      nowMs,
      maxBodyBytes: () => settings().webhook.maxBodyBytes,
      findRoute: routes.find,
      compiled: routes.compiled,
      headers: (id) => exchanges.get(id)?.headers ?? {},
      body: (id) => exchanges.get(id)?.body ?? noBody,
      text: (id) => {
        const live = exchanges.get(id);
        return live && textOf(live);
      },
      secondsUntilFree: windows.secondsUntilFree,
      takeSlot: windows.take,
      list: (profile, file) => deskOf(profile)?.lists.list(file),
      newDeliveryId: () => globalThis.crypto.randomUUID(),
      noteDeprecated: (route, scheme) =>
        log.warnOnce(
          `scheme/${route.profile}/${route.name}`,
          `route "${route.name}": a request was signed by the deprecated scheme ${scheme}, which does not protect from replays; let the sender use X-Webhook-Signature-V2`,
        ),
    },
    exchanges,
    traceparentOf: traces.traceparentOf,
    claim: createClaimDelivery({
      keeper,
      bursts,
      findJob: cron.findJob,
      hasRoom: () => resumePorts.room() > 0,
    }),
    runScript: (input, signal) => {
      const desk = deskOf(input.route.profile);
      return desk === undefined ? Promise.resolve({ kind: 'missing' }) : desk.runScript(input, signal);
    },
    wards,
  });
  const runTraces = createRunTraces(tracing);
  const runWork = wireRun({
    keeper,
    writer,
    places,
    runAgent: runTraces.traced(
      createRunAgent({
        event: eventOf,
        runnerOf: (profile) => deskOf(profile)?.runner,
        traceparentOf: runTraces.traceparentOf,
        log,
      }),
      eventOf,
    ),
    routeConcurrency: (profile, route) =>
      routes.all().find((one) => one.route.name === route && one.route.profile === profile)?.route.concurrency,
    redact: redactor.text,
    nowMs,
    wards,
  });
  const deliveryWork = wireDelivery({
    keeper,
    writer,
    platforms: { ...platforms, send: runTraces.tracedSending(platforms.send, eventOf) },
    redact: redactor.text,
    nowMs,
    wake,
    wards,
    retried: (record) => logDelivery(record, log),
    crowded: () => resumePorts.deliveryRoom() <= 0,
  });
  const crashed = (room: string) => (key: string, error: unknown) => {
    log.log('error', `${room}/${key} crashed`, { error: String(error) });
  };
  const crashedWork = createCrashedWork({ keeper, writer, wards, nowMs });
  const runEnded = (key: string, record: RunRecord): void => {
    countRun(record, nowMs(), metrics);
    logRun(key, record, eventOf(record.eventKey), log);
    wards().runFinished(key, record);
    cron.schedule.runFinished(key);
    if (resumePorts.room() === 1) void refillRuns(resumePorts);
  };
  const deliveryEnded = (key: string, record: DeliveryRecord): void => {
    // One that waits on disk alone has been logged.
    if (record.status !== 'waitingToRetry') {
      countDelivery(record, nowMs(), metrics);
      logDelivery(record, log);
    }
    wards().deliverySettled(key, record);
  };

  const receive = createReceiver({ exchanges, wards, nextId, traces, nowMs });
  const fronts = createFrontKeeper({
    openFront: async ({ webhook: { host, port }, gateway: { front } }, isOpen) => {
      const opened = await openFront(
        front,
        { host, port, bodyTimeoutMs },
        // A front that closes takes nothing new, also not over a connection that is kept alive.
        (exchange) => (isOpen() ? receive(exchange) : exchange.reply(draining)),
        log,
      );
      const url = urlOf(opened);
      log.log('info', `listening on ${url}`, { url, front: opened.kind });
      return opened;
    },
    wanted: ports.wanted,
    adopt: ports.adopt,
    graceMs: () => Math.max(answerGraceMs, settings().gateway.drainTimeoutMs),
  });

  const gateway = wireGateway({
    requests: createWard({
      name: 'requests',
      logic: compile(requestLogic, compiling),
      onDone: (key, output: RequestOutput) => {
        const live = exchanges.get(key);
        exchanges.delete(key);
        countRequest(output, nowMs(), metrics);
        traces.ended(output, live);
        decisions.decided(output, live);
      },
      onCrashed: (key, error) => {
        crashed('requests')(key, error);
        const live = exchanges.get(key);
        exchanges.delete(key);
        if (live === undefined) return;
        live.exchange.reply(internalError);
        const ended = crashedRequest(key, live, routes.find, nowMs());
        countRequest(ended, nowMs(), metrics);
        decisions.decided(ended, live);
      },
    }),
    groups: createWard({
      name: 'groups',
      logic: compile(wireGroup({ bursts, keeper, nowMs, wards }), compiling),
      onCrashed: crashed('groups'),
    }),
    runs: createWard({
      name: 'runs',
      logic: compile(runWork.logic, compiling),
      onDone: runEnded,
      onCrashed: (key, error) => {
        crashed('runs')(key, error);
        runWork.release(key);
        void crashedWork.run(key).then((record) => record && runEnded(key, record));
      },
    }),
    deliveries: createWard({
      name: 'deliveries',
      logic: compile(deliveryWork.logic, compiling),
      onDone: deliveryEnded,
      onCrashed: (key, error) => {
        crashed('deliveries')(key, error);
        deliveryWork.release(key);
        void crashedWork.delivery(key).then((record) => record && deliveryEnded(key, record));
      },
    }),
    platforms: platformWard,
    cronJobs: cron.ward,
    schedule: cron.schedule,
    fronts,
    places,
    parkDelivery: deliveryWork.release,
    wards,
    nowMs,
    log,
    drainTimeoutMs: () => settings().gateway.drainTimeoutMs,
  });

  return {
    journal: compile(
      wireJournal({
        keeper,
        log,
        history: () => {
          const { maxAgeMs, maxBytes } = settings().gateway.history;
          return { keepAfterKey: timeKey(nowMs() - maxAgeMs), maxBytes };
        },
      }),
      compiling,
    ),
    gateway: compile(gateway, compiling),
    keeper,
    decisions,
    replay: { exchanges, wards, nextId, nowMs },
    sendings: (keyOf) =>
      createDeliveryDesk({
        keeper,
        writer,
        platforms,
        wards,
        keyOf,
        redact: redactor.record,
        nowMs,
        hasRoom: () => resumePorts.deliveryRoom() > 0,
      }),
    resume: async () => {
      if (isAbandoned) {
        // The session lives on, and would keep what it held from the gateway that comes.
        const fault = await keeper.beginAnew();
        if (fault !== undefined) log.log('error', fault.message, { code: fault.code });
        isAbandoned = fault !== undefined;
      }
      await platforms.reconcile();
      await resumeWork(resumePorts);
    },
    routes: () => routes.all().map(({ route }) => route),
    cancelRun: createCancelRun({ runs: () => wards().runs, keeper, ended: runEnded, nowMs }),
    cron: cron.view,
    load: places.load,
    sources: () => sources,
    listensAs: (asked) => (asked.webhook.enabled ? fronts.standsAs(asked) : !fronts.stands()),
    reconfigure() {
      sources = reader.read(home());
      routes.replace(sources);
      places.resize(settings().agent.concurrency);
      void platforms.reconcile();
      cron.schedule.look();
    },
    abandon() {
      isAbandoned = true;
      fronts.retire();
      platforms.clear();
      cron.schedule.stop();
      for (const ward of [wards().requests, wards().groups, wards().runs, wards().deliveries]) ward.clear();
      standing = undefined;
      places.clear();
      exchanges.clear();
    },
    close() {
      clearInterval(refilling);
      return keeper.close();
    },
  };
}

/** What is still known of a request whose chart failed: enough for a row that tells people where to look. */
function crashedRequest(
  id: string,
  { exchange, body }: LiveRequest,
  find: (path: string) => CompiledRoute | undefined,
  receivedAtMs: number,
): RequestContext {
  const { method, path, headers } = exchange.head;
  const route = find(path)?.route;
  const deliveryId = deliveryIdOf(headers, body);
  return {
    id,
    origin: 'http',
    method,
    path,
    receivedAtMs,
    ...(route === undefined ? {} : { route, profile: route.profile }),
    ...(deliveryId === undefined ? {} : { deliveryId }),
    outcome: { kind: 'internal' },
    reason: `internal error; the log tells more of request ${id}`,
  };
}

function wardRef(root: AnyActorRef, name: string): AnyActorRef {
  const ref: AnyActorRef | undefined = root.system.get(name);
  if (ref === undefined) throw new TypeError(`the ward "${name}" does not live`);
  return ref;
}
