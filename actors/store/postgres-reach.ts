/**
 * Connects to the Postgres database of a URL; a listener gets the notifications between gateways, and reconnects by itself.
 * @see DUR-1 and SCA-1 in docs/specification.md
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type QueryResult } from 'pg';
import { codeOf, InvalidSchema, lentFault, prepareSchema, refuseMisread } from './postgres-schema.ts';

export const connectTimeoutMs = 10_000;
/**
 * A silently cut connection would hang for hours, so a connection counts as broken if a query has no answer within this
 * time. Locks of a stopped gateway are released earlier.
 */
export const answerTimeoutMs = 10_000;

/**
 * Without `synchronous_commit` the server would lose acknowledged events; without keepalives it would keep the locks of a
 * machine that lost power for hours.
 */
const settings = `select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off';
  set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3`;
/**
 * A role or a database may have time limits for what people ask. A normal wait for the rows of another gateway, or a prune,
 * would end by them, and count as an outage; what a gateway asks has limits of its own. Only some versions have each of them.
 * In serializable transactions even a read could be refused.
 */
export const ownLimits = `select set_config(name, '0', false) from pg_settings
  where name in ('lock_timeout', 'statement_timeout', 'idle_session_timeout', 'transaction_timeout') and setting <> '0';
  set default_transaction_isolation = 'read committed'`;
const keepAliveMs = 10_000;
const endTries = 50;
const endPauseMs = 20;
/** How long a server may take to close its side of a connection that ends. */
const goodbyeMs = 1_000;

/** The client checks certificates in these modes too, and prints a long warning about their names. */
export function clientUrl(url: string): string {
  if (url.includes('uselibpqcompat=')) return url;
  return url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, '$1verify-full');
}

/**
 * Rejects as the client does.
 * @param answerMs how long a query waits for its answer; 0 for no limit
 */
export async function reach(url: string, answerMs = answerTimeoutMs): Promise<Client> {
  refuseMisread(url);
  const client = new Client({
    connectionString: clientUrl(url),
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: 'agent',
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    query_timeout: answerMs,
  });
  // A connection that breaks while idle is noticed by the next query.
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query(`${settings}; ${ownLimits}`);
    return client;
  } catch (thrown) {
    void client.end().catch(() => {});
    throw thrown;
  }
}

/** Whether there was an answer. It refused a query, of which nothing was done, only if the connection lasts. */
export const isAnswer = (thrown: unknown): boolean => /^(?!57|EPIPE)[0-9A-Z]{5}$/.test(codeOf(thrown));

const readOnlyCode = '25006';
const pid = 'select pg_backend_pid() as pid';
/** Another client of the pooler may be faster. */
const pooledTries = 5;

/**
 * Rejects behind a pooler that lends a server process for one transaction at a time: what a connection locks, sets, prepares
 * or listens to would soon be that of another one, without any error. A pooler, unlike the server, numbers its connections
 * itself; one that lends a process for as long as a connection lasts is accepted.
 */
export async function refuseLentProcess(client: Client, url: string, place: string): Promise<void> {
  const processOf = async (of: Client): Promise<number> => (await of.query(pid)).rows[0]?.pid;
  if ((await processOf(client)) === (client as Client & { readonly processID: number }).processID) return;
  const other = await reach(url);
  try {
    for (let tries = 0; tries < pooledTries; tries += 1) {
      const before = await processOf(client);
      await other.query('begin');
      // If the pooler has no other process, the first client would wait for the end of this transaction.
      const isLent = (await processOf(other)) === before || (await processOf(client)) !== before;
      await other.query('rollback');
      if (isLent) throw new InvalidSchema(lentFault(place));
    }
  } finally {
    void other.end().catch(() => {});
  }
}

/** The server process of a connection. */
export interface Backend {
  readonly pid: number;
  readonly startedAt: string;
}

/** Resolves with the server process of this connection. Rejects as the client does. */
export async function backendOf(client: Client): Promise<Backend> {
  const { rows } = await client.query(
    'select pid, backend_start::text as "startedAt" from pg_stat_activity where pid = pg_backend_pid()',
  );
  return rows[0];
}

/**
 * Ends the server process of an earlier connection. If the database has not noticed that the connection broke, it would
 * continue with its query and keep its locks. Resolves with whether it is gone. Rejects as the client does.
 */
export async function endBackend(client: Client, { pid, startedAt }: Backend): Promise<boolean> {
  // A pooler in session mode may have lent it again, to this connection.
  const living = 'pg_stat_activity where pid = $1 and backend_start::text = $2 and pid <> pg_backend_pid()';
  await client.query(`select pg_terminate_backend(pid) from ${living}`, [pid, startedAt]);
  for (let tries = 0; tries < endTries; tries += 1) {
    const { rows } = await client.query(`select 1 from ${living}`, [pid, startedAt]);
    if (rows.length === 0) return true;
    await sleep(endPauseMs);
  }
  return false;
}

/** Returns a function that does works one after the other: a client takes one query at a time. */
export function createQueryTurns(): <Value>(work: () => Promise<Value>) => Promise<Value> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => {});
    return mine;
  };
}

/** Ends a connection with an unanswered query, because later queries would wait behind it. */
export function endUnanswered(client: Client, thrown: unknown): void {
  if (!isAnswer(thrown)) void client.end().catch(() => {});
}

/**
 * Ends a connection for good. If it was cut silently, it is dropped after a while: the system, and so the process, would
 * wait a quarter of an hour for the other side.
 */
export async function leave(client: Client): Promise<void> {
  const late = setTimeout(() => client.connection.stream.destroy(), goodbyeMs);
  await client.end().catch(() => {});
  clearTimeout(late);
}

interface Listener {
  /**
   * Does works on the connection, one after the other; one that has ended is replaced before. Rejects as the client does, with
   * the fault of unusable tables, and after `close`.
   */
  use<Value>(work: (client: Client) => Promise<Value>): Promise<Value>;
  /** Asks one question. */
  ask(text: string, values: readonly unknown[]): Promise<QueryResult>;
  close(): Promise<void>;
}

export interface ListenerPorts {
  readonly url: string;
  readonly place: string;
  /** How long a query waits for its answer. */
  readonly answerMs?: number;
  /** Prepares a new connection, before it listens. Default: checks the tables. */
  readonly prepare?: (client: Client) => Promise<void>;
  /** Gets each message between gateways of this schema; some may be missed. */
  readonly heard: (word: string) => void;
  /** Called when a connection that listened has ended or does not answer. */
  readonly lost?: () => void;
}

export function createListener({ url, place, answerMs, prepare, heard, lost }: ListenerPorts): Listener {
  let connecting: Promise<Client> | undefined;
  /** The latest connection, while it listens. */
  let standing: Client | undefined;
  let isClosed = false;
  const inTurn = createQueryTurns();
  const hasLeft = (): Error => new Error(`${place}: this gateway has left the database`);

  function connected(): Promise<Client> {
    connecting ??= listening().catch((thrown: unknown) => {
      connecting = undefined;
      throw thrown;
    });
    return connecting;
  }

  async function listening(): Promise<Client> {
    const client = await reach(url, answerMs);
    let hasEnded = false;
    const ended = (): void => {
      hasEnded = true;
      drop(client);
    };
    client.on('end', ended);
    client.on('error', ended);
    try {
      await (prepare ?? checkTables)(client);
      const { rows } = await client.query('select current_schema as name');
      client.on('notification', ({ payload = '' }) => {
        const [schema, word = ''] = payload.split(' ');
        if (schema === rows[0]?.name && !isClosed) heard(word);
      });
      await client.query('listen agent');
      if (hasEnded) throw new Error('the connection was closed');
      standing = client;
      return client;
    } catch (thrown) {
      void client.end().catch(() => {});
      throw thrown;
    }
  }

  async function checkTables(client: Client): Promise<void> {
    const obstacle = await prepareSchema(client, place);
    if (obstacle !== undefined) throw new InvalidSchema(obstacle);
  }

  /** The next work makes another connection. */
  function drop(client: Client): void {
    if (standing !== client) return;
    standing = undefined;
    connecting = undefined;
    if (!isClosed) lost?.();
  }

  async function useNow<Value>(work: (client: Client) => Promise<Value>, isAgain = false): Promise<Value> {
    // A reconnect would keep the process from ending.
    if (isClosed) throw hasLeft();
    const client = await connected();
    try {
      return await work(client);
    } catch (thrown) {
      if (isClosed) throw hasLeft();
      // A connection that may only read stays so when the database may be written to again.
      const tryAgain = codeOf(thrown) === readOnlyCode && !isAgain;
      if (tryAgain || !isAnswer(thrown)) {
        drop(client);
        void client.end().catch(() => {});
      }
      if (tryAgain) return useNow(work, true);
      throw thrown;
    }
  }

  return {
    use: (work) => inTurn(() => useNow(work)),
    ask: (text, values) => inTurn(() => useNow((client) => client.query(text, [...values]))),
    async close() {
      isClosed = true;
      const client = await connecting?.catch(() => undefined);
      if (client !== undefined) await leave(client);
    },
  };
}
