/**
 * The daemon as a process: one per home, stopped by signals, ended loudly by what nobody caught.
 * @see HOME-2 and CON-2 in docs/specification.md
 */

import { tryLock } from '../actors/lock-file.ts';
import type { Logger } from '../actors/ports.ts';
import { done, failed, type Result } from '../machines/base/fault.ts';

export interface Lock {
  release(): void;
}

/** Takes the home's lock; a holder that no longer lives loses it without a word. */
export function takeLock(path: string, version?: string): Result<Lock> {
  const verdict = tryLock(path, version);
  if (verdict.kind === 'taken') return done(verdict.lock);
  const { holder } = verdict;
  if (holder === undefined) {
    return failed('gateway-running', `gateway: another start of this home is under way (${path}); try again`);
  }
  const since = holder.sinceMs === undefined ? '' : ` since ${new Date(holder.sinceMs).toISOString()}`;
  return failed(
    'gateway-running',
    `gateway: pid ${holder.pid} already runs this home${since}; stop it with \`agent gateway stop\``,
  );
}

export interface SignalHandlers {
  readonly stop: () => void;
  readonly reload: () => void;
  readonly log: Logger & { flush(): void };
}

/** Listens to signals until the returned function is called. A second request to stop ends the process at once. */
export function onSignals({ stop, reload, log }: SignalHandlers): () => void {
  let stopping = false;
  const onStop = (signal: NodeJS.Signals): void => {
    if (stopping) {
      log.log('warn', `${signal} again: ending at once`);
      log.flush();
      endAtOnce();
    }
    stopping = true;
    log.log('info', `${signal}: draining; once more ends at once`);
    stop();
  };
  const onReload = (): void => reload();
  const onCrash = (error: unknown): void => {
    log.log('error', `uncaught: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    log.flush();
    endAtOnce();
  };
  process.on('SIGTERM', onStop).on('SIGINT', onStop).on('SIGHUP', onReload);
  process.on('uncaughtException', onCrash).on('unhandledRejection', onCrash);
  return () => {
    process.off('SIGTERM', onStop).off('SIGINT', onStop).off('SIGHUP', onReload);
    process.off('uncaughtException', onCrash).off('unhandledRejection', onCrash);
  };
}

/**
 * Not by `process.exit`: that joins the threads first, and the journal's writer may be waiting for this very thread to go
 * on with its transaction. What is not committed was not acknowledged.
 */
function endAtOnce(): void {
  process.kill(process.pid, 'SIGKILL');
}
