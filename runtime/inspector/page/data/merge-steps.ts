/** Merges an actor's own trail with the steps that the page has received, each step once. Pure. */

import type { StepRow } from '../../../control/contract/wire.ts';

/** An actor records a step a moment before the feed does. */
const sameMomentMs = 50;

/** Returns the steps oldest first. Both number them differently, so equal steps are found by their content. */
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
