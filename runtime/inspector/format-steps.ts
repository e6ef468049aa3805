/**
 * Formats steps as JSON. A chart takes the same few transitions again and again, so each is formatted once and cached; this
 * keeps following a busy daemon cheap.
 * @see INS-3 in docs/specification.md
 */

import { getOrMake } from '../../machines/base/get-or-make.ts';
import type { Json, JsonObject } from '../../machines/base/json.ts';
import { type Microstep, stateName } from './tap.ts';

type Taken = Microstep['_transitions'][number];

/** Event types that are cached per transition. Those of effects contain an id, so there can be many. */
const maxEvents = 32;
/** Characters that JSON may escape in a string. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const special = /["\\\u0000-\u001f\ud800-\udfff]/;

export function quoted(text: string): string {
  return special.test(text) ? JSON.stringify(text) : `"${text}"`;
}

/** Returns the fields of a step. An eventless transition has the event that caused it, as the interpreter reports it. */
export function stepOf(taken: Taken, event: string): JsonObject {
  const from = stateName(taken.source);
  const [target] = taken.target ?? [];
  const step: Record<string, Json> = { event: { type: event } };
  if (taken.eventType === '') step.eventless = true;
  step.from = from;
  step.to = target === undefined ? from : stateName(target);
  return step;
}

/** Returns a function that formats a step as JSON, without the opening brace. */
export function createStepFormat(): (taken: Taken, event: string) => string {
  const known = new WeakMap<Taken, Map<string, string>>();
  return (taken, event) => {
    const byEvent = getOrMake(known, taken, () => new Map());
    let step = byEvent.get(event);
    if (step === undefined) {
      step = JSON.stringify(stepOf(taken, event)).slice(1);
      if (byEvent.size >= maxEvents) byEvent.clear();
      byEvent.set(event, step);
    }
    return step;
  };
}
