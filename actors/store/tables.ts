/**
 * What the journal's rules ask of an engine: a few tables of bytes in key order, and a way to run jobs on them, one
 * after another, each group of them whole or not at all. Knows nothing of records, claims or sessions.
 */

import type { Fault, Result } from '../../machines/base/fault.ts';

export const tableNames = [
  'events',
  'runs',
  'groups',
  'deliveries',
  'claims',
  'expiry',
  'due',
  'sessions',
  'meta',
] as const;
export type TableName = (typeof tableNames)[number];

/** Bytes to write: those before `end`. One buffer serves all writes, so a table copies what it is given. */
export interface Draft {
  readonly bytes: Buffer;
  readonly end: number;
}

export interface KeyRange {
  /** Only keys after this one (before it, where the newest come first). */
  readonly from?: string;
  /** Only keys before this one (after it, where the newest come first). */
  readonly until?: string;
  readonly order?: 'newest' | 'oldest';
  readonly limit: number;
}

export interface Table {
  /** The bytes under a key; they stand only until the next read. */
  read(key: string): Buffer | undefined;
  write(key: string, draft: Draft): void;
  /** Writes unless the key is there; tells whether it wrote. */
  create(key: string, draft: Draft): boolean;
  remove(key: string): void;
  keys(range: KeyRange): string[];
}

export type Tables = { readonly [Name in TableName]: Table };

export interface Engine {
  /**
   * For reading at any time, for writing inside a job. Reads outside a job see what has landed. Ask for it anew in each
   * job: an engine that had to be mended has other tables.
   */
  readonly tables: Tables;
  /**
   * Runs a job after those before it and resolves once what it wrote is as durable as the engine makes it. Never
   * rejects. A job that throws writes nothing and is refused alone.
   * @param size about how much the job writes, in bytes
   */
  enqueue<Value>(job: () => Value, size?: number): Promise<Result<Value>>;
  /** The bytes in use, free pages left out. Inside a job: with what the job has written so far. */
  usedBytes(): number;
  probe(): Promise<Fault | undefined>;
  close(): Promise<void>;
}
