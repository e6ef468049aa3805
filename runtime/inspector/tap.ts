/**
 * The only place that listens to the actor system: attached with the first listener and removed with the last, so it costs
 * nothing without one. An error of a listener is reported and does not reach the actors.
 * @see INS-3 in docs/specification.md
 */

import type { AnyActorRef, InspectionEvent } from 'xstate';
import type { Watched } from '../../machines/base/lean-actor.ts';
import { systemInternals } from '../../machines/base/xstate-internals.ts';

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
  /** What the listeners need: everything, only steps, or nothing. */
  watched(): Watched;
  listeners(): number;
  /** Calls `hear` for spawns and steps, and for everything else if wanted, until the returned function is called. */
  listen(wanted: Exclude<Watched, false>, hear: (inspected: Inspected) => void): () => void;
}

export function createTap(root: () => AnyActorRef, failed: (error: unknown) => void): Tap {
  const listeners = new Map<(inspected: Inspected) => void, Exclude<Watched, false>>();
  let watched: Watched = false;
  let detach: (() => void) | undefined;

  function hear(inspected: object): void {
    // There is one per action, and no listener uses them.
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
        // `inspect` would make the system copy every event first, which doubles the cost.
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
