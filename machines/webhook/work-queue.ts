/**
 * Divides the work that waits into queues, runs by their route and deliveries by their target. One that stands still, such
 * as that of a platform that is away, leaves memory to the others, however much waits in it.
 * @see DIS-3 and DLV-4 in docs/specification.md, docs/decisions/0020-work-in-queues.md
 */

import type { JsonObject } from '../base/json.ts';
import { canonicalTarget } from '../config/targets.ts';

/** Where a run belongs. */
export interface RunPlace {
  readonly profile: string;
  readonly route: string;
}

export function runQueue({ profile, route }: RunPlace): string {
  return `r${profile}/${route}`;
}

export function deliveryQueue({ profile, target }: { readonly profile: string; readonly target: string }): string {
  return `d${profile}/${canonicalTarget(target) ?? target}`;
}

/** The queue of a record; undefined if its collection has none. */
export function queueOf(collection: string, { profile, route, target }: JsonObject): string | undefined {
  if (typeof profile !== 'string') return undefined;
  if (collection === 'runs' && typeof route === 'string') return runQueue({ profile, route });
  if (collection === 'deliveries' && typeof target === 'string') return deliveryQueue({ profile, target });
  return undefined;
}

/** The work of one kind in memory. */
export interface Memory {
  readonly max: number;
  readonly total: number;
  /** What a queue may have in it once half of it is taken. */
  readonly share: number;
  /** How much of it each queue has. */
  readonly queues: ReadonlyMap<string, number>;
}

/**
 * Runs: a route that stands still leaves the second half to the others, which need no more than their agents can run.
 * @param concurrency how many runs there may be at once
 */
export function runShare(max: number, concurrency: number): number {
  return Math.min(Math.max(64, 2 * concurrency), Math.ceil(max / 4));
}

/**
 * Deliveries: a target that is away leaves half to the others. The share is no smaller, because texts in memory may wait
 * for an earlier one of their chat that is on disk, and that one must find room.
 */
export const deliveryShare = (max: number): number => halfOf(max);

/**
 * How much more of a queue may be in memory; by default of one that has nothing there. The first half is for whatever comes
 * first. The second is divided, so that a queue with little in memory finds room.
 */
export function roomFor(memory: Memory, queue?: string): number {
  const { max, total, share, queues } = memory;
  if (!isDivided(memory)) return halfOf(max) - total;
  const own = queue === undefined ? 0 : (queues.get(queue) ?? 0);
  return Math.max(0, Math.min(share - own, max - total));
}

export function fullQueues(memory: Memory): readonly string[] {
  return isDivided(memory) ? [...memory.queues.keys()].filter((queue) => roomFor(memory, queue) === 0) : [];
}

/** How much room of a queue makes it worthwhile to look for its work on disk. */
export function roomWorthwhile(memory: Memory): number {
  return Math.ceil(isDivided(memory) ? memory.share / 2 : memory.max / 4);
}

const halfOf = (max: number): number => Math.ceil(max / 2);
const isDivided = ({ max, total }: Memory): boolean => total >= halfOf(max);
