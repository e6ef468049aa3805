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
  /** Lets go of the timer and of the other signals: nothing stops it any more. */
  release(): void;
}

/** @param timeoutMs left out: no time ends it */
export function createStopSignal(others: readonly (AbortSignal | null | undefined)[], timeoutMs?: number): StopSignal {
  const controller = new AbortController();
  const standing = others.filter((one) => one != null);
  let isOver = false;
  const release = (): void => {
    clearTimeout(timer);
    for (const one of standing) one.removeEventListener('abort', follow);
  };
  const stop = (reason: unknown): void => {
    release();
    controller.abort(reason);
  };
  const follow = (): void => stop(standing.find(({ aborted }) => aborted)?.reason);
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(
          () => {
            isOver = true;
            stop(new DOMException('the time is over', 'TimeoutError'));
          },
          Math.min(longestTimerMs, Math.max(0, timeoutMs)),
        );
  // What is bounded keeps the process alive where it should.
  timer?.unref();
  for (const one of standing) one.addEventListener('abort', follow, { once: true });
  if (standing.some(({ aborted }) => aborted)) follow();
  return { signal: controller.signal, isTimeOver: () => isOver, release };
}
