/**
 * The rows of shared documents in Postgres, over a connection of their own that listens for news. A question that fails
 * without an answer of the database drops the connection; the next one makes another.
 * @see SUB-2, CRN-1 and OAU-2 in docs/specification.md
 */

import { type Client, DatabaseError, type QueryResult } from 'pg';
import type { DocumentRows } from '../shared-documents.ts';
import { reach } from './postgres-reach.ts';
import { codeOf, InvalidSchema, prepareSchema } from './postgres-schema.ts';

/** A connection that was cut off without a word would be waited for by the hour. */
const answerMs = 10_000;

const changed = `select name, coalesce(d.version, 0) as version, d.text
  from agent_document d full join unnest($1::text[], $2::bigint[]) k(name, version) using (name)
  where coalesce(d.version, 0) <> coalesce(k.version, 0)`;

/** Divides by zero, which takes the whole statement back, unless each row had the expected version. */
const replace = `with
  given as (select * from unnest($1::text[], $2::bigint[], $3::text[]) g(name, expected, text)),
  made as (insert into agent_document (name, version, text) select name, 1, text from given where expected = 0
    on conflict (name) do update set version = 1, text = excluded.text where agent_document.version = 0 returning 1),
  put as (update agent_document d set version = d.version + 1, text = g.text from given g
    where d.name = g.name and d.version = g.expected and g.expected > 0 returning 1)
  select pg_notify('agent', current_schema || ' document'),
    1 / (((select count(*) from made) + (select count(*) from put) = cardinality($1::text[]))::int)`;
/** Another gateway was there first: a version it wrote, or rows that it locked in another order. */
const overtaken = ['22012', '40P01'];

const lease = `insert into agent_document (name, locked_by, locked_until) values ($1, $2, agent_now() + $3::bigint)
  on conflict (name) do update set locked_by = excluded.locked_by, locked_until = excluded.locked_until
    where agent_document.locked_until <= agent_now() returning 1`;

export function createDocumentRows(url: string, place: string): DocumentRows {
  let connecting: Promise<Client> | undefined;
  let news = (): void => {};

  function connected(): Promise<Client> {
    if (connecting !== undefined) return connecting;
    const mine: Promise<Client> = listening(() => {
      if (connecting === mine) connecting = undefined;
    });
    connecting = mine;
    return mine;
  }

  async function listening(ended: () => void): Promise<Client> {
    let client: Client | undefined;
    try {
      client = await reach(url, { query_timeout: answerMs });
      client.on('end', ended);
      const obstacle = await prepareSchema(client, place);
      if (obstacle !== undefined) throw new InvalidSchema(obstacle);
      const { rows } = await client.query(`select current_schema || ' document' as news`);
      client.on('notification', ({ payload }) => {
        if (payload === rows[0]?.news) news();
      });
      await client.query('listen agent');
      return client;
    } catch (thrown) {
      ended();
      void client?.end().catch(() => {});
      throw thrown;
    }
  }

  async function ask(text: string, values: readonly unknown[]): Promise<QueryResult> {
    const asked = connected();
    const client = await asked;
    try {
      return await client.query(text, [...values]);
    } catch (thrown) {
      if (!(thrown instanceof DatabaseError)) {
        if (connecting === asked) connecting = undefined;
        void client.end().catch(() => {});
      }
      throw thrown;
    }
  }

  return {
    async changed(known) {
      const { rows } = await ask(changed, [[...known.keys()], [...known.values()]]);
      return rows.map(({ name, version, text }) => ({ name, version: Number(version), text: text ?? undefined }));
    },
    async replace(changes) {
      try {
        await ask(replace, [
          changes.map(({ name }) => name),
          changes.map(({ expected }) => expected),
          changes.map(({ text }) => text ?? null),
        ]);
        return true;
      } catch (thrown) {
        if (overtaken.includes(codeOf(thrown))) return false;
        throw thrown;
      }
    },
    async lease(name, holder, forMs) {
      return (await ask(lease, [name, holder, forMs])).rows.length > 0;
    },
    async giveBack(name, holder) {
      await ask('update agent_document set locked_until = 0 where name = $1 and locked_by = $2', [name, holder]);
    },
    onNews(heard) {
      news = heard;
    },
    async close() {
      news = () => {};
      const client = await connecting?.catch(() => undefined);
      await client?.end().catch(() => {});
    },
  };
}
