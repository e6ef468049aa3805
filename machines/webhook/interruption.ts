/**
 * Decides what becomes of work that a crash cut off: run again once, delivered from where it stood, or closed with its
 * true outcome. Knows no journal.
 * @see DUR-1 in docs/specification.md
 */

import { type DeliveryRecord, isOver, isWaitedFor, outcomeOf, type RunRecord } from './record.ts';

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

/**
 * A run that was cut off stands on disk as running until its next attempt is written there. People are told that it waits.
 * @param living what its chart goes on with; undefined where none has taken it up
 */
export function runAsSeen(record: RunRecord, living: RunRecord | undefined): RunRecord {
  if (record.status !== 'running') return record;
  if (living?.status === 'interrupted') return living;
  if (living !== undefined && living.status !== 'queued' && living.attempt === record.attempt) return record;
  return { ...record, status: 'queued', reason: `cut off in attempt ${record.attempt}; waits to be taken up again` };
}

/**
 * The record that a delivery goes on with. A sending under way when the crash came may have arrived: it goes on only while
 * the platform would know it again, and ends as unknown otherwise. A direct one ends in any case: its sender has no answer
 * and sends again.
 */
export function interruptedDelivery(
  record: DeliveryRecord,
  { nowMs, deduplicatesForMs }: { readonly nowMs: number; readonly deduplicatesForMs: number },
): DeliveryRecord {
  if (isOver(record)) return record;
  if (isWaitedFor(record) && record.status !== 'sending' && record.unsureSinceMs === undefined)
    return { ...record, status: 'failed', reason: 'cut off by a crash before it was sent again' };
  if (record.status !== 'sending' && !isWaitedFor(record)) return record;
  const unsureSinceMs = record.unsureSinceMs ?? record.startedAtMs ?? record.queuedAtMs;
  if (!isWaitedFor(record) && nowMs - unsureSinceMs < deduplicatesForMs)
    return { ...record, status: 'queued', unsureSinceMs };
  return { ...record, status: 'unknown', reason: 'cut off by a crash while sending' };
}

/** What is known of the delivery by now stands for the run, and not why an earlier try failed. */
export function withDelivery(record: RunRecord, delivery: DeliveryRecord): RunRecord {
  if (!isOver(delivery)) return record;
  const { reason: _, ...rest } = record;
  const { reason } = delivery;
  return { ...rest, status: outcomeOf(delivery), ...(reason === undefined ? {} : { reason }) };
}
