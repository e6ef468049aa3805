/**
 * The daemon as a process: one per home, stopped by signals, ended loudly by what nobody caught.
 * @see HOME-2 and CON-2 in docs/specification.md
 */

import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { isAlive, privateFile } from '../actors/files.ts';
import type { Logger } from '../actors/ports.ts';
import { done, failed, type Result } from '../machines/base/fault.ts';

export interface Lock {
  release(): void;
}

interface Holder {
  readonly pid: number;
  /** When the process began, by the kernel's count, so that a reused pid is not taken for the daemon. */
  readonly startedAt: string;
}

const mostTries = 20;

/** Takes the home's lock; a holder that no longer lives loses it without a word. */
export function takeLock(path: string): Result<Lock> {
  const mine: Holder = { pid: process.pid, startedAt: startOf(process.pid) ?? '' };
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, JSON.stringify(mine), { mode: privateFile });
  try {
    for (let tries = 0; tries < mostTries; tries += 1) {
      try {
        // A link appears whole or not at all: of two starters exactly one makes it.
        linkSync(temporary, path);
        return done({ release: () => releaseLock(path, mine) });
      } catch (thrown) {
        if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
      }
      const holder = readHolder(path);
      if (holder !== undefined && lives(holder)) {
        return failed(
          'gateway-running',
          `gateway: pid ${holder.pid} already runs this home; stop it with \`agent gateway stop\``,
        );
      }
      removeStale(path, `${temporary}.stale`);
    }
    return failed('gateway-running', `gateway: ${path} changes hands faster than it can be taken; try again`);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** The process that holds a home's lock and lives; undefined where none does. */
export function runningPid(path: string): number | undefined {
  const holder = readHolder(path);
  return holder !== undefined && lives(holder) ? holder.pid : undefined;
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
      process.exit(1);
    }
    stopping = true;
    log.log('info', `${signal}: draining; once more ends at once`);
    stop();
  };
  const onReload = (): void => reload();
  const onCrash = (error: unknown): void => {
    log.log('error', `uncaught: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    log.flush();
    process.exit(1);
  };
  process.on('SIGTERM', onStop).on('SIGINT', onStop).on('SIGHUP', onReload);
  process.on('uncaughtException', onCrash).on('unhandledRejection', onCrash);
  return () => {
    process.off('SIGTERM', onStop).off('SIGINT', onStop).off('SIGHUP', onReload);
    process.off('uncaughtException', onCrash).off('unhandledRejection', onCrash);
  };
}

/** Moves the dead holder's lock away, and puts it back where a living starter was quicker. */
function removeStale(path: string, aside: string): void {
  try {
    renameSync(path, aside);
    const holder = readHolder(aside);
    if (holder !== undefined && lives(holder)) linkSync(aside, path);
  } catch {
    // Another starter moved it first, or took it meanwhile; the next try finds out which.
  } finally {
    rmSync(aside, { force: true });
  }
}

function releaseLock(path: string, mine: Holder): void {
  if (readHolder(path)?.pid === mine.pid) rmSync(path, { force: true });
}

function readHolder(path: string): Holder | undefined {
  try {
    const value = JSON.parse(readFileSync(path, 'utf8')) as Partial<Holder>;
    return typeof value.pid === 'number' ? { pid: value.pid, startedAt: value.startedAt ?? '' } : undefined;
  } catch {
    return undefined;
  }
}

function lives({ pid, startedAt }: Holder): boolean {
  if (!isAlive(pid)) return false;
  const started = startOf(pid);
  return started === undefined || startedAt === '' || started === startedAt;
}

/** The start of a process in clock ticks since boot, where the system tells (field 22 of /proc/pid/stat). */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}
