/**
 * Writes files safely against crashes, concurrent writers and a wide umask: temp file in the same folder, fsync, rename,
 * fsync of the folder; private from creation; changes are made under a lock file that a dead holder does not keep.
 * @see HOME-3 and SUB-2 in docs/specification.md
 */

import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import {
  chmod,
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type Fault, fault } from '../machines/base/fault.ts';
import { unwritableHome } from '../machines/config/profile.ts';
import { type HeldLock, tryLock } from './lock-file.ts';

/** Owner only, from creation. */
export const privateFile = 0o600;
const privateFolder = 0o700;
/** The bit of /tmp and its like. */
const sticky = 0o1000;
/** The fix for a file that cannot be changed, for messages. */
export const writableCure = 'check its owner and permissions, and the room on its disk';
/** Errors of a full disk, or of one that is read-only now. */
const diskRefusals = new Set(['ENOSPC', 'EDQUOT', 'EROFS']);
const lockPollMs = 10;
/** A change takes milliseconds, so a process that holds a lock for so long hangs. */
const maxWaitMs = 15_000;

/** Whether a full or read-only disk refused a write, which may pass without a restart (DUR-3). */
export function isDiskRefusal(thrown: unknown): boolean {
  const { code = '', syscall } = (thrown ?? {}) as NodeJS.ErrnoException;
  // A recursive mkdir on a read-only disk fails with ENOENT on Node 20.
  return diskRefusals.has(code) || (code === 'ENOENT' && syscall === 'mkdir');
}

/** Codes for missing permission or space; `mkdir` on a read-only disk fails with ENOENT on Node 20. */
const refusals = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT', 'ENOTDIR', 'EISDIR', 'EEXIST']);

/**
 * System errors name neither the file's role nor the remedy. The fault of one about a path of the home; undefined for any
 * other error.
 */
export function unwritableFault(thrown: unknown, home: string): Fault | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const { code = '', syscall, path = '', message } = thrown as NodeJS.ErrnoException;
  // A home whose parent is missing, as that of a user with HOME=/nonexistent: `mkdir` names the folder that it cannot make.
  const isAbove = syscall === 'mkdir' && home.startsWith(`${path}/`);
  const isOfHome =
    (syscall !== undefined && (refusals.has(code) || syscall === 'mkdir') && path.startsWith(home)) || isAbove;
  if (!isOfHome) return undefined;
  // Something in the home that belongs to another user, as what root copied there: the home may be writable.
  const isPart = (code === 'EACCES' || code === 'EPERM') && path !== home && existsSync(path);
  return isPart
    ? fault('home-unwritable', `${path}: ${message}; check its owner and permissions`, message)
    : unwritableHome(home, message);
}

export async function ensurePrivateFolder(path: string): Promise<void> {
  const made = await mkdir(path, { recursive: true, mode: privateFolder }).catch(async (thrown: unknown) => {
    // On Node 20 a recursive mkdir reports a read-only disk as ENOENT; a plain one reports it as EROFS.
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') await mkdir(path, { mode: privateFolder });
    throw thrown;
  });
  // The umask can only remove bits, but an existing folder may have more permissions than a home should.
  const { mode, uid } = await stat(path);
  if (made === undefined && (mode & 0o077) !== 0) {
    const isOwn = !isRoot() && uid === process.getuid?.();
    if (!isOwn && ((mode & sticky) !== 0 || resolve(path) === '/')) throw sharedFolder(path);
    await chmod(path, privateFolder).catch((thrown: NodeJS.ErrnoException) => {
      throw thrown.code === 'EPERM' && !isOwn ? foreignFolder(path, uid) : thrown;
    });
  }
  if (made !== undefined && isRoot()) await giveFolders(made, path);
}

/** Root could make such a folder private, and nothing else would work any longer. One of the user's own, as a tmpfs, harms no other. */
function sharedFolder(path: string): Error {
  const message = `EPERM: ${path} belongs to all users of the machine`;
  return Object.assign(new Error(message), { code: 'EPERM', syscall: 'chmod', path });
}

/** Such as a volume of Kubernetes that is root's, with the group of the gateway. */
function foreignFolder(path: string, uid: number): Error {
  const message = `EPERM: ${path} belongs to another user (id ${uid}), who alone can close it to others; a folder that is made in it can be closed`;
  return Object.assign(new Error(message), { code: 'EPERM', syscall: 'chmod', path });
}

const isRoot = (): boolean => process.getuid?.() === 0;

/** Gives each folder to the owner of the one that holds it, so the outermost comes first. */
async function giveFolders(outer: string, inner: string): Promise<void> {
  if (inner.length > outer.length) await giveFolders(outer, dirname(inner));
  const handle = await open(inner, constants.O_DIRECTORY | constants.O_NOFOLLOW);
  await giveToOwner(handle, dirname(inner));
  await handle.close();
}

/**
 * What root makes in a home of another user belongs to that user, whose gateway could not read it otherwise. Changed by
 * the open file, because that user can put a link in its place. Where root may not do that, it stays root's.
 */
async function giveToOwner(made: FileHandle, folder: string): Promise<void> {
  const { uid, gid } = await stat(folder);
  if (uid !== 0) await made.chown(uid, gid).catch(() => {});
}

/** Replaces a file atomically: a reader sees the old text or the new one, also after a crash. */
export function writeFileAtomic(path: string, text: string): Promise<void> {
  return writeFilesAtomic([{ path, text }]);
}

/** Replaces files in order, after all of them have been written to disk. */
export async function writeFilesAtomic(
  files: readonly { readonly path: string; readonly text: string }[],
): Promise<void> {
  const staged: { readonly temporary: string; readonly target: string }[] = [];
  try {
    for (const { path, text } of files) {
      const target = await linkedFile(path);
      const temporary = join(dirname(target), `.${randomUUID()}.tmp`);
      staged.push({ temporary, target });
      await writeNew(temporary, text);
    }
    for (const { temporary, target } of staged) await rename(temporary, target);
  } catch (thrown) {
    for (const { temporary } of staged) await rm(temporary, { force: true });
    throw thrown;
  }
  for (const folder of new Set(staged.map(({ target }) => dirname(target)))) await syncFolder(folder);
}

async function writeNew(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', privateFile);
  try {
    if (isRoot()) await giveToOwner(file, dirname(path));
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Changes whenever the file does: modification time, size and inode; undefined if there is no file. Never throws: an
 * unreadable file has a stamp too, and reading it shows the reason.
 */
export function stampOf(path: string): string | undefined {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found === undefined ? undefined : `${found.mtimeNs}/${found.size}/${found.ino}`;
  } catch (thrown) {
    return `unreadable/${(thrown as NodeJS.ErrnoException).code}`;
  }
}

/** Another stamp while the file cannot be read: correcting its permissions leaves the rest as it is. */
export function stampForReader(path: string): string | undefined {
  const stamp = stampOf(path);
  if (stamp === undefined) return undefined;
  try {
    accessSync(path, constants.R_OK);
    return stamp;
  } catch {
    return `${stamp}, not readable`;
  }
}

/** The text of a file; undefined if it does not exist. */
export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (code !== 'EISDIR') throw thrown;
    // Node 20 names no path here. An error of our own, since the home is not at fault.
    throw Object.assign(new Error(`${code}: ${path} is a folder, where a file belongs; move it away`), { code });
  }
}

/** Why a file is not changed, with its path and the remedy. */
export class RefusedChange extends Error {}

type Change = (text: string | undefined) => string | undefined | Promise<string | undefined>;

/**
 * Changes a file while no other caller of this function can; `change` gets the latest text. If it returns undefined,
 * nothing is written. Rejects if a running process does not release the lock in time.
 */
export async function updateFileLocked(path: string, change: Change): Promise<void> {
  const file = await linkedFile(path);
  try {
    while (!(await changeLocked(file, change)));
  } catch (thrown) {
    // Node names no file if a write fails, as on a full disk.
    if (isDiskRefusal(thrown)) (thrown as NodeJS.ErrnoException).path ??= file;
    throw thrown;
  }
}

/** Resolves with false if another writer, or a person, has or may have changed the file meanwhile: it is read again. */
async function changeLocked(file: string, change: Change): Promise<boolean> {
  const lock = await waitForLock(`${file}.lock`);
  try {
    const stamp = stampOf(file);
    const next = await change(await textToChange(file));
    if (!lock.isMine() || (next !== undefined && stampOf(file) !== stamp)) return false;
    if (next !== undefined) await writeFileAtomic(file, next);
    return true;
  } finally {
    lock.release();
  }
}

/** Rejects for a file in another encoding, such as Latin-1: written back, each of its other letters would be U+FFFD. */
async function textToChange(file: string): Promise<string | undefined> {
  const text = await readText(file);
  if (text?.includes('\uFFFD') === true && !isUtf8(await readFile(file)))
    throw new RefusedChange(`${file}: not UTF-8, so a change would damage it; save it as UTF-8`);
  return text;
}

/**
 * Does work while nothing else in this or another process holds the lock of that file. Rejects if a running process does
 * not release it in time.
 */
export async function holdingLock<Value>(path: string, work: () => Promise<Value>): Promise<Value> {
  const lock = await waitForLock(`${path}.lock`);
  try {
    return await work();
  } finally {
    lock.release();
  }
}

async function waitForLock(path: string): Promise<HeldLock> {
  for (let waited = 0; ; waited += lockPollMs) {
    const verdict = tryLock(path);
    if (verdict.kind === 'taken') return verdict.lock;
    if (waited >= maxWaitMs) {
      const by = verdict.holder === undefined ? 'another process' : `process ${verdict.holder.pid}`;
      throw new RefusedChange(
        `${path}: held by ${by} for more than ${maxWaitMs / 1_000} s; end that process and try again`,
      );
    }
    await wait(lockPollMs);
  }
}

/** The target of a symbolic link, so that writing keeps the link: users keep their settings elsewhere. */
async function linkedFile(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown;
    // A link to a file that is not made yet, or on a disk that is away, must not become another file in its place.
    const target = await readlink(path).catch(() => undefined);
    return target === undefined ? path : linkedFile(resolve(await realpath(dirname(path)), target));
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The names that `writeFilesAtomic` and `tryLock` give. */
const temporaryName = /\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp$/;
/** A write takes milliseconds, so a file of this age has no writer any more. */
const abandonedMs = 3_600_000;

/** @returns how many files were removed */
export async function sweepAbandoned(folders: readonly string[], nowMs: number): Promise<number> {
  let gone = 0;
  for (const folder of folders) {
    const names = await readdir(folder).catch(() => []);
    for (const name of names.filter((one) => temporaryName.test(one))) {
      const path = join(folder, name);
      const found = await stat(path).catch(() => undefined);
      if (found === undefined || nowMs - found.mtimeMs < abandonedMs) continue;
      gone += await rm(path).then(
        () => 1,
        () => 0,
      );
    }
  }
  return gone;
}
