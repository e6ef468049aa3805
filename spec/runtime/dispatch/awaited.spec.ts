import t from 'tap';
import type { Journal, News, Put } from '../../../actors/store/journal.ts';
import type { DeliveryRecord, EventRecord } from '../../../machines/webhook/record.ts';
import { claimNames } from '../../../machines/webhook/record.ts';
import { createAwaited } from '../../../runtime/dispatch/awaited.ts';
import { openTwoKeepers } from '../../support/keeper.ts';
import { plainDelivery } from '../../support/records.ts';

const delivery: DeliveryRecord = { ...plainDelivery, answerByMs: 1_000 };

async function stage() {
  const [keeper, leader] = await openTwoKeepers();
  const told: News[] = [];
  let afterRead = async (): Promise<unknown> => undefined;
  const journal = (): Journal => ({
    ...(keeper.journal() as Journal),
    get: async (collection, key) => {
      const found = await keeper.journal()?.get(collection, key);
      await afterRead();
      return found;
    },
    notify: async (news) => {
      told.push(news);
      return { ok: true, value: true };
    },
  });
  let leave = (): void => {};
  let hear: (news: News) => void = () => {};
  let tick = (): void => {};
  let nowMs = 0;
  const settled: (readonly [string, DeliveryRecord['status']])[] = [];
  const heard = new Promise<void>((resolve) => {
    const awaited = createAwaited({
      keeper: {
        ...keeper,
        journal,
        heard: (listener) => {
          hear = listener;
          return () => {};
        },
      },
      nowMs: () => nowMs,
      every: (callback) => {
        tick = callback;
        return () => {};
      },
      pools: () =>
        ({
          deliverySettled(key: string, { status }: DeliveryRecord) {
            settled.push([key, status]);
            resolve();
          },
        }) as never,
    });
    awaited.add('k1');
    leave = () => awaited.leave('k1');
  });
  const put = (value: object, more: Partial<Put<'deliveries'>> = {}) =>
    leader.commit([{ kind: 'put', collection: 'deliveries', key: 'k1', value: { ...delivery, ...value }, ...more }]);
  return {
    keeper,
    leader,
    put,
    settled,
    told,
    leave: () => leave(),
    /** This gateway takes it as the leader, between a read of it and what follows. */
    takeAfterRead() {
      afterRead = async () =>
        keeper.journal()?.take('deliveries', { session: keeper.session() ?? '', dueBeforeMs: 9, limit: 9 });
    },
    heard,
    hear: (key: string) => hear({ ended: key }),
    pass(ms: number) {
      nowMs += ms;
      tick();
    },
  };
}

t.test(
  'SCA-1 · DIS-2 · the end of a direct delivery at another gateway is passed on, by the news or by a look',
  async (t) => {
    const one = await stage();
    await one.put({ status: 'delivered' });
    one.hear('another');
    one.hear('k1');
    await one.heard;
    t.same(one.settled, [['k1', 'delivered']]);
    one.hear('k1');

    const missed = await stage();
    await missed.put({ status: 'failed' });
    missed.pass(1);
    await missed.heard;
    t.same(
      [...one.settled, ...missed.settled],
      [
        ['k1', 'delivered'],
        ['k1', 'failed'],
      ],
      'each once',
    );
  },
);

t.test('DIS-2 · SCA-2 · a sender is answered in time while the database does not give the outcome', async (t) => {
  const [keeper] = await openTwoKeepers();
  let tick = (): void => {};
  let nowMs = 0;
  const late: string[] = [];
  const away = async (): Promise<never> => {
    throw new Error('the database is away');
  };
  const awaited = createAwaited({
    keeper: { ...keeper, journal: () => ({ ...(keeper.journal() as Journal), get: away }) },
    nowMs: () => nowMs,
    every: (callback) => {
      tick = callback;
      return () => {};
    },
    pools: () =>
      ({
        deliverySettled: () => t.fail('its outcome cannot be known'),
        requests: { get: (key: string) => ({ send: () => late.push(key) }) },
      }) as never,
  });
  awaited.add('k1');
  for (const [atMs, answered] of [
    [30_000, []],
    [32_000, ['k1']],
    [33_000, ['k1']],
  ] as const) {
    nowMs = atMs;
    tick();
    await new Promise(setImmediate);
    t.same(late, answered);
  }
});

t.test('SCA-1 · IDM-2 · one that no gateway takes up in its time fails here, and its id is free', async (t) => {
  const { leader, put, settled, heard, pass } = await stage();
  const [name = ''] = claimNames(delivery as unknown as EventRecord);
  await leader.commit([{ kind: 'claim', name, value: { eventKey: 'k1' }, forMs: 99_000 }]);
  await put({}, { dueAtMs: 1, heldBy: leader.session() });
  pass(1_000);
  await new Promise(setImmediate);
  t.same(settled, [], 'the leader has it, and ends it');
  await put({}, { dueAtMs: 1 });
  pass(1);
  await heard;
  t.same(settled, [['k1', 'failed']]);
  t.match((await leader.journal()?.get('deliveries', 'k1'))?.value, {
    reason: /no gateway could send it/,
    endedAtMs: 1_001,
  });
  t.equal(await leader.journal()?.claimed(name), undefined);
});

t.test('DIS-2 · SCA-1 · one that goes on without its sender after a crash is not ended here', async (t) => {
  const { leader, put, settled, pass } = await stage();
  const { answerByMs: _, ...alone } = delivery;
  await put({}, { value: alone, dueAtMs: 1 });
  pass(1_001);
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
  t.same(settled, []);
  t.match((await leader.journal()?.get('deliveries', 'k1'))?.value, { status: 'queued' });
});

t.test('DIS-2 · SCA-1 · one whose sender has hung up goes on, at the leader or for the next one', async (t) => {
  const begun = await stage();
  await begun.put({ status: 'sending', attempts: 1 }, { dueAtMs: 1, heldBy: begun.leader.session() });
  begun.leave();
  for (let n = 0; n < 3; n += 1) await new Promise(setImmediate);
  t.same(begun.told, [{ unawaited: 'k1' }], 'the leader is notified');
  begun.pass(1);
  for (let n = 0; n < 3; n += 1) await new Promise(setImmediate);
  t.equal(begun.told.length, 2, 'again, for the news may be missed');
  const { answerByMs: _, ...alone } = delivery;
  await begun.leader.commit([
    { kind: 'put', collection: 'deliveries', key: 'k1', value: { ...alone, status: 'waitingToRetry' }, dueAtMs: 1 },
  ]);
  begun.pass(1);
  for (let n = 0; n < 3; n += 1) await new Promise(setImmediate);
  begun.pass(99_000);
  t.same([begun.told.length, begun.settled], [2, []], 'until it is on disk');

  const free = await stage();
  await free.put({}, { dueAtMs: 1 });
  free.leave();
  for (let n = 0; n < 3; n += 1) await new Promise(setImmediate);
  const stored = await free.leader.journal()?.get('deliveries', 'k1');
  t.match(stored, { value: { status: 'queued', answerByMs: undefined }, heldBy: undefined });
  t.not(stored?.dueAtMs, undefined, 'no gateway has begun it');
  free.pass(99_000);
  for (let n = 0; n < 3; n += 1) await new Promise(setImmediate);
  t.same([free.told, free.settled], [[], []]);
});

t.test('DIS-2 · SCA-1 · one that this gateway takes meanwhile stays with it', async (t) => {
  for (const [part, begin] of [
    ['left', ({ leave }) => leave()],
    ['late', ({ pass }) => pass(1_000)],
  ] as readonly (readonly [string, (one: Awaited<ReturnType<typeof stage>>) => void])[]) {
    const one = await stage();
    await one.put({}, { dueAtMs: 1 });
    one.takeAfterRead();
    begin(one);
    for (let n = 0; n < 9; n += 1) await new Promise(setImmediate);
    const stored = await one.leader.journal()?.get('deliveries', 'k1');
    t.match(stored, { version: 2, heldBy: one.keeper.session(), value: delivery }, part);
  }
});
