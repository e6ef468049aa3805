/**
 * The durable journal: an LMDB store in a folder. Opens it only if it is complete and creates a new one atomically. After
 * a failed commit it acknowledges nothing until `probe` has opened the store again and written to it.
 * @see DUR-1, DUR-2 and HOME-3 in docs/specification.md
 */

import { closeSync, openSync, statSync } from 'node:fs';
import { done, type Fault, type Result } from '../../machines/base/fault.ts';
import { createJournal, createReader } from './engine-journal.ts';
import { createGroupCommit } from './group-commit.ts';
import type { Journal, JournalReader } from './journal.ts';
import { closedFault, commitFault, goneFault, openFault, storePath } from './lmdb-faults.ts';
import { writeMarker } from './lmdb-file.ts';
import { enter, lookAt, openForReading, openStore } from './lmdb-store.ts';
import type { Environment } from './lmdb-tables.ts';
import { draftedBytes } from './record-bytes.ts';
import { type Engine, plainRow, type Tables } from './tables.ts';

interface LmdbJournalSettings {
  /**
   * Contains `data.mdb`, `lock.mdb` and, while no process has it open, `closed`; created with mode 0700 if it is missing.
   */
  readonly directory: string;
  /** The journal's clock in Unix milliseconds. Default: the system's. */
  readonly nowMs?: () => number;
}

/** Opens the journal in a folder. Never changes a store that is damaged or of an unknown version. */
export async function openLmdbJournal({ directory, nowMs = Date.now }: LmdbJournalSettings): Promise<Result<Journal>> {
  const opened = await openStore(directory);
  if (!opened.ok) return opened;
  return done(createJournal(createEngine(directory, opened.value), { nowMs, steadyMs: () => performance.now() }));
}

interface OpenReader extends JournalReader {
  close(): Promise<void>;
}

/**
 * Opens the journal in a folder for reading, while a gateway may write to it. Undefined if no gateway has created one.
 */
export async function readLmdbJournal(directory: string): Promise<Result<OpenReader | undefined>> {
  const opened = await openForReading(directory);
  if (!opened.ok || opened.value === undefined) return opened.ok ? done(undefined) : opened;
  const { tables, close } = opened.value;
  return done({ ...createReader(() => tables, Date.now), close });
}

function createEngine(directory: string, first: Environment): Engine {
  let environment = first;
  let file = fileIn(directory);
  let closing: Promise<void> | undefined;
  let probing: Promise<Fault | undefined> | undefined;
  const commits = createGroupCommit({
    async transact(body) {
      // A file that was removed or replaced would still take writes.
      if (fileIn(directory) !== file) throw new Error('the store is gone');
      await environment.transact(body);
    },
    writtenBytes: draftedBytes,
    explain: (thrown) => (fileIn(directory) === file ? commitFault(directory, thrown) : goneFault(directory)),
  });

  async function probe(): Promise<Fault | undefined> {
    if (commits.stopped() !== undefined) {
      const obstacle = await reopen();
      if (obstacle !== undefined) return obstacle;
    }
    for (const job of [writeProbe, removeProbe]) {
      const written = await commits.enqueue(() => job(environment.tables));
      if (!written.ok) return written.fault;
    }
    return undefined;
  }

  /**
   * Checks the store while the old environment still serves reads, and closes that only if another can be opened: a closed
   * one reads as empty.
   */
  async function reopen(): Promise<Fault | undefined> {
    await commits.settled();
    const looked = await lookAt(directory);
    if (!looked.ok) return looked.fault;
    if (looked.value === 'absent') return goneFault(directory);
    try {
      closeSync(openSync(storePath(directory), 'r+'));
    } catch (error) {
      return openFault(directory, error);
    }
    await environment.close();
    const reopened = await enter(directory);
    if (!reopened.ok) return reopened.fault;
    environment = reopened.value;
    file = fileIn(directory);
    commits.resume();
    return undefined;
  }

  async function close(): Promise<void> {
    await probing;
    await commits.settled();
    const isWell = commits.stopped() === undefined && fileIn(directory) === file;
    commits.stop(closedFault(directory));
    await environment.close();
    if (isWell) await writeMarker(directory);
  }

  return {
    get tables() {
      return environment.tables;
    },
    submit: commits.submit,
    usedBytes: () => environment.usedBytes(),
    probe() {
      if (closing !== undefined) return Promise.resolve(closedFault(directory));
      probing ??= probe().finally(() => {
        probing = undefined;
      });
      return probing;
    },
    close() {
      closing ??= close();
      return closing;
    },
  };
}

/** Identifies the file of a store; undefined if there is none. */
function fileIn(directory: string): string | undefined {
  try {
    const { dev, ino } = statSync(storePath(directory));
    return `${dev}/${ino}`;
  } catch {
    return undefined;
  }
}

/** About the size of a full group of commits, so that a disk with only a few free pages does not pass. */
const probeRow = plainRow({ filler: ' '.repeat(256 * 1024) });
const probeKey = 'probe';

function writeProbe({ meta }: Tables): void {
  meta.write(probeKey, probeRow);
}

function removeProbe({ meta }: Tables): void {
  meta.remove(probeKey);
}
