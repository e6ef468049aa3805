/**
 * Makes the end of an actor cost what its own timers cost. The system of xstate looks through the timers of all actors
 * whenever one ends: with the timers of two hundred connections every call pays for eight hundred, twice.
 */

import type { AnyActorRef, EventObject } from 'xstate';

interface Scheduler {
  schedule(source: AnyActorRef, target: AnyActorRef, event: EventObject, delay: number, id?: string): void;
  cancel(source: AnyActorRef, id: string): void;
  cancelAll(source: AnyActorRef): void;
}

/** To be called before the root starts. */
export function indexTimers(root: AnyActorRef): void {
  const { scheduler } = root.system as unknown as { readonly scheduler: Scheduler };
  const schedule = scheduler.schedule.bind(scheduler);
  const cancel = scheduler.cancel.bind(scheduler);
  /** A chart's timers have few names, so one that has fired may stay here until its actor ends. */
  const named = new Map<AnyActorRef, Set<string>>();
  let unnamed = 0;

  scheduler.schedule = (source, target, event, delay, id) => {
    unnamed += id === undefined ? 1 : 0;
    const name = id ?? `unnamed-${unnamed}`;
    const names = named.get(source);
    if (names === undefined) named.set(source, new Set([name]));
    else names.add(name);
    schedule(source, target, event, delay, name);
  };
  scheduler.cancelAll = (source) => {
    const names = named.get(source);
    if (names === undefined) return;
    named.delete(source);
    for (const name of names) cancel(source, name);
  };
}
