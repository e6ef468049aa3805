/**
 * Limits how many servers start at once, so that the first are usable while the last still wait. Starts are in order of
 * arrival, except that servers with a waiting call come first.
 * @see LIF-15 in docs/specification.md
 */

interface Waiting {
  readonly key: string;
  readonly start: () => void;
}

/**
 * @param max the number of slots
 * @param isAwaited whether a call waits for a server, evaluated whenever a slot is free
 */
export function createStartSlots(max: number, isAwaited: (key: string) => boolean) {
  const waiting: Waiting[] = [];
  let taken = 0;

  function startNext(): void {
    if (taken >= max || waiting.length === 0) return;
    const awaited = waiting.findIndex(({ key }) => isAwaited(key));
    const [next] = waiting.splice(Math.max(0, awaited), 1);
    taken += 1;
    next?.start();
  }

  function leave(): void {
    taken -= 1;
    startNext();
  }

  return {
    /** Resolves at this server's turn with a function that releases the slot. Rejects with the reason of the signal. */
    enter: (key: string, signal: AbortSignal): Promise<() => void> =>
      new Promise((resolve, reject) => {
        if (signal.aborted) {
          reject(signal.reason);
          return;
        }
        const row: Waiting = {
          key,
          start() {
            signal.removeEventListener('abort', giveUp);
            resolve(leave);
          },
        };
        const giveUp = (): void => {
          waiting.splice(waiting.indexOf(row), 1);
          reject(signal.reason);
        };
        signal.addEventListener('abort', giveUp, { once: true });
        waiting.push(row);
        startNext();
      }),
  };
}
