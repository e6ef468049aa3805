/**
 * Keeps the timers of the actor system by actor, so that the end of an actor costs only its own timers. The system of
 * xstate keeps all timers in two dictionaries, which it searches whenever an actor ends, and builds a name for each: with
 * the timers of two hundred connections every call pays for eight hundred, twice, and every event that joins a batch for
 * two names and four dictionary writes.
 */

import type { AnyActorRef, EventObject } from 'xstate';
import { ChurnMap } from '../../machines/base/churn-map.ts';
import { getOrMake } from '../../machines/base/get-or-make.ts';
import { systemInternals } from '../../machines/base/xstate-internals.ts';

interface WaitingTimer {
  readonly event: EventObject;
  readonly delayMs: number;
  readonly startedAtMs: number;
}

interface Timer extends WaitingTimer {
  /** Undefined for a timer that cannot be cancelled by itself. */
  readonly id: string | undefined;
  handle: unknown;
}

/** An actor has one or two, so searching a list is faster than a Map. */
type Timers = ChurnMap<AnyActorRef, Timer[]>;

/** By actor system. */
const tables = new WeakMap<object, Timers>();

export function timersOf(ref: AnyActorRef): readonly WaitingTimer[] {
  return [...(tables.get(ref.system)?.get(ref) ?? [])];
}

/** The actors with pending timers; each occurs once per timer. */
export function timerOwners(root: AnyActorRef): readonly AnyActorRef[] {
  const owners: AnyActorRef[] = [];
  tables.get(root.system)?.each((ref, own) => void owners.push(...own.map(() => ref)));
  return owners;
}

/** Must be called before the root starts. */
export function indexTimers(root: AnyActorRef, nowMs: () => number): void {
  const system = systemInternals(root.system);
  const { scheduler, _clock: clock } = system;
  const timers: Timers = new ChurnMap();
  tables.set(system, timers);

  scheduler.schedule = (source: AnyActorRef, target: AnyActorRef, event, delay, id) => {
    const timer: Timer = { id, event, delayMs: delay, startedAtMs: nowMs(), handle: undefined };
    getOrMake(timers, source, () => []).push(timer);
    timer.handle = clock.setTimeout(() => {
      drop(source, timer);
      system._relay(source, target, event);
    }, delay);
  };
  scheduler.cancel = (source: AnyActorRef, id) => {
    const timer = timers.get(source)?.findLast((one) => one.id === id);
    if (timer === undefined) return;
    drop(source, timer);
    clock.clearTimeout(timer.handle);
  };
  scheduler.cancelAll = (source: AnyActorRef) => {
    const own = timers.get(source);
    if (own === undefined) return;
    timers.delete(source);
    for (const { handle } of own) clock.clearTimeout(handle);
  };

  function drop(source: AnyActorRef, timer: Timer): void {
    const own = timers.get(source);
    const at = own?.indexOf(timer) ?? -1;
    if (at >= 0) own?.splice(at, 1);
  }
}
