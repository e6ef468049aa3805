/** A steady clock that a spec turns, with the one wake-up that a queue asks of it. */

import type { QueuePorts } from '../../actors/dispatch/queues.ts';

export interface TurnedTime extends QueuePorts {
  /** To the next wake-up, if there is one. */
  turn(): boolean;
}

export function turnedTime(): TurnedTime {
  let now = 0;
  let waking: { readonly callback: () => void; readonly atMs: number } | undefined;
  return {
    steadyMs: () => now,
    wake(callback, waitMs) {
      const mine = { callback, atMs: now + waitMs };
      waking = mine;
      return () => {
        if (waking === mine) waking = undefined;
      };
    },
    turn() {
      const due = waking;
      if (due === undefined) return false;
      waking = undefined;
      now = due.atMs;
      due.callback();
      return true;
    },
  };
}
