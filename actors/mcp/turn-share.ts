/**
 * Bounds what one server's input may take of each turn of the event loop: a number of lines, and a time. What is left
 * waits for the next turn, so that the work of the other servers comes between; lines that nothing asked for wait longer
 * than they took.
 * @see LIF-14 in docs/specification.md
 */

import type { FloodMeter } from './flood-meter.ts';

export interface TurnShare {
  /** Takes lines from the share of this turn; false once it is used up. */
  spend(lines: number): boolean;
  /** Calls back when there is a new share: in the next turn, or later where this one went to unasked lines. */
  next(resume: () => void): void;
  /** Lifts the bounds for good, and calls back at once whatever waits. */
  hurry(): void;
}

export const mostLinesInTurn = 16;
const longestMs = 1;
/** Of a turn that went to unasked lines, in which the promises that they led to are included. */
const restPerTime = 3;
const longestRestMs = 30;

/** @param meter counts the unasked lines of the server */
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
    if (unasked >= mostLinesInTurn / 2) rest = setTimeout(renew, Math.min(restMs, longestRestMs));
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
      return hurries || (spent < mostLinesInTurn && performance.now() - beganAtMs < longestMs);
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
