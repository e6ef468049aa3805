/**
 * A journal in memory, for trying out the gateway and for specs. It has the same rules and contract, but nothing survives
 * an exit. Its tables are maps, each with its keys in order. Most keep the row objects; events, which are large and rarely
 * rewritten, are kept as bytes, so that the garbage collector does not copy them.
 */

import { ChurnMap } from '../../machines/base/churn-map.ts';
import { causeOf, fault } from '../../machines/base/fault.ts';
import { createByteStore, type Keeping } from './byte-store.ts';
import { createJournal } from './engine-journal.ts';
import type { Journal } from './journal.ts';
import { weightOf } from './record-bytes.ts';
import { SortedKeys } from './sorted-keys.ts';
import {
  type Engine,
  isOfClaims,
  type Job,
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

interface MemoryTables {
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
      claims: createTable(() => {}, sharedRows(), soughtKeys),
      recentMarks: new Map(),
    },
    usedBytes: () => usedBytes,
  };
}

function createTable<Kept>(
  count: (bytes: number) => void,
  keeping: Keeping<Kept>,
  keysOf: (rows: ChurnMap<string, unknown>) => Keys = () => new SortedKeys(),
): Table {
  const rows = new ChurnMap<string, Kept>();
  const ordered = keysOf(rows);

  function add(key: string, row: Row): void {
    ordered.add(key);
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
      const earlier = ordered.isNewest(key) ? undefined : rows.get(key);
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
      if (!ordered.isNewest(key) && rows.has(key)) return false;
      add(key, row);
      return true;
    },
    remove(key) {
      const earlier = rows.get(key);
      if (earlier === undefined) return;
      count(-keeping.bytes(earlier) - key.length);
      keeping.drop(earlier);
      rows.delete(key);
      ordered.remove(key);
    },
    keys: (range) => ordered.within(range),
  };
}

type Keys = Pick<SortedKeys, 'isNewest' | 'add' | 'remove' | 'within'>;

/** The keys of claims: written with every event and listed only when a person looks for an id, they are put in order then. */
function soughtKeys(rows: ChurnMap<string, unknown>): Keys {
  return {
    isNewest: () => false,
    add() {},
    remove() {},
    within(range) {
      const { from, until } = range;
      const [after, before] = range.order === 'newest' ? [until, from] : [from, until];
      const found = new SortedKeys();
      rows.each((key) => {
        if ((after === undefined || key > after) && (before === undefined || key < before)) found.add(key);
      });
      return found.within(range);
    },
  };
}
