/**
 * The journal in a Postgres database, to which any number of gateways write at the same time.
 * @see DUR-1 and SCA-1 in docs/specification.md
 */

import { randomBytes, randomUUID } from 'node:crypto';
import { type Client, Pool } from 'pg';
import { done, type Fault, fault, type Result } from '../../machines/base/fault.ts';
import type { Journal, Rewrite, Settled, Write } from './journal.ts';
import { unstorable } from './ledger.ts';
import { createGroups } from './postgres-groups.ts';
import { type PruneConnections, pruneRows } from './postgres-prune.ts';
import {
  answerTimeoutMs,
  clientUrl,
  connectTimeoutMs,
  createQueryTurns,
  ownLimits,
  reach,
  refuseLentProcess,
} from './postgres-reach.ts';
import { createReads } from './postgres-reads.ts';
import { claimName, isRowKey } from './postgres-rows.ts';
import { type Migrated, migrateSchema, placeOf, postgresFault } from './postgres-schema.ts';
import { createPostgresSessions } from './postgres-sessions.ts';
import { createTake } from './postgres-take.ts';
import { createTransact, unlessOvertaken } from './postgres-transaction.ts';
import { openWriter, type Writer } from './postgres-writer.ts';
import { sessionEnded } from './sessions.ts';

/** Takes a slow database ten seconds, for which most senders wait. */
const defaultWaitingBytes = 192 * 1024 * 1024;
/** How long a query of a copy waits for its answer: a slow link carries a group of large records in minutes. */
const aloneAnswerMs = 300_000;
/** How long a commit whose connection broke waits for its outcome. */
const outcomePatienceMs = 5_000;
/** Other gateways consider a session ended soon after this time. */
const sessionAnswerMs = 3_000;
/** The time limit of a prune's statement, as a multiple of the usual one. */
const prunePatience = 6;
/** Cannot be compressed, so it takes several pages. */
const fillingBytes = 64 * 1024;
const fullCode = 'journal-full';

interface PostgresJournalSettings {
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
  const writer = await openWriter(database);
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

function createPostgresJournal(database: Database, writer: Writer): Journal {
  const { url, place, outcomeMs, answerMs } = database;
  const closedFault = fault('journal-unavailable', `${place}: the journal is closed; nothing can be acknowledged`);
  const pool = new Pool({
    connectionString: clientUrl(url),
    max: database.pool,
    // Reads that wait for a free connection have to wait for the answers of earlier ones.
    connectionTimeoutMillis: Math.max(connectTimeoutMs, answerMs),
    query_timeout: answerMs,
    // Each query has an index; a plan that was made for empty tables would not use it.
    onConnect: (client) => client.query(`set enable_seqscan = off; set jit = off; ${ownLimits}`),
    // An idle connection that was cut silently must not keep the process from ending.
    allowExitOnIdle: true,
  });
  pool.on('error', () => {});
  const sessions = createPostgresSessions({
    url,
    place,
    answerMs: Math.min(answerMs, sessionAnswerMs),
    setBack: () => taking.doubt(),
  });
  let stopped: Fault | undefined;
  let closing: Promise<void> | undefined;
  const ending = new AbortController();
  writer.watchEnd(() => closing === undefined && database.cut());
  const transact = createTransact({ writer, outcomeMs, ending: ending.signal, unsure: sessions.disown });
  /** The commits and all other writes have the one writing connection in turn. */
  const inTurn = createQueryTurns();
  const groups = createGroups({
    place,
    maxBytes: database.waitingBytes,
    transact,
    inTurn,
    stopped: () => stopped,
    stop: (thrown) => {
      stopped = postgresFault(place, thrown);
    },
    closed: closedFault,
  });

  /** Works on the writing connection; a permanent error stops the journal until a probe. */
  function asked<Value>(work: () => Promise<Value>, unsure: () => void): Promise<Result<Value>> {
    return inTurn(async () => {
      if (stopped !== undefined) return { ok: false, fault: stopped } as const;
      try {
        return done(await unlessOvertaken(work));
      } catch (thrown) {
        if (!(await writer.isRefused(thrown))) unsure();
        writer.endUnanswered(thrown);
        stopped = postgresFault(place, thrown);
        return { ok: false, fault: stopped } as const;
      }
    });
  }

  const taking = createTake(writer, asked);

  async function ofSessions<Value>(work: () => Promise<Value>): Promise<Result<Value>> {
    if (closing !== undefined) return { ok: false, fault: closedFault };
    try {
      return done(await unlessOvertaken(work));
    } catch (thrown) {
      return { ok: false, fault: closing === undefined ? postgresFault(place, thrown) : closedFault };
    }
  }

  function submit(writes: readonly Write[], settled: Settled, rewrite?: Rewrite): void {
    // A single such key would fail all commits of its group.
    const obstacle = unstorable(writes, isRowKey);
    if (obstacle !== undefined)
      settled({ kind: 'unavailable', fault: fault('internal-error', `journal: ${obstacle}`), alone: true }, writes);
    else if (closing !== undefined) settled({ kind: 'unavailable', fault: closedFault }, writes);
    else groups.submit(writes, settled, rewrite);
  }

  async function probe(): Promise<Fault | undefined> {
    const isWell = stopped === undefined && (await writer.isWell());
    const fault = isWell ? undefined : ((await writer.connectAgain()) ?? (await noCommit()));
    // Commits are refused for the latest reason. Whether there is room again is asked once there is a connection.
    if (stopped?.code !== fullCode || fault === undefined) stopped = fault;
    return fault;
  }

  /**
   * After commits have failed, resolves with the fault if another one fails: the disk may be full, so it needs pages of a
   * table, or a standby may not confirm it. The claim expires at once.
   */
  async function noCommit(): Promise<Fault | undefined> {
    if (stopped === undefined) return undefined;
    const value = JSON.stringify({ filling: randomBytes(fillingBytes).toString('base64') });
    try {
      await writer.query('insert into agent_claim values ($1, $2, agent_now() + 1)', [
        claimName(`probe/${randomUUID()}`),
        value,
      ]);
      return undefined;
    } catch (thrown) {
      writer.endUnanswered(thrown);
      return postgresFault(place, thrown);
    }
  }

  const pruning: PruneConnections = {
    write: (statement, values) =>
      inTurn(async () => {
        try {
          const question = { text: statement, values: [...values], query_timeout: prunePatience * answerMs };
          return await unlessOvertaken(() => writer.query(question));
        } catch (thrown) {
          writer.endUnanswered(thrown);
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
    notify: (news) => ofSessions(() => sessions.notify(news).then(() => true as const)),
    watch: sessions.watch,
    submit,
    commit: (writes) => new Promise((resolve) => submit(writes, resolve)),
    together: groups.together,

    ...createReads(pool, place, () => closing === undefined),
    take: taking.take,
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
        await groups.settled();
        await inTurn(async () => {});
        stopped = closedFault;
        await Promise.allSettled([writer.close(), pool.end(), sessions.close()]);
      })();
      return closing;
    },
  };
}
