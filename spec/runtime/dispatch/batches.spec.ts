import t, { type Test } from 'tap';
import { createActor, SimulatedClock } from 'xstate';
import { type Batches, createBatches, type Joined } from '../../../actors/webhook/batches.ts';
import type { Batch } from '../../../machines/webhook/coalesce.ts';
import { wireGroup } from '../../../runtime/dispatch/batches.ts';
import type { WorkPools } from '../../../runtime/system/work-pools.ts';
import { gate, openKeeper, turn } from '../../support/keeper.ts';

const key = 'default/r/7';
const unforeseen = new Error('nobody foresaw this');

/** Where a fault that nobody foresaw shows, once. */
async function stage(t: Test, throwsOnce?: 'closing' | 'opening', isCrowded = false) {
  const disk = gate();
  const { keeper } = await openKeeper(disk.journal);
  const standing = createBatches(keeper);
  let hasThrown = false;
  const trips = (where: typeof throwsOnce): boolean => {
    if (where !== throwsOnce || hasThrown) return false;
    hasThrown = true;
    return true;
  };
  const batches: Batches = {
    ...standing,
    close: (...asked) => (trips('closing') ? Promise.reject(unforeseen) : standing.close(...asked)),
  };
  const opened: unknown[] = [];
  const lines: unknown[] = [];
  const clock = new SimulatedClock();
  const logic = wireGroup({
    batches,
    // Among other gateways, whose journal is behind a network.
    keeper: isCrowded ? { ...keeper, isShared: () => true } : keeper,
    hasRoom: () => !isCrowded,
    nowMs: () => 50,
    log: { log: (level, message) => void lines.push([level, message]), warnOnce: () => {} },
    pools: () =>
      ({
        open(one) {
          if (trips('opening')) throw unforeseen;
          opened.push([one, disk.journal.local?.get('runs', 'e1') !== undefined]);
        },
      }) as WorkPools,
  });
  async function join(
    eventKey: string,
    { mode, nowMs = 0, at = batches }: { mode?: 'batch'; nowMs?: number; at?: Batches } = {},
  ): Promise<Batch> {
    const joining = new Promise<Joined>((resolve) =>
      at.join(
        { key, profile: 'default', route: 'r', groupKey: '7', eventKey, nowMs, windowMs: 50, maxWaitMs: 500, mode },
        (_, record) => [record],
        resolve,
      ),
    );
    await disk.settle();
    return (await joining).burst;
  }
  const start = (burst: Batch) => {
    const actor = createActor(logic, { clock, input: { key, profile: 'default', route: 'r', burst, atMs: 0 } }).start();
    t.teardown(() => actor.stop());
    return actor;
  };
  return { disk, batches, opened, lines, clock, join, start, session: keeper.session() };
}

t.test(
  'COA-1 · COA-2 · a settled batch becomes one run of its newest event, held and due, and is reported once it is on disk',
  async (t) => {
    const { disk, opened, clock, join, start, session } = await stage(t);
    await join('e1');
    const group = start(await join('e2'));
    clock.increment(49);
    t.equal(disk.waiting(), 0, 'still gathering');
    clock.increment(1);
    t.same(opened, [], 'not told before it is on disk');
    await disk.settle();

    const record = {
      eventKey: 'e2',
      profile: 'default',
      route: 'r',
      kind: 'agent',
      status: 'queued',
      attempt: 0,
      queuedAtMs: 50,
      group: key,
      superseded: 1,
    };
    t.same(opened, [[{ kind: 'run', key: 'e1', record }, true]]);
    t.same(disk.journal.local?.get('runs', 'e1'), {
      key: 'e1',
      version: 1,
      value: record,
      dueAtMs: 50,
      heldBy: session,
    });
    t.equal(disk.journal.local?.get('groups', key), undefined);
    t.match(group.getSnapshot(), { value: 'dispatched', context: { inFlight: 'e1', burst: null } });
  },
);

t.test(
  'SCA-1 · COA-3 · a crowded gateway leaves the run of a batch to the others, and its group does not wait',
  async (t) => {
    const { disk, opened, clock, join, start } = await stage(t, undefined, true);
    const group = start(await join('e1'));
    clock.increment(50);
    await disk.settle();
    t.same(opened, []);
    t.match(disk.journal.local?.get('runs', 'e1'), { dueAtMs: 50, heldBy: undefined });
    t.same(disk.journal.local?.claimed(`inflight/${key}`), { holder: 'e1' }, 'no other run of the group begins before');
    t.match(group.getSnapshot(), { status: 'done' });
  },
);

t.test('COA-1 · the run of a batch has the keys of all its events', async (t) => {
  const { disk, clock, join, start } = await stage(t);
  await join('e1', { mode: 'batch' });
  await join('e2', { mode: 'batch' });
  start(await join('e3', { mode: 'batch' }));
  clock.increment(50);
  await disk.settle();
  t.match((await disk.journal.get('runs', 'e1'))?.value, { eventKey: 'e3', earlierKeys: ['e1', 'e2'], superseded: 0 });
});

t.test('DUR-1 · a batch that the disk refuses stays and is offered again', async (t) => {
  const { disk, opened, clock, join, start } = await stage(t);
  const group = start(await join('e1'));
  clock.increment(50);
  await disk.refuse();
  t.match(group.getSnapshot().value, 'refused');
  t.match(disk.journal.local?.get('groups', key)?.value, { burst: { id: 'e1' } });
  clock.increment(1_000);
  await disk.settle();
  t.match(opened, [[{ kind: 'run', key: 'e1' }, true]]);
});

t.test('COA-1 · a batch whose run another gateway has opened is let go of', async (t) => {
  const { disk, opened, clock, join, start, batches } = await stage(t);
  const group = start(await join('e1'));
  const other = batches.close(key, () => []);
  await disk.settle();
  await other;
  clock.increment(50);
  await disk.settle();
  t.match(group.getSnapshot(), { status: 'done', value: 'closed' });
  t.same(opened, []);
});

t.test('COA-1 · SCA-1 · an event of another gateway keeps a batch gathering, unless it is due by now', async (t) => {
  for (const [dueAtMs, opens] of [
    [50, 1],
    [51, 0],
  ] as const) {
    const { disk, batches, opened, clock, join, start } = await stage(t);
    const { close } = batches;
    Object.assign(batches, {
      close: (of, writesFor) => close(of, (burst) => writesFor({ ...burst, dueAtMs }, true)),
    } satisfies Pick<Batches, 'close'>);
    start(await join('e1'));
    clock.increment(50);
    await disk.settle();
    t.equal(opened.length, opens, `due at ${dueAtMs} ms`);
  }
});

t.test('COA-1 · SCA-1 · the quiet window begins anew with an event of another gateway', async (t) => {
  const { disk, opened, clock, join, start } = await stage(t);
  const group = start(await join('e1'));
  const other = createBatches((await openKeeper(disk.journal, 'other')).keeper);
  await join('e2', { at: other, nowMs: 40 });
  clock.increment(50);
  await disk.settle();
  t.match(group.getSnapshot(), { value: 'pending', context: { burst: { latestEventKey: 'e2' } } });
  clock.increment(39);
  await disk.settle();
  t.same(opened, []);
  clock.increment(1);
  await disk.settle();
  t.match(opened, [[{ kind: 'run', key: 'e1', record: { eventKey: 'e2', superseded: 1 } }, true]]);
});

t.test('DUR-1 · a batch whose closing failed in an unforeseen way is offered again', async (t) => {
  const { disk, opened, lines, clock, join, start } = await stage(t, 'closing');
  const group = start(await join('e1'));
  clock.increment(50);
  await turn();
  t.match(group.getSnapshot().value, 'refused');
  t.same(lines, [['error', `groups/${key}: nobody foresaw this`]]);
  clock.increment(1_000);
  await disk.settle();
  t.match(opened, [[{ kind: 'run', key: 'e1' }, true]]);
  t.match(group.getSnapshot(), { value: 'dispatched', context: { inFlight: 'e1' } });
});

t.test('COA-3 · a run that is on disk and could not be handed on keeps no later batch waiting', async (t) => {
  const { disk, opened, lines, clock, join, start } = await stage(t, 'opening');
  const group = start(await join('e1'));
  clock.increment(50);
  await disk.settle();
  t.ok(disk.journal.local?.get('runs', 'e1')?.heldBy, 'the next start takes it up');
  t.same(lines, [['error', `groups/${key}: nobody foresaw this`]]);
  t.match(group.getSnapshot(), { status: 'done', value: 'closed' });
  start(await join('e2'));
  clock.increment(50);
  await disk.settle();
  t.match(opened, [[{ kind: 'run', key: 'e2' }, true]]);
});
