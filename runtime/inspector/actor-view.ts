/** What is read from an actor: its address, machine and children, and the fields that all snapshots share. */

import type { AnyActorRef } from 'xstate';
import { isPool, poolHandle } from '../../machines/base/pool.ts';
import { actorInternals } from '../../machines/base/xstate-internals.ts';
import type { StepRow } from '../control/contract/wire.ts';

/** The fields of the snapshots of charts, compiled charts and pools. */
interface SnapshotView {
  readonly status: string;
  readonly value?: unknown;
  readonly context?: unknown;
  readonly tags?: Iterable<string>;
  /** When the state was entered; only compiled charts have it. */
  readonly since?: number;
  readonly steps?: readonly TrailStep[];
  readonly children?: Readonly<Record<string, AnyActorRef | undefined>>;
}

export type TrailStep = Pick<StepRow, 'at' | 'event' | 'from' | 'to'>;

/** Formats an actor's address: a pool's child is `pool/key`, any other actor the path of ids below the supervisor. */
export function addressOf(ref: AnyActorRef): string {
  const parent = parentOf(ref);
  if (parent === undefined) return 'supervisor';
  if (isPool(parent)) {
    return `${poolHandle(parent).name}/${ref.id}`;
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

export function viewOf(ref: AnyActorRef): SnapshotView {
  return ref.getSnapshot() as SnapshotView;
}

export function* childrenOf(ref: AnyActorRef): Generator<AnyActorRef, void> {
  if (isPool(ref)) for (const [, child] of poolHandle(ref)) yield child;
  else for (const child of Object.values(viewOf(ref).children ?? {})) if (child !== undefined) yield child;
}

/** Returns the state's value, dotted where states nest, regions separated by spaces; for an effect its status. */
export function stateOf(snapshot: SnapshotView): string {
  return snapshot.value === undefined ? snapshot.status : formatValue(snapshot.value);
}

function formatValue(value: unknown): string {
  if (typeof value === 'string') return value;
  return Object.entries(value as Record<string, unknown>)
    .map(([outer, inner]) => {
      const within = formatValue(inner);
      return within === '' ? outer : `${outer}.${within}`;
    })
    .join(' ');
}
