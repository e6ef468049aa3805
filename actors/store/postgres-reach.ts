/**
 * Connects to the Postgres database of a URL.
 * @see DUR-1 in docs/specification.md
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { codeOf } from './postgres-schema.ts';

export const connectTimeoutMs = 10_000;
/**
 * A connection that was cut off without a word would be waited for by the hour, so a question has an answer within this time
 * or its connection counts as broken. What a stopped gateway has locked is free before.
 */
export const answerTimeoutMs = 10_000;

/**
 * A server whose commits are not on its disk when they are reported would lose what was acknowledged. One that does not notice
 * for hours that a machine has lost its power keeps the locks of that machine for as long.
 */
const settings = `select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off';
  set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3`;
const keepAliveMs = 10_000;
const endTries = 50;
const endPauseMs = 20;

/**
 * Rejects as the client does.
 * @param answerMs how long a question of this connection waits for its answer; 0 for ever
 */
export async function reach(url: string, answerMs = answerTimeoutMs): Promise<Client> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: 'agent',
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    query_timeout: answerMs,
  });
  // A connection that breaks while nothing is asked of it is noticed by the next question.
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query(settings);
    return client;
  } catch (thrown) {
    void client.end().catch(() => {});
    throw thrown;
  }
}

/** Whether the database itself has refused a question, so that nothing was done and its connection stands. */
export const isAnswer = (thrown: unknown): boolean => /^(?!57|EPIPE)[0-9A-Z]{5}$/.test(codeOf(thrown));

/** The end of a connection at the database. */
export interface Backend {
  readonly pid: number;
  readonly startedAt: string;
}

/** The end of this connection at the database. Rejects as the client does. */
export async function backendOf(client: Client): Promise<Backend> {
  const { rows } = await client.query(
    'select pid, backend_start::text as "startedAt" from pg_stat_activity where pid = pg_backend_pid()',
  );
  return rows[0];
}

/**
 * Ends what an earlier connection of this process has left at the database, which may not have noticed that it broke: it would
 * continue with its question, and keep its locks. Resolves with whether it is gone. Rejects as the client does.
 */
export async function endBackend(client: Client, { pid, startedAt }: Backend): Promise<boolean> {
  const living = 'pg_stat_activity where pid = $1 and backend_start::text = $2';
  await client.query(`select pg_terminate_backend(pid) from ${living}`, [pid, startedAt]);
  for (let tries = 0; tries < endTries; tries += 1) {
    const { rows } = await client.query(`select 1 from ${living}`, [pid, startedAt]);
    if (rows.length === 0) return true;
    await sleep(endPauseMs);
  }
  return false;
}

/** Ends a connection by which a question was not answered: what is asked after it would wait behind it. */
export function endUnanswered(client: Client, thrown: unknown): void {
  if (!isAnswer(thrown)) void client.end().catch(() => {});
}
