/** Every transition of a chart that is reachable with the given events, for invariants that must hold on each of them. */

import type { AnyStateMachine, EventObject } from 'xstate';
import { getAdjacencyMap } from 'xstate/graph';

export interface Seen<Context> {
  readonly value: string;
  readonly context: Context;
  readonly status: string;
}

export interface Edge<Context> {
  readonly from: Seen<Context>;
  readonly event: EventObject;
  readonly to: Seen<Context>;
}

export interface Exploration<Context> {
  readonly input: object;
  readonly events: readonly EventObject[] | ((state: Seen<Context>) => readonly EventObject[]);
  /** What distinguishes two states; value and context by default. */
  readonly key?: (state: Seen<Context>) => unknown;
  /** States beyond which nothing new is to be found. */
  readonly stopWhen?: (state: Seen<Context>) => boolean;
}

/** Walks the chart from its start. Effects of the chart are not run; placeholders that decide must be provided. */
export function edgesOf<Context>(machine: AnyStateMachine, exploration: Exploration<Context>): Edge<Context>[] {
  const { input, events, key = ({ value, context }) => [value, context], stopWhen } = exploration;
  const map = getAdjacencyMap(
    machine as never,
    {
      input,
      events,
      limit: 200_000,
      serializeState: (state: unknown) => JSON.stringify(key(state as Seen<Context>)),
      ...(stopWhen === undefined ? {} : { stopWhen }),
    } as never,
  ) as unknown as Record<
    string,
    { state: Seen<Context>; transitions: Record<string, { event: EventObject; state: Seen<Context> }> }
  >;
  return Object.values(map).flatMap(({ state, transitions }) =>
    Object.values(transitions).map(({ event, state: to }) => ({ from: state, event, to })),
  );
}

/** The names of the states that the edges touch. */
export function valuesOf(edges: readonly Edge<unknown>[]): ReadonlySet<string> {
  return new Set(edges.flatMap(({ from, to }) => [from.value, to.value]));
}
