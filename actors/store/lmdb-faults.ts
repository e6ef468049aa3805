/**
 * Turns errors of LMDB and the operating system into faults with the path and the fix. If LMDB only reports that a write
 * fell short, the disk itself is tested.
 * @see DUR-1 in docs/specification.md
 */

import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { causeOf, type Fault, fault } from '../../machines/base/fault.ts';
import { quotedWord } from '../../machines/base/shell-word.ts';
import { UnusableBinary } from '../pinned-binary.ts';

type Trouble = 'journal-full' | 'journal-read-only' | 'journal-corrupt' | 'journal-version';

/** LMDB's codes (`lmdb.h`), those of the operating system (`errno.h` of Linux) and Node's names for the latter. */
const troubles: readonly (readonly [Trouble, codes: readonly (number | string)[]])[] = [
  ['journal-full', [-30792, 27, 28, 122, 'EFBIG', 'ENOSPC', 'EDQUOT']],
  ['journal-read-only', [1, 13, 30, 'EPERM', 'EACCES', 'EROFS']],
  ['journal-corrupt', [-30793, -30796, -30797]],
  ['journal-version', [-30794]],
];

/** The fault of a store that could not be opened. */
export function openFault(directory: string, thrown: unknown): Fault {
  const cause = causeOf(thrown);
  if (thrown instanceof UnusableBinary) return fault('journal-unreadable', cause);
  switch (troubleOf(thrown)) {
    case 'journal-full':
      return fault('journal-full', `${directory}: the journal has no room; free space on this disk`, cause);
    case 'journal-read-only': {
      const cure = /^(?:30|EROFS)$/.test(String(codeOf(thrown)))
        ? 'its disk is read-only; mount it for writing, and check it first if an error has made it so'
        : 'make the folder writable for the user that runs the gateway';
      return fault('journal-read-only', `${directory}: the journal may not write here; ${cure}`, cause);
    }
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
 * The fault of a failed commit. LMDB reports a write that fell short as an input/output error, which does not show that
 * the disk is full. So for an error without a known code, a small file is written next to the store.
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

export function goneFault(directory: string): Fault {
  return fault(
    'journal-unreadable',
    `${storePath(directory)}: the store was removed or replaced while it is in use; put it back, or restart the gateway, which begins an empty journal where there is none`,
  );
}

export function closedFault(directory: string): Fault {
  return fault('journal-unavailable', `${directory}: the journal is closed; nothing can be acknowledged`);
}

export function storePath(directory: string): string {
  return join(directory, 'data.mdb');
}

function aside(path: string): string {
  return `move it aside (mv ${quotedWord(path)} ${quotedWord(`${path}.aside`)}) to start with an empty journal, or put a backup in its place`;
}

function troubleOf(thrown: unknown): Trouble | undefined {
  const code = String(codeOf(thrown));
  return troubles.find(([, codes]) => codes.map(String).includes(code))?.[0];
}

function codeOf(thrown: unknown): unknown {
  return typeof thrown === 'object' && thrown !== null && 'code' in thrown ? thrown.code : undefined;
}

/** About the size of a full group of commits; a disk without this room counts as full. */
const roomBytes = 256 * 1024;

/**
 * Writes at the offset where the store ends, leaving the range before it empty, so that a limit on file sizes shows as
 * well.
 */
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
