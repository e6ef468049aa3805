/** Fills the holes of the gateway chart: its wards, its front and the end of its work. */

import { type AnyActorLogic, fromPromise } from 'xstate';
import type { Places } from '../../actors/dispatch/places.ts';
import type { Logger } from '../../actors/ports.ts';
import { type FrontMove, gatewayMachine } from '../../machines/webhook/gateway.machine.ts';
import type { FrontKeeper } from '../front-keeper.ts';
import type { Wards } from './wards.ts';

export interface GatewayPorts {
  readonly requests: AnyActorLogic;
  readonly groups: AnyActorLogic;
  readonly runs: AnyActorLogic;
  readonly deliveries: AnyActorLogic;
  readonly cronJobs: AnyActorLogic;
  /** When cron jobs are fired by themselves. */
  readonly schedule: { start(): void; stop(): void };
  readonly fronts: FrontKeeper;
  readonly places: Places;
  readonly wards: () => Wards;
  readonly nowMs: () => number;
  readonly log: Logger;
  readonly drainTimeoutMs: () => number;
}

const pollMs = 25;

export function wireGateway(ports: GatewayPorts) {
  const { fronts } = ports;
  /** Answers under way and runs under way share one time to end in. */
  let drainEndsAtMs = 0;

  return gatewayMachine.provide({
    actors: {
      requests: ports.requests,
      groups: ports.groups,
      runs: ports.runs,
      deliveries: ports.deliveries,
      cronJobs: ports.cronJobs,
      openFront: fromPromise<{ readonly url: string }, undefined>(({ signal }) => fronts.open(signal)),
      moveFront: fromPromise<FrontMove, undefined>(({ signal }) => fronts.move(signal)),
      closeFront: fromPromise<undefined, undefined>(async () => {
        drainEndsAtMs = ports.nowMs() + ports.drainTimeoutMs();
        fronts.retire();
        await fronts.retired();
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
      retireFront: () => fronts.retire(),
      flushGroups: () => {
        // No further run begins; those under way may end in their time.
        ports.places.pause();
        flush(ports);
      },
    },
  });
}

function flush({ wards, nowMs }: GatewayPorts): void {
  const atMs = nowMs();
  wards().groups.each((_, group) => {
    group.send({ type: 'group.drain', atMs });
    return true;
  });
}

/** Waits until bursts are on disk and runs and deliveries under way have ended, or the time for it is over. */
async function finishWork(ports: GatewayPorts, deadlineMs: number, signal: AbortSignal): Promise<void> {
  const { groups, deliveries } = ports.wards();
  for (;;) {
    let flushing = 0;
    groups.each((_, group) => {
      if (isFlushing(group.getSnapshot().value)) flushing += 1;
      return true;
    });
    const running = ports.places.load().running;
    if (flushing === 0 && running === 0 && deliveries.size === 0) return;
    if (signal.aborted) return;
    // An event that joined while a burst was being opened has begun the next one.
    flush(ports);
    if (ports.nowMs() >= deadlineMs) {
      ports.log.log('warn', 'drain: time is over; what is left stays in the journal', {
        running,
        deliveries: deliveries.size,
      });
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

/** A burst that the journal refuses stays on disk as it is; waiting for it would help nobody. */
function isFlushing(state: unknown): boolean {
  return state === 'pending' || state === 'settled' || state === 'opening';
}
