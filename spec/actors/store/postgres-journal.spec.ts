import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, Pool } from 'pg';
import t from 'tap';
import { copyJournal } from '../../../actors/store/copy-journal.ts';
import type { Journal, News, Put, Write } from '../../../actors/store/journal.ts';
import { openMemoryJournal } from '../../../actors/store/memory-journal.ts';
import { examineDatabase } from '../../../actors/store/postgres-examination.ts';
import { migratePostgresJournal, openPostgresJournal } from '../../../actors/store/postgres-journal.ts';
import { reach } from '../../../actors/store/postgres-reach.ts';
import { placeOf, postgresFault, schemaVersion } from '../../../actors/store/postgres-schema.ts';
import { createRedactor } from '../../../runtime/observe/redact.ts';
import { inTurns } from '../../../runtime/system/turns.ts';
import { eventCountsContract } from '../../conformance/event-counts.ts';
import { journalContract, sharedContract } from '../../conformance/journal.ts';
import { got } from '../../support/open-journal.ts';
import { schemaOf, startPostgres, withoutPostgres } from '../../support/postgres.ts';
import { runs } from '../../support/property.ts';
import { inAllOnly } from '../../support/tier.ts';

const refusesBad = `create function refuse() returns trigger language plpgsql as $$ begin
    if new.key = 'bad' then raise exception 'has no equivalent' using errcode = '22P05'; end if; return new; end $$;
  create trigger refuse before insert on agent_record for each row execute function refuse()`;

t.test('DUR-1 · a journal in Postgres', { skip: withoutPostgres }, async (t) => {
  const postgres = await startPostgres(t);
  const open = async (url: string): Promise<Journal> => got(await openPostgresJournal({ url }));
  journalContract(t, 'Postgres', {
    async open() {
      const owned = await postgres.url();
      got(await migratePostgresJournal(owned));
      const url = await postgres.least(owned);
      const journal = await open(url);
      await postgres.lendClock(owned);
      return { journal, clock: { set: (nowMs) => postgres.setClock(owned, nowMs) } };
    },
    histories: runs(30, 6),
  });
  eventCountsContract(t, 'Postgres', { open: async () => open(await postgres.url()), histories: runs(10, 2) });

  t.test('SCA-1 · SRC-4 · the claims of a long array are looked up in few queries', async (t) => {
    const journal = await open(await postgres.url());
    const names = Array.from({ length: 400 }, (_, n) => `{"n${n}",\\ 'x'}`);
    const claims = names
      .filter((_, n) => n % 2 === 0)
      .map((name): Write => ({ kind: 'claim', name, value: { by: name }, forMs: 60_000 }));
    t.match(await journal.commit(claims), { kind: 'committed' });
    const queries = t.capture(Pool.prototype, 'query', Pool.prototype.query);
    const found: Promise<unknown>[] = [];
    await new Promise<void>((resolve) =>
      inTurns([...names, 'last'], (name) => {
        found.push(journal.claimed(name));
        if (name === 'last') resolve();
        return true;
      }),
    );
    t.same(await Promise.all(found), [...names.map((by, n) => (n % 2 === 0 ? { by } : undefined)), undefined]);
    const asked = queries().length;
    t.ok(asked > 0 && asked <= 14, `${asked} queries, at most one for each turn`);
    await journal.close();
  });

  const openTwo = async (url: string) => [await open(url), await open(url)] as const;
  sharedContract(t, 'Postgres', {
    async open() {
      const url = await postgres.url();
      const journals = await openTwo(url);
      await postgres.lendClock(url);
      return { journals, clock: { set: (nowMs) => postgres.setClock(url, nowMs) } };
    },
    histories: runs(8, 3),
  });

  t.test('SCA-2 · a database that restarts ends the session of no gateway that comes back', async (t) => {
    const url = await postgres.url();
    const [one, other] = await openTwo(url);
    await postgres.lendClock(url);
    await postgres.setClock(url, 1_000);
    const sessions = [got(await one.openSession('one', 60_000)), got(await other.openSession('other', 60_000))];
    await postgres.run(url, `insert into agent_session values ('s99', 'dead', 60000, 99)`);
    await postgres.restart();
    // Nobody renews: each comes back by itself.
    const locked = `select 1 from pg_locks l join agent_session s on s.number = l.objid::bigint
      where l.locktype = 'advisory' and l.classid = hashtext('agent_session ' || current_schema)::oid`;
    while ((await postgres.run(url, locked)).length < 2) await sleep(5);
    const reaped = async (nowMs: number) => {
      await postgres.setClock(url, nowMs);
      return got(await one.reap());
    };
    t.equal(await reaped(2_000), 0, 'it judges no one that may still come back');
    await other.close();
    while ((await postgres.run(url, locked)).length === 2) await sleep(5);
    t.equal(await reaped(2_100), 0, 'and notes who came back and is away again');
    t.equal(await reaped(3_599), 0);
    t.equal(await reaped(3_600), 1);
    const living = async () => new Set(got(await one.living()).map(({ id }) => id));
    t.same(await living(), new Set([sessions[0], 's99']));
    t.equal(await reaped(5_999), 0);
    t.equal(await reaped(6_000), 0, 'then it notes who never came back');
    t.equal(await reaped(7_499), 0);
    t.equal(await reaped(7_500), 1);
    t.same(await living(), new Set([sessions[0]]));
    await one.close();
  });

  t.test('SCA-1 · SCA-2 · a database that is restored from a backup gives no session to two gateways', async (t) => {
    const url = await postgres.url();
    const [one, other] = await openTwo(url);
    const session = got(await one.openSession('one', 60_000));
    await postgres.run(url, 'delete from agent_session; alter sequence agent_session_number restart');
    t.not(got(await other.openSession('other', 60_000)), session);
    t.match(await one.renewSession(session, 60_000), { ok: false, fault: { code: 'journal-session-ended' } });
    await Promise.all([one.close(), other.close()]);
  });

  t.test(
    'SCA-2 · a gateway that lost the connection of its session knows it until it has found both again',
    async (t) => {
      const url = await postgres.url();
      const way = await postgres.lossy();
      const one = await open(way.url(url));
      const session = got(await one.openSession('one', 60_000));
      t.equal(one.lostMs(), 0);
      const heard: News[] = [];
      one.watch((news) => heard.push(news));
      const locks = `from pg_locks where locktype = 'advisory' and granted
      and classid = hashtext('agent_session ' || current_schema)::oid`;
      const lose = async (): Promise<void> => {
        way.block(true);
        await postgres.run(url, `select pg_terminate_backend(pid) ${locks}`);
        while (one.lostMs() === 0) await sleep(5);
      };

      await postgres.run(url, `alter table agent_session add check (owner <> 'refused')`);
      t.match(await one.openSession('refused', 60_000), { ok: false });
      await lose();
      t.same(
        heard.filter((news) => news === 'lost'),
        ['lost'],
      );
      await postgres.run(url, 'update agent_session set lost_at = 1');
      way.block(false);
      while (one.lostMs() > 0) await sleep(5);
      t.same(
        await postgres.run(url, 'select lost_at from agent_session'),
        [{ lost_at: null }],
        'another that was about to end it does not, and none that was never opened is waited for',
      );
      await lose();
      await postgres.run(url, 'delete from agent_session');
      way.block(false);
      while ((await postgres.run(url, `select 1 ${locks}`)).length === 0) await sleep(5);

      t.match(await one.renewSession(session, 60_000), { ok: false, fault: { code: 'journal-session-ended' } });
      t.ok(one.lostMs() > 0, 'its session has ended');
      got(await one.openSession('one', 60_000));
      t.equal(one.lostMs(), 0);
      await lose();
      way.block(false);
      // The one that ended is not waited for.
      while (one.lostMs() > 0) await sleep(5);
      await one.close();
    },
  );

  t.test(
    'SCA-1 · who needs a database alone has it while no gateway uses it, and no gateway opens it meanwhile',
    async (t) => {
      const url = await postgres.url();
      const gateways = await openTwo(url);
      t.match(await openPostgresJournal({ url, alone: true }), {
        ok: false,
        fault: { code: 'journal-in-use', message: /a gateway uses this database; stop it first/ },
      });
      await Promise.all(gateways.map((one) => one.close()));
      const alone = got(await openPostgresJournal({ url, alone: true }));
      t.match(await openPostgresJournal({ url }), {
        ok: false,
        fault: { code: 'journal-in-use', message: /`agent journal copy` uses this database/ },
      });
      await alone.close();
      await (await open(url)).close();
    },
  );

  t.test(
    'SCA-2 · a gateway that starts takes the work of a killed one at once, unless all connections may just have been cut',
    async (t) => {
      const url = await postgres.url();
      const living = await open(url);
      const session = got(await living.openSession('living', 60_000));
      const [row] = await postgres.run(
        url,
        `select extract(epoch from max(backend_start)) * 1000 as began from pg_stat_activity
          where pid in (select pid from pg_locks where locktype = 'advisory')`,
      );
      const beganMs = Math.floor(Number(row?.began));
      await postgres.lendClock(url);
      const starts = async (atMs: number) => {
        await postgres.setClock(url, atMs);
        await postgres.run(url, `insert into agent_session values ('s99', 'dead', ${atMs + 60_000}, 99)`);
        const journal = await open(url);
        got(await journal.openSession('one', 60_000));
        const reaped: number[] = [];
        for (const laterMs of [0, 1_499, 1_500, 5_000, 6_500]) {
          await postgres.setClock(url, atMs + laterMs);
          reaped.push(got(await journal.reap()));
        }
        await journal.close();
        await postgres.run(url, `delete from agent_session where owner <> 'living'`);
        return reaped;
      };
      t.same(await starts(beganMs + 4_900), [0, 0, 0, 0, 1], 'the connections of the others are as new as its own');
      t.same(await starts(beganMs + 5_001), [0, 0, 1, 0, 0], 'one has lasted');
      await living.endSession(session);
      await living.close();
      t.same(await starts(beganMs + 3_600_000), [0, 0, 0, 0, 1], 'no other gateway is there');

      await postgres.setClock(url, beganMs + 3_600_000);
      const behind = await open(url);
      got(await behind.openSession('behind', 60_000));
      await postgres.run(url, `insert into agent_session values ('s98', 'dead', ${beganMs + 3_660_000}, 98)`);
      const reaped: number[] = [];
      for (const laterMs of [0, 5_000, 6_500]) {
        await postgres.setClock(url, beganMs + laterMs);
        reaped.push(got(await behind.reap()));
      }
      t.same(reaped, [0, 0, 1], 'a clock that is set back does not prolong it');
      await behind.close();
    },
  );

  t.test('DUR-1 · SCA-1 · a commit whose connection breaks is reported by its outcome', async (t) => {
    const way = await postgres.lossy();
    // One that is late finds its connection ended at the database.
    const rows = [
      ['made', 'committed'],
      ['denied', 'committed'],
      ['late', 'unavailable'],
      ['lost', 'unavailable'],
    ] as const;
    for (const alone of [true, false]) {
      for (const [commit, kind] of rows) {
        const url = await postgres.url();
        const journal = got(await openPostgresJournal({ url: way.url(url), alone }));
        const session = got(await journal.openSession('one', 60_000));
        way.cutNext(commit);
        t.equal((await journal.commit([put('k', { heldBy: session })])).kind, kind, commit);
        t.equal((await journal.get('runs', 'k'))?.version, kind === 'committed' ? 1 : undefined);
        t.equal(await journal.probe(), undefined);
        t.match(await journal.renewSession(session, 60_000), { ok: true });
        t.same(await journal.commit([put('later')]), { kind: 'committed' });
        await journal.close();
      }
    }
  });

  t.test('SCA-2 · a writing connection that ends while nothing is written is reported and replaced', async (t) => {
    const url = await postgres.url();
    let cuts = 0;
    const journal = got(
      await openPostgresJournal({
        url,
        cut: () => {
          cuts += 1;
        },
      }),
    );
    const locks = `from pg_locks where locktype = 'advisory' and classid = hashtext('agent_gateway')::oid
      and objid = hashtext(current_schema)::oid`;
    for (const nth of [1, 2]) {
      await postgres.run(url, `select pg_terminate_backend(pid) ${locks}`);
      while (cuts < nth) await sleep(5);
      t.same(await Promise.all([journal.probe(), journal.commit([put(`k${nth}`)])]), [
        undefined,
        { kind: 'committed' },
      ]);
    }
    await journal.close();
    t.equal(cuts, 2, 'not when the journal is closed');
  });

  t.test('DUR-1 · SCA-1 · what a take held although its answer was lost is taken once more', async (t) => {
    const way = await postgres.lossy();
    for (const answer of ['made', 'denied'] as const) {
      const journal = await open(way.url(await postgres.url()));
      t.teardown(() => journal.close());
      const session = got(await journal.openSession('one', 60_000));
      const take = () => journal.take('runs', { session, dueBeforeMs: 9, limit: 1 });
      for (const key of ['held', 'k']) await journal.commit([put(key)]);
      t.match(await take(), { value: [{ key: 'held', version: 2 }] });
      way.cutNext(answer, 'agent_take');
      t.match(await take(), { ok: false });
      while ((await journal.probe()) !== undefined) await sleep(5);
      t.match(
        got(await take()),
        [
          { key: 'held', version: 3 },
          { key: 'k', version: 3 },
        ],
        answer,
      );
      t.same(got(await take()), [], 'once');
      for (const key of ['l', 'm', 'n']) await journal.commit([put(key)]);
      way.cutNext('made', 'agent_take');
      t.match(await take(), { ok: false });
      while ((await journal.probe()) !== undefined) await sleep(5);
      const again = got(await take()).map(({ key }) => key);
      t.same(again, ['held', 'k', 'l', 'm'], 'beside what it holds, no more than was asked for');
    }
  });

  t.test('DUR-1 · SCA-1 · after a database is set back, what a session holds there is taken once more', async (t) => {
    const url = await postgres.url(',pg_catalog');
    const timeline = (name: string) =>
      postgres.run(
        url,
        `create or replace function pg_walfile_name(pg_lsn) returns text language sql as $$ select '${name}0000' $$`,
      );
    await timeline('00000001');
    const journal = await open(url);
    const session = got(await journal.openSession('one', 60_000));
    const take = async () =>
      got(await journal.take('runs', { session, dueBeforeMs: 9, limit: 9 })).map(({ key }) => key);
    await journal.commit([put('k', { heldBy: session })]);
    t.match(await journal.renewSession(session, 60_000), { ok: true });
    t.same(await take(), [], 'what it holds is known here');

    await postgres.run(url, 'update agent_session set expires_at = expires_at - 1000');
    t.match(await journal.renewSession(session, 60_000), { ok: true });
    t.same(await take(), ['k'], 'an earlier backup was restored');
    t.match(await journal.renewSession(session, 60_000), { ok: true });
    t.same(await take(), [], 'once');

    await timeline('00000002');
    await postgres.run(
      url,
      `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'agent' and datname = current_database()`,
    );
    while ((await journal.probe()) !== undefined) await sleep(5);
    while ((await take()).length === 0) await journal.renewSession(session, 60_000);
    t.same(await take(), [], 'a standby was promoted');
    await journal.close();
  });

  t.test('DUR-1 · SCA-1 · if the outcome of a commit is unknowable, its session ends', async (t) => {
    const way = await postgres.lossy();
    for (const alone of [true, false]) {
      const url = way.url(await postgres.url());
      const journal = got(await openPostgresJournal({ url, alone, outcomeMs: 0 }));
      t.teardown(() => journal.close());
      const session = got(await journal.openSession('one', 60_000));
      way.cutNext('made');
      way.block(true);
      t.equal((await journal.commit([put('k', { heldBy: session })])).kind, 'unavailable');
      await t.rejects(
        journal.get('runs', 'k'),
        { message: /^postgres:\/\/[^@]+: .+; see that it runs/, fault: { code: 'journal-unavailable' } },
        'CLI-2: a command can say where the database is and what to do',
      );
      way.block(false);
      while ((await journal.probe()) !== undefined) await sleep(5);
      t.match(await journal.renewSession(session, 60_000), { ok: false, fault: { code: 'journal-session-ended' } });
      const rewrite = got(await journal.openSession('one', 60_000));
      const taken = got(await journal.take('runs', { session: rewrite, dueBeforeMs: 9, limit: 9 }));
      t.match(taken, [{ key: 'k', version: 2 }], 'what it wrote is free to be taken up');
    }
  });

  t.test(
    'SCA-2 · what goes by a connection that was cut off without a word is refused, and another is made',
    async (t) => {
      const way = await postgres.lossy();
      const url = await postgres.url();
      const journal = got(await openPostgresJournal({ url: way.url(url), answerMs: 2_000 }));
      t.teardown(() => journal.close());
      const session = got(await journal.openSession('one', 60_000));
      t.same(await journal.commit([put('k')]), { kind: 'committed' });
      t.equal((await journal.get('runs', 'k'))?.version, 1);
      t.teardown(way.mute());
      const silent = await Promise.all([
        journal.commit([put('lost')]),
        journal.renewSession(session, 60_000),
        journal.get('runs', 'k').catch((thrown) => thrown.message),
        journal.prune({ keepAfterKey: 'a', maxBytes: 1_000_000 }),
      ]);
      t.match(silent, [
        { kind: 'unavailable', fault: { code: 'journal-unavailable', message: /the database does not answer/ } },
        { ok: false },
        /timeout/,
        { ok: false },
      ]);
      while ((await journal.probe()) !== undefined) await sleep(5);
      t.match(await journal.renewSession(session, 60_000), { ok: true });
      t.same(await journal.commit([put('later')]), { kind: 'committed' });
      t.equal((await journal.get('runs', 'k'))?.version, 1);
      t.equal(await journal.get('runs', 'lost'), undefined);
    },
  );

  t.test(
    'DUR-1 · SCA-1 · a commit that waits for the lock of a table is refused, and its reason names the lock',
    async (t) => {
      const url = await postgres.url();
      const journal = got(await openPostgresJournal({ url, answerMs: 2_000, outcomeMs: 100 }));
      const other = await reach(url);
      t.teardown(() => other.end());
      await other.query('begin; lock table agent_record');
      const refused = await journal.commit([put('locked')]);
      t.match(refused, {
        kind: 'unavailable',
        fault: { message: /does not answer .*nothing locks the journal's tables/ },
      });
      await other.query('rollback');
      while ((await journal.probe()) !== undefined) await sleep(5);
      t.same(await journal.commit([put('free')]), { kind: 'committed' });
      t.equal(await journal.get('runs', 'locked'), undefined, 'what was refused is not there');
      await journal.close();
    },
  );

  t.test('SCA-1 · gateways that lock in opposed orders wait for each other, and none stops', async (t) => {
    const url = await postgres.url();
    const [one, other] = await openTwo(url);
    const session = got(await one.openSession('one', 60_000));
    for (let round = 0; round < runs(15); round += 1) {
      const keys = ['a', 'b', 'c', 'd'].map((letter) => `${letter}${round}`);
      // The later a key, the earlier it is due: they are taken in the order opposed to that of the writes.
      const puts = keys.map((key, index) => put(key, { dueAtMs: 9 - index }));
      const verdicts = await Promise.all([one.commit(puts), other.commit(puts.toReversed())]);
      t.same(verdicts.map(({ kind }) => kind).sort(), ['committed', 'stale'], `round ${round}`);
      const again = keys.map((key) => ({ ...put(key), expect: 1, dueAtMs: null }) as Write);
      const [written, taken] = await Promise.all([
        other.commit(again),
        one.take('runs', { session, dueBeforeMs: 99, limit: 9 }),
        one.prune({ keepAfterKey: 'b', maxBytes: 0 }),
        other.prune({ keepAfterKey: 'b', maxBytes: 0 }),
      ]);
      t.ok(taken.ok && written.kind !== 'unavailable', 'neither is stopped');
    }
    t.same(await Promise.all([one.prune(all), other.prune(all)]).then((gone) => gone.every(({ ok }) => ok)), true);
    t.same(await Promise.all([one.probe(), other.probe()]), [undefined, undefined]);
    await Promise.all([one.close(), other.close()]);
  });

  t.test(
    'DUR-1 · a commit is on the disk of the database before it is reported, whatever its settings say',
    async (t) => {
      const url = await postgres.url(' -c synchronous_commit=off');
      const client = await reach(url);
      t.same((await client.query('show synchronous_commit')).rows, [{ synchronous_commit: 'on' }]);
      await client.end();
      const stricter = await reach(await postgres.url(' -c synchronous_commit=remote_apply'));
      t.same((await stricter.query('show synchronous_commit')).rows, [{ synchronous_commit: 'remote_apply' }]);
      await stricter.end();
    },
  );

  t.test('SCA-1 · gateways that make the same records in opposed orders never lock each other out', async (t) => {
    const url = await postgres.url();
    const journals = await openTwo(url);
    const deadlocks = async () => {
      const [row] = await postgres.run(
        url,
        'select deadlocks from pg_stat_database where datname = current_database()',
      );
      return Number(row?.deadlocks);
    };
    const before = await deadlocks();
    for (let round = 0; round < 6; round += 1) {
      const puts = Array.from({ length: 2_000 }, (_, index) => put(`${index}-${round}`));
      await Promise.all(journals.map((journal, at) => journal.commit(at === 0 ? puts : puts.toReversed())));
    }
    await Promise.all(journals.map((journal) => journal.close()));
    // A connection counts its deadlocks when it ends.
    const left = `select 1 from pg_stat_activity where application_name = 'agent'`;
    while ((await postgres.run(url, left)).length > 0) await sleep(5);
    t.equal(await deadlocks(), before);
  });

  t.test(
    'SCA-1 · tables of an earlier release are migrated when asked, and while no gateway lives there',
    async (t) => {
      const [url, none, newer] = [await postgres.url(), await postgres.url(), await postgres.url()];
      const journal = await open(url);
      const session = got(await journal.openSession('gw-1', 60_000));
      const older = schemaVersion - 1;
      await postgres.run(url, `update agent_meta set value = ${older} where name = 'schema'`);
      const compression = `select case when 'lz4' = any(enumvals) then attcompression::text else 'l' end as by
        from pg_settings, pg_attribute
        where pg_settings.name = 'default_toast_compression' and attrelid = 'agent_record'::regclass and attname = 'value'`;
      t.same(await postgres.run(url, compression), [{ by: 'l' }]);
      await postgres.run(url, 'alter table agent_record alter column value set compression pglz');
      // What an earlier release kept of events that are gone.
      await postgres.run(url, 'create index agent_claim_expiry on agent_claim (expires_at)');
      await postgres.run(url, `insert into agent_claim values ('c', '{}', 1, 'gone')`);
      t.match(await openPostgresJournal({ url }), {
        ok: false,
        fault: { code: 'journal-version', message: /run `agent gateway migrate`/ },
      });
      t.match(await migratePostgresJournal(url), { ok: false, fault: { message: /gateways use its tables .*"gw-1"/ } });
      await journal.endSession(session);
      t.match(
        await migratePostgresJournal(url),
        { ok: false, fault: { message: /a gateway is connected to its tables .*; stop it first/ } },
        'one without a session could go on with the tables that it knows',
      );
      await journal.close();
      const both = await Promise.all([migratePostgresJournal(url), migratePostgresJournal(url)]);
      t.ok(both.every((one) => one.ok && one.value.to === schemaVersion));
      t.same(await postgres.run(url, compression), [{ by: 'l' }]);
      t.same(got(await migratePostgresJournal(url)), { from: schemaVersion, to: schemaVersion });
      const migrated = await open(url);
      got(await migrated.prune(all));
      await migrated.close();
      t.same(await postgres.run(url, 'select name from agent_claim'), []);

      t.same(got(await migratePostgresJournal(none)), { from: 0, to: schemaVersion });
      await migratePostgresJournal(newer);
      await postgres.run(newer, `update agent_meta set value = 99 where name = 'schema'`);
      t.match(await migratePostgresJournal(newer), { ok: false, fault: { message: /version 99/ } });
      t.match(await migratePostgresJournal(url.replace(/[^/]+\?/, 'none?')), {
        ok: false,
        fault: { code: 'journal-unreadable' },
      });
    },
  );

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
      const damaged = await postgres.url();
      got(await migratePostgresJournal(damaged));
      await postgres.run(damaged, 'drop table agent_session');
      const foreign = await postgres.url();
      await postgres.run(foreign, 'create table agent_meta (name text, data text)');
      await postgres.least(older);
      await postgres.run(damaged, `grant usage on schema ${schemaOf(damaged)} to gw`);
      // A standby refuses to read an unlogged table, as if one were missing.
      const standby = `${damaged}${encodeURIComponent(' -c default_transaction_read_only=on')}`;
      const rows: readonly (readonly [string, string, RegExp])[] = [
        [readOnly, 'journal-read-only', /only reads .*name the primary/],
        [readOnlyLater, 'journal-read-only', /only reads/],
        [standby, 'journal-read-only', /only reads/],
        [
          newer,
          'journal-version',
          /tables are of version 7, this gateway knows version .*run the release that made them/,
        ],
        [
          older.replace(/search_path%3Ds\d+/, 'search_path%3Dnone'),
          'journal-unreadable',
          /tables cannot be made .*search_path/,
        ],
        [older.replace(/[^/]+\?/, 'none?'), 'journal-unreadable', /database "none" does not exist/],
        [
          'postgres://me:hunter2@127.0.0.1:1/db',
          'journal-unavailable',
          /^postgres:\/\/127\.0\.0\.1:1\/db: .*ECONNREFUSED/,
        ],
        ['postgres://me:hunter2@localhost/db?host=/nowhere', 'journal-unavailable', /does not answer/],
        [`${older}&sslmode=verify-full`, 'journal-unreadable', /no TLS connection can be made/],
        [`${older}&sslrootcert=/nowhere/ca.pem`, 'journal-unreadable', /no TLS connection .*ca\.pem.*correct sslmode/],
        [damaged.replace('agent@', 'gw@'), 'journal-unreadable', /may not make or use .*docs\/scale\.md/],
        [damaged, 'journal-unreadable', /a table is missing .*agent_session.*`agent gateway migrate`/],
        [foreign, 'journal-unreadable', /of another program .*"value".*a schema of its own/],
      ];
      for (const [url, code, message] of rows) {
        const opened = await openPostgresJournal({ url });
        t.match(opened, { ok: false, fault: { code, message } }, url);
        t.notMatch(JSON.stringify(opened), /hunter2/);
      }
      got(await migratePostgresJournal(damaged));
      await (await open(damaged)).close();
      for (const [thrown, code, message] of [
        ['53300', 'journal-unavailable', /max_connections .*gateway\.postgres\.pool/],
        ['57P03', 'journal-unavailable', /starts or ends/],
        ['42883', 'journal-unreadable', /Postgres 13/],
        ['SELF_SIGNED_CERT_IN_CHAIN', 'journal-unreadable', /sslrootcert/],
      ] as const)
        t.match(postgresFault('db', Object.assign(new Error('no'), { code: thrown })), { code, message });
      for (const word of ['string', 'non-empty string'])
        t.match(
          postgresFault('db', new Error(`SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a ${word}`)),
          { code: 'journal-unreadable', message: /^db: the database asks for a password, .*url has none; add it/ },
          'the variable of the password is empty',
        );
      const { message } = postgresFault('db', new Error('client password must be a string'));
      t.equal(createRedactor().text(message), message, 'the log shows the remedy as it is');
      t.match(postgresFault('db', new Error('Client was closed and is not queryable')), {
        message: /an earlier query had no answer in time, or the connection broke/,
      });
      for (const url of [
        '',
        'no url',
        'postgres://me:/hunter2@127.0.0.1/db',
        'postgres://me:123/hunter2@127.0.0.1/db',
      ]) {
        t.equal(placeOf(url), 'gateway.postgres.url');
        for (const refused of [await openPostgresJournal({ url }), await migratePostgresJournal(url)]) {
          t.match(refused, { ok: false, fault: { code: 'journal-unreadable', message: /^gateway\.postgres\.url / } });
          t.notMatch(JSON.stringify(refused), /hunter2/);
        }
      }
    },
  );

  t.test('DUR-1 · a commit that the database lost as it crashed is not taken for another one', async (t) => {
    const way = await postgres.lossy();
    // What is not committed is soon on disk otherwise, and with it the number of its transaction, which no other is to get.
    const restart = () => postgres.restart('wal_writer_delay=10000', 'autovacuum=off');
    await restart();
    const cases = [true, false];
    for (const isGivenOutAgain of cases) {
      const url = await postgres.url();
      const journal = got(await openPostgresJournal({ url: way.url(url), outcomeMs: 60_000 }));
      const session = got(await journal.openSession('one', 60_000));
      const number = async () =>
        Number((await postgres.run(url, 'select pg_current_xact_id()'))[0]?.pg_current_xact_id);
      const before = await number();
      const isCut = way.cutNext('lost');
      way.block(true);
      const committing = journal.commit([put('k', { heldBy: session })]);
      while (!isCut()) await sleep(5);
      await restart();
      if (isGivenOutAgain && (await number()) > before + 1) {
        // What was not committed has reached the disk: the writer of the log woke up meanwhile.
        cases.push(true);
        way.block(false);
        await committing;
        await journal.close();
        continue;
      }
      if (isGivenOutAgain) while ((await number()) < before + 9);
      way.block(false);
      t.equal((await committing).kind, 'unavailable');
      while ((await journal.probe()) !== undefined) await sleep(5);
      t.equal(await journal.get('runs', 'k'), undefined);
      const renewed = await journal.renewSession(session, 60_000);
      t.equal(renewed.ok || renewed.fault.code, isGivenOutAgain ? 'journal-session-ended' : true);
      await journal.close();
    }
  });

  t.test('DUR-1 · a commit that no standby has is not taken for made, where the database waits for one', async (t) => {
    const url = await postgres.url();
    const journal = got(await openPostgresJournal({ url, answerMs: 2_000, outcomeMs: 1_500 }));
    const session = got(await journal.openSession('one', 60_000));
    const owner = await reach(url);
    await setStandbys(owner, 'away');
    // The database's own processes learn of the setting a moment later than the session that asks for it.
    let made = 0;
    let { kind } = await journal.commit([put('k0', { heldBy: session })]);
    while (kind === 'committed') ({ kind } = await journal.commit([put(`k${++made}`, { heldBy: session })]));
    t.equal(kind, 'unavailable');
    await setStandbys(owner, '');
    while ((await journal.probe()) !== undefined) await sleep(5);
    // A slow machine may take too long for an answer; then it is asked again.
    let renewed = await journal.renewSession(session, 60_000);
    while (!renewed.ok && renewed.fault.code === 'journal-unavailable')
      renewed = await journal.renewSession(session, 60_000);
    t.match(renewed, { ok: false, fault: { code: 'journal-session-ended' } });
    while ((await journal.commit([put('other')])).kind === 'unavailable') await journal.probe();
    t.match(await journal.get('runs', 'other'), { key: 'other' });
    await Promise.all([journal.close(), owner.end()]);
  });

  t.test('DUR-1 · CLI-2 · commits that no standby confirms are refused at once, and for that', async (t) => {
    const url = await postgres.url();
    const journal = got(await openPostgresJournal({ url, answerMs: 1_000, outcomeMs: 100 }));
    const owner = await reach(url);
    await setStandbys(owner, 'pg_receivewal');
    for (let n = 0; (await journal.commit([put(`k${n}`)])).kind === 'committed'; n += 1);
    const fault = { code: 'journal-unavailable', message: /commits wait for a standby, and none is connected; start/ };
    t.match(await journal.probe(), fault);
    t.match(await journal.commit([put('k')]), { kind: 'unavailable', fault });
    t.match(await openPostgresJournal({ url }), { ok: false, fault });

    // Without `--synchronous` it confirms nothing.
    postgres.beside('pg_receivewal', '-D', '.', '--no-loop');
    const streams = `select from pg_stat_replication where state = 'streaming'`;
    while ((await owner.query(streams)).rowCount === 0) await sleep(5);
    const order: string[] = [];
    const probing = journal.probe().then((found) => {
      order.push('probe');
      return found;
    });
    t.match(await journal.commit([put('k')]), { kind: 'unavailable', fault });
    order.push('commit');
    t.match(await probing, { code: 'journal-unavailable', message: /does not answer/ });
    t.same(order, ['commit', 'probe'], 'a commit does not wait for a probe');
    await setStandbys(owner, '');
    while ((await journal.probe()) !== undefined) await sleep(5);
    t.same(await journal.commit([put('other')]), { kind: 'committed' });
    await Promise.all([journal.close(), owner.end()]);
  });

  t.test('DUR-1 · a database without WAL senders waits for no standby, whatever it names', async (t) => {
    await postgres.restart('max_wal_senders=0', 'synchronous_standby_names=away');
    const journal = got(await openPostgresJournal({ url: await postgres.url(), answerMs: 5_000 }));
    t.same(await journal.commit([put('k')]), { kind: 'committed' });
    await journal.close();
    await postgres.restart();
  });

  t.test('DUR-1 · SCA-1 · an event of a key that another gateway has used refuses its whole commit', async (t) => {
    const [one, other] = await openTwo(await postgres.url());
    const event: Write = { kind: 'put', collection: 'events', key: 'e', expect: 'absent', value: {} as never };
    t.same(await one.commit([event]), { kind: 'committed' });
    const [refused, beside] = await Promise.all([other.commit([put('run'), event]), other.commit([put('beside')])]);
    t.match(refused, { kind: 'stale', index: 1 });
    t.same(beside, { kind: 'committed' }, 'and no other of its group');
    t.equal(await one.get('runs', 'run'), undefined);
    t.ok(await one.get('runs', 'beside'));
    await Promise.all([one.close(), other.close()]);
  });

  t.test(
    'SCA-1 · large events are written in groups of bounded size, and refused before they fill the memory',
    async (t) => {
      const url = await postgres.url();
      const journal = got(await openPostgresJournal({ url, waitingBytes: 20_000_000 }));
      const event = (nth: number, collection: 'events' | 'runs' = 'events'): Write => ({
        ...(put(`k${nth}`) as Put),
        collection,
        value: { body: 'x'.repeat(1_000_000) } as never,
      });
      const verdicts = await Promise.all(Array.from({ length: 30 }, (_, nth) => journal.commit([event(nth)])));
      const refused = verdicts.filter(({ kind }) => kind !== 'committed');
      t.match(
        [verdicts.length - refused.length, refused[0]],
        [19, { kind: 'unavailable', alone: true, fault: { message: /MB of events wait/ } }],
      );
      const [row] = await postgres.run(url, 'select count(distinct xmin::text)::int as groups from agent_record');
      t.ok(Number(row?.groups) >= 3, `${row?.groups} transactions`);
      const results = await Promise.all(Array.from({ length: 25 }, (_, nth) => journal.commit([event(nth, 'runs')])));
      t.ok(
        results.every(({ kind }) => kind === 'committed'),
        'no end of work is refused',
      );
      t.same(await journal.commit([event(101)]), { kind: 'committed' });
      await journal.close();
    },
  );

  t.test('SRC-4 · SCA-1 · events that are accepted together are refused together at the limit', async (t) => {
    const journal = got(await openPostgresJournal({ url: await postgres.url(), waitingBytes: 2_000_000 }));
    const event = (key: string, bytes: number): Write[] => [
      { ...(put(key) as Put), collection: 'events', value: { body: 'x'.repeat(bytes) } as never },
    ];
    const parts: [string, number][][] = [
      [
        ['small', 1_000],
        ['large', 1_500_000],
      ],
      [
        ['half', 700_000],
        ['other', 700_000],
      ],
      [['fits', 1_000]],
    ];
    const verdicts = [journal.commit(event('before', 1_000_000))];
    for (const part of parts)
      journal.together(() => {
        for (const one of part) verdicts.push(journal.commit(event(...one)));
      });
    const refused = { kind: 'unavailable', alone: true, fault: { message: /MB of events wait/ } };
    const done = { kind: 'committed' };
    t.match(await Promise.all(verdicts), [done, refused, refused, refused, refused, done]);
    t.equal(await journal.get('events', 'small'), undefined);
    await journal.close();
  });

  t.test('SCA-1 · a journal is copied with ids that the database keeps as digests, and each is compared', async (t) => {
    const source = openMemoryJournal();
    const names = ['delivery/a\0b~1/default/r', 'delivery/c/default/r', 'delivery/d\u001f~2/default/r'];
    for (const name of names) await source.commit([{ kind: 'claim', name, value: { name }, forMs: 3_600_000 }]);
    const journal = await open(await postgres.url());
    t.teardown(() => journal.close());
    const copy = (to: Journal) => copyJournal(source, to, () => {});
    t.same(await copy(journal), { ok: true, value: { records: 0, claims: 3 } });
    for (const name of names) t.same(await journal.claimed(name), { name });
    await journal.commit([{ kind: 'release', name: names[0] ?? '' }]);
    const idle: Journal = { ...journal, commit: async () => ({ kind: 'committed' }) };
    t.match(await copy(idle), { ok: false, fault: { code: 'journal-differs', message: /delivery\/a\0b~1/ } });
  });

  t.test('SCA-1 · a value that the database does not accept refuses its own commit alone', async (t) => {
    const url = await postgres.url();
    const journal = await open(url);
    await postgres.run(url, refusesBad);
    const commits: Promise<unknown>[] = [];
    for (const key of ['one', 'other']) commits.push(journal.commit([put(key)]));
    journal.together(() => {
      for (const key of ['bad', 'beside']) commits.push(journal.commit([put(key)]));
    });
    const bad = { kind: 'unavailable', alone: true, fault: { message: /does not accept a value .*no equivalent/ } };
    t.match(await Promise.all(commits), [{ kind: 'committed' }, { kind: 'committed' }, bad, bad]);
    t.same(
      (await journal.list('runs', { order: 'oldest', limit: 9 })).map(({ key }) => key),
      ['one', 'other'],
    );
    t.same(await journal.commit([put('later')]), { kind: 'committed' }, 'it goes on');
    await journal.close();
  });

  t.test('DUR-1 · SCA-1 · a cut after a refused value refuses only the commits that are not durable', async (t) => {
    const way = await postgres.lossy();
    const url = await postgres.url();
    const journal = await open(way.url(url));
    await postgres.run(url, refusesBad);
    for (const [cut, durable] of [
      ['lost', ['one-lost', 'two-lost']],
      ['made', ['one-made', 'two-made', 'three-made', 'four-made']],
    ] as const) {
      const isCut = way.cutNext(cut, 'commit\0', 2);
      const keys = ['one', 'bad', 'two', 'three', 'four'].map((key) => (key === 'bad' ? key : `${key}-${cut}`));
      const verdicts = await Promise.all(keys.map((key) => journal.commit([put(key)])));
      t.ok(isCut());
      t.same(
        keys.filter((_, index) => verdicts[index]?.kind === 'committed'),
        durable,
      );
      t.match(verdicts[1], { kind: 'unavailable', alone: true });
      while ((await journal.probe()) !== undefined) await sleep(5);
      for (const [index, key] of keys.entries())
        t.equal((await journal.get('runs', key)) !== undefined, verdicts[index]?.kind === 'committed', key);
      if (cut === 'lost') t.notOk((verdicts[3] as { alone?: true }).alone, 'the journal stops');
    }
    await journal.close();
  });

  t.test('DUR-3 · OBS-1 · a full database counts as writable once pages can be added to it', async (t) => {
    const url = await postgres.url();
    const journal = await open(url);
    const full = 'agent_record, agent_claim'
      .split(', ')
      .map((table) => `create trigger full_disk before insert on ${table} for each row execute function full_disk();`);
    await postgres.run(
      url,
      `create function full_disk() returns trigger language plpgsql as
        $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$; ${full.join('')}`,
    );
    t.match(await journal.commit([put('k')]), { kind: 'unavailable', fault: { code: 'journal-full' } });
    for (const _ of [1, 2]) t.match(await journal.probe(), { code: 'journal-full' });
    t.match(await journal.commit([put('k')]), { kind: 'unavailable', fault: { code: 'journal-full' } });
    await postgres.run(url, 'drop function full_disk cascade');
    t.equal(await journal.probe(), undefined);
    t.same(await postgres.run(url, 'select 1 from agent_claim where octet_length(value) > 65536'), [{ '?column?': 1 }]);
    t.same(await journal.claims({ limit: 9 }), [], 'the probe has expired');
    t.same(await journal.commit([put('k')]), { kind: 'committed' });
    await journal.close();
  });

  t.test('SCA-1 · CLI-2 · commits are refused for what the last probe found', async (t) => {
    const url = await postgres.url();
    await (await open(url)).close();
    const journal = await open(await postgres.least(url));
    await postgres.run(
      url,
      `alter role gw connection limit 0; select pg_terminate_backend(pid, 10000) from pg_stat_activity where usename = 'gw'`,
    );
    t.match(await journal.commit([put('k')]), { kind: 'unavailable', fault: { message: /does not answer/ } });
    const fault = { code: 'journal-unavailable', message: /the database takes no more connections/ };
    t.match(await journal.probe(), fault);
    t.match(await journal.commit([put('k')]), { kind: 'unavailable', fault });
    await postgres.run(url, 'alter role gw connection limit -1');
    t.equal(await journal.probe(), undefined);
    t.same(await journal.commit([put('k')]), { kind: 'committed' });
    await journal.close();
  });

  t.test('SCA-1 · CLI-2 · a database that does not store Unicode is refused', async (t) => {
    const owned = await postgres.url();
    const owner = await reach(owned);
    await owner.query(`create database latin encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0`);
    await owner.end();
    const url = owned.replace(/[^/]+\?/, 'latin?').replace(/&options=.*/, '');
    for (const refused of [
      await openPostgresJournal({ url }),
      await migratePostgresJournal(url),
      await examineDatabase(url),
    ])
      t.match(refused, {
        ok: false,
        fault: { code: 'journal-unreadable', message: /encoding of the database is LATIN1; create one with UTF8/ },
      });
  });

  t.test('DUR-1 · what is gathered after a large group is on disk before the journal is closed', async (t) => {
    const [one, other] = await openTwo(await postgres.url());
    await Promise.all(Array.from({ length: 20 }, (_, nth) => one.commit([put(`k${nth}`)])));
    const late = [one.commit([put('late')]), one.commit([put('later')])];
    await one.close();
    t.same(await Promise.all(late), [{ kind: 'committed' }, { kind: 'committed' }]);
    t.match(await one.commit([put('closed')]), { kind: 'unavailable' });
    t.ok((await other.get('runs', 'late')) && (await other.get('runs', 'later')));
    await other.close();
  });

  t.test('DUR-2 · SCA-1 · an event with a claim that a commit has locked is pruned later', async (t) => {
    const url = await postgres.url();
    const journal = await open(url);
    await postgres.run(
      url,
      `insert into agent_record select 'e', 'k' || n, 1, null, null, null, '{}', 10, '{}' from generate_series(1, 3) n;
      insert into agent_claim select 'c' || n, '{}', 1, 'k' || n from generate_series(1, 3) n`,
    );
    const owner = await reach(url);
    await owner.query(`begin; select 1 from agent_claim where name = 'c2' for update`);
    t.equal(got(await journal.prune(all)), 2, 'it does not wait for that commit');
    t.match(await journal.get('events', 'k2'), { key: 'k2' });
    await owner.query('commit');
    t.equal(got(await journal.prune(all)), 1);
    t.same(await postgres.run(url, 'select name from agent_claim'), []);
    await Promise.all([journal.close(), owner.end()]);
  });

  t.test('SCA-3 · a prune removes what a gateway that was killed had asked another one', async (t) => {
    const url = await postgres.url();
    const journal = await open(url);
    await postgres.run(
      url,
      `insert into agent_question (session, question, expires_at) values ('s1', 'over', agent_now() - 1);
      insert into agent_question (session, question, expires_at) values ('s1', 'waits', agent_now() + 60000)`,
    );
    got(await journal.prune({ keepAfterKey: '', maxBytes: 1_000_000 }));
    t.same(await postgres.run(url, 'select question from agent_question'), [{ question: 'waits' }]);
    await journal.close();
  });

  t.test('DUR-2 · SCA-1 · a prune reads what it removes, not what is kept', { skip: inAllOnly }, async (t) => {
    const url = await postgres.url();
    await (await open(url)).close();
    await postgres.run(
      url,
      `insert into agent_record select 'e', 'k' || lpad(n::text, 6, '0'), 1, null, null, null, '{}', 1000, repeat('x', 1900)
        from generate_series(1, 40000) n;
      insert into agent_claim select 'c' || n, '{}', 1, 'k' || lpad(n::text, 6, '0') from generate_series(1, 40000) n;
      analyze agent_record; analyze agent_claim`,
    );
    const read = async (): Promise<number> => {
      const [row] = await postgres.run(
        url,
        `select sum(idx_tup_fetch + case relname when 'agent_claim' then seq_tup_read else 0 end)::int as rows
          from pg_stat_user_tables where relname in ('agent_claim', 'agent_record') and schemaname = current_schema`,
      );
      return Number(row?.rows);
    };
    // A connection reports what it read when it ends.
    const closed = async (one: Journal): Promise<void> => {
      await one.close();
      const left = `select 1 from pg_stat_activity where application_name = 'agent'`;
      while ((await postgres.run(url, left)).length > 0) await sleep(5);
    };
    const first = await open(url);
    t.equal(got(await first.prune({ keepAfterKey: 'k000011', maxBytes: 40_000_000 * 2 })), 10);
    await closed(first);
    const before = await read();
    t.ok(before < 100, `${before} rows are read for ten`);
    const ended = await open(url);
    let asked = 0;
    t.equal(got(await ended.prune({ keepAfterKey: '', maxBytes: 30_000_000 }, () => asked++ < 2)), 500, 'one piece');
    await closed(ended);
    const kept = 40_000 - 10 - 500;
    const journal = await open(url);
    // The table is above the size that is weighed whole.
    const gone = got(await journal.prune({ keepAfterKey: '', maxBytes: 20_000_000 }));
    t.ok(gone > 18_000 && gone < 22_000, `${gone} are gone`);
    await closed(journal);
    const after = (await read()) - before - 8 * 500;
    t.ok(after <= 8 * gone, `${after} rows are read for ${gone}`);
    t.same(await postgres.run(url, 'select count(*)::int as kept from agent_claim'), [{ kept: kept - gone }]);
  });

  /** The rows of records that were read for a journal that is closed: a connection reports them at its end. */
  async function rowsRead(url: string, column: 'idx_tup_fetch' | 'seq_tup_read' = 'idx_tup_fetch'): Promise<number> {
    const left = `select 1 from pg_stat_activity where application_name = 'agent'`;
    while ((await postgres.run(url, left)).length > 0) await sleep(5);
    const [row] = await postgres.run(
      url,
      `select ${column}::int as rows from pg_stat_user_tables
        where relname = 'agent_record' and schemaname = current_schema`,
    );
    return Number(row?.rows);
  }

  t.test('SCA-1 · the end of a run reads its events, also by a plan that was made for empty tables', async (t) => {
    const url = await postgres.url();
    const journal = await open(url);
    const begin = async (key: string): Promise<void> => {
      const event = { route: 'r', status: 'accepted', work: key };
      const writes: Write[] = [
        { kind: 'put', collection: 'events', key, expect: 'absent', value: event as never },
        {
          kind: 'put',
          collection: 'runs',
          key,
          expect: 'absent',
          value: { route: 'r', status: 'queued' } as never,
          dueAtMs: 1,
        },
      ];
      t.same(await journal.commit(writes), { kind: 'committed' });
    };
    const end = async (key: string): Promise<void> => {
      const value = { route: 'r', status: 'delivered' } as never;
      t.same(await journal.commit([{ kind: 'put', collection: 'runs', key, expect: 1, value }]), { kind: 'committed' });
    };
    await begin('first');
    await end('first');
    await postgres.run(
      url,
      `insert into agent_record select c, 'k' || n, 1, null, null, case c when 'e' then 'k' || n end, '{}', 10, '{}'
        from generate_series(1, 5000) n, unnest(array['e', 'r']) c`,
    );
    await begin('later');
    await end('later');
    await journal.close();
    const rows = await rowsRead(url);
    t.ok(rows < 100, `${rows} rows are read`);
    const marks = await postgres.run(url, `select marks from agent_record where collection = 'e' and key = 'later'`);
    t.match(marks, [{ marks: ['rr', 'sdelivered', 'pdelivered%2Fr'] }]);
  });

  t.test('SCA-1 · SCA-2 · a take of a run reads its deliveries, not all that wait', async (t) => {
    const url = await postgres.url();
    await (await open(url)).close();
    await postgres.run(
      url,
      `insert into agent_record select 'd', 'k' || n, 1, 9999999999999, null, 'k' || n, '{}', 10, '{"runKey":"k' || n || '"}'
        from generate_series(1, 5000) n;
      analyze agent_record`,
    );
    const journal = await open(url);
    const session = got(await journal.openSession('one', 60_000));
    const work = (collection: 'runs' | 'deliveries', key: string): Write => {
      return { kind: 'put', collection, key, expect: 'absent', value: { runKey: 'run' } as never, dueAtMs: 1 };
    };
    const writes = [work('runs', 'run'), work('deliveries', 'run'), work('deliveries', 'run~1')];
    t.same(await journal.commit(writes), { kind: 'committed' });
    const later = { session, dueBeforeMs: 2, limit: 10 };
    t.same(got(await journal.take('deliveries', later)), [], 'those of a run that waits are taken with it');
    const taken = got(await journal.take('runs', later));
    t.match(taken, [{ key: 'run', deliveries: [{ key: 'run' }, { key: 'run~1' }] }]);
    await journal.close();
    const rows = await rowsRead(url);
    t.ok(rows < 100, `${rows} rows are read`);
  });

  t.test('DUR-2 · SCA-1 · a prune does not read the deliveries that are kept', async (t) => {
    const url = await postgres.url();
    await (await open(url)).close();
    await postgres.run(
      url,
      `insert into agent_record select c, 'k' || lpad(n::text, 6, '0'), 1, null, null, 'k' || lpad(n::text, 6, '0'), '{}', 10, '{}'
        from generate_series(1, 20000) n, unnest(array['e', 'd']) c;
      analyze agent_record`,
    );
    const journal = await open(url);
    t.equal(got(await journal.prune({ keepAfterKey: 'k000006', maxBytes: 1e9 })), 10);
    await journal.close();
    const rows = await rowsRead(url);
    t.ok(rows < 100, `${rows} rows are read`);
  });

  t.test('DUR-2 · SCA-1 · a listing of what is all old does not read all that came since', async (t) => {
    const url = await postgres.url();
    await (await open(url)).close();
    await postgres.run(
      url,
      `insert into agent_record select 'e', 'k' || lpad(n::text, 6, '0'), 1, null, null, null,
          array[case when n <= 5000 then 'rold' when n % 10000 = 0 then 'rfew' else 'rnew' end], 10, '{"n":' || n || '}'
        from generate_series(1, 60000) n;
      analyze agent_record`,
    );
    const journal = await open(url);
    const listed = async (mark: string, from?: string) =>
      (await journal.marked('events', { marks: [mark], limit: 50, ...(from === undefined ? {} : { from }) })).map(
        ({ key }) => key,
      );
    const keys = (first: number, count: number, step = 1): string[] =>
      Array.from({ length: count }, (_, n) => `k${String(first - n * step).padStart(6, '0')}`);
    t.same(await listed('rold'), keys(5_000, 50));
    t.same(await listed('rold', 'k000031'), keys(30, 30));
    t.same(await listed('rnew'), ['k059999', ...keys(59_998, 49)]);
    t.same(await listed('rfew'), keys(60_000, 6, 10_000));
    t.same(await listed('rnone'), []);
    await journal.close();
    const rows = (await rowsRead(url)) + (await rowsRead(url, 'seq_tup_read'));
    t.ok(rows < 30_000, `${rows} rows are read`);
  });

  t.test('DUR-1 · a database that restarts costs refusals, and nothing that was acknowledged', async (t) => {
    const journal = await open(await postgres.url());
    t.teardown(() => journal.close());
    const acknowledged: string[] = [];
    // It may refuse no commit at all: one that it broke is found to stand afterwards.
    let stop = false;
    const writing = (async () => {
      for (let n = 0; !stop; n += 1) {
        const key = `k${String(n).padStart(6, '0')}`;
        if ((await journal.commit([put(key)])).kind === 'committed') acknowledged.push(key);
        else while ((await journal.probe()) !== undefined) await sleep(5);
      }
    })();
    while (acknowledged.length < 20) await sleep(5);
    await postgres.restart();
    stop = true;
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

const all = { keepAfterKey: 'z', maxBytes: 0 };

function put(key: string, more: Partial<Put<'runs'>> = {}): Write {
  return { kind: 'put', collection: 'runs', key, value: {}, expect: 'absent', dueAtMs: 1, ...more };
}

/** Sets the standbys that commits wait for. */
async function setStandbys(owner: Client, names: string): Promise<void> {
  await owner.query(`alter system set synchronous_standby_names = '${names}'`);
  await owner.query('select pg_reload_conf()');
  while ((await owner.query('show synchronous_standby_names')).rows[0].synchronous_standby_names !== names)
    await sleep(5);
}
