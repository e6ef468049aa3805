/**
 * The daemon as a process: one per home, stopped by signals, ended with a log line by an uncaught error.
 * @see HOME-2 and CON-2 in docs/specification.md
 */

import { connect } from 'node:net';
import { ensurePrivateFolder, isDiskRefusal } from '../../actors/files.ts';
import { holderOf, type LockHolder, tryLock } from '../../actors/lock-file.ts';
import type { Logger } from '../../actors/ports.ts';
import { causeOf, done, type Fault, failed, fault, type Result } from '../../machines/base/fault.ts';
import { type HomePaths, unwritableHome } from '../../machines/config/profile.ts';

interface Lock {
  release(): void;
}

interface HomeLock extends Lock {
  /**
   * Locks the home if it is not locked yet because its disk was full or read-only at the start. Resolves with the fault
   * that still prevents it: `gateway-running` if another gateway has locked it, else one that may pass.
   */
  hold(): Promise<Fault | undefined>;
  /** Whether another gateway locked the home first. */
  isLost(): boolean;
}

/**
 * Makes the folders of a home private and locks it. Fails if another gateway runs or the home cannot be written; on a
 * full or read-only disk it succeeds and the lock is taken later (DUR-3).
 */
export async function takeHome(paths: HomePaths, version?: string): Promise<Result<HomeLock>> {
  let lock: Lock | undefined;

  async function attempt(): Promise<{ readonly fault: Fault; readonly passes: boolean } | undefined> {
    try {
      await ensurePrivateFolder(paths.home);
      await ensurePrivateFolder(paths.state);
      if (holderOf(paths.lock).kind !== 'living' && (await isServed(paths.socket))) {
        return { fault: runsUnseen(paths.socket), passes: false };
      }
      const taken = takeLock(paths.lock, version);
      if (!taken.ok) return { fault: taken.fault, passes: false };
      lock = taken.value;
      return undefined;
    } catch (thrown) {
      const passes = isDiskRefusal(thrown);
      const found = passes ? holderOf(paths.lock) : undefined;
      if (found?.kind === 'living') return { fault: alreadyRuns(found.holder, paths.lock), passes: false };
      return { fault: unwritableHome(paths.home, causeOf(thrown)), passes };
    }
  }

  const refused = await attempt();
  if (refused !== undefined && !refused.passes) return { ok: false, fault: refused.fault };
  // Two attempts at once would block each other.
  let trying: ReturnType<typeof attempt> | undefined;
  let isLost = false;
  return done({
    async hold() {
      if (lock !== undefined) return undefined;
      trying ??= attempt().finally(() => {
        trying = undefined;
      });
      const fault = (await trying)?.fault;
      isLost ||= fault?.code === 'gateway-running';
      return fault;
    },
    isLost: () => isLost,
    release: () => lock?.release(),
  });
}

/** Takes the home's lock; the lock of a dead process is replaced silently. Throws if the folder cannot be written. */
export function takeLock(path: string, version?: string): Result<Lock> {
  const verdict = tryLock(path, version);
  if (verdict.kind === 'taken') return done(verdict.lock);
  const { holder } = verdict;
  if (holder === undefined) {
    const why = `gateway: another start of this home is under way (${path})`;
    return failed(
      'gateway-starting',
      `${why}; try again, or, if the file is another user's, run it as that user, or remove the file if no gateway runs`,
    );
  }
  return { ok: false, fault: alreadyRuns(holder, path) };
}

function alreadyRuns({ pid, sinceMs, isCopy }: LockHolder, lock: string): Fault {
  if (isCopy) {
    const why = `gateway: ${lock} was copied from another home, whose gateway (pid ${pid}) runs`;
    return fault('lock-copied', `${why}; remove the file, and copy the journal only while no gateway runs`);
  }
  const since = sinceMs === undefined ? '' : ` since ${new Date(sinceMs).toISOString()}`;
  return fault(
    'gateway-running',
    `gateway: pid ${pid} already runs this home${since}; stop it with \`agent gateway stop\``,
  );
}

/** The process that a lock names is not visible from another PID namespace, so it seems to be dead; its socket answers. */
function runsUnseen(socket: string): Fault {
  return fault(
    'gateway-running',
    `gateway: another one answers at ${socket}, whose process is not visible from here, as in another container; stop it with \`agent gateway stop\`, or give each container a home of its own`,
  );
}

function isServed(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const one = connect({ path: socket });
    const answer = (isOpen: boolean): void => {
      one.destroy();
      resolve(isOpen);
    };
    one.once('connect', () => answer(true)).once('error', () => answer(false));
  });
}

interface SignalHandlers {
  readonly stop: () => void;
  readonly reload: () => void;
  readonly log: Logger & { flush(): void };
  readonly nowMs?: () => number;
}

/** `timeout` and some process managers send one request twice: to the process, and to its group. A person takes longer. */
const sameRequestMs = 500;

/** Handles signals until the returned function is called. A second request to stop ends the process at once. */
export function onSignals({ stop, reload, log, nowMs = () => performance.now() }: SignalHandlers): () => void {
  let stoppingSinceMs: number | undefined;
  const onStop = (signal: NodeJS.Signals): void => {
    if (stoppingSinceMs !== undefined) {
      if (nowMs() - stoppingSinceMs < sameRequestMs) return;
      log.log('warn', `${signal} again: ending at once`);
      log.flush();
      endAtOnce();
    }
    stoppingSinceMs = nowMs();
    log.log('info', `${signal}: draining; once more ends at once`);
    stop();
  };
  const onReload = (): void => reload();
  /** Node would open its debugger to all users of the machine, or end; scripts that rotate logs send these. */
  const onOther = (signal: NodeJS.Signals): void =>
    log.log('info', `${signal}: changes nothing; SIGHUP reads the configuration again, SIGTERM stops`);
  const onCrash = (error: unknown): void => {
    log.log('error', `uncaught: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    log.flush();
    endAtOnce();
  };
  process.on('SIGTERM', onStop).on('SIGINT', onStop).on('SIGHUP', onReload);
  process.on('SIGUSR1', onOther).on('SIGUSR2', onOther);
  process.on('uncaughtException', onCrash).on('unhandledRejection', onCrash);
  return () => {
    process.off('SIGTERM', onStop).off('SIGINT', onStop).off('SIGHUP', onReload);
    process.off('SIGUSR1', onOther).off('SIGUSR2', onOther);
    process.off('uncaughtException', onCrash).off('unhandledRejection', onCrash);
  };
}

/**
 * Not by `process.exit`: that joins the threads first, and the journal's writer may be waiting for this thread to
 * continue its transaction. Uncommitted data was not acknowledged.
 */
function endAtOnce(): void {
  process.kill(process.pid, 'SIGKILL');
}
