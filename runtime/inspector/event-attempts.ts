/**
 * Lists the attempts of a delivery with their answers, and names the place that it goes to. Pure.
 * @see DLV-4 and INS-4 in docs/specification.md
 */

import { defined } from '../../machines/base/json.ts';
import { placeWords } from '../../machines/config/targets.ts';
import { type DeliveryRecord, isOver } from '../../machines/webhook/record.ts';
import type { DeliveryAttempt, OpenedDelivery, Tone } from '../control/contract/event-wire.ts';
import type { KnownDelivery } from './timeline-sources.ts';

export function toneOfDelivery({ status }: Pick<DeliveryRecord, 'status'>): Tone {
  switch (status) {
    case 'delivered':
      return 'resting';
    case 'dropped':
      return 'ended';
    case 'failed':
    case 'deadLettered':
      return 'failed';
    case 'unknown':
      return 'unconfirmed';
    default:
      return 'working';
  }
}

/** Returns the attempts, oldest first. Records of earlier versions have only the last one. */
export function attemptsOf(record: DeliveryRecord): readonly DeliveryAttempt[] {
  const { attempts = 0, failed = [], startedAtMs, endedAtMs, status, reason, messageId } = record;
  const lastNumber = status === 'queued' || startedAtMs === undefined ? attempts : Math.max(1, attempts);
  // A failed attempt is listed already; `startedAtMs` is its time until the next attempt is marked.
  const isListed = (failed.at(-1)?.startedAtMs ?? -1) >= (startedAtMs ?? 0);
  const own = lastNumber === 0 || startedAtMs === undefined || isListed ? 0 : 1;
  const listed = failed.map(
    (one, index): DeliveryAttempt => ({
      number: lastNumber - own - failed.length + index + 1,
      at: one.startedAtMs,
      ms: Math.max(0, one.endedAtMs - one.startedAtMs),
      tone: own === 0 && index === failed.length - 1 && status === 'unknown' ? 'unconfirmed' : 'failed',
      answer: one.reason,
    }),
  );
  if (own === 0 || startedAtMs === undefined) return listed;
  const isDone = status === 'delivered';
  return [
    ...listed,
    {
      number: lastNumber,
      at: startedAtMs,
      ...(isDone && endedAtMs !== undefined ? { ms: Math.max(0, endedAtMs - startedAtMs) } : {}),
      tone: status === 'sending' || isDone || status === 'unknown' ? toneOfDelivery(record) : 'failed',
      answer: isDone
        ? (reason ?? (messageId === undefined ? 'accepted' : `accepted as message ${messageId}`))
        : status === 'sending'
          ? 'waiting for the answer'
          : (reason ?? 'no answer is known'),
    },
  ];
}

/**
 * When the sender of a direct delivery's event was answered; undefined while it waits. A person who has put the delivery
 * back or confirmed it did that later.
 */
export function answeredAtMs(record: DeliveryRecord): number | undefined {
  const { sinceMs, failed = [], endedAtMs } = record;
  if (!isOfPerson(record)) return endedAtMs;
  const before = failed.filter((one) => one.endedAtMs <= (sinceMs ?? Number.POSITIVE_INFINITY));
  return before.at(-1)?.endedAtMs ?? sinceMs ?? endedAtMs;
}

/** Whether a person has changed its status. */
export function isOfPerson({ sinceMs, note }: DeliveryRecord): boolean {
  return sinceMs !== undefined || note !== undefined;
}

export function openedDelivery({ key, record, pause }: KnownDelivery): OpenedDelivery {
  const next = isOver(record) ? undefined : Math.max(record.dueAtMs ?? 0, pause?.untilMs ?? 0) || undefined;
  return defined({
    id: key,
    place: placeWords(record),
    target: record.target,
    status: record.status,
    tone: toneOfDelivery(record),
    reason: record.reason ?? pause?.reason,
    note: record.note,
    notice: record.failedRun === undefined ? undefined : (true as const),
    next,
    attempts: [...attemptsOf(record)].reverse(),
  });
}
