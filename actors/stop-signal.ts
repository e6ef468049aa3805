/**
 * One signal for every reason to stop: others that abort, and a time that is over. What Node makes of signals by itself is
 * held weakly and may be taken away by a collection of garbage before it speaks, and what waits for it then waits for
 * ever; this one lives until it has spoken or is let go.
 * @see [AbortSignal.any with a timeout](https://github.com/nodejs/node/issues/57736)
 * @see [AbortSignal.any whose source is gone](https://github.com/nodejs/node/issues/65995)
 */

import { longestTimerMs } from '../machines/base/timer.ts';

export interface StopSignal {
  readonly signal: AbortSignal;
  /** Whether it was the time that ended it. */
  isTimeOver(): boolean;
  /** Stops the clock of the time limit; `resume` lets it run on with what was left. */
  pause(): void;
  resume(): void;
  /** Lets go of the timer and of the other signals: nothing stops it any more. */
  release(): void;
}

/** @param timeoutMs left out: no time ends it */
export function createStopSignal(others: readonly (AbortSignal | null | undefined)[], timeoutMs?: number): StopSignal {
  const controller = new AbortController();
  const standing = others.filter((one) => one != null);
  let isOver = false;
  let leftMs = timeoutMs;
  let timer: NodeJS.Timeout | undefined;
  let runsSinceMs = 0;
  const release = (): void => {
    leftMs = undefined;
    clearTimeout(timer);
    timer = undefined;
    for (const one of standing) one.removeEventListener('abort', follow);
  };
  const stop = (reason: unknown): void => {
    release();
    controller.abort(reason);
  };
  const follow = (): void => stop(standing.find(({ aborted }) => aborted)?.reason);
  const resume = (): void => {
    if (leftMs === undefined || timer !== undefined) return;
    runsSinceMs = performance.now();
    const end = (): void => {
      isOver = true;
      stop(new DOMException('the time is over', 'TimeoutError'));
    };
    timer = setTimeout(end, Math.min(longestTimerMs, Math.max(0, leftMs)));
    // What is bounded keeps the process alive where it should.
    timer.unref();
  };
  const pause = (): void => {
    if (leftMs === undefined || timer === undefined) return;
    clearTimeout(timer);
    timer = undefined;
    leftMs -= performance.now() - runsSinceMs;
  };
  resume();
  for (const one of standing) one.addEventListener('abort', follow, { once: true });
  if (standing.some(({ aborted }) => aborted)) follow();
  return { signal: controller.signal, isTimeOver: () => isOver, pause, resume, release };
}
