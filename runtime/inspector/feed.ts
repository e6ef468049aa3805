/**
 * Feeds the stream: a snapshot of all rows, then batches of changes. Listens to the actors only while it has a follower. A
 * batch has each changed actor once, and all of its steps, eventless ones included; steps beyond a limit are only counted.
 * @see INS-1, INS-2 and INS-3 in docs/specification.md
 */

import type { AnyActorRef } from 'xstate';
import type { JsonObject } from '../../machines/base/json.ts';
import { isPool } from '../../machines/base/pool.ts';
import type { DeltaMessage, Health, SnapshotMessage, StepRow } from '../control/contract/wire.ts';
import { machineOf, parentOf } from './actor-view.ts';
import type { History } from './history.ts';
import { effectMachine } from './rows.ts';
import { type Inspected, type Microstep, stateName } from './tap.ts';
import type { WatcherPorts } from './watcher.ts';

export interface Feed {
  snapshot(): SnapshotMessage;
  health(): Health;
  followers(): number;
  /** Calls back with every batch until the returned function is called. */
  follow(listener: (delta: DeltaMessage) => void): () => void;
}

interface FeedPorts extends WatcherPorts {
  readonly history: History;
  readonly health: () => Health;
  /** Calls back once after a wait; the returned function cancels the wait. */
  readonly wake: (callback: () => void, waitMs: number) => () => void;
}

/** Looks immediate to a person, and a thousand steps cost one message. */
const batchMs = 100;
/** Rows of a snapshot; the page could not usefully show more. */
const maxRows = 20_000;
const maxStepsInBatch = 1_000;
const maxStepsInSnapshot = 500;
/** Events of one batch that are recorded; each is copied and redacted. */
const maxEventsInBatch = 200;
/** Rows of one batch; the remaining changes come with the next. */
const maxChanged = 5_000;

export function createFeed(ports: FeedPorts): Feed {
  const { tap, rows, subjects, history, redactor, nowMs } = ports;
  const listeners = new Set<(delta: DeltaMessage) => void>();
  let dirty = new Set<AnyActorRef>();
  let born = new Set<AnyActorRef>();
  let ended = new Set<string>();
  let steps: StepRow[] = [];
  let skipped = 0;
  let remembered = 0;
  let sleeping: (() => void) | undefined;
  let leave: (() => void) | undefined;

  function mark(ref: AnyActorRef): void {
    dirty.add(ref);
    sleeping ??= ports.wake(flush, batchMs);
  }

  /** Drops the reference immediately, so that short-lived requests are not retained until the next batch. */
  function forget(ref: AnyActorRef): void {
    dirty.delete(ref);
    if (!born.delete(ref)) ended.add(subjects.addressOf(ref));
    sleeping ??= ports.wake(flush, batchMs);
  }

  function hear(inspected: Inspected): void {
    const ref = inspected.actorRef as AnyActorRef;
    switch (inspected.type) {
      case '@xstate.actor': {
        if (machineOf(ref) === effectMachine) return;
        born.add(ref);
        mark(ref);
        const parent = parentOf(ref);
        if (parent !== undefined) mark(parent);
        return;
      }
      case '@xstate.microstep':
        if (steps.length >= maxStepsInBatch) skipped += 1;
        else steps.push(stepOf(ref, inspected as Microstep));
        mark(ref);
        return;
      case '@xstate.snapshot':
        if (machineOf(ref) === effectMachine) return;
        if (inspected.snapshot.status === 'active') mark(ref);
        else forget(ref);
        return;
      case '@xstate.event':
        received(ref, inspected.sourceRef as AnyActorRef | undefined, inspected.event);
        return;
      default:
    }
  }

  function received(ref: AnyActorRef, source: AnyActorRef | undefined, event: { readonly type: string }): void {
    if (machineOf(ref) === effectMachine) return;
    // The interpreter's own events carry complete inputs and outputs, so only their type is kept.
    const own = event.type.startsWith('xstate.');
    if (isPool(ref)) {
      // A child has ended, so the pool's size has changed. A failed child emits no last snapshot.
      mark(ref);
      if (source !== undefined && event.type.startsWith('xstate.error.actor.')) forget(source);
      return;
    }
    if (
      /^xstate\.(?:done|error)\.actor\./.test(event.type) &&
      source !== undefined &&
      machineOf(source) !== effectMachine
    ) {
      mark(source);
    }
    remembered += 1;
    if (remembered > maxEventsInBatch) return;
    history.keepEvent(subjects.addressOf(ref), {
      at: nowMs(),
      type: event.type,
      from: source === undefined ? '' : subjects.addressOf(source),
      event: (own ? { type: event.type } : redactor.value(event)) as JsonObject,
    });
  }

  function flush(): void {
    sleeping = undefined;
    const changed = [];
    const rest = new Set<AnyActorRef>();
    for (const ref of dirty) {
      if (changed.length >= maxChanged) {
        rest.add(ref);
        continue;
      }
      const row = rows.rowOf(ref);
      if (row !== undefined) changed.push(row);
      else if (!born.has(ref)) ended.add(subjects.addressOf(ref));
    }
    // A restarted chart has the address of its predecessor.
    for (const { id } of changed) ended.delete(id);
    history.keep(steps);
    const delta: DeltaMessage = { at: nowMs(), changed, gone: [...ended], steps, skipped };
    clear();
    dirty = rest;
    if (rest.size > 0) sleeping = ports.wake(flush, batchMs);
    for (const listener of listeners) listener(delta);
  }

  function clear(): void {
    dirty = new Set();
    born = new Set();
    ended = new Set();
    steps = [];
    skipped = 0;
    remembered = 0;
  }

  function stepOf(ref: AnyActorRef, step: Microstep): StepRow {
    const [transition] = step._transitions;
    const from = transition === undefined ? '' : stateName(transition.source);
    const target = transition?.target?.[0];
    const { context } = step.snapshot;
    const why = rows.reasonOf(context);
    const { actor, machine, delivery } = subjects.of(ref, context);
    return {
      seq: history.nextSeq(),
      at: nowMs(),
      actor,
      machine,
      // An eventless transition has the event that caused it; only its own `eventType` is empty.
      event: transition?.eventType === '' ? '' : step.event.type,
      from,
      to: target === undefined ? from : stateName(target),
      ...(why === undefined ? {} : { why }),
      ...(delivery === undefined ? {} : { delivery }),
    };
  }

  return {
    snapshot() {
      // This snapshot contains these actors, so their end is reported even within the present batch.
      born.clear();
      const { rows: actors, more } = rows.all(maxRows);
      return { at: nowMs(), actors, more, steps: history.latest(maxStepsInSnapshot), health: ports.health() };
    },
    health: ports.health,
    followers: () => listeners.size,
    follow(listener) {
      listeners.add(listener);
      leave ??= tap.listen(true, hear);
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        leave?.();
        leave = undefined;
        sleeping?.();
        sleeping = undefined;
        clear();
      };
    },
  };
}
