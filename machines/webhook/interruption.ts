/**
 * Decides what happens to work that a crash interrupted: run again, delivered from where it stopped, or closed with its true
 * outcome.
 * @see DUR-1 in docs/specification.md
 */

import { type DeliveryRecord, isOver, type RunRecord, unawaited } from './record.ts';
import { withResponses } from './responses.ts';

/** How many attempts of a run may repeat one that a crash interrupted (DUR-1). */
const maxRepeats = 5;

/**
 * How many crashes a run outlives, those before its agent had the prompt included: a run that ends the gateway each time it is
 * prepared must not keep it down for good.
 */
const maxCutOffs = 25;

/**
 * Returns the record with which the run continues. A run interrupted before its agent had the prompt always waits again; one
 * interrupted later waits again or ends as interrupted, according to `policy`.
 */
export function interruptedRun(
  record: RunRecord,
  delivery: DeliveryRecord | undefined,
  policy: 'rerun' | 'report',
): RunRecord {
  switch (record.status) {
    case 'running': {
      const waiting = cutOff(record);
      const mayRun = policy === 'rerun' || record.prompted === false;
      if (mayRun && waiting.attempt <= maxRepeats && waiting.cutOffs <= maxCutOffs) return waiting;
      return { ...waiting, status: 'interrupted', reason: interruption(waiting) };
    }
    case 'delivering':
      // Several deliveries are opened after their run has closed.
      return delivery === undefined || delivery.of !== undefined || !isOver(delivery)
        ? record
        : withResponses(record, [delivery]);
    default:
      return record;
  }
}

/** An attempt counts only once the agent has the prompt. */
function cutOff({ prompted, ...record }: RunRecord): RunRecord & { readonly cutOffs: number } {
  const attempt = prompted === false ? record.attempt - 1 : record.attempt;
  return { ...record, status: 'queued', attempt, cutOffs: (record.cutOffs ?? 0) + 1 };
}

function interruption({ attempt, cutOffs }: { readonly attempt: number; readonly cutOffs: number }): string {
  const where = attempt === 0 ? 'before the agent had the prompt' : `in attempt ${attempt}`;
  return cutOffs > 1 ? `cut off by ${cutOffs} crashes, at last ${where}` : `cut off by a crash ${where}`;
}

/**
 * An interrupted run is on disk as running until its next attempt is written; people see that it waits.
 * @param living the record of its running chart; undefined if there is none
 */
export function runAsSeen(record: RunRecord, living: RunRecord | undefined): RunRecord {
  if (record.status !== 'running') return record;
  if (living?.status === 'interrupted') return living;
  if (living !== undefined && living.status !== 'queued' && living.attempt === record.attempt) return record;
  const where = record.prompted === false ? 'before the agent had the prompt' : `in attempt ${record.attempt}`;
  return { ...cutOff(record), reason: `cut off ${where}; waits to be taken up again` };
}

/**
 * Returns the record with which a delivery continues. A message being sent during the crash may have arrived: the delivery
 * continues only while the platform recognizes duplicates, else it ends as unknown. A direct one continues without its
 * sender, which got no answer; where it ends as unknown, its id is released.
 */
export function interruptedDelivery(
  record: DeliveryRecord,
  { nowMs, deduplicatesForMs }: { readonly nowMs: number; readonly deduplicatesForMs: number },
): DeliveryRecord {
  if (isOver(record) || isLeftToOthers(record, nowMs)) return record;
  if (record.status !== 'sending') return unawaited(record);
  const unsureSinceMs = record.unsureSinceMs ?? record.startedAtMs ?? record.queuedAtMs;
  if (isKnownAgain(unsureSinceMs, { nowMs, deduplicatesForMs }))
    return { ...unawaited(record), status: 'queued', unsureSinceMs };
  return { ...record, status: 'unknown', reason: 'cut off while sending, when the gateway ended' };
}

/** Whether another gateway received the event and left its delivery to any, while the sender still waits there. */
function isLeftToOthers(record: DeliveryRecord, nowMs: number): boolean {
  return isNotBegun(record) && record.answerByMs !== undefined && nowMs < record.answerByMs;
}

/** Whether a delivery was never marked as being sent: of a direct one only on a shared journal. */
export function isNotBegun({ status, attempts }: DeliveryRecord): boolean {
  return status === 'queued' && attempts === undefined;
}

/** The end of a direct delivery that no gateway sent while its sender waited. */
export function notSentInTime(record: DeliveryRecord): DeliveryRecord {
  return { ...record, status: 'failed', reason: 'no gateway could send it while its sender waited' };
}

/** Whether a platform still recognizes a message that may have arrived at that time (Unix ms), and drops a second one. */
export function isKnownAgain(
  unsureSinceMs: number,
  { nowMs, deduplicatesForMs }: { readonly nowMs: number; readonly deduplicatesForMs: number },
): boolean {
  // If the clock was set back since then, the elapsed time is unknown.
  return nowMs >= unsureSinceMs && nowMs - unsureSinceMs < deduplicatesForMs;
}
