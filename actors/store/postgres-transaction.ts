/**
 * Writes a group of commits to Postgres in one transaction: locks the rows that they touch, has the ledger apply them, and
 * writes with one statement what changed. Finds the outcome of a transaction whose connection broke.
 * @see DUR-1 and SCA-1 in docs/specification.md
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { News, Rewrite, Write } from './journal.ts';
import {
  applied,
  type Change,
  type Columns,
  claimColumns,
  finishedColumns,
  markEnd,
  type RecordRow,
  recordColumns,
  selectRecords,
  touchedBy,
} from './postgres-rows.ts';
import { codeOf } from './postgres-schema.ts';
import { newsText, notifyAll } from './postgres-sessions.ts';
import type { Writer } from './postgres-writer.ts';
import { isLock } from './shared-claims.ts';
import { letters } from './tables.ts';
import { sessionOf } from './work-index.ts';

type Applied = ReturnType<typeof applied>;
export type Verdicts = Applied['verdicts'];

interface Judged {
  readonly writes: readonly Write[];
  readonly rewrite?: Rewrite | undefined;
}

const outcomePauseMs = 50;

/** The transaction and its time, then the claims and the records that commits touch, locked in the order of their keys. */
const lockRows = `with
  c as materialized (select name, value, expires_at from agent_claim where name = any($1) order by name for update),
  r as materialized (${selectRecords} where (collection, key) in (select * from unnest($2::text[], $3::text[]))
    order by collection, key for update)
  select null as collection, pg_current_xact_id()::text as key, null::int as version, agent_now() as due_at,
    null as held_by, null as value
  union all select 'claims', name, null, expires_at, null, value from c
  union all select * from r`;

/** JSON texts as one parameter, which Postgres splits in a fraction of the time that it needs for an array. */
const texts = (parameter: string): string => `string_to_array(${parameter}, '${markEnd}')`;

const insertRecords = `insert into agent_record select c, k, v, due, held, work, string_to_array(marks, '${markEnd}'), bytes, value
  from unnest($1::text[], $2::text[], $3::int[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::int[], ${texts('$9')})
    n(c, k, v, due, held, work, marks, bytes, value)`;

/** The parts of a transaction's single write. Only the needed ones are included, because each opens its table and indexes. */
const writeParts = {
  gone_r:
    'delete from agent_record r using unnest($1::text[], $2::text[]) g(c, k) where r.collection = c and r.key = k',
  gone_c: 'delete from agent_claim where name = any($1::text[])',
  new_r: `${insertRecords} on conflict do nothing returning 1`,
  /** Keys of events are unique, so a conflict is an error: `on conflict` would cost more. */
  event: insertRecords,
  new_c: `insert into agent_claim select * from unnest($1::text[], ${texts('$2')}, $3::bigint[], $4::text[])
    on conflict do nothing returning 1`,
  put_r: `update agent_record r set version = v, due_at = due, held_by = held, work = n.work, bytes = n.bytes, value = n.value,
      marks = case when c = 'e' then r.marks else '{}' end || string_to_array(n.marks, '${markEnd}')
    from unnest($1::text[], $2::text[], $3::int[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::int[], ${texts('$9')})
      n(c, k, v, due, held, work, marks, bytes, value) where r.collection = c and r.key = k`,
  put_c: `update agent_claim a set value = n.value, expires_at = n.ends, event_key = n.event
    from unnest($1::text[], ${texts('$2')}, $3::bigint[], $4::text[]) n(name, value, ends, event) where a.name = n.name`,
};

function writeRows(columns: Readonly<Record<keyof typeof writeParts, Columns>>) {
  const names = Object.keys(writeParts) as (keyof typeof writeParts)[];
  const needed = names.filter((name) => (columns[name][0]?.length ?? 0) > 0);
  const values: unknown[] = [];
  const parts = needed.map((name) => {
    const before = values.length;
    values.push(...columns[name]);
    return `${name} as (${writeParts[name].replace(/\$(\d+)/g, (_, n) => `$${before + Number(n)}`)})`;
  });
  const made = needed.filter((name) => name.startsWith('new')).map((name) => `(select count(*) from ${name})`);
  const text = `with ${parts.join(', ')} select ${['0', ...made].join(' + ')} as made`;
  return { name: `write_${needed.join('_')}`, text, values };
}

/**
 * The outcome of a transaction whose connection has ended: whether any of its writes is found, and the status of its id. The
 * id of a transaction that was lost in a crash of the database is reused, so the id alone proves no commit. An id that is not
 * assigned yet belongs to a lost transaction, because a commit on disk raises the next id above its own. The found rows are
 * locked, so that this query commits too, and waits for the standbys as the broken commit should have.
 */
const askOutcome = `with
  c as materialized (select a.name from agent_claim a join unnest($7::text[], ${texts('$8')}, $9::bigint[]) n(name, value, ends)
      using (name) where a.value = n.value and a.expires_at = ends order by a.name for update of a),
  r as materialized (select r.key from agent_record r
      join unnest($2::text[], $3::text[], $4::int[], $5::text[], ${texts('$6')}) n(c, k, v, held, value)
        on r.collection = c and r.key = k
      where r.version = v and r.held_by is not distinct from held and r.value = n.value
      order by r.collection, r.key for update of r)
  select (select count(*) from c) + (select count(*) from r) > 0 as is_found,
    case when $1::xid8 >= pg_snapshot_xmax(pg_current_snapshot()) then 'aborted' else pg_xact_status($1::xid8) end as status`;

/** Claims that are kept with removed events expire by their time from then on. */
const endByTime = `update agent_claim set event_key = null where event_key = any(($1::text[]) collate "C")`;

/**
 * Marks the events of finished or removed work. A plan that was made for empty tables would read all events and runs for each
 * commit, by the first column of their primary key: so that of the events is hidden, and each run is looked up by itself.
 */
const markEvents = `with u as materialized (
    select work, marks from unnest($1::text[], $2::text[], $3::bool[]) n(work, marks, of_run) where of_run or (
      select 1 from agent_record r where r.collection = 'r' and r.key = n.work limit 1) is null)
  update agent_record e set marks = e.marks || string_to_array(u.marks, '${markEnd}') from u
    where e.collection || '' = 'e' and e.work = any(array(select work from u)) and e.work = u.work`;

interface TransactionPorts {
  readonly writer: Writer;
  /** How long a commit whose connection broke waits for its outcome, in milliseconds. */
  readonly outcomeMs: number;
  /** Ends this wait. */
  readonly ending: AbortSignal;
  /** The outcome of a commit stays unknown, so this gateway cannot know what it holds. */
  readonly unsure: () => void;
}

export type Transact = (commits: readonly Judged[], takesForNew: boolean) => Promise<Verdicts>;

export function createTransact({ writer, outcomeMs, ending, unsure }: TransactionPorts): Transact {
  /**
   * Resolves once the commits are durable. Rejects if nothing of them was written, or if their outcome is unknown.
   * @param takesForNew skips the check of records that hardly ever exist; rejects as overtaken if one does
   */
  async function transact(commits: readonly Judged[], takesForNew: boolean): Promise<Verdicts> {
    const { names, records } = touchedBy(commits, takesForNew);
    await writer.query('begin');
    try {
      const columns = [names, records.map(([letter]) => letter), records.map(([, key]) => key)];
      const [current, ...standing] = (await writer.ask<RecordRow>('lock', lockRows, columns)).rows;
      const judged = applied(commits, standing, Number(current?.due_at));
      // A refused commit writes nothing, so its assumption that records are new would stay unchecked.
      if (takesForNew && judged.verdicts.some(({ verdict }) => verdict.kind !== 'committed')) throw overtook();
      const written = [...judged.made, ...judged.changed];
      if (written.length + judged.removed.length === 0) {
        await writer.query('commit');
      } else {
        await write(judged);
        await land(String(current?.key), written);
      }
      return judged.verdicts;
    } catch (thrown) {
      writer.endUnanswered(thrown);
      await writer.query('rollback').catch(() => {});
      throw thrown;
    }
  }

  /** Writes what changed, and what follows from it: the ends of claims, the marks of events, the news. */
  async function write({ made, changed, removed, keptWith }: Applied): Promise<void> {
    const isRecord = ({ at }: Change): boolean => at !== 'claims';
    const isEvent = ({ at }: Change): boolean => at === letters.events;
    const others = made.filter((change) => !isEvent(change));
    const gone = removed.filter(isRecord);
    const events = gone.filter(isEvent).map(({ key }) => key);
    if (events.length > 0) await writer.ask('end_by_time', endByTime, [events]);
    const { name, text, values } = writeRows({
      gone_r: [gone.map(({ at }) => at), gone.map(({ key }) => key)],
      gone_c: [removed.filter(({ at }) => at === 'claims').map(({ key }) => key)],
      new_r: recordColumns(others),
      event: recordColumns(made.filter(isEvent)),
      new_c: claimColumns(made, keptWith),
      put_r: recordColumns(changed),
      put_c: claimColumns(changed, keptWith),
    });
    const written = await writer.ask<{ made: string }>(name, text, values);
    if (Number(written.rows[0]?.made) !== others.length) throw overtook();
    const shown = finishedColumns([...made, ...changed], removed);
    if (shown[0].length > 0) await writer.ask('marks', markEvents, shown);
    const news = newsOf([...made, ...changed], removed);
    if (news.length > 0) await writer.ask('notify', notifyAll, [news.map(newsText)]);
  }

  /**
   * Commits. If the connection breaks, the outcome is queried once its server process is gone. If it stays unknown, this
   * gateway cannot know what it holds and begins a new session.
   */
  async function land(xid: string, written: readonly Change[]): Promise<void> {
    try {
      await writer.query('commit');
    } catch (thrown) {
      if (await writer.isRefused(thrown)) throw thrown;
      const outcome = await outcomeOf(xid, written);
      if (outcome === 'committed') return;
      if (outcome === 'unknown') unsure();
      throw thrown;
    }
  }

  async function outcomeOf(xid: string, written: readonly Change[]): Promise<'committed' | 'aborted' | 'unknown'> {
    const endsAtMs = performance.now() + outcomeMs;
    const [at, key, version, , heldBy, , , , value] = recordColumns(written);
    const [name, claim, endsAt] = claimColumns(written, new Map());
    for (; ; await sleep(outcomePauseMs)) {
      if ((await writer.connectAgain()) === undefined) {
        const values = [xid, at, key, version, heldBy, value, name, claim, endsAt];
        const asked = await writer.query(askOutcome, values).catch(() => undefined);
        const { is_found, status } = asked?.rows[0] ?? {};
        if (is_found === true) return 'committed';
        if (status === 'aborted') return status;
        // All its writes have been overwritten since, or its id was reused.
        if (status === 'committed') return 'unknown';
      }
      if (performance.now() >= endsAtMs || ending.aborted) return 'unknown';
    }
  }

  return transact;
}

/** A serialization failure, also used for other records that exist already; a deadlock; an event that exists already. */
const overtaken: ReadonlySet<string> = new Set(['40001', '40P01', '23505']);
const maxTries = 50;

/** Whether another gateway wrote the same records at the same time. */
export const isOvertaken = (thrown: unknown): boolean => overtaken.has(codeOf(thrown));

const overtook = (): Error => Object.assign(new Error('the same records were written before'), { code: '40001' });

/** Works again as long as it is overtaken. */
export async function unlessOvertaken<Value>(work: () => Promise<Value>): Promise<Value> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (thrown) {
      if (tries === maxTries || !isOvertaken(thrown)) throw thrown;
    }
  }
}

function newsOf(changes: readonly Change[], removed: readonly { readonly at: string; readonly key: string }[]): News[] {
  const isFree =
    changes.some(
      ({ at, row }) => at !== 'claims' && row.dueAtMs !== undefined && sessionOf(row.heldBy) === undefined,
    ) || removed.some(({ at, key }) => at === 'claims' && isLock(key));
  const ended = changes.filter(
    ({ at, row }) => at === 'd' && row.dueAtMs === undefined && row.value?.answerByMs !== undefined,
  );
  return [...(isFree ? (['work'] as const) : []), ...ended.map(({ key }): News => ({ ended: key }))];
}
