/**
 * A lock file that a dead process does not keep: it names its holder by process id and start time, so neither `kill -9`
 * nor a reused id keeps it (where the system provides no start time: nor an id reused since the machine started), and it
 * appears atomically. Processes agree on which of them removes a dead holder's file.
 * @see HOME-2 and HOME-3 in docs/specification.md
 */

import { randomUUID } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  linkSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { uptime } from 'node:os';
import { dirname } from 'node:path';
import { isExhausted } from './exhaustion.ts';

export interface LockHolder {
  readonly pid: number;
  /** When the process started, in the kernel's clock ticks; empty if the system does not provide it. */
  readonly startedAt: string;
  /** Unix milliseconds at which the lock was taken; absent in a file that another program wrote. */
  readonly sinceMs?: number;
  readonly version?: string;
  /** The file is not the one that the holder made, so it holds the lock of another one, such as of a home that was copied. */
  readonly isCopy?: true;
}

export interface HeldLock {
  /** Whether the file is still ours; false if it was removed by hand. */
  isMine(): boolean;
  release(): void;
}

type LockVerdict =
  | { readonly kind: 'taken'; readonly lock: HeldLock }
  /** Held by a running process. The holder is unknown while the file is still empty or cannot be read. */
  | { readonly kind: 'held'; readonly holder: LockHolder | undefined };

interface Mark extends Omit<LockHolder, 'isCopy'> {
  readonly nonce: string;
  /**
   * The inode of the file that has the mark, and its folder. In a copy both are others: one alone may change in the same
   * file, on a disk that numbers its files anew or in a container that has the folder elsewhere.
   */
  readonly file?: string;
  readonly folder?: string;
}

/** Owner only, like everything in a home. */
const mode = 0o600;
/** A file without a holder counts as being written for this long, then as garbage. */
const makingMs = 2_000;
/** How far the time at which the machine started may be off, as after the clock was corrected. */
const bootDoubtMs = 60_000;
/** Each attempt ends with the lock, with a running holder, or with one dead holder removed. */
const maxTries = 50;

/** Takes the lock or returns its holder; never waits. Throws if the folder is not writable. */
export function tryLock(path: string, version?: string): LockVerdict {
  const mark: Mark = {
    pid: process.pid,
    startedAt: startOf(process.pid) ?? '',
    sinceMs: Date.now(),
    ...(version === undefined ? {} : { version }),
    nonce: randomUUID(),
  };
  for (let tries = 0; tries < maxTries; tries += 1) {
    if (place(path, mark)) return { kind: 'taken', lock: heldLock(path, mark) };
    const holder = holderOf(path);
    if (holder.kind === 'making') return { kind: 'held', holder: undefined };
    if (holder.kind === 'living') return { kind: 'held', holder: holder.holder };
    if (holder.kind === 'dead') removeDead(path, mark);
  }
  return { kind: 'held', holder: undefined };
}

function heldLock(path: string, mark: Mark): HeldLock {
  const isMine = (): boolean => {
    const found = readMark(path);
    // If it cannot be read, it counts as ours: only a person takes a lock from a running process.
    return found === 'unread' || found?.nonce === mark.nonce;
  };
  return {
    isMine,
    release() {
      if (!isMine()) return;
      try {
        rmSync(path, { force: true });
      } catch {
        // On a disk that has become read-only it stays, and counts as taken until this process ends.
      }
    },
  };
}

/**
 * Removes a dead holder's file. Requires a second lock and checks again under it: otherwise a slow process could remove
 * the file that a faster one has just created instead.
 */
function removeDead(path: string, mark: Mark): void {
  const guard = `${path}.takeover`;
  if (!place(guard, mark)) {
    // Held for three system calls. If its holder died within them, it is moved away, and put back if it has changed hands
    // meanwhile.
    if (holderOf(guard).kind === 'dead') discardGuard(guard, mark);
    return;
  }
  try {
    if (holderOf(path).kind === 'dead') rmSync(path, { force: true });
  } finally {
    rmSync(guard, { force: true });
  }
}

function discardGuard(guard: string, { nonce }: Mark): void {
  const aside = `${guard}.${nonce}`;
  try {
    renameSync(guard, aside);
    if (holderOf(aside).kind === 'living') linkSync(aside, guard);
  } catch {
    // Another process was faster; the next attempt sees the result.
  } finally {
    rmSync(aside, { force: true });
  }
}

/** Creates the file with the mark; returns false if it exists already. */
function place(path: string, mark: Mark): boolean {
  const temporary = `${path}.${mark.nonce}.tmp`;
  try {
    create(temporary, mark);
    // `link` is atomic: of several processes exactly one succeeds.
    linkSync(temporary, path);
    return true;
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(code ?? '')) throw thrown;
    return placeWithoutLinks(path, mark);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** For file systems without hard links: exclusive creation, so the file is empty for a moment. */
function placeWithoutLinks(path: string, mark: Mark): boolean {
  try {
    create(path, mark);
    return true;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw thrown;
  }
}

function create(path: string, mark: Mark): void {
  const file = openSync(path, 'wx', mode);
  try {
    writeFileSync(file, JSON.stringify({ ...mark, file: inodeOf(file), folder: folderOf(path) }));
  } catch (thrown) {
    // An empty file would block every process, because it counts as being written.
    rmSync(path, { force: true });
    throw thrown;
  } finally {
    closeSync(file);
  }
}

type Found = { readonly kind: 'living'; readonly holder: LockHolder } | { readonly kind: 'dead' | 'making' | 'none' };

/** The state and holder of a lock; changes nothing. */
export function holderOf(path: string): Found {
  const mark = readMark(path);
  // Another user's, or no descriptor was left: whether the holder runs is unknown, and the lock is waited for.
  if (mark === 'unread') return { kind: 'making' };
  if (mark !== undefined) return lives(mark) ? { kind: 'living', holder: mark } : { kind: 'dead' };
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return { kind: 'none' };
  // A time in the future means that the clock was set back, so the file is old.
  return { kind: Math.abs(Date.now() - found.mtimeMs) < makingMs ? 'making' : 'dead' };
}

function inodeOf(file: string | number): string {
  return `${(typeof file === 'number' ? fstatSync(file, { bigint: true }) : statSync(file, { bigint: true })).ino}`;
}

function folderOf(path: string): string {
  return realpathSync(dirname(path));
}

function readMark(path: string): (LockHolder & { readonly nonce?: string }) | 'unread' | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    // Simpler programs write only a process id.
    const { pid, startedAt, file, folder, ...rest }: Partial<Mark> =
      typeof value === 'number' ? { pid: value } : Object(value);
    if (!Number.isSafeInteger(pid) || Number(pid) <= 0) return undefined;
    const isCopy = folder !== undefined && folder !== folderOf(path) && file !== inodeOf(path);
    return { ...rest, pid: Number(pid), startedAt: String(startedAt ?? ''), ...(isCopy ? { isCopy } : {}) };
  } catch (thrown) {
    return isExhausted(thrown) || (thrown as NodeJS.ErrnoException).code === 'EACCES' ? 'unread' : undefined;
  }
}

function lives({ pid, startedAt, sinceMs }: LockHolder): boolean {
  if (!isRunning(pid)) return false;
  const started = startOf(pid);
  if (started !== undefined && startedAt !== '') return started === startedAt;
  return typeof sinceMs !== 'number' || sinceMs > Date.now() - uptime() * 1_000 - bootDoubtMs;
}

/** Whether a process of this number has not ended. */
export function isRunning(pid: number): boolean {
  return isAlive(pid) && startOf(pid) !== ended;
}

/** EPERM means that it runs as another user. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM';
  }
}

const ended = 'ended';

/**
 * The start of a process in clock ticks since boot, if the system provides it (fields 3 and 22 of /proc/pid/stat). A
 * zombie has ended and is only waiting to be reaped.
 */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? ended : fields[19];
  } catch {
    return undefined;
  }
}
