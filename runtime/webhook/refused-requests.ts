/**
 * Remembers refused requests in memory, so that those of third parties push out no others: a ring for each route and reason, in
 * which equal requests of one sender are one row with a count. Requests that reach no route share a ring for each reason,
 * since their senders choose the paths. Writes nothing to disk and explains nothing.
 * @see SEC-8 and DUR-2 in docs/specification.md
 */

import { cut } from '../../machines/base/json.ts';
import type { EventRecord } from '../../machines/webhook/record.ts';
import type { RequestContext } from '../../machines/webhook/webhook-request.machine.ts';
import { senderOf } from '../http/sender.ts';
import type { FoundEvent } from './find-event.ts';

export interface RefusedRequests {
  add(key: string, event: EventRecord, from: RefusedFrom): void;
  /** The rows, each by its newest request, newest first; only those before a key where one is given. */
  newestFirst(before?: string): Iterable<FoundEvent>;
  /** The requests that bear the id, or this key: the first and the latest of each row are known. */
  withId(id: string): readonly FoundEvent[];
}

/** What a refusal is counted by. */
export interface RefusedFrom extends Pick<RequestContext, 'route' | 'outcome' | 'reason'> {
  readonly address: string;
}

/** Senders of a route that are refused for one reason. */
export const mostInRing = 50;
/** Rows of all rings: with texts of the longest, some ten megabytes. */
export const mostRows = 2_000;
/** Earlier requests of a row that are found by their ids: the latest, and the first. */
export const mostRemembered = 20;
const longestText = 200;
const longestReason = 600;

/** A request as its row remembers it; the rest is as in the newest. */
type Brief = Pick<EventRecord, 'deliveryId' | 'receivedAtMs'> & { readonly key: string };

interface Row {
  readonly ring: string;
  readonly name: string;
  readonly sender: string;
  readonly count: number;
  /** Of the newest. */
  readonly key: string;
  readonly event: EventRecord;
  /** Those before it, newest first; the last of them is the first of all. */
  readonly earlier: readonly Brief[];
}

type Ring = Map<string, Row>;

export function createRefusedRequests(): RefusedRequests {
  /** Each ring's rows, the one that changed last at the end. */
  const rings = new Map<string, Ring>();
  /** All rows by their keys, rising: a listing walks back from the end and sorts nothing. */
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

  /** Only a new row needs room; the rings are walked only while all rows are taken. */
  function makeRoom(ring: Ring | undefined): void {
    if (ring !== undefined && ring.size >= mostInRing) drop(oldestOfBusiest(ring));
    else if (listed.length >= mostRows) drop(oldestOfBusiest(fullest(rings)));
  }

  return {
    add(key, given, from) {
      const event = shortened(given);
      const sender = senderOf(from.address) ?? '';
      const ring = ringOf(from);
      // Each event that was repeated has a row of its own, whose reason names it.
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

/** Reasons that the gateway words itself; others carry what the sender wrote. */
const ownWords: ReadonlySet<string> = new Set(['badSignature', 'badBody', 'handshake']);

function ringOf({ route, outcome, reason = '' }: RefusedFrom): string {
  const kind = outcome?.kind ?? 'internal';
  // A timestamp is one second further from the clock each second, for the same reason.
  const why = ownWords.has(kind) ? reason.replace(/\d+/g, '0') : '';
  return route === undefined ? `${kind}: ${why}` : `${kind} ${route.profile}/${route.name}: ${why}`;
}

function earlierOf(row: Row | undefined): readonly Brief[] {
  if (row === undefined) return [];
  const { earlier } = row;
  const kept =
    earlier.length < mostRemembered ? earlier : [...earlier.slice(0, mostRemembered - 2), ...earlier.slice(-1)];
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

/** Where a key stands among rising ones, or would. */
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

/** One sender with many paths does not push out the others of its ring. */
function oldestOfBusiest(ring: Ring): Row {
  const counts = new Map<string, number>();
  for (const { sender } of ring.values()) counts.set(sender, (counts.get(sender) ?? 0) + 1);
  const most = Math.max(...counts.values());
  return [...ring.values()].find(({ sender }) => counts.get(sender) === most) as Row;
}

/** A sender writes a path, an id and a type of any length, and a piece of a text keeps all of it in memory. */
function shortened(event: EventRecord): EventRecord {
  const { deliveryId, route, event: type, reason } = event;
  return {
    ...event,
    deliveryId: brief(deliveryId),
    route: brief(route),
    event: brief(type),
    reason: reason === undefined ? undefined : brief(reason, longestReason),
  };
}

function brief(text: string, limit = longestText): string {
  return Buffer.from(cut(text, limit)).toString();
}
