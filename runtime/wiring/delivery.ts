/** Fills the holes of the delivery chart: its record and the sending itself. */

import { fromPromise } from 'xstate';
import type { SendText } from '../../actors/dispatch/deliver.ts';
import type { Write } from '../../actors/store/journal.ts';
import type { RecordWriter } from '../../actors/store/record-writer.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import { deliveryMachine, type SendingResult } from '../../machines/webhook/delivery.machine.ts';
import { claimName, type DeliveryRecord } from '../../machines/webhook/record.ts';
import type { Wards } from './wards.ts';
import { tellWritten } from './written.ts';

export interface DeliveryPorts {
  readonly writer: RecordWriter;
  readonly sendText: SendText;
  /** The judge of what is secret: a target's own words become a record that people read. */
  readonly redact: (text: string) => string;
  readonly nowMs: () => number;
  readonly wards: () => Wards;
}

export function wireDelivery(ports: DeliveryPorts) {
  return deliveryMachine.provide({
    actors: {
      sendText: fromPromise<SendingResult, DeliveryRecord>(async ({ input, signal }) => {
        const result = await ports.sendText(input, signal);
        return result.kind === 'delivered' ? result : { ...result, reason: ports.redact(result.reason) };
      }),
    },
    actions: {
      writeDelivery: ({ context, self }) => {
        const { key, record } = context;
        const underWay = record.status === 'sending';
        const nowMs = ports.nowMs();
        const value = (underWay ? record : { ...record, endedAtMs: nowMs }) as unknown as JsonObject;
        void ports.writer
          .write([{ collection: 'deliveries', key, value, dueAtMs: underWay ? nowMs : null }], releaseOf(record))
          .then((verdict) => tellWritten(self, verdict));
      },
      reportResult: ({ context }) => ports.wards().deliverySettled(context.key, context.record),
    },
  });
}

/** A direct delivery that did not succeed gives its id back, so that the sender's next try is a new one (IDM-2). */
export function releaseOf(record: DeliveryRecord): readonly Write[] {
  const failed = record.status === 'failed' || record.status === 'unknown';
  if (record.runKey !== undefined || !failed) return [];
  return [{ kind: 'release', name: claimName(record.profile, record.route, record.deliveryId) }];
}
