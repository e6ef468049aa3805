/**
 * The four pools of work: spawns the work that a commit opened, and passes outcomes to the chart that waits for them.
 * Charts of different pools reach each other only through here.
 */

import type { AnyActorRef } from 'xstate';
import type { Opened } from '../../actors/webhook/claim-delivery.ts';
import { absentPool, type ChartPool, type PoolHandle, poolHandle } from '../../machines/base/pool.ts';
import type { agentRunMachine } from '../../machines/webhook/agent-run.machine.ts';
import type { coalescingGroupMachine } from '../../machines/webhook/coalescing-group.machine.ts';
import type { deliveryMachine } from '../../machines/webhook/delivery.machine.ts';
import { type DeliveryRecord, type EventRecord, outcomeOf, type RunRecord } from '../../machines/webhook/record.ts';
import type { webhookRequestMachine } from '../../machines/webhook/webhook-request.machine.ts';

export interface WorkPools {
  readonly requests: ChartPool<typeof webhookRequestMachine>;
  readonly groups: ChartPool<typeof coalescingGroupMachine>;
  readonly runs: ChartPool<typeof agentRunMachine>;
  readonly deliveries: ChartPool<typeof deliveryMachine>;
  /** Spawns the chart for an event that is now on disk, or notifies the one that runs. */
  open(opened: Opened): void;
  /** Lets a direct delivery go on without the sender that waited for it. */
  senderLeft(key: string): void;
  /** Passes a delivery's outcome to its run, or to the request that waits for it. */
  deliverySettled(key: string, record: DeliveryRecord): void;
  runFinished(key: string, record: RunRecord): void;
}

type PoolHandles = Pick<WorkPools, 'requests' | 'groups' | 'runs' | 'deliveries'>;

interface OpenedListener {
  /** Called for each run and delivery that a commit of this gateway made, with the event of the same commit. */
  readonly began?: (collection: 'runs' | 'deliveries', key: string, event?: EventRecord) => void;
  /** Called for each direct delivery that another gateway may send. */
  readonly awaited?: (key: string) => void;
  /** Called for each whose sender has hung up. */
  readonly senderLeft?: (key: string) => void;
}

const poolNames = ['requests', 'groups', 'runs', 'deliveries'] as const;

/** The pools of the gateway under `root`. */
export function createStandingPools(root: () => AnyActorRef, nowMs: () => number, listener: OpenedListener) {
  const absent = createWorkPools(handlesBy(absentPool), nowMs);
  let standing: WorkPools | undefined;
  const current = (): WorkPools => {
    if (standing !== undefined) return standing;
    const { system } = root();
    if (poolNames.some((name) => system.get(name) === undefined)) return absent;
    standing = createWorkPools(
      handlesBy((name) => poolHandle(system.get(name))),
      nowMs,
      listener,
    );
    return standing;
  };
  return {
    /** Without a gateway, work that a commit opened stays in the journal, and the next gateway recovers it. */
    current,
    /** Ends all charts of a crashed gateway. */
    clear(): void {
      for (const name of poolNames) current()[name].clear();
      standing = undefined;
    },
  };
}

function handlesBy(handle: (name: string) => PoolHandle<never>): PoolHandles {
  return {
    requests: handle('requests'),
    groups: handle('groups'),
    runs: handle('runs'),
    deliveries: handle('deliveries'),
  };
}

export function createWorkPools(
  handles: PoolHandles,
  nowMs: () => number,
  { began = () => {}, awaited = () => {}, senderLeft = () => {} }: OpenedListener = {},
): WorkPools {
  const { groups, runs, deliveries, requests } = handles;
  return {
    ...handles,
    open(opened) {
      switch (opened.kind) {
        case 'run':
          began('runs', opened.key, opened.event);
          runs.spawn(opened.key, { key: opened.key, record: opened.record });
          return;
        case 'direct':
          began('deliveries', opened.key);
          deliveries.spawn(opened.key, { key: opened.key, record: opened.record, atMs: nowMs() });
          return;
        case 'group': {
          const { key, profile, route, burst } = opened;
          const standing = groups.get(key);
          if (standing === undefined) groups.spawn(key, { key, profile, route, burst, atMs: nowMs() });
          else standing.send({ type: 'event.joined', burst, atMs: nowMs() });
          return;
        }
        case 'awaited':
          awaited(opened.key);
          return;
        case 'nothing':
          return;
      }
    },
    senderLeft(key) {
      deliveries.get(key)?.send({ type: 'sender.left' });
      senderLeft(key);
    },
    deliverySettled(key, record) {
      const reason = record.reason === undefined ? {} : { reason: record.reason };
      if (record.runKey !== undefined) {
        // The delivery is one of several of its run, which settle the run's record themselves.
        if (record.of !== undefined) return;
        runs.get(record.runKey)?.send({ type: 'delivery.settled', status: outcomeOf(record), ...reason });
      } else {
        requests.get(key)?.send({ type: 'delivery.settled', delivered: record.status === 'delivered', ...reason });
      }
    },
    runFinished(key, record) {
      if (record.group !== undefined) groups.get(record.group)?.send({ type: 'run.finished', run: key, atMs: nowMs() });
    },
  };
}
