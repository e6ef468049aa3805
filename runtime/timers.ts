/**
 * Keeps the timers of the actor system by actor, so that one costs what it is and an actor's end costs its own. The
 * system of xstate keeps them all in two dictionaries that it looks through whenever an actor ends, and spells a name for
 * each: with the timers of two hundred connections every call pays for eight hundred, twice, and every event that joins a
 * burst for two names and four dictionary writes.
 */

import type { AnyActorRef, EventObject } from 'xstate';

interface System {
  readonly _clock: {
    setTimeout(fire: () => void, waitMs: number): unknown;
    clearTimeout(handle: unknown): void;
  };
  readonly scheduler: Scheduler;
  _relay(source: AnyActorRef, target: AnyActorRef, event: EventObject): void;
}

interface Scheduler {
  schedule(source: AnyActorRef, target: AnyActorRef, event: EventObject, delay: number, id?: string): void;
  cancel(source: AnyActorRef, id: string): void;
  cancelAll(source: AnyActorRef): void;
}

/** A timer that waits. */
export interface WaitingTimer {
  readonly event: EventObject;
  readonly delayMs: number;
  readonly startedAtMs: number;
}

interface Timer extends WaitingTimer {
  handle: unknown;
}

type Timers = Map<AnyActorRef, Map<unknown, Timer>>;

/** By the system. */
const tables = new WeakMap<object, Timers>();

/** The timers of an actor of a system that keeps them by actor. */
export function timersOf(ref: AnyActorRef): readonly WaitingTimer[] {
  return [...(tables.get(ref.system)?.get(ref)?.values() ?? [])];
}

/** The actors of a system whose timers wait, each as often as it has timers. */
export function timerOwners(root: AnyActorRef): readonly AnyActorRef[] {
  return [...(tables.get(root.system) ?? [])].flatMap(([ref, own]) => Array.from(own, () => ref));
}

/** To be called before the root starts. */
export function indexTimers(root: AnyActorRef, nowMs: () => number): void {
  const system = root.system as unknown as System;
  const { scheduler, _clock: clock } = system;
  /** Each actor's timers under way, by their ids; an unnamed one is its own. */
  const timers: Timers = new Map();
  tables.set(system, timers);

  scheduler.schedule = (source, target, event, delay, id) => {
    const name: unknown = id ?? {};
    let own = timers.get(source);
    if (own === undefined) {
      own = new Map();
      timers.set(source, own);
    }
    const timer: Timer = { event, delayMs: delay, startedAtMs: nowMs(), handle: undefined };
    own.set(name, timer);
    timer.handle = clock.setTimeout(() => {
      drop(source, name);
      system._relay(source, target, event);
    }, delay);
  };
  scheduler.cancel = (source, id) => {
    const timer = drop(source, id);
    if (timer !== undefined) clock.clearTimeout(timer.handle);
  };
  scheduler.cancelAll = (source) => {
    const own = timers.get(source);
    if (own === undefined) return;
    timers.delete(source);
    for (const { handle } of own.values()) clock.clearTimeout(handle);
  };

  function drop(source: AnyActorRef, name: unknown): Timer | undefined {
    const own = timers.get(source);
    const timer = own?.get(name);
    own?.delete(name);
    return timer;
  }
}
