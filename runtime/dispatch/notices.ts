/**
 * Writes and begins the deliveries about a run beside its response: the notices of a failed one, and the reports of one in
 * progress. The run waits for none of them.
 * @see DIS-4, DLV-6 and DUR-1 in docs/specification.md
 */

import type { Logger } from '../../actors/ports.ts';
import type { StoredRecord } from '../../actors/store/journal.ts';
import type { RecordChange } from '../../actors/store/record-writer.ts';
import type { DeliveryRecord, Progress, RunRecord } from '../../machines/webhook/record.ts';
import {
  failureNotices,
  hasFailed,
  noticeKey,
  noticeKeys,
  progressKey,
  progressReport,
} from '../../machines/webhook/run-notices.ts';
import type { ApprovalRow } from '../control/contract/approvals.ts';
import type { RecordPorts } from './written.ts';

export interface NoticePorts extends RecordPorts {
  /** Redacts secrets, because the text leaves the gateway. */
  readonly redact: (text: string) => string;
  readonly nextOrder: () => number;
  /** True while there are so many deliveries in memory that one that waits stays on disk. */
  readonly crowded: (record: DeliveryRecord) => boolean;
  /** Keeps the order of a chat whose delivery was left on disk. */
  readonly left: (key: string, record: DeliveryRecord) => void;
}

/**
 * Returns the changes that write the notices of an ended run; empty if it has not failed or no notice is configured. One
 * commit writes them with the end of the run, so that a crash neither loses nor doubles them. A failed notice causes no
 * further notice.
 */
export async function noticeChanges(key: string, run: RunRecord, ports: NoticePorts): Promise<readonly RecordChange[]> {
  // Most runs succeed, and reading an event is expensive.
  if (!hasFailed(run)) return [];
  const event = (await ports.keeper.journal()?.get('events', run.eventKey))?.value;
  const nowMs = ports.nowMs();
  return failureNotices(key, run, { event, nowMs }).map((notice) => {
    const order = ports.nextOrder();
    const value = { ...notice, text: ports.redact(notice.text), order };
    return {
      collection: 'deliveries',
      key: noticeKey(key, notice.nth),
      value,
      dueAtMs: order,
      free: ports.crowded(value),
    };
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
  { keeper, writer, nowMs, pools, left }: NoticePorts,
): void {
  if (dueAtMs === undefined || pools().deliveries.get(key) !== undefined) return;
  if (heldBy !== keeper.session()) {
    left(key, value);
    return;
  }
  writer.adopt('deliveries', key, version);
  pools().deliveries.spawn(key, { key, record: value, atMs: nowMs() });
}

/**
 * The report of an accepted event is written with the event in one commit; a question is reported when it is asked. A
 * report that cannot be written is logged.
 */
interface ProgressReports {
  /** Begins the report that was written with an accepted event. */
  open(key: string, record: DeliveryRecord): void;
  /** Reports that a run has a question for a person. */
  asked(row: ApprovalRow): void;
}

export function createProgressReports(ports: NoticePorts & { readonly log: Logger }): ProgressReports {
  const { keeper, writer, nowMs, nextOrder, pools, crowded, log } = ports;

  async function report(progress: Progress): Promise<void> {
    const journal = keeper.journal();
    const eventKey = (await journal?.get('runs', progress.run))?.value.eventKey;
    const event = eventKey === undefined ? undefined : (await journal?.get('events', eventKey))?.value;
    if (eventKey === undefined || event === undefined) return;
    const order = nextOrder();
    const value = progressReport(progress, { eventKey, event, nowMs: nowMs(), order });
    if (value === undefined) return;
    const key = progressKey(eventKey, progress);
    const verdict = await writer.write([
      { collection: 'deliveries', key, value, dueAtMs: order, free: crowded(value) },
    ]);
    if (verdict.kind === 'refused') throw new Error(verdict.reason);
    const stored = await journal?.get('deliveries', key);
    if (stored !== undefined) openWritten(stored, ports);
  }

  return {
    open(key, record) {
      pools().deliveries.spawn(key, { key, record, atMs: nowMs() });
    },
    asked({ run, id, kind, server, tool, expires_at }) {
      if (run === undefined) return;
      const question = { id, kind, server, ...(tool === undefined ? {} : { tool }), expires_at };
      report({ kind: 'approval', run, question }).catch((thrown: unknown) => {
        log.log('warn', `the report that a run waits for a person was not written: ${String(thrown)}`, { run });
      });
    },
  };
}
