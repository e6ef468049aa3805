/**
 * Waits for the next step, end or failure of any of some actors. For code that must detect the end of work that it does
 * not own.
 * @see CON-2 in docs/specification.md
 */

import type { AnyActorRef, Subscription } from 'xstate';
import { maxTimerMs } from '../../machines/base/timer.ts';

/** Resolves when one of the actors has moved, at the timeout, or when the signal aborts. */
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
    const timer = setTimeout(end, Math.min(maxTimerMs, Math.max(0, waitMs)));
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
    for (const actor of actors) {
      // An actor that has already ended reports that at once.
      if (over) return;
      const subscription = actor.subscribe({ next: end, complete: end, error: end });
      if (over) subscription.unsubscribe();
      else subscriptions.push(subscription);
    }
  });
}
