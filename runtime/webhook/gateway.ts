/** Provides the effects of the gateway chart: its pools, its HTTP server and the end of its work. */

import { type AnyActorLogic, type AnyActorRef, fromPromise } from 'xstate';
import type { Places } from '../../actors/dispatch/places.ts';
import type { Logger } from '../../actors/ports.ts';
import type { PoolHandle } from '../../machines/base/pool.ts';
import { type GatewayContext, gatewayMachine } from '../../machines/webhook/gateway.machine.ts';
import { isWaitedFor } from '../../machines/webhook/record.ts';
import type { HttpServerKeeper } from '../http/http-server-keeper.ts';
import { nextMove } from '../system/next-move.ts';
import type { WorkPools } from '../system/work-pools.ts';

type Pools = 'requests' | 'groups' | 'runs' | 'deliveries' | 'platforms' | 'cronJobs';

interface GatewayPorts extends Readonly<Record<Pools, AnyActorLogic>> {
  /** Starts and stops the firing of cron jobs. */
  readonly schedule: { start(): void; stop(): void };
  readonly httpServers: HttpServerKeeper;
  readonly places: Places;
  /**
   * Ends a recovery, and leaves waiting deliveries to the next start, or all work that has not begun to the other
   * gateways of the journal.
   */
  readonly park: () => void;
  /** Ends what deliveries wait for between two pieces of a text: the rest is sent after the next start. */
  readonly cut: () => void;
  /** Leaves collecting batches to the other gateways; absent if there are none. */
  readonly leaveBatches?: (() => void) | undefined;
  readonly pools: () => WorkPools;
  readonly nowMs: () => number;
  /** Milliseconds that only rise, so setting the clock back does not lengthen a drain. */
  readonly steadyMs: () => number;
  readonly log: Logger;
  readonly drainTimeoutMs: () => number;
  /** How long requests in progress may take when the gateway stops. */
  readonly answerGraceMs: () => number;
}

export function wireGateway(ports: GatewayPorts) {
  const { requests, groups, runs, deliveries, platforms, cronJobs, httpServers } = ports;
  /** Answers and runs in progress share one deadline. */
  let drainEndsAtMs = 0;

  return gatewayMachine.provide({
    actors: {
      ...{ requests, groups, runs, deliveries, platforms, cronJobs },
      openHttpServer: fromPromise<GatewayContext, undefined>(({ signal }) => httpServers.open(signal)),
      moveHttpServer: fromPromise<GatewayContext, undefined>(({ signal }) => httpServers.move(signal)),
      closeHttpServer: fromPromise<undefined, undefined>(async ({ signal }) => {
        drainEndsAtMs = ports.steadyMs() + ports.drainTimeoutMs();
        httpServers.retire();
        // After a crash there are no requests left.
        const late = setTimeout(() => signal.aborted || answerLate(ports), ports.answerGraceMs());
        const cut = setTimeout(() => signal.aborted || ports.cut(), cutAfterMs(ports));
        try {
          await httpServers.retired();
        } finally {
          clearTimeout(late);
          clearTimeout(cut);
        }
        return undefined;
      }),
      finishWork: fromPromise<undefined, undefined>(async ({ signal }) => {
        await finishWork(ports, drainEndsAtMs, signal);
        return undefined;
      }),
    },
    actions: {
      startSchedule: () => ports.schedule.start(),
      stopSchedule: () => ports.schedule.stop(),
      retireHttpServer: () => httpServers.retire(),
      // Their runs begin at once: only the HTTP server has closed or moved.
      settleGroups: () => flush(ports),
      flushGroups: () => {
        // No further run begins; those in progress may end within the drain timeout.
        ports.places.pause();
        // Otherwise a long queue would be sent until the timeout, which would cut off a delivery with an unknown outcome.
        ports.park();
        (ports.leaveBatches ?? flush)(ports);
      },
    },
  });
}

/** Otherwise a sender whose script still runs would see its connection cut, and not learn that it may retry. */
function answerLate({ pools, log }: GatewayPorts): void {
  const { requests } = pools();
  if (requests.size === 0) return;
  log.log('warn', 'drain: time is over; requests under way are answered 503', { requests: requests.size });
  for (const [, request] of requests) request.send({ type: 'request.drain' });
}

function flush({ pools, nowMs }: GatewayPorts): void {
  const atMs = nowMs();
  for (const [, group] of pools().groups) group.send({ type: 'group.drain', atMs });
}

/** How long before the deadline no further piece of a text is sent, so that it is known on disk how much of it arrived. */
const lastWritesMs = 1_000;

function cutAfterMs({ drainTimeoutMs }: GatewayPorts): number {
  return drainTimeoutMs() - Math.min(lastWritesMs, drainTimeoutMs() / 10);
}

/** Resolves when batches are on disk and runs and deliveries in progress have ended, or at the deadline. */
async function finishWork(ports: GatewayPorts, deadlineMs: number, signal: AbortSignal): Promise<void> {
  const { groups, runs, deliveries } = ports.pools();
  const cutAtMs = deadlineMs - ports.drainTimeoutMs() + cutAfterMs(ports);
  for (;;) {
    const flushing = childrenWhere(groups, isUnderWay);
    const running = childrenWhere(runs, isUnderWay);
    // Deliveries that wait for their turn or next attempt are on disk anyway; only those with a waiting sender count.
    const sending = childrenWhere(
      deliveries,
      (delivery) => isUnderWay(delivery) || isWaitedFor(delivery.getSnapshot().context.record),
    );
    const underWay = [...flushing, ...running, ...sending];
    if (underWay.length === 0 || signal.aborted) return;
    // An event that joined while a batch was being opened has begun the next batch.
    (ports.leaveBatches ?? flush)(ports);
    const nowMs = ports.steadyMs();
    if (nowMs >= cutAtMs) ports.cut();
    const leftMs = deadlineMs - nowMs;
    if (leftMs <= 0) {
      ports.log.log('warn', 'drain: time is over; what is left stays in the journal', {
        running: running.length,
        deliveries: sending.length,
      });
      return;
    }
    await nextMove(underWay, nowMs < cutAtMs ? cutAtMs - nowMs : leftMs, signal);
  }
}

/** A drain waits for a batch until its run is on disk, and for a run or a delivery until its end is on disk. */
const isUnderWay = (child: AnyActorRef): boolean => child.getSnapshot().hasTag('underWay');

function childrenWhere<Child>(pool: PoolHandle<never, Child>, matches: (child: Child) => boolean): Child[] {
  return [...pool].flatMap(([, child]) => (matches(child) ? [child] : []));
}
