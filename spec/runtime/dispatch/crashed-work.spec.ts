import t from 'tap';
import { createPlaces } from '../../../actors/dispatch/places.ts';
import { createRecordWriter } from '../../../actors/store/record-writer.ts';
import { ChurnMap } from '../../../machines/base/churn-map.ts';
import { compile } from '../../../machines/base/compile.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import type { DeliveryRecord, RunRecord } from '../../../machines/webhook/record.ts';
import { createCrashedWork } from '../../../runtime/dispatch/crashed-work.ts';
import { createSettleRun } from '../../../runtime/dispatch/responses.ts';
import { wireRun } from '../../../runtime/dispatch/runs.ts';
import { openKeeper } from '../../support/keeper.ts';
import { fakePools, startPool } from '../../support/pools.ts';
import { until } from '../../support/processes.ts';
import { plainDelivery, plainRun } from '../../support/records.ts';

const run = plainRun;
const delivery = plainDelivery;

async function openWork() {
  const { keeper } = await openKeeper();
  const writer = createRecordWriter(keeper);
  const { pools, deliveries } = fakePools(() => 9);
  const put = (collection: 'runs' | 'deliveries', key: string, value: object) =>
    keeper.commit([{ kind: 'put', collection, key, value: value as JsonObject, dueAtMs: 1 }]);
  const crashed = createCrashedWork({
    keeper,
    writer,
    pools: () => pools,
    settleRun: createSettleRun({ keeper, pools: () => pools }),
    nowMs: () => 9,
    nextOrder: () => 9,
    redact: (text) => text,
    crowded: () => false,
    left: () => {},
  });
  return { keeper, writer, pools, put, crashed, deliveries };
}

t.test('DIS-3 · a run whose chart crashes gives its place back, and its agent is stopped', async (t) => {
  const { keeper, writer, pools } = await openWork();
  const places = createPlaces(1);
  const begun: string[] = [];
  let stopped = false;
  const work = wireRun({
    keeper,
    writer,
    places,
    pools: () => pools,
    routeLimit: () => Number.POSITIVE_INFINITY,
    isWithin: () => false,
    runEnds: new ChurnMap(),
    redact: (text) => text,
    crowded: () => false,
    left: () => {},
    nowMs: () => 9,
    nextOrder: () => 9,
    runAgent: (key, _, signal) => {
      begun.push(key);
      return new Promise((resolve) =>
        signal.addEventListener('abort', () => {
          stopped = true;
          resolve({ kind: 'failed', reason: 'stopped' });
        }),
      );
    },
  });
  const crashes: string[] = [];
  const pool = startPool<{ key: string; record: RunRecord }>(t, compile(work.logic), {
    onCrashed: (key) => {
      crashes.push(key);
      work.release(key);
    },
  });
  pool().spawn('one', { key: 'one', record: run });
  pool().spawn('two', { key: 'two', record: run });
  await until(() => begun.length === 1);

  const poison = {
    type: 'run.cancel',
    get by(): string {
      throw new Error('a flaw of the chart');
    },
  };
  pool().get('one')?.send(poison);

  await until(() => begun.length === 2);
  t.same([crashes, begun, stopped], [['one'], ['one', 'two'], true]);
  t.match(places.load(), { running: 1, waiting: 0 });
  pool().clear();
});

t.test('DUR-2 · INS-1 · what a crashed run or delivery leaves is closed as what is known of it', async (t) => {
  const { put, crashed, keeper } = await openWork();
  const flaw = /crashed inside the gateway/;
  const runs: readonly (readonly [Partial<RunRecord>, object])[] = [
    [{ status: 'queued' }, { status: 'failed', reason: flaw, endedAtMs: 9 }],
    [
      { status: 'running', attempt: 1 },
      { status: 'failed', reason: flaw, endedAtMs: 9 },
    ],
  ];
  for (const [index, [held, expected]] of runs.entries()) {
    await put('runs', `r${index}`, { ...run, ...held });
    t.match(await crashed.run(`r${index}`), expected, JSON.stringify(held));
    t.equal(keeper.journal()?.local?.get('runs', `r${index}`)?.dueAtMs, undefined);
  }
  const deliveries: readonly (readonly [Partial<DeliveryRecord>, object])[] = [
    [{ status: 'queued' }, { status: 'deadLettered', reason: flaw, endedAtMs: 9 }],
    [
      { status: 'waitingToRetry', dueAtMs: 5 },
      { status: 'deadLettered', dueAtMs: undefined },
    ],
    [{ status: 'sending' }, { status: 'unknown', reason: flaw }],
    [{ status: 'waitingToRetry', unsureSinceMs: 1 }, { status: 'unknown' }],
    [{ status: 'waitingToRetry', answerByMs: 50 }, { status: 'failed' }],
  ];
  for (const [index, [held, expected]] of deliveries.entries()) {
    await put('deliveries', `d${index}`, { ...delivery, ...held });
    t.match(await crashed.delivery(`d${index}`), expected, JSON.stringify(held));
    t.match(keeper.journal()?.local?.get('deliveries', `d${index}`), { value: expected, dueAtMs: undefined });
  }
  t.equal(await crashed.run('never'), undefined);
  t.equal(await crashed.delivery('never'), undefined);
});

t.test('DIS-4 · a run that crashed inside the gateway is reported like any that failed', async (t) => {
  const { put, crashed, deliveries, keeper } = await openWork();
  const event = { deliveryId: 'd', event: 'push', onFailure: { target: 'slack', extra: { chat_id: 'C1' } } };
  await keeper.commit([{ kind: 'put', collection: 'events', key: 'e', value: event }]);
  await put('runs', 'k', { ...run, status: 'running', attempt: 1 });
  await crashed.run('k');
  const notice = { failedRun: 'k', target: 'slack', extra: { chat_id: 'C1' }, text: /crashed inside the gateway/ };
  t.match(keeper.journal()?.local?.get('deliveries', 'k.failed'), { value: notice, dueAtMs: 9, heldBy: /./ });
  t.match(deliveries.spawned, [{ key: 'k.failed', input: { record: notice } }]);
});

t.test('DUR-1 · a response that is on disk is delivered although its run crashed', async (t) => {
  const { put, crashed, deliveries, keeper } = await openWork();
  await put('runs', 'k', { ...run, status: 'delivering', response: 'x' });
  await put('deliveries', 'k', { ...delivery, runKey: 'k' });

  t.match(await crashed.run('k'), { status: 'delivering' });

  t.match(deliveries.living('k')?.input, { record: { status: 'queued', text: 'x' } });
  t.equal(keeper.journal()?.local?.get('runs', 'k')?.dueAtMs, undefined, 'the rest is the delivery’s own matter');
});
