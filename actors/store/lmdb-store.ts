/**
 * Creates stores, and opens only complete ones of a known version. A new store is created in a temporary folder and
 * linked into place atomically, so an empty or incomplete file always means damage and never a first start.
 * @see DUR-1 and HOME-3 in docs/specification.md
 */

import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { done, type Fault, failed, fault, type Result } from '../../machines/base/fault.ts';
import { commitFault, corruptFault, openFault, storePath, versionFault } from './lmdb-faults.ts';
import { checkStoreFile, hasMarker, removeMarker } from './lmdb-file.ts';
import { type Environment, openEnvironment } from './lmdb-tables.ts';
import { isKnown, layout, layoutOf, upgrade, writeLayout } from './lmdb-upgrade.ts';
import { loadLmdb } from './load-lmdb.ts';
import type { Table } from './tables.ts';

/** LMDB maps this file; a page without room on the disk would end the process with a signal. */
const lockFileBytes = 12 * 1024;

/**
 * Low descriptors, held while the store is checked: LMDB gets one of them for the data file, and `process-group.ts` keeps
 * only low ones from child processes, however many are opened until then. LMDB opens the lock file first, and each of
 * Node's four threads for files may take one when they are released.
 */
let reserved: readonly number[] = [];
const reservedDescriptors = 8;

/** Opens the store in a folder; creates both if they are missing. */
export async function openStore(directory: string): Promise<Result<Environment>> {
  try {
    // One after the other, so that those before a failure are kept for the next try.
    while (reserved.length < reservedDescriptors) reserved = [...reserved, openSync('/dev/null', 'r')];
    const looked = removeMarker(directory) ? done('sound') : await lookAt(directory);
    if (!looked.ok) return looked;
    if (looked.value === 'absent') await makeStore(directory);
  } catch (error) {
    return { ok: false, fault: openFault(directory, error) };
  }
  return enter(directory);
}

/** Whether there is a store; a fault if it is damaged or of another format. */
export async function lookAt(directory: string): Promise<Result<'absent' | 'sound'>> {
  try {
    const path = storePath(directory);
    const check = await checkStoreFile(path);
    switch (check.kind) {
      case 'corrupt':
        return { ok: false, fault: corruptFault(path, check.what) };
      case 'foreign':
        return { ok: false, fault: versionFault(path, check.what, 'LMDB data format 2') };
      case 'absent':
      case 'sound':
        return done(check.kind);
    }
  } catch (error) {
    return { ok: false, fault: openFault(directory, error) };
  }
}

/** Opens a store that was checked, and upgrades an earlier layout. */
export async function enter(directory: string): Promise<Result<Environment>> {
  const entered = open(directory);
  if (!entered.ok || layoutOf(entered.value.tables.meta) === layout) return entered;
  try {
    await upgrade(entered.value);
    return entered;
  } catch (error) {
    await entered.value.close();
    return { ok: false, fault: commitFault(directory, error) };
  }
}

/**
 * Opens a store for reading: changes nothing in its folder, apart from creating a missing lock file. Undefined if there
 * is no store. A store of an earlier layout is refused, because only a gateway upgrades it.
 */
export async function openForReading(directory: string): Promise<Result<Environment | undefined>> {
  const looked = hasMarker(directory) ? done('sound') : await lookAt(directory);
  if (!looked.ok) return { ok: false, fault: unreadable(directory, looked.fault) };
  if (looked.value === 'absent') return done(undefined);
  const opened = open(directory, 'read');
  if (!opened.ok) return { ok: false, fault: unreadable(directory, opened.fault) };
  if (layoutOf(opened.value.tables.meta) === layout) return opened;
  await opened.value.close();
  return failed(
    'journal-version',
    `${storePath(directory)}: the store has an earlier layout, which the next start of the gateway brings up to date`,
  );
}

/** The fault for a reader, which the fix for a gateway without write access does not help. */
function unreadable(directory: string, found: Fault): Fault {
  if (found.code !== 'journal-read-only') return found;
  const why = `the journal cannot be read (${found.cause ?? found.message})`;
  return fault('journal-unreadable', `${directory}: ${why}; run this as the user that runs the gateway`, found.cause);
}

function open(directory: string, access: 'read' | 'write' = 'write'): Result<Environment> {
  let refusal: Fault | undefined;
  try {
    reserveLockFile(directory);
    const admit = (meta: Table | undefined): void => {
      refusal = refusalOf(directory, meta);
      if (refusal !== undefined) throw new Error(refusal.message);
    };
    // Loading reads files, so it comes before.
    loadLmdb();
    for (const fd of reserved) closeSync(fd);
    reserved = [];
    return done(openEnvironment(directory, admit, access));
  } catch (error) {
    return { ok: false, fault: refusal ?? openFault(directory, error) };
  }
}

function refusalOf(directory: string, meta: Table | undefined): Fault | undefined {
  const found = layoutOf(meta);
  if (isKnown(found)) return undefined;
  return versionFault(
    storePath(directory),
    found === undefined ? 'no journal' : `layout ${String(found)}`,
    `layout ${layout}`,
  );
}

async function makeStore(directory: string): Promise<void> {
  makeFolder(directory);
  const cradle = mkdtempSync(join(directory, 'new-'));
  try {
    reserveLockFile(cradle);
    const environment = openEnvironment(cradle, () => {});
    try {
      await writeLayout(environment);
    } finally {
      await environment.close();
    }
    putInPlace(storePath(cradle), storePath(directory));
  } finally {
    rmSync(cradle, { recursive: true, force: true });
  }
  syncFolder(directory);
  syncFolder(dirname(directory));
}

/** Creates a folder and its parents. Node's recursive mkdir reports a read-only disk as a missing folder. */
function makeFolder(directory: string): void {
  if (existsSync(directory)) return;
  makeFolder(dirname(directory));
  mkdirSync(directory, { mode: 0o700 });
}

/** Unlike a rename, a link never replaces a store that another gateway has created meanwhile. */
function putInPlace(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

function reserveLockFile(directory: string): void {
  let fd: number;
  try {
    fd = openSync(join(directory, 'lock.mdb'), 'wx', 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
    throw error;
  }
  try {
    const zeros = Buffer.alloc(lockFileBytes);
    for (let written = 0; written < lockFileBytes; ) written += writeSync(fd, zeros, written);
    fsyncSync(fd);
  } catch (error) {
    // A sparse lock file must not remain.
    rmSync(join(directory, 'lock.mdb'), { force: true });
    throw error;
  } finally {
    closeSync(fd);
  }
}

/** Makes new names in a folder survive a power cut. */
function syncFolder(directory: string): void {
  const fd = openSync(directory, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
