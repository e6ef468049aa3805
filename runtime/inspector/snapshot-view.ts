/** What the snapshots of charts, compiled charts and wards have in common, and how a state is written. */

import type { AnyActorRef } from 'xstate';

export interface SnapshotView {
  readonly status: string;
  readonly value?: unknown;
  readonly context?: unknown;
  readonly tags?: Iterable<string>;
  /** When the state was entered; only a compiled chart says. */
  readonly since?: number;
  readonly steps?: readonly TrailStep[];
  readonly children?: Readonly<Record<string, AnyActorRef | undefined>>;
}

export interface TrailStep {
  readonly at: number;
  readonly event: string;
  readonly from: string;
  readonly to: string;
}

export function viewOf(ref: AnyActorRef): SnapshotView {
  return ref.getSnapshot() as SnapshotView;
}

/** The state's value; a parallel or nested one as dotted words; an effect's is its status. */
export function stateOf(snapshot: SnapshotView): string {
  return snapshot.value === undefined ? snapshot.status : spell(snapshot.value);
}

function spell(value: unknown): string {
  if (typeof value === 'string') return value;
  return Object.entries(value as Record<string, unknown>)
    .map(([outer, inner]) => {
      const within = spell(inner);
      return within === '' ? outer : `${outer}.${within}`;
    })
    .join(' ');
}
