/**
 * Wakes somebody once, later, and keeps nobody from stopping. For whoever waits in a table of its own, outside of every
 * chart; one that waits longer than a timer can takes several.
 * @see INS-1 in docs/specification.md
 */

import { longestTimerMs } from '../../machines/base/timer.ts';

/** Calls back once after a wait, or after as much of it as a timer can wait; returns how to take that back. */
export function wake(callback: () => void, waitMs: number): () => void {
  const timer = setTimeout(callback, Math.min(longestTimerMs, Math.max(0, waitMs))).unref();
  return () => clearTimeout(timer);
}
