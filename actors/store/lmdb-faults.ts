/**
 * Names what went wrong with the store on disk: turns what LMDB and the operating system say into a fault with the path
 * and the cure. Where LMDB only says that a write fell short, asks the disk itself why.
 * @see DUR-1 in docs/specification.md
 */

import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { causeOf, type Fault, fault } from '../../machines/base/fault.ts';

type Trouble = 'journal-full' | 'journal-read-only' | 'journal-corrupt' | 'journal-version';

/** LMDB's numbers (`lmdb.h`), those of the operating system (`errno.h` of Linux) and Node's words for the latter. */
const troubles: Readonly<Record<string, Trouble>> = {
  '-30792': 'journal-full',
  '-30793': 'journal-corrupt',
  '-30794': 'journal-version',
  '-30796': 'journal-corrupt',
  '-30797': 'journal-corrupt',
  1: 'journal-read-only',
  13: 'journal-read-only',
  27: 'journal-full',
  28: 'journal-full',
  30: 'journal-read-only',
  122: 'journal-full',
  EPERM: 'journal-read-only',
  EACCES: 'journal-read-only',
  EROFS: 'journal-read-only',
  EFBIG: 'journal-full',
  ENOSPC: 'journal-full',
  EDQUOT: 'journal-full',
};

/** Names what kept the store in a folder from being opened. */
export function openFault(directory: string, thrown: unknown): Fault {
  const cause = causeOf(thrown);
  switch (troubleOf(thrown)) {
    case 'journal-full':
      return fault('journal-full', `${directory}: the journal has no room; free space on this disk`, cause);
    case 'journal-read-only':
      return fault(
        'journal-read-only',
        `${directory}: the journal may not write here; make the folder writable for the user that runs the gateway`,
        cause,
      );
    case 'journal-corrupt':
      return corruptFault(storePath(directory), cause);
    case 'journal-version':
      return versionFault(storePath(directory), 'another layout', 'its own');
    case undefined:
      return fault(
        'journal-unreadable',
        `${directory}: the journal cannot be used (${cause}); repair the folder`,
        cause,
      );
  }
}

/**
 * Names what kept a commit from landing. LMDB reports a write that fell short as an input/output error, which a full
 * disk is not; so where it says no more than that, a small file is written beside the store.
 */
export function commitFault(directory: string, thrown: unknown): Fault {
  if (troubleOf(thrown) !== undefined) return openFault(directory, thrown);
  try {
    tryRoom(directory);
  } catch (error) {
    return openFault(directory, error);
  }
  return openFault(directory, thrown);
}

export function corruptFault(path: string, what: string): Fault {
  return fault('journal-corrupt', `${path}: the store is damaged: ${what}; stop the gateway, ${aside(path)}`);
}

export function versionFault(path: string, found: string, known: string): Fault {
  return fault(
    'journal-version',
    `${path}: the store has ${found}, this gateway knows ${known}; run the gateway that wrote it, or ${aside(path)}`,
  );
}

export function closedFault(directory: string): Fault {
  return fault('journal-unavailable', `${directory}: the journal is closed; nothing can be acknowledged`);
}

/** Where LMDB keeps the data of a store. */
export function storePath(directory: string): string {
  return join(directory, 'data.mdb');
}

function aside(path: string): string {
  return `move it aside (mv '${path}' '${path}.aside') to start with an empty journal, or put a backup in its place`;
}

function troubleOf(thrown: unknown): Trouble | undefined {
  const code: unknown = typeof thrown === 'object' && thrown !== null && 'code' in thrown ? thrown.code : undefined;
  return Object.hasOwn(troubles, String(code)) ? troubles[String(code)] : undefined;
}

/** About what a burst of commits needs; a disk without it is as good as full. */
const roomBytes = 256 * 1024;

/** Writes at the offset where the store ends, without filling what is before: a limit on file sizes shows as well. */
function tryRoom(directory: string): void {
  const { size } = statSync(storePath(directory));
  const folder = mkdtempSync(join(directory, 'room-'));
  try {
    const fd = openSync(join(folder, 'room'), 'wx', 0o600);
    try {
      const room = Buffer.alloc(roomBytes);
      for (let written = 0; written < roomBytes; ) {
        written += writeSync(fd, room, written, roomBytes - written, size + written);
      }
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
