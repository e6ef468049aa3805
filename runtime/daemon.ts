/**
 * The composition root: reads the home, takes the lock, fills every hole, starts the supervisor and the control socket,
 * and waits until it ends. The only place where everything is known to everything; it decides nothing.
 * @see CON-2 and HOME-2 in docs/specification.md
 */

import { createActor } from 'xstate';
import { type LoadedHome, loadHome } from '../actors/config/load-config.ts';
import { ensurePrivateFolder } from '../actors/files.ts';
import type { ProfileName } from '../machines/base/names.ts';
import { homePaths } from '../machines/config/profile.ts';
import type { Settings } from '../machines/config/settings.ts';
import type { ReloadVerdict } from '../machines/supervisor.machine.ts';
import { createChatView } from './agent/chat-view.ts';
import { createRunners } from './agent/runners.ts';
import { createClock } from './clock.ts';
import { watchConfig } from './config-watch.ts';
import { Refusal } from './control/refusal.ts';
import { createControlServer } from './control/server.ts';
import { createDaemonView } from './daemon-view.ts';
import { createSinces } from './inspector/sinces.ts';
import { createWatcher } from './inspector/watcher.ts';
import { adapterBlock, createProblemDesk, learnSecrets, reportDiagnostics, servesTools } from './loaded-home.ts';
import { createLog } from './log.ts';
import { createMcpView } from './mcp/view.ts';
import { onSignals, takeLock } from './process.ts';
import { createProfileDesks, type ProfileDesks } from './profile-desk.ts';
import { createRedactor } from './redact.ts';
import { assembleServers } from './servers.ts';
import { indexTimers } from './timers.ts';
import { assembleWebhooks } from './webhooks.ts';
import { wireSupervisor } from './wiring/supervisor.ts';

export interface DaemonOptions {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
}

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
  const block = adapterBlock(loaded);
  if (block.kind !== 'free') {
    log.log('error', 'the webhook adapter does not start until its configuration is mended', {
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
  let blockedBy = block.kind === 'free' ? null : block.fault;
  const problems = createProblemDesk({ home, env }, loaded);
  const nowMs = (): number => Date.now();
  const settings = (): Settings => loaded.main.settings;
  const runners = createRunners({
    paths,
    servers: () => servers,
    redact: redactor.text,
    nowMs,
    random: Math.random,
    log,
  });
  await runners.sweep();
  let desks: ProfileDesks = createProfileDesks(loaded, runners);
  const watcher = createWatcher({ root: () => root, redactor, nowMs });
  const compiling = { now: nowMs, trail: trailLength, watched: watcher.isFollowed };
  const webhooks = assembleWebhooks({
    paths,
    root: () => root,
    home: () => loaded,
    deskOf: (profile) => desks.get(profile as ProfileName),
    wanted: () => (waiting ?? loaded).main.settings,
    adopt: () => {
      if (waiting !== undefined) take(waiting);
    },
    redactor,
    compiling,
    nowMs,
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
    nowMs,
    log,
  });

  /** A configuration comes into force whole. */
  const take = (next: LoadedHome): void => {
    waiting = undefined;
    loaded = next;
    desks = createProfileDesks(loaded, runners);
    webhooks.reconfigure();
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
    if (found.kind === 'home' || (found.kind === 'adapter' && blockedBy === null)) {
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
      waiting = undefined;
      if (error === undefined) blockedBy = null;
      for (const tell of told) tell(error);
    },
    abandonWork: webhooks.abandon,
    nowMs,
    random: Math.random,
    log,
  });

  const root = createActor(supervisor, {
    input: { listens: settings().webhook.enabled, blocked: blockedBy },
    clock: createClock(),
  });
  indexTimers(root);
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
  const sinces = createSinces(nowMs);
  const ended = new Promise<{ fault: string | null }>((resolve) => {
    root.subscribe({ complete: () => resolve({ fault: root.getSnapshot().context.fault }) });
  });
  const control = await createControlServer({
    path: paths.socket,
    log,
    redact: redactor.text,
    host: {
      source: { home, env },
      desk: () => ({ home: loaded, sources: webhooks.sources(), problems: problems.now() }),
      version,
      daemon: createDaemonView({
        root,
        home,
        version,
        census: { root, sinces, redactor },
        watcher,
        keeper: webhooks.keeper,
        decisions: webhooks.decisions,
        replay: webhooks.replay,
        sendings: webhooks.sendings,
        routes: webhooks.routes,
        cancelRun: webhooks.cancelRun,
        cron: webhooks.cron,
        mcp: createMcpView(servers, redactor),
        chat: createChatView({
          servers,
          settings: (profile) => loaded.profiles.get(profile as ProfileName)?.settings.agent,
        }),
        url: () => root.system.get('gateway')?.getSnapshot().context.url ?? undefined,
        webhookEnabled: () => settings().webhook.enabled,
        webhookFault: gatewayFault,
        redact: redactor.record,
        reload,
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
    () => void reload().catch(() => {}),
  );

  const { fault } = await ended;
  stopWatching();
  if (fault !== null) log.log('error', fault);
  await control.close();
  await webhooks.keeper.close();
  stopSignals();
  lock.value.release();
  log.log('info', 'stopped');
  log.flush();
  return fault === null ? 0 : 1;
}
