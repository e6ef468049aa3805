/**
 * What the journal's rules ask of an engine: a few tables of rows in key order, and a way to run jobs on them, one
 * after another, each group of them whole or not at all. How a row is kept, as an object or as bytes, is the engine's.
 */

import type { Fault } from '../../machines/base/fault.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import type { Job } from './job.ts';

export const tableNames = [
  'events',
  'runs',
  'groups',
  'deliveries',
  'transcripts',
  'claims',
  'expiry',
  'due',
  'marks',
  'sessions',
  'meta',
] as const;
export type TableName = (typeof tableNames)[number];

/** What the rules look at without the value. */
export interface Head {
  /** 0 in tables that count no versions. */
  readonly version: number;
  /** When a record is due, when a claim runs out. */
  readonly dueAtMs: number | undefined;
  readonly heldBy: string | undefined;
}

/** A row never changes: an engine may keep the very object that it is given. */
export interface Row extends Head {
  /** Undefined where a damaged disk left none. */
  readonly value: JsonObject | undefined;
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
  head(key: string): Head | undefined;
  read(key: string): Row | undefined;
  write(key: string, row: Row): void;
  /** Writes unless the key is there; tells whether it wrote. */
  create(key: string, row: Row): boolean;
  remove(key: string): void;
  keys(range: KeyRange): string[];
}

export type Tables = { readonly [Name in TableName]: Table } & {
  /** The last place that a mark was written at, to write it there once. Forgotten where a job did not land. */
  readonly recentMarks: Map<string, string>;
};

/** The row of a table that only has keys. */
export const bareKey: Row = { version: 0, dueAtMs: undefined, heldBy: undefined, value: {} };

/** The row of a table that keeps plain values. */
export function plainRow(value: JsonObject): Row {
  return { version: 0, dueAtMs: undefined, heldBy: undefined, value };
}

export interface Engine {
  /**
   * For reading at any time, for writing inside a job. Reads outside a job see what has landed. Ask for it anew in each
   * job: an engine that had to be fixed has other tables.
   */
  readonly tables: Tables;
  /**
   * Runs a job after those before it and tells it once what it wrote is as durable as the engine makes it, which may be
   * before this returns. A job that throws writes nothing and is refused alone.
   */
  submit(job: Job): void;
  /** The bytes in use, free pages left out. Inside a job: with what the job has written so far, but for bursts. */
  usedBytes(): number;
  probe(): Promise<Fault | undefined>;
  close(): Promise<void>;
}
