/**
 * Takes due work from Postgres for a session. What a take whose answer was lost may have taken is taken again.
 * @see DUR-1 and SCA-1 in docs/specification.md
 */

import { done, type Result } from '../../machines/base/fault.ts';
import type { Collection, Journal, StoredRecord, Taken } from './journal.ts';
import { maxRows, type RecordRow, recordOf } from './postgres-rows.ts';
import type { Writer } from './postgres-writer.ts';
import { sessionEnded } from './sessions.ts';
import { letters } from './tables.ts';
import { holderOfQueue, sessionOf } from './work-index.ts';

/**
 * A run is taken with its deliveries in one statement, so that no other gateway gets some of them. Both are found by their keys
 * one by one: Postgres would rather read all deliveries and runs that wait, for each take. So their due time is compared in ways
 * that the index of due work does not match, and the first column of the primary key is hidden.
 */
const takeRows = (holder: string): string => `with
  free as (
    select collection, key, held_by from agent_record f where collection = $2 and due_at <= $3
      and exists (select 1 from agent_session where id = $1 and expires_at > agent_now())
      and (${holder})
      and (held_by is null or held_by <> all($5))
      and not (collection = 'd' and work is not null and (
        select w.due_at from agent_record w where w.collection = 'r' and w.key = f.work) is not null)
    order by due_at, key limit $4 for update skip locked),
  taken as (select * from free union all
    select d.collection, d.key, d.held_by from agent_record d
      where d.work = any(array(select key collate "default" from free where collection = 'r')) and d.collection || '' = 'd'
        and num_nonnulls(d.due_at) = 1 and (d.key = d.work or starts_with(d.key, d.work || '~')))
  update agent_record r set version = r.version + 1, held_by = $1 from taken t
  where r.collection = t.collection and r.key = t.key
  returning r.collection, r.key, r.version, r.due_at, r.held_by, r.value, nullif(t.held_by, $1) as held_before`;
const takeFree = takeRows(
  'held_by is null or not exists (select 1 from agent_session where id = held_by and expires_at > agent_now())',
);
const takeOwn = takeRows('held_by = $1');

type TakenRow = RecordRow & { readonly held_before: string | null };
type TakeQuery = Parameters<Journal['take']>[1];

/** @param asked does work on the writing connection; `unsure` is called if it may be done although it was not answered */
export function createTake(
  writer: Writer,
  asked: <Value>(work: () => Promise<Value>, unsure: () => void) => Promise<Result<Value>>,
) {
  /** Collections of which the session may hold records that the gateway does not know: a take had no answer, for example. */
  const doubted = new Set<Collection>();

  /** Undefined if the session is over. */
  async function rowsFor(collection: Collection, query: TakeQuery, isAgain: boolean): Promise<TakenRow[] | undefined> {
    const { session, dueBeforeMs, limit, without = [] } = query;
    const living = 'select 1 from agent_session where id = $1 and expires_at > agent_now()';
    if ((await writer.ask('living', living, [session])).rows.length === 0) return undefined;
    const take = async (name: string, text: string, max: number, left: readonly string[]) => {
      const values = [session, letters[collection], Math.floor(dueBeforeMs), max, left];
      return (await writer.ask<TakenRow>(name, text, values)).rows;
    };
    // Those that already have an actor here are skipped by the caller.
    const again = isAgain ? await take('take_own', takeOwn, maxRows, []) : [];
    // What this session holds is not free; its rows are stepped over without a look at the session of each.
    const left = [session, ...without.map(holderOfQueue)];
    return [...again, ...(await take('take', takeFree, limit, left))];
  }

  const take: Journal['take'] = async (collection, query) => {
    if (query.limit <= 0) return done([]);
    const isAgain = doubted.delete(collection);
    const taken = await asked(
      async () => {
        const rows = await rowsFor(collection, query, isAgain);
        return rows && recordsOf(collection, rows);
      },
      () => doubted.add(collection),
    );
    if (taken.ok && taken.value !== undefined) return done(taken.value);
    if (isAgain) doubted.add(collection);
    return taken.ok ? sessionEnded(query.session) : taken;
  };
  return {
    take,
    /** The next takes also return what the session already holds. */
    doubt(): void {
      for (const collection of ['runs', 'deliveries', 'groups'] as const) doubted.add(collection);
    },
  };
}

/** The records of a collection, runs with their deliveries, of which there are rows beside theirs. */
function recordsOf<In extends Collection>(collection: In, rows: readonly TakenRow[]): Taken<In>[] {
  const isOfCollection = (row: TakenRow): boolean => row.collection === letters[collection];
  const beside = new Map<unknown, StoredRecord<'deliveries'>[]>();
  for (const row of rows) {
    if (isOfCollection(row)) continue;
    const delivery = recordOf<'deliveries'>(row);
    const run = delivery.value.runKey;
    beside.set(run, [...(beside.get(run) ?? []), delivery]);
  }
  const records = rows.filter(isOfCollection).map((row): Taken<In> => {
    const deliveries = beside.get(row.key)?.sort(byKey);
    const from = sessionOf(row.held_before);
    return {
      ...recordOf<In>(row),
      ...(from === undefined ? {} : { from }),
      ...(deliveries === undefined ? {} : { deliveries }),
    };
  });
  return records.sort(byDueTime);
}

function byKey(one: StoredRecord, other: StoredRecord): number {
  return one.key < other.key ? -1 : 1;
}

function byDueTime(one: StoredRecord, other: StoredRecord): number {
  return (one.dueAtMs ?? 0) - (other.dueAtMs ?? 0) || (one.key < other.key ? -1 : 1);
}
