/**
 * The journal in a Postgres database. Commits that arrive while a group is under way share the next one: one transaction
 * locks the rows they touch, the ledger applies them, one statement writes what changed. Any number of gateways write at the
 * same time.
 * @see DUR-1 and SCA-1 in docs/specification.md
 */

import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, Pool } from 'pg';
import { causeOf, done, type Fault, failed, fault, type Result } from '../../machines/base/fault.ts';
import type { Json } from '../../machines/base/json.ts';
import type { Anew, Collection, CommitVerdict, Journal, News, Settled, StoredRecord, Taken, Write } from './journal.ts';
import { unstorable } from './ledger.ts';
import { type PruneConnections, pruneRows } from './postgres-prune.ts';
import {
  answerTimeoutMs,
  type Backend,
  backendOf,
  clientUrl,
  connectTimeoutMs,
  createTurns,
  endBackend,
  endUnanswered,
  isAnswer,
  leave,
  reach,
  refuseLentProcess,
} from './postgres-reach.ts';
import {
  applied,
  type Change,
  type ClaimRow,
  type Columns,
  claimColumns,
  claimName,
  finishedColumns,
  isNewEvent,
  isRowKey,
  markEnd,
  markName,
  type RecordRow,
  recordColumns,
  recordOf,
  touchedBy,
} from './postgres-rows.ts';
import {
  checkUse,
  codeOf,
  type Migrated,
  migrateSchema,
  NoAnswer,
  placeOf,
  postgresFault,
  prepareSchema,
  useLock,
} from './postgres-schema.ts';
import { createSessions, newsText, tellAll } from './postgres-sessions.ts';
import { weightOf } from './record-bytes.ts';
import { sessionEnded } from './sessions.ts';
import { isLock } from './shared-claims.ts';
import { letters, tellUncaught } from './tables.ts';

type Verdicts = ReturnType<typeof applied>['verdicts'];

interface Commit {
  readonly writes: readonly Write[];
  readonly settled: Settled;
  readonly anew?: Anew | undefined;
  readonly bytes: number;
}

/** Commits of one transaction; it is closed after the commit that reaches the size. */
const groupSize = 400;
const groupBytes = 8 * 1024 * 1024;
/** A group whose connection broke may have been too large for a slow database: the next ones are half as large, down to this. */
const leastGroupBytes = 256 * 1024;
/** Takes a slow database ten seconds, for which most senders wait. */
const defaultWaitingBytes = 192 * 1024 * 1024;
/** After a record that was assumed to be new existed, so many groups check first. */
const carefulGroups = 10;
/**
 * A transaction costs the database some hundred microseconds even if it writes little. After a group of this size the next
 * commits are gathered as long as they keep arriving: that more than halves the transactions, and gateways wait less often
 * for each other's rows.
 */
const busyGroup = 8;
const gatherMs = 1;
const mostGatherMs = 5;
/** How long exclusive use waits: the lock of a killed gateway is released with its connection. */
const alonePatienceMs = 1_000;
const alonePauseMs = 100;
/** How long a query of a copy waits for its answer: a slow link carries a group of large records in minutes. */
const aloneAnswerMs = 300_000;
/**
 * How long a gateway that is stopped within a transaction keeps its row locks. A message that arrives slowly counts as a
 * stop, so a copy, whose locks hinder no other, has no limit.
 */
const idleInTransactionMs = 8_000;
/** How long a commit whose connection broke waits for its outcome. */
const outcomePatienceMs = 5_000;
/** Other gateways consider a session ended soon after this time. */
const sessionAnswerMs = 3_000;
/** The time limit of a prune's statement, as a multiple of the usual one. */
const prunePatience = 6;
const outcomePauseMs = 50;
/** Cannot be compressed, so it takes several pages. */
const fillingBytes = 64 * 1024;
const fullCode = 'journal-full';

const select = `select collection, key, version, due_at, held_by, value from agent_record`;
/** The transaction and its time, then the claims and the records that commits touch, locked in the order of their keys. */
const lockRows = `with
  c as materialized (select name, value, expires_at from agent_claim where name = any($1) order by name for update),
  r as materialized (${select} where (collection, key) in (select * from unnest($2::text[], $3::text[]))
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

/** A run is taken with its deliveries in one statement, so that no other gateway gets some of them. */
const takeRows = (holder: string): string => `with
  free as (
    select collection, key, held_by from agent_record f where collection = $2 and due_at <= $3
      and exists (select 1 from agent_session where id = $1 and expires_at > agent_now())
      and (${holder})
      and not (collection = 'd' and work is not null and exists (
        select 1 from agent_record w where w.collection = 'r' and w.key = f.work and w.due_at is not null))
    order by due_at, key limit $4 for update skip locked),
  taken as (select * from free union all
    select d.collection, d.key, d.held_by from agent_record d join free f on f.collection = 'r' and d.collection = 'd' and d.work = f.key
      and d.due_at is not null and (d.key = f.key or starts_with(d.key, f.key || '~')))
  update agent_record r set version = r.version + 1, held_by = $1 from taken t
  where r.collection = t.collection and r.key = t.key
  returning r.collection, r.key, r.version, r.due_at, r.held_by, r.value, nullif(t.held_by, $1) as held_before`;
const takeFree = takeRows(
  'held_by is null or not exists (select 1 from agent_session where id = held_by and expires_at > agent_now())',
);
const takeOwn = takeRows('held_by = $1');

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

const markEvents = `update agent_record e set marks = e.marks || string_to_array(u.marks, '${markEnd}')
  from unnest($1::text[], $2::text[], $3::bool[]) u(work, marks, of_run)
  where e.collection = 'e' and e.work = u.work and (u.of_run or not exists (
    select 1 from agent_record r where r.collection = 'r' and r.key = u.work))`;

export interface PostgresJournalSettings {
  /** A connection URL. Its password is a secret, so no fault contains it. */
  readonly url: string;
  /** Connections for reading. */
  readonly pool?: number;
  /** Exclusive use, for a copy: no gateway may use the database meanwhile. */
  readonly alone?: boolean;
  /** How long a commit whose connection broke waits for its outcome, in milliseconds. */
  readonly outcomeMs?: number;
  /** A connection counts as broken if a query has no answer for so many milliseconds. */
  readonly answerMs?: number;
  /** Events are refused while more bytes than this wait to be written. */
  readonly waitingBytes?: number;
  /** Called when the writing connection has ended; a `probe` replaces it. */
  readonly cut?: () => void;
}

interface Database extends Required<PostgresJournalSettings> {
  readonly place: string;
}

/**
 * Opens the journal and creates its tables if there are none. Fails with `journal-in-use` if `alone` is set and a gateway
 * uses the database, or if another process has exclusive use of it.
 */
export async function openPostgresJournal(settings: PostgresJournalSettings): Promise<Result<Journal>> {
  const database: Database = {
    pool: 4,
    alone: false,
    outcomeMs: outcomePatienceMs,
    answerMs: settings.alone === true ? aloneAnswerMs : answerTimeoutMs,
    waitingBytes: defaultWaitingBytes,
    cut() {},
    ...settings,
    place: placeOf(settings.url),
  };
  const writer = await connect(database);
  return writer.ok ? done(createPostgresJournal(database, writer.value)) : writer;
}

/** Migrates the tables of an earlier release to this one; fails while a gateway uses them. */
export async function migratePostgresJournal(url: string): Promise<Result<Migrated>> {
  const place = placeOf(url);
  let client: Client | undefined;
  try {
    client = await reach(url, 0);
    await refuseLentProcess(client, url, place);
    return await migrateSchema(client, place);
  } catch (thrown) {
    return { ok: false, fault: postgresFault(place, thrown) };
  } finally {
    void client?.end().catch(() => {});
  }
}

/** Gateways share an advisory lock while they are connected. */
async function mayUse(client: Client, alone: boolean): Promise<boolean> {
  const endsAtMs = performance.now() + (alone ? alonePatienceMs : 0);
  for (;;) {
    const { rows } = await client.query(`select pg_try_advisory_lock${alone ? '' : '_shared'}(${useLock}) as may`);
    if (rows[0]?.may === true || performance.now() >= endsAtMs) return rows[0]?.may === true;
    await sleep(alonePauseMs);
  }
}

interface Writer {
  readonly client: Client;
  readonly backend: Backend;
}

/** Makes the writing connection, and ends the server process of the earlier one. */
async function connect({ url, place, alone, answerMs }: Database, earlier?: Backend): Promise<Result<Writer>> {
  let client: Client | undefined;
  try {
    client = await reach(url, answerMs);
    if (earlier === undefined) await refuseLentProcess(client, url, place);
    const obstacle = await prepareSchema(client, place);
    if (obstacle !== undefined) {
      await client.end();
      return { ok: false, fault: obstacle };
    }
    await checkUse(client);
    if (earlier !== undefined && !(await endBackend(client, earlier))) {
      throw new Error('an earlier connection of this gateway does not end there');
    }
    if (!(await mayUse(client, alone))) {
      await client.end();
      return failed(
        'journal-in-use',
        alone
          ? `${place}: a gateway uses this database; stop it first`
          : `${place}: \`agent journal copy\` uses this database; the gateway opens it when that has ended`,
      );
    }
    // Sequential scans are off, because a plan that was made for empty tables would scan them for ever. The remaining plans
    // look expensive to Postgres, which would spend a quarter of a second on compiling a prune, and replan each commit.
    await client.query(
      `set enable_seqscan = off; set jit = off; set plan_cache_mode = force_generic_plan;
        set idle_in_transaction_session_timeout = ${alone ? 0 : idleInTransactionMs}`,
    );
    return done({ client, backend: await backendOf(client) });
  } catch (thrown) {
    void client?.end().catch(() => {});
    return { ok: false, fault: postgresFault(place, thrown) };
  }
}

function createPostgresJournal(database: Database, first: Writer): Journal {
  const { url, place, outcomeMs, answerMs } = database;
  const closedFault = fault('journal-unavailable', `${place}: the journal is closed; nothing can be acknowledged`);
  const busyFault = fault(
    'journal-unavailable',
    `${place}: more than ${Math.round(database.waitingBytes / 1024 ** 2)} MB of events wait to be written; send them again later, or use a faster database`,
  );
  const pool = new Pool({
    connectionString: clientUrl(url),
    max: database.pool,
    // Reads that wait for a free connection have to wait for the answers of earlier ones.
    connectionTimeoutMillis: Math.max(connectTimeoutMs, answerMs),
    query_timeout: answerMs,
    // One that was cut off without a word does not keep the process from ending.
    allowExitOnIdle: true,
  });
  pool.on('error', () => {});
  const sessions = createSessions({ url, place, answerMs: Math.min(answerMs, sessionAnswerMs) });
  let { client: writer, backend } = first;
  noticeEnd(writer);
  let stopped: Fault | undefined;
  let closing: Promise<void> | undefined;
  const ending = new AbortController();
  let waiting: (readonly Commit[])[] = [];
  let underWay: Promise<void> | undefined;
  let gathered: Commit[] | undefined;
  /** So many further groups assume nothing to be new. */
  let looksFor = 0;
  let lastGroupSize = 0;
  let groupLimit = groupBytes;
  /** Of the commits that wait and of those under way. */
  let waitingBytes = 0;
  /** Collections of which a `take` without an answer may have taken records. */
  const doubted = new Set<Collection>();
  /** Other writes, in turn with the commits, on the one writing connection. */
  const inTurn = createTurns();

  /** An idle connection would otherwise be replaced only after a commit was refused. */
  function noticeEnd(client: Client): void {
    client.once('end', () => client === writer && closing === undefined && database.cut());
  }

  /** Replaces the writing connection; resolves with the fault if that fails. */
  async function connectAgain(): Promise<Fault | undefined> {
    void writer.end().catch(() => {});
    const again = await connect(database, backend);
    if (!again.ok) return again.fault;
    ({ client: writer, backend } = again.value);
    noticeEnd(writer);
    return undefined;
  }

  /** Works on the writing connection; a permanent error stops the journal until a probe. */
  function asked<Value>(work: () => Promise<Value>, unsure: () => void): Promise<Result<Value>> {
    return inTurn(async () => {
      if (stopped !== undefined) return { ok: false, fault: stopped } as const;
      try {
        return done(await unlessOvertaken(work));
      } catch (thrown) {
        if (!(await isRefused(thrown))) unsure();
        endUnanswered(writer, thrown);
        stopped = postgresFault(place, thrown);
        return { ok: false, fault: stopped } as const;
      }
    });
  }

  async function ofSessions<Value>(work: () => Promise<Value>): Promise<Result<Value>> {
    if (closing !== undefined) return { ok: false, fault: closedFault };
    try {
      return done(await unlessOvertaken(work));
    } catch (thrown) {
      return { ok: false, fault: closing === undefined ? postgresFault(place, thrown) : closedFault };
    }
  }

  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      if (lastGroupSize >= busyGroup) await gather();
      await inTurn(landGroup);
    }
    underWay = undefined;
  }

  async function gather(): Promise<void> {
    for (let waitedMs = 0, before = -1; waitedMs < mostGatherMs && waiting.length > before; waitedMs += gatherMs) {
      before = waiting.length;
      await sleep(gatherMs);
    }
  }

  async function landGroup(): Promise<void> {
    let size = 0;
    let taken = 0;
    let bytes = 0;
    while (taken < waiting.length && size < groupSize && bytes < groupLimit) {
      const together = waiting[taken++] ?? [];
      size += together.length;
      bytes += bytesOf(together);
    }
    const parts = waiting.slice(0, taken);
    waiting = waiting.slice(taken);
    lastGroupSize = size;
    const verdicts = stopped === undefined ? await judgedApart(parts) : [];
    if (stopped === undefined) groupLimit = Math.min(groupBytes, 2 * groupLimit);
    waitingBytes -= bytes;
    const refused: CommitVerdict = { kind: 'unavailable', fault: stopped ?? closedFault };
    for (const [index, one] of parts.flat().entries()) {
      const { judged, verdict } = verdicts[index] ?? { judged: one.writes, verdict: refused };
      tellUncaught(() => one.settled(verdict, judged));
    }
  }

  /**
   * Never rejects. If the database does not accept a value, the commits that are not submitted with it are written without
   * it. Another error sets `stopped`; the returned verdicts then end with the last part that is durable or refused.
   */
  async function judgedApart(parts: readonly (readonly Commit[])[]): Promise<Verdicts> {
    try {
      return await judged(parts.flat());
    } catch (thrown) {
      if (!isOfData(thrown)) {
        if (!isAnswer(thrown)) groupLimit = Math.max(leastGroupBytes, groupLimit / 2);
        stopped = postgresFault(place, thrown);
        return [];
      }
      const [first = [], ...others] = parts;
      if (others.length === 0) {
        const why = `${place}: the database does not accept a value of this commit (${causeOf(thrown)})`;
        const verdict = { kind: 'unavailable', fault: fault('internal-error', why), alone: true } as const;
        return first.map(({ writes }) => ({ judged: writes, verdict }));
      }
      const verdicts: Verdicts = [];
      for (const part of parts) {
        verdicts.push(...(await judgedApart([part])));
        if (stopped !== undefined) break;
      }
      return verdicts;
    }
  }

  /** If another gateway wrote the same records at the same time, the commits are judged again by its rows. */
  async function judged(commits: readonly Commit[]): Promise<Verdicts> {
    if (looksFor > 0) looksFor -= 1;
    else {
      try {
        return await transact(commits, true);
      } catch (thrown) {
        if (!overtaken.has(codeOf(thrown))) throw thrown;
        looksFor = carefulGroups;
      }
    }
    return unlessOvertaken(() => transact(commits, false));
  }

  /**
   * Resolves once the commits are durable. Rejects if nothing of them was written, or if their outcome is unknown.
   * @param takesForNew skips the check of records that hardly ever exist; rejects with an \`overtaken\` code if one does
   */
  async function transact(commits: readonly Commit[], takesForNew: boolean): Promise<Verdicts> {
    const { names, records } = touchedBy(commits, takesForNew);
    await writer.query('begin');
    try {
      const columns = [names, records.map(([letter]) => letter), records.map(([, key]) => key)];
      const [current, ...standing] = (await ask<RecordRow>('lock', lockRows, columns)).rows;
      const nowMs = Number(current?.due_at);
      const { verdicts, made, changed, removed, keptWith } = applied(commits, standing, nowMs);
      // A refused commit writes nothing, so its assumption that records are new would stay unchecked.
      if (takesForNew && verdicts.some(({ verdict }) => verdict.kind !== 'committed')) throw overtook();
      if (made.length + changed.length + removed.length === 0) {
        await writer.query('commit');
      } else {
        const isRecord = ({ at }: Change): boolean => at !== 'claims';
        const isEvent = ({ at }: Change): boolean => at === letters.events;
        const others = made.filter((change) => !isEvent(change));
        const gone = removed.filter(isRecord);
        const events = gone.filter(isEvent).map(({ key }) => key);
        if (events.length > 0) await ask('end_by_time', endByTime, [events]);
        const { name, text, values } = writeRows({
          gone_r: [gone.map(({ at }) => at), gone.map(({ key }) => key)],
          gone_c: [removed.filter(({ at }) => at === 'claims').map(({ key }) => key)],
          new_r: recordColumns(others),
          event: recordColumns(made.filter(isEvent)),
          new_c: claimColumns(made, keptWith),
          put_r: recordColumns(changed),
          put_c: claimColumns(changed, keptWith),
        });
        const written = await ask<{ made: string }>(name, text, values);
        if (Number(written.rows[0]?.made) !== others.length) throw overtook();
        const shown = finishedColumns([...made, ...changed], removed);
        if (shown[0].length > 0) await ask('marks', markEvents, shown);
        const news = newsOf([...made, ...changed], removed);
        if (news.length > 0) await ask('tell', tellAll, [news.map(newsText)]);
        await land(String(current?.key), [...made, ...changed]);
      }
      return verdicts;
    } catch (thrown) {
      endUnanswered(writer, thrown);
      await writer.query('rollback').catch(() => {});
      throw thrown;
    }
  }

  function ask<Found extends object = Record<string, unknown>>(
    name: string,
    text: string,
    values: readonly unknown[] = [],
  ): Promise<{ rows: Found[] }> {
    return writer.query<Found>({ name: `agent_${name}`, text, values: [...values] });
  }

  /**
   * Whether the database answered that nothing was done. A server that panics, and a pooler that has lost its server, answer
   * too before they close the connection, although the commit may be on disk.
   */
  async function isRefused(thrown: unknown): Promise<boolean> {
    return isAnswer(thrown) && (await writer.query('rollback').then(...always));
  }

  /**
   * Commits. If the connection breaks, the outcome is queried once its server process is gone. If it stays unknown, this
   * gateway cannot know what it holds and begins a new session.
   */
  async function land(xid: string, written: readonly Change[]): Promise<void> {
    try {
      await writer.query('commit');
    } catch (thrown) {
      if (await isRefused(thrown)) throw thrown;
      const outcome = await outcomeOf(xid, written);
      if (outcome === 'committed') return;
      if (outcome === 'unknown') sessions.disown();
      throw thrown;
    }
  }

  async function outcomeOf(xid: string, written: readonly Change[]): Promise<'committed' | 'aborted' | 'unknown'> {
    const endsAtMs = performance.now() + outcomeMs;
    const [at, key, version, , heldBy, , , , value] = recordColumns(written);
    const [name, claim, endsAt] = claimColumns(written, new Map());
    for (; ; await sleep(outcomePauseMs)) {
      if ((await connectAgain()) === undefined) {
        const values = [xid, at, key, version, heldBy, value, name, claim, endsAt];
        const asked = await writer.query(askOutcome, values).catch(() => undefined);
        const { is_found, status } = asked?.rows[0] ?? {};
        if (is_found === true) return 'committed';
        if (status === 'aborted') return status;
        // All its writes have been overwritten since, or its id was reused.
        if (status === 'committed') return 'unknown';
      }
      if (performance.now() >= endsAtMs || ending.signal.aborted) return 'unknown';
    }
  }

  /** Refuses all of the commits if their events do not fit beside those that wait. */
  function submitAll(commits: readonly Commit[]): void {
    const bytes = bytesOf(commits);
    const isOver = waitingBytes > 0 && waitingBytes + bytes > database.waitingBytes;
    if (isOver && commits.some(({ writes }) => writes.some(isNewEvent))) {
      const verdict = { kind: 'unavailable', fault: busyFault, alone: true } as const;
      for (const { settled, writes } of commits) tellUncaught(() => settled(verdict, writes));
      return;
    }
    waiting.push(commits);
    waitingBytes += bytes;
    underWay ??= drain();
  }

  function submit(writes: readonly Write[], settled: Settled, anew?: Anew): void {
    // A single such key would fail all commits of its group.
    const obstacle = unstorable(writes, isRowKey);
    const bytes = writes.reduce((sum, write) => sum + ('value' in write ? weightOf(write.value as Json) : 0), 0);
    if (obstacle !== undefined)
      settled({ kind: 'unavailable', fault: fault('internal-error', `journal: ${obstacle}`), alone: true }, writes);
    else if (closing !== undefined) settled({ kind: 'unavailable', fault: closedFault }, writes);
    else if (gathered === undefined) submitAll([{ writes, settled, anew, bytes }]);
    else gathered.push({ writes, settled, anew, bytes });
  }

  async function read<Row extends object>(name: string, text: string, values: readonly unknown[]): Promise<Row[]> {
    if (closing !== undefined) return [];
    try {
      const { rows } = await pool.query<Row>({ name: `agent_${name}`, text, values: [...values] });
      return rows;
    } catch (thrown) {
      throw isAnswer(thrown) ? thrown : new NoAnswer(place, thrown);
    }
  }

  async function probe(): Promise<Fault | undefined> {
    const isWell = stopped === undefined && (await writer.query('select 1').then(...always));
    const fault = isWell ? undefined : ((await connectAgain()) ?? (await noRoom()));
    if (fault === undefined) stopped = undefined;
    return fault;
  }

  /** After the disk was full, resolves with the fault if pages of a table cannot be added; the claim expires at once. */
  async function noRoom(): Promise<Fault | undefined> {
    if (stopped?.code !== fullCode) return undefined;
    const value = { filling: randomBytes(fillingBytes).toString('base64') };
    const write: Write = { kind: 'claim', name: `probe/${randomUUID()}`, value, forMs: 1 };
    try {
      await transact([{ writes: [write], settled() {}, bytes: fillingBytes }], false);
      return undefined;
    } catch (thrown) {
      return postgresFault(place, thrown);
    }
  }

  async function take<In extends Collection>(
    collection: In,
    { session, dueBeforeMs, limit }: Parameters<Journal['take']>[1],
  ): Promise<Result<Taken<In>[]>> {
    if (limit <= 0) return done([]);
    // Records of a lost answer are taken again; those that already have an actor here are skipped by the caller.
    const isAgain = doubted.has(collection);
    const take = async () => {
      const living = await ask('living', 'select 1 from agent_session where id = $1 and expires_at > agent_now()', [
        session,
      ]);
      if (living.rows.length === 0) return undefined;
      const taken = async (name: string, text: string, most: number) => {
        const values = [session, letters[collection], Math.floor(dueBeforeMs), most];
        return (await ask<RecordRow & { readonly held_before: string | null }>(name, text, values)).rows;
      };
      const rows = isAgain ? await taken('take_own', takeOwn, mostRows) : [];
      rows.push(...(await taken('take', takeFree, limit)));
      const of = new Map<unknown, StoredRecord<'deliveries'>[]>();
      for (const row of rows.filter(({ collection: at }) => at !== letters[collection])) {
        const delivery = recordOf<'deliveries'>(row);
        const run = delivery.value.runKey;
        of.set(run, [...(of.get(run) ?? []), delivery]);
      }
      return rows
        .filter(({ collection: at }) => at === letters[collection])
        .map((row): Taken<In> => {
          const deliveries = of.get(row.key);
          return {
            ...recordOf<In>(row),
            ...(row.held_before === null ? {} : { from: row.held_before }),
            ...(deliveries === undefined ? {} : { deliveries: deliveries.sort(byKey) }),
          };
        })
        .sort(byDueTime);
    };
    const taken = await asked(take, () => doubted.add(collection));
    if (!taken.ok) return taken;
    if (taken.value !== undefined) doubted.delete(collection);
    return taken.value === undefined ? sessionEnded(session) : done(taken.value);
  }

  const pruning: PruneConnections = {
    write: (statement, values) =>
      inTurn(async () => {
        try {
          const question = { text: statement, values: [...values], query_timeout: prunePatience * answerMs };
          return await unlessOvertaken(() => writer.query(question));
        } catch (thrown) {
          endUnanswered(writer, thrown);
          throw thrown;
        }
      }),
    read(statement, values = []) {
      const question = { text: statement, values: [...values], query_timeout: prunePatience * answerMs };
      return pool.query(question);
    },
  };

  return {
    openSession: (owner, ttlMs) => ofSessions(() => sessions.open(owner, ttlMs)),
    async renewSession(session, ttlMs) {
      const renewed = await ofSessions(() => sessions.renew(session, ttlMs));
      if (!renewed.ok) return renewed;
      return renewed.value === undefined ? sessionEnded(session) : done({ nowMs: renewed.value });
    },
    endSession: (session) => ofSessions(() => sessions.end(session).then(() => true as const)),
    reap: () => ofSessions(sessions.reap),
    living: () => ofSessions(sessions.living),
    lostMs: sessions.lostMs,
    watch: sessions.watch,
    submit,
    commit: (writes) => new Promise((resolve) => submit(writes, resolve)),
    together(submitThem) {
      const commits: Commit[] = [];
      gathered = commits;
      try {
        submitThem();
      } finally {
        gathered = undefined;
      }
      if (commits.length > 0) submitAll(commits);
    },

    async get<In extends Collection>(collection: In, key: string) {
      if (!isRowKey(key)) return undefined;
      const [row] = await read<RecordRow>('get', `${select} where collection = $1 and key = $2`, [
        letters[collection],
        key,
      ]);
      return row && recordOf<In>(row);
    },
    async list<In extends Collection>(collection: In, { limit, order, from }: Parameters<Journal['list']>[1]) {
      if (limit <= 0 || (from !== undefined && !isRowKey(from))) return [];
      const [sign, direction, edge] = order === 'newest' ? ['<', 'desc', afterAll] : ['>', 'asc', ''];
      const rows = await read<RecordRow>(
        `list_${order}`,
        `${select} where collection = $1 and key ${sign} $2 order by key ${direction} limit $3`,
        [letters[collection], from ?? edge, bounded(limit)],
      );
      return rows.map((row) => recordOf<In>(row));
    },
    async marked<In extends Collection>(collection: In, { marks, limit, from }: Parameters<Journal['marked']>[1]) {
      if (limit <= 0 || (from !== undefined && !isRowKey(from))) return [];
      const rows = await read<RecordRow>(
        'marked',
        `${select} where collection = $1 and key < $2 and marks @> $3::text[] order by key desc limit $4`,
        [letters[collection], from ?? afterAll, marks.map(markName), bounded(limit)],
      );
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
      const [row] = await read<ClaimRow>(
        'claimed',
        'select name, value, expires_at from agent_claim where name = $1 and expires_at > agent_now()',
        [claimName(name)],
      );
      return row && JSON.parse(row.value);
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
    take,
    async prune(query, goesOn) {
      if (closing !== undefined) return { ok: false, fault: closedFault };
      try {
        return done(await pruneRows(pruning, query, goesOn));
      } catch (thrown) {
        return { ok: false, fault: postgresFault(place, thrown) };
      }
    },
    probe: () => (closing === undefined ? inTurn(probe) : Promise.resolve(closedFault)),
    close() {
      ending.abort();
      closing ??= (async () => {
        await underWay;
        await inTurn(async () => {});
        stopped = closedFault;
        await Promise.allSettled([leave(writer), pool.end(), sessions.close()]);
      })();
      return closing;
    },
  };
}

const bytesOf = (commits: readonly Commit[]): number => commits.reduce((sum, { bytes }) => sum + bytes, 0);

/** Sorts after every key. */
const afterAll = '\u{10ffff}';
const mostRows = 1_000_000_000;
const bounded = (limit: number): number => Math.min(limit, mostRows);
/** A serialization failure, also used for other records that exist already; a deadlock; an event that exists already. */
const overtaken: ReadonlySet<string> = new Set(['40001', '40P01', '23505']);
const mostTries = 50;

/** A data exception, or a limit that a value exceeds: the value, not the database, is at fault. */
const isOfData = (thrown: unknown): boolean => /^(22|54)...$/.test(codeOf(thrown));

const overtook = (): Error => Object.assign(new Error('the same records were written before'), { code: '40001' });

async function unlessOvertaken<Value>(work: () => Promise<Value>): Promise<Value> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (thrown) {
      if (tries === mostTries || !overtaken.has(codeOf(thrown))) throw thrown;
    }
  }
}

function newsOf(changes: readonly Change[], removed: readonly { readonly at: string; readonly key: string }[]): News[] {
  const isFree =
    changes.some(({ at, row }) => at !== 'claims' && row.dueAtMs !== undefined && row.heldBy === undefined) ||
    removed.some(({ at, key }) => at === 'claims' && isLock(key));
  const ended = changes.filter(
    ({ at, row }) => at === 'd' && row.dueAtMs === undefined && row.value?.answerByMs !== undefined,
  );
  return [...(isFree ? (['work'] as const) : []), ...ended.map(({ key }): News => ({ ended: key }))];
}
const always = [() => true, () => false] as const;

function byKey(one: StoredRecord, other: StoredRecord): number {
  return one.key < other.key ? -1 : 1;
}

function byDueTime(one: StoredRecord, other: StoredRecord): number {
  return (one.dueAtMs ?? 0) - (other.dueAtMs ?? 0) || (one.key < other.key ? -1 : 1);
}
