/**
 * A journal in memory, for trying out the gateway and for specs. It has the same rules and contract, but nothing survives
 * an exit. Its tables are maps with sorted keys. Most keep the row objects; events, which are large and rarely rewritten,
 * are kept as bytes, so that the garbage collector does not copy them.
 */

import { causeOf, fault } from '../../machines/base/fault.ts';
import { Roster } from '../../machines/base/roster.ts';
import { createByteStore, type Keeping } from './byte-store.ts';
import { createJournal } from './engine-journal.ts';
import type { Journal } from './journal.ts';
import { weightOf } from './record-bytes.ts';
import {
  type Engine,
  isOfClaims,
  type Job,
  type KeyRange,
  notifyLanded,
  notifyRefused,
  type Row,
  type Table,
  type TableName,
  type Tables,
  tableNames,
} from './tables.ts';

const closedFault = fault('journal-unavailable', 'journal: closed; nothing can be acknowledged');

/** `nowMs` is its clock. Default: the system's. */
export function openMemoryJournal(nowMs: () => number = Date.now): Journal {
  let closed = false;
  let waiting: Job[] = [];
  const { tables, usedBytes } = createMemoryTables();

  /** Commits of one turn of the event loop are applied together, as on disk, so that their answers are sent together. */
  function land(): void {
    const group = waiting;
    waiting = [];
    for (const job of group.filter(runs)) notifyLanded(job);
  }

  const engine: Engine = {
    tables,
    submit(job) {
      if (closed) job.refused(closedFault);
      else if (waiting.push(job) === 1) setImmediate(land);
    },
    usedBytes,
    async probe() {
      return closed ? closedFault : undefined;
    },
    async close() {
      closed = true;
      land();
    },
  };
  return createJournal(engine, { nowMs, steadyMs: () => performance.now() });
}

function runs(job: Job): boolean {
  try {
    job.run();
    return true;
  } catch (error) {
    notifyRefused(job, fault('internal-error', 'journal: a write failed in the gateway itself', causeOf(error)));
    return false;
  }
}

export interface MemoryTables {
  readonly tables: Tables;
  usedBytes(): number;
}

const asGiven: Keeping<Row> = {
  keep: (row) => row,
  drop: () => {},
  head: (row) => row,
  row: (row) => row,
  bytes: ({ value }) => weightOf(value),
};

/** The claims of one event are made in a row with the same value and end, so they share a row object. */
function sharedRows(): Keeping<Row> {
  let last: Row | undefined;
  return {
    ...asGiven,
    keep(row) {
      if (last === undefined || last.value !== row.value || last.dueAtMs !== row.dueAtMs) last = row;
      return last;
    },
  };
}

export function createMemoryTables(): MemoryTables {
  let usedBytes = 0;
  const count = (bytes: number) => {
    usedBytes += bytes;
  };
  return {
    tables: {
      ...(Object.fromEntries(
        tableNames.map((name) => [name, createTable(isOfClaims(name) ? () => {} : count, asGiven)]),
      ) as Record<TableName, Table>),
      events: createTable(count, createByteStore('events')),
      claims: createTable(() => {}, sharedRows()),
      recentMarks: new Map(),
    },
    usedBytes: () => usedBytes,
  };
}

function createTable<Kept>(count: (bytes: number) => void, keeping: Keeping<Kept>): Table {
  const rows = new Roster<string, Kept>();
  /** Sorted, except for changes since the last call of `settle`. */
  let sorted: string[] = [];
  let last: string | undefined;
  let loose: string[] = [];
  let gone = 0;

  /** Sorts the keys. Only listings call it, because most tables are written far more often than they are listed. */
  function settle(): readonly string[] {
    if (gone === 0 && loose.length === 0) return sorted;
    const keys = [...sorted, ...loose].filter((key) => rows.has(key));
    // A key that was removed and created again is in the list twice.
    if (loose.length > 0) keys.sort(byCodeUnits);
    sorted = keys.filter((key, at) => key !== keys[at - 1]);
    last = sorted.at(-1);
    loose = [];
    gone = 0;
    return sorted;
  }

  /** Whether a key comes after all others. Most do, since they begin with their time, and need no lookup. */
  function isNewest(key: string): boolean {
    return last === undefined || last < key;
  }

  function add(key: string, row: Row): void {
    if (isNewest(key)) {
      sorted.push(key);
      last = key;
    } else loose.push(key);
    const kept = keeping.keep(row);
    count(keeping.bytes(kept) + key.length);
    rows.set(key, kept);
  }

  return {
    head(key) {
      const kept = rows.get(key);
      return kept && keeping.head(kept);
    },
    read(key) {
      const kept = rows.get(key);
      return kept && keeping.row(kept);
    },
    write(key, row) {
      const earlier = isNewest(key) ? undefined : rows.get(key);
      if (earlier === undefined) {
        add(key, row);
        return;
      }
      const kept = keeping.keep(row);
      count(keeping.bytes(kept) - keeping.bytes(earlier));
      keeping.drop(earlier);
      rows.set(key, kept);
    },
    create(key, row) {
      if (!isNewest(key) && rows.has(key)) return false;
      add(key, row);
      return true;
    },
    remove(key) {
      const earlier = rows.get(key);
      if (earlier === undefined) return;
      count(-keeping.bytes(earlier) - key.length);
      keeping.drop(earlier);
      rows.delete(key);
      gone += 1;
      if (gone > rows.size + fewest) settle();
    },
    keys: (range) => keysIn(settle(), range),
  };
}

/** Fewer removed keys are not worth sorting for. */
const fewest = 1_024;

function keysIn(sorted: readonly string[], { from, until, order, limit }: KeyRange): string[] {
  const isNewest = order === 'newest';
  const [low, high] = isNewest ? [until, from] : [from, until];
  const at = low === undefined ? 0 : placeOf(sorted, low);
  const first = sorted[at] === low ? at + 1 : at;
  const end = high === undefined ? sorted.length : placeOf(sorted, high);
  return isNewest
    ? sorted.slice(Math.max(first, end - limit), end).reverse()
    : sorted.slice(first, Math.min(end, first + limit));
}

/** The index of a key, or where it would be inserted. */
function placeOf(sorted: readonly string[], key: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? '') < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

function byCodeUnits(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
