import { setTimeout } from 'node:timers/promises';
import t from 'tap';
import type { Journal, News } from '../../../actors/store/journal.ts';
import { openMemoryJournal } from '../../../actors/store/memory-journal.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import { type Memory, roomFor, runShare } from '../../../machines/webhook/work-queue.ts';
import { createBacklog } from '../../../runtime/dispatch/backlog.ts';
import { openKeeper, turn } from '../../support/keeper.ts';
import { fakePools } from '../../support/pools.ts';
import { until } from '../../support/processes.ts';
import { plainDelivery, plainRun } from '../../support/records.ts';
import { resumePorts } from '../../support/resuming.ts';

const run = { ...plainRun, queuedAtMs: 1 };
const delivery = plainDelivery;
const plainGroup = {
  ...{ profile: 'default', route: 'r', groupKey: '7' },
  burst: { id: 'b', count: 1, firstAtMs: 1, latestEventKey: 'e', dueAtMs: 9_000 },
};

interface Settings {
  readonly max?: number;
  readonly journal?: Journal;
  readonly owner?: string;
}

async function openBacklog({ max = 2_000, journal = openMemoryJournal(), owner = 'gateway' }: Settings = {}) {
  const { keeper } = await openKeeper(journal, owner);
  const { pools, runs, deliveries, groups } = fakePools();
  const living = (): number => runs.handle().size;
  const inMemory = (name: 'runs' | 'deliveries'): Memory => {
    const { size: total, queues } = pools[name];
    return { max, share: runShare(max, 4), total, queues };
  };
  let ticks: () => void = () => {};
  let hear: (news: News) => void = () => {};
  let takes = 0;
  let flaw: Error | undefined;
  let underWay = 0;
  let mostUnderWay = 0;
  const life = new AbortController();
  const told: string[] = [];
  const elsewhere = new Set<string>();
  const watched = {
    ...journal,
    take: (async (collection, query) => {
      takes += 1;
      const thrown = flaw;
      flaw = undefined;
      if (thrown !== undefined) throw thrown;
      underWay += 1;
      mostUnderWay = Math.max(mostUnderWay, underWay);
      await turn();
      underWay -= 1;
      return journal.take(collection, query);
    }) as typeof journal.take,
  };
  const resume = resumePorts(keeper, () => pools, {
    keeper: {
      ...keeper,
      journal: () => watched,
      isElsewhere: (heldBy) => heldBy !== undefined && elsewhere.has(heldBy),
      heard: (callback) => {
        hear = callback;
        return () => {};
      },
    },
    log: { log: (level, message) => void (level === 'error' && told.push(message)), warnOnce: () => {} },
    bound: () => max,
    room: (queue) => roomFor(inMemory('runs'), queue),
    inMemory,
    signal: () => life.signal,
  });
  let up = true;
  const backlog = createBacklog({
    resume,
    isUp: () => up,
    every: (callback, intervalMs) => {
      t.equal(intervalMs, 5_000);
      ticks = callback;
      return () => {
        ticks = () => {};
      };
    },
    lookEveryMs: 5_000,
  });
  /** So many runs arrive: in memory while there is room, else on disk alone. */
  async function arrive(count: number, from: number, value = run): Promise<void> {
    for (let n = from; n < from + count; n += 1) {
      const key = `k${100_000 + n}`;
      const heldBy = backlog.hasRoom(value) ? keeper.session() : undefined;
      await keeper.commit([
        { kind: 'put', collection: 'runs', key, value: value as unknown as JsonObject, dueAtMs: 1, heldBy },
      ]);
      if (heldBy === undefined) continue;
      resume.writer.begin('runs', key);
      pools.open({ kind: 'run', key, record: value as never });
    }
  }
  /** The oldest end. */
  async function end(count: number, { route } = run): Promise<void> {
    const alive = runs.spawned
      .filter(({ key, input }) => runs.living(key) !== undefined && input.record.route === route)
      .slice(0, count);
    for (const { key } of alive) {
      runs.end(key);
      await keeper.commit([{ kind: 'put', collection: 'runs', key, value: { ...run, status: 'delivered' } }]);
      backlog.runEnded({ ...run, route });
    }
    for (let n = 0; n < 50; n += 1) await turn();
  }
  const tick = async (): Promise<void> => {
    ticks();
    for (let n = 0; n < 50; n += 1) await turn();
  };
  return {
    backlog,
    keeper,
    runs,
    deliveries,
    groups,
    arrive,
    end,
    tick,
    living,
    elsewhere,
    takes: () => takes,
    hear: (news: News) => hear(news),
    mostUnderWay: () => mostUnderWay,
    drain: () => life.abort(),
    told,
    breakNextTake: (thrown: Error) => {
      flaw = thrown;
    },
    setUp: (now: boolean) => {
      up = now;
    },
  };
}

t.test(
  'DIS-3 · DUR-1 · runs that found no room follow those that end, each once, and the memory stays bounded',
  async (t) => {
    const it = await openBacklog();
    await it.arrive(2_700, 0);
    t.equal(it.living(), 1_000, 'the others wait on disk');

    await it.end(499);
    t.equal(it.living(), 501, 'a look for one is not worth its while');
    await it.end(1);
    t.equal(it.living(), 1_000);
    let max = 0;
    for (let n = 0; it.living() > 0 && n < 100; n += 1) {
      await it.end(173);
      max = Math.max(max, it.living());
    }

    t.equal(it.living(), 0, 'all of them have run, with no help of the clock');
    t.ok(max <= 1_000, `${max} in memory`);
    const keys = it.runs.spawned.map(({ key }) => key);
    t.same([keys.length, new Set(keys).size], [2_700, 2_700]);
    t.same(keys, [...keys].sort(), 'the oldest first');
  },
);

t.test(
  'DIS-3 · under overload that lasts, no new run of a route takes the room of one that waits on disk',
  async (t) => {
    const it = await openBacklog({ max: 200 });
    await it.arrive(130, 0);
    let sent = 130;
    for (let n = 0; n < 10; n += 1) {
      await it.end(20);
      await it.arrive(20, sent);
      sent += 20;
    }
    while (it.runs.spawned.length < sent) {
      await it.end(30);
      await it.tick();
    }
    const keys = it.runs.spawned.map(({ key }) => key);
    t.equal(keys.length, sent);
    t.same(keys, [...keys].sort(), 'the oldest first');
    await it.end(sent);
    // A check that saw the last of them may be under way.
    await until(() => it.backlog.hasRoom(run));
  },
);

t.test('DIS-3 · a run that is left on disk behind others, though there is room, is looked for soon', async (t) => {
  const it = await openBacklog({ max: 20 });
  await it.arrive(11, 0);
  await it.end(2);
  t.notOk(it.backlog.hasRoom(run), 'behind one on disk');
  await it.arrive(1, 11);
  await until(() => it.living() === 10);
});

t.test('DIS-3 · on a shared journal a new run takes the room that there is, whatever waits there', async (t) => {
  const { local: _, ...shared } = openMemoryJournal();
  const it = await openBacklog({ max: 20, journal: shared });
  await it.arrive(11, 0);
  await it.end(2);
  await it.arrive(1, 11);
  t.equal(it.living(), 9);
});

t.test('DIS-3 · runs that end while a check is at its last step are followed without help of the clock', async (t) => {
  const journal = openMemoryJournal();
  let goOn = (): void => {};
  const last = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const take = (async (collection, query) => {
    if (collection === 'groups') await last;
    return journal.take(collection, query);
  }) as typeof journal.take;
  const it = await openBacklog({ max: 200, journal: { ...journal, take } });
  await it.arrive(250, 0);
  await it.end(50);
  t.equal(it.living(), 100);
  await it.end(100);
  t.equal(it.living(), 0, 'the check that has read the runs is under way');
  goOn();
  await until(() => it.living() === 100);
});

t.test('DIS-3 · a route that stands still leaves memory to the others, however much of it waits', async (t) => {
  const it = await openBacklog();
  const other = { ...run, route: 'other' };
  await it.arrive(1_500, 0);
  t.equal(it.living(), 1_000, 'half of the memory');
  t.same([it.backlog.isLeft(), it.backlog.isLeft('default'), it.backlog.isLeft('work')], [true, true, false]);
  await it.arrive(200, 2_000, other);
  t.equal(it.living(), 1_064, 'of the second half a small part');
  await it.tick();
  t.equal(it.living(), 1_064);

  for (let n = 0; n < 20; n += 1) await it.end(32, other);
  t.equal(it.living(), 1_000, 'all of the other route have run');
  const takes = it.takes();
  await it.arrive(40, 3_000, { ...run, route: 'third' });
  await it.end(40, { ...run, route: 'third' });
  t.equal(it.takes(), takes, 'no end of a route of which nothing is on disk looks for something');
  const keys = it.runs.spawned.filter(({ input }) => input.record.route === 'other').map(({ key }) => key);
  t.same([keys.length, keys], [200, [...keys].sort()]);

  await it.end(500);
  t.equal(it.living(), 1_000, 'the rest of the first follows as its own end');
});

t.test('SCA-2 · news of other gateways begin a check, except while it would step over a full queue', async (t) => {
  const { local: _, ...shared } = openMemoryJournal();
  const it = await openBacklog({ max: 8, journal: shared });
  it.hear('work');
  await until(() => it.takes() > 0);

  await it.arrive(8, 0);
  const takes = it.takes();
  it.hear('work');
  await setTimeout(150);
  t.equal(it.takes(), takes);
  await it.tick();
  t.ok(it.takes() > takes, 'the clock begins one');

  const held = await openBacklog({ max: 0, journal: shared });
  await held.tick();
  t.notOk(held.backlog.isLeft(), 'memory without room for any run is no sign of more');
  await held.arrive(1, 20);
  t.ok(held.backlog.isLeft());
});

t.test('DUR-1 · while nothing waits on disk, an end looks for nothing', async (t) => {
  const it = await openBacklog();
  await it.arrive(900, 0);
  t.notOk(it.backlog.isLeft());
  await it.end(900);
  t.equal(it.takes(), 0);
});

t.test(
  'DIS-3 · DUR-1 · what the ends did not find is found by the clock: a late commit, a cron job without a pool',
  async (t) => {
    const it = await openBacklog({ max: 20 });
    await it.arrive(10, 0);
    // It found no room, and lands when all that would have called for it have ended.
    t.notOk(it.backlog.hasRoom(run));
    await it.end(10);
    await it.keeper.commit([
      { kind: 'put', collection: 'runs', key: 'late', value: run as unknown as JsonObject, dueAtMs: 1 },
      { kind: 'put', collection: 'deliveries', key: 'late', value: delivery as unknown as JsonObject, dueAtMs: 1 },
    ]);

    it.setUp(false);
    await it.tick();
    t.equal(it.living(), 0, 'a gateway that drains begins nothing');
    it.setUp(true);
    await it.tick();

    t.ok(it.runs.living('late'));
    t.ok(it.deliveries.living('late'));
    const takes = it.takes();
    it.backlog.stop();
    await it.tick();
    t.equal(it.takes(), takes);
  },
);

t.test('INS-1 · OBS-1 · a check that fails is reported once, and the next one continues', async (t) => {
  const it = await openBacklog({ max: 10 });
  await it.keeper.commit([
    { kind: 'put', collection: 'runs', key: 'late', value: run as unknown as JsonObject, dueAtMs: 1 },
  ]);
  it.breakNextTake(new TypeError('a flaw'));
  await it.tick();
  t.same([it.told, it.living()], [['the work that waits on disk: a flaw'], 0]);
  it.breakNextTake(new TypeError('a flaw'));
  await it.tick();
  t.equal(it.told.length, 1, 'the same once more is not');
  await it.tick();
  t.ok(it.runs.living('late'));
  it.breakNextTake(new TypeError('a flaw'));
  await it.tick();
  t.equal(it.told.length, 2, 'a look that went well was between');
});

t.test(
  'DUR-1 · COA-3 · a recovery that falls over something is made again by the next look, batches too',
  async (t) => {
    const it = await openBacklog({ max: 10 });
    await it.keeper.commit([
      { kind: 'put', collection: 'runs', key: 'r', value: run as unknown as JsonObject, dueAtMs: 1 },
      { kind: 'put', collection: 'groups', key: 'g', value: plainGroup as unknown as JsonObject, dueAtMs: 1 },
    ]);
    it.breakNextTake(new TypeError('a flaw'));
    await it.backlog.resume();
    t.same(it.living(), 0);
    await it.tick();
    t.ok(it.runs.living('r'));
    t.ok(it.groups.living('g'));
    const takes = it.takes();
    await it.tick();
    t.same([it.takes() - takes, it.told], [3, ['the work that waits on disk: a flaw']], 'then it looks as before');
  },
);

for (const reading of ['dueKeys', 'get'] as const) {
  t.test(`DLV-4 · SCA-1 · a new leader takes no delivery before it has read all that wait (${reading})`, async (t) => {
    const { local: _, ...shared } = openMemoryJournal();
    let fails = true;
    const failing = async (...asked: never[]): Promise<never> => {
      if (fails) throw new Error('the database starts');
      return (shared[reading] as (...given: never[]) => Promise<never>)(...asked);
    };
    const it = await openBacklog({ journal: { ...shared, [reading]: failing } });
    const value = delivery as unknown as JsonObject;
    await it.keeper.commit([{ kind: 'put', collection: 'deliveries', key: 'd', value, dueAtMs: 1 }]);
    await it.tick();
    t.equal(it.deliveries.living('d'), undefined);
    await it.tick();
    t.equal(it.deliveries.living('d'), undefined, 'nor at the next look');
    fails = false;
    await it.tick();
    t.ok(it.deliveries.living('d'));
    t.same(it.told, ['the work that waits on disk: the database starts']);
  });
}

t.test('SCA-2 · a new leader does not read one by one what waits', async (t) => {
  const { local: _, ...shared } = openMemoryJournal();
  let underWay = 0;
  let max = 0;
  const get = async (...asked: Parameters<Journal['get']>) => {
    underWay += 1;
    max = Math.max(max, underWay);
    await turn();
    underWay -= 1;
    return shared.get(...asked);
  };
  const it = await openBacklog({ journal: { ...shared, get: get as Journal['get'] } });
  const value = delivery as unknown as JsonObject;
  for (let n = 0; n < 60; n += 1)
    await it.keeper.commit([{ kind: 'put', collection: 'deliveries', key: `d${100 + n}`, value, dueAtMs: 1 }]);
  await it.tick();
  t.ok(it.deliveries.living('d159'));
  t.equal(max, 50);
});

t.test('DUR-1 · DIS-3 · a recovery waits for the look under way, and none begins beside it', async (t) => {
  const it = await openBacklog({ max: 500 });
  const late = (n: number) => ({
    kind: 'put' as const,
    collection: 'runs' as const,
    key: `k${n}`,
    value: run as unknown as JsonObject,
    dueAtMs: 1,
  });
  await it.keeper.commit(Array.from({ length: 200 }, (_, n) => late(n)));

  const look = it.tick();
  const recovery = it.backlog.resume();
  const beside = it.tick();
  await Promise.all([look, recovery, beside]);

  t.equal(it.mostUnderWay(), 1);
  const keys = it.runs.spawned.map(({ key }) => key);
  t.same([keys.length, new Set(keys).size], [200, 200]);

  it.breakNextTake(new TypeError('a flaw'));
  await it.backlog.resume();
  t.same(it.told.at(-1), 'the work that waits on disk: a flaw', 'the start goes on without it');
});

t.test(
  'SCA-2 · after a session that ended, the runs that another gateway has taken over, or ended since, are let go of',
  async (t) => {
    const it = await openBacklog();
    await it.arrive(4, 0);
    const [mine, taken, waits, ended] = it.runs.spawned;
    for (const one of [mine, taken, ended]) it.runs.move(one?.key ?? '', 'running');
    await it.tick();
    const opened = await it.keeper.journal()?.openSession('other', 60_000);
    const heldBy = opened?.ok ? opened.value : '';
    it.elsewhere.add(heldBy);
    const theirs = { kind: 'put', collection: 'runs', value: run as unknown as JsonObject, dueAtMs: 1 } as const;
    for (const one of [taken, waits]) await it.keeper.commit([{ ...theirs, key: one?.key ?? '', heldBy }]);
    await it.keeper.commit([{ ...theirs, key: ended?.key ?? '', dueAtMs: null }]);
    await it.tick();
    t.same(taken?.heard, [], 'the session lives');
    await it.keeper.beginAnew();
    await it.tick();
    const lost = [{ type: 'work.lost' }];
    t.same([mine?.heard, taken?.heard, waits?.heard, ended?.heard], [[], lost, [], lost]);
  },
);

t.test('SCA-2 · a run that another gateway takes while this one has no session is let go of', async (t) => {
  const { local: _, ...shared } = openMemoryJournal();
  const it = await openBacklog({ journal: shared });
  await it.arrive(1, 0);
  const [mine] = it.runs.spawned;
  const key = mine?.key ?? '';
  it.runs.move(key, 'running');
  await it.tick();
  await shared.endSession(it.keeper.session() ?? '');
  await it.keeper.beat();
  await it.tick();
  t.same([it.keeper.session(), mine?.heard], [undefined, []], 'not taken yet');
  const opened = await shared.openSession('other', 60_000);
  const heldBy = opened.ok ? opened.value : '';
  it.elsewhere.add(heldBy);
  await shared.commit([
    { kind: 'put', collection: 'runs', key, value: run as unknown as JsonObject, dueAtMs: 1, heldBy },
  ]);
  await it.tick();
  t.same(mine?.heard, [{ type: 'work.lost' }]);
});

t.test(
  'SCA-1 · gateways that look at the same time share the runs that wait, and leave what finds no place',
  async (t) => {
    const journal = openMemoryJournal();
    const two = await Promise.all(['one', 'other'].map((owner) => openBacklog({ max: 40, journal, owner })));
    const keys = Array.from({ length: 60 }, (_, n) => `k${100 + n}`);
    await journal.commit(
      keys.map((key) => ({
        ...({ kind: 'put', collection: 'runs', dueAtMs: 1 } as const),
        key,
        value: run as unknown as JsonObject,
      })),
    );
    await Promise.all(two.map((it) => it.tick()));
    t.same(
      two.map((it) => it.living()),
      [20, 20],
    );
    while (two.some((it) => it.living() > 0)) for (const it of two) await it.end(5);
    const ran = two.flatMap((it) => it.runs.spawned.map(({ key }) => key));
    t.same([...ran].sort(), keys, 'each ran once');
  },
);

t.test('CON-2 · DUR-1 · a drain ends a look under way', async (t) => {
  const it = await openBacklog({ max: 500 });
  await it.keeper.commit([
    { kind: 'put', collection: 'runs', key: 'late', value: run as unknown as JsonObject, dueAtMs: 1 },
  ]);
  const look = it.tick();
  while (it.takes() === 0) await Promise.resolve();
  it.drain();
  await look;
  t.equal(it.living(), 0);
  t.equal(it.takes(), 1, 'no further take');
});
