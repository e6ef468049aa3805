/**
 * A single callback after a wait, which does not keep the process alive. For tables outside of every chart. After a wait
 * that is longer than a timer allows, the caller waits again.
 * @see INS-1 in docs/specification.md
 */

import { longestTimerMs } from '../../machines/base/timer.ts';

/** Calls back once after a wait, or after the longest wait of a timer; returns a function that cancels it. */
export function wake(callback: () => void, waitMs: number): () => void {
  const timer = setTimeout(callback, Math.min(longestTimerMs, Math.max(0, waitMs))).unref();
  return () => clearTimeout(timer);
}
