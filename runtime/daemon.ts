/**
 * The composition root: reads the home, takes the lock, fills every hole, starts the supervisor and the control socket,
 * and waits until it ends. The only place where everything is known to everything; it decides nothing.
 * @see CON-2 and HOME-2 in docs/specification.md
 */

import { type AnyActorRef, createActor } from 'xstate';
import { sweepAbandoned } from '../actors/abandoned-files.ts';
import { type LoadedHome, loadHome } from '../actors/config/load-config.ts';
import { placedPaths } from '../actors/socket-place.ts';
import type { Fault } from '../machines/base/fault.ts';
import type { ProfileName } from '../machines/base/names.ts';
import type { Settings } from '../machines/config/settings.ts';
import type { ReloadVerdict } from '../machines/supervisor.machine.ts';
import { createChatView } from './agent/chat-view.ts';
import { createProfileDesks, type ProfileDesks } from './agent/profile-tools.ts';
import { createRunners } from './agent/runners.ts';
import { createConfigHistory } from './config/config-history.ts';
import { watchConfig } from './config/config-watch.ts';
import {
  adapterBlock,
  createProblemDesk,
  emptiedFault,
  learnSecrets,
  reportDiagnostics,
  servesTools,
  watchedPaths,
  writtenFolders,
} from './config/loaded-home.ts';
import type { CommandHost } from './control/command.ts';
import { createDaemonView } from './control/daemon-view.ts';
import { Refusal } from './control/refusal.ts';
import { createControlServer } from './control/server.ts';
import { createEventStats } from './dispatch/event-stats.ts';
import { logStopped } from './dispatch/work-log.ts';
import { createInspector, type Inspector } from './inspector/inspector.ts';
import { createOverview } from './inspector/overview.ts';
import { assembleServers } from './mcp/servers.ts';
import { createMcpView } from './mcp/view.ts';
import { createVitals } from './observe/health.ts';
import { createLog } from './observe/log.ts';
import { createMetrics } from './observe/metrics.ts';
import { countRestarts } from './observe/metrics-counts.ts';
import { createRedactor } from './observe/redact.ts';
import { createTracing } from './observe/tracing.ts';
import { createClock } from './system/clock.ts';
import { pageFolder } from './system/package-files.ts';
import { onSignals, takeHome } from './system/process.ts';
import { wireSupervisor } from './system/supervisor.ts';
import { createTicks } from './system/ticks.ts';
import { indexTimers } from './system/timers.ts';
import { makeObjectsYoung } from './system/young-heap.ts';
import { assembleWebhooks, type Webhooks } from './webhook/webhooks.ts';

export interface DaemonOptions {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  /** How many runs, and how many deliveries, may wait in memory; 10,000 unless given. */
  readonly mostWaiting?: number;
  /** Is lent the living parts before they start, to count them. */
  readonly lend?: (parts: DaemonParts) => void;
}

export interface DaemonParts {
  readonly root: AnyActorRef;
  readonly webhooks: Webhooks;
  readonly inspector: Inspector;
}

/** Steps that an actor remembers of itself. */
const trailLength = 24;

/** Runs the daemon until it is stopped. Resolves with the exit code. */
export async function runDaemon({ home, env, version, mostWaiting, lend }: DaemonOptions): Promise<0 | 1> {
  makeObjectsYoung();
  const paths = placedPaths(home, env);
  const redactor = createRedactor();
  const metrics = createMetrics();
  const log = createLog({ env, redactor, counted: (level) => metrics.count('agent_log_lines_total', level) });
  const lock = await takeHome(paths, version);
  if (!lock.ok) {
    log.log('error', lock.fault.message, { code: lock.fault.code });
    log.flush();
    return 1;
  }

  let loaded = loadHome({ home, env });
  reportDiagnostics(loaded, log);
  learnSecrets(loaded, redactor);
  const block = adapterBlock(loaded);
  if (block.kind !== 'free') {
    log.log('error', 'the webhook adapter does not start until its configuration is corrected', {
      findings: loaded.webhookBlocked.length,
    });
  }
  if (block.kind === 'home' || (block.kind === 'adapter' && !servesTools(loaded))) {
    lock.value.release();
    log.flush();
    return 1;
  }

  /** A home that comes into force once its listener stands. */
  let waiting: LoadedHome | undefined;
  /** Why the configuration on disk was not taken over; undefined where it was. */
  let refusedBy: string | undefined;
  let blockedBy = block.kind === 'free' ? null : block.fault;
  const problems = createProblemDesk({ home, env }, loaded);
  const nowMs = (): number => Date.now();
  /** For waits and windows, which must not grow by what the clock is set back. */
  const steadyMs = (): number => performance.now();
  const settings = (): Settings => loaded.main.settings;
  const runners = createRunners({
    paths,
    host: () => host,
    servers: () => servers,
    redact: redactor.text,
    nowMs,
    random: Math.random,
    log,
  });
  await runners.sweep();
  await sweepAbandoned(writtenFolders(loaded, paths), nowMs());
  let desks: ProfileDesks = createProfileDesks(loaded, runners);
  const tracing = createTracing({ env, version, redact: redactor.text, learn: redactor.learn, nowMs, log });
  const startedAtMs = nowMs();
  const configHistory = createConfigHistory(loaded, nowMs);
  const inspector = createInspector({
    root: () => root,
    redactor,
    host: () => host,
    deliveryOf: (key) => {
      const journal = webhooks.keeper.journal()?.local;
      const eventKey = (journal?.get('runs', key)?.value.eventKey ?? key) as string;
      return journal?.get('events', eventKey)?.value.deliveryId as string | undefined;
    },
    vitals: () => signs.vitals(),
    readiness: () => signs.readiness(),
    metrics: () => metrics.render(signs.measure()),
    pageFolder,
    nowMs,
    log,
  });
  const compiling = { now: nowMs, trail: trailLength, watched: inspector.watched };
  const every = createTicks();
  /** Another gateway took the home while its disk was full: this one ends. */
  let isTaken = false;
  const hold = async (): Promise<Fault | undefined> => {
    const refused = await lock.value.hold();
    if (refused?.code === 'gateway-running') {
      isTaken = true;
      root.send({ type: 'daemon.stop' });
    }
    return refused;
  };
  const webhooks = assembleWebhooks({
    paths,
    hold,
    root: () => root,
    whileAsked: (run, changed) => servers.approvals.whileAsked(run, changed),
    home: () => loaded,
    deskOf: (profile) => desks.get(profile as ProfileName),
    wanted: () => (waiting ?? loaded).main.settings,
    adopt: () => {
      if (waiting !== undefined) take(waiting);
    },
    redactor,
    compiling,
    metrics,
    tracing,
    nowMs,
    steadyMs,
    every,
    mostWaiting,
    log,
  });

  const servers = assembleServers({
    paths,
    root: () => root,
    home: () => loaded,
    env,
    version,
    compiling,
    redactor,
    metrics,
    tracing,
    nowMs,
    steadyMs,
    log,
  });
  servers.approvals.onAsked(webhooks.asked);
  const mcp = createMcpView(servers, redactor, steadyMs);
  const signs = createVitals({
    root: () => root,
    mcp,
    metrics,
    load: webhooks.load,
    concurrency: () => settings().agent.concurrency,
    webhookEnabled: () => settings().webhook.enabled,
    redact: redactor.text,
    viewers: inspector.watching,
    version,
    home,
    startedAtMs,
    nowMs,
  });

  const stats = createEventStats({
    keeper: webhooks.keeper,
    refused: webhooks.decisions.refused,
    seenRun: webhooks.seenRun,
    runsThatWait: servers.approvals.runsThatWait,
    nowMs,
  });
  const overview = createOverview({
    root: () => root,
    host: () => host,
    keeper: webhooks.keeper,
    events: stats,
    recent: metrics.recent,
    load: webhooks.load,
    concurrency: () => settings().agent.concurrency,
    runsThatWait: servers.approvals.runsThatWait,
    onStep: inspector.onStep,
    redact: redactor.record,
    nowMs,
  });

  /** A configuration comes into force whole. */
  const take = (next: LoadedHome): void => {
    waiting = undefined;
    refusedBy = undefined;
    loaded = next;
    configHistory.applied(loaded);
    desks = createProfileDesks(loaded, runners);
    webhooks.reconfigure();
    void inspector.apply(settings().inspector);
    void tracing.apply(settings().telemetry.otlpEndpoint);
    log.log('info', 'configuration reloaded');
  };
  const gatewayFault = (): string | undefined => root.system.get('gateway')?.getSnapshot().context.fault ?? undefined;
  /** Reads the configuration anew. One that moves the listener waits until the new address is bound. */
  const applyConfig = (): ReloadVerdict => {
    const next = loadHome({ home, env });
    problems.seen(next);
    reportDiagnostics(next, log);
    learnSecrets(next, redactor);
    const found = adapterBlock(next);
    // Where the adapter has never started there is no last good configuration to keep.
    const isBlocked = found.kind === 'home' || (found.kind === 'adapter' && blockedBy === null);
    const refused = emptiedFault(next, loaded) ?? (isBlocked ? found.fault : undefined);
    if (refused !== undefined) {
      refusedBy = redactor.text(refused);
      configHistory.refused(refusedBy);
      throw new Refusal(
        'reload-refused',
        'the configuration has findings; the last good one stays in force (see `agent config check`)',
      );
    }
    const { enabled } = next.main.settings.webhook;
    // A fault that stands is told away by the gateway itself, also where the front need not move.
    const listenerChanged = gatewayFault() !== undefined || !webhooks.listensAs(next.main.settings);
    if (listenerChanged && enabled && found.kind === 'free') waiting = next;
    else take(next);
    return { listens: enabled, listenerChanged, blocked: found.kind === 'free' ? null : found.fault };
  };
  let reloading: ((fault: Error | undefined) => void)[] = [];

  const supervisor = wireSupervisor({
    journal: webhooks.journal,
    servers: servers.logic,
    gateway: webhooks.gateway,
    resumeWork: webhooks.resume,
    applyConfig: () => Promise.resolve().then(applyConfig),
    reloadEnded: (error) => {
      const told = reloading;
      reloading = [];
      // It still waits where the front cannot stand as it wants: what is on disk is then not what is in force.
      if (error !== undefined && waiting !== undefined) refusedBy = redactor.text(gatewayFault() ?? error.message);
      waiting = undefined;
      if (error === undefined) blockedBy = null;
      for (const tell of told) tell(error);
    },
    abandonWork: webhooks.abandon,
    steadyMs,
    random: Math.random,
    log,
  });

  const root = createActor(inspector.sinces.remembering(supervisor), {
    input: { listens: settings().webhook.enabled, blocked: blockedBy },
    clock: createClock(),
  });
  indexTimers(root, nowMs);
  /** Resolves when the configuration is in force. One that comes while another is under way waits for its turn. */
  const reload = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const begin = (): void => {
        reloading.push((error) => (error === undefined ? resolve() : reject(error)));
        root.send({ type: 'config.reload' });
      };
      const state = root.getSnapshot();
      if (state.matches({ up: 'running' })) {
        begin();
        return;
      }
      if (!state.matches('up') || state.matches({ up: 'draining' })) {
        reject(new Refusal('gateway-busy', 'the gateway is busy starting or stopping; try again in a moment'));
        return;
      }
      const turn = root.subscribe((next) => {
        if (!next.matches({ up: 'running' })) return;
        turn.unsubscribe();
        begin();
      });
    });
  const ended = new Promise<{ fault: string | null }>((resolve) => {
    root.subscribe({ complete: () => resolve({ fault: root.getSnapshot().context.fault }) });
  });
  const host: CommandHost = {
    source: { home, env },
    desk: () => ({ home: loaded, sources: webhooks.sources(), problems: problems.now() }),
    version,
    daemon: createDaemonView({
      root,
      home,
      version,
      inspector,
      keeper: webhooks.keeper,
      decisions: webhooks.decisions,
      replay: webhooks.replay,
      check: webhooks.check,
      sendings: webhooks.sendings,
      pauseOf: webhooks.pauseOf,
      cancelRun: webhooks.cancelRun,
      seenRun: webhooks.seenRun,
      stats,
      mcp,
      chat: createChatView({
        servers,
        settings: (profile) => loaded.profiles.get(profile as ProfileName)?.settings.agent,
      }),
      cron: webhooks.cron,
      overview,
      workOf: (run) => ({
        calls: servers.memory.ofRun(run),
        callsUnderWay: servers.calls.ofRun(run),
        questions: servers.approvals.ofRun(run),
      }),
      runsThatWait: servers.approvals.runsThatWait,
      url: () => root.system.get('gateway')?.getSnapshot().context.url ?? undefined,
      webhookEnabled: () => settings().webhook.enabled,
      webhookFault: gatewayFault,
      configFault: () => refusedBy,
      configHistory,
      redact: redactor.record,
      redactText: redactor.text,
      reload,
      startedAtMs,
      nowMs,
    }),
  };
  const control = await createControlServer({ path: paths.socket, hold, log, redact: redactor.text, host });
  countRestarts(root, metrics);
  lend?.({ root, webhooks, inspector });
  root.start();
  if (!settings().webhook.enabled) {
    log.log('info', 'webhooks are not enabled: `agent gateway setup`, or platforms.webhook.enabled in config.yaml');
  }
  void inspector.apply(settings().inspector);
  void tracing.apply(settings().telemetry.otlpEndpoint);
  const stopSignals = onSignals({
    stop: () => root.send({ type: 'daemon.stop' }),
    reload: () => void reload().catch(() => {}),
    log,
  });

  const stopWatching = watchConfig(
    {
      read: loaded.stamps,
      paths: () => watchedPaths(loaded, paths),
      // What it finds wrong is told where it is found, and stays so until somebody changes it.
      changed: () =>
        reload().then(
          () => true,
          (thrown: unknown) => thrown instanceof Refusal && thrown.code === 'reload-refused',
        ),
    },
    every,
  );

  const { fault } = await ended;
  stopWatching();
  if (fault !== null) log.log('error', fault);
  control.stopListening();
  await inspector.close();
  await tracing.close();
  const left = await webhooks.left();
  await webhooks.close();
  stopSignals();
  lock.value.release();
  logStopped(left, log);
  log.flush();
  await control.close();
  return fault === null && !isTaken ? 0 : 1;
}
