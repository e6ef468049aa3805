/**
 * Prunes the history of a journal in Postgres, in pieces between its commits.
 * @see DUR-2 in docs/specification.md
 */

import type { QueryResult } from 'pg';
import type { Journal } from './journal.ts';

const pieceSize = 1_000;

/** A record without a due time; an event only if the work that it led to has none either. */
const finished = `r.collection in ('e', 'r', 'd', 't') and r.due_at is null and not (r.collection = 'e' and exists (
  select 1 from agent_record w where w.collection in ('r', 'd') and w.key = r.work and w.due_at is not null))`;

/** One gateway prunes at a time; another one skips its turn. */
const mayPrune = `(select pg_try_advisory_xact_lock(hashtext('agent_prune'), hashtext(current_schema)))`;

const aged = `delete from agent_record where (collection, key) in (
  select r.collection, r.key from agent_record r where ${mayPrune} and ${finished} and r.key < $1
  limit ${pieceSize} for update of r skip locked)`;

/** The oldest records until so many bytes are gone; each collection is read by its index, and none is sorted whole. */
const oldest = `delete from agent_record where (collection, key) in (select collection, key from (
  select collection, key, bytes, sum(bytes) over (order by key, collection) as upto
  from (select o.* from unnest(array['e', 'r', 'd', 't']) c(name) cross join lateral (
      select * from agent_record r where ${mayPrune} and r.collection = c.name and ${finished}
        order by r.key limit ${pieceSize} for update of r skip locked) o
    order by o.key, o.collection limit ${pieceSize}) oldest) r
  where upto - bytes < $1) returning bytes`;

const expired = `delete from agent_claim where name in (select name from agent_claim c where ${mayPrune} and expires_at <= agent_now()
  and (event_key is null or not exists (select 1 from agent_record where collection = 'e' and key = c.event_key))
  limit ${pieceSize} for update of c skip locked)`;

export interface PruneConnections {
  /** Runs a statement between two commits. */
  write(statement: string, values: readonly unknown[]): Promise<QueryResult>;
  /** Runs one beside them. */
  read(statement: string): Promise<QueryResult>;
}

/** Resolves with the number of records that were removed. Rejects as the client does. */
export async function pruneRows(
  { write, read }: PruneConnections,
  { keepAfterKey, maxBytes }: Parameters<Journal['prune']>[0],
): Promise<number> {
  let removed = await removeAll(write, aged, [keepAfterKey]);
  const { rows } = await read('select coalesce(sum(bytes), 0) as bytes from agent_record');
  for (let excess = Number(rows[0]?.bytes) - maxBytes; excess > 0; ) {
    const gone = (await write(oldest, [excess])).rows;
    if (gone.length === 0) break;
    removed += gone.length;
    for (const { bytes } of gone) excess -= Number(bytes);
  }
  await removeAll(write, expired, []);
  return removed;
}

async function removeAll(
  write: PruneConnections['write'],
  statement: string,
  values: readonly unknown[],
): Promise<number> {
  for (let removed = 0; ; ) {
    const count = (await write(statement, values)).rowCount ?? 0;
    removed += count;
    if (count < pieceSize) return removed;
  }
}
