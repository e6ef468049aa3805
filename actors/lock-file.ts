/**
 * A lock that is a file and that the dead do not keep: it names its holder by process id and start, so that neither
 * `kill -9` nor a reused id holds it, and appears whole or not at all. Takers agree on who removes a dead holder's file.
 * Knows nothing of what is locked.
 * @see HOME-2 and HOME-3 in docs/specification.md
 */

import { randomUUID } from 'node:crypto';
import { closeSync, linkSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { isExhausted } from './exhaustion.ts';

export interface LockHolder {
  readonly pid: number;
  /** When the process began, by the kernel's count; empty where the system does not tell. */
  readonly startedAt: string;
  /** Unix milliseconds at which the lock was taken; absent in a file that somebody else wrote. */
  readonly sinceMs?: number;
  readonly version?: string;
}

export interface HeldLock {
  /** Whether the file is still this taker's; false after somebody removed it by hand. */
  isMine(): boolean;
  release(): void;
}

export type LockVerdict =
  | { readonly kind: 'taken'; readonly lock: HeldLock }
  /** By a living process; by nobody who can be told while the file has just been made. */
  | { readonly kind: 'held'; readonly holder: LockHolder | undefined };

interface Mark extends LockHolder {
  readonly nonce: string;
}

/** Owner only, as everything in a home. */
const mode = 0o600;
/** A file that names nobody is one in the making for this long, then rubbish. */
const makingMs = 2_000;
/** Each try ends with the lock, with a living holder or with one dead holder less. */
const mostTries = 50;

/** Takes the lock or says who has it; never waits. Throws where the folder cannot be written. */
export function tryLock(path: string, version?: string): LockVerdict {
  const mark: Mark = {
    pid: process.pid,
    startedAt: startOf(process.pid) ?? '',
    sinceMs: Date.now(),
    ...(version === undefined ? {} : { version }),
    nonce: randomUUID(),
  };
  for (let tries = 0; tries < mostTries; tries += 1) {
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
    // Unread for want of descriptors, the lock counts as kept: only a person takes it from a living process.
    return found === 'unread' || found?.nonce === mark.nonce;
  };
  return {
    isMine,
    release() {
      if (isMine()) rmSync(path, { force: true });
    },
  };
}

/**
 * Removes a dead holder's file. Only who has the second lock may, and looks again then: without it, a slow taker would
 * remove the file that a quicker one has just put in the dead one's place.
 */
function removeDead(path: string, mark: Mark): void {
  const guard = `${path}.takeover`;
  if (!place(guard, mark)) {
    // Held for the time of three system calls. One whose holder died within them is moved away and, should it have
    // changed hands meanwhile, put back.
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
    // Another taker was quicker; the next try finds out.
  } finally {
    rmSync(aside, { force: true });
  }
}

/** Makes the file with the mark in it, unless there is one: true where it was made. */
function place(path: string, mark: Mark): boolean {
  const text = JSON.stringify(mark);
  const temporary = `${path}.${mark.nonce}.tmp`;
  try {
    writeFileSync(temporary, text, { mode, flag: 'wx' });
    // A link appears whole or not at all: of many takers exactly one makes it.
    linkSync(temporary, path);
    return true;
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(code ?? '')) throw thrown;
    return placeWithoutLinks(path, text);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** For file systems without hard links: exclusive creation, where the text comes a moment after the file. */
function placeWithoutLinks(path: string, text: string): boolean {
  let file: number;
  try {
    file = openSync(path, 'wx', mode);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw thrown;
  }
  try {
    writeFileSync(file, text);
    return true;
  } catch (thrown) {
    // An empty file would keep everybody out, as one in the making.
    rmSync(path, { force: true });
    throw thrown;
  } finally {
    closeSync(file);
  }
}

type Found = { readonly kind: 'living'; readonly holder: LockHolder } | { readonly kind: 'dead' | 'making' | 'none' };

/** Who holds a lock; takes nothing and removes nothing. */
export function holderOf(path: string): Found {
  const mark = readMark(path);
  // For want of descriptors: whether it lives is not known, so it is waited for.
  if (mark === 'unread') return { kind: 'making' };
  if (mark !== undefined) return lives(mark) ? { kind: 'living', holder: mark } : { kind: 'dead' };
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return { kind: 'none' };
  // One of the future is old: the clock was set back.
  return { kind: Math.abs(Date.now() - found.mtimeMs) < makingMs ? 'making' : 'dead' };
}

function readMark(path: string): (LockHolder & { readonly nonce?: string }) | 'unread' | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    // A bare number is a process id, as simpler programs write it.
    const { pid, startedAt, ...rest }: Partial<Mark> = typeof value === 'number' ? { pid: value } : Object(value);
    return Number.isSafeInteger(pid) && Number(pid) > 0
      ? { ...rest, pid: Number(pid), startedAt: String(startedAt ?? '') }
      : undefined;
  } catch (thrown) {
    return isExhausted(thrown) ? 'unread' : undefined;
  }
}

function lives({ pid, startedAt }: LockHolder): boolean {
  if (!isAlive(pid)) return false;
  const started = startOf(pid);
  if (started === ended) return false;
  return started === undefined || startedAt === '' || started === startedAt;
}

/** Whether a process lives; one that is another user's counts as living. */
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
 * The start of a process in clock ticks since boot, where the system tells (fields 3 and 22 of /proc/pid/stat). A zombie
 * has ended and only waits to be fetched.
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
