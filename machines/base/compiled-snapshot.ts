/** The snapshot of a compiled actor: like the interpreter's, with the time of its state and its last steps. */

import type { AnyActorRef } from 'xstate';
import { type Chart, maxSteps } from './compiled-chart.ts';

interface TrailStep {
  /** Unix milliseconds. */
  readonly at: number;
  readonly event: string;
  readonly from: string;
  readonly to: string;
}

/** A step and its time in one number: a list of pairs would take twice the memory, in every request. */
export function packedStep(atMs: number, index: number): number {
  return Math.floor(atMs) * maxSteps + index;
}

interface SnapshotParts {
  readonly state: number;
  readonly context: unknown;
  readonly status: 'active' | 'done' | 'stopped';
  readonly children: Readonly<Record<string, AnyActorRef>>;
  readonly since: number;
  readonly trail: number[] | undefined;
}

/** A class, because one is made per macrostep and the methods are shared. */
export class CompiledSnapshot {
  readonly status: 'active' | 'done' | 'stopped';
  readonly output: unknown;
  readonly error = undefined;
  readonly context: unknown;
  readonly children: Readonly<Record<string, AnyActorRef>>;
  /** When the state was entered, in Unix milliseconds. */
  readonly since: number;
  /** The state's number in the chart, and its key. The key is a field, because a failing actor copies only fields. */
  readonly state: number;
  readonly value: string;
  readonly #chart: Chart;
  /** Times and numbers of steps, packed by `packedStep`. */
  readonly #steps: number[] | undefined;

  constructor(chart: Chart, parts: SnapshotParts, output?: unknown) {
    this.status = parts.status;
    this.output = output;
    this.context = parts.context;
    this.children = parts.children;
    this.since = parts.since;
    this.state = parts.state;
    this.value = chart.states[parts.state]?.key ?? '';
    this.#chart = chart;
    this.#steps = parts.trail;
  }

  get tags(): ReadonlySet<string> {
    return new Set(this.#chart.states[this.state]?.tags);
  }

  /** The kept steps in packed form, for the next snapshot. */
  get trail(): number[] | undefined {
    return this.#steps;
  }

  /** The kept steps, oldest first. */
  get steps(): readonly TrailStep[] {
    const steps: TrailStep[] = [];
    const held = this.#steps ?? [];
    for (const packed of held) {
      const step = this.#chart.steps[packed % maxSteps];
      const at = Math.floor(packed / maxSteps);
      if (step !== undefined) steps.push({ at, event: step.eventType, from: step.from, to: step.to });
    }
    return steps;
  }

  matches(value: string): boolean {
    return this.value === value;
  }

  hasTag(tag: string): boolean {
    return this.#chart.states[this.state]?.tags.includes(tag) === true;
  }

  getMeta(): Record<string, unknown> {
    const state = this.#chart.states[this.state];
    return state?.meta === undefined ? {} : { [`${this.#chart.id}.${state.key}`]: state.meta };
  }

  stopped(): CompiledSnapshot {
    const { context, state, since } = this;
    return new CompiledSnapshot(this.#chart, {
      state,
      context,
      since,
      status: 'stopped',
      children: {},
      trail: this.#steps,
    });
  }

  toJSON(): object {
    return persisted(this);
  }
}

/** The JSON of a snapshot, or of the copy of its fields that a failed actor has. */
export function persisted(
  snapshot: Pick<CompiledSnapshot, 'status' | 'output' | 'value' | 'context'> & { readonly error?: unknown },
): object {
  const { status, output, error, value, context } = snapshot;
  return { status, output, error, value, context, children: {} };
}
