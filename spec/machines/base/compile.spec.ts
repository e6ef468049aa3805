import t from 'tap';
import {
  type AnyActorLogic,
  assign,
  createActor,
  fromPromise,
  type InspectionEvent,
  SimulatedClock,
  setup,
} from 'xstate';
import { compile } from '../../../machines/base/compile.ts';
import { fc, runs } from '../../support/property.ts';
import { type Act, drawn, machineOf, type Sent, script } from '../../support/random-chart.ts';

/** Runs a logic through a script and writes down everything that can be seen of it. */
function timeline(logic: AnyActorLogic, script: readonly Sent[], acts: Act[]): unknown[] {
  const clock = new SimulatedClock();
  const told: unknown[] = [];
  const actor = createActor(logic, {
    clock,
    inspect: (inspected: InspectionEvent) => {
      if ((inspected.type as string) === '@xstate.action') {
        const { type, params } = (inspected as unknown as { action: { type: string; params: unknown } }).action;
        told.push(['action', type, params]);
      }
      if ((inspected.type as string) !== '@xstate.microstep') return;
      const { _transitions } = inspected as unknown as {
        _transitions: readonly { eventType: string; source: { key: string } }[];
      };
      for (const { eventType, source } of _transitions) told.push(['step', source.key, eventType]);
    },
  });
  actor.on('*', (emitted) => told.push(['emitted', emitted]));
  actor.subscribe({ error: (error) => told.push(['failed', String(error)]) });
  const look = (): void => {
    const { status, value, context, output } = actor.getSnapshot() as {
      status: string;
      value: unknown;
      context: unknown;
      output?: unknown;
    };
    told.push([status, value, context, output, acts.splice(0)]);
  };
  actor.start();
  look();
  for (const one of script) {
    if ('wait' in one) clock.increment(one.wait);
    else actor.send(one);
    look();
  }
  actor.stop();
  return told;
}

t.test('INS-1 · a compiled chart does what the interpreter does, over random charts and events', (t) => {
  fc.assert(
    fc.property(drawn, script, (chart, script) => {
      const acts: Act[] = [];
      const machine = machineOf(chart, acts);
      const interpreted = timeline(machine, script, acts);
      const compiled = timeline(compile(machine), script, acts);
      t.strictSame(compiled, interpreted);
      return JSON.stringify(compiled) === JSON.stringify(interpreted);
    }),
    { numRuns: runs(200) },
  );
  t.end();
});

t.test('INS-1 · a compiled actor shows since when it is in its state and which steps it took', (t) => {
  let nowMs = 1_000;
  const machine = setup({}).createMachine({
    id: 'm',
    initial: 'a',
    states: { a: { on: { next: 'b' }, tags: ['resting'], meta: { rule: 'X' } }, b: { always: 'c' }, c: {} },
  });
  const actor = createActor(compile(machine, { now: () => nowMs, trail: 8 }));
  actor.start();
  nowMs = 2_000;
  const first = actor.getSnapshot() as unknown as { since: number; hasTag(tag: string): boolean; getMeta(): object };
  t.same([first.since, first.hasTag('resting'), first.getMeta()], [1_000, true, { 'm.a': { rule: 'X' } }]);
  actor.send({ type: 'next' });
  const { since, steps } = actor.getSnapshot() as unknown as { since: number; steps: object[] };
  t.equal(since, 2_000);
  t.same(steps, [
    { at: 2_000, event: 'next', from: 'a', to: 'b' },
    { at: 2_000, event: '', from: 'b', to: 'c' },
  ]);
  t.end();
});

t.test('an invoked promise is awaited, and aborted when its state is left', async (t) => {
  let aborted = false;
  const machine = setup({
    actors: {
      work: fromPromise<string, { readonly hang: boolean }>(({ input, signal }) =>
        input.hang
          ? new Promise((_, reject) =>
              signal.addEventListener('abort', () => {
                aborted = true;
                reject(new Error('aborted'));
              }),
            )
          : Promise.resolve('done'),
      ),
    },
  }).createMachine({
    id: 'invoking',
    context: { got: '' },
    initial: 'quick',
    states: {
      quick: {
        invoke: {
          src: 'work',
          input: { hang: false },
          onDone: { target: 'slow', actions: assign({ got: ({ event }) => event.output }) },
        },
      },
      slow: { invoke: { src: 'work', input: { hang: true } }, on: { leave: 'left' } },
      left: {},
    },
  });
  const actor = createActor(compile(machine));
  const slow = new Promise<void>((resolve) => {
    actor.subscribe((snapshot) => (snapshot as unknown as { value: string }).value === 'slow' && resolve());
  });
  actor.start();
  await slow;
  t.same((actor.getSnapshot() as unknown as { context: object }).context, { got: 'done' });
  actor.send({ type: 'leave' });
  t.ok(aborted);
  t.same(Object.keys((actor.getSnapshot() as unknown as { children: object }).children), []);
});

t.test(
  'INS-1 · a chart copies its contexts by the copy it is given, once for the assignments of one macrostep',
  (t) => {
    interface Light {
      readonly on: boolean;
      readonly times: number;
    }
    const seen: unknown[] = [];
    const copied: unknown[] = [];
    const machine = setup({
      types: { context: {} as Light },
      actions: {
        light: assign({ on: true }),
        count: assign({ times: ({ context }) => context.times + 1 }),
        look: ({ context }) => void seen.push(context),
      },
    }).createMachine({
      id: 'm',
      context: { on: false, times: 0 },
      initial: 'a',
      states: { a: { on: { go: { actions: ['look', 'light', 'count', 'look'] } } } },
    });
    const copy = ({ on, times }: Light): Light => {
      copied.push(times);
      return { on, times };
    };

    const actor = createActor(compile(machine, { copy })).start();
    actor.send({ type: 'go' });
    actor.send({ type: 'go' });

    t.same(copied, [0, 1]);
    t.same(seen, [
      { on: false, times: 0 },
      { on: true, times: 1 },
      { on: true, times: 1 },
      { on: true, times: 2 },
    ]);
    t.end();
  },
);

t.test('a failing action ends the actor and its children with it', (t) => {
  let stopped = false;
  const machine = setup({
    actors: {
      held: fromPromise(
        ({ signal }) =>
          new Promise((_, reject) =>
            signal.addEventListener('abort', () => {
              stopped = true;
              reject(new Error('aborted'));
            }),
          ),
      ),
    },
    actions: {
      fail: () => {
        throw new Error('broken');
      },
    },
  }).createMachine({
    id: 'failing',
    initial: 'a',
    states: { a: { invoke: { src: 'held' }, on: { go: { actions: 'fail' } } } },
  });
  const actor = createActor(compile(machine));
  const seen: unknown[] = [];
  actor.subscribe({ error: (error) => seen.push(error) });
  actor.start();
  actor.send({ type: 'go' });
  t.match(seen, [{ message: 'broken' }]);
  t.ok(stopped, 'the interpreter would have left the child running');
  t.end();
});
