import t from 'tap';
import { assign, setup } from 'xstate';
import type { JournalKeeper } from '../../../actors/store/keeper.ts';
import { createBatches, type Joined } from '../../../actors/webhook/batches.ts';
import { coalescingGroupMachine, type GroupInput } from '../../../machines/webhook/coalescing-group.machine.ts';
import { runAsSeen } from '../../../machines/webhook/interruption.ts';
import type { RunRecord } from '../../../machines/webhook/record.ts';
import { createRunCancels } from '../../../runtime/dispatch/cancel-run.ts';
import { timeKey } from '../../../runtime/system/ids.ts';
import { openKeeper, openTwoKeepers } from '../../support/keeper.ts';
import { startPool } from '../../support/pools.ts';
import { turn } from '../../support/turns.ts';

type Status = RunRecord['status'];
type Told = { readonly type: 'run.cancel'; readonly by: string } | { readonly type: 'run.answer' | 'disk.full' };

/** A run as far as a cancel sees it: told, or too late, or answering just now. */
const run = setup({
  types: {
    input: {} as { record: { status: Status } },
    context: {} as { record: { status: Status } },
    events: {} as Told,
  },
  actions: { become: assign((_, status: Status) => ({ record: { status } })) },
}).createMachine({
  context: ({ input }) => input,
  initial: 'running',
  states: {
    running: {
      on: {
        'run.cancel': { target: 'cancelled', actions: { type: 'become', params: 'cancelled' } },
        'run.answer': { target: 'recording', actions: { type: 'become', params: 'delivering' } },
        'disk.full': 'postponed',
      },
    },
    postponed: { on: { 'run.cancel': { target: 'unrecorded', actions: { type: 'become', params: 'cancelled' } } } },
    unrecorded: {},
    recording: { on: { 'run.cancel': 'delivering' } },
    delivering: {},
    cancelled: { type: 'final' },
  },
});

const seenRun = (_: string, record: RunRecord): RunRecord => record;
const usual = { nowMs: () => 7, ended: () => {}, seenRun, groups: () => [] as never, batches: {} as never };
const keeper = {
  isElsewhere: () => false,
  journal: () => ({
    get: (_: string, key: string) => (key === 'ended' ? { value: { status: 'delivered' } } : undefined),
  }),
} as unknown as JournalKeeper;

t.test(
  'DIS-3 · a run under way is cancelled and waited for, one that has answered or ended is not called back',
  async (t) => {
    const pool = startPool<{ record: { status: Status } }>(t, run);
    const { one: cancel } = createRunCancels({ ...usual, runs: pool as never, keeper });
    pool().spawn('running', { record: { status: 'running' } });
    pool().spawn('answering', { record: { status: 'running' } });
    pool().get('answering')?.send({ type: 'run.answer' });

    pool().spawn('unwritten', { record: { status: 'queued' } });
    pool().get('unwritten')?.send({ type: 'disk.full' });

    t.same(await cancel('running', 'cli'), { kind: 'cancelled' });
    t.match(await cancel('unwritten', 'cli'), { kind: 'refused', reason: /not on disk/ });
    t.same(await cancel('answering', 'cli'), { kind: 'over', status: 'delivering' });
    t.same(await cancel('answering', 'cli'), { kind: 'over', status: 'delivering' });
    t.same(await cancel('ended', 'cli'), { kind: 'over', status: 'delivered' });
    t.same(await cancel('never', 'cli'), { kind: 'unknown' });
  },
);

t.test('SCA-1 · a run of another living gateway is left to it', async (t) => {
  const [first, other] = await openTwoKeepers();
  const { one: cancel } = createRunCancels({
    ...usual,
    runs: () => ({ get: () => undefined }) as never,
    keeper: first,
  });
  const run = { kind: 'put', collection: 'runs', key: 'k', value: { status: 'running' }, dueAtMs: 1 } as const;
  await other.commit([{ ...run, heldBy: other.session() }]);
  t.same(await cancel('k', 'cli'), { kind: 'elsewhere' });
  t.match(await first.journal()?.get('runs', 'k'), { version: 1 });
  await other.commit([run]);
  t.same(await cancel('k', 'cli'), { kind: 'cancelled' }, 'one that nobody holds');
});

t.test(
  'DIS-3 · a run that waits on disk alone is cancelled there, once, and its waiting sender is answered',
  async (t) => {
    const { keeper: it } = await openKeeper();
    const nobody = { get: () => undefined } as never;
    const ended: unknown[] = [];
    const told = (key: string, { status }: RunRecord): void => void ended.push([key, status]);
    const { one: cancel } = createRunCancels({ ...usual, runs: () => nobody, keeper: it, ended: told });
    for (const [key, value] of [
      ['waits', { status: 'queued', attempt: 0 }],
      ['cut-off', { status: 'running', attempt: 1 }],
    ] as const) {
      await it.commit([{ kind: 'put', collection: 'runs', key, value, dueAtMs: 1 }]);

      t.same(await cancel(key, 'cli'), { kind: 'cancelled' });
      t.same(await cancel(key, 'cli'), { kind: 'over', status: 'cancelled' });

      const stored = it.journal()?.local?.get('runs', key);
      t.match(stored?.value, { status: 'cancelled', reason: 'cancelled by cli', endedAtMs: 7 });
      t.equal(stored?.dueAtMs, undefined, 'nobody takes it up any more');
      t.same(ended.splice(0), [[key, 'cancelled']]);
    }
  },
);

t.test(
  'DIS-3 · all that wait or are in progress are cancelled at once, or those of a route, status or time',
  async (t) => {
    const { keeper: it } = await openKeeper();
    const pool = startPool<{ record: { status: Status } }>(t, run);
    const ended: string[] = [];
    const stage = { ...usual, runs: pool as never, keeper: it, ended: (key: string): void => void ended.push(key) };
    const { all } = createRunCancels(stage);
    const put = async (key: string, route: string, status: Status, dueAtMs?: number): Promise<void> => {
      await it.commit([{ kind: 'put', collection: 'runs', key, value: { status, route } as never, dueAtMs }]);
    };
    const keys = Array.from({ length: 150 }, (_, at) => timeKey(1_000 + at));
    for (const [at, key] of keys.entries()) await put(key, at % 3 === 0 ? 'ci' : 'mail', 'queued', 1);
    const [third = '', begun = ''] = [keys[2], keys[147]];
    pool().spawn(begun, { record: { status: 'running' } });
    await put(begun, 'ci', 'running', 1);
    let endedBefore: string | undefined;
    pool()
      .get(begun)
      ?.subscribe({ complete: () => (endedBefore = ended.at(-1)) });
    await put('a', 'ci', 'delivered');
    await put(timeKey(9_000), 'ci', 'delivering', 1);

    const since = new Date(1_100).toISOString();
    t.same(await all({ since, route: 'mail' }, 'cli'), { done: 34, left: 0, refusals: [] });
    t.ok(ended.every((key) => key >= (keys[100] ?? '')));
    t.same(await all({ status: 'queued', route: 'mail' }, 'cli'), { done: 66, left: 0, refusals: [] });
    await put(third, 'mail', 'queued', 1);
    t.same(await all({}, 'cli'), { done: 51, left: 0, refusals: [] }, 'one in progress too, none that has responded');
    t.equal(endedBefore, keys[0], 'those that wait first: none of them begins in its place');
    t.equal(pool().get(begun), undefined);
  },
);

t.test(
  'DIS-3 · SCA-1 · of many, those that cannot be written are left with the reason, those of others unseen',
  async (t) => {
    const [first, other] = await openTwoKeepers();
    const asSeen = (_: string, record: RunRecord): RunRecord => runAsSeen(record, undefined);
    const none = { ...usual, seenRun: asSeen, runs: () => ({ get: () => undefined }) as never };
    const { all } = createRunCancels({ ...none, keeper: first });
    const value = { status: 'queued', route: 'ci' } as never;
    await other.commit([{ kind: 'put', collection: 'runs', key: 'b', value, dueAtMs: 1, heldBy: other.session() }]);
    await first.commit([{ kind: 'put', collection: 'runs', key: 'a', value, dueAtMs: 1 }]);
    const fault = { code: 'journal-unavailable', message: 'the disk is full' } as const;
    const full = { ...first, commit: async () => ({ kind: 'unavailable', fault }) } as unknown as JournalKeeper;
    const refused = createRunCancels({ ...usual, runs: () => ({ get: () => undefined }) as never, keeper: full });
    const refusals = [{ id: 'a', code: 'journal-unavailable', error: 'the disk is full' }];
    t.same(await refused.all({}, 'cli'), { done: 0, left: 1, refusals });
    const cutOff = { status: 'running', route: 'ci', attempt: 1 } as never;
    await first.commit([{ kind: 'put', collection: 'runs', key: 'c', value: cutOff, dueAtMs: 1 }]);
    t.same(await all({}, 'cli'), { done: 2, left: 0, refusals: [] }, 'one that a crash interrupted waits too');
  },
);

t.test('DIS-3 · COA-1 · with all runs, the batches that collect are cancelled, as their runs would be', async (t) => {
  const { keeper: it } = await openKeeper();
  const batches = createBatches(it);
  const groups = startPool<GroupInput>(t, coalescingGroupMachine.provide({ actions: { openRun: () => {} } }));
  const of = { profile: 'default', windowMs: 60_000, maxWaitMs: 600_000, nowMs: Date.now(), mode: 'batch' } as const;
  const join = async (route: string, eventKey: string): Promise<Joined> =>
    new Promise((resolve) =>
      batches.join(
        { ...of, key: `default/${route}/7`, route, groupKey: '7', eventKey },
        (_, record) => [record],
        resolve,
      ),
    );
  for (const route of ['ci', 'mail']) {
    await join(route, `${route}1`);
    const { burst } = await join(route, `${route}2`);
    groups().spawn(`default/${route}/7`, {
      key: `default/${route}/7`,
      profile: 'default',
      route,
      burst,
      atMs: of.nowMs,
    });
  }
  const ended: string[] = [];
  const stage = {
    ...usual,
    batches,
    groups: groups as never,
    keeper: it,
    runs: () => ({ get: () => undefined }) as never,
  };
  const { all } = createRunCancels({ ...stage, ended: (key) => void ended.push(key) });

  t.match(await all({ status: 'queued' }, 'cli'), { done: 0 }, 'not where runs of a status are meant');
  t.same(await all({ route: 'ci' }, 'cli'), { done: 1, left: 0, refusals: [] });
  t.same([ended, [...groups()].map(([key]) => key)], [['ci1'], ['default/mail/7']]);
  const run = it.journal()?.local?.get('runs', 'ci1');
  t.match(run, { value: { status: 'cancelled', reason: 'cancelled by cli', eventKey: 'ci2', earlierKeys: ['ci1'] } });
  t.equal(run?.dueAtMs, undefined);
  t.equal(it.journal()?.local?.get('groups', 'default/ci/7'), undefined);
  t.match((await join('ci', 'ci3')).burst, { id: 'ci3', count: 1 }, 'the next event begins a new batch');
});

t.test('DIS-3 · COA-1 · however many batches collect, only so many are closed at once', async (t) => {
  const collecting = { getSnapshot: () => ({ context: { burst: { firstAtMs: 1 }, profile: 'default', route: 'ci' } }) };
  const groups = new Map(Array.from({ length: 200 }, (_, at) => [`default/ci/${at}`, collecting]));
  let atOnce = 0;
  let most = 0;
  let closed = 0;
  const close = async (): Promise<{ readonly kind: 'stale'; readonly index: number }> => {
    atOnce += 1;
    closed += 1;
    most = Math.max(most, atOnce);
    await turn();
    atOnce -= 1;
    return { kind: 'stale', index: 0 };
  };
  const { keeper: it } = await openKeeper();
  const stage = {
    ...usual,
    keeper: it,
    batches: { close },
    groups: () => groups as never,
    runs: () => new Map() as never,
  };
  t.same(await createRunCancels(stage).all({}, 'cli'), { done: 0, left: 0, refusals: [] });
  t.equal(closed, 200);
  t.ok(most <= 64, `${most} at once`);
});
