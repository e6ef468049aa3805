/**
 * Counts and describes the living: walks from the supervisor down through charts and wards when somebody asks, and costs
 * nothing while nobody does. Every context passes the redactor before it leaves.
 * @see INS-1 and CON-4 in docs/specification.md
 */

import type { AnyActorRef } from 'xstate';
import type { Json } from '../../machines/base/json.ts';
import { isWard, wardHandle } from '../../machines/base/ward.ts';
import type { Redactor } from '../redact.ts';
import { machineOf } from './address.ts';
import type { Sinces } from './sinces.ts';

export interface ActorNode {
  readonly id: string;
  readonly machine: string;
  readonly state: string;
  /** ISO 8601. */
  readonly since: string;
  readonly children: readonly ActorNode[];
  /** How many children a ward has beyond those listed. */
  readonly more?: number;
}

export interface ActorDetail extends Omit<ActorNode, 'children'> {
  readonly tags: readonly string[];
  readonly description?: string;
  readonly context: Json;
  /** The last steps: when, on which event, from where to where. */
  readonly steps: readonly {
    readonly at: string;
    readonly event: string;
    readonly from: string;
    readonly to: string;
  }[];
  readonly children: readonly string[];
}

export interface CensusPorts {
  readonly root: AnyActorRef;
  readonly sinces: Sinces;
  readonly redactor: Redactor;
}

interface Living {
  readonly path: string;
  readonly ref: AnyActorRef;
}

/** Children of one ward that a tree lists; a tree of 100,000 is read by nobody. */
const mostListed = 200;

export function describeTree({ root, sinces }: CensusPorts): ActorNode {
  return nodeOf({ path: 'supervisor', ref: root }, sinces);
}

/** The living actors per machine, for `gateway status`. */
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

/** One actor by its path in the tree; undefined where none lives there. */
export function describeActor(path: string, { root, sinces, redactor }: CensusPorts): ActorDetail | undefined {
  const living = find(path, { path: 'supervisor', ref: root });
  if (living === undefined) return undefined;
  const snapshot = snapshotOf(living.ref);
  const { children: _, ...node } = nodeOf(living, sinces);
  const description = descriptionOf(living.ref);
  return {
    ...node,
    tags: [...(snapshot.tags ?? [])],
    ...(description === undefined ? {} : { description }),
    context: redactor.value(snapshot.context ?? null) as Json,
    steps: (snapshot.steps ?? sinces.stepsOf(living.ref)).map((step) => ({
      ...step,
      at: new Date(step.at).toISOString(),
    })),
    children: childrenOf(living).map((child) => child.path),
  };
}

/** What the snapshots of charts, compiled charts and wards have in common. */
interface AnyView {
  readonly status: string;
  readonly value?: unknown;
  readonly context?: unknown;
  readonly tags?: Iterable<string>;
  readonly since?: number;
  readonly steps?: readonly {
    readonly at: number;
    readonly event: string;
    readonly from: string;
    readonly to: string;
  }[];
  readonly children?: Readonly<Record<string, AnyActorRef | undefined>>;
}

function snapshotOf(ref: AnyActorRef): AnyView {
  return ref.getSnapshot() as AnyView;
}

function nodeOf(living: Living, sinces: Sinces): ActorNode {
  const snapshot = snapshotOf(living.ref);
  const children = childrenOf(living);
  const listed = children.slice(0, mostListed).map((child) => nodeOf(child, sinces));
  const more = isWard(living.ref) ? wardHandle(living.ref).size - listed.length : 0;
  return {
    id: living.path,
    machine: machineOf(living.ref),
    state: stateOf(snapshot),
    since: new Date(snapshot.since ?? sinces.sinceOf(living.ref)).toISOString(),
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
  for (const [id, child] of Object.entries(snapshotOf(ref).children ?? {})) {
    if (child !== undefined) found.push({ path: path === 'supervisor' ? id : `${path}/${id}`, ref: child });
  }
  return found;
}

/** A ward's children are named by the ward's room, so that the address of a request is `requests/<key>`. */
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

/** The state's value; a parallel or nested one as dotted words. */
function stateOf(snapshot: AnyView): string {
  return snapshot.value === undefined ? snapshot.status : spell(snapshot.value);
}

function spell(value: unknown): string {
  if (typeof value === 'string') return value;
  return Object.entries(value as Record<string, unknown>)
    .map(([outer, inner]) => `${outer}.${spell(inner)}`)
    .join(' ');
}

function descriptionOf(ref: AnyActorRef): string | undefined {
  const { logic } = ref as unknown as {
    logic: {
      readonly config?: { readonly states?: Record<string, { readonly description?: string }> };
    };
  };
  const { value } = snapshotOf(ref);
  return typeof value === 'string' ? logic.config?.states?.[value]?.description : undefined;
}
