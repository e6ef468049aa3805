import t from 'tap';
import type { Collection, Journal } from '../../../actors/store/journal.ts';
import { openMemoryJournal } from '../../../actors/store/memory-journal.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import { claimName, type DeliveryRecord, type GroupRecord, type RunRecord } from '../../../machines/webhook/record.ts';
import { type ResumePorts, recoverRuns, resumeWork } from '../../../runtime/dispatch/recovery.ts';
import { diskFull, openKeeper, turn } from '../../support/keeper.ts';
import { lentTime } from '../../support/lent-time.ts';
import { fakePools } from '../../support/pools.ts';
import { plainDelivery, plainRun } from '../../support/records.ts';
import { resumePorts } from '../../support/resuming.ts';

const run: RunRecord = { ...plainRun, eventKey: 'e1', queuedAtMs: 1 };
const delivery: DeliveryRecord = { ...plainDelivery, eventKey: 'e1', deliveryId: 'd1', target: 'log', queuedAtMs: 1 };
const group: GroupRecord = {
  profile: 'default',
  route: 'r',
  groupKey: '7',
  burst: { id: 'b1', count: 2, firstAtMs: 1, latestEventKey: 'b2', dueAtMs: 9_000 },
};

/** What a dead gateway left: records under way, held by its session. */
async function left(...records: readonly (readonly [Collection, string, object])[]): Promise<Journal> {
  const { keeper, journal } = await openKeeper(openMemoryJournal());
  for (const [collection, key, value] of records) {
    const heldBy = keeper.session() ?? '';
    const isOver = (value as Partial<DeliveryRecord>).status === 'failed';
    const dueAtMs = isOver ? null : 5;
    await keeper.commit([{ kind: 'put', collection, key, value: value as JsonObject, dueAtMs, heldBy }]);
  }
  return journal;
}

async function stage(journal: Journal, more: Partial<ResumePorts> = {}) {
  const { keeper, refused } = await openKeeper(journal);
  const { pools, runs, groups, deliveries } = fakePools();
  const lines: (readonly unknown[])[] = [];
  const ports = resumePorts(keeper, () => pools, {
    log: { log: (level, message, fields) => void lines.push([level, message, fields]), warnOnce: () => {} },
    ...more,
  });
  const { writer, batches } = ports;
  const inputs = (pool: { readonly spawned: readonly { readonly key: string; readonly input: unknown }[] }) =>
    pool.spawned.map(({ key, input }) => [key, input]);
  return {
    ports,
    keeper,
    writer,
    batches,
    runs,
    lines,
    refused,
    spawned: () => ({ runs: inputs(runs), groups: inputs(groups), deliveries: inputs(deliveries) }),
  };
}

const nothing = { runs: [], groups: [], deliveries: [] };

t.test('DUR-1 · runs go on by what is known of them: queued, cut off once, cut off too often, responded', async (t) => {
  const rows: readonly (readonly [Partial<RunRecord>, DeliveryRecord | undefined, 'rerun' | 'report', object])[] = [
    [{ status: 'queued' }, undefined, 'rerun', { status: 'queued', attempt: 0 }],
    [{ status: 'running', attempt: 1 }, undefined, 'rerun', { status: 'queued', attempt: 1 }],
    [{ status: 'running', attempt: 1 }, undefined, 'report', { status: 'interrupted', reason: /attempt 1/ }],
    [
      { status: 'running', attempt: 6, cutOffs: 5 },
      undefined,
      'rerun',
      { status: 'interrupted', reason: /6 crashes, at last in attempt 6/ },
    ],
    [{ status: 'running', attempt: 1, prompted: false }, undefined, 'report', { status: 'queued', attempt: 0 }],
    [{ status: 'delivering', attempt: 1 }, { ...delivery, status: 'queued' }, 'rerun', { status: 'delivering' }],
    [
      { status: 'delivering', attempt: 1 },
      { ...delivery, status: 'failed', reason: 'no such chat' },
      'rerun',
      { status: 'failed', reason: 'no such chat' },
    ],
  ];
  for (const [found, sent, policy, expected] of rows) {
    const journal = await left(
      ['events', run.eventKey, { deliveryId: 'd1' }],
      ['runs', 'k1', { ...run, ...found }],
      ...(sent === undefined ? [] : [['deliveries', 'k1', { ...sent, runKey: 'k1' }] as const]),
    );
    const { ports, spawned, lines } = await stage(journal, { onInterrupted: () => policy });

    await resumeWork(ports);

    const title = `${found.status} ${found.attempt ?? 0} ${sent?.status ?? ''} ${policy}`;
    const { runs, deliveries, groups } = spawned();
    t.match(runs, [['k1', { key: 'k1', record: expected }]], title);
    t.same([runs.length, deliveries, groups], [1, [], []], `${title}: its delivery is the run's own to open`);
    if (found.status === 'queued') t.same(lines, [], 'one that has only waited is not logged');
    else t.match(lines.at(-1), ['info', /^run taken up again: /, { delivery_id: 'd1', run: 'k1' }], title);
  }
});

t.test('DUR-1 · a run whose delivery was cut off while sending ends with it, as unknown', async (t) => {
  const journal = await left(
    ['runs', 'k1', { ...run, status: 'delivering', attempt: 1 }],
    ['deliveries', 'k1', { ...delivery, runKey: 'k1', status: 'sending' }],
  );
  const { ports, spawned } = await stage(journal);
  await resumeWork(ports);
  t.same(spawned(), nothing, 'nothing is sent blindly');
  for (const collection of ['runs', 'deliveries'] as const) {
    const stored = journal.local?.get(collection, 'k1');
    t.match(stored?.value, { status: 'unknown', reason: /cut off while sending/ }, collection);
    t.equal(stored?.dueAtMs, undefined, 'nothing is left to do');
  }
});

t.test('DUR-1 · PRF-2 · the policy is that of the run’s own profile', async (t) => {
  const journal = await left(['runs', 'k1', { ...run, profile: 'work', status: 'running', attempt: 1 }]);
  const asked: string[] = [];
  const { ports, spawned } = await stage(journal, {
    onInterrupted: (profile) => {
      asked.push(profile);
      return profile === 'work' ? 'report' : 'rerun';
    },
  });
  await resumeWork(ports);
  t.same(asked, ['work']);
  t.match(spawned().runs, [['k1', { record: { status: 'interrupted' } }]]);
});

t.test(
  'DUR-1 · DIS-2 · IDM-2 · a direct delivery that was cut off while sending ends as unknown and frees its id',
  async (t) => {
    const journal = await left(['deliveries', 'k1', { ...delivery, answerByMs: 50, status: 'sending' }]);
    const { ports, spawned, keeper, lines } = await stage(journal);
    const name = claimName('default', 'r', 'd1');
    await keeper.commit([{ kind: 'claim', name, value: { eventKey: 'k1' }, forMs: 99_000 }]);

    await resumeWork(ports);

    t.same(spawned(), nothing, 'not sent again');
    const stored = journal.local?.get('deliveries', 'k1');
    t.match(stored?.value, {
      status: 'unknown',
      reason: 'cut off while sending, when the gateway ended',
      endedAtMs: 100,
    });
    t.equal(stored?.dueAtMs, undefined, 'nothing is left to do');
    t.equal(journal.local?.claimed(name), undefined);
    t.match(lines, [['warn', /outcome is unknown and it is not sent again/]]);
  },
);

t.test(
  'DUR-1 · DIS-2 · a delivery whose run is forgotten goes on by itself, and so does a direct one, without its sender',
  async (t) => {
    const waiting = { ...delivery, runKey: 'gone' };
    const { ports, spawned } = await stage(await left(['deliveries', 'k1', waiting]));
    await resumeWork(ports);
    t.same(spawned(), { ...nothing, deliveries: [['k1', { key: 'k1', record: waiting, atMs: 100 }]] });

    const journal = await left(['deliveries', 'k1', { ...delivery, answerByMs: 50 }]);
    const direct = await stage(journal);
    await resumeWork(direct.ports);
    const alone = { key: 'k1', record: delivery, atMs: 100 };
    t.same(direct.spawned(), { ...nothing, deliveries: [['k1', alone]] });
    t.same(journal.local?.get('deliveries', 'k1')?.value, delivery);
  },
);

t.test('COA-3 · DUR-1 · a batch gathers on with its record, and waits for the run of the one before', async (t) => {
  const journal = await left(
    ['groups', 'default/r/7', group],
    ['runs', 'b0', { ...run, status: 'running', attempt: 1, group: 'default/r/7' }],
  );
  const { ports, spawned, batches } = await stage(journal);

  await resumeWork(ports);

  const { runs, groups } = spawned();
  t.match(runs, [['b0', { record: { status: 'queued' } }]]);
  t.same(groups, [['default/r/7', { key: 'default/r/7', profile: 'default', route: 'r', inFlight: 'b0', atMs: 100 }]]);
  t.match(ports.pools().groups.get('default/r/7'), { id: 'default/r/7' });
  const joining = {
    key: 'default/r/7',
    profile: 'default',
    route: 'r',
    groupKey: '7',
    eventKey: 'b3',
    nowMs: 100,
    windowMs: 50,
    maxWaitMs: 9_999,
  };
  const joined = await new Promise((resolve) => batches.join(joining, (_, record) => [record], resolve));
  t.match(joined, { verdict: { kind: 'committed' }, burst: { id: 'b1', count: 3 } }, 'its version is known');
});

t.test('COA-3 · DUR-1 · a run cut off while delivering is still the one in flight of its group', async (t) => {
  const { ports, spawned } = await stage(
    await left(['runs', 'b0', { ...run, status: 'delivering', attempt: 1, group: 'default/r/7' }]),
  );
  await resumeWork(ports);
  t.match(spawned().groups, [['default/r/7', { inFlight: 'b0' }]]);
});

t.test('COA-1 · DUR-1 · a batch alone is handed to a group of its own, though it is not due yet', async (t) => {
  const { ports, spawned } = await stage(await left(['groups', 'default/r/7', group]));
  await resumeWork(ports);
  const { profile, route, burst } = group;
  t.same(spawned(), {
    ...nothing,
    groups: [['default/r/7', { key: 'default/r/7', profile, route, burst, atMs: 100 }]],
  });
});

t.test('DUR-1 · what was taken up is held by this gateway, and written over the version that it found', async (t) => {
  const journal = await left(['runs', 'k1', run], ['deliveries', 'k2', delivery], ['groups', 'g', group]);
  const { ports, keeper, writer } = await stage(journal);
  await resumeWork(ports);
  for (const [collection, key] of [
    ['runs', 'k1'],
    ['deliveries', 'k2'],
    ['groups', 'g'],
  ] as const) {
    t.equal(journal.local?.get(collection, key)?.heldBy, keeper.session(), collection);
  }
  const change = { collection: 'runs', key: 'k1', value: { ...run, attempt: 1 } as unknown as JsonObject } as const;
  t.same(await writer.write([{ ...change, dueAtMs: 100 }]), { kind: 'written' });
  await keeper.commit([{ kind: 'put', collection: 'runs', key: 'k1', value: {} }]);
  t.same(
    await writer.write([{ ...change, dueAtMs: 100 }]),
    { kind: 'lost', collection: 'runs' },
    'another gateway has it now',
  );

  const again = await stage(journal);
  await resumeWork(again.ports);
  t.match(again.spawned().deliveries, [['k2', {}]], 'a next gateway finds what the last one held');
});

t.test('DIS-3 · DUR-1 · runs beyond the room stay on disk and are taken up as room comes', async (t) => {
  const keys = Array.from({ length: 25 }, (_, n) => `k${100 + n}`);
  const journal = await left(...keys.map((key) => ['runs', key, run] as const));
  let room = 10;
  const stage1 = await stage(journal);
  const ports: ResumePorts = { ...stage1.ports, room: () => room - stage1.runs.spawned.length };

  await resumeWork(ports);
  t.same(
    stage1.runs.spawned.map(({ key }) => key),
    keys.slice(0, 10),
    'the oldest first',
  );
  await recoverRuns(ports);
  t.equal(stage1.runs.spawned.length, 10, 'no room, nothing taken');
  room = 1_000;
  await recoverRuns(ports);
  t.same(
    stage1.runs.spawned.map(({ key }) => key),
    keys,
  );
});

t.test('DUR-1 · more than one slice of the journal is taken up whole', async (t) => {
  const records = Array.from({ length: 1_203 }, (_, n) => ['deliveries', `k${10_000 + n}`, delivery] as const);
  const { ports, spawned } = await stage(await left(...records));
  await resumeWork(ports);
  t.equal(spawned().deliveries.length, 1_203);
});

t.test('DUR-1 · CON-2 · a drain ends a recovery at once, and the next start takes up what it left', async (t) => {
  for (const [collection, value, spawnedIn] of [
    ['runs', run, 'runs'],
    ['deliveries', delivery, 'deliveries'],
    ['groups', group, 'groups'],
  ] as const) {
    const records = Array.from({ length: 120 }, (_, n) => [collection, `k${100 + n}`, value] as const);
    const journal = await left(...records);
    const life = new AbortController();
    const it = await stage(journal, { signal: () => life.signal });
    const opening = it.ports.pools();
    let opened = 0;
    const open: typeof opening.open = (...given) => {
      opened += 1;
      if (opened === 60) life.abort();
      opening.open(...given);
    };

    await resumeWork({ ...it.ports, pools: () => ({ ...opening, open }) });
    t.equal(it.spawned()[spawnedIn].length, 60, collection);
    await recoverRuns(it.ports);
    t.equal(it.spawned()[spawnedIn].length, 60, 'nor is anything taken later');

    const next = await stage(journal);
    await resumeWork(next.ports);
    t.equal(next.spawned()[spawnedIn].length, 120, collection);
  }
});

/** Parts of a recovery: how many records a flaw in it keeps back, and the ports that call it. */
const parts: readonly (readonly [
  string,
  keptBack: 0 | 1,
  (ports: ResumePorts, flaw: (key?: string) => void) => Partial<ResumePorts>,
])[] = [
  ['noting an older delivery', 0, ({ older }, flaw) => ({ older: { ...older, note: (key) => flaw(key) } })],
  ['keeping a chat', 0, (_, flaw) => ({ hold: () => flaw() })],
  [
    'judging a delivery',
    1,
    (_, flaw) => ({
      deduplicatesForMs: () => {
        flaw();
        return 0;
      },
    }),
  ],
  [
    'judging a run',
    1,
    (_, flaw) => ({
      onInterrupted: () => {
        flaw();
        return 'rerun';
      },
    }),
  ],
  [
    'opening its chart',
    1,
    ({ pools }, flaw) => ({
      pools: () => ({
        ...pools(),
        open: (work) => {
          flaw('key' in work ? work.key : undefined);
          pools().open(work);
        },
      }),
    }),
  ],
  [
    'adopting a burst',
    1,
    ({ batches }, flaw) => ({
      batches: {
        ...batches,
        adopt: (...given) => {
          flaw(given[0]);
          batches.adopt(...given);
        },
      },
    }),
  ],
];

for (const [part, keptBack, broken] of parts) {
  t.test(
    `DUR-1 · a flaw in ${part} costs one record its turn: it comes at the next start, and none comes twice`,
    async (t) => {
      const journal = await left(
        ...['d1', 'd2', 'd3'].map((key) => ['deliveries', key, delivery] as const),
        ...['w1', 'w2', 'w3'].map((key) => ['deliveries', key, { ...delivery, status: 'waitingToRetry' }] as const),
        ...['s1', 's2', 's3'].map((key) => ['deliveries', key, { ...delivery, status: 'sending' }] as const),
        ...['r1', 'r2', 'r3'].map((key) => ['runs', key, { ...run, status: 'running', attempt: 1 }] as const),
        ...['g1', 'g2', 'g3'].map((key) => ['groups', key, group] as const),
      );
      const all = ['d1', 'd2', 'd3', 'g1', 'g2', 'g3', 'r1', 'r2', 'r3', 'w1', 'w2', 'w3'];
      const first = await stage(journal);
      let calls = 0;
      const flaw = (): void => {
        calls += 1;
        if (calls === 2) throw new TypeError('a flaw');
      };
      const ports = { ...first.ports, ...broken(first.ports, flaw) };
      const opened = (it: typeof first): string[] =>
        Object.values(it.spawned())
          .flatMap((inputs) => inputs.map(([key]) => String(key)))
          .sort();
      const closed = (): string[] =>
        ['s1', 's2', 's3'].filter((key) => journal.local?.get('deliveries', key)?.dueAtMs === undefined);

      await resumeWork(ports);

      t.ok(calls > 2, 'what comes after it has its turn');
      t.equal(opened(first).length + closed().length, all.length + 3 - keptBack);
      t.match(
        first.lines.filter(([level]) => level === 'error'),
        [['error', /^the recovery of \w\d: a flaw$/]],
      );
      const before = opened(first);
      await resumeWork(ports);
      await recoverRuns(ports);
      t.same(opened(first), before, 'nothing is taken a second time by the same gateway');
      const attempts = journal.local?.get('runs', 'r2')?.value;

      // The gateway dies: its session is over.
      const next = await stage(journal);
      await resumeWork(next.ports);

      t.same(opened(next), all, 'everything that was not over comes again, once');
      t.same(closed(), ['s1', 's2', 's3'], 'and what may not be repeated is closed');
      t.match(attempts, { attempt: 1, status: 'running' }, 'a recovery that failed counts as no attempt');
      for (const [, input] of next.spawned().runs)
        t.match(input, { record: { status: 'queued', attempt: 1, cutOffs: 1 } });
    },
  );
}

t.test('DUR-1 · SCA-2 · what a database does not answer during a recovery is recovered once it does', async (t) => {
  const { local, ...shared } = await left(
    ['runs', 'read', run],
    ['deliveries', 'ended', { ...delivery, status: 'sending' }],
    ['runs', 'left', { ...run, status: 'delivering' }],
    ['deliveries', 'left', { ...delivery, runKey: 'left' }],
  );
  const unanswered = new Set(['read', 'ended', 'left']);
  const get = (collection: Collection, key: string): Promise<unknown> =>
    key === 'read' && unanswered.delete(key)
      ? Promise.reject(new Error('the database starts'))
      : shared.get(collection, key);
  const submit: Journal['submit'] = (given, settled, rewrite) => {
    if (given.some((one) => 'key' in one && unanswered.delete(one.key)))
      settled({ kind: 'unavailable', fault: diskFull }, given);
    else shared.submit(given, settled, rewrite);
  };
  const it = await stage({ ...shared, submit, get: get as Journal['get'] });

  await resumeWork(it.ports);
  for (let n = 0; n < 50; n += 1) await turn();

  t.match(it.spawned(), { runs: [['read', { record: { status: 'queued' } }]], deliveries: [] });
  t.match(local?.get('deliveries', 'ended')?.value, { status: 'unknown' });
  t.same([local?.get('runs', 'left')?.dueAtMs, local?.get('deliveries', 'left')?.heldBy], [undefined, undefined]);
  t.same(
    it.lines.filter(([level]) => level === 'error').map(([, message]) => message),
    [
      `the recovery of ended: ${diskFull.message}`,
      `the recovery of left: ${diskFull.message}`,
      'the recovery of read: the database starts',
    ],
  );
});

t.test('DUR-1 · a machine that has slept takes work at once, and none of its own a second time', async (t) => {
  const time = lentTime(t);
  const { ports, keeper, spawned, refused } = await stage(await left(['runs', 'k1', run]));
  await resumeWork(ports);
  const before = spawned();
  time.pass(3_600_000);
  await resumeWork(ports);
  t.same(spawned(), before);
  t.same(refused, [], 'nothing is called unavailable');
  t.match(await keeper.journal()?.living(), { value: [{ id: keeper.session() }] });
});

t.test('DUR-1 · a journal that is not open, or refuses, leaves everything as it is and says so', async (t) => {
  const journal = await left(['runs', 'k1', run]);
  const closed = await stage(journal);
  await closed.keeper.close();
  await resumeWork(closed.ports);
  t.same(closed.spawned(), nothing);

  const other = await left(['runs', 'k1', run]);
  const over = await stage(other);
  await other.endSession(over.keeper.session() ?? '');
  await resumeWork(over.ports);
  t.same(over.spawned(), nothing);
  t.match(over.refused[0], { code: 'journal-session-ended' }, 'as a refused commit is');
});
