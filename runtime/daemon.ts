/**
 * Runs the daemon: locks the home, reads it, builds the parts, starts them, waits, and closes them.
 * @see CON-2 and HOME-2 in docs/specification.md
 */

import { setFlagsFromString } from 'node:v8';
import { sweepAbandoned } from '../actors/files.ts';
import type { LogLevel } from '../actors/ports.ts';
import { placedPaths } from '../actors/socket-place.ts';
import { assembleDaemon, type DaemonParts } from './assemble.ts';
import { watchConfig } from './config/config-watch.ts';
import { createDocumentsInForce } from './config/documents-in-force.ts';
import { adapterBlock, adapterFault, writtenFolders } from './config/loaded-home.ts';
import { createHomes, isOfFindings } from './config/reload.ts';
import { createControlServer } from './control/server.ts';
import { logStopped } from './dispatch/work-log.ts';
import { createLog } from './observe/log.ts';
import { createMetrics } from './observe/metrics.ts';
import { createRedactor } from './observe/redact.ts';
import { onSignals, takeHome } from './system/process.ts';

interface DaemonOptions {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  /** How many runs, and how many deliveries, may wait in memory; 10,000 unless given. */
  readonly maxWaiting?: number;
  /** Receives the parts before they start, to count them. */
  readonly lend?: (parts: DaemonParts) => void;
}

/** Runs the daemon until it is stopped. Resolves with the exit code. */
export async function runDaemon({ home, env, version, maxWaiting, lend }: DaemonOptions): Promise<0 | 1> {
  // By default the engine allocates objects in the old heap if those of the same kind outlived the young one at the start,
  // when that is small and mostly in use. A request's context there keeps its payload alive, long after the answer, until
  // the old heap is collected (docs/decisions/0013-young-heap.md).
  setFlagsFromString('--no-allocation-site-pretenuring');
  const paths = placedPaths(home, env);
  const redactor = createRedactor();
  const metrics = createMetrics();
  const counted = (level: LogLevel) => metrics.count('agent_log_lines_total', level);
  const log = createLog({ env, redactor, counted, file: `${paths.logs}/gateway.log` });
  const lock = await takeHome(paths, version);
  if (!lock.ok) {
    log.log('error', lock.fault.message, { code: lock.fault.code });
    log.flush();
    return 1;
  }

  const documents = createDocumentsInForce({ home, log });
  const source = { home, env, documents: documents.choose };
  const homes = createHomes(source, redactor, log);
  const first = homes.inForce();
  const block = adapterBlock(first);
  const blocked = adapterFault(first);
  const findings = first.webhookBlocked.length;
  if (block.kind === 'home') {
    log.log('error', 'the gateway does not start until its configuration is corrected', { findings });
    lock.value.release();
    log.flush();
    return 1;
  }
  if (block.kind === 'section') {
    log.log('error', 'sections of the configuration that have findings take their defaults', { findings });
  }
  if (blocked !== null) {
    log.log('error', 'the webhook adapter does not start until its configuration is corrected', { findings });
  }
  await sweepAbandoned(writtenFolders(first, paths), Date.now());

  const parts = await assembleDaemon({
    ...{ source, documents, version, maxWaiting, paths, homes, blocked, redactor, metrics, log },
    hold: lock.value.hold,
  });
  const { root, webhooks, every, reload } = parts;
  const ended = new Promise<{ fault: string | null }>((resolve) => {
    root.subscribe({ complete: () => resolve({ fault: root.getSnapshot().context.fault }) });
  });
  const control = await createControlServer({
    ...{ path: paths.socket, hold: parts.hold, every, log, redact: redactor.text, host: parts.host },
  });
  lend?.(parts);
  root.start();
  if (!first.main.settings.webhook.enabled) {
    log.log(
      'info',
      'webhooks are not enabled: `agent gateway setup --enable`, or platforms.webhook.enabled in config.yaml',
    );
  }
  parts.observe();
  const stopSignals = onSignals({
    stop: () => root.send({ type: 'daemon.stop' }),
    reload: () => void reload().catch(() => {}),
    log,
  });
  const stopWatching = watchConfig(
    {
      read: homes.handled,
      paths: homes.watched,
      // Any failure but a finding is retried.
      changed: () => reload().then(() => true, isOfFindings),
    },
    every,
  );

  const { fault } = await ended;
  stopWatching();
  if (fault !== null) log.log('error', fault);
  control.stopListening();
  await parts.inspector.close();
  await parts.tracing.close();
  // The database may be away: the end must not fail on a line of the log.
  const left = await webhooks.left().catch(() => undefined);
  await webhooks.close();
  await documents.close();
  parts.endTicks();
  stopSignals();
  lock.value.release();
  logStopped(left, log);
  log.flush();
  await control.close();
  await parts.host.audit?.close();
  return fault === null && !lock.value.isLost() ? 0 : 1;
}
