/**
 * Keeps the index of marks: by it a listing finds the few records of a route, status or id among millions. A shared mark
 * is written once for all records whose keys lie close together, which at any rate worth counting is once for many; so it
 * leads to more records than bear it, never to fewer. What bears which mark says `machines/webhook/marks.ts`. Runs inside
 * a job.
 * @see DUR-2 in docs/specification.md
 */

import type { JsonObject } from '../../machines/base/json.ts';
import { marksOfEvent, marksOfStatus, marksOfWork, shownOfWork, workMark } from '../../machines/webhook/marks.ts';
import type { Collection, MarkedCollection, MarkQuery } from './journal.ts';
import { markText } from './keys.ts';
import { bareKey, type Tables } from './tables.ts';
import { letters } from './work-index.ts';

/** Of a key, which begins with its time: so many characters, and of the next one all but the lowest bits. */
const stretchWidth = 8;
const lowestBits = 7;
/** Places of a mark that are read at once. */
const pageSize = 64;
const allOfOne = 100_000;
const mostRecent = 8_192;

export function isMarked(collection: Collection): collection is MarkedCollection {
  return collection === 'events' || collection === 'runs' || collection === 'deliveries';
}

/** Marks a record that was just written, and the events that now show something else of it. */
export function markRecord(
  tables: Tables,
  collection: MarkedCollection,
  { key, value, isDue }: { readonly key: string; readonly value: JsonObject; readonly isDue: boolean },
): void {
  const { shared, own } = collection === 'events' ? marksOfEvent(key, value) : marksOfWork(value, isDue);
  const stretch = stretchOf(key);
  for (const mark of shared) markStretch(tables, collection, mark, stretch);
  for (const mark of own) {
    tables.marks.write(`${prefixOf(collection, mark)}${key}`, bareKey);
    // Most work has no event but its own, and one look tells.
    if (mark.startsWith(workMark(''))) markStretch(tables, collection, mark, '');
  }
  if (collection !== 'events' && !isDue) markEventsOf(tables, key);
}

/** Takes away what an event alone was marked by. What it shared goes with the last record of its stretch. */
export function unmarkEvent(tables: Tables, key: string, value: JsonObject): void {
  for (const mark of marksOfEvent(key, value).own) tables.marks.remove(`${prefixOf('events', mark)}${key}`);
}

/** The events of a record that is gone show something else. */
export function unmarkWork(tables: Tables, collection: MarkedCollection, key: string): void {
  if (collection !== 'events') markEventsOf(tables, key);
}

/** Marks the events of some work by what they show now that it is written anew, or gone. */
export function markEventsOf(tables: Tables, work: string): void {
  const members = membersOf(tables, work);
  const keys = tables.events.head(work) === undefined ? members : [work, ...members];
  if (keys.length === 0) return;
  const run = tables.runs.read(work)?.value;
  const shown = shownOfWork(run, run === undefined ? tables.deliveries.read(work)?.value : undefined);
  for (const key of keys) {
    const event = tables.events.read(key)?.value;
    if (event === undefined || event.work !== work) continue;
    for (const mark of marksOfStatus(shown ?? event.status, event.route)) {
      markStretch(tables, 'events', mark, stretchOf(key));
    }
  }
}

/** The keys of events that led to some work of another key, oldest first. */
function membersOf({ marks }: Tables, work: string): string[] {
  const prefix = prefixOf('events', workMark(work));
  if (marks.head(prefix) === undefined) return [];
  return marks
    .keys({ from: prefix, until: afterPrefix(prefix), limit: allOfOne })
    .map((found) => found.slice(prefix.length));
}

/** The keys of records that may bear all of some marks, newest first: all that do, and neighbours. */
export function markedKeys(
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
  if (place.length === stretchWidth + 1) {
    const end = place.slice(0, stretchWidth) + String.fromCharCode(place.charCodeAt(stretchWidth) + lowestBits + 1);
    const upper = from !== undefined && from < end ? from : end;
    keys.push(...table.keys({ order: 'newest', from: upper, until: place, limit }));
  }
  const isBefore = from === undefined || place < from;
  if (isBefore && keys.length < limit && table.head(place) !== undefined) keys.push(place);
  return keys;
}

function markStretch(
  { marks, recentMarks }: Tables,
  collection: MarkedCollection,
  mark: string,
  stretch: string,
): void {
  const prefix = prefixOf(collection, mark);
  if (recentMarks.get(prefix) === stretch) return;
  if (recentMarks.size === mostRecent) recentMarks.clear();
  recentMarks.set(prefix, stretch);
  marks.write(prefix + stretch, bareKey);
}

/** The stretch that a key lies in. It sorts before every key in it, or is that key. */
export function stretchOf(key: string): string {
  if (key.length <= stretchWidth) return key;
  return key.slice(0, stretchWidth) + String.fromCharCode(key.charCodeAt(stretchWidth) & ~lowestBits);
}

function prefixOf(collection: MarkedCollection, mark: string): string {
  return `${letters[collection]}/${markText(mark)}/`;
}

/** Where the keys end that begin with a prefix: '0' is the character after '/'. */
export function afterPrefix(prefix: string): string {
  return `${prefix.slice(0, -1)}0`;
}
