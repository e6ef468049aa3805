/**
 * One signal for several reasons to stop: other signals, and a timeout. Node holds its own combined signals weakly: they
 * may be garbage-collected before they fire, and the waiting code then waits forever. This one lives until it fires or is
 * released.
 * @see [AbortSignal.any with a timeout](https://github.com/nodejs/node/issues/57736)
 * @see [AbortSignal.any whose source is gone](https://github.com/nodejs/node/issues/65995)
 */

import { maxTimerMs } from '../machines/base/timer.ts';

export interface StopSignal {
  readonly signal: AbortSignal;
  /** Whether the timeout ended it. */
  isTimeOver(): boolean;
  /** Stops the clock of the timeout; `resume` continues with the time that was left. */
  pause(): void;
  resume(): void;
  /** Removes the timer and the listeners on the other signals: it no longer fires. */
  release(): void;
}

/** @param timeoutMs no timeout if left out */
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
    timer = setTimeout(end, Math.min(maxTimerMs, Math.max(0, leftMs)));
    // The work that is limited keeps the process alive if necessary.
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

/** The work, unless the signal aborts first: for work that takes no signal. Its result is ignored then. */
export function unlessAborted<Value>(work: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
