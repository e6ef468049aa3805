import fc from 'fast-check';
import t from 'tap';
import {
  type AnyActorLogic,
  type AnyStateMachine,
  assign,
  createActor,
  emit,
  fromPromise,
  type InspectionEvent,
  raise,
  SimulatedClock,
  setup,
} from 'xstate';
import { compile } from '../../../machines/base/compile.ts';

interface Drawn {
  readonly states: readonly {
    readonly on: readonly {
      readonly event: string;
      readonly target: number;
      readonly least: number;
      readonly reenter: boolean;
      readonly add: number;
    }[];
    readonly always: readonly { readonly target: number; readonly least: number }[];
    readonly after: number | undefined;
    readonly raises: boolean;
    readonly emits: boolean;
  }[];
  readonly hasFinal: boolean;
}

const events = ['go', 'stay', 'back'] as const;
const drawn: fc.Arbitrary<Drawn> = fc.integer({ min: 2, max: 6 }).chain((size) =>
  fc.record({
    hasFinal: fc.boolean(),
    states: fc.array(
      fc.record({
        on: fc.array(
          fc.record({
            event: fc.constantFrom(...events, 'a.b', '*', 'a.*'),
            target: fc.integer({ min: -1, max: size - 1 }),
            least: fc.integer({ min: 0, max: 6 }),
            reenter: fc.boolean(),
            add: fc.integer({ min: 0, max: 2 }),
          }),
          { maxLength: 5 },
        ),
        // Eventless transitions lead forward only, so that every chart settles.
        always: fc.array(
          fc.record({ target: fc.integer({ min: 1, max: size }), least: fc.integer({ min: 0, max: 8 }) }),
          { maxLength: 2 },
        ),
        after: fc.option(fc.integer({ min: 1, max: 50 }), { nil: undefined }),
        raises: fc.boolean(),
        emits: fc.boolean(),
      }),
      { minLength: size, maxLength: size },
    ),
  }),
);

interface Context {
  readonly count: number;
}

/** What an action was, and the very context that it saw: what is written into that later shows when stories are compared. */
type Act = readonly [what: string, context: unknown];

/** Builds the drawn machine; every action it takes is written into `acts`. */
function machineOf({ states, hasFinal }: Drawn, acts: Act[]): AnyStateMachine {
  const name = (index: number): string => `s${index}`;
  // A wildcard would take the raised event, enter, raise again, and never end.
  const mayRaise = !states.some(({ on }) => on.some(({ event }) => event === '*'));
  const entries = states.map((state, index) => {
    const last = index === states.length - 1;
    const forward = state.always.filter(({ target }) => target > index && target < states.length);
    const on: Record<string, object[]> = {};
    for (const { event, target, least, reenter, add } of state.on) {
      on[event] ??= [];
      on[event]?.push({
        ...(target < 0 ? {} : { target: name(target), reenter }),
        guard: { type: 'atLeast', params: { least } },
        actions: [
          { type: 'add', params: { by: add } },
          { type: 'note', params: { what: `${event} in ${name(index)}` } },
        ],
      });
    }
    return [
      name(index),
      {
        ...(last && hasFinal
          ? { type: 'final' }
          : {
              on,
              always: forward.map(({ target, least }) => ({
                target: name(target),
                guard: { type: 'atLeast', params: { least } },
                actions: { type: 'note', params: { what: `always ${name(index)}` } },
              })),
              ...(state.after === undefined
                ? {}
                : {
                    after: {
                      [state.after]: {
                        target: name((index + 1) % states.length),
                        actions: { type: 'add', params: { by: 1 } },
                      },
                    },
                  }),
            }),
        entry: [
          { type: 'note', params: { what: `enter ${name(index)}` } },
          { type: 'add', params: { by: 1 } },
          ...(state.raises && mayRaise && !(last && hasFinal) ? [raise({ type: 'raised' })] : []),
          ...(state.emits ? [emit(({ context }) => ({ type: 'seen', state: name(index), context }) as never)] : []),
          ...(state.emits ? [{ type: 'add', params: { by: 1 } }] : []),
        ],
        exit: { type: 'note', params: { what: `exit ${name(index)}` } },
      },
    ] as const;
  });
  return setup({
    types: { context: {} as Context },
    actions: {
      note: ({ context }, { what }: { what: string }) => void acts.push([what, context]),
      add: assign(({ context }, { by }: { by: number }) => ({ count: (context as Context).count + by })),
    },
    guards: { atLeast: ({ context }, { least }: { least: number }) => (context as Context).count >= least },
  }).createMachine({
    id: 'drawn',
    context: { count: 0 },
    initial: 's0',
    output: ({ context }: { context: Context }) => context.count,
    on: { raised: { actions: { type: 'note', params: { what: 'raised' } } } },
    states: Object.fromEntries(entries),
  } as never) as unknown as AnyStateMachine;
}

type Sent = { readonly type: string } | { readonly wait: number };

/** Runs a logic through a script and writes down everything that can be seen of it. */
function story(logic: AnyActorLogic, script: readonly Sent[], acts: Act[]): unknown[] {
  const clock = new SimulatedClock();
  const told: unknown[] = [];
  const actor = createActor(logic, {
    clock,
    inspect: (inspected: InspectionEvent) => {
      if ((inspected.type as string) !== '@xstate.microstep') return;
      const { _transitions } = inspected as unknown as {
        _transitions: readonly { eventType: string; source: { key: string } }[];
      };
      for (const { eventType, source } of _transitions) told.push(['step', source.key, eventType]);
    },
  });
  actor.on('*', (emitted) => told.push(['emitted', emitted]));
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
  const sent = fc.oneof(
    fc.constantFrom(...events, 'a.b', 'a.c', 'other').map((type) => ({ type })),
    fc.integer({ min: 1, max: 60 }).map((wait) => ({ wait })),
  );
  fc.assert(
    fc.property(drawn, fc.array(sent, { maxLength: 12 }), (chart, script) => {
      const acts: Act[] = [];
      const machine = machineOf(chart, acts);
      const interpreted = story(machine, script, acts);
      const compiled = story(compile(machine), script, acts);
      t.strictSame(compiled, interpreted);
      return JSON.stringify(compiled) === JSON.stringify(interpreted);
    }),
    { numRuns: 200 },
  );
  t.end();
});

t.test('INS-1 · a compiled actor tells since when it is in its state and which steps it took', (t) => {
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

t.test('what is not supported is refused by machine, state and feature', (t) => {
  const refused: readonly (readonly [AnyStateMachine, RegExp])[] = [
    [
      setup({}).createMachine({ id: 'nested', initial: 'a', states: { a: { initial: 'b', states: { b: {} } } } }),
      /machine "nested", state "a": a compound state/,
    ],
    [
      setup({}).createMachine({ id: 'side', type: 'parallel', states: { a: {}, b: {} } }),
      /machine "side", root: a parallel state/,
    ],
    [setup({}).createMachine({ id: 'empty' }), /machine "empty", root: a machine without states/],
  ];
  for (const [machine, message] of refused) t.throws(() => compile(machine), { message });
  t.end();
});
