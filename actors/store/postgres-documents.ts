/**
 * The rows of shared documents in Postgres, over a connection of their own that listens for news.
 * @see SUB-2, CRN-1 and OAU-2 in docs/specification.md
 */

import type { DocumentRows } from '../shared-documents.ts';
import { createListener } from './postgres-reach.ts';
import { codeOf } from './postgres-schema.ts';

const changed = `select name, coalesce(d.version, 0) as version, d.text
  from agent_document d full join unnest($1::text[], $2::bigint[]) k(name, version) using (name)
  where coalesce(d.version, 0) <> coalesce(k.version, 0)`;

/** Divides by zero, which rolls the statement back, unless each row had the expected version. */
const replace = `with
  given as (select * from unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[]) g(name, expected, version, text)),
  made as (insert into agent_document (name, version, text) select name, version, text from given where expected = 0
    on conflict (name) do update set version = excluded.version, text = excluded.text where agent_document.version = 0 returning 1),
  put as (update agent_document d set version = g.version, text = g.text from given g
    where d.name = g.name and d.version = g.expected and g.expected > 0 returning 1)
  select pg_notify('agent', current_schema || ' document'),
    1 / (((select count(*) from made) + (select count(*) from put) = cardinality($1::text[]))::int)`;
/** Another gateway was faster: it wrote a version, or locked rows in another order. */
const overtaken = ['22012', '40P01'];

/** A lock that ends far in the future was taken before the clock was set back, so it does not count. */
const lease = `insert into agent_document (name, locked_by, locked_until) values ($1, $2, agent_now() + $3::bigint)
  on conflict (name) do update set locked_by = excluded.locked_by, locked_until = excluded.locked_until
    where agent_document.locked_until <= agent_now() or agent_document.locked_until > agent_now() + 2 * $3::bigint
  returning 1`;

export function createDocumentRows(url: string, place: string): DocumentRows {
  let news = (): void => {};
  const listener = createListener({ url, place, heard: (word) => word === 'document' && news() });

  return {
    async changed(known) {
      const { rows } = await listener.ask(changed, [[...known.keys()], [...known.values()]]);
      return rows.map(({ name, version, text }) => ({ name, version: Number(version), text: text ?? undefined }));
    },
    async replace(changes) {
      try {
        await listener.ask(replace, [
          changes.map(({ name }) => name),
          changes.map(({ expected }) => expected),
          changes.map(({ version }) => version),
          changes.map(({ text }) => text ?? null),
        ]);
        return true;
      } catch (thrown) {
        if (overtaken.includes(codeOf(thrown))) return false;
        throw thrown;
      }
    },
    async lease(name, holder, forMs) {
      return (await listener.ask(lease, [name, holder, forMs])).rows.length > 0;
    },
    async giveBack(name, holder) {
      await listener.ask('update agent_document set locked_until = 0 where name = $1 and locked_by = $2', [
        name,
        holder,
      ]);
    },
    onNews(heard) {
      news = heard;
    },
    async close() {
      news = () => {};
      await listener.close();
    },
  };
}
