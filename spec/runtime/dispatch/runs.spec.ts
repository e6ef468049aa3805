import t, { type Test } from 'tap';
import { createActor, SimulatedClock } from 'xstate';
import { createPlaces } from '../../../actors/dispatch/places.ts';
import type { RunAgent } from '../../../actors/dispatch/run-agent.ts';
import type { JournalKeeper } from '../../../actors/store/keeper.ts';
import { openMemoryJournal } from '../../../actors/store/memory-journal.ts';
import { createRecordWriter } from '../../../actors/store/record-writer.ts';
import { ChurnMap } from '../../../machines/base/churn-map.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import type { NoticePlace } from '../../../machines/config/notice-place.ts';
import type { DeliveryInput } from '../../../machines/webhook/delivery.machine.ts';
import type { EventRecord, RunRecord } from '../../../machines/webhook/record.ts';
import type { RunEnds } from '../../../runtime/dispatch/responses.ts';
import { wireRun, writeHandOver } from '../../../runtime/dispatch/runs.ts';
import type { WorkPools } from '../../../runtime/system/work-pools.ts';
import { diskFull, gate, openKeeper, turn } from '../../support/keeper.ts';
import { fakePool } from '../../support/pools.ts';
import { plainEvent, plainRun } from '../../support/records.ts';
import { deferred } from '../../support/turns.ts';

const event: EventRecord = {
  ...plainEvent,
  ...{ deliveryId: 'd1', receivedAtMs: 1, body: '{}' },
  ...{ deliver: 'telegram', deliverExtra: { chat_id: '7' } },
};
const queued: RunRecord = { ...plainRun, eventKey: 'k', queuedAtMs: 1 };

async function stage(
  t: Test,
  runAgent: RunAgent,
  {
    concurrency = 4,
    bound = Number.POSITIVE_INFINITY,
    isCrowded = false,
    onFailure = undefined as NoticePlace | undefined,
    /** The targets that deliver within the gateway; absent: every run is asked of its agent. */
    within = undefined as readonly string[] | undefined,
  } = {},
) {
  const { keeper, journal } = await openKeeper(openMemoryJournal());
  await keeper.commit([
    { kind: 'put', collection: 'events', key: 'k', value: { ...event, onFailure } as unknown as JsonObject },
  ]);
  const deliveries = fakePool<DeliveryInput>();
  const commits: string[][] = [];
  const left: string[] = [];
  let isFull = false;
  const seenKeeper: JournalKeeper = {
    ...keeper,
    submit(writes, told) {
      if (isFull) return told({ kind: 'unavailable', fault: diskFull }, writes);
      commits.push(writes.flatMap((write) => (write.kind === 'put' ? [`${write.collection}/${write.key}`] : [])));
      keeper.submit(writes, told);
    },
  };
  const places = createPlaces(concurrency);
  const writer = createRecordWriter(seenKeeper);
  const runEnds: RunEnds = new ChurnMap();
  const { logic, abandon } = wireRun({
    keeper: seenKeeper,
    writer,
    places,
    runAgent,
    routeLimit: () => bound,
    ...(within === undefined ? {} : { answerAtOnce: () => ({ response: 'said', event: { ...event, onFailure } }) }),
    isWithin: (_, target) => within?.includes(target) === true,
    runEnds,
    redact: (text) => text.replaceAll('hunter2', '[redacted]'),
    crowded: () => isCrowded,
    left: (key) => void left.push(key),
    nowMs: () => 9,
    nextOrder: () => 10,
    pools: () => ({ deliveries: deliveries.handle() }) as unknown as WorkPools,
  });
  const clock = new SimulatedClock();
  const start = (key: string, record: RunRecord = queued) => {
    const actor = createActor(logic, { input: { key, record }, clock }).start();
    t.teardown(() => actor.stop());
    return actor;
  };
  const fill = (full: boolean): void => {
    isFull = full;
  };
  return { abandon, start, left, journal, deliveries, places, commits, clock, fill, writer, runEnds };
}

const settled = async (): Promise<void> => {
  for (let n = 0; n < 10; n += 1) await turn();
};

t.test(
  'DUR-1 · DIS-3 · the attempt is on disk before the agent runs, the response with its delivery before it is sent',
  async (t) => {
    const seen: unknown[] = [];
    const { start, journal, deliveries } = await stage(t, (key, record) => {
      seen.push([key, record.attempt, journal.local?.get('runs', key)?.value]);
      return Promise.resolve({ kind: 'responded', response: 'said' });
    });
    const actor = start('k');
    await settled();

    const running = { ...queued, status: 'running', attempt: 1, startedAtMs: 9 };
    t.same(seen, [['k', 1, { ...running, prompted: false }]]);
    const sent = {
      eventKey: 'k',
      runKey: 'k',
      deliveryId: 'd1',
      profile: 'default',
      route: 'r',
      event: 'push',
      target: 'telegram',
      status: 'queued',
      text: 'said',
      extra: { chat_id: '7' },
      queuedAtMs: 9,
      order: 10,
    };
    t.same(journal.local?.get('runs', 'k')?.value, { ...running, status: 'delivering', response: 'said' });
    t.match([journal.local?.get('runs', 'k')?.dueAtMs], [10], 'a start takes both up by the number of the delivery');
    t.match(journal.local?.get('deliveries', 'k'), { value: sent, dueAtMs: 10, heldBy: /./ });
    t.same(
      deliveries.spawned.map(({ key, input }) => [key, input]),
      [['k', { key: 'k', record: sent, atMs: 9 }]],
    );

    actor.send({ type: 'delivery.settled', status: 'delivered' });
    await settled();
    t.match(actor.getSnapshot().output, { status: 'delivered' });
    t.match(journal.local?.get('runs', 'k'), { value: { status: 'delivered', endedAtMs: 9 }, dueAtMs: undefined });
  },
);

t.test('DLV-4 · a delivery that waits for its next try on disk alone stays there when its run closes', async (t) => {
  const responding: RunAgent = () => Promise.resolve({ kind: 'responded', response: 'said' });
  for (const heldBy of [undefined, 'session']) {
    const { start, journal, deliveries } = await stage(t, responding);
    const actor = start('k');
    await settled();
    const first = journal.local?.get('deliveries', 'k')?.value;
    t.equal(first?.status, 'queued');
    const value = { ...first, status: 'waitingToRetry', dueAtMs: 5_000 } as unknown as JsonObject;
    await journal.commit([{ kind: 'put', collection: 'deliveries', key: 'k', value, dueAtMs: 5_000, heldBy }]);
    // In memory its chart goes on; on disk alone it has none.
    if (heldBy === undefined) deliveries.end('k');

    actor.send({ type: 'delivery.settled', status: 'delivering' });
    await settled();

    t.equal(actor.getSnapshot().value, 'handedOver');
    t.equal(deliveries.spawned.length, 1, 'no chart is made for it anew');
  }
});

t.test('DIS-4 · an empty response and SKIP are delivered too', async (t) => {
  for (const [response, text] of [
    ['', ''],
    [' \n', ' \n'],
    ['SKIP', 'SKIP'],
  ] as const) {
    const { start, deliveries } = await stage(t, () => Promise.resolve({ kind: 'responded', response }));
    start('k');
    await settled();
    t.match(deliveries.spawned, [{ input: { record: { text, status: 'queued' } } }], JSON.stringify(response));
  }
});

t.test('DIS-3 · OBS-1 · a failed run delivers nothing, and its reason holds no secret', async (t) => {
  const { start, journal, deliveries, places } = await stage(t, () =>
    Promise.resolve({ kind: 'failed', reason: 'refused hunter2' }),
  );
  const actor = start('k');
  await settled();
  t.match(journal.local?.get('runs', 'k')?.value, { status: 'failed', reason: 'refused [redacted]', attempt: 1 });
  t.equal(journal.local?.get('runs', 'k')?.dueAtMs, undefined);
  t.match(actor.getSnapshot(), { status: 'done', output: { status: 'failed' } });
  t.same([deliveries.spawned, places.load()], [[], { running: 0, waiting: 0, ready: 0 }]);
});

t.test('DIS-4 · the end of a failed run and its notice are one commit, and the delivery begins after it', async (t) => {
  const onFailure = { target: 'slack', extra: { chat_id: 'C1' } };
  const failing: RunAgent = () => Promise.resolve({ kind: 'failed', reason: 'refused hunter2' });
  const notice = { failedRun: 'k', target: 'slack', extra: { chat_id: 'C1' }, status: 'queued', queuedAtMs: 9 };
  for (const record of [queued, { ...queued, status: 'interrupted', attempt: 1, reason: 'cut off' } as const]) {
    const { start, journal, deliveries, commits } = await stage(t, failing, { onFailure });
    start('k', record);
    await settled();
    t.same(commits.at(-1), ['runs/k', 'deliveries/k.failed']);
    t.match(journal.local?.get('deliveries', 'k.failed'), { value: notice, dueAtMs: 10, heldBy: /./ });
    t.match(deliveries.spawned, [{ key: 'k.failed', input: { record: notice } }]);
    t.notMatch(JSON.stringify(journal.local?.get('deliveries', 'k.failed')), /hunter2/);
  }
  const full = await stage(t, failing, { onFailure, isCrowded: true });
  full.start('k');
  await settled();
  t.match(full.journal.local?.get('deliveries', 'k.failed'), { dueAtMs: 10, heldBy: undefined });
  t.same(full.deliveries.spawned, [], 'it is left on disk while so many deliveries wait in memory');
  t.same(full.left, ['k.failed'], 'and its chat waits for it');
});

t.test(
  'DIS-3 · a run waits for its place, of all and of its route, and gives it back when the agent has ended',
  async (t) => {
    for (const options of [{ concurrency: 1 }, { bound: 1 }]) {
      const answer = deferred<{ kind: 'failed'; reason: string }>();
      const ran: string[] = [];
      const { start, places } = await stage(
        t,
        (key) => {
          ran.push(key);
          return answer.promise;
        },
        options,
      );
      start('k');
      start('k2');
      await settled();
      t.match([ran, places.load()], [['k'], { running: 1, waiting: 1 }], JSON.stringify(options));
      answer.resolve({ kind: 'failed', reason: 'x' });
      await settled();
      t.match([ran, places.load()], [['k', 'k2'], { running: 0, waiting: 0 }]);
    }
  },
);

t.test('COA-1 · the text of a direct batch waits behind no run, except during a drain', async (t) => {
  const held = new Promise<never>(() => {});
  const { start, places } = await stage(
    t,
    (_, { isDirect }) => (isDirect ? Promise.resolve({ kind: 'responded', response: 'text' }) : held),
    { concurrency: 1 },
  );
  start('k');
  await settled();
  const direct = start('k2', { ...queued, isDirect: true });
  await settled();
  t.match([direct.getSnapshot().value, places.load()], ['delivering', { running: 1, waiting: 0 }]);
  places.pause();
  const late = start('k3', { ...queued, isDirect: true });
  await settled();
  t.equal(late.getSnapshot().value, 'queued');
});

t.test('LIM-5 · DUR-1 · a run that could not begin keeps its place, and does not begin during a drain', async (t) => {
  for (const isFull of [true, false]) {
    const ran: number[] = [];
    const failing: RunAgent = async (_, { attempt }) => {
      ran.push(attempt);
      return { kind: 'notBegun', reason: 'EMFILE' };
    };
    const { start, places, clock, fill } = await stage(t, failing, { concurrency: 1 });
    fill(isFull);
    const actor = start('k');
    start('k2');
    await settled();
    const [rests, tries] = isFull ? ['postponed', 0] : ['unbegun', 1];
    t.match([actor.getSnapshot().value, ran.length, places.load()], [rests, tries, { running: 1, waiting: 1 }]);
    clock.increment(1_000);
    await settled();
    const later = isFull ? 0 : 2;
    t.match([actor.getSnapshot().value, ran.length, places.load()], [rests, later, { running: 1, waiting: 1 }]);

    places.pause();
    fill(false);
    for (let n = 0; n < 5; n += 1) {
      clock.increment(60_000);
      await settled();
    }
    t.same([actor.getSnapshot().value, ran.length], ['queued', later], 'it waits for the next start');
  }
});

t.test('DUR-2 · a run whose event is forgotten still delivers, by what is known of it', async (t) => {
  const { start, journal } = await stage(t, () => Promise.resolve({ kind: 'responded', response: 'said' }));
  start('k9', { ...queued, eventKey: 'gone' });
  await settled();
  t.match(journal.local?.get('deliveries', 'k9')?.value, {
    deliveryId: 'gone',
    event: 'unknown',
    target: 'log',
    extra: {},
  });
});

t.test(
  'DUR-1 · a prompt waits for a journal that cannot write, and is another gateway’s where that holds the run',
  async (t) => {
    const landing = gate();
    const { keeper } = await openKeeper(landing.journal);
    const writer = createRecordWriter(keeper);
    const stopping = new AbortController();
    let waits = 0;
    const wait = async (): Promise<void> => {
      waits += 1;
      if (waits === 3) stopping.abort();
    };
    const handOver = writeHandOver({ writer, nowMs: () => 9 }, wait);
    const running: RunRecord = { ...queued, status: 'running', attempt: 1 };

    const handed = handOver('k', running, stopping.signal);
    await landing.refuse();
    await landing.refuse();
    t.equal(waits, 2);
    await landing.land();
    t.equal(await handed, true);
    t.match(landing.journal.local?.get('runs', 'k')?.value, running);

    const late = handOver('k', running, stopping.signal);
    await landing.refuse();
    t.equal(await late, false, 'a run that is stopped has it no more');
    writer.adopt('runs', 'k', 77);
    const lost = handOver('k', running, new AbortController().signal);
    await landing.land();
    t.equal(await lost, false);
  },
);

const notAsked: RunAgent = () => Promise.reject(new Error('no agent is asked'));

t.test(
  'DUR-1 · a response that no agent gives is on disk before it leaves the gateway, and no attempt before it',
  async (t) => {
    const { start, journal, deliveries, places, commits } = await stage(t, notAsked, { within: ['log'] });
    start('k');
    await settled();
    t.same(commits, [['runs/k', 'deliveries/k']]);
    t.match(journal.local?.get('runs', 'k')?.value, {
      status: 'delivering',
      attempt: 1,
      response: 'said',
      startedAtMs: 9,
    });
    t.match(deliveries.spawned, [{ input: { record: { target: 'telegram', text: 'said' } } }]);
    t.same(places.load(), { running: 0, waiting: 0, ready: 0 });
  },
);

t.test('DUR-1 · one that stays within the gateway is written once it is delivered, and its run with it', async (t) => {
  const { start, journal, deliveries, commits, writer, runEnds } = await stage(t, notAsked, { within: ['telegram'] });
  const actor = start('k');
  await settled();
  t.same(commits, [], 'after a crash both can be had again');
  t.match(deliveries.spawned, [{ key: 'k', input: { record: { status: 'queued', text: 'said', order: 10 } } }]);
  t.match(writer.held('deliveries', 'k'), [
    { collection: 'runs', value: { status: 'delivering', response: 'said' }, dueAtMs: 10 },
    { collection: 'deliveries', dueAtMs: 10 },
  ]);

  runEnds.set('k', { kind: 'written' });
  actor.send({ type: 'delivery.settled', status: 'delivered' });
  t.match(actor.getSnapshot(), { status: 'done', output: { status: 'delivered', attempt: 1 } });
  t.same([commits, runEnds.size], [[], 0], 'the commit of its delivery wrote its end');
  t.equal(journal.local?.get('runs', 'k'), undefined);
});

t.test('SCA-2 · one that another gateway has taken over meanwhile ends without a word', async (t) => {
  const { start, commits, runEnds } = await stage(t, notAsked, { within: ['telegram'] });
  const actor = start('k');
  runEnds.set('k', { kind: 'lost', collection: 'runs' });
  actor.send({ type: 'delivery.settled', status: 'delivered' });
  t.same([actor.getSnapshot().value, commits], ['lost', []]);
});

t.test('INS-1 · DIS-3 · after a crash of the gateway a run that is resumed asks for a place anew', async (t) => {
  const { abandon, start, places } = await stage(t, () => new Promise<never>(() => {}), { concurrency: 1 });
  const before = [start('k'), start('k2')];
  await settled();
  for (const run of before) run.stop();
  abandon();
  places.clear();

  const resumed = [start('k'), start('k2')];
  await settled();
  t.same(
    resumed.map((run) => run.getSnapshot().value),
    ['running', 'queued'],
  );
  t.match(places.load(), { running: 1, waiting: 1 });
});
