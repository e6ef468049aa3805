/**
 * Writes and begins the deliveries of a failed run's notices. They are written with the end of the run in one commit, so that
 * a crash neither loses nor doubles them. The run does not wait for it, and no notice follows from its own failure.
 * @see DIS-4 in docs/specification.md
 */

import type { StoredRecord } from '../../actors/store/journal.ts';
import type { JournalKeeper } from '../../actors/store/keeper.ts';
import type { RecordChange, RecordWriter } from '../../actors/store/record-writer.ts';
import { failureNotices, hasFailed, noticeKey, noticeKeys } from '../../machines/webhook/failure-notice.ts';
import type { DeliveryRecord, RunRecord } from '../../machines/webhook/record.ts';
import type { Wards } from '../system/wards.ts';

export interface NoticePorts {
  readonly keeper: JournalKeeper;
  readonly writer: RecordWriter;
  /** The judge of what is secret: the text leaves the gateway. */
  readonly redact: (text: string) => string;
  readonly nowMs: () => number;
  /** The number of the next delivery. */
  readonly nextOrder: () => number;
  readonly wards: () => Wards;
  /** True while so many deliveries live that those that wait do so on disk. */
  readonly crowded: () => boolean;
  /** Keeps the chat of a delivery that is left on disk in order. */
  readonly left: (key: string, record: DeliveryRecord) => void;
}

/** Returns the changes that write the notices of a run that ends; none where it has not failed or no notice is asked for. */
export async function noticeChanges(key: string, run: RunRecord, ports: NoticePorts): Promise<readonly RecordChange[]> {
  // Most runs have succeeded, and an event is large to read.
  if (!hasFailed(run)) return [];
  const event = (await ports.keeper.journal()?.get('events', run.eventKey))?.value;
  const nowMs = ports.nowMs();
  return failureNotices(key, run, { event, nowMs }).map((notice) => {
    const order = ports.nextOrder();
    const value = { ...notice, text: ports.redact(notice.text), order };
    return { collection: 'deliveries', key: noticeKey(key, notice.nth), value, dueAtMs: order, free: ports.crowded() };
  });
}

/** Begins the deliveries of the notices that were written; one that was left on disk is taken up from there. */
export async function openNotice(runKey: string, ports: NoticePorts): Promise<void> {
  for (const key of noticeKeys(runKey)) {
    const stored = await ports.keeper.journal()?.get('deliveries', key);
    if (stored !== undefined) openWritten(stored, ports);
  }
}

/** Begins a delivery that was written; one that was left on disk is taken up from there. */
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
