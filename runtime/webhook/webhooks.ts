/**
 * Assembles the webhook half: the journal, the route table, the requests with their chart's effects, the HTTP server, and
 * what the supervisor uses of them. `runtime/dispatch/assemble.ts` assembles the work of events. Decides nothing.
 * @see INS-1 and RTE-3 in docs/specification.md
 */

import { setImmediate as turn } from 'node:timers/promises';
import { createCertificates } from '../../actors/webhook/certificates.ts';
import { createClaimDelivery } from '../../actors/webhook/claim-delivery.ts';
import { readSignatureHolder, signatureHolder } from '../../actors/webhook/event-claims.ts';
import { createScriptPlaces } from '../../actors/webhook/script-places.ts';
import { ChurnMap } from '../../machines/base/churn-map.ts';
import { compile } from '../../machines/base/compile.ts';
import type { Fault } from '../../machines/base/fault.ts';
import { runLimitOf } from '../../machines/config/hints.ts';
import type { Settings } from '../../machines/config/settings.ts';
import { diagnoseRefusal } from '../../machines/webhook/diagnose-refusal.ts';
import { shareOf } from '../../machines/webhook/rate-window.ts';
import { signatureClaim } from '../../machines/webhook/record.ts';
import { type Reply, replyTo } from '../../machines/webhook/reply.ts';
import { requestContext } from '../../machines/webhook/webhook-request.machine.ts';
import type { SharedPorts } from '../config/shared-ports.ts';
import { assembleCron } from '../cron/assemble.ts';
import { assembleWork, type WorkPorts } from '../dispatch/assemble.ts';
import { createBodyBudget } from '../http/body-budget.ts';
import { openHttpServer } from '../http/choose.ts';
import { createHttpServerKeeper, urlOf } from '../http/http-server-keeper.ts';
import { createRequestCount } from '../observe/metrics-counts.ts';
import { createEventTraces } from '../observe/tracing-spans.ts';
import { createIds } from '../system/ids.ts';
import { createChartPool } from '../system/pools.ts';
import { createLearnKey } from './edit-subscription.ts';
import { createDecisions } from './event-log.ts';
import { type LiveRequest, parsedOf, type SpawnPorts } from './exchanges.ts';
import { wireGateway } from './gateway.ts';
import { assembleJournal } from './journal.ts';
import { type OwnRequest, sendOwnRequest } from './own-request.ts';
import { createParts } from './parts.ts';
import { createRateWindows } from './rate-windows.ts';
import { createReceiver } from './receiver.ts';
import { createRequestEnds } from './request-ends.ts';
import { wireRequest } from './requests.ts';
import { createSourceReader } from './route-sources.ts';
import { createRouteTable } from './route-table.ts';

interface WebhookPorts extends Omit<WorkPorts, 'keeper' | 'nextId' | 'routeLimit' | 'runFinished'>, SharedPorts {
  /** Locks the home before its journal is opened; resolves with the fault that prevents it. */
  readonly hold: () => Promise<Fault | undefined>;
  /** Reads the shared documents; resolves with the fault that prevents it. */
  readonly openDocuments: () => Promise<Fault | undefined>;
  /** The settings to listen by: those of a reload in progress, else those in force. */
  readonly wanted: () => Settings;
  /** Answers a question of another gateway of the database. */
  readonly answerOthers: (question: string) => Promise<string>;
}

/** Handshakes per route; a provider sends a few, and repeats one that failed. */
const handshakesPerMinute = 10;
const emptyBody = Buffer.alloc(0);
const draining = replyTo({ kind: 'draining' });

/** How soon a changed subscription is read without a request; its secret is masked from then on. */
const readMs = 1_000;
/** Minimum time for exchanges in progress to be answered, however short the drain is. */
const shortestGraceMs = 5_000;
/** Extra time of a retired HTTP server, to send the 503s of requests that ran out of time. */
const lastAnswersMs = 500;
/** A body that stalls for this long ends its exchange. */
const bodyTimeoutMs = 10_000;

export function assembleWebhooks(ports: WebhookPorts) {
  const { home, servicesOf, redactor, compiling, metrics, tracing, every, log } = ports;
  const traces = createEventTraces(tracing);
  const settings = () => home().main.settings;
  const nextId = createIds();
  const exchanges = new ChurnMap<string, LiveRequest>();

  const journal = assembleJournal({
    ...ports,
    prepare: async () => {
      // Events need the routes and jobs of the database.
      const fault = (await ports.hold()) ?? (await ports.openDocuments());
      if (fault === undefined) reader.look();
      return fault;
    },
  });
  const { keeper, isShared, nowMs } = journal;
  const countRequest = createRequestCount(metrics);
  const answerGraceMs = (): number => Math.max(shortestGraceMs, settings().gateway.drainTimeoutMs);
  const windows = createRateWindows((atMs) =>
    isShared ? shareOf(settings().webhook.rateLimit, keeper.place(), atMs) : settings().webhook.rateLimit,
  );
  const handshakes = createRateWindows(() => handshakesPerMinute);
  const reader = createSourceReader({ log, learn: redactor.learn });
  let sources = reader.read(home());
  const routes = createRouteTable(sources);
  const decisions = createDecisions({
    ...ports,
    keeper,
    keptHeaders: (route, headers) => routes.compiled(route).keptHeaders(headers),
    redact: redactor.text,
    diagnose: (refused, { profile, name }) => {
      const definition = routes.named(profile, name);
      return definition === undefined ? [] : diagnoseRefusal(refused, definition);
    },
    isEachLogged: () => settings().log.events === 'all',
  });
  let isAbandoned = false;
  const work = assembleWork({
    ...ports,
    routeLimit(profile, name) {
      const found = routes.named(profile, name);
      return found && runLimitOf(found.route);
    },
    runFinished: (key) => cron.schedule.runFinished(key),
    keeper,
    nextId,
    nowMs,
  });
  const { pools, load, deliveryService, pauseOf, runCancels, seenRun, recovered, reports, hasRoom } = work;
  let applied = routes.version();
  /** Reads the subscriptions that have changed, and applies their limits to the runs that wait. */
  function applyRoutes(): void {
    const version = routes.version();
    if (version !== applied) work.applyLimits();
    applied = version;
  }
  const stopReading = every(applyRoutes, readMs);
  const cron = assembleCron({
    ...ports,
    keeper,
    hasRoom,
    open: (opened) => pools().open(opened),
    nextId,
    redact: redactor.record,
    seenRun,
    nowMs,
  });
  const scriptPlaces = createScriptPlaces(() => settings().webhook.scriptConcurrency);

  const certificates = createCertificates({ log });
  const claim = createClaimDelivery({
    keeper,
    batches: work.batches,
    findJob: cron.findJob,
    placeOf: work.placeOf,
    hasRoom,
    reports,
  });
  const spawning: SpawnPorts = { exchanges, pools, nextId, nowMs };
  const parts = createParts({ ...spawning, claim, together: keeper.together });
  const requestMachine = wireRequest({
    facts: {
      maxBodyBytes: () => settings().webhook.maxBodyBytes,
      findRoute: routes.find,
      routesAreRead: routes.isComplete,
      compiled: routes.compiled,
      headers: (id) => exchanges.get(id)?.headers ?? {},
      query: (id) => exchanges.get(id)?.exchange.head.query,
      body: (id) => exchanges.get(id)?.body ?? emptyBody,
      certificate: certificates.get,
      partOf: (id) => exchanges.get(id)?.part,
      parsed: (id, rule) => parsedOf(exchanges.get(id), rule),
      secondsUntilFree: windows.secondsUntilFree,
      secondsUntilHandshake: handshakes.secondsUntilFree,
      signatureHolder: (digest, id) =>
        exchanges.get(id)?.checksOnly === true ? undefined : signatureHolder(keeper, signatureClaim(digest)),
      list: (profile, file) => servicesOf(profile)?.lists.list(file),
    },
    nowMs,
    newDeliveryId: () => globalThis.crypto.randomUUID(),
    takeSlot: windows.take,
    takeHandshake: handshakes.take,
    noteDeprecated: (route, scheme) =>
      log.warnOnce(
        `scheme/${route.profile}/${route.name}`,
        `route "${route.name}": a request was signed by the deprecated scheme ${scheme}, which does not protect from replays; let the sender use X-Webhook-Signature-V2`,
      ),
    exchanges,
    bodies: createBodyBudget(() => settings().webhook.maxUnverifiedBytes),
    traceparentOf: traces.traceparentOf,
    claim,
    readSignatureHolder: isShared ? (digest) => readSignatureHolder(keeper, signatureClaim(digest)) : undefined,
    certificates,
    learnKey: createLearnKey({ home, sources: () => sources, log }),
    splitBody: parts.splitBody,
    runScript: async (input, signal) => {
      const { profile, name } = input.route;
      const services = servicesOf(profile);
      if (services === undefined) return { kind: 'missing' };
      const result = await scriptPlaces.inTurn(`${profile}/${name}`, signal, () => services.runScript(input, signal));
      return result ?? { kind: 'aborted' };
    },
    pools,
  });
  const receive = createReceiver({ ...spawning, traces, parts: parts.underWay });
  const httpServers = createHttpServerKeeper({
    openHttpServer: async ({ webhook: { host, port }, gateway: { front } }, isOpen) => {
      const opened = await openHttpServer(
        { choice: front, settings: { host, port, bodyTimeoutMs } },
        // A closing HTTP server accepts nothing new, not even on a kept-alive connection.
        (exchange) => (isOpen() ? receive(exchange) : exchange.reply(draining)),
        log,
      );
      const url = urlOf(opened);
      log.log('info', `listening on ${url}`, { url, front: opened.kind });
      return opened;
    },
    wanted: ports.wanted,
    graceMs: () => answerGraceMs() + lastAnswersMs,
  });

  const ends = createRequestEnds({
    exchanges,
    find: routes.find,
    decided(output, live) {
      countRequest(output, nowMs());
      decisions.decided(output, live);
    },
    traced: traces.ended,
    nowMs,
  });
  const gateway = wireGateway({
    ...ports,
    ...work.gateway,
    cronJobs: cron.pool,
    schedule: cron.schedule,
    requests: createChartPool(ports, {
      name: 'requests',
      machine: requestMachine,
      copy: requestContext,
      ...ends,
    }),
    httpServers,
    nowMs,
    drainTimeoutMs: () => settings().gateway.drainTimeoutMs,
    answerGraceMs,
  });

  return {
    journal: compile(journal.logic, compiling),
    gateway: compile(gateway, compiling),
    keeper,
    decisions,
    replay: spawning,
    /** The delivery id of an event, by its key or its run's key; undefined if the journal has no synchronous read. */
    deliveryOf(key: string): string | undefined {
      const local = keeper.journal()?.local;
      return local?.get('events', local.get('runs', key)?.value.eventKey ?? key)?.value.deliveryId;
    },
    load,
    deliveryService,
    pauseOf,
    runCancels,
    seenRun,
    recovered,
    /** Recovers the work of the journal. */
    resume: async (): Promise<void> => {
      if (isAbandoned) {
        // The session still lives, and its claims would keep the work from the restarted gateway.
        const fault = await keeper.beginAnew();
        if (fault !== undefined) log.log('error', fault.message, { code: fault.code });
        isAbandoned = fault !== undefined;
      }
      await work.resume();
    },
    /** Reports that a run has a question for a person. */
    asked: reports.asked,
    /** Sends a request of the owner; resolves with the answer that its sender would get. */
    sendOwn: (request: OwnRequest): Promise<Reply> => sendOwnRequest(request, spawning),
    cron: cron.view,
    /** The other gateways of the database, and the answers to their questions; undefined unless the journal is shared. */
    neighbours: journal.neighbours,
    /** The routes in force, with the stores of their subscriptions. */
    sources: () => sources,
    /** Rises when the routes in force have changed since the last call. */
    routesVersion: routes.version,
    /** Applies changed subscriptions to the runs that wait at once, not within a second. */
    async applyRoutes(): Promise<void> {
      // The requests of this turn of the event loop may have read the files before the change.
      await turn();
      applyRoutes();
    },
    /** Whether the HTTP server listens by these settings, or is closed if they disable it. */
    listensAs: (asked: Settings): boolean =>
      asked.webhook.enabled ? httpServers.standsAs(asked) : httpServers.current() === undefined,
    httpServer: httpServers.current,
    /** Applies a home that was just read. */
    reconfigure(): void {
      sources = reader.read(home());
      routes.replace(sources);
      work.reconfigure();
      cron.schedule.look();
    },
    /** Ends the remains of a crashed gateway. */
    abandon(): void {
      isAbandoned = true;
      httpServers.retire();
      work.abandon();
      cron.schedule.stop();
      // Their charts are gone; an event that was accepted is a duplicate when its sender repeats it.
      exchanges.each((_, { exchange }) => exchange.reply(draining));
      exchanges.clear();
    },
    /** The work that waits on disk for the next start; undefined if no journal on disk is open. */
    left: journal.left,
    /** Closes the journal and everything that reads it. */
    async close(): Promise<void> {
      stopReading();
      decisions.close();
      work.close();
      await journal.close();
    },
  };
}
