import t from 'tap';
import { createRecordWriter } from '../../../actors/store/record-writer.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import type { DeliveryRecord } from '../../../machines/webhook/record.ts';
import { Refusal } from '../../../runtime/control/contract/refusal.ts';
import { createDeliveryService } from '../../../runtime/dispatch/delivery-service.ts';
import { createSettleRun } from '../../../runtime/dispatch/responses.ts';
import { gate, openKeeper } from '../../support/keeper.ts';
import { fakePools } from '../../support/pools.ts';
import { plainDelivery } from '../../support/records.ts';
import { turn } from '../../support/turns.ts';

const delivery: DeliveryRecord = { ...plainDelivery, status: 'deadLettered', reason: 'it was dead' };

async function openService(...records: readonly (readonly [string, Partial<DeliveryRecord>])[]) {
  const disk = gate();
  const { keeper: opened } = await openKeeper(disk.journal);
  const keeper: typeof opened = { ...opened, isElsewhere: (heldBy) => heldBy === 'other' };
  const { pools, deliveries } = fakePools();
  let room = 1_000;
  const asked: string[] = [];
  const service = createDeliveryService({
    keeper,
    writer: createRecordWriter(keeper),
    platforms: {
      release: () => {},
      pauseOf: ({ status }) => (status === 'queued' ? { untilMs: 9_000, reason: 'slow down' } : undefined),
      check: (_, name) => void asked.push(name),
      placeOf: ({ extra }) => String(extra.chat_id ?? 'home'),
      rows: () => [],
    },
    pools: () => pools,
    settleRun: createSettleRun({ keeper, pools: () => pools }),
    keyOf: async (id) => {
      if (/^(?:several|twice)/.test(id))
        throw new Refusal(id.startsWith('several') ? 'id-ambiguous' : 'delivery-ambiguous', 'of events');
      return undefined;
    },
    redact: (record) => record,
    nowMs: () => 100,
    hasRoom: () => room > deliveries.spawned.length,
  });
  const written = keeper.commit(
    records.map(([key, more]) => ({
      kind: 'put',
      collection: 'deliveries',
      key,
      value: { ...delivery, ...more } as unknown as JsonObject,
    })),
  );
  await disk.settle();
  await written;
  /** Whatever it writes on the way lands. */
  const land = async <Value>(work: Promise<Value>): Promise<Value> => {
    let over = false;
    const ended = work.finally(() => {
      over = true;
    });
    while (!over) {
      await disk.settle();
      await turn();
    }
    return ended;
  };
  return {
    service,
    disk,
    deliveries,
    asked,
    land,
    setRoom: (count: number) => {
      room = count;
    },
    stored: (key: string) => disk.journal.local?.get('deliveries', key),
    living: () => deliveries.spawned.map(({ key }) => key),
  };
}

t.test(
  'DLV-4 · CLI-2 · all dead letters are put back, the oldest first, whatever else cannot be touched',
  async (t) => {
    const keys = Array.from({ length: 450 }, (_, n) => `k${1_000 + n}`);
    const it = await openService(
      ...keys.map((key) => [key, {}] as const),
      ['k2000', { status: 'delivered' }],
      ['k2001', { target: 'discord' }],
      ['k2002', { route: 'other' }],
    );
    it.deliveries.handle().spawn('k1007', { key: 'k1007', record: { ...delivery, status: 'sending' } } as never);
    const told = it.stored('k1007')?.value;

    // Its chart is still there: it can be told, and is.
    t.match(told, { status: 'deadLettered' });
    const { done, left, refusals } = await it.land(
      it.service.retryAll({ route: 'r', target: 'slack' }, { force: false }),
    );

    t.same([done, left, refusals], [450, 0, []]);
    t.same(it.living(), ['k1007', ...keys.filter((key) => key !== 'k1007')], 'more than one page, in their order');
    t.match(it.stored('k2001')?.value, { status: 'deadLettered' });
    t.match(it.stored('k2002')?.value, { status: 'deadLettered' });
    t.match(it.stored('k1000'), { value: { status: 'queued', reason: undefined, failures: 0 }, dueAtMs: 100 });
    t.equal(it.stored('k1000')?.value.sinceMs, 100, 'with a day of its own');
  },
);

t.test(
  'DLV-4 · CLI-2 · all retried by force are also those that may have arrived, of the route that is named',
  async (t) => {
    const it = await openService(
      ['k1', { status: 'unknown' }],
      ['k2', {}],
      ['k3', { status: 'unknown', route: 'other' }],
    );

    const careful = await it.land(it.service.retryAll({ route: 'other' }, { force: false }));
    const forced = await it.land(it.service.retryAll({ route: 'r' }, { force: true }));

    t.same([careful.done, forced.done], [0, 2]);
    t.same(it.living(), ['k1', 'k2']);
    t.match(it.stored('k3')?.value, { status: 'unknown' });
  },
);

t.test('DLV-4 · CLI-2 · of those that failed since a time, earlier ones are not retried', async (t) => {
  const it = await openService(['k1', { endedAtMs: 50 }], ['k2', { endedAtMs: 70 }], ['k3', { endedAtMs: 60 }]);
  const since = new Date(60).toISOString();
  t.match(await it.land(it.service.retryAll({ since }, { force: false })), { done: 2, left: 0 });
  t.same(it.living(), ['k2', 'k3']);
});

t.test('DLV-4 · CLI-2 · those that wait are dropped together, the newest first; dead letters then stay', async (t) => {
  const keys = Array.from({ length: 250 }, (_, n) => `k${1_000 + n}`);
  const it = await openService(...keys.map((key) => [key, { status: 'queued' }] as const), ['k2000', {}]);
  const released: string[] = [];
  const commit = it.disk.journal.submit;
  t.intercept(it.disk.journal, 'submit', {
    value: (...[writes, ...rest]: Parameters<typeof commit>) => {
      released.push(...writes.flatMap((one) => ('key' in one ? one.key : [])));
      commit(writes, ...rest);
    },
  });
  t.match(await it.land(it.service.dropAll({ status: 'waitingToRetry' })), { done: 0, left: 0 });
  t.match(await it.land(it.service.dropAll({ status: 'queued', target: 'slack' }, 'a flood')), { done: 250, left: 0 });
  t.strictSame(released, [...keys].reverse());
  t.match(it.stored('k1000')?.value, { status: 'dropped', note: 'a flood' });
  t.match(it.stored('k2000')?.value, { status: 'deadLettered' });
});

t.test('SCA-1 · DLV-4 · a delivery that another gateway may be sending is not touched here', async (t) => {
  const { service, land, disk } = await openService();
  const put = { kind: 'put', collection: 'deliveries', key: 'k', value: { ...delivery, status: 'sending' } } as const;
  await land(disk.journal.commit([{ ...put, dueAtMs: 1, heldBy: 'other' }]));
  for (const work of [() => service.retry('k', { force: true }), () => service.drop('k')])
    await t.rejects(work(), { code: 'delivery-under-way', message: /at another gateway/ });
  await land(disk.journal.commit([{ ...put, value: delivery, heldBy: 'other' }]));
  t.match(await land(service.retry('k', { force: false })), { status: 'queued' }, 'one that has ended is nobody’s');
});

t.test('DLV-4 · a dead letter that cannot be changed delays no other, and is shown with its reason', async (t) => {
  const it = await openService(['k1', {}], ['k2', {}], ['k3', {}]);
  it.deliveries.handle().spawn('k2', { key: 'k2', record: delivery } as never);
  it.deliveries.move('k2', 'sending');

  const dropped = it.service.dropAll({}, 'its target is gone');

  t.same(await it.land(dropped), {
    done: 2,
    left: 1,
    refusals: [{ id: 'k2', code: 'delivery-under-way', error: 'delivery "k2" is being sent now' }],
  });
  t.same(
    ['k1', 'k2', 'k3'].map((key) => it.stored(key)?.value.status),
    ['dropped', 'deadLettered', 'dropped'],
  );
  t.equal(it.stored('k3')?.value.note, 'its target is gone');
});

t.test('DLV-4 · DUR-2 · a delivery that waits is shown as dropped once that is on disk', async (t) => {
  const rows = [
    ['dropped', { status: 'dropped' }],
    [
      'unrecorded',
      { code: 'journal-unavailable', message: /waits to be dropped.* sent after all if the gateway ends before/ },
    ],
    ['lost', { code: 'delivery-under-way', message: /has just changed/ }],
  ] as const;
  for (const [state, expected] of rows) {
    const it = await openService(['k', { status: state === 'dropped' ? 'dropped' : 'queued' }]);
    it.deliveries.handle().spawn('k', { key: 'k', record: { ...delivery, status: 'queued' } } as never);
    it.deliveries.move('k', 'queued');
    let isTold = false;
    const answer = it.service.drop('k').then(
      (row) => row,
      (refusal) => refusal,
    );
    void answer.then(() => {
      isTold = true;
    });
    while (it.deliveries.living('k')?.heard.length === 0) await turn();
    it.deliveries.move('k', 'recording');
    for (let turns = 0; turns < 9; turns += 1) await turn();
    t.notOk(isTold);
    it.deliveries.move('k', state);
    if (state !== 'unrecorded') it.deliveries.end('k');
    t.match(await answer, expected);
  }
});

t.test('DLV-4 · DUR-2 · who drops it again hears the same, and it is not retried meanwhile', async (t) => {
  const rows = [
    ['recording', 'dropped', { status: 'dropped' }],
    ['recording', 'unrecorded', { code: 'journal-unavailable' }],
    ['unrecorded', 'unrecorded', { code: 'journal-unavailable' }],
  ] as const;
  for (const [state, next, expected] of rows) {
    const it = await openService(['k', { status: next === 'dropped' ? 'dropped' : 'queued' }]);
    it.deliveries.handle().spawn('k', { key: 'k', record: { ...delivery, status: 'dropped' } } as never);
    it.deliveries.move('k', state);
    await t.rejects(it.service.retry('k', { force: false }), {
      code: 'delivery-under-way',
      message: /has just changed/,
    });
    const answer = it.service.drop('k').catch((refusal) => refusal);
    await turn();
    it.deliveries.move('k', next);
    if (next === 'dropped') it.deliveries.end('k');
    t.match(await answer, expected);
    t.same(it.deliveries.spawned[0]?.heard, [], 'its chart knows that already');
  }
});

t.test('DUR-2 · what the disk refuses is left as it is, and only the first of many are listed', async (t) => {
  const it = await openService(...Array.from({ length: 30 }, (_, n) => [`k${10 + n}`, {}] as const));
  const working = it.service.retryAll({}, { force: false });
  let over = false;
  void working.finally(() => {
    over = true;
  });
  while (!over) {
    await it.disk.refuse();
    await turn();
  }

  const { done, left, refusals } = await working;

  t.same([done, left, refusals.length], [0, 30, 20]);
  t.match(refusals[0], { id: 'k10', code: 'journal-unavailable' });
  t.same(it.living(), []);
});

t.test('DLV-4 · what is put back while memory is full waits on disk alone', async (t) => {
  const keys = Array.from({ length: 250 }, (_, n) => `k${1_000 + n}`);
  const it = await openService(...keys.map((key) => [key, {}] as const));
  it.setRoom(1);

  await it.land(it.service.retryAll({}, { force: false }));

  // A page is asked for as one.
  t.same(it.living(), keys.slice(0, 200));
  t.match(it.stored('k1000'), { value: { status: 'queued' }, heldBy: /./ });
  t.match(it.stored('k1200'), { value: { status: 'queued' }, dueAtMs: 100, heldBy: undefined });
});

t.test('DLV-2 · CLI-2 · a row shows the place that a text goes to: by its last try, else by now', async (t) => {
  const it = await openService(
    ['k1', { status: 'delivered', chat: 'then' }],
    ['k2', { status: 'queued' }],
    ['k3', { status: 'delivered', extra: { chat_id: 7 } }],
    ['k4', { status: 'dropped' }],
  );
  t.same(
    (await it.service.list({ limit: 9 })).map(({ id, chat_id }) => [id, chat_id]),
    [
      ['k4', undefined],
      ['k3', '7'],
      ['k2', 'home'],
      ['k1', 'then'],
    ],
    'what ended before places were kept says nothing of a home channel that may have changed',
  );
});

t.test('CLI-6 · DLV-4 · the beginning of a key means the one delivery, however many events begin so', async (t) => {
  const it = await openService(['several-1', {}], ['twice-1', {}]);
  t.match(await it.service.show('several'), { id: 'several-1' });
  await t.rejects(it.service.show('several-2'), { code: 'delivery-unknown' });
  await t.rejects(it.service.show('twice'), { code: 'delivery-ambiguous' }, 'an id that came to several routes');
});
