import t from 'tap';
import { createActor, SimulatedClock } from 'xstate';
import { getShortestPaths } from 'xstate/graph';
import { compile } from '../../machines/base/compile.ts';
import { maxTimerMs } from '../../machines/base/timer.ts';
import {
  type CronJobContext,
  type CronJobEvent,
  cronJobMachine,
  lookMs,
  type Plan,
  retryMs,
} from '../../machines/cron/cron-job.machine.ts';

const nothing = (): void => {};
const machine = cronJobMachine.provide({
  actions: { planNext: nothing, fireJob: nothing, passOver: nothing, reportIdle: nothing, lookAtRun: nothing },
});
const input = { profile: 'default', job: 'j' };

const plans: readonly Plan[] = [
  { kind: 'waits', dueAtMs: 1_000 },
  { kind: 'fires', dueAtMs: 1_000 },
  { kind: 'skips', dueAtMs: 900, why: 'missed' },
  { kind: 'runs', run: 'r' },
  { kind: 'pauses', why: 'paused', dueAtMs: 1_000 },
  { kind: 'idles', why: 'never' },
  { kind: 'blind', why: 'closed' },
];
const events: readonly CronJobEvent[] = [
  ...plans.map((plan): CronJobEvent => ({ type: 'plan.made', plan, atMs: 500 })),
  { type: 'job.changed', atMs: 500 },
  { type: 'job.remove' },
  { type: 'clock.moved', atMs: 500 },
  { type: 'firing.granted', run: 'r' },
  { type: 'firing.settled' },
  { type: 'firing.refused', why: 'full' },
  { type: 'run.finished', run: 'r' },
  { type: 'run.finished', run: 'another' },
  ...(
    [
      ['untilDue', 'scheduled'],
      ['untilDue', 'paused'],
      ['retryDelay', 'postponed'],
      ['lookInterval', 'running'],
    ] as const
  ).map(([delay, state]) => ({ type: `xstate.after.${delay}.cronJob.${state}` }) as unknown as CronJobEvent),
];

t.test('CRN-1 · CRN-2 · every state is reached, and nothing is claimed but what a plan has just named', (t) => {
  const paths = getShortestPaths(machine, { input, events: [...events], limit: 20_000 });
  const reached = new Set(paths.map(({ state }) => String(state.value)));
  t.same([...reached].sort(), Object.keys(cronJobMachine.config.states ?? {}).sort());
  for (const { state, steps } of paths) {
    const told = steps.map(({ event }) => event.type);
    const { context, value } = state;
    if (value === 'claimed' || value === 'skipping') {
      t.equal(told.at(-1), 'plan.made', told.join());
      t.not(context.dueAtMs, null, told.join());
    }
    if (value === 'running') t.not(context.run, null, told.join());
    else if (value !== 'removed') t.equal(context.run, null, `${value}: ${told.join()}`);
    if (value === 'removed') t.equal(told.at(-1), 'job.remove', told.join());
  }
  t.end();
});

interface Rig {
  readonly clock: SimulatedClock;
  readonly did: string[];
  plan: (context: CronJobContext, nowMs: number) => Plan;
  send(event: CronJobEvent): void;
  state(): string;
  context(): CronJobContext;
}

/** The chart with a plan that the spec makes up; the time is the clock's. */
function rig(plan: Rig['plan']): Rig {
  const clock = new SimulatedClock();
  const did: string[] = [];
  const made: Rig = {
    clock,
    did,
    plan,
    send: (event) => actor.send(event),
    state: () => String((actor.getSnapshot() as unknown as { value: unknown }).value),
    context: () => (actor.getSnapshot() as unknown as { context: CronJobContext }).context,
  };
  const actor = createActor(
    compile(
      cronJobMachine.provide({
        actions: {
          planNext: ({ context, self }) => {
            did.push('plan');
            self.send({ type: 'plan.made', plan: made.plan(context, clock.now()), atMs: clock.now() });
          },
          fireJob: ({ context }) => void did.push(`fire ${context.dueAtMs}`),
          passOver: ({ context }) => void did.push(`pass ${context.dueAtMs}: ${context.why}`),
          reportIdle: ({ context }) => void did.push(`idle: ${context.why}`),
          lookAtRun: ({ context }) => void did.push(`look ${context.run}`),
        },
      }),
    ),
    { input, clock },
  );
  actor.start();
  return made;
}

/** Due at a time, fired when it has come; nothing after. */
const dueAt =
  (dueAtMs: number): Rig['plan'] =>
  ({ settledMs }, nowMs) => {
    if (settledMs === dueAtMs) return { kind: 'waits', dueAtMs: dueAtMs * 10 };
    return nowMs < dueAtMs ? { kind: 'waits', dueAtMs } : { kind: 'fires', dueAtMs };
  };

t.test('CRN-1 · by the clock: waits, fires, stands by its run, and waits again', (t) => {
  const { clock, did, send, state, context } = rig(dueAt(5_000));
  t.equal(state(), 'scheduled');
  clock.increment(4_999);
  t.equal(state(), 'scheduled');
  clock.increment(1);
  t.same([state(), did], ['claimed', ['plan', 'plan', 'fire 5000']]);
  send({ type: 'firing.granted', run: 'r1' });
  t.same([state(), context().run, context().settledMs], ['running', 'r1', 5_000]);
  clock.increment(lookMs);
  t.equal(did.at(-1), 'look r1', 'a run of which no report comes is looked at');
  t.equal(state(), 'running');
  send({ type: 'run.finished', run: 'another' });
  t.equal(state(), 'running');
  send({ type: 'run.finished', run: 'r1' });
  t.same([state(), context().run, context().dueAtMs], ['scheduled', null, 50_000]);
  t.end();
});

t.test('CRN-1 · a wait longer than a timer can be is continued', (t) => {
  const dueAtMs = maxTimerMs * 2 + 5;
  const { clock, did, state } = rig(dueAt(dueAtMs));
  clock.increment(maxTimerMs);
  clock.increment(maxTimerMs);
  t.same([state(), did], ['scheduled', ['plan', 'plan', 'plan']]);
  clock.increment(4);
  t.equal(state(), 'scheduled');
  clock.increment(1);
  t.equal(state(), 'claimed');
  t.end();
});

t.test('CRN-1 · a due time that another gateway has handled is settled, and not asked for again', (t) => {
  const { clock, did, send, state } = rig(dueAt(5_000));
  clock.increment(5_000);
  send({ type: 'firing.settled' });
  t.same([state(), did], ['scheduled', ['plan', 'plan', 'fire 5000', 'plan']]);
  t.end();
});

t.test('DUR-1 · what the journal refuses is offered again', (t) => {
  const { clock, did, send, state, context } = rig(dueAt(0));
  send({ type: 'firing.refused', why: 'the disk is full' });
  t.same([state(), context().why], ['postponed', 'the disk is full']);
  clock.increment(retryMs);
  t.same([state(), did], ['claimed', ['plan', 'fire 0', 'plan', 'fire 0']]);
  t.end();
});

t.test(
  'CRN-2 · a paused job is not fired; its first due time is written down, and the pause is not made up for',
  (t) => {
    let paused = true;
    const { clock, did, send, state, context } = rig(({ dropped, settledMs }, nowMs) => {
      const dueAtMs = (settledMs ?? 0) < 1_000 ? 1_000 : nowMs + 1_000;
      if (!paused) return { kind: 'waits', dueAtMs };
      if (!dropped && nowMs >= dueAtMs) return { kind: 'skips', dueAtMs, why: 'paused' };
      return { kind: 'pauses', why: 'paused', ...(dropped ? {} : { dueAtMs }) };
    });
    t.equal(state(), 'paused');
    clock.increment(1_000);
    t.same([state(), did.at(-1)], ['skipping', 'pass 1000: paused']);
    send({ type: 'firing.settled' });
    t.same([state(), context().dropped, context().dueAtMs], ['paused', true, null]);
    clock.increment(maxTimerMs - 1);
    t.equal(did.filter((one) => one.startsWith('pass')).length, 1, 'one entry for the whole pause');
    paused = false;
    send({ type: 'job.changed', atMs: clock.now() });
    t.same([state(), context().dropped, context().settledMs], ['scheduled', false, clock.now()]);
    t.end();
  },
);

t.test('CRN-1 · a change, a set clock and a removal reach the job wherever it rests', (t) => {
  const { clock, did, send, state } = rig(({ settledMs }, nowMs) => ({
    kind: 'waits',
    dueAtMs: (settledMs ?? nowMs) + 9,
  }));
  send({ type: 'job.changed', atMs: 1 });
  send({ type: 'clock.moved', atMs: 2 });
  t.equal(did.length, 3);
  send({ type: 'job.remove' });
  t.equal(state(), 'removed');
  clock.increment(maxTimerMs);
  t.equal(did.length, 3, 'nothing is left to wake');

  const idle = rig(() => ({ kind: 'idles', why: 'never' }));
  t.same([idle.state(), idle.did], ['idle', ['plan', 'idle: never']]);
  idle.plan = () => ({ kind: 'waits', dueAtMs: 9 });
  idle.send({ type: 'job.changed', atMs: 1 });
  t.equal(idle.state(), 'scheduled');
  t.end();
});
