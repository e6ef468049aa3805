/**
 * The places for scripts at the same time, of all routes and profiles: each script is up to three processes, which runs do
 * not count. First come, first served, but a route begins no more than it leaves to the others. Knows nothing of what a
 * script does; its time begins with its place.
 * @see LIM-4 in docs/specification.md
 */

export interface ScriptPlaces {
  /** Runs the work when its route has a place; resolves with undefined where the signal aborts before. */
  inTurn<Value>(route: string, signal: AbortSignal, work: () => Promise<Value>): Promise<Value | undefined>;
}

interface Waiting {
  readonly route: string;
  begin(): void;
}

/** @param most how many scripts may run at once; asked each time, so that a reload counts for what still waits */
export function createScriptPlaces(most: () => number): ScriptPlaces {
  const waiting = new Set<Waiting>();
  /** How many scripts of each route run. */
  const running = new Map<string, number>();

  /** Whether a route may begin one more: it leaves the others at least as many places as it has. One may always begin. */
  const hasShare = (route: string): boolean => {
    let taken = 0;
    for (const count of running.values()) taken += count;
    return (running.get(route) ?? 0) < most() - taken;
  };

  /** Takes a place and resolves with true, or with false where the signal aborts before there is one. */
  const havePlace = (route: string, signal: AbortSignal): Promise<boolean> =>
    new Promise((resolve) => {
      const begin = (): void => {
        waiting.delete(mine);
        signal.removeEventListener('abort', leave);
        running.set(route, (running.get(route) ?? 0) + 1);
        resolve(true);
      };
      const leave = (): void => {
        waiting.delete(mine);
        resolve(false);
      };
      const mine = { route, begin };
      if (signal.aborted) leave();
      else if (hasShare(route)) begin();
      else {
        waiting.add(mine);
        signal.addEventListener('abort', leave, { once: true });
      }
    });

  return {
    async inTurn(route, signal, work) {
      if (!(await havePlace(route, signal))) return undefined;
      try {
        return await work();
      } finally {
        const left = (running.get(route) ?? 0) - 1;
        if (left > 0) running.set(route, left);
        else running.delete(route);
        for (const next of waiting) if (hasShare(next.route)) next.begin();
      }
    },
  };
}
