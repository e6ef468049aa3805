/**
 * The time of a test: global timers and the steady clock stand still but for what the test lets pass, so that a limit
 * ends what it must end and never judges the machine. Sockets, children and `until` keep the real time. Node's own mock
 * timers do not: an HTTP client keeps a timer from one test for the next, and theirs is no timer any more then.
 */

export interface LentTime {
  /** Lets time pass at once; what falls due within it fires, in order. */
  pass(ms: number): void;
  /** Ends the loan before the test does; what still waits never fires. */
  giveBack(): void;
}

interface Wait {
  readonly fire: () => void;
  dueMs: number;
}

const longestMs = 2 ** 31 - 1;

export function lentTime(t: { teardown(end: () => void): void }): LentTime {
  const { setTimeout: begin, clearTimeout: clear } = globalThis;
  const { now } = performance;
  const waits = new Map<unknown, Wait>();
  let aheadMs = 0;
  const nowMs = (): number => now.call(performance) + aheadMs;
  const lent = (fire: (...given: unknown[]) => void, ms = 1, ...given: unknown[]): NodeJS.Timeout => {
    // A real one, which may be cleared and held or not as ever, and does not fire by itself.
    const handle = begin(() => {}, longestMs);
    const { refresh } = handle;
    handle.refresh = () => {
      waits.set(handle, { fire: () => fire(...given), dueMs: aheadMs + ms });
      return refresh.call(handle);
    };
    return handle.refresh();
  };
  const forget = (handle: NodeJS.Timeout): void => {
    waits.delete(handle);
    clear(handle);
  };
  Object.assign(globalThis, { setTimeout: lent, clearTimeout: forget });
  performance.now = nowMs;
  const giveBack = (): void => {
    Object.assign(globalThis, { setTimeout: begin, clearTimeout: clear });
    performance.now = now;
    for (const handle of waits.keys()) clear(handle as NodeJS.Timeout);
    waits.clear();
  };
  t.teardown(giveBack);
  return {
    giveBack,
    pass(ms) {
      aheadMs += ms;
      const due = [...waits].filter(([, { dueMs }]) => dueMs <= aheadMs).sort(([, a], [, b]) => a.dueMs - b.dueMs);
      for (const [handle, wait] of due) {
        // One of those before may have cleared it.
        if (waits.get(handle) !== wait) continue;
        forget(handle as NodeJS.Timeout);
        wait.fire();
      }
    },
  };
}
