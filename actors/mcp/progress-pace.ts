/**
 * Forwards the progress of one call no faster than a caller can use it: ten a second after the first few. In between only
 * the latest is kept, and the last one is always forwarded.
 * @see LIF-14 and SRV-3 in docs/specification.md
 */

import type { Progress } from './direct-calls.ts';

const everyMs = 100;
/** So that a call with a few steps shows each of them. */
const burstMs = 4 * everyMs;

/** @param steadyMs milliseconds of a clock that only rises. Default: that of the process */
export function paceProgress(pass: (progress: Progress) => void, steadyMs: () => number = () => performance.now()) {
  /** When the next one is due at the steady rate. */
  let nextMs = Number.NEGATIVE_INFINITY;
  let waiting: Progress | undefined;
  let timer: NodeJS.Timeout | undefined;

  function passOn(progress: Progress): void {
    nextMs = Math.max(nextMs, steadyMs()) + everyMs;
    pass(progress);
  }

  function passWaiting(): void {
    clearTimeout(timer);
    timer = undefined;
    if (waiting !== undefined) passOn(waiting);
    waiting = undefined;
  }

  return {
    take(progress: Progress): void {
      const waitMs = nextMs - burstMs - steadyMs();
      if (timer === undefined && waitMs <= 0) {
        passOn(progress);
        return;
      }
      waiting = progress;
      timer ??= setTimeout(passWaiting, Math.ceil(waitMs)).unref();
    },
    /** Ends the call: forwards the progress that waits. */
    end: passWaiting,
  };
}
