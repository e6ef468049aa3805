/**
 * Reads from the journal what an event has led to, with its status as the page and the command line show it, and decides
 * which events a search matches, payloads included. Text that is not shown is not matched either: otherwise a read-only
 * user could guess a secret letter by letter.
 * @see DUR-2 and INS-4 in docs/specification.md
 */

import type { JournalReader, StoredRecord } from '../../actors/store/journal.ts';
import { outcomeOfStatus } from '../../machines/base/event-outcome.ts';
import { type EventQuery, formatQuery } from '../../machines/base/event-query.ts';
import { canonicalTarget } from '../../machines/config/targets.ts';
import { readablePayload } from '../../machines/webhook/body.ts';
import { type DeliveryRecord, type EventRecord, eventStatus, type RunRecord } from '../../machines/webhook/record.ts';
import { placesOf } from '../../machines/webhook/responses.ts';
import type { SeenRun } from '../control/contract/runs.ts';
import type { CountedEvent } from './event-sums.ts';
import { furtherKeys } from './responses.ts';

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
  if (work === undefined || journal === undefined) return { key, event, status: eventStatus(event, undefined) };
  const [kept, sent] = await Promise.all([journal.get('runs', work), journal.get('deliveries', work)]);
  const run = kept && ports.seenRun(work, kept.value, kept.heldBy);
  const delivery = sent?.value;
  const status = eventStatus(event, run ?? delivery);
  if (status === 'running' && ports.runsThatWait().has(work)) return { key, event, run, delivery, status: 'waiting' };
  if (status !== 'delivering') return { key, event, run, delivery, status };
  const further = await Promise.all(furtherKeys(work, delivery).map((one) => journal.get('deliveries', one)));
  const isRetrying = [delivery, ...further.map((one) => one?.value)].some((one) => one?.status === 'waitingToRetry');
  return { key, event, run, delivery, status: isRetrying ? 'retrying' : status };
}

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

/** The test that decides which events are counted. */
export interface EventTest {
  /** Equal for equal tests. */
  readonly name: string;
  readonly fits: (facts: EventFacts) => boolean;
}

/**
 * The test of a search without its statuses, which are counted individually.
 * @param redact returns the texts of an event as they are shown
 */
export function testOf(
  { texts, filters: { status: _, ...filters } }: EventQuery,
  redact: (texts: readonly string[]) => readonly string[],
): EventTest {
  const { route, profile, node, event, id, source, target, is } = filters;
  const patterns = texts.map((text) => new RegExp(text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'), 'iu'));
  const tests: ((facts: EventFacts) => boolean)[] = [];
  if (route !== undefined) tests.push(({ event: { route: held } }) => route.some((one) => isSame(one, held)));
  if (profile !== undefined) tests.push(({ event: { profile: held } }) => profile.some((one) => isSame(one, held)));
  if (node !== undefined) tests.push(({ event: { node: held = '' } }) => node.some((one) => isSame(one, held)));
  if (event !== undefined) tests.push(({ event: { event: held } }) => event.some((one) => begins(one, held)));
  if (id !== undefined)
    tests.push(({ key, event: { deliveryId } }) => id.some((one) => begins(one, key) || begins(one, deliveryId)));
  if (source !== undefined) tests.push(({ event: { scheme = '' } }) => source.some((one) => isSame(one, scheme)));
  if (target !== undefined) {
    const wanted = target.map((one) => canonicalTarget(one.toLowerCase()) ?? one);
    tests.push((facts) => targetsOf(facts).some((held) => wanted.some((one) => isSame(one, held))));
  }
  if (is !== undefined) tests.push(({ event: { replayOf } }) => replayOf !== undefined);
  if (patterns.length > 0) {
    const fitAll = (held: readonly string[]): boolean =>
      patterns.every((pattern) => held.some((text) => pattern.test(text)));
    // Only matching texts are redacted, because that takes longer than matching.
    tests.push((facts) => fitAll(textsOf(facts)) && fitAll(redact(textsOf(facts))));
  }
  return {
    name: formatQuery({ texts, filters }),
    fits: (facts) => tests.every((fits) => fits(facts)),
  };
}

function textsOf({ key, event, run, delivery }: EventFacts): readonly string[] {
  const reason = (run ?? delivery)?.reason ?? event.reason ?? '';
  // The text of a handshake may be a secret in use.
  const body = event.outcome === 'handshake' ? '' : readablePayload(event.body, event.headers);
  return [body, event.deliveryId, event.event, event.route, reason, key];
}

function targetsOf({ event, delivery }: EventFacts): readonly string[] {
  const configured = event.deliver === undefined && event.deliverTo === undefined ? [] : placesOf(event);
  const all = [...configured.map(({ target }) => target), ...(delivery === undefined ? [] : [delivery.target])];
  return all.map((name) => canonicalTarget(name) ?? name);
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

function begins(prefix: string, text: string): boolean {
  return text.slice(0, prefix.length).toLowerCase() === prefix.toLowerCase();
}
