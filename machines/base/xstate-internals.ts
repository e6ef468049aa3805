/**
 * What this project uses of xstate beyond its published types, in one place. The specs run compiled charts and lean
 * actors beside the version of xstate that the lockfile has, so that another version that differs here fails there.
 * @see docs/decisions/0005-compiled-charts.md
 */

import type { AnyActorRef, EventObject } from 'xstate';

export interface ActorInternals {
  /** Undefined for the root. */
  readonly _parent?: AnyActorRef;
  readonly logic: { readonly id?: string; readonly config?: object };
  /** What only a parent may do to its child. */
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
  /** The next session id. */
  _bookId(): string;
  _relay(source: object, target: object, event: object): void;
  /** Called for everything that happens; looked up each time. */
  _sendInspectionEvent(inspected: object): void;
}

export function actorInternals(ref: AnyActorRef): ActorInternals {
  // xstate publishes no type for these.
  return ref as unknown as ActorInternals;
}

export function systemInternals(system: object): SystemInternals {
  // xstate publishes no type for these.
  return system as unknown as SystemInternals;
}
