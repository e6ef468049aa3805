/**
 * The tables of a journal in Postgres: creates missing ones, refuses those of another release, migrates those of an earlier
 * one on request, and translates the database's errors.
 * @see DUR-1 in docs/specification.md
 */

import type { ClientBase } from 'pg';
import { causeOf, done, type Fault, failed, fault, type Result } from '../../machines/base/fault.ts';
import type { FaultCode } from '../../machines/base/fault-catalogue.ts';
import { databaseUrlProblem, parseDatabaseUrl } from '../../machines/config/database-url.ts';

/** Incremented with each change of the tables. */
export const schemaVersion = 5;

/**
 * The number of a question between gateways. It rises with the clock: a sequence of a table that is not logged cannot be
 * read on a standby that was promoted, and keeps `pg_dump` from its work there.
 */
export const nextQuestion =
  '((extract(epoch from clock_timestamp()) * 1000000)::bigint * 4096 + (random() * 4095)::int)';

/**
 * Keys sort bytewise. Values are text, because Postgres's JSON types refuse some valid JSON. `is_taken` and
 * `agent_session_number` are of earlier releases.
 */
const tables = `
  create table if not exists agent_meta (name text primary key, value bigint not null);
  create table if not exists agent_record (
    collection text not null, key text collate "C" not null, version integer not null, due_at bigint, held_by text,
    work text, marks text[] not null default '{}', bytes integer not null, value text not null,
    primary key (collection, key));
  do $$ begin
    if exists (select from pg_attribute where attrelid = 'agent_record'::regclass and attname = 'value' and attcompression <> 'l') then
      set local lock_timeout = '2s';
      alter table agent_record alter column value set compression lz4;
      set local lock_timeout = 0;
    end if;
  exception when undefined_column or syntax_error or feature_not_supported or lock_not_available then null; end $$;
  create index if not exists agent_record_due on agent_record (collection, due_at, key) where due_at is not null;
  create index if not exists agent_record_work on agent_record (work) where work is not null;
  create index if not exists agent_record_marks on agent_record using gin (marks);
  create table if not exists agent_claim (
    name text collate "C" primary key, value text not null, expires_at bigint not null, event_key text);
  create index if not exists agent_claim_end on agent_claim (expires_at) where event_key is null;
  create index if not exists agent_claim_event on agent_claim (event_key collate "C") where event_key is not null;
  do $$ begin
    if to_regclass('agent_claim_expiry') is not null then
      update agent_claim c set event_key = null where event_key is not null
        and not exists (select from agent_record where collection = 'e' and key = c.event_key);
      drop index agent_claim_expiry;
    end if;
  end $$;
  create table if not exists agent_session (id text primary key, owner text not null, expires_at bigint not null);
  alter table agent_session add column if not exists number bigint not null default 0;
  alter table agent_session add column if not exists lost_at bigint;
  create sequence if not exists agent_session_number;
  create table if not exists agent_document (
    name text collate "C" primary key, version bigint not null default 0, text text,
    locked_by text, locked_until bigint not null default 0);
  create unlogged table if not exists agent_question (
    id bigint primary key, session text not null, question text not null, answer text,
    is_taken boolean not null default false, expires_at bigint not null);
  alter table agent_question alter column id drop identity if exists;
  alter table agent_question alter column id set default ${nextQuestion};
  create or replace function agent_now() returns bigint language sql volatile
    as 'select (extract(epoch from clock_timestamp()) * 1000)::bigint';
  insert into agent_meta values ('schema', ${schemaVersion})
    on conflict (name) do update set value = greatest(agent_meta.value, excluded.value)`;

/** Carries the fault of an unusable database through a rejection. */
export class InvalidSchema extends Error {
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(fault.message);
    this.fault = fault;
  }
}

/** The database did not answer a question, or refused it. Says where it is and what to do, and keeps the error's code. */
export class NoAnswer extends Error {
  readonly fault: Fault;
  readonly code: string;

  constructor(place: string, thrown: unknown) {
    const fault = postgresFault(place, thrown);
    super(fault.message);
    this.fault = fault;
    this.code = codeOf(thrown);
  }
}

/** One transaction: of two gateways that start at once, one waits for the other. */
const make = `begin; select pg_advisory_xact_lock(hashtext('agent_schema')); ${tables}; commit`;

/** Resolves with 0 if there are no tables. */
export async function schemaVersionOf(client: ClientBase): Promise<number> {
  const { rows } = await client.query(`select to_regclass('agent_meta') is not null as made`);
  if (rows[0]?.made !== true) return 0;
  const found = await client.query(`select value from agent_meta where name = 'schema'`);
  return Number(found.rows[0]?.value ?? 0);
}

/**
 * Creates the tables if there are none; resolves with a fault if they are of another version. Rejects as the client does, and
 * for a database that cannot hold every text.
 */
export async function prepareSchema(client: ClientBase, place: string): Promise<Fault | undefined> {
  await checkEncoding(client, place);
  if ((await schemaVersionOf(client)) === 0) await client.query(make);
  const version = await schemaVersionOf(client);
  return version === schemaVersion ? undefined : otherVersion(place, version);
}

/** Rejects unless the database stores Unicode: in another encoding one event would be refused for its text. */
export async function checkEncoding(client: ClientBase, place: string): Promise<void> {
  const { rows } = await client.query('show server_encoding');
  const encoding = rows[0]?.server_encoding;
  if (encoding === 'UTF8') return;
  const message = `${place}: the encoding of the database is ${encoding}; create one with UTF8 (createdb -E UTF8 -T template0)`;
  throw new InvalidSchema(fault('journal-unreadable', message));
}

const eachTable = `(select count(*) from
  (select from agent_record, agent_claim, agent_session, agent_document, agent_question limit 0) none)`;

/**
 * Rejects for what would keep a gateway from its first commit: a server before Postgres 13, which lacks the function, a table
 * that is missing or may not be read, a database that only reads.
 */
export async function checkUse(client: ClientBase): Promise<void> {
  // First: a standby cannot read the unlogged table.
  const { rows } = await client.query(`select current_setting('transaction_read_only') as reads`);
  if (rows[0]?.reads === 'on') throw readOnly();
  await client.query(`select pg_current_xact_id_if_assigned(), ${eachTable}`);
}

/** The same where a start has yet to make the tables. */
export async function checkMaking(client: ClientBase): Promise<void> {
  const { rows } = await client.query(
    `select current_setting('transaction_read_only') as reads, pg_current_xact_id_if_assigned(),
      current_schema as schema, has_schema_privilege(current_schema, 'create') as may`,
  );
  const [{ reads, schema, may }] = rows;
  if (reads === 'on') throw readOnly();
  if (schema === null) throw Object.assign(new Error('search_path names no schema'), { code: '3F000' });
  if (may === false) throw Object.assign(new Error(`permission denied for schema ${schema}`), { code: '42501' });
}

/**
 * Rejects where a commit would wait for ever: the database waits for a standby, and none is connected. Without WAL senders it
 * waits for none.
 */
export async function checkStandby(client: ClientBase, place: string): Promise<void> {
  const { rows } = await client.query(
    `select current_setting('synchronous_standby_names') <> '' and current_setting('synchronous_commit') <> 'local'
      and current_setting('max_wal_senders') <> '0' and not exists (select from pg_stat_replication) as waits`,
  );
  if (rows[0]?.waits !== true) return;
  const message = `${place}: commits wait for a standby, and none is connected; start the standby that synchronous_standby_names names, or clear that setting`;
  throw new InvalidSchema(fault('journal-unavailable', message));
}

function otherVersion(place: string, version: number): Fault {
  const cure =
    version < schemaVersion
      ? 'stop the gateways of the earlier release, then run `agent gateway migrate`'
      : 'run the release that made them, or name another database';
  return fault(
    'journal-version',
    `${place}: its tables are of version ${version}, this gateway knows version ${schemaVersion}; ${cure}`,
  );
}

const setting = 'gateway.postgres.url';

/** Throws the fault of a URL that the client would misread; without one it would connect to a database of this machine. */
export function refuseMisread(url: string): void {
  const problem = databaseUrlProblem(url);
  if (problem === undefined) return;
  throw new InvalidSchema(
    fault('journal-unreadable', `${setting} ${problem}; \`agent config check\` says what to correct`),
  );
}

/** The database's URL without user and password. */
export function placeOf(url: string): string {
  const parsed = parseDatabaseUrl(url);
  if (parsed === undefined || databaseUrlProblem(url) !== undefined) return setting;
  const { host, pathname, searchParams } = parsed;
  return `postgres://${searchParams.get('host') ?? host}${pathname}`;
}

/** The advisory lock that gateways share while they are connected. */
export const useLock = `hashtext('agent_gateway'), hashtext(current_schema)`;

/** Waits for another migration. A gateway without a session, as where its clock is wrong, is connected too. */
const takeAlone = `set lock_timeout = '2s'; select pg_advisory_lock(${useLock}); set lock_timeout = 0`;
const lockTimedOut = '55P03';

export interface Migrated {
  /** 0: there were no tables. */
  readonly from: number;
  readonly to: number;
}

/**
 * Migrates the tables of an earlier release to this one. Refused while a gateway uses them, because it checks their version
 * only when it connects.
 */
export async function migrateSchema(client: ClientBase, place: string): Promise<Result<Migrated>> {
  await checkEncoding(client, place);
  const from = await schemaVersionOf(client);
  if (from > schemaVersion) return { ok: false, fault: otherVersion(place, from) };
  if (from > 0 && from < schemaVersion) {
    const { rows } = await client.query(
      'select owner from agent_session where expires_at > agent_now() order by owner',
    );
    if (rows.length > 0) {
      const owners = rows.map(({ owner }) => `"${owner}"`).join(', ');
      return failed(
        'journal-version',
        `${place}: gateways use its tables of version ${from}: ${owners}; stop them first (one that was killed counts for up to 12 seconds)`,
      );
    }
    try {
      await client.query(takeAlone);
    } catch (thrown) {
      if (codeOf(thrown) !== lockTimedOut) throw thrown;
      return failed(
        'journal-version',
        `${place}: a gateway is connected to its tables of version ${from}; stop it first, also where it answers 503`,
      );
    }
  }
  // Creates missing tables too.
  await client.query(make);
  return done({ from, to: schemaVersion });
}

function readOnly(): Error {
  return Object.assign(new Error('transactions are read-only'), { code: '25006' });
}

/** The client's words for a query on a connection that was closed because of an earlier one. */
const unqueryable = /^Client .* is not queryable$/;

/** The client's words for a query that was sent and had no answer in time. */
const lateAnswer = /^Query read timeout$/;

/** The client's words where the database asks for a password. */
const withoutPassword = /client password must be a/;

/** The words of PgBouncer for `begin`. */
const inStatementMode = /statement pooling mode/;

/** The fault of a pooler that lends a server process for less than a connection. */
export function lentFault(place: string, mode = 'transaction'): Fault {
  return fault(
    'journal-unreadable',
    `${place}: a pooler in ${mode} mode is in front of the database, which silently loses the locks and notifications of a gateway; connect to the database itself, or set pool_mode = session`,
  );
}

/** Translates an error of the database or the client. Never contains the URL, whose password is a secret. */
export function postgresFault(place: string, thrown: unknown): Fault {
  if (thrown instanceof InvalidSchema) return thrown.fault;
  const said = causeOf(thrown) || codeOf(thrown);
  if (inStatementMode.test(said)) return lentFault(place, 'statement');
  if (withoutPassword.test(said)) {
    return fault(
      'journal-unreadable',
      `${place}: the database asks for a password, and gateway.postgres.url has none; add it (postgres://<user>:<password>@<host>/<database>)`,
      said,
    );
  }
  const cause = unqueryable.test(said) ? 'an earlier query had no answer in time, or the connection broke' : said;
  if (isOfTls(codeOf(thrown), cause)) {
    return fault(
      'journal-unreadable',
      `${place}: no TLS connection can be made (${cause}); correct sslmode and sslrootcert in gateway.postgres.url`,
      cause,
    );
  }
  const known = troubles[codeOf(thrown)];
  if (known === undefined) {
    const cure = lateAnswer.test(said)
      ? "see that it runs and that nothing locks the journal's tables, such as VACUUM FULL or a backup"
      : 'see that it runs and that gateway.postgres.url names it';
    return fault('journal-unavailable', `${place}: the database does not answer (${cause}); ${cure}`, cause);
  }
  const [code, message] = known;
  return fault(code, `${place}: ${message.replace('$', () => cause)}`, cause);
}

const refusedUser = [
  'journal-unreadable',
  'the database refuses the user or the password ($); correct gateway.postgres.url',
] as const;
/** By the codes of the database; `$` is the place of its words. */
const troubles: Readonly<Record<string, readonly [code: FaultCode, message: string]>> = {
  '25006': [
    'journal-read-only',
    'the database only reads (a replica, or default_transaction_read_only); name the primary in gateway.postgres.url',
  ],
  '53100': ['journal-full', 'the database has no room; free space on its disk'],
  '28000': refusedUser,
  '28P01': refusedUser,
  '3D000': ['journal-unreadable', '$; create it, or correct gateway.postgres.url'],
  '42501': [
    'journal-unreadable',
    "the user may not make or use the journal's tables ($); grant it what docs/scale.md lists",
  ],
  '42P01': ['journal-unreadable', 'a table is missing ($); `agent gateway migrate` makes it'],
  '42703': [
    'journal-unreadable',
    'a table of another program has the name of one of the journal, or one is damaged ($); begin the search_path of the user with a schema of its own, or name another database',
  ],
  '42883': ['journal-unreadable', '$; the journal needs Postgres 13 or later'],
  '53300': [
    'journal-unavailable',
    'the database takes no more connections ($); raise its max_connections or lower gateway.postgres.pool',
  ],
  '57P03': ['journal-unavailable', 'the database starts or ends ($); wait until it is up'],
  '3F000': [
    'journal-unreadable',
    "the journal's tables cannot be made ($); let the user create tables in a schema of its search_path",
  ],
};

/** Whether the database answered with an error that has a remedy of its own, such as too many connections. */
export const isTrouble = (thrown: unknown): boolean => troubles[codeOf(thrown)] !== undefined;

/** Errors of certificates, of a file of one that cannot be read, and of a server without TLS. */
function isOfTls(code: string, cause: string): boolean {
  return /CERT|^ERR_TLS|^ERR_SSL|^UNABLE_TO_|^EPROTO$/.test(code) || /\bSSL connection|, open '/.test(cause);
}

export function codeOf(thrown: unknown): string {
  if (thrown instanceof AggregateError) return codeOf(thrown.errors[0]);
  return typeof thrown === 'object' && thrown !== null && 'code' in thrown ? String(thrown.code) : '';
}
