/**
 * Leaves work that has not begun here to the other gateways of a shared journal, so that it does not wait for the end of
 * a drain: runs without a slot, waiting deliveries, collecting batches.
 * @see SCA-1 in docs/specification.md
 */

import type { AnyActorRef } from 'xstate';
import type { RecordChange, RecordWriter } from '../../actors/store/record-writer.ts';
import type { Batches } from '../../actors/webhook/batches.ts';
import type { PoolHandle } from '../../machines/base/pool.ts';
import { orderOf } from '../../machines/webhook/record.ts';
import type { WorkPools } from '../system/work-pools.ts';
import { type RecordPorts, unread } from './written.ts';

/** Resolves when everything is on disk; what could not be written becomes free at the end of the session. */
export async function leaveWaiting({ keeper, writer, pools }: Omit<RecordPorts, 'nowMs'>): Promise<void> {
  const runs = chartsOf(pools().runs, ['queued', 'postponed', 'unbegun']).map(([key, chart]) => {
    const { record } = chart.getSnapshot().context;
    return leave(chart, { collection: 'runs', key, value: record, dueAtMs: record.queuedAtMs, free: true }, writer);
  });
  await Promise.all([...runs, leaveDeliveries({ writer, pools })]);
  await keeper.giveLead();
}

/** The same for deliveries alone, if another gateway leads. */
export async function leaveDeliveries({ writer, pools }: Pick<RecordPorts, 'writer' | 'pools'>): Promise<void> {
  const left = chartsOf(pools().deliveries, ['queued', 'waitingToRetry']).map(([key, chart]) => {
    const value = chart.getSnapshot().context.record;
    const dueAtMs = value.dueAtMs ?? orderOf(value);
    return leave(chart, { collection: 'deliveries', key, value, dueAtMs, free: true }, writer);
  });
  await Promise.all(left);
}

async function leave(chart: AnyActorRef, change: RecordChange, writer: RecordWriter): Promise<void> {
  const verdict = await writer.write([change]).catch(unread);
  if (verdict.kind !== 'refused') chart.send({ type: 'work.lost' });
}

export function leaveBatches({ batches, pools }: { readonly batches: Batches; readonly pools: () => WorkPools }): void {
  for (const [key, chart] of chartsOf(pools().groups, ['pending', 'settled'])) {
    void batches.leave(key);
    chart.send({ type: 'batch.left' });
  }
}

/** A list, because ending a chart must not change the pool during the iteration. */
function chartsOf<Chart extends { getSnapshot(): { readonly value: unknown } }>(
  pool: PoolHandle<never, Chart>,
  states: readonly ReturnType<Chart['getSnapshot']>['value'][],
) {
  return [...pool].filter(([, chart]) => states.includes(chart.getSnapshot().value));
}
