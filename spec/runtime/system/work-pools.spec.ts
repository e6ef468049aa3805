import t from 'tap';
import type { RunInput } from '../../../machines/webhook/agent-run.machine.ts';
import type { Batch } from '../../../machines/webhook/coalesce.ts';
import type { GroupInput } from '../../../machines/webhook/coalescing-group.machine.ts';
import type { DeliveryInput } from '../../../machines/webhook/delivery.machine.ts';
import type { DeliveryRecord, RunRecord } from '../../../machines/webhook/record.ts';
import type { RequestInput } from '../../../machines/webhook/webhook-request.machine.ts';
import { createWorkPools } from '../../../runtime/system/work-pools.ts';
import { fakePool } from '../../support/pools.ts';

function stage() {
  const fakes = {
    requests: fakePool<RequestInput>(),
    groups: fakePool<GroupInput>(),
    runs: fakePool<RunInput>(),
    deliveries: fakePool<DeliveryInput>(),
  };
  const pools = createWorkPools(
    {
      requests: fakes.requests.handle() as never,
      groups: fakes.groups.handle() as never,
      runs: fakes.runs.handle() as never,
      deliveries: fakes.deliveries.handle() as never,
    },
    () => 7,
  );
  return { ...fakes, pools };
}

const run = { group: 'g', status: 'queued' } as RunRecord;
const burst: Batch = { id: 'b', firstAtMs: 1, count: 1, latestEventKey: 'b', dueAtMs: 9 };
const group = { kind: 'group', key: 'g', profile: 'p', route: 'r', burst } as const;

t.test('DIS-1 · COA-1 · what a commit opened is spawned once, in its own pool', (t) => {
  const { pools, runs, deliveries, groups, requests } = stage();
  const record = { runKey: undefined } as unknown as DeliveryRecord;
  pools.open({ kind: 'run', key: 'k', record: run });
  pools.open({ kind: 'direct', key: 'k', record });
  pools.open(group);
  pools.open({ kind: 'nothing' });
  pools.open({ kind: 'run', key: 'k', record: run });
  const inputs = [runs, deliveries, groups, requests].map(({ spawned }) =>
    spawned.map(({ key, input }) => [key, input]),
  );
  t.same(inputs, [
    [['k', { key: 'k', record: run }]],
    [['k', { key: 'k', record, atMs: 7 }]],
    [['g', { key: 'g', profile: 'p', route: 'r', burst, atMs: 7 }]],
    [],
  ]);
  t.end();
});

t.test('COA-1 · an event of a batch whose group lives joins it', (t) => {
  const { pools, groups } = stage();
  pools.open(group);
  const joined = { ...burst, count: 2 };
  pools.open({ ...group, burst: joined });
  t.same(groups.living('g')?.heard, [{ type: 'event.joined', burst: joined, atMs: 7 }]);
  groups.end('g');
  pools.open({ ...group, burst: joined });
  t.equal(groups.spawned.length, 2, 'a group that is over is begun anew');
  t.end();
});

t.test('DIS-2 · DIS-3 · a settled delivery is reported to its run, or to the request that waits', (t) => {
  const { pools, runs, requests } = stage();
  pools.open({ kind: 'run', key: 'k', record: run });
  requests.handle().spawn('k2', {} as never);
  pools.deliverySettled('k', { runKey: 'k', status: 'failed', reason: 'why' } as DeliveryRecord);
  pools.deliverySettled('k2', { status: 'delivered' } as DeliveryRecord);
  pools.deliverySettled('k2', { status: 'unknown', reason: 'why' } as DeliveryRecord);
  pools.deliverySettled('gone', { status: 'delivered' } as DeliveryRecord);
  t.same(runs.living('k')?.heard, [{ type: 'delivery.settled', status: 'failed', reason: 'why' }]);
  t.same(requests.living('k2')?.heard, [
    { type: 'delivery.settled', delivered: true },
    { type: 'delivery.settled', delivered: false, reason: 'why' },
  ]);
  t.end();
});

t.test('COA-3 · the group of a run hears that it has finished', (t) => {
  const { pools, groups } = stage();
  pools.open(group);
  pools.runFinished('k', run);
  pools.runFinished('k2', { status: 'delivered' } as RunRecord);
  pools.runFinished('k3', { ...run, group: 'gone' });
  t.same(groups.living('g')?.heard, [{ type: 'run.finished', run: 'k', atMs: 7 }]);
  t.end();
});
