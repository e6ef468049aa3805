/** The fields that the snapshots of charts, compiled charts and pools share, and the format of a state. */

import type { AnyActorRef } from 'xstate';

export interface SnapshotView {
  readonly status: string;
  readonly value?: unknown;
  readonly context?: unknown;
  readonly tags?: Iterable<string>;
  /** When the state was entered; only compiled charts have it. */
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
