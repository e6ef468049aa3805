/**
 * The composition root: reads the home, takes the lock, fills every hole, starts the supervisor and the control socket,
 * and waits until it ends. The only place where everything is known to everything; it decides nothing.
 * @see CON-2 and HOME-2 in docs/specification.md
 */

import { createActor } from 'xstate';
import { loadHome } from '../actors/config/load-config.ts';
import { ensurePrivateFolder } from '../actors/files.ts';
import { defaultProfile, type ProfileName } from '../machines/base/names.ts';
import { homePaths } from '../machines/config/profile.ts';
import { sameListener } from '../machines/config/reload.ts';
import type { Settings } from '../machines/config/settings.ts';
import type { ReloadVerdict } from '../machines/supervisor.machine.ts';
import { createClock } from './clock.ts';
import { watchConfig } from './config-watch.ts';
import { createControlServer } from './control/server.ts';
import { createDaemonView } from './daemon-view.ts';
import { createSinces } from './inspector/sinces.ts';
import { createWatcher } from './inspector/watcher.ts';
import { learnSecrets, reportDiagnostics } from './loaded-home.ts';
import { createLog } from './log.ts';
import { createMcpView } from './mcp/view.ts';
import { onSignals, takeLock } from './process.ts';
import { createProfileDesks, type ProfileDesks } from './profile-desk.ts';
import { createRedactor } from './redact.ts';
import { assembleServers } from './servers.ts';
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
  if (loaded.webhookBlocked.length > 0) {
    log.log('error', 'the webhook adapter does not start until its configuration is mended', {
      findings: loaded.webhookBlocked.length,
    });
    lock.value.release();
    log.flush();
    return 1;
  }

  const nowMs = (): number => Date.now();
  const settings = (): Settings => loaded.main.settings;
  let desks: ProfileDesks = createProfileDesks(loaded, log);
  const watcher = createWatcher({ root: () => root, redactor, nowMs });
  const compiling = { now: nowMs, trail: trailLength, watched: watcher.isFollowed };
  const webhooks = assembleWebhooks({
    paths,
    root: () => root,
    home: () => loaded,
    deskOf: (profile) => desks.get(profile as ProfileName) ?? desks.get(defaultProfile),
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
    webhooks.reconfigure();
    log.log('info', 'configuration reloaded');
    return { listens: settings().webhook.enabled, listenerChanged };
  };
  let reloading: ((fault: Error | undefined) => void)[] = [];

  const supervisor = wireSupervisor({
    journal: webhooks.journal,
    servers: servers.logic,
    gateway: webhooks.gateway,
    resumeWork: webhooks.resume,
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
    abandonWork: webhooks.abandon,
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
        mcp: createMcpView(servers, redactor),
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
  await webhooks.keeper.close();
  stopSignals();
  lock.value.release();
  log.log('info', 'stopped');
  log.flush();
  return fault === null ? 0 : 1;
}
