/**
 * What follows when a run or a delivery has ended, or was left to another gateway: it is counted and logged, and the charts
 * that wait for it get its outcome.
 */

import type { DeliveryRecord, RunRecord } from '../../machines/webhook/record.ts';
import type { SharedPorts } from '../config/shared-ports.ts';
import { countDelivery, countRun } from '../observe/metrics-counts.ts';
import type { WorkPools } from '../system/work-pools.ts';
import type { RecentEvents } from './recent-events.ts';
import { logDelivery, logRun } from './work-log.ts';

interface EndedPorts extends Pick<SharedPorts, 'metrics' | 'nowMs' | 'log'> {
  readonly pools: () => WorkPools;
  readonly recent: RecentEvents;
  /** Frees the chat of a delivery. */
  readonly release: (record: DeliveryRecord) => void;
}

export function createEnded({ pools, recent, release, metrics, nowMs, log }: EndedPorts) {
  return {
    run(key: string, record: RunRecord): void {
      // A queued run was left to the other gateways.
      if (record.status !== 'queued') {
        countRun(record, nowMs(), metrics);
        const known = recent.kept(record.eventKey);
        if (known !== undefined) logRun(key, record, known, log);
        else void recent.read(record.eventKey).then((event) => logRun(key, record, event, log));
      }
      recent.forget(record.eventKey);
      pools().runFinished(key, record);
    },
    delivery(key: string, record: DeliveryRecord): void {
      if (record.status === 'queued') return;
      const isShelved = record.status === 'waitingToRetry' && record.sent === undefined;
      // A delivery that waits on disk still holds its chat for a bounded time, and has been logged.
      if (!isShelved) release(record);
      if (record.status !== 'waitingToRetry') {
        countDelivery(record, nowMs(), metrics);
        logDelivery(key, record, log);
      }
      pools().deliverySettled(key, record);
    },
  };
}
