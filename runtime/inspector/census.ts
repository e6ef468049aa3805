/**
 * Counts the running actors and lists them as a tree. Both walk from the supervisor down when they are called, so they cost
 * nothing in between.
 * @see INS-1 and CON-4 in docs/specification.md
 */

import type { AnyActorRef } from 'xstate';
import { isPool, poolHandle } from '../../machines/base/pool.ts';
import type { ActorNode } from '../control/contract/actors.ts';
import { addressOf, childrenOf, machineOf, stateOf, viewOf } from './actor-view.ts';
import type { StateTimes } from './state-times.ts';

interface CensusPorts {
  readonly stateTimes: StateTimes;
  /** Redacts an address, which may contain a batch key from outside. */
  readonly redact: (text: string) => string;
}

/** Children of one actor that a tree lists. */
const maxListed = 200;

export function describeTree(root: AnyActorRef, ports: CensusPorts): ActorNode {
  const snapshot = viewOf(root);
  const children: ActorNode[] = [];
  for (const child of childrenOf(root)) {
    children.push(describeTree(child, ports));
    if (children.length >= maxListed) break;
  }
  const more = isPool(root) ? poolHandle(root).size - children.length : 0;
  return {
    id: ports.redact(addressOf(root)),
    machine: machineOf(root),
    state: stateOf(snapshot),
    since: new Date(snapshot.since ?? ports.stateTimes.sinceOf(root)).toISOString(),
    children,
    ...(more > 0 ? { more } : {}),
  };
}

/** Returns the number of running actors per machine, for `gateway status`. */
export function countActors(root: AnyActorRef): Record<string, number> {
  const counts: Record<string, number> = {};
  const count = (machine: string, actors: number): void => {
    if (actors > 0) counts[machine] = (counts[machine] ?? 0) + actors;
  };
  const visit = (ref: AnyActorRef): void => {
    count(machineOf(ref), 1);
    if (isPool(ref)) count(poolHandle(ref).childMachine, poolHandle(ref).size);
    else for (const child of childrenOf(ref)) visit(child);
  };
  visit(root);
  return counts;
}

export function findActor(address: string, root: AnyActorRef): AnyActorRef | undefined {
  if (addressOf(root) === address) return root;
  if (isPool(root)) {
    const handle = poolHandle(root);
    return address.startsWith(`${handle.name}/`) ? handle.get(address.slice(handle.name.length + 1)) : undefined;
  }
  for (const child of childrenOf(root)) {
    const found = findActor(address, child);
    if (found !== undefined) return found;
  }
  return undefined;
}
