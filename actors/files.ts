/**
 * Writes files so that a crash, a second writer or a wide umask does no harm: temp file in the same folder, fsync,
 * rename, fsync of the folder; private from creation; changes made under a lock file that a dead holder does not keep.
 * @see HOME-3 and SUB-2 in docs/specification.md
 */

import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { chmod, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

/** Owner only, from creation. */
export const privateFile = 0o600;
const privateFolder = 0o700;
/** A lock older than this, whose holder cannot be told, is taken over. */
const staleLockMs = 30_000;
const lockPollMs = 10;

export async function ensurePrivateFolder(path: string): Promise<void> {
  const made = await mkdir(path, { recursive: true, mode: privateFolder });
  // The umask only takes bits away; a folder that was there before may be wider than a home should be.
  if (made === undefined && ((await stat(path)).mode & 0o077) !== 0) await chmod(path, privateFolder);
}

/** Replaces a file whole: a reader sees the old text or the new one, also after a crash. */
export async function writeFileAtomic(path: string, text: string): Promise<void> {
  const folder = dirname(path);
  const temporary = join(folder, `.${randomUUID()}.tmp`);
  try {
    const file = await open(temporary, 'wx', privateFile);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (thrown) {
    await rm(temporary, { force: true });
    throw thrown;
  }
  await syncFolder(folder);
}

/** A text that changes whenever the file does: modification time, size and inode; undefined where there is none. */
export function stampOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? undefined : `${found.mtimeNs}/${found.size}/${found.ino}`;
}

/** The text of a file; undefined where there is none. */
export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw thrown;
  }
}

/**
 * Changes a file while no other writer that uses this function can: the change sees what the last one wrote. A change
 * that returns undefined writes nothing.
 */
export async function updateFileLocked(
  path: string,
  change: (text: string | undefined) => string | undefined,
): Promise<void> {
  const lock = `${path}.lock`;
  await takeLockFile(lock);
  try {
    const next = change(await readText(path));
    if (next !== undefined) await writeFileAtomic(path, next);
  } finally {
    await rm(lock, { force: true });
  }
}

async function takeLockFile(lock: string): Promise<void> {
  for (;;) {
    try {
      const file = await open(lock, 'wx', privateFile);
      await file.writeFile(String(process.pid));
      await file.close();
      return;
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
      if (await isStale(lock)) await rm(lock, { force: true });
      else await wait(lockPollMs);
    }
  }
}

async function isStale(lock: string): Promise<boolean> {
  try {
    const [text, found] = await Promise.all([readFile(lock, 'utf8'), stat(lock)]);
    const old = Date.now() - found.mtimeMs > staleLockMs;
    const pid = Number(text);
    // An empty lock file is one whose holder is just writing it, unless it has been so for long.
    return Number.isInteger(pid) && pid > 0 ? !isAlive(pid) : old;
  } catch {
    return false;
  }
}

/** Whether a process lives; one that is another user's counts as living. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM';
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
