import t, { type Test } from 'tap';
import { createActor, SimulatedClock } from 'xstate';
import { compile } from '../../../machines/base/compile.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import { type DeliveryInput, deliveryMachine } from '../../../machines/webhook/delivery.machine.ts';
import {
  type DeliveryRecord,
  deliveryRow,
  type EventRecord,
  eventSummary,
  type RunRecord,
  runRow,
} from '../../../machines/webhook/record.ts';
import { createQueueOrder } from '../../../runtime/dispatch/queue-order.ts';
import { recoverDeliveries, resumeWork } from '../../../runtime/dispatch/recovery.ts';
import { openKeeper } from '../../support/keeper.ts';
import { fakePools } from '../../support/pools.ts';
import { plainDelivery, plainRun } from '../../support/records.ts';
import { resumePorts } from '../../support/resuming.ts';

const delivery: DeliveryRecord = { ...plainDelivery, runKey: 'e', status: 'waitingToRetry' };
const run: RunRecord = { ...plainRun, status: 'delivering', attempt: 1 };

async function openResume(t: Test, { room = 10, deduplicatesForMs = 0 } = {}) {
  const clock = { ms: 1_000 };
  const nowMs = () => clock.ms;
  const { keeper } = await openKeeper();
  t.teardown(() => keeper.close());
  const { pools, runs, deliveries } = fakePools(nowMs);
  const ports = resumePorts(keeper, () => pools, {
    nowMs,
    deduplicatesForMs: () => deduplicatesForMs,
    hold: ({ runKey }) => void held.push([runKey ?? '', deliveries.spawned.length]),
    order: createQueueOrder(nowMs),
    older: { note: (key) => void noted.push(key), look: async () => void noted.push('looked') },
    bound: () => 40,
    room: () => 10,
    inMemory: () => {
      const { size: total, queues } = deliveries.handle();
      return { max: 2 * room, share: room, total, queues };
    },
  });
  /** What was on disk at the start, and when those that were taken up were looked for. */
  const noted: string[] = [];
  /** For which deliveries a chat was kept, and how many went on by then. */
  const held: [key: string, spawned: number][] = [];
  const put = (collection: 'runs' | 'deliveries', key: string, value: object, dueAtMs: number | null) =>
    keeper.commit([{ kind: 'put', collection, key, value: value as JsonObject, dueAtMs }]);
  const stored = (collection: 'runs' | 'deliveries', key: string) =>
    keeper.journal()?.local?.get(collection, key)?.value;
  const living = () => deliveries.spawned.map(({ key }) => key);
  return { clock, ports, put, stored, living, runs, deliveries, held, noted };
}

t.test('DUR-1 · DLV-4 · a delivery whose run has ended goes on by itself, any other with its run', async (t) => {
  const it = await openResume(t);
  await it.put('runs', 'ended', run, null);
  await it.put('deliveries', 'ended', { ...delivery, runKey: 'ended', dueAtMs: 9_000 }, 9_000);
  await it.put('runs', 'waits', run, 1);
  await it.put('deliveries', 'waits', { ...delivery, runKey: 'waits', status: 'queued' }, 1);

  await resumeWork(it.ports);

  t.match(it.deliveries.living('ended')?.input, { atMs: 1_000, record: { status: 'waitingToRetry', dueAtMs: 9_000 } });
  t.same(it.living(), ['ended']);
  t.same(
    it.runs.spawned.map(({ key }) => key),
    ['waits'],
  );
});

t.test('DUR-1 · OBS-1 · DIS-2 · the log names an interrupted direct delivery that ends, and no other', async (t) => {
  const it = await openResume(t);
  const lines: unknown[] = [];
  const log = { log: (_: string, message: string, fields?: object) => void lines.push([message, fields]) };
  const { runKey: _, ...direct } = { ...delivery, answerByMs: 9_000 };
  await it.put('deliveries', 'a', direct, 1);
  await it.put('deliveries', 'b', { ...direct, status: 'sending', startedAtMs: 900 }, 2);

  await resumeWork({ ...it.ports, log: { ...it.ports.log, ...log } });

  t.match(
    [it.stored('deliveries', 'a'), it.stored('deliveries', 'b')],
    [{ status: 'waitingToRetry', answerByMs: undefined }, { status: 'unknown' }],
  );
  t.same(it.living(), ['a']);
  t.match(lines, [[/its outcome is unknown/, { delivery: 'b' }]]);
  t.equal(lines.length, 1);
});

t.test(
  'DUR-1 · a sending that was cut off informs its run too, or is queued again where the platform knows it',
  async (t) => {
    const cut = { ...delivery, runKey: 'ended', status: 'sending', startedAtMs: 900 };
    const blind = await openResume(t);
    await blind.put('runs', 'ended', run, null);
    await blind.put('deliveries', 'ended', cut, 900);
    await resumeWork(blind.ports);
    t.match(blind.stored('deliveries', 'ended'), { status: 'unknown', endedAtMs: 1_000 });
    t.match(blind.stored('runs', 'ended'), { status: 'unknown', reason: /cut off while sending/ });
    t.same(blind.living(), []);

    const known = await openResume(t, { deduplicatesForMs: 101 });
    await known.put('runs', 'ended', run, null);
    await known.put('deliveries', 'ended', cut, 900);
    await resumeWork(known.ports);
    t.match(known.stored('deliveries', 'ended'), { status: 'queued', unsureSinceMs: 900 });
    t.same(known.living(), ['ended']);
  },
);

t.test(
  'DLV-4 · what finds no room waits on disk, and is taken up when its time has come and there is room',
  async (t) => {
    const it = await openResume(t, { room: 2 });
    for (const [key, dueAtMs] of [
      ['a', 2_000],
      ['b', 3_000],
      ['c', 4_000],
      ['d', 5_000],
    ] as const) {
      await it.put('deliveries', key, { ...delivery, runKey: key, dueAtMs }, dueAtMs);
    }
    await resumeWork(it.ports);
    t.same(it.living(), ['a', 'b'], 'the soonest');
    t.same(it.noted.splice(0), ['a', 'b', 'c', 'd', 'looked']);
    it.deliveries.end('a');
    it.deliveries.end('b');
    await recoverDeliveries(it.ports);
    t.same(it.living(), ['a', 'b'], 'nothing is due yet');
    t.same(it.noted, ['looked']);
    it.clock.ms = 4_000;
    await recoverDeliveries(it.ports);
    t.same(it.living(), ['a', 'b', 'c']);
  },
);

t.test(
  'DLV-4 · a restart opens deliveries in the order they were queued, behind those that are tried again',
  async (t) => {
    const it = await openResume(t);
    for (const [key, more, dueAtMs] of [
      ['second', { status: 'queued', queuedAtMs: 20 }, 20],
      ['first', { queuedAtMs: 10, sent: { pieces: 1, of: 2 } }, 9_000],
      ['third', { queuedAtMs: 30 }, 100],
    ] as const)
      await it.put('deliveries', key, { ...delivery, runKey: key, ...more }, dueAtMs);

    await resumeWork(it.ports);

    t.same(it.living(), ['first', 'second', 'third']);
    t.same(it.held, [
      ['first', 0],
      ['third', 0],
    ]);
  },
);

t.test('DLV-4 · numbers show the order of deliveries, where the clock was set back between them', async (t) => {
  const it = await openResume(t, { room: 3 });
  for (const [key, more] of [
    ['1', { queuedAtMs: 9_000, order: 9_000 }],
    ['2', { queuedAtMs: 100, order: 9_001, status: 'queued' }],
    ['3', { queuedAtMs: 50, order: 9_002, status: 'queued' }],
    ['4', { queuedAtMs: 20, order: 9_003, status: 'queued' }],
    ['0', { queuedAtMs: 8_000, status: 'queued' }],
  ] as const) {
    await it.put(
      'deliveries',
      key,
      { ...delivery, runKey: key, ...more },
      more.status === undefined ? 9_500 : (more.order ?? 8_000),
    );
  }

  await resumeWork(it.ports);

  t.same(it.living(), ['0', '2', '3'], 'one of an earlier version has its time alone');
  t.same(it.noted.splice(0), ['0', '2', '3', '4', '1', 'looked']);
  t.equal(it.ports.order.last(), 9_003);
  it.deliveries.end('0');
  await recoverDeliveries(it.ports);
  t.same(it.living(), ['0', '2', '3', '4'], 'its number is no time that must come');
});

for (const [when, { wall, due, began }] of Object.entries({
  // Numbers of the time before it was set back count as times that have come.
  'before it was shelved': { wall: 1_000, due: 1_000, began: 1_000 },
  // What was due by the steady clock is due, and no span can be read from the wall clock.
  'after it was shelved': { wall: 1_000, due: 9_060_000, began: 9_000_000 },
})) {
  t.test(`DLV-4 · a clock that is set back ${when} brings no try forward`, async (t) => {
    const it = await openResume(t);
    it.ports.order.saw(9_000_000);
    it.clock.ms = wall;
    const dueAtMs = began + 60_000;
    const shelved = { ...delivery, runKey: 'a', startedAtMs: began, dueAtMs };
    await it.put('runs', 'a', run, null);
    await it.put('deliveries', 'a', shelved, dueAtMs);

    await recoverDeliveries({ ...it.ports, dueMs: () => due });

    const input = it.deliveries.living('a')?.input;
    t.match(input, { atMs: wall, record: shelved }, 'taken from the disk');
    const clock = new SimulatedClock();
    const idle = deliveryMachine.provide({ actions: { awaitPlace: () => {}, reportResult: () => {} } });
    const actor = createActor(compile(idle), { input: input as DeliveryInput, clock }).start();
    t.teardown(() => actor.stop());
    clock.increment(59_999);
    t.match(actor.getSnapshot(), { value: 'waitingToRetry' });
    clock.increment(1);
    t.match(actor.getSnapshot(), { value: 'queued' });
  });
}

t.test('DUR-1 · DLV-4 · however much waits, a start lets the event loop turn after each fifty', async (t) => {
  const it = await openResume(t, { room: 1_000 });
  for (let n = 0; n < 600; n += 1) {
    const key = `k${1_000 + n}`;
    await it.put('deliveries', key, { ...delivery, runKey: key, queuedAtMs: n }, n);
    await it.put('runs', `r${1_000 + n}`, { ...run, status: 'queued' }, n);
  }
  let turns = 0;
  const handled = new Map<string, number>();
  const count = (what: string): void => {
    const name = `${what} in turn ${turns}`;
    handled.set(name, (handled.get(name) ?? 0) + 1);
  };
  const { note } = it.ports.older;
  const noting = (...given: Parameters<typeof note>): void => {
    count('noted');
    note(...given);
  };
  const opening = it.ports.pools();
  const pools = {
    ...opening,
    open: (...given: Parameters<typeof opening.open>): void => {
      count('opened');
      opening.open(...given);
    },
  };
  let isOver = false;
  const tick = (): void => {
    turns += 1;
    if (!isOver) setImmediate(tick);
  };
  tick();

  await resumeWork({
    ...it.ports,
    pools: () => pools,
    hold: () => count('held'),
    older: { ...it.ports.older, note: noting },
    room: () => 1_000 - it.runs.spawned.length,
  });
  isOver = true;

  t.same([it.living().length, it.runs.spawned.length], [600, 600]);
  // A turn of this counter may begin between two of theirs.
  t.ok(Math.max(...handled.values()) <= 100, JSON.stringify([...handled]));
});

/** Text that a release of November 2026 wrote: a name that changes in the types is still the old one in homes. */
const earlier = [
  'events c0 {"deliveryId":"d0","route":"conc","profile":"default","event":"push","status":"accepted","receivedAtMs":1000,"scheme":"github","signatureDigest":"6Sg2K","work":"c0","headers":{"x-github-event":"push"},"body":"{}","prompt":"conc","deliver":"telegram","deliverExtra":{"chat_id":"3"},"skills":[],"told":{"bodyMs":2}}',
  'runs c0 {"eventKey":"c0","profile":"default","route":"conc","kind":"agent","status":"running","attempt":1,"queuedAtMs":1000,"startedAtMs":1010}',
  'runs c1 {"eventKey":"c1","profile":"default","route":"conc","kind":"agent","status":"queued","attempt":0,"queuedAtMs":1020,"group":"default/conc/K","superseded":2}',
  'deliveries x1 {"eventKey":"x1","deliveryId":"x1","profile":"default","route":"dead","event":"push","target":"telegram","status":"waitingToRetry","text":"t","extra":{"chat_id":"6"},"queuedAtMs":1030,"order":1031,"chat":"6","attempts":3,"startedAtMs":1050,"failures":3,"failedSinceMs":1040,"dueAtMs":9000,"reason":"HTTP 500"}',
  'groups default/batch/K {"profile":"default","route":"batch","groupKey":"K","burst":{"id":"b0","firstAtMs":1060,"count":3,"latestEventKey":"b2","dueAtMs":9000}}',
].map((line) => /^(\w+) (\S+) (.*)$/.exec(line) ?? []);

t.test('DUR-1 · CON-4 · what an earlier release has left on disk is shown and recovered', async (t) => {
  const { keeper } = await openKeeper();
  t.teardown(() => keeper.close());
  const { pools, runs, groups, deliveries } = fakePools();
  for (const [, collection, key = '', text = ''] of earlier) {
    const dueAtMs = collection === 'events' ? null : 1_000;
    await keeper.commit([{ kind: 'put', collection: collection as 'runs', key, value: JSON.parse(text), dueAtMs }]);
  }

  await resumeWork(resumePorts(keeper, () => pools));

  const inputs = (pool: { readonly spawned: readonly { readonly key: string; readonly input: unknown }[] }) =>
    Object.fromEntries(pool.spawned.map(({ key, input }) => [key, input]));
  t.match(inputs(runs), { c0: { record: { status: 'queued', attempt: 1, cutOffs: 1 } }, c1: {} });
  t.match(inputs(groups), {
    'default/conc/K': { inFlight: 'c1' },
    'default/batch/K': { burst: { id: 'b0', count: 3 } },
  });
  t.match(inputs(deliveries), { x1: { record: { dueAtMs: 9_000, failures: 3 } } });
  const [event, run, batch, delivery] = earlier.map(([, , , text = '']) => JSON.parse(text) as unknown);
  const common = { profile: 'default', event: 'push' };
  const c0 = { ...common, delivery_id: 'd0', route: 'conc' };
  t.same(
    [
      eventSummary(event as EventRecord, run as RunRecord),
      runRow('c1', batch as RunRecord, event as EventRecord),
      deliveryRow('x1', delivery as DeliveryRecord),
    ],
    [
      { ...c0, status: 'running', received_at: '1970-01-01T00:00:01.000Z', attempts: 1 },
      {
        ...c0,
        id: 'c1',
        kind: 'agent',
        status: 'queued',
        attempt: 0,
        superseded: 2,
        queued_at: '1970-01-01T00:00:01.020Z',
      },
      {
        ...common,
        id: 'x1',
        delivery_id: 'x1',
        route: 'dead',
        target: 'telegram',
        chat_id: '6',
        status: 'waitingToRetry',
        attempts: 3,
        reason: 'HTTP 500',
        queued_at: '1970-01-01T00:00:01.030Z',
        next_try_at: '1970-01-01T00:00:09.000Z',
      },
    ],
  );
});
