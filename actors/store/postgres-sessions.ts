/**
 * The sessions of the gateways on one Postgres database. A session is a row with an expiry time and an advisory lock on the
 * connection that listens for news: the lock of a killed process is released at once, and the session of a stopped or
 * disconnected one expires.
 * @see SCA-2 in docs/specification.md
 */

import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import type { LivingSession, News, SessionId } from './journal.ts';
import { type Backend, backendOf, createListener, endBackend, type ListenerPorts } from './postgres-reach.ts';
import { storable } from './postgres-rows.ts';

interface PostgresSessions {
  open(owner: string, ttlMs: number): Promise<SessionId>;
  /** Resolves with the database's time; undefined if the session has ended. */
  renew(session: SessionId, ttlMs: number): Promise<number | undefined>;
  end(session: SessionId): Promise<void>;
  reap(): Promise<number>;
  living(): Promise<LivingSession[]>;
  /** Milliseconds for which a session of this process has been without its lock; 0 if each has it. */
  lostMs(): number;
  /** It is unknown what the sessions of this process hold: each ends instead of being renewed. */
  disown(): void;
  notify(news: News): Promise<void>;
  watch(heard: (news: News) => void): () => void;
  close(): Promise<void>;
}

/** A gateway whose lock is gone may come back within this time: a restart of the database cuts all connections. */
const graceMs = 1_500;
/**
 * After the connections to the database were cut, as by a restart or a failover, gateways come back one after another. A
 * gateway that has just connected judges for so long only the sessions whose lock it has seen since. One that starts judges
 * at once if another session's connection has lasted longer: then not all of them were cut.
 */
const quietMs = 5_000;
/**
 * Changes when a standby is promoted or a database is recovered to an earlier time; null on a standby. A service that hides
 * it refuses the question.
 */
const askTimeline =
  'select case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline';
const firstWaitMs = 100;
const maxWaitMs = 1_000;
/** The database notices within this time that the connection of a killed process is gone, and releases its lock. */
const handOverMs = 1_000;
const handOverPauseMs = 50;
const forgottenAfterMs = 86_400_000;
/** The number is half of the key of an advisory lock. */
const maxNumber = 2 ** 31 - 1;

const lockClass = `hashtext('agent_session ' || current_schema)`;
/** The numbers of the sessions whose lock is held, and the process at the database that holds it. */
const holders = `select objid::bigint as number, pid from pg_locks where locktype = 'advisory' and granted
  and classid = ${lockClass}::oid and database = (select oid from pg_database where datname = current_database())`;

/** Notifies the other gateways at the commit of a transaction. The parameter is a list of texts. */
export const notifyAll = `select pg_notify('agent', current_schema || ' ' || news) from unnest($1::text[]) n(news)`;

/** A single word, because keys contain no space. */
export function newsText(news: News): string {
  if (typeof news === 'string') return news;
  return 'ended' in news ? `ended/${news.ended}` : `unawaited/${news.unawaited}`;
}

function newsFrom(text: string): News | undefined {
  if (text === 'work' || text === 'session') return text;
  const [, word, key = ''] = /^(ended|unawaited)\/(.*)$/.exec(text) ?? [];
  if (word === undefined) return undefined;
  return word === 'ended' ? { ended: key } : { unawaited: key };
}

interface SessionPorts extends Pick<ListenerPorts, 'url' | 'place' | 'answerMs'> {
  /**
   * The database may be as it was before the last commits, as after a failover to a standby that lacked them: what a session
   * holds there is not what its gateway knows.
   */
  readonly setBack: () => void;
}

export function createPostgresSessions({ setBack, ...at }: SessionPorts): PostgresSessions {
  const listener = createListener({ ...at, prepare, heard, lost });
  let timeline: string | undefined;
  /** The expiry times that the last renewals wrote, by the numbers of the sessions. */
  const renewedUntil = new Map<number, number>();
  /** The server process of the latest connection. */
  let backend: Backend | undefined;
  let isComingBack = false;
  /** The numbers of this process's sessions, and whether the connection has their locks. */
  const own = new Map<number, boolean>();
  const disowned = new Set<number>();
  let isClosed = false;
  /** When the connection with the locks was lost, by a clock that only rises; undefined while the sessions have them. */
  let lostAtMs: number | undefined;
  /** When the connection was made, by the engine's clock. */
  let cameAtMs = Number.POSITIVE_INFINITY;
  /** The numbers, as the client reads a bigint, of the sessions whose locks have been seen since then. */
  const seen = new Set<string>();
  const watchers = new Set<(news: News) => void>();

  function pass(news: News): void {
    for (const watcher of watchers) watcher(news);
  }

  function heard(word: string): void {
    const news = newsFrom(word);
    if (news !== undefined) pass(news);
  }

  function lost(): void {
    if (own.size > 0) lostAtMs ??= performance.now();
    for (const number of own.keys()) own.set(number, false);
    pass('lost');
    void comeBack();
  }

  async function prepare(client: Client): Promise<void> {
    const isFirst = backend === undefined;
    // The earlier connection may still have the locks.
    if (backend !== undefined) await endBackend(client, backend);
    backend = await backendOf(client);
    const { rows } = await client.query(
      `select agent_now() as now, exists (
        select 1 from (${holders}) h join pg_stat_activity a using (pid)
        where extract(epoch from a.backend_start) * 1000 + ${quietMs} <= agent_now()) as is_steady`,
    );
    const now = (await client.query(askTimeline).catch(() => undefined))?.rows[0]?.timeline ?? timeline;
    if (timeline !== undefined && now !== timeline) setBack();
    timeline = now;
    seen.clear();
    cameAtMs = isFirst && rows[0]?.is_steady === true ? Number.NEGATIVE_INFINITY : Number(rows[0]?.now);
  }

  /** Locks the sessions again at once, so that no other process considers them dead. */
  async function comeBack(): Promise<void> {
    if (isComingBack) return;
    isComingBack = true;
    await lockAgain();
    isComingBack = false;
  }

  async function lockAgain(): Promise<void> {
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(2 * waitMs, maxWaitMs)) {
      await sleep(waitMs, undefined, { ref: false });
      if (isClosed || ![...own.values()].includes(false)) return;
      await listener.use(regain).catch(() => {});
    }
  }

  /** Locks the sessions again; the loss is over if each of them still exists. */
  async function regain(client: Client): Promise<void> {
    if (lostAtMs === undefined) return;
    const numbers = [...own.keys()];
    for (const number of numbers) await lock(client, number);
    // Another gateway ends them because of the loss before this statement, or not at all.
    const kept = await client.query('update agent_session set lost_at = null where number = any($1)', [numbers]);
    if (kept.rowCount === numbers.length && ![...own.values()].includes(false)) lostAtMs = undefined;
  }

  async function lock(client: Client, number: number): Promise<void> {
    if (own.get(number) === true) return;
    const { rows } = await client.query(`select pg_try_advisory_lock(${lockClass}, $1::int) as mine`, [number]);
    own.set(number, rows[0]?.mine === true);
  }

  async function forget(client: Client, numbers: readonly number[]): Promise<void> {
    for (const number of numbers) {
      const isLocked = own.get(number) === true;
      own.delete(number);
      disowned.delete(number);
      renewedUntil.delete(number);
      if (isLocked) await client.query(`select pg_advisory_unlock(${lockClass}, $1::int)`, [number]);
    }
  }

  /** Ends the earlier sessions of an owner, except those of a live process with the same name. */
  async function endEarlier(client: Client, owner: string): Promise<boolean> {
    const { rows } = await client.query<{ number: string }>(
      `delete from agent_session s where expires_at + ${forgottenAfterMs} <= agent_now()
        or (owner = $1 and not exists (select 1 from (${holders}) h where h.number = s.number and h.pid <> pg_backend_pid()))
      returning number`,
      [owner],
    );
    await forget(
      client,
      rows.map(({ number }) => Number(number)),
    );
    const left = await client.query('select 1 from agent_session where owner = $1', [owner]);
    return left.rows.length === 0;
  }

  async function end(client: Client, session: SessionId): Promise<void> {
    const { rows } = await client.query('delete from agent_session where id = $1 returning number', [
      storable(session),
    ]);
    await forget(
      client,
      rows.map(({ number }) => Number(number)),
    );
    if (rows.length > 0) await client.query(notifyAll, [['session']]);
  }

  return {
    open: (owner, ttlMs) =>
      listener.use(async (client) => {
        for (
          let waitedMs = 0;
          !(await endEarlier(client, owner)) && waitedMs < handOverMs;
          waitedMs += handOverPauseMs
        ) {
          await sleep(handOverPauseMs);
        }
        // At random: a database that is restored from a backup would count the numbers of living sessions again.
        const number = randomInt(1, maxNumber);
        // The lock comes first: without it the session would look like that of a dead process.
        await lock(client, number);
        const made = client.query(
          `insert into agent_session (id, owner, expires_at, number) values ('s' || $1::bigint, $2, agent_now() + $3::bigint, $1::bigint)`,
          [number, owner, Math.ceil(ttlMs)],
        );
        await made.catch(async (thrown: unknown) => {
          await forget(client, [number]);
          throw thrown;
        });
        await regain(client);
        await client.query(notifyAll, [['session']]);
        return `s${number}`;
      }),
    renew: (session, ttlMs) =>
      listener.use(async (client) => {
        const { rows } = await client.query(
          `update agent_session s set expires_at = agent_now() + $2::bigint
            from (select expires_at from agent_session where id = $1 for update) o
            where s.id = $1 returning s.number, agent_now() as now, s.expires_at as until, o.expires_at as before`,
          [storable(session), Math.ceil(ttlMs)],
        );
        if (rows.length === 0) await forget(client, [Number(session.slice(1))]);
        const number = Number(rows[0]?.number);
        if (disowned.has(number)) {
          await end(client, session);
          return undefined;
        }
        if (rows.length > 0 && own.has(number)) {
          if (Number(rows[0]?.before) < (renewedUntil.get(number) ?? 0)) setBack();
          renewedUntil.set(number, Number(rows[0]?.until));
          await lock(client, number);
          await regain(client);
        }
        return rows[0] === undefined ? undefined : Number(rows[0].now);
      }),
    end: (session) => listener.use((client) => end(client, session)),
    living: () =>
      listener.use(async (client) => {
        const { rows } = await client.query<LivingSession>(
          'select id, owner from agent_session where expires_at > agent_now() order by number',
        );
        return rows;
      }),
    lostMs: () => (lostAtMs === undefined ? 0 : performance.now() - lostAtMs),
    reap: () =>
      listener.use(async (client) => {
        const { rows } = await client.query(
          `select agent_now() as now, array(select number from (${holders}) h) as here`,
        );
        const nowMs = Number(rows[0]?.now);
        // A clock that is set back must not prolong it.
        cameAtMs = Math.min(cameAtMs, nowMs);
        const isQuiet = nowMs < cameAtMs + quietMs;
        if (isQuiet) for (const number of rows[0]?.here ?? []) seen.add(number);
        const judged = [isQuiet ? [...seen] : null];
        await client.query(
          `update agent_session s set lost_at = case when h.number is null then coalesce(s.lost_at, agent_now()) end
        from agent_session o left join (${holders}) h on h.number = o.number
        where o.id = s.id and (h.number is null) <> (s.lost_at is not null) and ($1::bigint[] is null or s.number = any($1))`,
          judged,
        );
        const { rowCount } = await client.query(
          `delete from agent_session where (expires_at <= agent_now() or lost_at + ${graceMs} <= agent_now())
            and ($1::bigint[] is null or number = any($1))`,
          judged,
        );
        if ((rowCount ?? 0) > 0) await client.query(notifyAll, [['session']]);
        return rowCount ?? 0;
      }),
    disown() {
      for (const number of own.keys()) disowned.add(number);
    },
    notify: (news) =>
      listener.use(async (client) => {
        await client.query(notifyAll, [[newsText(news)]]);
      }),
    watch(heard) {
      watchers.add(heard);
      return () => void watchers.delete(heard);
    },
    async close() {
      isClosed = true;
      watchers.clear();
      await listener.close();
    },
  };
}
