import t from 'tap';
import { examineDatabase } from '../../../actors/store/postgres-examination.ts';
import { openPostgresJournal } from '../../../actors/store/postgres-journal.ts';
import { schemaVersion } from '../../../actors/store/postgres-schema.ts';
import { checkDatabase } from '../../../runtime/doctor/check-database.ts';
import { checkStore } from '../../../runtime/doctor/check-store.ts';
import { answering, codes, examined, troubles } from '../../support/examined.ts';
import { schemaOf, startPostgres, withoutPostgres } from '../../support/postgres.ts';
import { until } from '../../support/processes.ts';

const plenty = () => ({ disk: 1, bytes: 1e12, files: 1e6 });

t.test(
  'DUR-1 · SCA-1 · what a database can lose is found, and nothing is changed',
  { skip: withoutPostgres },
  async (t) => {
    const postgres = await startPostgres(t);
    const url = await postgres.url();
    const look = async (more = '') => troubles(await checkDatabase(url + encodeURIComponent(more)));
    t.same(await look(), []);
    t.same(await postgres.run(url, `select to_regclass('agent_meta') as made`), [{ made: null }], 'no table is made');

    postgres.beside('pg_receivewal', '-D', '.', '--no-loop');
    await until(async () => (await look()).length > 0);
    t.match(await look(), [{ level: 'warning', code: 'database-loses', what: /^a standby is connected, but/ }]);

    await postgres.restart('fsync=off');
    t.match(await look(), [{ level: 'warning', code: 'database-loses', what: /power cut/, cure: /fsync = on/ }]);

    await postgres.restart('synchronous_standby_names=*');
    t.match(await look(), [{ level: 'wrong', code: 'database-waits', cure: /synchronous_standby_names/ }]);
    t.same(await look(' -c synchronous_commit=local'), []);
    postgres.beside('pg_receivewal', '-D', '.', '--no-loop', '--synchronous');
    await until(async () => (await look(' -c synchronous_commit=local')).length > 0);
    t.match(await look(' -c synchronous_commit=local'), [{ what: /synchronous_commit is local/ }]);
    t.same(await look(), []);
  },
);

t.test('SCA-3 · two gateways with one name are found', { skip: withoutPostgres }, async (t) => {
  const postgres = await startPostgres(t);
  const url = await postgres.url();
  const journals = [await openPostgresJournal({ url }), await openPostgresJournal({ url })];
  for (const opened of journals) {
    if (!opened.ok) throw new Error(opened.fault.message);
    t.same(await checkDatabase(url), []);
    await opened.value.openSession('g1', 60_000);
  }
  t.match(await checkDatabase(url), [
    { level: 'warning', code: 'node-shared', what: /"g1"/, cure: /set gateway\.node/ },
  ]);
  for (const opened of journals) if (opened.ok) await opened.value.close();
});

t.test('SCA-3 · the connections of other users are counted too', { skip: withoutPostgres }, async (t) => {
  const postgres = await startPostgres(t);
  const url = await postgres.url();
  const journal = await openPostgresJournal({ url });
  if (journal.ok) await journal.value.close();
  // That of the spec has another user than the one that asks.
  const found = await examineDatabase(await postgres.least(url));
  t.ok(found.ok && found.value.connections.used > 1 && found.value.connections.most === 200);
});

t.test('SCA-1 · clocks that differ are found', { skip: withoutPostgres }, async (t) => {
  const url = await (await startPostgres(t)).url();
  const off = async (ms: number) => troubles(await checkDatabase(url, () => Date.now() + ms));
  t.match(await off(-10_000), [{ level: 'warning', code: 'clock-skew', what: /10 s ahead of/ }]);
  t.match(await off(120_000), [{ level: 'wrong', code: 'clock-skew', what: /120 s behind/ }]);
});

t.test(
  'SCA-1 · a database that cannot be used is found as a start would find it',
  { skip: withoutPostgres },
  async (t) => {
    const postgres = await startPostgres(t);
    const url = await postgres.url();
    const journal = await openPostgresJournal({ url });
    t.ok(journal.ok);
    if (journal.ok) await journal.value.close();
    t.same(await checkDatabase(url), [], 'one that a gateway has used');
    await postgres.run(url, `update agent_meta set value = 99 where name = 'schema'`);
    t.match(await checkDatabase(url), [
      { level: 'wrong', code: 'store-fault', what: /version 99.*\[journal-version\]/ },
    ]);
    const readOnly = `${url}${encodeURIComponent(' -c default_transaction_read_only=on')}`;
    await postgres.run(url, `update agent_meta set value = ${schemaVersion} where name = 'schema'`);
    t.match(await checkDatabase(readOnly), [{ what: /\[journal-read-only\]/ }]);
  },
);

t.test(
  'CLI-2 · SCA-1 · missing rights and tables are found before a gateway starts, as it would find them',
  { skip: withoutPostgres },
  async (t) => {
    const postgres = await startPostgres(t);
    const [made, empty] = [await postgres.url(), await postgres.url()];
    const journal = await openPostgresJournal({ url: made });
    if (journal.ok) await journal.value.close();
    await postgres.least(made);
    const ofGateway = (url: string): string => url.replace('agent@', 'gw@');
    const found = async (url: string) => {
      const opened = await openPostgresJournal({ url });
      if (opened.ok) await opened.value.close();
      t.notOk(opened.ok, 'a start fails');
      return troubles(await checkDatabase(url));
    };
    const wrong = (what: RegExp) => [{ level: 'wrong', code: 'store-fault', what }];
    t.match(await found(ofGateway(empty)), wrong(/cannot be made .*\[journal-unreadable\]/), 'no usage of the schema');
    await postgres.run(empty, `grant usage on schema ${schemaOf(empty)} to gw`);
    t.match(await found(ofGateway(empty)), wrong(/may not make or use .*permission denied for schema/));
    t.same(await checkDatabase(ofGateway(made)), [], 'the rights that docs/scale.md lists are enough');
    await postgres.run(made, 'revoke select on agent_claim from gw');
    t.match(await found(ofGateway(made)), wrong(/may not make or use .*agent_claim/));
    await postgres.run(made, 'drop table agent_question');
    t.match(await found(made), wrong(/a table is missing .*agent_question/));
  },
);

t.test('CLI-2 · SCA-1 · doctor asks the database with and without a gateway', async (t) => {
  const home = examined(t, {
    '.env': 'DATABASE_URL=postgres://me:hunter2@127.0.0.1:1/db\n',
    'config.yaml': 'gateway: {journal: postgres, postgres: {url: "${DATABASE_URL}"}}\n',
  });
  const found = troubles(await checkStore(home, plenty));
  t.match(found, [
    {
      level: 'wrong',
      code: 'store-fault',
      place: 'postgres://127.0.0.1:1/db',
      what: /^the database .*\[journal-unavailable\]/,
    },
  ]);
  t.notMatch(JSON.stringify(found), /hunter2/);
  t.same(codes(await checkStore({ ...home, offline: true }, plenty)), []);
  const running = (journal: string) => checkStore({ ...home, gateway: answering({ status: { journal } }) }, plenty);
  t.same(codes(await running('db: the database does not answer')), ['wrong store-fault'], 'once');
});
