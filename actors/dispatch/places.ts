/**
 * The places for runs at the same time: so many of all, so many of one route, one of one coalescing group. A run asks
 * for a place and gives it back; p-queue keeps the order. Knows nothing of what a run does.
 * @see DIS-3 and COA-3 in docs/specification.md
 */

import PQueue from 'p-queue';

export interface PlaceRequest {
  readonly profile: string;
  readonly route: string;
  /** Bound of the route; absent: only the bound of all holds. */
  readonly routeConcurrency?: number;
  /** Runs of the same group never overlap. */
  readonly group?: string;
  /**
   * Asks for what a run needs beyond this gateway, before it has a place here; resolves with what gives that back, or with
   * undefined where the request was withdrawn. Never rejects.
   */
  readonly slot?: (isWithdrawn: () => boolean) => Promise<(() => void) | undefined>;
}

export interface Places {
  /** Calls `granted` once a place is free, unless the request was withdrawn; the returned function gives it back or withdraws. */
  ask(request: PlaceRequest, granted: () => void): () => void;
  /** Grants nothing more: what waits stays in the journal. */
  pause(): void;
  /** True once paused: a run that kept its place must not begin either. */
  isPaused(): boolean;
  /** How many hold a place, how many wait, and how many of these wait for a place among all alone. */
  load(): { readonly running: number; readonly waiting: number; readonly ready: number };
  resize(concurrency: number): void;
  /** Takes every place back, where those who held them are gone without a word. */
  clear(): void;
}

export function createPlaces(concurrency: number): Places {
  const all = new PQueue({ concurrency });
  const queues = new Map<string, PQueue>();
  const leavers = new Set<() => void>();
  let waiting = 0;
  let running = 0;
  let ready = 0;

  function queueOf(name: string, bound: number): PQueue {
    const standing = queues.get(name);
    if (standing !== undefined) {
      standing.concurrency = bound;
      return standing;
    }
    const created = new PQueue({ concurrency: bound });
    queues.set(name, created);
    created.on('idle', () => queues.delete(name));
    return created;
  }

  return {
    ask(request, granted) {
      let state: 'waiting' | 'ready' | 'running' | 'over' = 'waiting';
      let giveBack: (() => void) | undefined;
      let finish: () => void = () => {};
      const finished = new Promise<void>((resolve) => {
        finish = resolve;
      });
      const leave = (): void => {
        if (state === 'over') return;
        if (state === 'ready') ready -= 1;
        if (state === 'running') running -= 1;
        else waiting -= 1;
        state = 'over';
        leavers.delete(leave);
        finish();
        giveBack?.();
        giveBack = undefined;
      };
      leavers.add(leave);
      waiting += 1;

      // The global place is asked for last, so that a run that waits for its route or group holds none.
      let task = within(all, async () => {
        if (state === 'over') return;
        state = 'running';
        waiting -= 1;
        ready -= 1;
        running += 1;
        granted();
        await finished;
      });
      const begin = task;
      const { slot } = request;
      task = async () => {
        const given = slot === undefined ? undefined : await slot(() => state === 'over');
        if (state === 'over') {
          given?.();
          return;
        }
        giveBack = given;
        state = 'ready';
        ready += 1;
        await begin();
      };
      if (request.routeConcurrency !== undefined) {
        task = within(queueOf(`route/${request.profile}/${request.route}`, request.routeConcurrency), task);
      }
      if (request.group !== undefined) task = within(queueOf(`group/${request.group}`, 1), task);
      void task();
      return leave;
    },
    pause() {
      all.pause();
    },
    isPaused: () => all.isPaused,
    load: () => ({ running, waiting, ready }),
    resize(bound) {
      all.concurrency = bound;
    },
    clear() {
      for (const leave of [...leavers]) leave();
    },
  };
}

function within(queue: PQueue, task: () => Promise<void>): () => Promise<void> {
  return async () => {
    await queue.add(task);
  };
}
