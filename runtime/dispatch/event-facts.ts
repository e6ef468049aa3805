/**
 * Reads from the journal what an event has led to, and its status as the page and the command line show it.
 * @see DUR-2 and INS-4 in docs/specification.md
 */

import type { JournalReader, StoredRecord } from '../../actors/store/journal.ts';
import { outcomeOfStatus } from '../../machines/base/event-outcome.ts';
import { type DeliveryRecord, deliveryRow, type EventRecord, type RunRecord } from '../../machines/webhook/record.ts';
import { responseKeys } from '../../machines/webhook/responses.ts';
import type { SeenRun } from '../control/contract.ts';
import type { CountedEvent } from './event-sums.ts';

export interface EventFacts {
  readonly key: string;
  readonly event: EventRecord;
  readonly run?: RunRecord | undefined;
  /** The delivery of the event, or the first one of its run. */
  readonly delivery?: DeliveryRecord | undefined;
  /** As in the history; `retrying` if a delivery waits for another attempt, `waiting` if its run waits for a person. */
  readonly status: string;
}

export interface FactsPorts {
  readonly journal: () => JournalReader | undefined;
  readonly seenRun: SeenRun;
  /** The runs that wait for a person, each with its oldest question. */
  readonly runsThatWait: () => ReadonlyMap<string, string>;
}

export async function factsOf(
  { key, value: event }: Pick<StoredRecord<'events'>, 'key' | 'value'>,
  ports: FactsPorts,
): Promise<EventFacts> {
  const { work } = event;
  const journal = ports.journal();
  if (work === undefined || journal === undefined) return { key, event, status: event.status };
  const kept = await journal.get('runs', work);
  const run = kept && ports.seenRun(work, kept.value, kept.heldBy);
  const delivery = (await journal.get('deliveries', work))?.value;
  const { status } = deliveryRow(event, run ?? delivery);
  if (status === 'running' && ports.runsThatWait().has(work)) return { key, event, run, delivery, status: 'waiting' };
  if (status !== 'delivering') return { key, event, run, delivery, status };
  const further = await Promise.all(
    responseKeys(work, delivery?.of)
      .slice(1)
      .map((one) => journal.get('deliveries', one)),
  );
  const isRetrying = [delivery, ...further.map((one) => one?.value)].some((one) => one?.status === 'waitingToRetry');
  return { key, event, run, delivery, status: isRetrying ? 'retrying' : status };
}

/** Returns the counted fields of an event. */
export function countedOf({ key, event, run, delivery, status }: EventFacts): CountedEvent {
  const tookMs = tookOf({ event, run, delivery, status });
  return {
    key,
    route: `${event.profile}/${event.route}`,
    status,
    ...(tookMs === undefined ? {} : { tookMs }),
  };
}

/** Returns the time from the request to the delivery in milliseconds; undefined if it is not delivered. */
export function tookOf({ event, run, delivery, status }: Omit<EventFacts, 'key'>): number | undefined {
  const endedAtMs = (run ?? delivery)?.endedAtMs;
  if (outcomeOfStatus(status) !== 'delivered' || endedAtMs === undefined) return undefined;
  return Math.max(0, endedAtMs - event.receivedAtMs);
}
