import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { createDocumentRows } from '../../../actors/store/postgres-documents.ts';
import { examineDatabase } from '../../../actors/store/postgres-examination.ts';
import { migratePostgresJournal, openPostgresJournal } from '../../../actors/store/postgres-journal.ts';
import { reach } from '../../../actors/store/postgres-reach.ts';
import { startPostgres, withoutPostgres } from '../../support/postgres.ts';
import { startPooler } from '../../support/transaction-pooler.ts';
import { turn } from '../../support/turns.ts';

/** A way to a database that can go silent: neither side hears the other any more, nor that it leaves. */
async function silentWay(t: Test, url: string): Promise<{ readonly url: string; silence(): void }> {
  const { searchParams, pathname } = new URL(url);
  const pairs: Socket[][] = [];
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect(`${searchParams.get('host')}/.s.PGSQL.5432`);
    near.pipe(far);
    far.pipe(near);
    for (const one of [near, far]) one.on('error', () => {});
    pairs.push([near, far]);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const one of pairs.flat()) one.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `postgres://agent@127.0.0.1:${port}${pathname}?options=${searchParams.get('options')}`,
    silence() {
      for (const one of pairs.flat()) one.unpipe().pause();
    },
  };
}

t.test(
  'SCA-2 · CON-2 · what was cut off without a word as it is closed is dropped',
  { skip: withoutPostgres },
  async (t) => {
    const way = await silentWay(t, await (await startPostgres(t)).url());
    const journal = await openPostgresJournal({ url: way.url });
    if (!journal.ok) throw new Error(journal.fault.message);
    t.match(await journal.value.openSession('one', 60_000), { ok: true });
    t.equal(await journal.value.get('runs', 'none'), undefined);
    const documents = createDocumentRows(way.url, 'db');
    t.same(await documents.changed(new Map()), []);
    way.silence();
    await Promise.all([journal.value.close(), documents.close()]);
  },
);

t.test('OBS-1 · the client prints no warning about the modes in which a certificate is checked', async (t) => {
  const printed: string[] = [];
  const hear = ({ message }: Error): void => void printed.push(message);
  process.on('warning', hear);
  t.teardown(() => process.off('warning', hear));
  for (const mode of ['prefer', 'require', 'verify-ca'])
    await t.rejects(reach(`postgres://me@127.0.0.1:1/db?sslmode=${mode}`), { code: 'ECONNREFUSED' });
  await turn();
  t.same(
    printed.filter((message) => message.includes('SSL')),
    [],
  );
});

t.test(
  'SCA-1 · CLI-2 · a pooler that lends a connection for one transaction is refused, one that lends it for good is not',
  { skip: withoutPostgres },
  async (t) => {
    const url = await (await startPostgres(t)).url();
    const pooled = await startPooler(t, url, 'transaction');
    for (const refused of [
      await openPostgresJournal({ url: pooled }),
      await migratePostgresJournal(pooled),
      await examineDatabase(pooled),
    ])
      t.match(refused, {
        ok: false,
        fault: { code: 'journal-unreadable', message: /pooler in transaction mode .* pool_mode = session/ },
      });
    const journal = await openPostgresJournal({ url: await startPooler(t, url, 'session') });
    if (!journal.ok) throw new Error(journal.fault.message);
    t.match(await journal.value.openSession('one', 60_000), { ok: true });
    t.match(await journal.value.commit([]), { kind: 'committed' });
    await journal.value.close();
  },
);
