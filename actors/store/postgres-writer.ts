/**
 * The writing connection to a Postgres database. It is prepared for the journal, shows that the database is in use, and is
 * replaced if it breaks.
 * @see DUR-1 and SCA-1 in docs/specification.md
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, QueryConfig, QueryResult } from 'pg';
import { done, type Fault, failed, type Result } from '../../machines/base/fault.ts';
import {
  type Backend,
  backendOf,
  endBackend,
  endUnanswered,
  isAnswer,
  leave,
  reach,
  refuseLentProcess,
} from './postgres-reach.ts';
import { checkStandby, checkUse, postgresFault, prepareSchema, useLock } from './postgres-schema.ts';

/** How long exclusive use waits: the lock of a killed gateway is released with its connection. */
const alonePatienceMs = 1_000;
const alonePauseMs = 100;
/**
 * How long a gateway that is stopped within a transaction keeps its row locks. A message that arrives slowly counts as a
 * stop, so a copy, whose locks hinder no other, has no limit.
 */
const idleInTransactionMs = 8_000;

interface WriterSettings {
  readonly url: string;
  readonly place: string;
  /** Exclusive use. */
  readonly alone: boolean;
  readonly answerMs: number;
}

export interface Writer {
  query(question: string | QueryConfig, values?: unknown[]): Promise<QueryResult>;
  /** Runs a statement that is prepared under a name. */
  ask<Found extends object = Record<string, unknown>>(
    name: string,
    text: string,
    values?: readonly unknown[],
  ): Promise<{ rows: Found[] }>;
  /** Replaces the connection, and ends the server process of the earlier one; resolves with the fault if that fails. */
  connectAgain(): Promise<Fault | undefined>;
  /**
   * Whether the database answered that nothing was done. A server that panics, and a pooler that has lost its server, answer
   * too before they close the connection, although the commit may be on disk.
   */
  isRefused(thrown: unknown): Promise<boolean>;
  /** Whether the connection works. */
  isWell(): Promise<boolean>;
  /** Calls back when the connection has ended and is not replaced: an idle one would be replaced only after a refused commit. */
  watchEnd(heard: () => void): void;
  /** Ends the connection if a query of it was not answered. */
  endUnanswered(thrown: unknown): void;
  close(): Promise<void>;
}

interface Connection {
  readonly client: Client;
  readonly backend: Backend;
}

/** Fails with `journal-in-use` if `alone` is set and a gateway uses the database, or if another process uses it alone. */
export async function openWriter(settings: WriterSettings): Promise<Result<Writer>> {
  const first = await connect(settings);
  if (!first.ok) return first;
  let { client, backend } = first.value;
  let ended = (): void => {};
  noticeEnd(client);

  function noticeEnd(of: Client): void {
    of.once('end', () => of === client && ended());
  }

  const answers = (text: string): Promise<boolean> =>
    client.query(text).then(
      () => true,
      () => false,
    );

  return done({
    query: (question, values) => client.query(question, values),
    ask: (name, text, values = []) => client.query({ name: `agent_${name}`, text, values: [...values] }),
    async connectAgain() {
      void client.end().catch(() => {});
      const again = await connect(settings, backend);
      if (!again.ok) return again.fault;
      ({ client, backend } = again.value);
      noticeEnd(client);
      return undefined;
    },
    isRefused: async (thrown) => isAnswer(thrown) && (await answers('rollback')),
    isWell: () => answers('select 1'),
    watchEnd(heard) {
      ended = heard;
    },
    endUnanswered: (thrown) => endUnanswered(client, thrown),
    close: () => leave(client),
  });
}

/** Makes the writing connection, and ends the server process of the earlier one. */
async function connect(
  { url, place, alone, answerMs }: WriterSettings,
  earlier?: Backend,
): Promise<Result<Connection>> {
  let client: Client | undefined;
  try {
    client = await reach(url, answerMs);
    // Also again: the mode of a pooler can be changed while gateways are connected.
    await refuseLentProcess(client, url, place);
    const obstacle = await prepareSchema(client, place);
    if (obstacle !== undefined) {
      await client.end();
      return { ok: false, fault: obstacle };
    }
    await checkUse(client);
    await checkStandby(client, place);
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

/** Gateways share an advisory lock while they are connected. */
async function mayUse(client: Client, alone: boolean): Promise<boolean> {
  const endsAtMs = performance.now() + (alone ? alonePatienceMs : 0);
  for (;;) {
    const { rows } = await client.query(`select pg_try_advisory_lock${alone ? '' : '_shared'}(${useLock}) as may`);
    if (rows[0]?.may === true || performance.now() >= endsAtMs) return rows[0]?.may === true;
    await sleep(alonePauseMs);
  }
}
