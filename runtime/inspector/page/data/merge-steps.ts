/** Puts an actor's own memory of its steps and those that the page saw together, each once. Pure. */

import type { StepRow } from '../../wire.ts';

/** An actor notes a step a moment before the feed hears of it. */
const sameMomentMs = 50;

/** Oldest first. The two are numbered each in its own way, so that what a step was tells it apart, not its number. */
export function mergeSteps(remembered: readonly StepRow[], seen: readonly StepRow[]): StepRow[] {
  const rest = [...remembered];
  const unknown = seen.filter((step) => {
    const at = rest.findIndex((known) => isSame(known, step));
    if (at >= 0) rest.splice(at, 1);
    return at < 0;
  });
  return [...remembered, ...unknown].sort((one, other) => one.at - other.at);
}

function isSame(one: StepRow, other: StepRow): boolean {
  return (
    one.from === other.from &&
    one.to === other.to &&
    one.event === other.event &&
    Math.abs(one.at - other.at) <= sameMomentMs
  );
}
