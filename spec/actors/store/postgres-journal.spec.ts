import t from 'tap';
import type { Journal, Write } from '../../../actors/store/journal.ts';
import { openPostgresJournal } from '../../../actors/store/postgres-journal.ts';
import { placeOf } from '../../../actors/store/postgres-schema.ts';
import { eventCountsContract } from '../../conformance/event-counts.ts';
import { journalContract } from '../../conformance/journal.ts';
import { startPostgres, withoutPostgres } from '../../support/postgres.ts';
import { runs } from '../../support/property.ts';
import { turn } from '../../support/turns.ts';

t.test('DUR-1 · a journal in Postgres', { skip: withoutPostgres }, async (t) => {
  const postgres = await startPostgres(t);
  const open = async (url: string, patienceMs = 3_000): Promise<Journal> => {
    const opened = await openPostgresJournal({ url, patienceMs });
    if (!opened.ok) throw new Error(opened.fault.message);
    return opened.value;
  };
  journalContract(t, 'Postgres', {
    async open() {
      const url = await postgres.url();
      const journal = await open(url);
      await postgres.lendClock(url);
      return { journal, clock: { set: (nowMs) => postgres.setClock(url, nowMs) } };
    },
    histories: runs(30),
  });
  eventCountsContract(t, 'Postgres', { open: async () => open(await postgres.url()), histories: runs(10, 2) });

  t.test('DUR-1 · one gateway alone may use a database, and its lock goes with it', async (t) => {
    const url = await postgres.url();
    const one = await open(url);
    const other = await openPostgresJournal({ url, patienceMs: 0 });
    t.match(other, {
      ok: false,
      fault: { code: 'journal-reserve', message: /another gateway uses this database/ },
    });
    await one.openSession('one', 60_000);
    const waiting = open(url, Number.POSITIVE_INFINITY);
    await one.close();
    await (await waiting).close();

    const ending = new AbortController();
    const holder = await open(url);
    await holder.openSession('holder', 60_000);
    const given = openPostgresJournal({ url, patienceMs: Number.POSITIVE_INFINITY, signal: ending.signal });
    ending.abort();
    t.match(await given, { ok: false, fault: { code: 'journal-reserve' } }, 'a gateway that ends waits no longer');
    await holder.close();
  });

  t.test('SCA-2 · the sessions of a gateway that lost the database end with the next one there', async (t) => {
    const url = await postgres.url();
    const one = await open(url);
    const session = await one.openSession('one', 60_000);
    const id = session.ok ? session.value : '';
    await one.commit([{ kind: 'put', collection: 'runs', key: 'k', value: {}, dueAtMs: 1, heldBy: id }]);
    const waiting = open(url, Number.POSITIVE_INFINITY);
    const heard: string[] = [];
    const news = new Promise<void>((resolve) => {
      one.watch((one) => {
        heard.push(one);
        resolve();
      });
    });
    // As where its machine is cut off: its connections end, and it does not know it yet.
    await postgres.run(
      url,
      `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and classid = hashtext('agent_gateway')::oid`,
    );
    const other = await waiting;
    const next = await other.openSession('other', 60_000);
    const mine = next.ok ? next.value : '';
    t.match(await other.take('runs', { session: mine, dueBeforeMs: 9, limit: 9 }), {
      ok: true,
      value: [{ version: 2 }],
    });
    t.match(await one.commit([{ kind: 'put', collection: 'runs', key: 'k', value: {}, expect: 1 }]), {
      kind: 'unavailable',
    });
    t.match(await one.renewSession(id, 60_000), { ok: false, fault: { code: 'journal-session-ended' } });
    t.match(await other.reap(), { ok: true, value: 0 });
    await other.endSession(mine);
    await news;
    t.same(heard, ['session']);
    await Promise.all([one.close(), other.close()]);
  });

  t.test(
    'DUR-1 · a database that cannot hold the journal is refused with the reason, never with the password',
    async (t) => {
      const readOnly = await postgres.url(' -c default_transaction_read_only=on');
      const older = await postgres.url();
      await (await open(older)).close();
      const readOnlyLater = `${older}${encodeURIComponent(' -c default_transaction_read_only=on')}`;
      const newer = await postgres.url();
      await (await open(newer)).close();
      await postgres.run(newer, `update agent_meta set value = 7 where name = 'schema'`);
      const rows: readonly (readonly [string, string, RegExp])[] = [
        [readOnly, 'journal-read-only', /only reads .*name the primary/],
        [readOnlyLater, 'journal-read-only', /only reads/],
        [newer, 'journal-version', /tables are of version 7, this gateway knows version \d/],
        [
          older.replace(/search_path%3Ds\d+/, 'search_path%3Dnone'),
          'journal-unreadable',
          /tables cannot be made .*search_path/,
        ],
        [older.replace('/postgres?', '/none?'), 'journal-unreadable', /database "none" does not exist/],
        [
          'postgres://me:hunter2@127.0.0.1:1/db',
          'journal-unavailable',
          /^postgres:\/\/127\.0\.0\.1:1\/db: .*ECONNREFUSED/,
        ],
        ['postgres://me:hunter2@localhost/db?host=/nowhere', 'journal-unavailable', /does not answer/],
      ];
      for (const [url, code, message] of rows) {
        const opened = await openPostgresJournal({ url, patienceMs: 0 });
        t.match(opened, { ok: false, fault: { code, message } }, url);
        t.notMatch(JSON.stringify(opened), /hunter2/);
      }
      t.equal(placeOf('no url'), 'gateway.postgres.url');
    },
  );

  t.test('DUR-1 · a database that restarts costs refusals, and nothing that was acknowledged', async (t) => {
    const journal = await open(await postgres.url());
    t.teardown(() => journal.close());
    const put = (key: string): Write => ({ kind: 'put', collection: 'runs', key, value: {}, expect: 'absent' });
    const acknowledged: string[] = [];
    let stop = false;
    const writing = (async () => {
      for (let n = 0; !stop; n += 1) {
        const key = `k${String(n).padStart(6, '0')}`;
        if ((await journal.commit([put(key)])).kind === 'committed') acknowledged.push(key);
        else if ((await journal.probe()) === undefined) stop = true;
      }
    })();
    while (acknowledged.length < 20) await turn();
    await postgres.restart();
    await writing;

    t.same(await journal.commit([put('last')]), { kind: 'committed' });
    const kept = new Set((await journal.list('runs', { order: 'oldest', limit: 1_000_000 })).map(({ key }) => key));
    t.ok(acknowledged.length > 0);
    t.same(
      acknowledged.filter((key) => !kept.has(key)),
      [],
      'nothing acknowledged is lost',
    );
  });
});
