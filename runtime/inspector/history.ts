/**
 * Keeps the last steps of all actors, and the last events that they received, in rings of a fixed size; both are redacted.
 * They are recorded only while a viewer is connected. An actor's own trail is kept elsewhere (`details.ts`).
 * @see INS-1 in docs/specification.md
 */

import type { EventRow, StepRow } from '../control/contract/wire.ts';
import { createRing } from '../system/ring.ts';

export interface History {
  nextSeq(): number;
  keep(steps: readonly StepRow[]): void;
  /** The newest steps, oldest first. */
  latest(max: number): readonly StepRow[];
  /** The recorded steps of one actor, oldest first. */
  stepsOf(actor: string): readonly StepRow[];
  keepEvent(actor: string, event: EventRow): void;
  eventsOf(actor: string): readonly EventRow[];
}

const maxSteps = 5_000;
const maxEvents = 1_000;

export function createHistory(): History {
  const steps = createRing<StepRow>(maxSteps);
  const events = createRing<{ readonly actor: string; readonly event: EventRow }>(maxEvents);
  let seq = 0;
  return {
    nextSeq() {
      seq += 1;
      return seq;
    },
    keep(kept) {
      for (const step of kept) steps.push(step);
    },
    latest: (max) => steps.all().slice(-max),
    stepsOf: (actor) => steps.all().filter((step) => step.actor === actor),
    keepEvent: (actor, event) => events.push({ actor, event }),
    eventsOf: (actor) =>
      events
        .all()
        .filter((one) => one.actor === actor)
        .map(({ event }) => event),
  };
}
