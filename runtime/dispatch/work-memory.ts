/**
 * How much waiting work may be in memory; the rest waits on disk, so that a platform that is away does not fill the memory.
 * @see DIS-3 and DLV-4 in docs/specification.md
 */

import type { Places } from '../../actors/dispatch/places.ts';
import type { JournalKeeper } from '../../actors/store/keeper.ts';
import type { DeliveryRecord } from '../../machines/webhook/record.ts';
import { deliveryQueue, deliveryShare, type Memory, roomFor, runShare } from '../../machines/webhook/work-queue.ts';
import type { WorkPools } from '../system/work-pools.ts';

interface WorkMemoryPorts {
  readonly keeper: JournalKeeper;
  readonly pools: () => WorkPools;
  readonly places: Pick<Places, 'load'>;
  /** The slots of all runs. */
  readonly concurrency: () => number;
  /** The limit of runs in memory, and of deliveries. */
  readonly max: number;
  /** Whether other gateways work on the same journal. */
  readonly isShared: boolean;
  /** Whether this gateway takes no new work. */
  readonly isParked: () => boolean;
}

export function createWorkMemory({ keeper, pools, places, concurrency, max, isShared, isParked }: WorkMemoryPorts) {
  /** On a shared journal, runs that would not get a slot soon are left to the other gateways. */
  const runBound = (): number => {
    if (!isShared) return max;
    return concurrency() === 0 ? 0 : Math.min(max, Math.max(20, 4 * concurrency()));
  };

  const inMemory = (name: 'runs' | 'deliveries'): Memory => {
    const { size, queues } = pools()[name];
    if (name === 'runs') return { max, total: size, share: runShare(max, concurrency()), queues };
    // The leader sends the deliveries that others have left.
    return { max: keeper.leads() ? max : 0, total: size, share: deliveryShare(max), queues };
  };

  return {
    bound: runBound,
    inMemory,
    /** How many more runs may be in memory, of this queue if one is given. */
    room(queue?: string): number {
      const room = roomFor(inMemory('runs'), queue);
      if (!isShared) return room;
      if (isParked()) return 0;
      const { running, ready } = places.load();
      // A run that waits for its route's limit uses no slot of the others.
      return Math.min(runBound() - running - ready, room);
    },
    /** Whether a delivery finds no room. */
    crowded: (record: DeliveryRecord): boolean => roomFor(inMemory('deliveries'), deliveryQueue(record)) <= 0,
  };
}
