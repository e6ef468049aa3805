/**
 * Shows the transitions of every actor as they are taken, states passed through without a pause included. Attached to the
 * actor system only while somebody follows, so that nobody's watching costs nothing.
 * @see INS-1, INS-2 and INS-3 in docs/specification.md
 */

import type { AnyActorRef, InspectionEvent } from 'xstate';
import type { JsonObject } from '../../machines/base/json.ts';
import type { Redactor } from '../redact.ts';
import { addressOf, machineOf } from './address.ts';

export interface Watcher {
  /** Calls back for every record until the returned function is called. */
  follow(listener: (record: JsonObject) => void): () => void;
  /** Tells whether anybody follows. */
  isFollowed(): boolean;
}

export interface WatcherPorts {
  readonly root: () => AnyActorRef;
  readonly redactor: Redactor;
  readonly nowMs: () => number;
}

/** The parts of a microstep that xstate's types keep to themselves. */
interface Microstep {
  readonly type: '@xstate.microstep';
  readonly actorRef: AnyActorRef;
  readonly event: { readonly type: string };
  readonly snapshot: { readonly context?: unknown };
  readonly _transitions: readonly {
    readonly source: { readonly key: string };
    readonly target?: readonly { readonly key: string }[];
    readonly eventType: string;
  }[];
}

/** Facts of a context that tell one request from another. */
const shown = ['deliveryId', 'event', 'reason', 'scheme', 'plan'] as const;

export function createWatcher({ root, redactor, nowMs }: WatcherPorts): Watcher {
  const listeners = new Set<(record: JsonObject) => void>();
  let detach: (() => void) | undefined;

  function hear(inspected: InspectionEvent): void {
    const record = recordOf(inspected);
    if (record === undefined) return;
    const clean = redactor.value({ at: new Date(nowMs()).toISOString(), ...record }) as JsonObject;
    for (const listener of listeners) listener(clean);
  }

  return {
    isFollowed: () => listeners.size > 0,
    follow(listener) {
      listeners.add(listener);
      if (detach === undefined) {
        const subscription = root().system.inspect(hear);
        detach = () => subscription.unsubscribe();
      }
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        detach?.();
        detach = undefined;
      };
    },
  };
}

function recordOf(inspected: InspectionEvent): JsonObject | undefined {
  const ref = inspected.actorRef as AnyActorRef;
  if (inspected.type === '@xstate.actor') {
    return { type: inspected.type, actor: addressOf(ref), machine: machineOf(ref) };
  }
  if ((inspected.type as string) !== '@xstate.microstep') return undefined;
  const step = inspected as unknown as Microstep;
  const [taken] = step._transitions;
  if (taken === undefined) return undefined;
  return {
    type: step.type,
    actor: addressOf(ref),
    machine: machineOf(ref),
    event: step.event.type,
    from: taken.source.key,
    to: taken.target?.[0]?.key ?? taken.source.key,
    ...factsOf(step.snapshot.context),
  };
}

function factsOf(context: unknown): JsonObject {
  if (typeof context !== 'object' || context === null) return {};
  const held = context as Record<string, unknown>;
  const facts: Record<string, string> = {};
  for (const name of shown) {
    const value = held[name];
    if (typeof value === 'string') facts[name === 'deliveryId' ? 'delivery_id' : name] = value;
  }
  return facts;
}
