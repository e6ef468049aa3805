/** Fills the holes of the gateway chart: its wards, its front and the end of its work. */

import { type AnyActorLogic, fromPromise } from 'xstate';
import type { Places } from '../../actors/dispatch/places.ts';
import type { Logger } from '../../actors/ports.ts';
import { gatewayMachine } from '../../machines/webhook/gateway.machine.ts';
import type { Front } from '../http/front.ts';
import type { Wards } from './wards.ts';

export interface GatewayPorts {
  readonly requests: AnyActorLogic;
  readonly groups: AnyActorLogic;
  readonly runs: AnyActorLogic;
  readonly deliveries: AnyActorLogic;
  readonly openFront: () => Promise<Front>;
  readonly places: Places;
  readonly wards: () => Wards;
  readonly nowMs: () => number;
  readonly log: Logger;
  readonly drainTimeoutMs: () => number;
}

/** Exchanges under way get this long to be answered once the front closes. */
const answerGraceMs = 5_000;
const pollMs = 25;

export function wireGateway(ports: GatewayPorts) {
  let front: Front | undefined;

  return gatewayMachine.provide({
    actors: {
      requests: ports.requests,
      groups: ports.groups,
      runs: ports.runs,
      deliveries: ports.deliveries,
      openFront: fromPromise<{ readonly url: string }, undefined>(async () => {
        front = await ports.openFront();
        const url = urlOf(front);
        ports.log.log('info', `listening on ${url}`, { url, front: front.kind });
        return { url };
      }),
      closeFront: fromPromise<undefined, undefined>(async () => {
        const closing = front;
        front = undefined;
        await closing?.close(answerGraceMs);
        return undefined;
      }),
      finishWork: fromPromise<undefined, undefined>(async ({ signal }) => {
        await finishWork(ports, signal);
        return undefined;
      }),
    },
    actions: {
      flushGroups: () => {
        // No further run begins; those under way may end in their time.
        ports.places.pause();
        const atMs = ports.nowMs();
        ports.wards().groups.each((_, group) => {
          group.send({ type: 'group.drain', atMs });
          return true;
        });
      },
    },
  });
}

/** Waits until bursts are on disk and runs and deliveries under way have ended, or the time for it is over. */
async function finishWork(ports: GatewayPorts, signal: AbortSignal): Promise<void> {
  const deadlineMs = ports.nowMs() + ports.drainTimeoutMs();
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

function urlOf({ host, port }: Front): string {
  const shown = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return `http://${shown}:${port}`;
}
