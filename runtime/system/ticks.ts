/**
 * Timers outside of every chart, which do not keep the process alive: one tick a second for all periodic checks, so that an
 * idle daemon wakes once for all of them, and a single callback after a wait.
 * @see CON-2 and INS-1 in docs/specification.md
 */

import { maxTimerMs } from '../../machines/base/timer.ts';

/** Calls back after each wait, which is a multiple of one second, until the returned function is called. */
export type Every = (callback: () => void, waitMs: number) => () => void;

interface Listener {
  readonly callback: () => void;
  readonly beats: number;
  left: number;
}

const beatMs = 1_000;

interface Ticks {
  readonly every: Every;
  /** Calls nothing back any more, and holds none of the callbacks. */
  end(): void;
}

export function createTicks(): Ticks {
  const listeners = new Set<Listener>();
  let timer: ReturnType<typeof setInterval> | undefined;

  function beat(): void {
    for (const listener of listeners) {
      listener.left -= 1;
      if (listener.left > 0) continue;
      listener.left = listener.beats;
      listener.callback();
    }
  }

  function rest(): void {
    clearInterval(timer);
    timer = undefined;
  }

  return {
    every(callback, waitMs) {
      const beats = Math.max(1, Math.round(waitMs / beatMs));
      const listener = { callback, beats, left: beats };
      listeners.add(listener);
      timer ??= setInterval(beat, beatMs).unref();
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) rest();
      };
    },
    end() {
      listeners.clear();
      rest();
    },
  };
}

/** Calls back once after a wait, or after the longest wait of a timer; returns a function that cancels it. */
export function wake(callback: () => void, waitMs: number): () => void {
  const timer = setTimeout(callback, Math.min(maxTimerMs, Math.max(0, waitMs))).unref();
  return () => clearTimeout(timer);
}
