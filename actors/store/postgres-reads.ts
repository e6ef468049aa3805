/**
 * The reads of a journal in Postgres.
 * @see DUR-2 and SCA-1 in docs/specification.md
 */

import type { Pool } from 'pg';
import { leadsToFew } from '../../machines/webhook/marks.ts';
import type { Collection, Journal, JournalReader } from './journal.ts';
import { isAnswer } from './postgres-reach.ts';
import {
  type ClaimRow,
  claimName,
  isRowKey,
  markName,
  maxRows,
  type RecordRow,
  recordOf,
  selectRecords,
} from './postgres-rows.ts';
import { isTrouble, NoAnswer } from './postgres-schema.ts';
import { letters } from './tables.ts';

/** Sorts after every key. */
const afterAll = '\u{10ffff}';
const bounded = (limit: number): number => Math.min(limit, maxRows);
/** How many records one query gets by their keys. */
const maxKeys = 200;

/**
 * The newest records that have all of some marks. Postgres alone would choose as if those were spread evenly: for the events of a
 * route that was busy last week it would read all that came since. So as many of the newest records are looked through as it
 * expects to have the marks, and if that is not enough, all that the index finds are read.
 */
const markedAmongNewest = `select collection, key, version, due_at, held_by, value
  from (select * from agent_record where collection = $1 and key < $2 order by key desc limit $5) newest
  where marks @> $3::text[] order by key desc limit $4`;
/** The columns of the primary key are hidden, because their index would be read completely. */
const markedByIndex = `with found as materialized (select key from agent_record
    where collection || '' = $1 and key || '' < $2 collate "C" and marks @> $3::text[])
  ${selectRecords} where collection = $1 and key = any(array(select key from found order by key desc limit $4))
  order by key desc`;
const expectedMarked = 'explain (format json) select from agent_record where collection = $1 and marks @> $2::text[]';
const leastNewest = 1_000;

interface Explained {
  readonly 'QUERY PLAN': readonly [{ readonly Plan: { readonly 'Plan Rows': number } }];
}

type Rows = ReadonlyMap<string, RecordRow>;

/** Resolves once all that is ready to run has run, such as what waited for the same query. */
const endOfTurn = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

/** @param isOpen whether the journal is open; one that is closed reads as empty */
export function createReads(pool: Pool, place: string, isOpen: () => boolean): JournalReader {
  async function read<Row extends object>(name: string, text: string, values: readonly unknown[]): Promise<Row[]> {
    if (!isOpen()) return [];
    try {
      const { rows } = await pool.query<Row>({ name: `agent_${name}`, text, values: [...values] });
      return rows;
    } catch (thrown) {
      throw isAnswer(thrown) && !isTrouble(thrown) ? thrown : new NoAnswer(place, thrown);
    }
  }

  /** The names for the next query of claims, and the values that it finds. */
  let next: { readonly names: Set<string>; readonly values: Promise<ReadonlyMap<string, string>> } | undefined;
  let last: Promise<unknown> = Promise.resolve();

  /**
   * One query at a time reads the claims; names that are asked for in the same turn, or while it runs, share the next one.
   * The events of an array ask for thousands at once, which would occupy every connection of the pool.
   */
  async function claimValue(name: string): Promise<string | undefined> {
    next ??= nextQuery();
    next.names.add(name);
    return (await next.values).get(name);
  }

  function nextQuery() {
    const names = new Set<string>();
    const ask = async (): Promise<ReadonlyMap<string, string>> => {
      next = undefined;
      const rows = await read<ClaimRow>(
        'claimed',
        'select name, value, expires_at from agent_claim where name = any($1) and expires_at > agent_now()',
        [[...names]],
      );
      return new Map(rows.map(({ name, value }) => [name, value]));
    };
    const values = last.then(ask);
    last = values.catch(() => {});
    return { names, values };
  }

  /** The keys for the next query of each collection, and the rows that it finds. */
  const wanted = new Map<Collection, { readonly keys: Set<string>; readonly rows: Promise<Rows> }>();

  /** Keys that are asked for in one turn share a query: a search reads what thousands of events have led to. */
  async function rowOf(collection: Collection, key: string): Promise<RecordRow | undefined> {
    let query = wanted.get(collection);
    if (query === undefined || query.keys.size >= maxKeys) {
      const keys = new Set<string>();
      query = { keys, rows: endOfTurn().then(() => rowsOf(collection, keys)) };
      wanted.set(collection, query);
    }
    query.keys.add(key);
    return (await query.rows).get(key);
  }

  async function rowsOf(collection: Collection, keys: Set<string>): Promise<Rows> {
    if (wanted.get(collection)?.keys === keys) wanted.delete(collection);
    const rows = await read<RecordRow>('get', `${selectRecords} where collection = $1 and key = any($2)`, [
      letters[collection],
      [...keys],
    ]);
    return new Map(rows.map((row) => [row.key, row]));
  }

  return {
    async get<In extends Collection>(collection: In, key: string) {
      const row = isRowKey(key) ? await rowOf(collection, key) : undefined;
      return row && recordOf<In>(row);
    },
    async list<In extends Collection>(collection: In, { limit, order, from }: Parameters<Journal['list']>[1]) {
      if (limit <= 0 || (from !== undefined && !isRowKey(from))) return [];
      const [sign, direction, edge] = order === 'newest' ? ['<', 'desc', afterAll] : ['>', 'asc', ''];
      const rows = await read<RecordRow>(
        `list_${order}`,
        `${selectRecords} where collection = $1 and key ${sign} $2 order by key ${direction} limit $3`,
        [letters[collection], from ?? edge, bounded(limit)],
      );
      return rows.map((row) => recordOf<In>(row));
    },
    async marked<In extends Collection>(collection: In, { marks, limit, from }: Parameters<Journal['marked']>[1]) {
      if (limit <= 0 || (from !== undefined && !isRowKey(from))) return [];
      const [letter, names] = [letters[collection], marks.map(markName)];
      const sought = [letter, from ?? afterAll, names, bounded(limit)];
      if (!marks.some(leadsToFew)) {
        const [plan] = await read<Explained>('expected', expectedMarked, [letter, names]);
        const expected = Math.max(leastNewest, Number(plan?.['QUERY PLAN'][0].Plan['Plan Rows']));
        const newest = await read<RecordRow>('marked', markedAmongNewest, [...sought, bounded(expected)]);
        if (newest.length >= limit) return newest.map((row) => recordOf<In>(row));
      }
      const rows = await read<RecordRow>('marked_old', markedByIndex, sought);
      return rows.map((row) => recordOf<In>(row));
    },
    async dueKeys(collection) {
      const rows = await read<{ key: string }>(
        'due',
        'select key from agent_record where collection = $1 and due_at is not null order by key desc',
        [letters[collection]],
      );
      return rows.map(({ key }) => key);
    },
    async claimed(name) {
      const value = await claimValue(claimName(name));
      return value === undefined ? undefined : JSON.parse(value);
    },
    async claims({ limit, from = '' }) {
      const rows = await read<ClaimRow & { left: string; event_key: string | null }>(
        'claims',
        `select c.name, c.value, e.key as event_key, c.expires_at - agent_now() as left
          from agent_claim c left join agent_record e on e.collection = 'e' and e.key = c.event_key
          where c.name > $1 and (c.expires_at > agent_now() or e.key is not null) order by c.name limit $2`,
        [from, bounded(limit)],
      );
      return rows.map(({ name, value, left, event_key }) => ({
        name,
        value: JSON.parse(value),
        forMs: Number(left),
        ...(event_key === null ? {} : { keptWith: event_key }),
      }));
    },
  };
}
