/**
 * Writes and begins the deliveries of a failed run's notices. One commit writes them with the end of the run, so that a
 * crash neither loses nor doubles them. The run does not wait for them, and a failed notice causes no further notice.
 * @see DIS-4 in docs/specification.md
 */

import type { StoredRecord } from '../../actors/store/journal.ts';
import type { RecordChange } from '../../actors/store/record-writer.ts';
import type { DeliveryRecord, RunRecord } from '../../machines/webhook/record.ts';
import { failureNotices, hasFailed, noticeKey, noticeKeys } from '../../machines/webhook/run-notices.ts';
import type { RecordPorts } from './written.ts';

export interface NoticePorts extends RecordPorts {
  /** Redacts secrets, because the text leaves the gateway. */
  readonly redact: (text: string) => string;
  /** The number of the next delivery. */
  readonly nextOrder: () => number;
  /** True while there are so many deliveries in memory that waiting ones stay on disk. */
  readonly crowded: () => boolean;
  /** Keeps the order of a chat whose delivery was left on disk. */
  readonly left: (key: string, record: DeliveryRecord) => void;
}

/** Returns the changes that write the notices of an ended run; empty if it has not failed or no notice is configured. */
export async function noticeChanges(key: string, run: RunRecord, ports: NoticePorts): Promise<readonly RecordChange[]> {
  // Most runs succeed, and reading an event is expensive.
  if (!hasFailed(run)) return [];
  const event = (await ports.keeper.journal()?.get('events', run.eventKey))?.value;
  const nowMs = ports.nowMs();
  return failureNotices(key, run, { event, nowMs }).map((notice) => {
    const order = ports.nextOrder();
    const value = { ...notice, text: ports.redact(notice.text), order };
    return { collection: 'deliveries', key: noticeKey(key, notice.nth), value, dueAtMs: order, free: ports.crowded() };
  });
}

/** Begins the notices' deliveries that were written; one that was left on disk is recovered from there. */
export async function openNotice(runKey: string, ports: NoticePorts): Promise<void> {
  for (const key of noticeKeys(runKey)) {
    const stored = await ports.keeper.journal()?.get('deliveries', key);
    if (stored !== undefined) openWritten(stored, ports);
  }
}

/** Begins a delivery that was written; one that was left on disk is recovered from there. */
export function openWritten(
  { key, value, heldBy, dueAtMs, version }: StoredRecord<'deliveries'>,
  { keeper, writer, nowMs, wards, left }: NoticePorts,
): void {
  if (dueAtMs === undefined || wards().deliveries.get(key) !== undefined) return;
  if (heldBy !== keeper.session()) {
    left(key, value);
    return;
  }
  writer.adopt('deliveries', key, version);
  wards().deliveries.spawn(key, { key, record: value, atMs: nowMs() });
}
