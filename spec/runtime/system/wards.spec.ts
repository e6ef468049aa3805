import t from 'tap';
import type { RunInput } from '../../../machines/webhook/agent-run.machine.ts';
import type { Burst } from '../../../machines/webhook/coalesce.ts';
import type { GroupInput } from '../../../machines/webhook/coalescing-group.machine.ts';
import type { DeliveryInput } from '../../../machines/webhook/delivery.machine.ts';
import type { DeliveryRecord, RunRecord } from '../../../machines/webhook/record.ts';
import type { RequestInput } from '../../../machines/webhook/webhook-request.machine.ts';
import { createWards } from '../../../runtime/system/wards.ts';
import { fakeWard } from '../../support/wards.ts';

function stage() {
  const fakes = {
    requests: fakeWard<RequestInput>(),
    groups: fakeWard<GroupInput>(),
    runs: fakeWard<RunInput>(),
    deliveries: fakeWard<DeliveryInput>(),
  };
  const wards = createWards(
    {
      requests: fakes.requests.handle() as never,
      groups: fakes.groups.handle() as never,
      runs: fakes.runs.handle() as never,
      deliveries: fakes.deliveries.handle() as never,
    },
    () => 7,
  );
  return { ...fakes, wards };
}

const run = { group: 'g', status: 'queued' } as RunRecord;
const burst: Burst = { id: 'b', firstAtMs: 1, count: 1, latestEventKey: 'b', dueAtMs: 9 };
const group = { kind: 'group', key: 'g', profile: 'p', route: 'r', burst } as const;

t.test('DIS-1 · COA-1 · what a commit opened is spawned once, in its own ward', (t) => {
  const { wards, runs, deliveries, groups, requests } = stage();
  const record = { runKey: undefined } as unknown as DeliveryRecord;
  wards.open({ kind: 'run', key: 'k', record: run });
  wards.open({ kind: 'direct', key: 'k', record });
  wards.open(group);
  wards.open({ kind: 'nothing' });
  wards.open({ kind: 'run', key: 'k', record: run });
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

t.test('COA-1 · an event of a burst whose group lives joins it', (t) => {
  const { wards, groups } = stage();
  wards.open(group);
  const joined = { ...burst, count: 2 };
  wards.open({ ...group, burst: joined });
  t.same(groups.living('g')?.heard, [{ type: 'event.joined', burst: joined, atMs: 7 }]);
  groups.end('g');
  wards.open({ ...group, burst: joined });
  t.equal(groups.spawned.length, 2, 'a group that is over is begun anew');
  t.end();
});

t.test('DIS-2 · DIS-3 · a settled delivery is told to its run, or to the request that waits', (t) => {
  const { wards, runs, requests } = stage();
  wards.open({ kind: 'run', key: 'k', record: run });
  requests.handle().spawn('k2', {} as never);
  wards.deliverySettled('k', { runKey: 'k', status: 'failed', reason: 'why' } as DeliveryRecord);
  wards.deliverySettled('k2', { status: 'delivered' } as DeliveryRecord);
  wards.deliverySettled('k2', { status: 'unknown', reason: 'why' } as DeliveryRecord);
  wards.deliverySettled('gone', { status: 'delivered' } as DeliveryRecord);
  t.same(runs.living('k')?.heard, [{ type: 'delivery.settled', status: 'failed', reason: 'why' }]);
  t.same(requests.living('k2')?.heard, [
    { type: 'delivery.settled', delivered: true },
    { type: 'delivery.settled', delivered: false, reason: 'why' },
  ]);
  t.end();
});

t.test('COA-3 · the group of a run hears that it has finished', (t) => {
  const { wards, groups } = stage();
  wards.open(group);
  wards.runFinished('k', run);
  wards.runFinished('k2', { status: 'delivered' } as RunRecord);
  wards.runFinished('k3', { ...run, group: 'gone' });
  t.same(groups.living('g')?.heard, [{ type: 'run.finished', run: 'k', atMs: 7 }]);
  t.end();
});
