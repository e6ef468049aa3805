/** Formats an actor's address: a pool's child is `pool/key`, any other actor the path of ids below the supervisor. */

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

/** Returns undefined for the supervisor. */
export function parentOf(ref: AnyActorRef): AnyActorRef | undefined {
  return actorInternals(ref)._parent;
}

export function machineOf(ref: AnyActorRef): string {
  return actorInternals(ref).logic.id ?? 'effect';
}
