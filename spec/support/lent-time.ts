/**
 * Time that a spec lets pass: the clocks and the waits of a process jump together, so that a limit ends what it must end
 * and never judges the machine. Between two jumps they stand still, or run as ever. Sockets, children and Node's own
 * waits keep the real time. Node's mock timers do not serve: an HTTP client keeps a timer from one test for the next, and
 * theirs is no timer any more then.
 */

export interface LentTime {
  /** Lets time pass at once; what falls due within it fires, in order. */
  pass(ms: number): void;
  /** Ends the loan; what still waits never fires. */
  giveBack(): void;
}

interface Wait {
  readonly fire: () => void;
  readonly everyMs: number | undefined;
  dueMs: number;
}

const maxMs = 2 ** 31 - 1;

/** The time of one test, which stands still unless the test lets it pass. */
export function lentTime(t: { teardown(end: () => void): void }): LentTime {
  const time = lendTime({ runs: false });
  t.teardown(() => time.giveBack());
  return time;
}

/** @param runs whether the time goes on by itself too */
export function lendTime({ runs }: { readonly runs: boolean }): LentTime {
  const { setTimeout: begin, clearTimeout: clear, setInterval: repeat, clearInterval: stop } = globalThis;
  const { now: steadyMs } = performance;
  const { now: wallMs } = Date;
  const waits = new Map<unknown, Wait>();
  let aheadMs = 0;
  let beat: NodeJS.Timeout | undefined;
  const nowMs = (): number => (runs ? steadyMs.call(performance) : 0) + aheadMs;

  /** Where the time runs, one real timer stands for all that wait. */
  const wake = (): void => {
    if (!runs) return;
    clear(beat);
    let nextMs = Number.POSITIVE_INFINITY;
    for (const { dueMs } of waits.values()) nextMs = Math.min(nextMs, dueMs);
    if (nextMs < Number.POSITIVE_INFINITY) beat = begin(fireDue, Math.min(maxMs, nextMs - nowMs())).unref();
  };
  const fireDue = (): void => {
    const atMs = nowMs();
    const due = [...waits].filter(([, { dueMs }]) => dueMs <= atMs).sort(([, a], [, b]) => a.dueMs - b.dueMs);
    for (const [handle, wait] of due) {
      // One of those before may have cleared it.
      if (waits.get(handle) !== wait) continue;
      if (wait.everyMs === undefined) end(handle);
      else wait.dueMs = atMs + wait.everyMs;
      wait.fire();
    }
    wake();
  };
  const waiting =
    (repeats: boolean) =>
    (fire: (...given: unknown[]) => void, ms = 1, ...given: unknown[]): NodeJS.Timeout => {
      // A real one, which may be cleared and holds the process or not as ever, and does not fire by itself.
      const handle = begin(() => {}, maxMs);
      const { refresh } = handle;
      const waitMs = Math.max(1, ms);
      handle.refresh = () => {
        const everyMs = repeats ? waitMs : undefined;
        waits.set(handle, { fire: () => fire(...given), everyMs, dueMs: nowMs() + waitMs });
        wake();
        return refresh.call(handle);
      };
      return handle.refresh();
    };
  const end = (handle: unknown): void => {
    waits.delete(handle);
    clear(handle as NodeJS.Timeout);
  };

  const lent = { setTimeout: waiting(false), setInterval: waiting(true), clearTimeout: end, clearInterval: end };
  Object.assign(globalThis, lent);
  performance.now = () => steadyMs.call(performance) + aheadMs;
  Date.now = () => wallMs() + aheadMs;
  return {
    pass(ms) {
      aheadMs += ms;
      fireDue();
    },
    giveBack() {
      Object.assign(globalThis, { setTimeout: begin, clearTimeout: clear, setInterval: repeat, clearInterval: stop });
      performance.now = steadyMs;
      Date.now = wallMs;
      clear(beat);
      for (const handle of waits.keys()) clear(handle as NodeJS.Timeout);
      waits.clear();
    },
  };
}
