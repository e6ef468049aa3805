import t from 'tap';
import { assign, setup } from 'xstate';
import type { JournalKeeper } from '../../../actors/store/keeper.ts';
import type { RunRecord } from '../../../machines/webhook/record.ts';
import { createCancelRun } from '../../../runtime/dispatch/cancel-run.ts';
import { openKeeper, openTwoKeepers } from '../../support/keeper.ts';
import { startPool } from '../../support/pools.ts';

type Status = RunRecord['status'];
type Told = { readonly type: 'run.cancel'; readonly by: string } | { readonly type: 'run.answer' };

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
      },
    },
    recording: { on: { 'run.cancel': 'delivering' } },
    delivering: {},
    cancelled: { type: 'final' },
  },
});

const usual = { nowMs: () => 7, ended: () => {} };
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
    const cancel = createCancelRun({ ...usual, runs: pool as never, keeper });
    pool().spawn('running', { record: { status: 'running' } });
    pool().spawn('answering', { record: { status: 'running' } });
    pool().get('answering')?.send({ type: 'run.answer' });

    t.same(await cancel('running', 'cli'), { kind: 'cancelled' });
    t.same(await cancel('answering', 'cli'), { kind: 'over', status: 'delivering' });
    t.same(await cancel('answering', 'cli'), { kind: 'over', status: 'delivering' });
    t.same(await cancel('ended', 'cli'), { kind: 'over', status: 'delivered' });
    t.same(await cancel('never', 'cli'), { kind: 'unknown' });
  },
);

t.test('SCA-1 · a run of another living gateway is left to it', async (t) => {
  const [one, other] = await openTwoKeepers();
  const cancel = createCancelRun({ ...usual, runs: () => ({ get: () => undefined }) as never, keeper: one });
  const run = { kind: 'put', collection: 'runs', key: 'k', value: { status: 'running' }, dueAtMs: 1 } as const;
  await other.commit([{ ...run, heldBy: other.session() }]);
  t.same(await cancel('k', 'cli'), { kind: 'elsewhere' });
  t.match(await one.journal()?.get('runs', 'k'), { version: 1 });
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
    const cancel = createCancelRun({ ...usual, runs: () => nobody, keeper: it, ended: told });
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
