/**
 * Keeps the secondary index. Its entries, the marks, let a listing find the few records of a route, status or id among
 * millions. A shared mark is written once per time bucket, so it covers all records of the bucket and may lead to records
 * that lack it, but never misses one. The claim of an event's id is its mark as well and is kept as long as the event;
 * when the claim is released or taken again, a mark replaces it. `machines/webhook/marks.ts` defines which record has
 * which marks. Runs inside a job.
 * @see DUR-2 in docs/specification.md
 */

import type { JsonObject } from '../../machines/base/json.ts';
import {
  claimOfEvent,
  claimsOfEvent,
  claimsOfMark,
  marksOfEvent,
  marksOfStatus,
  marksOfWork,
  shownOfWork,
  workMark,
} from '../../machines/webhook/marks.ts';
import type { Collection, MarkedCollection, MarkQuery } from './journal.ts';
import { claimKey, isOwnName, markText, timeText } from './keys.ts';
import { bareKey, letters, type Row, type Tables } from './tables.ts';

/**
 * The time bucket of a key, which begins with its time: this many characters, and all but the lowest bits of the next
 * one.
 */
const bucketWidth = 8;
const lowestBits = 7;
/** Places of a mark that are read at once. */
const pageSize = 64;
/** Events read at once to find those that led to some work. */
const membersPage = 1_000;
/** More than there are routes. */
const allClaims = 100_000;
const maxRecent = 8_192;

export function isMarked(collection: Collection): collection is MarkedCollection {
  return collection === 'events' || collection === 'runs' || collection === 'deliveries';
}

interface Marked {
  readonly key: string;
  readonly value: JsonObject;
  readonly isDue: boolean;
  /** Whether a claim of its id leads to it, so that it needs no mark. */
  readonly isClaimed: boolean;
}

/** Marks a record that was just written, and the events whose shown status changed with it. */
export function markRecord(
  tables: Tables,
  collection: MarkedCollection,
  { key, value, isDue, isClaimed }: Marked,
): void {
  const { shared, own, ofWork } = collection === 'events' ? marksOfEvent(key, value) : marksOfWork(value, isDue);
  const stretch = bucketOf(key);
  for (const mark of shared) markPlace(tables, prefixOf(collection, mark), stretch);
  if (ofWork !== undefined) markMember(tables, prefixOf(collection, ofWork), key, stretch);
  if (own !== undefined && !isClaimed) tables.marks.write(`${prefixOf(collection, own)}${key}`, bareKey);
  if (collection !== 'events' && !isDue) markEventsOfEnded(tables, collection, key, value);
}

/** Marks the events of ended work with their new status. */
function markEventsOfEnded(tables: Tables, collection: 'runs' | 'deliveries', key: string, work: JsonObject): void {
  const { eventKey, runKey, route, group } = work;
  // The events show the status of the run, whose own record marks them.
  if (typeof runKey === 'string' && tables.runs.head(runKey) !== undefined) return;
  // Work of a single event has the event's key and no batch, so the event's status follows without reading it. Whether a
  // run that is gone was that of a batch, its delivery does not say.
  const isOfOne = eventKey === key && group === undefined && runKey === undefined;
  const shown = isOfOne ? shownBy(collection, work) : undefined;
  if (shown === undefined) markEventsOf(tables, key);
  else for (const mark of marksOfStatus(shown, route)) markPlace(tables, prefixOf('events', mark), bucketOf(key));
}

function shownBy(collection: 'runs' | 'deliveries', work: JsonObject): string | undefined {
  return collection === 'runs' ? shownOfWork(work, undefined) : shownOfWork(undefined, work);
}

/**
 * Removes an event's own mark, and lets its claims end with their time. Shared marks are removed with the last record of
 * their time bucket.
 * @param nowMs the time, if known: an expired claim is removed at once
 */
export function unmarkEvent(tables: Tables, key: string, value: JsonObject, nowMs = Number.NEGATIVE_INFINITY): void {
  const { claims, expiry, marks } = tables;
  const { own } = marksOfEvent(key, value);
  if (own !== undefined) marks.remove(`${prefixOf('events', own)}${key}`);
  for (const name of claimsOfEvent(value)) {
    const claimed = claimKey(name);
    const claim = claims.read(claimed);
    if (claim?.value?.eventKey !== key) continue;
    const ends = expiryKey(claimed, claim);
    if ((claim.dueAtMs ?? 0) > nowMs) {
      expiry.write(ends, bareKey);
    } else {
      claims.remove(claimed);
      expiry.remove(ends);
    }
  }
}

/** The key of the mark that an event needs once the claim that leads to it is gone; undefined if it needs none. */
export function missingMark(tables: Tables, claimed: string, { value }: Row): string | undefined {
  const key = value?.eventKey;
  const event = typeof key === 'string' ? tables.events.read(key)?.value : undefined;
  if (typeof key !== 'string' || event === undefined) return undefined;
  const name = claimOfEvent(event);
  const { own } = marksOfEvent(key, event);
  if (own === undefined || name === undefined || claimKey(name) !== claimed) return undefined;
  const mark = `${prefixOf('events', own)}${key}`;
  return tables.marks.head(mark) === undefined ? mark : undefined;
}

/** The key in `expiry` for the end of a claim. */
export function expiryKey(claimed: string, { dueAtMs }: Row): string {
  return `${timeText(dueAtMs ?? 0)}/${claimed}`;
}

/** The events of a removed record change their status. */
export function unmarkWork(tables: Tables, collection: MarkedCollection, key: string): void {
  if (collection !== 'events') markEventsOf(tables, key);
}

/** Marks the events of some work with their status after the work was written or removed. */
function markEventsOf(tables: Tables, work: string): void {
  let look: { readonly shown: string | undefined } | undefined;
  for (const { key, event } of eventsOf(tables, work)) {
    look ??= { shown: shownNow(tables, work) };
    for (const mark of marksOfStatus(look.shown ?? event.status, event.route)) {
      markPlace(tables, prefixOf('events', mark), bucketOf(key));
    }
  }
}

function shownNow({ runs, deliveries }: Tables, work: string): string | undefined {
  const run = runs.read(work)?.value;
  return shownOfWork(run, run === undefined ? deliveries.read(work)?.value : undefined);
}

/** The events that led to some work: the one with its key, and those found by the mark of the work. */
function* eventsOf(tables: Tables, work: string): Generator<{ readonly key: string; readonly event: JsonObject }> {
  const leads = (event: JsonObject | undefined): event is JsonObject => event?.work === work;
  const own = tables.events.read(work)?.value;
  if (leads(own)) yield { key: work, event: own };
  for (let from: string | undefined; ; ) {
    const page = { marks: [workMark(work)], limit: membersPage, ...(from === undefined ? {} : { from }) };
    const keys = keysByMarks(tables, 'events', page);
    for (const key of keys) {
      const event = key === work ? undefined : tables.events.read(key)?.value;
      if (leads(event)) yield { key, event };
    }
    if (keys.length < membersPage) return;
    from = keys.at(-1);
  }
}

/** The keys of records that may have all of some marks, newest first: all that do, and neighbours. */
export function markedKeys(tables: Tables, collection: MarkedCollection, query: MarkQuery): string[] {
  const keys = keysByMarks(tables, collection, query);
  const claimed = collection === 'events' ? claimedKeys(tables, query) : [];
  if (claimed.length === 0) return keys;
  const all = [...new Set([...keys, ...claimed])].sort().reverse();
  return all.slice(0, query.limit);
}

/** The keys of the events that claims of an id lead to, if one of the marks is an id. */
function claimedKeys({ claims, events }: Tables, { marks, from }: MarkQuery): string[] {
  const prefix = marks.map(claimsOfMark).find((found) => found !== undefined);
  // If the prefix is too long, the keys of the claims are digests.
  if (prefix === undefined || !isOwnName(prefix)) return [];
  return claims.keys({ from: prefix, until: afterPrefix(prefix), limit: allClaims }).flatMap((name) => {
    const key = claims.read(name)?.value?.eventKey;
    if (typeof key !== 'string' || (from !== undefined && key >= from)) return [];
    return events.head(key) === undefined ? [] : [key];
  });
}

function keysByMarks(
  tables: Tables,
  collection: MarkedCollection,
  { marks: [mark = '', ...others], limit, from }: MarkQuery,
): string[] {
  const prefix = prefixOf(collection, mark);
  const keys: string[] = [];
  let before = from === undefined ? afterPrefix(prefix) : prefix + from;
  while (keys.length < limit) {
    const places = tables.marks.keys({ order: 'newest', from: before, until: prefix, limit: pageSize });
    for (const found of places) {
      const place = found.slice(prefix.length);
      // A key that is listed beside its complete time bucket is covered by the bucket.
      if (place.length > bucketWidth + 1 && tables.marks.head(prefix + bucketOf(place)) !== undefined) continue;
      if (others.some((other) => tables.marks.head(prefixOf(collection, other) + place) === undefined)) continue;
      keys.push(...keysAt(tables, collection, place, { from, limit: limit - keys.length }));
      if (keys.length === limit) break;
    }
    const last = places.at(-1);
    if (last === undefined || places.length < pageSize) break;
    before = last;
  }
  return keys;
}

function keysAt(
  tables: Tables,
  collection: MarkedCollection,
  place: string,
  { from, limit }: { readonly from: string | undefined; readonly limit: number },
): string[] {
  const table = tables[collection];
  const keys: string[] = [];
  if (place.length === bucketWidth + 1) {
    const end = place.slice(0, bucketWidth) + String.fromCharCode(place.charCodeAt(bucketWidth) + lowestBits + 1);
    const upper = from !== undefined && from < end ? from : end;
    keys.push(...table.keys({ order: 'newest', from: upper, until: place, limit }));
  }
  const isBefore = from === undefined || place < from;
  if (isBefore && keys.length < limit && table.head(place) !== undefined) keys.push(place);
  return keys;
}

/**
 * The first record of a time bucket is marked by its own key, as the bucket may hold hundreds of other records; a second
 * record marks the bucket.
 */
function markMember(tables: Tables, prefix: string, key: string, stretch: string): void {
  const last = tables.recentMarks.get(prefix);
  if (last === stretch) return;
  markPlace(tables, prefix, last !== undefined && bucketOf(last) === stretch ? stretch : key);
}

function markPlace({ marks, recentMarks }: Tables, prefix: string, place: string): void {
  if (recentMarks.get(prefix) === place) return;
  if (recentMarks.size === maxRecent) recentMarks.clear();
  recentMarks.set(prefix, place);
  marks.write(prefix + place, bareKey);
}

/** The time bucket of a key. It sorts before every key in it, or equals the key. */
export function bucketOf(key: string): string {
  if (key.length <= bucketWidth) return key;
  return key.slice(0, bucketWidth) + String.fromCharCode(key.charCodeAt(bucketWidth) & ~lowestBits);
}

function prefixOf(collection: MarkedCollection, mark: string): string {
  return `${letters[collection]}/${markText(mark)}/`;
}

/** The end of the keys with a prefix: '0' is the character after '/'. */
export function afterPrefix(prefix: string): string {
  return `${prefix.slice(0, -1)}0`;
}
