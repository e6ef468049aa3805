/**
 * Leaves to the other gateways of a shared journal what has not begun here, so that nothing waits for the end of a drain: runs
 * without a place, deliveries that wait, batches that gather.
 * @see SCA-1 in docs/specification.md
 */

import type { JournalKeeper } from '../../actors/store/keeper.ts';
import type { RecordWriter } from '../../actors/store/record-writer.ts';
import type { Bursts } from '../../actors/webhook/bursts.ts';
import { type DeliveryRecord, orderOf, type RunRecord } from '../../machines/webhook/record.ts';
import type { Wards } from '../system/wards.ts';
import { unread } from './written.ts';

export interface LeavePorts {
  readonly keeper: JournalKeeper;
  readonly writer: RecordWriter;
  readonly wards: () => Wards;
}

const waitingRuns = ['queued', 'postponed', 'unbegun'];
const waitingDeliveries = ['queued', 'waitingToRetry'];

/** Resolves when everything is on disk, or could not be written and is free at the end of the session. */
export async function leaveWaiting({ keeper, writer, wards }: LeavePorts): Promise<void> {
  const left: Promise<void>[] = [];
  const { runs, deliveries } = wards();
  // What ends a chart must not change the pool that is being walked.
  const waiting = [...chartsOf(runs, waitingRuns), ...chartsOf(deliveries, waitingDeliveries)];
  for (const { key, chart } of waiting) {
    const record = chart.getSnapshot().context.record as RunRecord | DeliveryRecord;
    const change =
      'target' in record
        ? ({ collection: 'deliveries', key, value: record, dueAtMs: record.dueAtMs ?? orderOf(record) } as const)
        : ({ collection: 'runs', key, value: record, dueAtMs: record.queuedAtMs } as const);
    const write = writer.write([{ ...change, free: true }]).catch(unread);
    left.push(
      write.then((verdict) => {
        if (verdict.kind !== 'refused') chart.send({ type: 'work.lost' });
      }),
    );
  }
  await Promise.all(left);
  await keeper.giveLead();
}

export function leaveBatches({ bursts, wards }: { readonly bursts: Bursts; readonly wards: () => Wards }): void {
  for (const { key, chart } of chartsOf(wards().groups, ['pending', 'settled'])) {
    void bursts.leave(key);
    chart.send({ type: 'burst.left' });
  }
}

function chartsOf({ each }: Pick<Wards['runs'], 'each'>, states: readonly string[]) {
  const found: { readonly key: string; readonly chart: Parameters<Parameters<typeof each>[0]>[1] }[] = [];
  each((key, chart) => {
    if (states.includes(String(chart.getSnapshot().value))) found.push({ key, chart });
    return true;
  });
  return found;
}
