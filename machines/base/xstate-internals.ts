/**
 * What this project uses of XState beyond its published types. The specs compare compiled charts and lean actors with the
 * XState version in the lockfile, so that a version with other internals fails there.
 * @see docs/decisions/0005-compiled-charts.md
 */

import type { AnyActorRef, EventObject } from 'xstate';

interface ActorInternals {
  /** Undefined for the root. */
  readonly _parent?: AnyActorRef;
  readonly logic: { readonly id?: string; readonly config?: object };
  /** Only a parent may call this on its child. */
  _stop(): void;
}

interface SchedulerInternals {
  schedule(source: object, target: object, event: EventObject, delayMs: number, id?: string): void;
  cancel(source: object, id: string): void;
  cancelAll(source: object): void;
}

export interface SystemInternals {
  readonly _clock: {
    setTimeout(fire: () => void, waitMs: number): unknown;
    clearTimeout(handle: unknown): void;
  };
  readonly _logger: unknown;
  readonly scheduler: SchedulerInternals;
  /** Returns the next session id. */
  _bookId(): string;
  _relay(source: object, target: object, event: object): void;
  /** Called for every inspection event; looked up on each call. */
  _sendInspectionEvent(inspected: object): void;
}

export function actorInternals(ref: AnyActorRef): ActorInternals {
  // XState publishes no type for these.
  return ref as unknown as ActorInternals;
}

export function systemInternals(system: object): SystemInternals {
  // XState publishes no type for these.
  return system as unknown as SystemInternals;
}
