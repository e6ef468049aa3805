/** Formats where an actor lives: a ward's child as `room/key`, others by their ids from the supervisor down. */

import type { AnyActorRef } from 'xstate';
import { isWard, wardHandle } from '../../machines/base/ward.ts';
import { actorInternals } from '../../machines/base/xstate-internals.ts';

export function addressOf(ref: AnyActorRef): string {
  const parent = parentOf(ref);
  if (parent === undefined) return 'supervisor';
  if (isWard(parent)) {
    return `${wardHandle(parent).name}/${ref.id}`;
  }
  const above = addressOf(parent);
  return above === 'supervisor' ? ref.id : `${above}/${ref.id}`;
}

/** Undefined for the supervisor. */
export function parentOf(ref: AnyActorRef): AnyActorRef | undefined {
  return actorInternals(ref)._parent;
}

export function machineOf(ref: AnyActorRef): string {
  return actorInternals(ref).logic.id ?? 'effect';
}
