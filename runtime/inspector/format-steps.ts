/**
 * Formats steps as JSON. A chart takes the same few transitions again and again: what each always holds is formatted once, so
 * that following a busy daemon costs it little.
 * @see INS-3 in docs/specification.md
 */

import type { Json, JsonObject } from '../../machines/base/json.ts';
import { type Microstep, stateName } from './tap.ts';

type Taken = Microstep['_transitions'][number];

/** The kinds of events that are remembered for one transition; those of effects are named by them. */
const mostEvents = 32;
/** What JSON does not let stand in a text as it is. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const special = /["\\\u0000-\u001f\ud800-\udfff]/;

/** A text as JSON writes it. */
export function quoted(text: string): string {
  return special.test(text) ? JSON.stringify(text) : `"${text}"`;
}

/** What a transition says of itself; an eventless one shows the event that set it off, as the interpreter reports it. */
export function stepOf(taken: Taken, event: string): JsonObject {
  const from = stateName(taken.source);
  const [target] = taken.target ?? [];
  const step: Record<string, Json> = { event: { type: event } };
  if (taken.eventType === '') step.eventless = true;
  step.from = from;
  step.to = target === undefined ? from : stateName(target);
  return step;
}

/** Returns what gives a step's JSON without the brace that opens it. */
export function createStepFormat(): (taken: Taken, event: string) => string {
  const known = new WeakMap<Taken, Map<string, string>>();
  return (taken, event) => {
    let spelled = known.get(taken);
    if (spelled === undefined) {
      spelled = new Map();
      known.set(taken, spelled);
    }
    let step = spelled.get(event);
    if (step === undefined) {
      step = JSON.stringify(stepOf(taken, event)).slice(1);
      if (spelled.size >= mostEvents) spelled.clear();
      spelled.set(event, step);
    }
    return step;
  };
}
