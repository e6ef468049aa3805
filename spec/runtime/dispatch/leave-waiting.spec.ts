import t from 'tap';
import { createRecordWriter } from '../../../actors/store/record-writer.ts';
import { createBatches } from '../../../actors/webhook/batches.ts';
import { leaveBatches, leaveWaiting } from '../../../runtime/dispatch/leave-waiting.ts';
import { createWorkPools } from '../../../runtime/system/work-pools.ts';
import { openTwoKeepers } from '../../support/keeper.ts';
import { fakePool } from '../../support/pools.ts';
import { plainDelivery, plainRun } from '../../support/records.ts';

t.test('SCA-1 · CON-2 · what has not begun is free for the other gateways, and so is the lead', async (t) => {
  const [keeper, other] = await openTwoKeepers();
  await keeper.seekLead();
  const writer = createRecordWriter(keeper);
  const shown = ({ record, state }: { record: object; state: string }) => ({ value: state, context: { record } });
  const runs = fakePool(shown as never);
  const deliveries = fakePool(shown as never);
  const groups = fakePool(() => ({ value: 'pending' }));
  const handles = { runs: runs.handle(), deliveries: deliveries.handle(), groups: groups.handle() };
  const pools = createWorkPools({ ...handles, requests: fakePool().handle() } as never, () => 9);
  const put = async (pool: 'runs' | 'deliveries', key: string, state: string, value: object) => {
    const record = { ...(pool === 'runs' ? plainRun : plainDelivery), ...value };
    await keeper.commit([
      { kind: 'put', collection: pool, key, value: record as never, dueAtMs: 1, heldBy: keeper.session() },
    ]);
    writer.begin(pool, key);
    handles[pool].spawn(key, { record, state } as never);
  };
  await put('runs', 'queued', 'queued', { status: 'queued', queuedAtMs: 5 });
  await put('runs', 'works', 'running', { status: 'running' });
  await put('deliveries', 'waits', 'queued', { status: 'queued', order: 6 });
  await put('deliveries', 'again', 'waitingToRetry', { status: 'waitingToRetry', dueAtMs: 70 });
  await put('deliveries', 'goes', 'sending', { status: 'sending' });
  handles.groups.spawn('g', {} as never);

  await leaveWaiting({ keeper, writer, pools: () => pools });
  leaveBatches({ batches: createBatches(keeper), pools: () => pools });

  const stored = (pool: 'runs' | 'deliveries', key: string) => keeper.journal()?.get(pool, key);
  t.match(await stored('runs', 'queued'), { heldBy: undefined, dueAtMs: 5 });
  t.match(await stored('deliveries', 'waits'), { heldBy: undefined, dueAtMs: 6 });
  t.match(await stored('deliveries', 'again'), { heldBy: undefined, dueAtMs: 70 });
  for (const [pool, key] of [
    ['runs', 'works'],
    ['deliveries', 'goes'],
  ] as const)
    t.match(await stored(pool, key), { heldBy: keeper.session(), version: 1 });
  t.same(
    [...runs.spawned, ...deliveries.spawned].map(({ key, heard }) => [key, ...heard.map(({ type }) => type)]),
    [['queued', 'work.lost'], ['works'], ['waits', 'work.lost'], ['again', 'work.lost'], ['goes']],
  );
  t.same(
    groups.spawned.flatMap(({ heard }) => heard),
    [{ type: 'batch.left' }],
  );
  t.same([keeper.leads(), await other.seekLead()], [false, true]);
});
