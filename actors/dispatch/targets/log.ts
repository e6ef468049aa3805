/** The `log` target: writes the text as a line of the gateway's log. Repeating a line is harmless. */

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
