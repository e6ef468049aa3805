/**
 * Counts the running actors and lists them as a tree. Both walk from the supervisor down when they are called, so they cost
 * nothing in between.
 * @see INS-1 and CON-4 in docs/specification.md
 */

import type { AnyActorRef } from 'xstate';
import { isWard, wardHandle } from '../../machines/base/ward.ts';
import type { ActorNode } from '../control/contract.ts';
import { machineOf } from './address.ts';
import { stateOf, viewOf } from './snapshot-view.ts';
import type { StateTimes } from './state-times.ts';

export interface CensusPorts {
  readonly root: AnyActorRef;
  readonly stateTimes: StateTimes;
  /** Redacts an address, which may contain a batch key from outside. */
  readonly redact: (text: string) => string;
}

interface Living {
  readonly path: string;
  readonly ref: AnyActorRef;
}

/** Children of one pool that a tree lists. */
const mostListed = 200;

export function describeTree(ports: CensusPorts): ActorNode {
  return nodeOf({ path: 'supervisor', ref: ports.root }, ports);
}

/** Returns the number of running actors per machine, for `gateway status`. */
export function countActors(root: AnyActorRef): Record<string, number> {
  const counts: Record<string, number> = {};
  const visit = (living: Living): void => {
    const machine = machineOf(living.ref);
    counts[machine] = (counts[machine] ?? 0) + 1;
    if (isWard(living.ref)) {
      const handle = wardHandle(living.ref);
      if (handle.size > 0) counts[handle.childMachine] = (counts[handle.childMachine] ?? 0) + handle.size;
      return;
    }
    for (const child of childrenOf(living)) visit(child);
  };
  visit({ path: 'supervisor', ref: root });
  return counts;
}

/** Returns the actor at a path in the tree, or undefined. */
export function findActor(path: string, root: AnyActorRef): AnyActorRef | undefined {
  return find(path, { path: 'supervisor', ref: root })?.ref;
}

function nodeOf(living: Living, ports: CensusPorts): ActorNode {
  const snapshot = viewOf(living.ref);
  const children = childrenOf(living);
  const listed = children.slice(0, mostListed).map((child) => nodeOf(child, ports));
  const more = isWard(living.ref) ? wardHandle(living.ref).size - listed.length : 0;
  return {
    id: ports.redact(living.path),
    machine: machineOf(living.ref),
    state: stateOf(snapshot),
    since: new Date(snapshot.since ?? ports.stateTimes.sinceOf(living.ref)).toISOString(),
    children: listed,
    ...(more > 0 ? { more } : {}),
  };
}

function childrenOf({ path, ref }: Living): Living[] {
  const found: Living[] = [];
  if (isWard(ref)) {
    const room = path.slice(path.lastIndexOf('/') + 1);
    wardHandle(ref).each((key, child) => {
      found.push({ path: `${room}/${key}`, ref: child });
      return found.length < mostListed;
    });
    return found;
  }
  for (const [id, child] of Object.entries(viewOf(ref).children ?? {})) {
    if (child !== undefined) found.push({ path: path === 'supervisor' ? id : `${path}/${id}`, ref: child });
  }
  return found;
}

/** A pool's children are addressed by the pool's name, so a request is `requests/<key>`. */
function find(path: string, from: Living): Living | undefined {
  if (from.path === path) return from;
  if (isWard(from.ref)) {
    const room = from.path.slice(from.path.lastIndexOf('/') + 1);
    if (!path.startsWith(`${room}/`)) return undefined;
    const ref = wardHandle(from.ref).get(path.slice(room.length + 1));
    return ref && { path, ref };
  }
  for (const child of childrenOf(from)) {
    const found = find(path, child);
    if (found !== undefined) return found;
  }
  return undefined;
}
