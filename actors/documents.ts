/**
 * The texts of a home that its gateways change: subscriptions, cron jobs, and the credentials of servers. Here they are
 * files, changed under a lock and replaced atomically; gateways that share a database keep them there.
 * @see SUB-2, CRN-1 and OAU-2 in docs/specification.md
 */

import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { causeOf } from '../machines/base/fault.ts';
import {
  ensurePrivateFolder,
  holdingLock,
  RefusedChange,
  stampOf,
  updateFileLocked,
  writableCure,
  writeFilesAtomic,
} from './files.ts';

/** The stamp of a shared document before the database has answered for the first time. */
export const unread = 'unread';

export interface Document {
  /** Where the text is; used in messages. */
  readonly place: string;
  /** The fix for a text that cannot be read, and for one that cannot be changed. */
  readonly readCure: string;
  readonly writeCure: string;
  /** Changes whenever the text does; undefined if the document does not exist. Never throws: `text` throws the reason. */
  stamp(): string | undefined;
  /** Throws if the document does not exist or cannot be read now. */
  text(): string;
  /**
   * Changes the text under a lock. `change` gets the latest text and may be called several times; if it returns
   * undefined, nothing is written.
   */
  update(change: (text: string | undefined) => string | undefined | Promise<string | undefined>): Promise<void>;
}

export interface DocumentChange {
  readonly path: string;
  /** Undefined removes the document. */
  readonly text: string | undefined;
}

export interface Documents {
  /** Whether other homes have the same documents. */
  readonly isShared: boolean;
  /** The document that belongs at a path in the home. */
  at(path: string): Document;
  /** Replaces texts in order; none if one cannot be stored. */
  write(changes: readonly DocumentChange[]): Promise<void>;
  /** Does work under the lock of a path. Rejects if the lock is not released in time. */
  locked<Value>(path: string, work: () => Promise<Value>): Promise<Value>;
  /**
   * Calls back with the path of each document that another gateway changed; returns a function that stops it. Never for
   * files.
   */
  onChanged(heard: (path: string) => void): () => void;
}

/** Why a document was not changed, with the remedy. */
export function unchangedWord({ place, writeCure }: Document, thrown: unknown): string {
  return thrown instanceof RefusedChange
    ? thrown.message
    : `${place}: cannot be changed: ${causeOf(thrown)}; ${writeCure}`;
}

export const fileDocuments: Documents = {
  isShared: false,
  at: (path) => ({
    place: path,
    readCure: 'check its permissions',
    writeCure: writableCure,
    stamp: () => stampOf(path),
    text: () => readFileSync(path, 'utf8'),
    async update(change) {
      // The folder may not exist before the first change.
      await ensurePrivateFolder(dirname(path));
      await updateFileLocked(path, change);
    },
  }),
  async write(changes) {
    const written = changes.flatMap(({ path, text }) => (text === undefined ? [] : [{ path, text }]));
    for (const folder of new Set(written.map(({ path }) => dirname(path)))) await ensurePrivateFolder(folder);
    await writeFilesAtomic(written);
    for (const { path, text } of changes) if (text === undefined) await rm(path, { force: true });
  },
  async locked(path, work) {
    await ensurePrivateFolder(dirname(path));
    return holdingLock(path, work);
  },
  onChanged: () => () => {},
};
