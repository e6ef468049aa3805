/** The `log` target: the text becomes a line of the gateway's log. A repeated line does no harm. */

import type { DeliveryTarget, Logger } from '../../ports.ts';

export function createLogTarget(log: Logger): DeliveryTarget & Required<Pick<DeliveryTarget, 'deliverAtOnce'>> {
  const deliverAtOnce: DeliveryTarget['deliverAtOnce'] = ({ deliveryId, profile, text }) =>
    log.log('info', `response: ${text}`, { delivery_id: deliveryId, profile });
  return {
    placeOf: () => undefined,
    deduplicatesForMs: () => Number.POSITIVE_INFINITY,
    deliver(request) {
      deliverAtOnce(request);
      return Promise.resolve({ kind: 'delivered' });
    },
    deliverAtOnce,
  };
}
