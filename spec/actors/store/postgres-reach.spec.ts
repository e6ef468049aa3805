import t from 'tap';
import { createDocumentRows } from '../../../actors/store/postgres-documents.ts';
import { examineDatabase } from '../../../actors/store/postgres-examination.ts';
import { migratePostgresJournal, openPostgresJournal } from '../../../actors/store/postgres-journal.ts';
import { reach } from '../../../actors/store/postgres-reach.ts';
import { codeOf } from '../../../actors/store/postgres-schema.ts';
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
    const postgres = await startPostgres(t);
    const url = await postgres.url();
    for (const mode of ['transaction', 'statement'] as const) {
      const pooled = await startPooler(t, url, () => mode);
      const small = await startPooler(t, url, () => mode, 1);
      for (const refused of [
        await openPostgresJournal({ url: pooled }),
        await openPostgresJournal({ url: small }),
        await migratePostgresJournal(pooled),
        await examineDatabase(pooled),
      ])
        t.match(refused, {
          ok: false,
          fault: { code: 'journal-unreadable', message: RegExp(`pooler in ${mode} mode .* pool_mode = session`) },
        });
    }
    let mode: 'transaction' | 'session' = 'session';
    const journal = got(await openPostgresJournal({ url: await startPooler(t, url, () => mode) }));
    t.match(await journal.openSession('one', 60_000), { ok: true });
    t.match(await journal.commit([]), { kind: 'committed' });

    mode = 'transaction';
    await postgres.run(url, 'alter table agent_claim rename to away');
    const write = { kind: 'claim', name: 'a', value: {}, forMs: 60_000 } as const;
    t.match(await journal.commit([write]), { kind: 'unavailable' });
    await postgres.run(url, 'alter table away rename to agent_claim');

    t.match(await journal.probe(), { code: 'journal-unreadable', message: /pooler in transaction mode/ });
    mode = 'session';
    t.equal(await journal.probe(), undefined);
    await journal.close();
  },
);

t.test(
  'DUR-3 · SCA-1 · a database that only read when it was connected to is written to once it may be',
  { skip: withoutPostgres },
  async (t) => {
    const postgres = await startPostgres(t);
    const url = await postgres.url();
    const journal = got(await openPostgresJournal({ url }));
    const documents = createDocumentRows(url, 'db');
    const session = got(await journal.openSession('one', 60_000));
    t.equal(await documents.lease('d', 'me', 60_000), true);
    const reads = (word: string): Promise<unknown> =>
      postgres.run(
        url,
        `do $$ begin execute format('alter database %I ${word}', current_database()); end $$;
        select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid() and '${word}' like 'set%'`,
      );
    await reads('set default_transaction_read_only = on');
    while ((await journal.probe())?.code !== 'journal-read-only');
    while (true) {
      const renewed = await journal.renewSession(session, 60_000);
      if (!renewed.ok && renewed.fault.code === 'journal-read-only') break;
    }
    while (codeOf(await documents.lease('e', 'me', 60_000).catch((thrown: unknown) => thrown)) !== '25006');

    await reads('reset default_transaction_read_only');

    t.equal(await journal.probe(), undefined);
    t.match(await journal.renewSession(session, 60_000), { ok: true });
    t.equal(await documents.lease('e', 'me', 60_000), true);
    await Promise.all([journal.close(), documents.close()]);
  },
);

t.test(
  'SCA-1 · DUR-1 · the time limits of a role end neither a wait for another gateway nor a connection, and its isolation refuses nothing',
  { skip: withoutPostgres },
  async (t) => {
    const postgres = await startPostgres(t);
    const limits = ['lock_timeout=1', 'statement_timeout=5s', 'idle_session_timeout=5s'];
    const serial = 'default_transaction_isolation=serializable';
    const url = await postgres.url([...limits, serial].map((one) => ` -c ${one}`).join(''));
    const journal = got(await openPostgresJournal({ url }));
    const other = await reach(url);
    for (const limit of limits) {
      const [name = ''] = limit.split('=');
      t.same((await other.query(`show ${name}`)).rows, [{ [name]: '0' }]);
    }
    const [isolation] = (await other.query('show transaction_isolation')).rows;
    t.same(isolation, { transaction_isolation: 'read committed' }, 'in which no read is refused');
    await other.query('begin; lock table agent_claim in share mode');
    let isSettled = false;
    const committed = journal.commit([{ kind: 'claim', name: 'a', value: {}, forMs: 60_000 }]).finally(() => {
      isSettled = true;
    });
    const waits = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    while (!isSettled && (await postgres.run(url, waits)).length === 0);
    await other.query('select pg_sleep(0.02); commit');

    t.match(await committed, { kind: 'committed' });
    await Promise.all([journal.close(), other.end()]);
  },
);
