/**
 * What the journal's rules need from an engine: tables of rows in key order, and a way to run jobs on them in order, each
 * group completely or not at all. The engine decides whether rows are objects or bytes. A job is an object rather than a
 * promise, because tens of thousands of commits a second would each need three promises, which cost more than their writes.
 */

import type { Fault, Result } from '../../machines/base/fault.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import type { Collection, MarkedCollection } from './journal.ts';

/** The collections, and the first letter of their keys in an index; in Postgres it names the collection. */
export const letters = {
  events: 'e',
  runs: 'r',
  groups: 'g',
  deliveries: 'd',
  transcripts: 't',
} as const satisfies Readonly<Record<Collection, string>>;
export const collections = Object.keys(letters) as readonly Collection[];
export const markedCollections = ['events', 'runs', 'deliveries'] as const satisfies readonly MarkedCollection[];

const ownTables = ['claims', 'expiry', 'due', 'marks', 'sessions', 'meta'] as const;
export type TableName = Collection | (typeof ownTables)[number];
export const tableNames: readonly TableName[] = [...collections, ...ownTables];

/** Claims end by their time alone: no record that is removed to save space makes room for them. */
export const isOfClaims = (name: TableName): boolean => name === 'claims' || name === 'expiry';

/** The part of a row that is read without the value. */
export interface Head {
  /** 0 in tables without versions. */
  readonly version: number;
  /** When a record is due, or a claim expires. */
  readonly dueAtMs: number | undefined;
  readonly heldBy: string | undefined;
}

/** Rows are immutable, so an engine may keep the object itself. */
export interface Row extends Head {
  /** Undefined if a damaged disk made it unreadable. */
  readonly value: JsonObject | undefined;
}

export interface KeyRange {
  /** Only keys after this one (before it, if the newest come first). */
  readonly from?: string;
  /** Only keys before this one (after it, if the newest come first). */
  readonly until?: string;
  readonly order?: 'newest' | 'oldest';
  readonly limit: number;
}

export interface Table {
  head(key: string): Head | undefined;
  read(key: string): Row | undefined;
  write(key: string, row: Row): void;
  /** Writes unless the key exists; returns whether it wrote. */
  create(key: string, row: Row): boolean;
  remove(key: string): void;
  keys(range: KeyRange): string[];
}

export type Tables = { readonly [Name in TableName]: Table } & {
  /** The last place of each mark that was written, to avoid writing it again. Cleared if a transaction fails. */
  readonly recentMarks: Map<string, string>;
};

/** The row of a table that has only keys. */
export const bareKey: Row = { version: 0, dueAtMs: undefined, heldBy: undefined, value: {} };

export function plainRow(value: JsonObject): Row {
  return { version: 0, dueAtMs: undefined, heldBy: undefined, value };
}

export interface Engine {
  /**
   * Readable at any time, writable inside a job. Reads outside a job see what is durable. To be read again in each job,
   * because an engine that was reopened has other tables.
   */
  readonly tables: Tables;
  /**
   * Runs a job after the earlier ones and notifies it once its writes are as durable as the engine makes them, possibly
   * before this returns. A job that throws writes nothing and is refused alone.
   */
  submit(job: Job): void;
  /** The bytes in use, without free pages and claims. Inside a job it includes the job's writes so far, except those of batches. */
  usedBytes(): number;
  probe(): Promise<Fault | undefined>;
  close(): Promise<void>;
}

export interface Job {
  /** Does the work, inside a transaction. Runs again if another job of the same transaction threw. */
  run(): void;
  /** The writes of `run` are as durable as the engine makes them. */
  landed(): void;
  /** Nothing was written. */
  refused(reason: Fault): void;
}

/** Runs a job on an engine and resolves with its result once that is durable. Never rejects. */
export function promised<Value>(submit: (job: Job) => void, work: () => Value): Promise<Result<Value>> {
  return new Promise((resolve) => {
    let value: Value;
    submit({
      run() {
        value = work();
      },
      landed: () => resolve({ ok: true, value }),
      refused: (reason) => resolve({ ok: false, fault: reason }),
    });
  });
}

/** Joins several jobs into one, so that an engine puts all of them into one transaction. */
export function joined(jobs: readonly Job[]): Job {
  return {
    run() {
      for (const job of jobs) job.run();
    },
    landed() {
      for (const job of jobs) notifyLanded(job);
    },
    refused(reason) {
      for (const job of jobs) notifyRefused(job, reason);
    },
  };
}

/**
 * Notifies a job that it is durable. An error of its callback is rethrown later, so that the other jobs are notified too.
 */
export function notifyLanded(job: Job): void {
  try {
    job.landed();
  } catch (thrown) {
    throwLater(thrown);
  }
}

/** Notifies a job that nothing was written. An error of its callback is rethrown later. */
export function notifyRefused(job: Job, reason: Fault): void {
  try {
    job.refused(reason);
  } catch (thrown) {
    throwLater(thrown);
  }
}

/** Calls back; an error is rethrown later, outside the caller. */
export function callBackSafely(callback: () => void): void {
  try {
    callback();
  } catch (thrown) {
    throwLater(thrown);
  }
}

function throwLater(thrown: unknown): void {
  queueMicrotask(() => {
    throw thrown;
  });
}
