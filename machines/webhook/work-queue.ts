/**
 * Divides the work that waits into queues, runs by their route and deliveries by their target. One that stands still, such
 * as that of a platform that is away, leaves memory to the others, however much waits in it.
 * @see DIS-3 and DLV-4 in docs/specification.md
 */

import type { JsonObject } from '../base/json.ts';
import { canonicalTarget } from '../config/targets.ts';

/** What a queue may have in memory once half of that is taken. */
const mostOfOne = 64;

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
  readonly most: number;
  readonly total: number;
  /** How much of it each queue has. */
  readonly queues: ReadonlyMap<string, number>;
}

/**
 * How much more of a queue may be in memory; by default of one that has nothing there. The first half is for whatever comes
 * first. The second is divided, so that a queue with little in memory finds room.
 */
export function roomFor(memory: Memory, queue?: string): number {
  const { most, total, queues } = memory;
  if (!isDivided(memory)) return halfOf(most) - total;
  const own = queue === undefined ? 0 : (queues.get(queue) ?? 0);
  return Math.max(0, Math.min(shareOf(most) - own, most - total));
}

/** The queues that have no room. */
export function fullQueues(memory: Memory): readonly string[] {
  return isDivided(memory) ? [...memory.queues.keys()].filter((queue) => roomFor(memory, queue) === 0) : [];
}

/** How much room of a queue makes it worthwhile to look for its work on disk. */
export function roomWorthwhile(memory: Memory): number {
  return Math.ceil(isDivided(memory) ? shareOf(memory.most) / 2 : memory.most / 4);
}

const halfOf = (most: number): number => Math.ceil(most / 2);
const isDivided = ({ most, total }: Memory): boolean => total >= halfOf(most);
const shareOf = (most: number): number => Math.min(mostOfOne, Math.ceil(most / 4));
