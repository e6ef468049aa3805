import t from 'tap';
import { createActor, SimulatedClock } from 'xstate';
import { getShortestPaths } from 'xstate/graph';
import { compile } from '../../machines/base/compile.ts';
import type { Batch } from '../../machines/webhook/coalesce.ts';
import {
  coalescingGroupMachine,
  type GroupEvent,
  type GroupInput,
} from '../../machines/webhook/coalescing-group.machine.ts';

const burst: Batch = { id: 'b1', firstAtMs: 0, count: 1, latestEventKey: 'e1', dueAtMs: 1_000 };
const later: Batch = { id: 'b2', firstAtMs: 500, count: 1, latestEventKey: 'e2', dueAtMs: 2_000 };
const input: GroupInput = { key: 'k', profile: 'default', route: 'r', burst, atMs: 0 };
const machine = coalescingGroupMachine.provide({ actions: { openRun: () => {} } });

const events: readonly GroupEvent[] = [
  { type: 'event.joined', burst: later, atMs: 500 },
  { type: 'run.opened', run: 'b1', atMs: 500 },
  { type: 'run.refused', atMs: 500 },
  { type: 'batch.gone', atMs: 500 },
  { type: 'batch.cancelled', batch: 'b1' },
  { type: 'run.finished', run: 'b1', atMs: 500 },
  { type: 'group.drain', atMs: 500 },
];
const waits = ['untilSettled', 'reopenDelay'].flatMap((delay) =>
  ['pending', 'refused'].map(
    (state) => ({ type: `xstate.after.${delay}.coalescingGroup.${state}` }) as unknown as GroupEvent,
  ),
);

t.test('COA-1 · COA-3 · every state is reached, and no batch is opened while a run is in flight but on drain', (t) => {
  const paths = getShortestPaths(machine, { input, events: [...events, ...waits], limit: 5_000 });
  const reached = new Set(paths.map(({ state }) => state.value));
  t.same([...reached].sort(), ['closed', 'dispatched', 'opening', 'pending', 'refused', 'settled']);
  for (const { state, steps } of paths) {
    const told = steps.map(({ event }) => event.type);
    const { inFlight, opening, burst: gathering } = state.context;
    if (state.value === 'opening') {
      t.not(opening, null, told.join());
      if (!told.includes('group.drain')) t.equal(inFlight, null, told.join());
    }
    if (state.value === 'closed') t.equal(gathering, null, `nothing gathers when it is over: ${told.join()}`);
    if (state.value === 'dispatched') t.not(inFlight, null, told.join());
  }
  t.end();
});

t.test('COA-1 · COA-3 · by the clock: quiet, cap, and a batch that waits for the run before it', (t) => {
  const clock = new SimulatedClock();
  const opened: string[] = [];
  const actor = createActor(
    compile(
      coalescingGroupMachine.provide({
        actions: { openRun: ({ context }) => void opened.push(context.opening?.id ?? '') },
      }),
    ),
    { input, clock },
  );
  const state = (): unknown => (actor.getSnapshot() as unknown as { value: unknown }).value;
  actor.start();
  clock.increment(600);
  actor.send({ type: 'event.joined', burst: { ...burst, count: 2, dueAtMs: 1_500 }, atMs: 600 });
  clock.increment(899);
  t.equal(state(), 'pending', 'the window restarted');
  clock.increment(1);
  t.same([state(), opened], ['opening', ['b1']]);
  actor.send({ type: 'event.joined', burst: later, atMs: 1_500 });
  actor.send({ type: 'run.opened', run: 'b1', atMs: 1_500 });
  t.equal(state(), 'pending', 'the next burst gathers');
  clock.increment(500);
  t.equal(state(), 'settled', 'and waits for the run in flight');
  actor.send({ type: 'run.finished', run: 'another', atMs: 2_100 });
  t.equal(state(), 'settled');
  actor.send({ type: 'run.finished', run: 'b1', atMs: 2_100 });
  t.same([state(), opened], ['opening', ['b1', 'b2']]);
  actor.send({ type: 'run.refused', atMs: 2_100 });
  t.equal(state(), 'refused');
  clock.increment(1_000);
  t.equal(opened.length, 3, 'the journal is asked again');
  actor.send({ type: 'run.opened', run: 'b2', atMs: 3_100 });
  actor.send({ type: 'run.finished', run: 'b2', atMs: 3_200 });
  t.equal(state(), 'closed');
  t.end();
});

t.test('COA-1 · a cancelled batch leaves the run in progress, and the next batch', (t) => {
  const next: Batch = { ...later, count: 2 };
  for (const [given, batch, states] of [
    [{}, 'b1', ['pending', 'closed']],
    [{}, 'b0', ['pending', 'pending']],
    [{ inFlight: 'b0' }, 'b1', ['pending', 'dispatched']],
    [{ burst: next }, 'b1', ['pending', 'pending']],
  ] as const) {
    const actor = createActor(compile(machine), { input: { ...input, ...given }, clock: new SimulatedClock() }).start();
    const state = (): unknown => (actor.getSnapshot() as unknown as { value: unknown }).value;
    const before = state();
    actor.send({ type: 'batch.cancelled', batch });
    t.same([before, state()], states);
  }
  t.end();
});

t.test('COA-3 · the end of another run lets no batch past the one in flight', (t) => {
  const clock = new SimulatedClock();
  const actor = createActor(compile(machine), { input: { ...input, inFlight: 'b0' }, clock });
  const state = (): unknown => (actor.getSnapshot() as unknown as { value: unknown }).value;
  actor.start();
  actor.send({ type: 'run.finished', run: 'another', atMs: 0 });
  clock.increment(1_000);
  t.equal(state(), 'settled');
  actor.send({ type: 'run.finished', run: 'b0', atMs: 1_000 });
  t.equal(state(), 'opening');
  t.end();
});

t.test('COA-3 · the end of the run in flight is not missed while a batch is opened beside it', (t) => {
  for (const isRefused of [false, true]) {
    const clock = new SimulatedClock();
    const actor = createActor(compile(machine), { input: { ...input, inFlight: 'b0' }, clock });
    actor.start();
    actor.send({ type: 'group.drain', atMs: 0 });
    if (isRefused) actor.send({ type: 'run.refused', atMs: 0 });
    actor.send({ type: 'run.finished', run: 'b0', atMs: 0 });
    clock.increment(1_000);
    // Another gateway has opened it.
    actor.send({ type: 'batch.gone', atMs: 1_000 });
    t.equal((actor.getSnapshot() as unknown as { value: unknown }).value, 'closed', `refused: ${isRefused}`);
  }
  t.end();
});

t.test('COA-1 · a clock that is set back while a batch gathers does not lengthen its quiet', (t) => {
  const clock = new SimulatedClock();
  const actor = createActor(compile(machine), { input: { ...input, inFlight: 'b0', atMs: 900 }, clock });
  actor.start();
  actor.send({ type: 'run.finished', run: 'b0', atMs: -3_600_000 });
  clock.increment(100);
  t.equal((actor.getSnapshot() as unknown as { value: unknown }).value, 'opening');
  t.end();
});
