/**
 * One tick a second for all periodic checks, so that an idle daemon wakes once for all of them. It does not keep the
 * process alive.
 * @see CON-2 in docs/specification.md
 */

/** Calls back after each wait, which is a multiple of one second, until the returned function is called. */
export type Every = (callback: () => void, waitMs: number) => () => void;

interface Listener {
  readonly callback: () => void;
  readonly beats: number;
  left: number;
}

const beatMs = 1_000;

export interface Ticks {
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
