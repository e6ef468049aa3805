/**
 * The gateways of one Postgres database and their requests to each other: a request is a row, to which the addressed
 * gateway adds its answer.
 * @see SCA-3 in docs/specification.md
 */

import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SessionId } from './journal.ts';
import { createListener } from './postgres-reach.ts';
import { NoAnswer, nextQuestion } from './postgres-schema.ts';
import { leaderLock, lockName } from './shared-claims.ts';

export interface Neighbour {
  /** `gateway.node` of its configuration, or its host and home. */
  readonly node: string;
  readonly session: SessionId;
  readonly isLeader: boolean;
  /** Milliseconds since its session was last renewed. */
  readonly silentMs: number;
}

export interface Neighbours {
  /**
   * Begins to answer the waiting requests, and later ones on their notification. A request whose notification was lost is
   * found by the next call. Rejects if the database is unreachable; an answer that is ready then is written once it is back.
   */
  listen(): Promise<void>;
  /** All live gateways, sorted by name. Rejects if the database is unreachable. */
  all(): Promise<readonly Neighbour[]>;
  /** Resolves with a gateway's answer; undefined if it gives none in time or ends. Rejects likewise, and after `close`. */
  ask(session: SessionId, question: string, waitMs: number): Promise<string | undefined>;
  close(): Promise<void>;
}

interface NeighbourPorts {
  readonly url: string;
  readonly place: string;
  readonly session: () => SessionId | undefined;
  readonly sessionTtlMs: number;
  /** Answers a request of another gateway; never rejects. */
  readonly answer: (question: string) => Promise<string>;
}

/** Interval of polling, because the notification of an answer can be lost. */
const lookMs = 1_000;

const notify = `pg_notify('agent', current_schema || ' ' || `;
const all = `select s.id, s.owner, s.expires_at - agent_now() as left, c.value::json ->> 'session' = s.id as leads
  from agent_session s left join agent_claim c on c.name = $1 where s.expires_at > agent_now() order by s.owner, s.id`;
const put = `with old as (delete from agent_question where expires_at < agent_now()),
  made as (insert into agent_question (id, session, question, expires_at) overriding system value
    values (${nextQuestion}, $1, $2, agent_now() + $3::bigint) returning id)
  select id, ${notify}'ask/' || $1::text) from made`;
/**
 * A crash of the database empties the table, and its clock may be set back. So a request is identified by its number and its
 * text.
 */
const rowKey = `id || '/' || encode(sha256(convert_to(question, 'UTF8')), 'hex')`;
const keyOf = (id: string, question: string): string => `${id}/${createHash('sha256').update(question).digest('hex')}`;
const isMeant = `id = split_part($1, '/', 1)::bigint and ${rowKey} = $1`;
/** Finds again a request that was read on a connection that then broke, because it is not answered yet. */
const take = `select id, question from agent_question
  where session = $1 and answer is null and ${rowKey} <> all($2::text[]) and expires_at > agent_now()`;
const answer = `with made as (update agent_question set answer = $2 where ${isMeant} returning id)
  select ${notify}'answer/' || id) from made`;
/** If the request is gone, no answer comes. */
const collect = `with over as (delete from agent_question where ${isMeant} and (answer is not null or not exists (
  select 1 from agent_session s where s.id = agent_question.session and s.expires_at > agent_now())) returning answer)
  select answer from over union all select null where not exists (select 1 from agent_question where ${isMeant})`;
const forget = `delete from agent_question where ${isMeant}`;

export function createNeighbours(ports: NeighbourPorts): Neighbours {
  const waiting = new Map<string, () => void>();
  /** Answers notified while a request is being inserted: the notification can arrive before the request's number. */
  const early = new Set<string>();
  let putting = 0;
  /** The keys of the requests of other gateways that are being answered. */
  const underWay = new Set<string>();
  let listening: Promise<void> | undefined;
  let isClosed = false;
  const { url, place } = ports;
  const listener = createListener({ url, place, heard });

  function heard(word: string): void {
    const [kind, of = ''] = word.split('/');
    if (kind === 'answer') {
      if (putting > 0) early.add(of);
      waiting.get(of)?.();
    }
    if (kind === 'ask' && of === ports.session()) void answerAll(of).catch(() => {});
  }

  async function answerAll(session: SessionId): Promise<void> {
    const { rows } = await listener.ask(take, [session, [...underWay]]);
    // Two calls that overlap may both have read a request.
    const found = rows.filter(({ id, question }) => !underWay.has(keyOf(id, question)));
    // In order, because one may cancel another.
    found.sort((one, other) => Number(one.id) - Number(other.id));
    for (const { id, question } of found) void answerOne(keyOf(id, question), question).catch(() => {});
  }

  async function answerOne(key: string, question: string): Promise<void> {
    underWay.add(key);
    await give(key, await ports.answer(question));
    underWay.delete(key);
  }

  /** Tries again while the database is away: the other gateway waits, for a call up to a day. */
  async function give(key: string, text: string): Promise<void> {
    while (!isClosed) {
      try {
        await listener.ask(answer, [key, text]);
        return;
      } catch {
        await sleep(lookMs, undefined, { ref: false });
      }
    }
  }

  /** Resolves on the notification of an answer, or when the time is over. */
  function news(id: string, waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(heard, Math.min(lookMs, waitMs));
      function heard(): void {
        clearTimeout(timer);
        waiting.delete(id);
        resolve();
      }
      waiting.set(id, heard);
    });
  }

  /** Resolves with the number of the request and the notification of its answer. */
  async function putQuestion(session: SessionId, question: string, waitMs: number) {
    putting += 1;
    try {
      const { rows } = await listener.ask(put, [session, question, Math.ceil(waitMs)]);
      const id = String(rows[0]?.id);
      return { id, heard: early.has(id) ? Promise.resolve() : news(id, waitMs) };
    } finally {
      putting -= 1;
      if (putting === 0) early.clear();
    }
  }

  return {
    async all() {
      const { rows } = await listener.ask(all, [lockName(leaderLock)]).catch((thrown: unknown) => {
        throw new NoAnswer(place, thrown);
      });
      return rows.map(({ id, owner, left, leads }) => ({
        node: owner,
        session: id,
        isLeader: leads === true,
        silentMs: Math.max(0, ports.sessionTtlMs - Number(left)),
      }));
    },
    async ask(session, question, waitMs) {
      const endsAtMs = performance.now() + waitMs;
      const { id, heard } = await putQuestion(session, question, waitMs);
      for (let waited = heard; ; ) {
        await waited;
        const found = await listener.ask(collect, [keyOf(id, question)]);
        if (found.rows[0] !== undefined) return found.rows[0].answer ?? undefined;
        const leftMs = endsAtMs - performance.now();
        if (leftMs <= 0) break;
        waited = news(id, leftMs);
      }
      await listener.ask(forget, [keyOf(id, question)]);
      return undefined;
    },
    listen() {
      // While the database does not answer, further reads would queue up, and the requests of commands behind them.
      listening ??= answerAll(ports.session() ?? '').finally(() => {
        listening = undefined;
      });
      return listening;
    },
    async close() {
      isClosed = true;
      const closed = listener.close();
      for (const heard of waiting.values()) heard();
      await closed;
    },
  };
}
