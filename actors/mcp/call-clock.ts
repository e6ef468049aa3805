/**
 * The clock of the calls of one session, which stands still while a person is asked something for them. Fires what is due
 * on it; knows no call.
 * @see TRU-5 and LIF-3 in docs/specification.md
 */

export interface CallClock {
  /** Milliseconds that only rise, and stand still while the clock is held. */
  nowMs(): number;
  /** Calls back after so many milliseconds of this clock; returns what cancels that. */
  after(ms: number, fire: () => void): () => void;
  /**
   * Stops the clock until the returned function, and that of every other hold, has been called. Does nothing while nothing
   * is due: what a server asks outside of any call must not stop the calls that begin later.
   */
  hold(): () => void;
}

interface Wait {
  readonly dueMs: number;
  readonly fire: () => void;
  timer: NodeJS.Timeout | undefined;
}

export function createCallClock(): CallClock {
  const waits = new Set<Wait>();
  let holds = 0;
  let heldSinceMs = 0;
  let heldMs = 0;
  const nowMs = (): number => (holds > 0 ? heldSinceMs : performance.now()) - heldMs;

  function start(wait: Wait): void {
    wait.timer = setTimeout(
      () => {
        if (wait.dueMs > nowMs()) {
          start(wait);
          return;
        }
        waits.delete(wait);
        wait.fire();
      },
      Math.ceil(wait.dueMs - nowMs()),
    ).unref();
  }

  return {
    nowMs,
    after(ms, fire) {
      const wait: Wait = { dueMs: nowMs() + ms, fire, timer: undefined };
      waits.add(wait);
      if (holds === 0) start(wait);
      return () => {
        waits.delete(wait);
        clearTimeout(wait.timer);
      };
    },
    hold() {
      if (waits.size === 0) return () => {};
      if (holds === 0) {
        heldSinceMs = performance.now();
        for (const { timer } of waits) clearTimeout(timer);
      }
      holds += 1;
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        holds -= 1;
        if (holds > 0) return;
        heldMs += performance.now() - heldSinceMs;
        for (const wait of waits) start(wait);
      };
    },
  };
}
