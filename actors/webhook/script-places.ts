/**
 * The slots for concurrent scripts of all routes and profiles: each script is up to three processes, which the limit of
 * runs does not count. First come, first served, but a route starts no more than it leaves to the others. A script's time
 * starts with its slot.
 * @see LIM-4 in docs/specification.md
 */

interface ScriptPlaces {
  /** Runs the work when its route has a slot; resolves with undefined if the signal aborts before. */
  inTurn<Value>(route: string, signal: AbortSignal, work: () => Promise<Value>): Promise<Value | undefined>;
}

interface Waiting {
  readonly route: string;
  begin(): void;
}

/** @param max how many scripts may run at once; called each time, so that a reload applies to waiting scripts */
export function createScriptPlaces(max: () => number): ScriptPlaces {
  const waiting = new Set<Waiting>();
  /** Number of running scripts per route. */
  const running = new Map<string, number>();

  /**
   * Whether a route may start another script: it must leave at least as many free slots as it already has. A first one
   * may always start.
   */
  const hasShare = (route: string): boolean => {
    let taken = 0;
    for (const count of running.values()) taken += count;
    return (running.get(route) ?? 0) < max() - taken;
  };

  /** Takes a slot and resolves with true, or with false if the signal aborts first. */
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
