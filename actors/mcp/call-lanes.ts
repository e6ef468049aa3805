/**
 * The lanes of the servers' calls: one call at a time on a server that does not say it takes more, any number on one that
 * does. A call that is cancelled while it waits gives its turn up.
 * @see LIF-11 in docs/specification.md
 */

import PQueue from 'p-queue';

export interface CallLanes {
  /** Runs work when it is its turn; rejects with the signal's reason where that comes first. */
  run<Value>(server: string, parallel: boolean, work: () => Promise<Value>, signal: AbortSignal): Promise<Value>;
  /** Calls that wait for their turn on a server. */
  waiting(server: string): number;
}

export function createCallLanes(): CallLanes {
  const lanes = new Map<string, PQueue>();

  async function queued<Value>(server: string, work: () => Promise<Value>, signal: AbortSignal): Promise<Value> {
    let lane = lanes.get(server);
    if (lane === undefined) {
      lane = new PQueue({ concurrency: 1 });
      lanes.set(server, lane);
    }
    const queue = lane;
    try {
      return await queue.add(work, { signal });
    } finally {
      if (queue.size === 0 && queue.pending === 0 && lanes.get(server) === queue) lanes.delete(server);
    }
  }

  return {
    run: (server, parallel, work, signal) => (parallel ? work() : queued(server, work, signal)),
    waiting: (server) => lanes.get(server)?.size ?? 0,
  };
}
