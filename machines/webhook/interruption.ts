/**
 * Decides what becomes of work that a crash cut off: run again once, delivered from where it stood, or closed with its
 * true outcome. Knows no journal.
 * @see DUR-1 in docs/specification.md
 */

import type { DeliveryRecord, RunRecord } from './record.ts';

/** The first attempt and one more (DUR-1). */
const mostAttempts = 2;

/** The record that the run goes on with. A run cut off while running waits again or ends as interrupted. */
export function interruptedRun(
  record: RunRecord,
  delivery: DeliveryRecord | undefined,
  policy: 'rerun' | 'report',
): RunRecord {
  switch (record.status) {
    case 'running':
      if (policy === 'rerun' && record.attempt < mostAttempts) return { ...record, status: 'queued' };
      return { ...record, status: 'interrupted', reason: `cut off by a crash in attempt ${record.attempt}` };
    case 'delivering':
      return delivery === undefined ? record : withDelivery(record, delivery);
    default:
      return record;
  }
}

/** A sending under way when the crash came has an unknown outcome; undefined where the delivery simply goes on. */
export function interruptedDelivery(record: DeliveryRecord, deduplicates: boolean): DeliveryRecord | undefined {
  if (record.status !== 'sending' || deduplicates) return undefined;
  return { ...record, status: 'unknown', reason: 'cut off by a crash while sending' };
}

function withDelivery(record: RunRecord, delivery: DeliveryRecord): RunRecord {
  switch (delivery.status) {
    case 'queued':
    case 'sending':
      return record;
    default:
      return {
        ...record,
        status: delivery.status,
        ...(delivery.reason === undefined ? {} : { reason: delivery.reason }),
      };
  }
}
