/**
 * Limits the lines and the time that one server's input may use in each turn of the event loop. The rest waits for the
 * next turn, so that the work of other servers comes between. Unsolicited lines delay the next turn by more than they
 * took.
 * @see LIF-14 in docs/specification.md
 */

import type { FloodMeter } from './flood-meter.ts';

export interface TurnShare {
  /** Uses up lines of this turn's share; false once it is exhausted. */
  spend(lines: number): boolean;
  /** Calls back with the next share: in the next turn, or later if this one was spent on unsolicited lines. */
  next(resume: () => void): void;
  /** Lifts the limits permanently and runs the waiting callbacks at once. */
  hurry(): void;
}

export const maxLinesInTurn = 16;
const maxMs = 1;
/**
 * The rest after a turn of mostly unsolicited lines, as a multiple of its duration, including the promises of those
 * lines.
 */
const restPerTime = 3;
const maxRestMs = 30;

/** @param meter counts the unsolicited lines of the server */
export function createTurnShare(meter?: Pick<FloodMeter, 'taken'>): TurnShare {
  let spent = 0;
  let beganAtMs = 0;
  let scheduled = false;
  let hurries = false;
  let rest: NodeJS.Timeout | undefined;
  let waiting: (() => void)[] = [];

  const renew = (): void => {
    scheduled = false;
    spent = 0;
    const resumed = waiting;
    waiting = [];
    for (const resume of resumed) resume();
  };
  const endTurn = (): void => {
    const unasked = meter?.taken() ?? 0;
    const restMs = Math.ceil(restPerTime * (performance.now() - beganAtMs));
    if (unasked >= maxLinesInTurn / 2) rest = setTimeout(renew, Math.min(restMs, maxRestMs));
    else renew();
  };
  const schedule = (): void => {
    if (!scheduled) setImmediate(endTurn);
    scheduled = true;
  };

  return {
    spend(lines) {
      if (spent === 0) beganAtMs = performance.now();
      spent += lines;
      schedule();
      return hurries || (spent < maxLinesInTurn && performance.now() - beganAtMs < maxMs);
    },
    next(resume) {
      waiting.push(resume);
      schedule();
    },
    hurry() {
      hurries = true;
      clearTimeout(rest);
      renew();
    },
  };
}
