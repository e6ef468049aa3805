/** The ports of a recovery as most specs of it want them: everything is run again, and nothing is held or noted. */

import type { JournalKeeper } from '../../actors/store/keeper.ts';
import { createRecordWriter } from '../../actors/store/record-writer.ts';
import { createBatches } from '../../actors/webhook/batches.ts';
import { createQueueOrder } from '../../runtime/dispatch/queue-order.ts';
import type { ResumePorts } from '../../runtime/dispatch/recovery.ts';
import { createSettleRun } from '../../runtime/dispatch/responses.ts';
import type { WorkPools } from '../../runtime/system/work-pools.ts';

export function resumePorts(
  keeper: JournalKeeper,
  pools: () => WorkPools,
  more: Partial<ResumePorts> = {},
): ResumePorts {
  const { nowMs = () => 100 } = more;
  const signal = new AbortController().signal;
  return {
    keeper,
    writer: createRecordWriter(keeper),
    batches: createBatches(keeper),
    pools,
    settleRun: createSettleRun({ keeper, pools }),
    nowMs,
    dueMs: nowMs,
    log: { log: () => {}, warnOnce: () => {} },
    recovered: () => {},
    onInterrupted: () => 'rerun',
    deduplicatesForMs: () => 0,
    hold: () => {},
    order: createQueueOrder(() => 0),
    older: { note: () => {}, look: async () => {} },
    bound: () => 1_000,
    room: () => 1_000 - pools().runs.size,
    inMemory: () => ({ max: 4_000, share: 64, total: 0, queues: new Map() }),
    signal: () => signal,
    ...more,
  };
}
