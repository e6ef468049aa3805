/**
 * The queues of the servers' calls: one call at a time on a server that does not declare parallel calls, any number on
 * one that does. Cancelling a waiting call frees its turn.
 * @see LIF-11 in docs/specification.md
 */

import PQueue from 'p-queue';
import { getOrMake } from '../../machines/base/get-or-make.ts';

/** Begins work that reports its outcome once; returns a function that cancels it. */
type Work<Outcome> = (settle: (outcome: Outcome) => void) => () => void;

export interface CallQueues {
  /** Begins work when it is its turn. Work that is cancelled before never begins and reports nothing. */
  run<Outcome>(queue: Queue, work: Work<Outcome>, settle: (outcome: Outcome) => void): () => void;
}

interface Queue {
  readonly server: string;
  readonly parallel: boolean;
}

export function createCallQueues(): CallQueues {
  const queues = new Map<string, PQueue>();

  function queued<Outcome>(server: string, work: Work<Outcome>, settle: (outcome: Outcome) => void): () => void {
    const queue = getOrMake(queues, server, () => new PQueue({ concurrency: 1 }));
    const stop = new AbortController();
    let cancel: (() => void) | undefined;
    const turn = (): Promise<void> =>
      new Promise((resolve) => {
        cancel = work((outcome) => {
          resolve();
          settle(outcome);
        });
      });
    const dropIfIdle = (): void => {
      if (queue.size === 0 && queue.pending === 0 && queues.get(server) === queue) queues.delete(server);
    };
    queue.add(turn, { signal: stop.signal }).then(dropIfIdle, dropIfIdle);
    return () => {
      stop.abort();
      cancel?.();
    };
  }

  return {
    run: ({ server, parallel }, work, settle) => (parallel ? work(settle) : queued(server, work, settle)),
  };
}
