/** Every simple way through a chart, with what happened on it, for specs that say what holds on all of them. */

import type { AnyStateMachine, EventObject } from 'xstate';
import { getSimplePaths } from 'xstate/graph';

export interface Walk<Context, Told> {
  readonly value: string;
  readonly context: Context;
  /** What happened on the way, in order; the start left out. */
  readonly told: readonly (EventObject & Told)[];
}

interface Ways {
  readonly input: object;
  readonly events: readonly EventObject[];
  readonly limit: number;
}

interface State<Context> {
  readonly value: unknown;
  readonly context: Context;
  readonly status: string;
}

/** An invoked actor that has ended with an output. */
export function doneBy(id: string, output: unknown): EventObject {
  return { type: `xstate.done.actor.${id}`, output } as unknown as EventObject;
}

/** An invoked actor that has failed. */
export function failedBy(id: string): EventObject {
  return { type: `xstate.error.actor.${id}`, error: 'x' } as EventObject;
}

export function walksOf<Context, Told>(machine: AnyStateMachine, ways: Ways): readonly Walk<Context, Told>[] {
  const paths = getSimplePaths(machine, {
    ...ways,
    serializeState: ({ value, context }: State<Context>) => JSON.stringify([value, context]),
    stopWhen: ({ status }: State<Context>) => status === 'done',
  } as never);
  return paths.map(({ state, steps }) => ({
    value: String(state.value),
    context: (state as unknown as State<Context>).context,
    told: steps.map(({ event }) => event as EventObject & Told).filter(({ type }) => type !== 'xstate.init'),
  }));
}

/** A walk as a person reads it where a spec fails. */
export function wordsOfWalk({ told, value }: Walk<unknown, { readonly output?: unknown }>): string {
  const steps = told.map(({ type, output }) => {
    const kind = (output as { readonly kind?: unknown } | undefined)?.kind;
    return `${type.replace(/^xstate\.(done\.actor\.)?/, '')}${kind === undefined ? '' : `:${String(kind)}`}`;
  });
  return `${steps.join(' ')} → ${value}`;
}
