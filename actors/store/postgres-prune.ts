/**
 * Prunes the history of a journal in Postgres, in pieces between its commits. The cost grows with what is removed; the size
 * of a large table is estimated from a sample of fixed size.
 * @see DUR-2 in docs/specification.md
 */

import type { QueryResult } from 'pg';
import type { Journal } from './journal.ts';

const pieceSize = 500;
/** The size of a larger table is estimated from a random sample of so many bytes. */
const sampleBytes = 64 * 1024 * 1024;

/** The key of the run or first delivery to which a record belongs. */
const work = 'coalesce(r.work, r.key)';
/** Not `is not null`: the index of due work would match that, and be read completely for each record. */
const isDue = 'num_nonnulls(w.due_at) = 1';

/**
 * A record without a due time, whose work has none either: neither the run nor any delivery of it. An event only if its batch
 * no longer collects. Not `not exists`, for which Postgres may read all deliveries for each piece.
 */
const finished = `r.collection in ('e', 'r', 'd', 't') and r.due_at is null
  and (select 1 from agent_record w
    where w.collection in ('r', 'd') and w.key = ${work} and ${isDue} limit 1) is null
  and (select 1 from agent_record w
    where w.collection = 'd' and w.key > ${work} || '~' and w.key < ${work} || '\x7f' and ${isDue} limit 1) is null
  and not (r.collection = 'e' and (
    select 1 from agent_record g where g.collection || '' = 'g' and g.work = 'batch/' || r.work limit 1) is not null)`;

/**
 * Deletes records. Expired claims of deleted events are deleted; the others expire by their time from then on. An event with a
 * claim that a commit has locked is left for the next prune: a commit locks claims first, so waiting could be a deadlock.
 */
const remove = (records: string): string => `with
  now as materialized (select agent_now() as ms),
  old as materialized (${records}),
  events as materialized (select array_agg(key) as keys from old where collection = 'e'),
  locked as materialized (select name, event_key, expires_at from agent_claim
    where event_key = any((select keys from events)::text[]) for update skip locked),
  busy as materialized (select event_key from agent_claim c
    where event_key = any((select keys from events)::text[]) and not exists (select from locked l where l.name = c.name)),
  gone as (delete from agent_record r using old o where r.collection = o.collection and r.key = o.key
    and (o.collection <> 'e' or o.key not in (select event_key from busy)) returning r.collection, r.key, r.bytes),
  freed as (select name, expires_at <= (select ms from now) as is_over from locked where event_key in (select key from gone)),
  ended as (delete from agent_claim where name = any(array(select name from freed where is_over))),
  kept as (update agent_claim set event_key = null where name = any(array(select name from freed where not is_over)))
  select count(*) as records, coalesce(sum(bytes), 0) as bytes from gone`;

const aged = remove(`select r.collection, r.key from agent_record r where ${finished} and r.key < $1
  limit ${pieceSize} for update of r skip locked`);

/** The oldest records until so many bytes are gone; each collection is read by its index, and none is sorted whole. */
const oldest = remove(`select collection, key from (
  select collection, key, bytes, sum(bytes) over (order by key, collection) as upto
  from (select o.* from unnest(array['e', 'r', 'd', 't']) c(name) cross join lateral (
      select * from agent_record r where r.collection = c.name and ${finished}
        order by r.key limit ${pieceSize} for update of r skip locked) o
    order by o.key, o.collection limit ${pieceSize}) oldest) r
  where upto - bytes < $1`);

const expired = `with gone as (
  delete from agent_claim where name in (select name from agent_claim c
    where event_key is null and expires_at <= (select agent_now())
    limit ${pieceSize} for update of c skip locked) returning 1)
  select count(*) as records from gone`;

/** Questions to other gateways whose asker was killed before it could remove them. */
const unanswered = 'delete from agent_question where expires_at <= agent_now()';

const samplePercent = `select least(100, ${sampleBytes} * 100.0 / greatest(1, pg_relation_size('agent_record'))) as percent`;
const sampledBytes = `select round(coalesce(sum(bytes), 0) * 100 / $1::float8) as bytes from agent_record tablesample system ($1::float8)`;

export interface PruneConnections {
  write(statement: string, values: readonly unknown[]): Promise<QueryResult>;
  /** Runs a statement beside the commits. */
  read(statement: string, values?: readonly unknown[]): Promise<QueryResult>;
}

/** Resolves with the number of records that were removed. Rejects as the client does. */
export async function pruneRows(
  { write, read }: PruneConnections,
  { keepAfterKey, maxBytes }: Parameters<Journal['prune']>[0],
  goesOn: () => boolean = () => true,
): Promise<number> {
  let removed = await removeAll(write, aged, [keepAfterKey], goesOn);
  // The excess is weighed once. A gateway that leads no longer, as after it was stopped, would remove it a second time.
  for (let excess = (await bytesOf(read)) - Math.floor(maxBytes); excess > 0 && goesOn(); ) {
    const [gone] = (await write(oldest, [excess])).rows;
    if (Number(gone?.records) === 0) break;
    removed += Number(gone?.records);
    excess -= Number(gone?.bytes);
  }
  await removeAll(write, expired, [], goesOn);
  if (goesOn()) await write(unanswered, []);
  return removed;
}

/** Exact for a small table; within a few percent for a sampled one. */
async function bytesOf(read: PruneConnections['read']): Promise<number> {
  const percent = (await read(samplePercent)).rows[0]?.percent;
  return Number((await read(sampledBytes, [percent])).rows[0]?.bytes);
}

async function removeAll(
  write: PruneConnections['write'],
  statement: string,
  values: readonly unknown[],
  goesOn: () => boolean,
): Promise<number> {
  let removed = 0;
  for (let count = pieceSize; count === pieceSize && goesOn(); removed += count)
    count = Number((await write(statement, values)).rows[0]?.records);
  return removed;
}
