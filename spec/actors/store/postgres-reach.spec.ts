import t from 'tap';
import { createDocumentRows } from '../../../actors/store/postgres-documents.ts';
import { examineDatabase } from '../../../actors/store/postgres-examination.ts';
import { migratePostgresJournal, openPostgresJournal } from '../../../actors/store/postgres-journal.ts';
import { reach } from '../../../actors/store/postgres-reach.ts';
import { got } from '../../support/open-journal.ts';
import { startPostgres, withoutPostgres } from '../../support/postgres.ts';
import { startPooler } from '../../support/transaction-pooler.ts';
import { turn } from '../../support/turns.ts';

t.test(
  'SCA-2 · CON-2 · what was cut off without a word as it is closed is dropped',
  { skip: withoutPostgres },
  async (t) => {
    const postgres = await startPostgres(t);
    const way = await postgres.lossy();
    const url = way.url(await postgres.url());
    const journal = got(await openPostgresJournal({ url }));
    t.match(await journal.openSession('one', 60_000), { ok: true });
    t.equal(await journal.get('runs', 'none'), undefined);
    const documents = createDocumentRows(url, 'db');
    t.same(await documents.changed(new Map()), []);
    way.mute();
    await Promise.all([journal.close(), documents.close()]);
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
    const small = await startPooler(t, url, 'transaction', 1);
    for (const refused of [
      await openPostgresJournal({ url: pooled }),
      await openPostgresJournal({ url: small }),
      await migratePostgresJournal(pooled),
      await examineDatabase(pooled),
    ])
      t.match(refused, {
        ok: false,
        fault: { code: 'journal-unreadable', message: /pooler in transaction mode .* pool_mode = session/ },
      });
    const journal = got(await openPostgresJournal({ url: await startPooler(t, url, 'session') }));
    t.match(await journal.openSession('one', 60_000), { ok: true });
    t.match(await journal.commit([]), { kind: 'committed' });
    await journal.close();
  },
);
