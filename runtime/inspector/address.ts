/** Spells where an actor lives: a ward's child as `room/key`, others by their ids from the supervisor down. */

import type { AnyActorRef } from 'xstate';
import { isWard, wardHandle } from '../../machines/base/ward.ts';

interface Placed {
  readonly id: string;
  readonly _parent?: AnyActorRef;
  readonly logic: { readonly id?: string };
}

export function addressOf(ref: AnyActorRef): string {
  const { _parent: parent, id } = ref as unknown as Placed;
  if (parent === undefined) return 'supervisor';
  if (isWard(parent)) {
    return `${wardHandle(parent).name}/${id}`;
  }
  const above = addressOf(parent);
  return above === 'supervisor' ? id : `${above}/${id}`;
}

export function machineOf(ref: AnyActorRef): string {
  return (ref as unknown as Placed).logic.id ?? 'effect';
}
