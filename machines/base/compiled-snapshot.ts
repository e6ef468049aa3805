/** What a compiled actor shows of itself: like the interpreter's snapshot, with the time of its state and its last steps. */

import type { AnyActorRef } from 'xstate';
import type { Chart } from './compiled-chart.ts';

export interface TrailStep {
  /** Unix milliseconds. */
  readonly at: number;
  readonly event: string;
  readonly from: string;
  readonly to: string;
}

export interface SnapshotParts {
  readonly state: number;
  readonly context: unknown;
  readonly status: 'active' | 'done' | 'stopped';
  readonly children: Readonly<Record<string, AnyActorRef>>;
  readonly since: number;
  readonly trail: number[] | undefined;
}

/** A class, because one is made per macrostep and its methods are shared. */
export class CompiledSnapshot {
  readonly status: 'active' | 'done' | 'stopped';
  readonly output: unknown;
  readonly error = undefined;
  readonly context: unknown;
  readonly children: Readonly<Record<string, AnyActorRef>>;
  /** When the state was entered, in Unix milliseconds. */
  readonly since: number;
  /** The number of the state in the chart. */
  readonly state: number;
  readonly #chart: Chart;
  /** Times and numbers of steps, alternating. */
  readonly #steps: number[] | undefined;

  constructor(chart: Chart, parts: SnapshotParts, output?: unknown) {
    this.status = parts.status;
    this.output = output;
    this.context = parts.context;
    this.children = parts.children;
    this.since = parts.since;
    this.state = parts.state;
    this.#chart = chart;
    this.#steps = parts.trail;
  }

  get value(): string {
    return this.#chart.states[this.state]?.key ?? '';
  }

  get tags(): ReadonlySet<string> {
    return new Set(this.#chart.states[this.state]?.tags);
  }

  /** The remembered steps as they lie in memory, for the next snapshot. */
  get trail(): number[] | undefined {
    return this.#steps;
  }

  /** The remembered steps, oldest first. */
  get steps(): readonly TrailStep[] {
    const steps: TrailStep[] = [];
    const held = this.#steps ?? [];
    for (let at = 0; at + 1 < held.length; at += 2) {
      const step = this.#chart.steps[held[at + 1] ?? -1];
      if (step !== undefined) steps.push({ at: held[at] ?? 0, event: step.eventType, from: step.from, to: step.to });
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
    const { status, output, value, context } = this;
    return { status, output, value, context, children: {} };
  }
}
