/**
 * The daemon as a process: one per home, stopped by signals, ended loudly by what nobody caught.
 * @see HOME-2 and CON-2 in docs/specification.md
 */

import { ensurePrivateFolder } from '../actors/files.ts';
import { tryLock } from '../actors/lock-file.ts';
import type { Logger } from '../actors/ports.ts';
import { causeOf, done, failed, type Result } from '../machines/base/fault.ts';
import { type HomePaths, unwritableHome } from '../machines/config/profile.ts';

export interface Lock {
  release(): void;
}

/** Makes the folders of a home private and takes its lock; says what it is where the home cannot be written. */
export async function takeHome(paths: HomePaths, version?: string): Promise<Result<Lock>> {
  try {
    await ensurePrivateFolder(paths.home);
    await ensurePrivateFolder(paths.state);
    return takeLock(paths.lock, version);
  } catch (thrown) {
    return { ok: false, fault: unwritableHome(paths.home, causeOf(thrown)) };
  }
}

/** Takes the home's lock; a holder that no longer lives loses it without a word. Throws where the folder cannot be written. */
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
