/**
 * Records when the supervisor entered its state, and its last steps. Compiled charts have both in their own snapshots.
 * @see INS-1 in docs/specification.md
 */

import type { AnyActorRef, AnyMachineSnapshot, AnyStateMachine } from 'xstate';
import { getOrMake } from '../../machines/base/get-or-make.ts';
import { stateOf, type TrailStep } from './actor-view.ts';

export interface StateTimes {
  /** Returns the same logic; the steps of its actors are recorded. */
  remembering<Logic extends AnyStateMachine>(logic: Logic): Logic;
  /** When the actor entered its state, in Unix milliseconds. */
  sinceOf(ref: AnyActorRef): number;
  stepsOf(ref: AnyActorRef): readonly TrailStep[];
}

const maxSteps = 50;

export function createStateTimes(nowMs: () => number): StateTimes {
  const seen = new WeakMap<AnyActorRef, { since: number; readonly steps: TrailStep[] }>();
  const startedAtMs = nowMs();

  function note(ref: AnyActorRef, event: string, from: string, to: string): void {
    if (from === to) return;
    const at = nowMs();
    const known = getOrMake(seen, ref, () => ({ since: at, steps: [] }));
    known.since = at;
    known.steps.push({ at, event, from, to });
    if (known.steps.length > maxSteps) known.steps.shift();
  }

  return {
    remembering<Logic extends AnyStateMachine>(logic: Logic): Logic {
      const transition: AnyStateMachine['transition'] = (before: AnyMachineSnapshot, event, scope) => {
        const next = logic.transition(before, event, scope);
        note(scope.self, event.type, stateOf(before), stateOf(next));
        return next;
      };
      // A snapshot has its state but not the event that led to it; only `transition` has both.
      return Object.create(logic, { transition: { value: transition } }) as Logic;
    },
    sinceOf: (ref) => seen.get(ref)?.since ?? startedAtMs,
    stepsOf: (ref) => seen.get(ref)?.steps ?? [],
  };
}
