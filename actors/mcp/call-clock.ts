/**
 * The clocks of the calls of one session: each stops while a person is asked something for its call, and fires when the
 * call has used up its time.
 * @see TRU-5 and LIF-3 in docs/specification.md
 */

interface CallTime {
  /** Stops the clock until the returned function, and that of every other hold, has been called. */
  hold(): () => void;
  /** The call is over: its clock never fires. */
  end(): void;
}

interface Row {
  readonly fire: () => void;
  /** By the steady clock; while the clock is held, the value at which it stopped. */
  dueMs: number;
}

export function createCallClock() {
  const running = new Set<Row>();
  /** One timer for all calls, because most end long before it fires. */
  let timer: NodeJS.Timeout | undefined;
  let wakeAtMs = Number.POSITIVE_INFINITY;

  function wakeBy(dueMs: number): void {
    if (dueMs >= wakeAtMs) return;
    clearTimeout(timer);
    wakeAtMs = dueMs;
    timer = setTimeout(wake, Math.ceil(dueMs - performance.now())).unref();
  }

  function wake(): void {
    wakeAtMs = Number.POSITIVE_INFINITY;
    const nowMs = performance.now();
    for (const row of [...running]) {
      if (row.dueMs > nowMs) wakeBy(row.dueMs);
      // A row that fired earlier may have ended this one.
      else if (running.delete(row)) row.fire();
    }
  }

  return {
    /** Starts the clock of a call; `fire` is called after it has run for `ms` milliseconds. */
    begin(ms: number, fire: () => void): CallTime {
      const row: Row = { fire, dueMs: performance.now() + ms };
      let holds = 0;
      let stoppedAtMs = 0;
      let isOver = false;
      running.add(row);
      wakeBy(row.dueMs);
      return {
        hold() {
          holds += 1;
          if (holds === 1) {
            stoppedAtMs = performance.now();
            // The clock has fired, or the call is over.
            isOver ||= !running.delete(row);
          }
          let isReleased = false;
          return () => {
            if (isReleased) return;
            isReleased = true;
            holds -= 1;
            if (holds > 0 || isOver) return;
            row.dueMs += performance.now() - stoppedAtMs;
            running.add(row);
            wakeBy(row.dueMs);
          };
        },
        end() {
          isOver = true;
          running.delete(row);
        },
      };
    },
  };
}
