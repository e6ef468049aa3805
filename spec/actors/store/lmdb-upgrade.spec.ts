import { open as openLmdb } from 'lmdb';
import t from 'tap';
import { openEnvironment } from '../../../actors/store/lmdb-tables.ts';
import { layout, layoutOf, upgrade } from '../../../actors/store/lmdb-upgrade.ts';
import { expiryKey } from '../../../actors/store/marks.ts';
import { bareKey, plainRow } from '../../../actors/store/tables.ts';
import { idMark, statusMark, targetMark } from '../../../machines/webhook/marks.ts';
import { claimName } from '../../../machines/webhook/record.ts';
import { openJournal } from '../../support/open-journal.ts';

t.test('DUR-2 · marks what an older gateway has written, once', async (t) => {
  const directory = `${t.testdir()}/state`;
  const first = await openJournal(directory);
  const keys = Array.from({ length: 1_200 }, (_, at) => `k${String(at).padStart(5, '0')}`);
  await first.commit(
    keys.map((key, at) => ({
      kind: 'put',
      collection: 'runs',
      key,
      value: { route: 'r', status: at === 7 ? 'failed' : 'delivered', n: at },
    })),
  );
  await first.close();
  const root = openLmdb({ path: directory, noSubdir: false, encoding: 'binary', maxDbs: 20 });
  const meta = root.openDB<Buffer, string>({ name: 'meta', encoding: 'binary' });
  const marks = root.openDB<Buffer, string>({ name: 'marks', encoding: 'binary' });
  await meta.put('layout', Buffer.from('{"version":2}'));
  await marks.clearAsync();
  await root.close();

  for (const what of ['upgraded', 'as it is']) {
    const journal = await openJournal(directory);
    const failed = await journal.marked('runs', { marks: [statusMark('failed')], limit: 999 });
    t.ok(
      failed.some(({ value }) => Object(value).n === 7),
      what,
    );
    t.ok(failed.length < 1_200);
    t.equal(journal.local?.marked('runs', { marks: [statusMark('delivered', 'r')], limit: 2_000 }).length, 1_199);
    await journal.close();
  }
});

t.test('DUR-2 · DLV-5 · finds by their target what an older gateway has marked with the alias', async (t) => {
  const directory = `${t.testdir()}/state`;
  const first = await openJournal(directory, () => 0);
  const delivery = { route: 'r', status: 'delivered', target: 'slack' };
  await first.commit([
    { kind: 'put', collection: 'deliveries', key: 'k1', value: delivery },
    { kind: 'claim', name: claimName('default', 'r', 'd1'), value: { eventKey: 'k1' }, forMs: 100 },
  ]);
  await first.close();
  const root = openLmdb({ path: directory, noSubdir: false, encoding: 'binary', maxDbs: 20 });
  const meta = root.openDB<Buffer, string>({ name: 'meta', encoding: 'binary' });
  const marks = root.openDB<Buffer, string>({ name: 'marks', encoding: 'binary' });
  await meta.put('layout', Buffer.from('{"version":4}'));
  await marks.clearAsync();
  await root.close();

  const journal = await openJournal(directory, () => 0);
  t.match(journal.local?.marked('deliveries', { marks: [targetMark('team_chat_a')], limit: 9 }), [{ key: 'k1' }]);
  t.same(journal.local?.claimed(claimName('default', 'r', 'd1')), { eventKey: 'k1' }, 'claims of that layout stay');
  await journal.close();
});

t.test('IDM-1 · DUR-2 · an id that an older gateway claimed stays taken until its time', async (t) => {
  const directory = `${t.testdir()}/state`;
  const long = 'x'.repeat(2_000);
  const cron = `cron/default/${long}/k`;
  const claims = [
    ['delivery/default/r/d1', 'k1'],
    ['delivery/a%2Fb/r%25/d/2', 'gone'],
    ['cron/default/j/k', 'k1'],
    [cron, 'k1'],
    // Each is named now what the next one was named before.
    ['delivery/x/y/z', 'first'],
    ['delivery/z/x/y', 'second'],
    ['delivery/y/z/x', 'third'],
  ] as const;
  const first = await openJournal(directory, () => 0);
  await first.commit([
    { kind: 'put', collection: 'events', key: 'k1', value: { profile: 'default', route: 'r', deliveryId: 'd1' } },
    { kind: 'put', collection: 'events', key: 'k2', value: { profile: 'default', route: 'r', deliveryId: long } },
    ...[...claims, [`delivery/default/r/${long}`, 'k2'] as const].map(([name, eventKey]) => ({
      kind: 'claim' as const,
      name,
      value: { eventKey },
      forMs: 100,
    })),
  ]);
  await first.close();
  const root = openLmdb({ path: directory, noSubdir: false, encoding: 'binary', maxDbs: 20 });
  const meta = root.openDB<Buffer, string>({ name: 'meta', encoding: 'binary' });
  await meta.put('layout', Buffer.from('{"version":3}'));
  await root.close();

  for (const what of ['upgraded', 'as it is']) {
    const journal = await openJournal(directory, () => 0);
    t.same(journal.local?.claimed(claimName('default', 'r', 'd1')), { eventKey: 'k1' }, what);
    t.same(journal.local?.claimed(claimName('a/b', 'r%', 'd/2')), { eventKey: 'gone' }, what);
    t.same(journal.local?.claimed(claimName('default', 'r', long)), { eventKey: 'k2' }, what);
    t.same(journal.local?.claimed('cron/default/j/k'), { eventKey: 'k1' }, what);
    t.same(journal.local?.claimed(cron), { eventKey: 'k1' }, what);
    t.same(journal.local?.claimed(claimName('x', 'y', 'z')), { eventKey: 'first' }, what);
    t.same(journal.local?.claimed(claimName('z', 'x', 'y')), { eventKey: 'second' }, what);
    t.same(journal.local?.claimed(claimName('y', 'z', 'x')), { eventKey: 'third' }, what);
    t.equal(journal.local?.claimed('delivery/default/r/d1'), undefined, what);
    const found = [idMark('d1'), idMark(long)].map((mark) =>
      journal.local?.marked('events', { marks: [mark], limit: 9 }),
    );
    t.same(
      found.map((records) => records?.map(({ key }) => key)),
      [['k1'], ['k2']],
      what,
    );
    await journal.close();
  }
  let time = 100;
  const journal = await openJournal(directory, () => time);
  await journal.prune({ keepAfterKey: '', maxBytes: 1e9 });
  time = 0;
  t.equal(journal.local?.claimed(claimName('a/b', 'r%', 'd/2')), undefined, 'no longer than its time');
  await journal.close();
});

t.test(
  'IDM-1 · of two gateways that open a store of an earlier layout at once, one names its claims anew',
  async (t) => {
    const environment = openEnvironment(t.testdir(), () => {});
    t.teardown(() => environment.close());
    const { claims, expiry, meta } = environment.tables;
    const claim = { version: 0, dueAtMs: 100, heldBy: undefined, value: { eventKey: 'k' } };
    await environment.transact(() => {
      meta.write('layout', plainRow({ version: 3 }));
      claims.write('delivery/p/r/id', claim);
      expiry.write(expiryKey('delivery/p/r/id', claim), bareKey);
    });

    await Promise.all([upgrade(environment), upgrade(environment)]);

    const name = claimName('p', 'r', 'id');
    t.same([claims.keys({ limit: 9 }), expiry.keys({ limit: 9 })], [[name], [expiryKey(name, claim)]]);
    t.equal(layoutOf(meta), layout);
  },
);
