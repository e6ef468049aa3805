/**
 * Writes and begins the reports of runs in progress. The report of an accepted event is written with the event in one
 * commit; a question is reported when it is asked. A report that cannot be written is logged, and the run continues.
 * @see DLV-6 and DUR-1 in docs/specification.md
 */

import type { Logger } from '../../actors/ports.ts';
import type { DeliveryRecord, Progress } from '../../machines/webhook/record.ts';
import { progressKey, progressReport } from '../../machines/webhook/run-notices.ts';
import type { ApprovalRow } from '../control/contract.ts';
import { type NoticePorts, openWritten } from './notices.ts';

export interface ProgressReports {
  /** Begins the report that was written with an accepted event. */
  open(key: string, record: DeliveryRecord): void;
  /** Reports that a run has a question for a person. */
  asked(row: ApprovalRow): void;
}

export function createProgressReports(ports: NoticePorts & { readonly log: Logger }): ProgressReports {
  const { keeper, writer, nowMs, nextOrder, wards, crowded, log } = ports;

  async function report(progress: Progress): Promise<void> {
    const journal = keeper.journal();
    const eventKey = (await journal?.get('runs', progress.run))?.value.eventKey;
    const event = eventKey === undefined ? undefined : (await journal?.get('events', eventKey))?.value;
    if (eventKey === undefined || event === undefined) return;
    const order = nextOrder();
    const value = progressReport(progress, { eventKey, event, nowMs: nowMs(), order });
    if (value === undefined) return;
    const key = progressKey(eventKey, progress);
    const verdict = await writer.write([{ collection: 'deliveries', key, value, dueAtMs: order, free: crowded() }]);
    if (verdict.kind === 'refused') throw new Error(verdict.reason);
    const stored = await journal?.get('deliveries', key);
    if (stored !== undefined) openWritten(stored, ports);
  }

  return {
    open(key, record) {
      wards().deliveries.spawn(key, { key, record, atMs: nowMs() });
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
