/** The live actors, read once or followed. */

import type { ActorDetails, EventRow, StepRow, TimerRow } from './wire.ts';

/** Selects the records that match all given fields. */
export interface FollowQuery {
  /** Part of the actor's address. */
  readonly actor?: string;
  readonly machine?: string;
  readonly route?: string;
  readonly server?: string;
  readonly delivery?: string;
  /** Also events received and complete snapshots, as Stately's tools require; else only spawns and steps. */
  readonly full?: boolean;
}

export interface ActorNode {
  readonly id: string;
  readonly machine: string;
  readonly state: string;
  readonly since: string;
  readonly children: readonly ActorNode[];
  /** Number of further children of a pool that are not listed. */
  readonly more?: number;
}

/** The same as `GET /actor/<id>` of the page, with times as text. */
export interface ActorShown extends Omit<ActorDetails, 'since' | 'timers' | 'steps' | 'events'> {
  readonly since: string;
  readonly timers: readonly (Omit<TimerRow, 'started' | 'due'> & { readonly started: string; readonly due: string })[];
  readonly steps: readonly (Pick<StepRow, 'event' | 'from' | 'to' | 'why'> & { readonly at: string })[];
  readonly events: readonly (Omit<EventRow, 'at'> & { readonly at: string })[];
}
