/**
 * Random flat charts and random scripts of events for them: whatever runs a chart is compared by what can be seen of it.
 * Every action writes itself down with the very context that it saw, so that a context which is written into later shows.
 */

import { type AnyStateMachine, assign, emit, raise, setup } from 'xstate';
import { fc } from './property.ts';

export interface Drawn {
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
    /** What its entry does to its own actor, beside the chart: sends to it, stops it, fails. */
    readonly turn: 'pokes' | 'halts' | 'fails' | undefined;
  }[];
  readonly hasFinal: boolean;
}

export const events = ['go', 'stay', 'back'] as const;
export const drawn: fc.Arbitrary<Drawn> = fc.integer({ min: 2, max: 6 }).chain((size) =>
  fc.record({
    hasFinal: fc.boolean(),
    states: fc.array(
      fc.record({
        on: fc.array(
          fc.record({
            event: fc.constantFrom(...events, 'poke', 'a.b', '*', 'a.*'),
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
        turn: fc.option(fc.constantFrom('pokes', 'halts', 'fails'), { nil: undefined, freq: 6 }),
      }),
      { minLength: size, maxLength: size },
    ),
  }),
);

/** A chart that pokes itself at every entry would never end. */
const maxPokes = 12;

interface Context {
  readonly count: number;
}

/** What an action was, and the very context that it saw: what is written into that later shows when stories are compared. */
export type Act = readonly [what: string, context: unknown];

/** Builds the drawn machine; every action it takes is written into `acts`. */
export function machineOf({ states, hasFinal }: Drawn, acts: Act[]): AnyStateMachine {
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
          ...(state.turn === undefined ? [] : [state.turn]),
        ],
        exit: { type: 'note', params: { what: `exit ${name(index)}` } },
      },
    ] as const;
  });
  return setup({
    types: { context: {} as Context },
    actions: {
      note: ({ context }, { what }: { what: string }) => void acts.push([what, context]),
      pokes: ({ context, self }) => {
        if ((context as Context).count < maxPokes) self.send({ type: 'poke' } as never);
      },
      halts: ({ self }) => (self as unknown as { _stop(): void })._stop(),
      fails: () => {
        throw new Error('broken');
      },
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

export type Sent = { readonly type: string } | { readonly wait: number };

/** Events that some charts take and some do not, and waits. */
export const script: fc.Arbitrary<readonly Sent[]> = fc.array(
  fc.oneof(
    fc.constantFrom(...events, 'a.b', 'a.c', 'other').map((type) => ({ type })),
    fc.integer({ min: 1, max: 60 }).map((wait) => ({ wait })),
  ),
  { maxLength: 12 },
);
