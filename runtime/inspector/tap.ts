/**
 * The one place where the actor system is listened to: attached with the first listener and taken away with the last, so
 * that nobody's watching costs nothing. A listener that fails is left out of it; the actors never notice.
 * @see INS-3 in docs/specification.md
 */

import type { AnyActorRef, InspectionEvent } from 'xstate';
import type { Watched } from '../../machines/base/lean-actor.ts';
import { systemInternals } from '../../machines/base/xstate-internals.ts';

/** The parts of a microstep that xstate's types keep to themselves. */
export interface Microstep {
  readonly type: '@xstate.microstep';
  readonly actorRef: AnyActorRef;
  readonly event: { readonly type: string };
  readonly snapshot: { readonly context?: unknown; readonly value?: unknown; readonly status?: string };
  readonly _transitions: readonly {
    readonly source: { readonly path: readonly string[] };
    readonly target?: readonly { readonly path: readonly string[] }[];
    readonly eventType: string;
  }[];
}

export type Inspected = InspectionEvent | Microstep;

export interface Tap {
  /** What anybody listens to; the steps alone where nobody wants more. */
  watched(): Watched;
  listeners(): number;
  /** Hears of spawns and steps, and of all the rest where that is wanted, until the returned function is called. */
  listen(wanted: Exclude<Watched, false>, hear: (inspected: Inspected) => void): () => void;
}

export function createTap(root: () => AnyActorRef, failed: (error: unknown) => void): Tap {
  const listeners = new Map<(inspected: Inspected) => void, Exclude<Watched, false>>();
  let watched: Watched = false;
  let detach: (() => void) | undefined;

  function hear(inspected: object): void {
    // One an action, and nobody asks for them.
    if ((inspected as { readonly type: string }).type === '@xstate.action') return;
    for (const listener of listeners.keys()) {
      try {
        listener(inspected as Inspected);
      } catch (error) {
        failed(error);
      }
    }
  }

  function look(): void {
    const wanted = [...listeners.values()];
    watched = wanted.includes(true) || (wanted.length > 0 && 'steps');
  }

  return {
    watched: () => watched,
    listeners: () => listeners.size,
    listen(wanted, listener) {
      listeners.set(listener, wanted);
      look();
      if (detach === undefined) {
        // Through `inspect` the system would copy every event first, which costs as much again as all the rest.
        const system = systemInternals(root().system);
        const before = system._sendInspectionEvent;
        system._sendInspectionEvent = hear;
        detach = () => {
          system._sendInspectionEvent = before;
        };
      }
      return () => {
        listeners.delete(listener);
        look();
        if (listeners.size > 0) return;
        detach?.();
        detach = undefined;
      };
    },
  };
}

/** A state's name within its chart, outer states before it. */
export function stateName({ path }: { readonly path: readonly string[] }): string {
  return path.join('.');
}
