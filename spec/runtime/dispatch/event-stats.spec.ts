import { LRUCache } from 'lru-cache';
import t from 'tap';
import type { Collection, Journal } from '../../../actors/store/journal.ts';
import type { JournalKeeper } from '../../../actors/store/keeper.ts';
import { openMemoryJournal } from '../../../actors/store/memory-journal.ts';
import { testOf } from '../../../runtime/dispatch/event-facts.ts';
import { countedEvents, createEventStats } from '../../../runtime/dispatch/event-stats.ts';
import { timeKey } from '../../../runtime/system/ids.ts';
import { eventCountsContract } from '../../conformance/event-counts.ts';
import { openKeeper } from '../../support/keeper.ts';
import { openJournal } from '../../support/open-journal.ts';
import { runs } from '../../support/property.ts';
import { plainDelivery, plainEvent, plainRun } from '../../support/records.ts';

eventCountsContract(t, 'memory', { open: async () => openMemoryJournal(), histories: runs(200, 25) });
let stores = 0;
const folder = t.testdir({});
eventCountsContract(t, 'LMDB', {
  open: () => {
    stores += 1;
    return openJournal(`${folder}/${stores}`);
  },
  histories: runs(10, 4),
});

const statsOf = (keeper: JournalKeeper, nowMs: () => number) =>
  createEventStats({
    keeper,
    refused: { newestFirst: () => [] },
    seenRun: (_, run) => run,
    runsThatWait: () => new Map(),
    nowMs,
  });

t.test(
  'INS-4 · counts have the median and the 95th percentile of the time to delivery, and refused requests',
  async (t) => {
    const nowMs = 1_700_000_000_000;
    const { keeper, journal } = await openKeeper();
    for (let index = 1; index <= 100; index += 1) {
      const key = `${timeKey(nowMs - 30_000)}${String(index).padStart(4, '0')}`;
      const receivedAtMs = nowMs - 30_000;
      const run = { ...plainRun, eventKey: key, status: 'delivered' as const, endedAtMs: receivedAtMs + index * 100 };
      await keeper.commit([
        { kind: 'put', collection: 'events', key, value: { ...plainEvent, work: key, receivedAtMs } },
        { kind: 'put', collection: 'runs', key, value: run },
      ]);
    }
    let reads = 0;
    const counted: Journal = {
      ...journal,
      get<In extends Collection>(collection: In, key: string) {
        reads += 1;
        return journal.get(collection, key);
      },
    };
    const refusedEvent = { ...plainEvent, route: 'x', status: 'refused' as const };
    const stats = createEventStats({
      keeper: { journal: () => counted, watch: keeper.watch },
      refused: { newestFirst: () => [{ key: timeKey(nowMs - 5_000), event: refusedEvent }] },
      seenRun: (_, run) => run,
      runsThatWait: () => new Map(),
      nowMs: () => nowMs,
    });

    const range = { fromMs: nowMs - 900_000 };
    const text = testOf({ texts: ['profile default'], filters: {} }, (texts) => texts);
    t.equal(countedEvents(range, await stats.read(range, text)).total, 0);
    t.equal((await stats.count(range, 'default')).all.total, 101, 'a profile is not the text that names it');
    const { all, routes } = await stats.count(range);

    t.match(all, { total: 101, counts: { delivered: 100, failed: 1, open: 0, ignored: 0 } });
    t.ok(Math.abs((all.median_ms ?? 0) - 5_000) <= 50, `the median is ${all.median_ms}`);
    t.ok(Math.abs((all.p95_ms ?? 0) - 9_500) <= 95, `the 95th percentile is ${all.p95_ms}`);
    t.same(
      routes.map(({ profile, route, total, last_at }) => ({ profile, route, total, last_at })),
      [
        { profile: 'default', route: 'r', total: 100, last_at: new Date(nowMs - 30_000).toISOString() },
        { profile: 'default', route: 'x', total: 1, last_at: new Date(nowMs - 5_000).toISOString() },
      ],
    );
    t.same(
      await stats.countRoutes(range),
      { countedFromMs: range.fromMs, routes: routes.map(({ buckets, median_ms, p95_ms, ...counted }) => counted) },
      'the same counts without what only charts need',
    );
    const first = reads;
    await stats.count({ fromMs: nowMs - 900_000 });
    t.equal(reads, first, 'a second count reads nothing');
  },
);

t.test('INS-4 · SCA-3 · a delivery that is confirmed at another gateway is counted so within a minute', async (t) => {
  let nowMs = 1_700_000_000_000;
  const { local: _, ...shared } = openMemoryJournal();
  const { keeper, journal } = await openKeeper(shared);
  const key = `${timeKey(nowMs - 600_000)}0001`;
  const put = (status: 'unknown' | 'delivered') =>
    journal.commit([
      { kind: 'put', collection: 'events', key, value: { ...plainEvent, work: key } },
      { kind: 'put', collection: 'deliveries', key, value: { ...plainDelivery, status } },
    ]);
  await put('unknown');
  const stats = statsOf(keeper, () => nowMs);
  const count = async () => (await stats.count({ fromMs: nowMs - 3_600_000 })).all.counts;
  t.match(await count(), { failed: 1, delivered: 0 });
  await put('delivered');
  nowMs += 60_000;
  t.match(await count(), { failed: 0, delivered: 1 });
});

t.test('INS-4 · DUR-2 · a clock that is set back delays no look at what the history has removed', async (t) => {
  let nowMs = 1_700_000_000_000;
  const { keeper, journal } = await openKeeper();
  const key = `${timeKey(nowMs - 3_600_000)}0001`;
  await journal.commit([{ kind: 'put', collection: 'events', key, value: { ...plainEvent, status: 'ignored' } }]);
  const stats = statsOf(keeper, () => nowMs);
  const count = async () => (await stats.count({ fromMs: nowMs - 7_200_000 })).all.total;
  t.equal(await count(), 1);
  await journal.prune({ keepAfterKey: timeKey(nowMs), maxBytes: 1_000_000 });
  nowMs -= 600_000;
  t.equal(await count(), 0);
});

t.test('INS-4 · the counts that are kept are looked through once for many events of one span', async (t) => {
  const nowMs = 1_700_000_000_000;
  const { keeper } = await openKeeper();
  const stats = statsOf(keeper, () => nowMs);
  const count = async () => (await stats.count({ fromMs: nowMs - 900_000 })).all.total;
  await count();
  const { [Symbol.iterator]: own } = LRUCache.prototype;
  let looks = 0;
  LRUCache.prototype[Symbol.iterator] = function (this: LRUCache<object, object>) {
    looks += 1;
    return own.call(this);
  };
  t.teardown(() => {
    LRUCache.prototype[Symbol.iterator] = own;
  });
  const event = { ...plainEvent, status: 'ignored' as const };
  for (let n = 0; n < 100; n += 1)
    await keeper.commit([
      { kind: 'put', collection: 'events', key: `${timeKey(nowMs - 1_000)}${1_000 + n}`, value: event },
    ]);

  t.equal(await count(), 100);
  t.equal(looks, 1);
});

t.test('INS-4 · SCA-1 · what has ended at another gateway is read once', async (t) => {
  let nowMs = 1_700_000_000_000;
  const { local: _, ...shared } = openMemoryJournal();
  let reads = 0;
  const get = (...asked: Parameters<Journal['get']>): ReturnType<Journal['get']> => {
    reads += 1;
    return shared.get(...asked);
  };
  const { keeper } = await openKeeper({ ...shared, get: get as Journal['get'] });
  for (let n = 0; n < 100; n += 1) {
    const key = `${timeKey(nowMs - 1_000)}${1_000 + n}`;
    await shared.commit([
      { kind: 'put', collection: 'events', key, value: { ...plainEvent, work: key } },
      { kind: 'put', collection: 'runs', key, value: { ...plainRun, status: 'delivered', endedAtMs: nowMs } },
    ]);
  }
  const stats = statsOf(keeper, () => nowMs);
  const count = async () => (await stats.count({ fromMs: nowMs - 900_000 })).all.counts.delivered;
  t.equal(await count(), 100);
  const before = reads;
  nowMs += 2_000;
  t.equal(await count(), 100);
  t.equal(reads, before);
});
