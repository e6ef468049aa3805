/**
 * Waits for the next move of any of some actors: a step, its end or its failure. For those who must know when work under
 * way is over and own none of it.
 * @see CON-2 in docs/specification.md
 */

import type { AnyActorRef, Subscription } from 'xstate';
import { longestTimerMs } from '../../machines/base/timer.ts';

/** Resolves when one of the actors has moved, when the wait is over, or when it is called off. */
export function nextMove(actors: readonly AnyActorRef[], waitMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const subscriptions: Subscription[] = [];
    let over = false;
    const end = (): void => {
      over = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      for (const subscription of subscriptions.splice(0)) subscription.unsubscribe();
      resolve();
    };
    const timer = setTimeout(end, Math.min(longestTimerMs, Math.max(0, waitMs)));
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
    for (const actor of actors) {
      // One that has ended already says so at once.
      if (over) return;
      const subscription = actor.subscribe({ next: end, complete: end, error: end });
      if (over) subscription.unsubscribe();
      else subscriptions.push(subscription);
    }
  });
}
