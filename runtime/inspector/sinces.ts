/**
 * Remembers since when the few long-lived charts are in their state, and their last steps: the supervisor, the gateway,
 * the journal. The many short-lived ones carry both in their own snapshots.
 * @see INS-1 in docs/specification.md
 */

import type { AnyActorRef } from 'xstate';

export interface Step {
  readonly at: number;
  readonly event: string;
  readonly from: string;
  readonly to: string;
}

export interface Sinces {
  /** Follows an actor until it ends. */
  watch(ref: AnyActorRef): void;
  /** Unix milliseconds. */
  sinceOf(ref: AnyActorRef): number;
  stepsOf(ref: AnyActorRef): readonly Step[];
}

const mostSteps = 50;

export function createSinces(nowMs: () => number): Sinces {
  const seen = new WeakMap<AnyActorRef, { value: string; since: number; readonly steps: Step[] }>();
  const startedAtMs = nowMs();

  return {
    watch(ref) {
      const note = (value: unknown): void => {
        const to = JSON.stringify(value) ?? '';
        const last = seen.get(ref);
        if (last === undefined) {
          seen.set(ref, { value: to, since: nowMs(), steps: [] });
          return;
        }
        if (last.value === to) return;
        const at = nowMs();
        last.steps.push({ at, event: '', from: plain(last.value), to: plain(to) });
        if (last.steps.length > mostSteps) last.steps.shift();
        last.value = to;
        last.since = at;
      };
      note((ref.getSnapshot() as { value?: unknown }).value);
      ref.subscribe({ next: (snapshot: { value?: unknown }) => note(snapshot.value), error: () => {} });
    },
    sinceOf: (ref) => seen.get(ref)?.since ?? startedAtMs,
    stepsOf: (ref) => seen.get(ref)?.steps ?? [],
  };
}

/** A JSON string's value without its quotes; other values as they are. */
function plain(json: string): string {
  return json.startsWith('"') ? json.slice(1, -1) : json;
}
