/**
 * Keeps refused requests in memory, so that those of third parties evict no others: a ring for each route and reason, in
 * which equal requests of one sender are one row with a count. Requests that reach no route share a ring for each reason,
 * since their senders choose the paths. Writes nothing to disk and explains nothing.
 * @see SEC-8 and DUR-2 in docs/specification.md
 */

import { cut } from '../../machines/base/json.ts';
import type { EventRecord } from '../../machines/webhook/record.ts';
import type { RequestContext } from '../../machines/webhook/webhook-request.machine.ts';
import type { FoundEvent } from '../dispatch/find-event.ts';
import { senderOf } from '../http/sender.ts';
import { withoutNumbers } from './last-refusals.ts';

export interface RefusedRequests {
  add(key: string, event: EventRecord, from: RefusedFrom): void;
  /** The rows by their newest request, newest first; with `before`, only those before that key. */
  newestFirst(before?: string): Iterable<FoundEvent>;
  /** The requests with the id or key. Each row keeps its first and its latest requests. */
  withId(id: string): readonly FoundEvent[];
}

/** The fields by which refusals are counted. */
export interface RefusedFrom extends Pick<RequestContext, 'route' | 'outcome' | 'reason'> {
  readonly address: string;
}

/** Rows of one ring: the senders of a route that are refused for one reason. */
export const maxInRing = 50;
/** Rows of all rings: with texts of the maximum size, about ten megabytes. */
export const maxRows = 2_000;
/** Earlier requests of a row that can be found by id: the latest, and the first. */
export const maxRemembered = 20;
const maxTextLength = 200;
const maxReasonLength = 600;

/** An earlier request of a row; its other fields are those of the newest. */
type Brief = Pick<EventRecord, 'deliveryId' | 'receivedAtMs'> & { readonly key: string };

interface Row {
  readonly ring: string;
  readonly name: string;
  readonly sender: string;
  readonly count: number;
  /** The key of the newest request. */
  readonly key: string;
  readonly event: EventRecord;
  /** Earlier requests, newest first; the last one is the first of the row. */
  readonly earlier: readonly Brief[];
}

type Ring = Map<string, Row>;

export function createRefusedRequests(): RefusedRequests {
  /** The rows of each ring, the one that changed last at the end. */
  const rings = new Map<string, Ring>();
  /** All rows by ascending key, so that a listing walks back from the end and does not sort. */
  const listed: Row[] = [];

  function* newestFirst(before?: string): Generator<Row> {
    const end = before === undefined ? listed.length : placeOf(listed, before);
    for (let at = end - 1; at >= 0; at -= 1) yield listed[at] as Row;
  }

  function drop({ ring, name, key }: Row): void {
    listed.splice(placeOf(listed, key), 1);
    const rows = rings.get(ring);
    rows?.delete(name);
    if (rows?.size === 0) rings.delete(ring);
  }

  /** Only a new row needs room; the rings are searched only while the row limit is reached. */
  function makeRoom(ring: Ring | undefined): void {
    if (ring !== undefined && ring.size >= maxInRing) drop(oldestOfBusiest(ring));
    else if (listed.length >= maxRows) drop(oldestOfBusiest(fullest(rings)));
  }

  return {
    add(key, given, from) {
      const event = shortened(given);
      const sender = senderOf(from.address) ?? '';
      const ring = ringOf(from);
      // Each repeated event has its own row, because the reason names the event.
      const name = `${sender} ${event.route} ${from.outcome?.kind === 'duplicate' ? event.reason : ''}`;
      const known = rings.get(ring)?.get(name);
      if (known === undefined) makeRoom(rings.get(ring));
      else drop(known);
      const count = (known?.count ?? 0) + 1;
      const row = { ring, name, sender, count, key, event, earlier: earlierOf(known) };
      listed.splice(placeOf(listed, key), 0, row);
      rings.set(ring, (rings.get(ring) ?? new Map<string, Row>()).set(name, row));
    },
    *newestFirst(before) {
      for (const row of newestFirst(before)) yield foundIn(row, briefOf(row));
    },
    withId: (id) =>
      [...newestFirst()].flatMap((row) =>
        [briefOf(row), ...row.earlier]
          .filter(({ key, deliveryId }) => key === id || deliveryId === id)
          .map((brief) => foundIn(row, brief)),
      ),
  };
}

/** Outcomes whose reason is the gateway's own text; others quote the sender. */
const ownWords: ReadonlySet<string> = new Set(['badSignature', 'badBody', 'handshake', 'unknownRoute']);

function ringOf({ route, outcome, reason = '' }: RefusedFrom): string {
  const kind = outcome?.kind ?? 'internal';
  const why = ownWords.has(kind) ? withoutNumbers(reason) : '';
  return route === undefined ? `${kind}: ${why}` : `${kind} ${route.profile}/${route.name}: ${why}`;
}

function earlierOf(row: Row | undefined): readonly Brief[] {
  if (row === undefined) return [];
  const { earlier } = row;
  const kept =
    earlier.length < maxRemembered ? earlier : [...earlier.slice(0, maxRemembered - 2), ...earlier.slice(-1)];
  return [briefOf(row), ...kept];
}

function briefOf({ key, event: { deliveryId, receivedAtMs } }: Row): Brief {
  return { key, deliveryId, receivedAtMs };
}

function foundIn({ event, count, earlier }: Row, { key, deliveryId, receivedAtMs }: Brief): FoundEvent {
  const first = earlier.at(-1);
  const found = { key, event: { ...event, deliveryId, receivedAtMs } };
  if (first === undefined) return found;
  const { key: firstKey, receivedAtMs: firstAtMs } = first;
  return { ...found, alike: { count, firstKey, firstAtMs, lastAtMs: event.receivedAtMs } };
}

/** The index of a key among ascending rows, or its insertion point. */
function placeOf(rows: readonly Row[], key: string): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((rows[middle]?.key ?? '') < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

function fullest(rings: ReadonlyMap<string, Ring>): Ring {
  let fullest: Ring = new Map();
  for (const ring of rings.values()) if (ring.size > fullest.size) fullest = ring;
  return fullest;
}

/** One sender with many paths does not evict the others of its ring. */
function oldestOfBusiest(ring: Ring): Row {
  const counts = new Map<string, number>();
  for (const { sender } of ring.values()) counts.set(sender, (counts.get(sender) ?? 0) + 1);
  const max = Math.max(...counts.values());
  return [...ring.values()].find(({ sender }) => counts.get(sender) === max) as Row;
}

/** A path, an id and a type may be of any length, and a slice of a string keeps all of it in memory. */
function shortened(event: EventRecord): EventRecord {
  const { deliveryId, route, event: type, reason } = event;
  return {
    ...event,
    deliveryId: brief(deliveryId),
    route: brief(route),
    event: brief(type),
    reason: reason === undefined ? undefined : brief(reason, maxReasonLength),
  };
}

function brief(text: string, limit = maxTextLength): string {
  return Buffer.from(cut(text, limit)).toString();
}
