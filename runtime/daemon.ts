/**
 * The composition root: reads the home, takes the lock, fills every hole, starts the supervisor and the control socket,
 * and waits until it ends. The only place where everything is known to everything; it decides nothing.
 * @see CON-2 and HOME-2 in docs/specification.md
 */

import { type AnyActorRef, createActor } from 'xstate';
import { loadHome } from '../actors/config/load-config.ts';
import { createPlaces } from '../actors/dispatch/places.ts';
import { createRunAgent } from '../actors/dispatch/run-agent.ts';
import { ensurePrivateFolder } from '../actors/files.ts';
import { createKeeper } from '../actors/store/keeper.ts';
import { openLmdbJournal } from '../actors/store/lmdb-journal.ts';
import { openMemoryJournal } from '../actors/store/memory-journal.ts';
import { createRecordWriter } from '../actors/store/record-writer.ts';
import { createBursts } from '../actors/webhook/bursts.ts';
import { createClaimDelivery } from '../actors/webhook/claim-delivery.ts';
import { compile } from '../machines/base/compile.ts';
import { done } from '../machines/base/fault.ts';
import { defaultProfile, type ProfileName } from '../machines/base/names.ts';
import { createWard, wardHandle } from '../machines/base/ward.ts';
import { homePaths } from '../machines/config/profile.ts';
import { sameListener } from '../machines/config/reload.ts';
import type { Settings } from '../machines/config/settings.ts';
import type { ReloadVerdict } from '../machines/supervisor.machine.ts';
import type { DeliveryRecord, EventRecord, RunRecord } from '../machines/webhook/record.ts';
import { replyTo } from '../machines/webhook/reply.ts';
import type { RequestOutput } from '../machines/webhook/webhook-request.machine.ts';
import { createClock } from './clock.ts';
import { watchConfig } from './config-watch.ts';
import { createControlServer } from './control/server.ts';
import { createDaemonView } from './daemon-view.ts';
import { createDecisions } from './decisions.ts';
import { type Exchanges, textOf } from './exchanges.ts';
import { openFront } from './http/choose.ts';
import { createIds, timeKey } from './ids.ts';
import { createSinces } from './inspector/sinces.ts';
import { createWatcher } from './inspector/watcher.ts';
import { learnSecrets, reportDiagnostics } from './loaded-home.ts';
import { createLog } from './log.ts';
import { onSignals, takeLock } from './process.ts';
import { createProfileDesks, type ProfileDesks } from './profile-desk.ts';
import { createRateWindows } from './rate-windows.ts';
import { createReceiver } from './receiver.ts';
import { createRedactor } from './redact.ts';
import { type ResumePorts, refillRuns, resumeWork } from './resume.ts';
import { createRouteDesk } from './route-desk.ts';
import { routeSourcesOf } from './route-sources.ts';
import { wireDelivery } from './wiring/delivery.ts';
import { wireGateway } from './wiring/gateway.ts';
import { wireGroup } from './wiring/group.ts';
import { wireRequest } from './wiring/request.ts';
import { wireRun } from './wiring/run.ts';
import { wireJournal, wireSupervisor } from './wiring/supervisor.ts';
import { createWards, type Wards } from './wiring/wards.ts';
import { logDelivery, logRun } from './work-log.ts';

export interface DaemonOptions {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
}

const noBody = Buffer.alloc(0);
const internalError = replyTo({ kind: 'internal' });

/** How long an owner's session lives without a heartbeat: three heartbeats. */
const sessionTtlMs = 60_000;
/** A body that stalls for this long ends its exchange. */
const bodyTimeoutMs = 10_000;
/** Runs that may wait in memory; further ones wait on disk. */
const mostWaitingRuns = 10_000;

/** Steps that an actor remembers of itself. */
const trailLength = 24;

/** Runs the daemon until it is stopped. Resolves with the exit code. */
export async function runDaemon({ home, env, version }: DaemonOptions): Promise<0 | 1> {
  const paths = homePaths(home);
  await ensurePrivateFolder(paths.home);
  await ensurePrivateFolder(paths.state);
  const redactor = createRedactor();
  const log = createLog({ env, redactor });
  const lock = takeLock(paths.lock, version);
  if (!lock.ok) {
    log.log('error', lock.fault.message, { code: lock.fault.code });
    log.flush();
    return 1;
  }

  let loaded = loadHome({ home, env });
  reportDiagnostics(loaded, log);
  learnSecrets(loaded, redactor);
  if (loaded.webhookBlocked.length > 0) {
    log.log('error', 'the webhook adapter does not start until its configuration is mended', {
      findings: loaded.webhookBlocked.length,
    });
    lock.value.release();
    log.flush();
    return 1;
  }

  const nowMs = (): number => Date.now();
  const nextId = createIds();
  const settings = (): Settings => loaded.main.settings;
  const exchanges: Exchanges = new Map();
  let desks: ProfileDesks = createProfileDesks(loaded, log);
  const deskOf = (profile: string) => desks.get(profile as ProfileName) ?? desks.get(defaultProfile);

  const keeper = createKeeper({
    open: () =>
      settings().gateway.journal === 'memory'
        ? Promise.resolve(done(openMemoryJournal()))
        : openLmdbJournal({ directory: paths.state, now: nowMs }),
    owner: paths.home,
    sessionTtlMs,
    nowMs,
    refused: (reason) => root.system.get('journal')?.send({ type: 'journal.refused', fault: reason.message }),
  });
  const bursts = createBursts(keeper);
  const writer = createRecordWriter(keeper);
  const places = createPlaces(settings().agent.concurrency);
  const windows = createRateWindows(() => settings().webhook.rateLimit);
  const routes = createRouteDesk(routeSourcesOf(loaded, log));
  const decisions = createDecisions({ log, keeper });
  const eventOf = (key: string): EventRecord | undefined =>
    keeper.journal()?.get('events', key)?.value as unknown as EventRecord | undefined;

  let standing: Wards | undefined;
  const wards = (): Wards => {
    standing ??= createWards(
      {
        requests: wardHandle(wardRef(root, 'requests')),
        groups: wardHandle(wardRef(root, 'groups')),
        runs: wardHandle(wardRef(root, 'runs')),
        deliveries: wardHandle(wardRef(root, 'deliveries')),
      },
      nowMs,
    );
    return standing;
  };

  const resumePorts: ResumePorts = {
    keeper,
    writer,
    bursts,
    wards,
    nowMs,
    log,
    onInterrupted: (profile) => deskOf(profile)?.settings.agent.onInterrupted ?? 'rerun',
    deduplicates: (record) => deskOf(record.profile)?.targets.deduplicates(record.target) ?? false,
    room: () => mostWaitingRuns - wards().runs.size,
  };

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
    claim: createClaimDelivery({
      keeper,
      bursts,
      findJob: (profile, job) =>
        deskOf(profile)?.findJob(job) ?? { kind: 'dropped', reason: `profile "${profile}" is not configured` },
      hasRoom: () => resumePorts.room() > 0,
    }),
    runScript: (input, signal) => {
      const desk = deskOf(input.route.profile);
      return desk === undefined ? Promise.resolve({ kind: 'missing' }) : desk.runScript(input, signal);
    },
    wards,
  });
  const runLogic = wireRun({
    keeper,
    writer,
    places,
    runAgent: createRunAgent({ event: eventOf, runnerOf: (profile) => deskOf(profile)?.runner, log }),
    routeConcurrency: (profile, route) =>
      routes.all().find((one) => one.route.name === route && one.route.profile === profile)?.route.concurrency,
    nowMs,
    wards,
  });
  const deliveryLogic = wireDelivery({
    writer,
    sendText: (record, signal) =>
      deskOf(record.profile)?.targets.send(record, signal) ??
      Promise.resolve({ kind: 'failed', reason: `profile "${record.profile}" is not configured any more` }),
    nowMs,
    wards,
  });
  const watcher = createWatcher({ root: () => root, redactor, nowMs });
  const compiled = { now: nowMs, trail: trailLength, watched: watcher.isFollowed };
  const crashed = (room: string) => (key: string, error: unknown) => {
    log.log('error', `${room}/${key} crashed`, { error: String(error) });
  };

  const gateway = wireGateway({
    requests: createWard({
      name: 'requests',
      logic: compile(requestLogic, compiled),
      onDone: (key, output: RequestOutput) => {
        const live = exchanges.get(key);
        exchanges.delete(key);
        decisions.decided(output, live?.body ?? noBody);
      },
      onCrashed: (key, error) => {
        crashed('requests')(key, error);
        exchanges.get(key)?.exchange.reply(internalError);
        exchanges.delete(key);
      },
    }),
    groups: createWard({
      name: 'groups',
      logic: compile(wireGroup({ bursts, keeper, nowMs, wards }), compiled),
      onCrashed: crashed('groups'),
    }),
    runs: createWard({
      name: 'runs',
      logic: compile(runLogic, compiled),
      onDone: (key, output: RunRecord) => {
        logRun(key, output, eventOf(output.eventKey), log);
        wards().runFinished(key, output);
        if (resumePorts.room() === 1) void refillRuns(resumePorts);
      },
      onCrashed: crashed('runs'),
    }),
    deliveries: createWard({
      name: 'deliveries',
      logic: compile(deliveryLogic, compiled),
      onDone: (key, output: DeliveryRecord) => {
        logDelivery(output, log);
        wards().deliverySettled(key, output);
      },
      onCrashed: crashed('deliveries'),
    }),
    openFront: () => {
      const { webhook, gateway: front } = settings();
      const { host, port } = webhook;
      const receive = createReceiver({ exchanges, wards, nextId, nowMs });
      return openFront(front.front, { host, port, bodyTimeoutMs }, receive, log);
    },
    places,
    wards,
    nowMs,
    log,
    drainTimeoutMs: () => settings().gateway.drainTimeoutMs,
  });

  /** Takes a new configuration over whole, or leaves the old one in force. */
  const applyConfig = (): ReloadVerdict => {
    const next = loadHome({ home, env });
    reportDiagnostics(next, log);
    if (next.webhookBlocked.length > 0) {
      throw new Error('the configuration has findings; the last good one stays in force (see `agent config check`)');
    }
    const listenerChanged = !sameListener(settings(), next.main.settings);
    loaded = next;
    learnSecrets(loaded, redactor);
    desks = createProfileDesks(loaded, log);
    routes.replace(routeSourcesOf(loaded, log));
    places.resize(settings().agent.concurrency);
    log.log('info', 'configuration reloaded');
    return { listens: settings().webhook.enabled, listenerChanged };
  };
  let reloading: ((fault: Error | undefined) => void)[] = [];

  const supervisor = wireSupervisor({
    journal: compile(
      wireJournal({
        keeper,
        log,
        history: () => {
          const { maxAgeMs, maxBytes } = settings().gateway.history;
          return { keepAfterKey: timeKey(nowMs() - maxAgeMs), maxBytes };
        },
      }),
      compiled,
    ),
    gateway: compile(gateway, compiled),
    resumeWork: () => resumeWork(resumePorts),
    applyConfig: async () => {
      const told = reloading;
      reloading = [];
      try {
        const verdict = applyConfig();
        for (const tell of told) tell(undefined);
        return verdict;
      } catch (thrown) {
        for (const tell of told) tell(thrown as Error);
        throw thrown;
      }
    },
    abandonWork: () => {
      for (const ward of [wards().requests, wards().groups, wards().runs, wards().deliveries]) ward.clear();
      standing = undefined;
      places.clear();
      exchanges.clear();
    },
    nowMs,
    random: Math.random,
    log,
  });

  const root = createActor(supervisor, { input: { listens: settings().webhook.enabled }, clock: createClock() });
  const sinces = createSinces(nowMs);
  const ended = new Promise<{ fault: string | null }>((resolve) => {
    root.subscribe({ complete: () => resolve({ fault: root.getSnapshot().context.fault }) });
  });
  const control = await createControlServer({
    path: paths.socket,
    log,
    host: {
      source: { home, env },
      daemon: createDaemonView({
        root,
        home,
        version,
        census: { root, sinces, redactor },
        watcher,
        keeper,
        decisions,
        replay: { exchanges, wards, nextId, nowMs },
        url: () => root.system.get('gateway')?.getSnapshot().context.url ?? undefined,
        webhookEnabled: () => settings().webhook.enabled,
        reload: () =>
          new Promise((resolve, reject) => {
            if (!root.getSnapshot().matches({ up: 'running' })) {
              reject(new Error('the gateway is busy starting, reloading or stopping; try again in a moment'));
              return;
            }
            reloading.push((fault) => (fault === undefined ? resolve() : reject(fault)));
            root.send({ type: 'config.reload' });
          }),
        startedAtMs: nowMs(),
        nowMs,
      }),
    },
  });
  sinces.watch(root);
  root.start();
  const stopSignals = onSignals({
    stop: () => root.send({ type: 'daemon.stop' }),
    reload: () => root.send({ type: 'config.reload' }),
    log,
  });

  const stopWatching = watchConfig(
    () => [...loaded.profiles.values()].flatMap(({ paths: own }) => [own.config, own.env]),
    () => root.send({ type: 'config.reload' }),
  );

  const { fault } = await ended;
  stopWatching();
  if (fault !== null) log.log('error', fault);
  await control.close();
  await keeper.close();
  stopSignals();
  lock.value.release();
  log.log('info', 'stopped');
  log.flush();
  return fault === null ? 0 : 1;
}

function wardRef(root: AnyActorRef, name: string): AnyActorRef {
  const ref: AnyActorRef | undefined = root.system.get(name);
  if (ref === undefined) throw new TypeError(`the ward "${name}" does not live`);
  return ref;
}
