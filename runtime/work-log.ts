/** The log lines of work that ended: one for a run, one for a delivery. @see OBS-1 in docs/specification.md */

import type { Logger } from '../actors/ports.ts';
import type { DeliveryRecord, EventRecord, RunRecord } from '../machines/webhook/record.ts';

export function logRun(key: string, run: RunRecord, event: EventRecord | undefined, log: Logger): void {
  log.log(run.status === 'delivered' ? 'info' : 'error', `run ${run.status}`, {
    delivery_id: event?.deliveryId,
    run: key,
    route: run.route,
    profile: run.profile,
    attempt: run.attempt,
    superseded: run.superseded,
    reason: run.reason,
  });
}

export function logDelivery(delivery: DeliveryRecord, log: Logger): void {
  log.log(delivery.status === 'delivered' ? 'info' : 'error', `delivery ${delivery.status}`, {
    delivery_id: delivery.deliveryId,
    route: delivery.route,
    profile: delivery.profile,
    target: delivery.target,
    message_id: delivery.messageId,
    reason: delivery.reason,
  });
}
