/**
 * Closes the records of work whose chart crashed: this process does not continue it, and after a restart it would crash
 * again. A response on disk is still delivered; a delivery that may have been sent is closed as `unknown`.
 * @see INS-1 and DUR-2 in docs/specification.md
 */

import { type DeliveryRecord, isOver, isWaitedFor, type RunRecord } from '../../machines/webhook/record.ts';
import { type NoticePorts, noticeChanges, openNotice } from './notices.ts';
import { openResponses, type SettleRun, writeEnded } from './responses.ts';

interface CrashedWorkPorts extends NoticePorts {
  readonly settleRun: SettleRun;
}

const reason = 'it crashed inside the gateway; the log has the details';

export function createCrashedWork(ports: CrashedWorkPorts) {
  const { keeper, writer, nowMs } = ports;

  return {
    /** Resolves with the current record; undefined if there is none. */
    async run(key: string): Promise<RunRecord | undefined> {
      const stored = await keeper.journal()?.get('runs', key);
      if (stored === undefined) return undefined;
      const record = stored.value;
      if (stored.dueAtMs === undefined) return record;
      if (record.status === 'delivering') {
        await writer.write([{ collection: 'runs', key, value: record, dueAtMs: null }]);
        await openResponses(key, ports);
        return record;
      }
      const failed: RunRecord = { ...record, status: 'failed', reason, endedAtMs: nowMs() };
      await writer.write([
        { collection: 'runs', key, value: failed, dueAtMs: null },
        ...(await noticeChanges(key, failed, ports)),
      ]);
      await openNotice(key, ports);
      return failed;
    },

    async delivery(key: string): Promise<DeliveryRecord | undefined> {
      const held = writer.held('deliveries', key);
      if (held.length > 0) await writer.write(held);
      const stored = await keeper.journal()?.get('deliveries', key);
      if (stored === undefined) return undefined;
      const record = stored.value;
      if (isOver(record)) return record;
      const { dueAtMs: _, ...rest } = record;
      const mayHaveGone = record.status === 'sending' || record.unsureSinceMs !== undefined;
      const status = mayHaveGone ? 'unknown' : isWaitedFor(record) ? 'failed' : 'deadLettered';
      const closed: DeliveryRecord = { ...rest, status, reason, endedAtMs: nowMs() };
      await writeEnded(key, closed, ports);
      return closed;
    },
  };
}
