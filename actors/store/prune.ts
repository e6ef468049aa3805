/**
 * Prunes the history in pieces: each piece is its own job, so that commits run in between and the event loop is not
 * blocked. Removes finished records, events only if their work is finished too and their batch no longer collects, and then
 * marks without records: those of time buckets before the oldest record of their collection.
 * @see DUR-2 in docs/specification.md
 */

import { isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import { workMark } from '../../machines/webhook/marks.ts';
import { groupName } from '../../machines/webhook/record.ts';
import type { Collection } from './journal.ts';
import { timeText } from './keys.ts';
import { deliveryKeysOf, isKey } from './ledger.ts';
import { afterPrefix, bucketOf, isMarked, unmarkEvent, unmarkWork } from './marks.ts';
import { collections, type Engine, letters, markedCollections, type Tables } from './tables.ts';

/** Whether the current piece has used up its time. */
export type Spent = () => boolean;

export interface Piece {
  readonly removed: number;
  readonly more: boolean;
}

const pieceSize = 200;
/** Measuring the size costs about as much as removing this many records. */
const measureEvery = 16;
/** Groups are not included: their keys are not times, and their owner deletes a group without work. */
const histories = collections.filter((collection) => collection !== 'groups');

/** Removes expired claims. */
export function pruneClaims({ claims, expiry }: Tables, nowMs: number, spent: Spent): Piece {
  const keys = expiry.keys({ until: timeText(Math.floor(nowMs) + 1), limit: pieceSize });
  let count = 0;
  for (const expiryKey of keys) {
    claims.remove(expiryKey.slice(expiryKey.indexOf('/') + 1));
    expiry.remove(expiryKey);
    count += 1;
    if (spent()) break;
  }
  return { removed: count, more: count === pieceSize || count < keys.length };
}

/** Returns a job that removes the next finished records with a key before `keepAfterKey` at each call. */
export function ageing(engine: Engine, keepAfterKey: string, nowMs: number): (spent: Spent) => Piece {
  return removing(engine, oldestFirst(engine, keepAfterKey), nowMs, () => false);
}

/** Returns a job that removes the next oldest finished records at each call, while the store is above `maxBytes()`. */
export function shrinking(engine: Engine, maxBytes: () => number, nowMs: number): (spent: Spent) => Piece {
  const fits = (looked: number): boolean => looked % measureEvery === 0 && engine.usedBytes() <= maxBytes();
  return removing(engine, oldestFirst(engine, undefined), nowMs, fits);
}

function removing(engine: Engine, next: () => Place | undefined, nowMs: number, isEnough: (looked: number) => boolean) {
  return (spent: Spent): Piece => {
    let removed = 0;
    for (let looked = 0; looked < pieceSize && !spent(); looked += 1) {
      const at = isEnough(looked) ? undefined : next();
      if (at === undefined) return { removed, more: false };
      removed += removeFinished(engine.tables, at, nowMs);
    }
    return { removed, more: true };
  };
}

interface Place {
  readonly collection: Collection;
  readonly key: string;
}

/** Walks the keys of all histories together, oldest first; continues where it stopped, also in a later job. */
function oldestFirst(engine: Engine, until: string | undefined): () => Place | undefined {
  const walks = histories.map((collection) => {
    let from: string | undefined;
    let ahead: string[] = [];
    return {
      collection,
      peek(): string | undefined {
        if (ahead.length === 0) {
          ahead = engine.tables[collection].keys({
            ...(from === undefined ? {} : { from }),
            ...(until === undefined ? {} : { until }),
            limit: pieceSize,
          });
          ahead.reverse();
        }
        return ahead.at(-1);
      },
      pass(): void {
        from = ahead.pop();
      },
    };
  });
  return () => {
    let oldest: { readonly walk: (typeof walks)[number]; readonly key: string } | undefined;
    for (const walk of walks) {
      const key = walk.peek();
      if (key !== undefined && (oldest === undefined || key < oldest.key)) oldest = { walk, key };
    }
    if (oldest === undefined) return undefined;
    oldest.walk.pass();
    return { collection: oldest.walk.collection, key: oldest.key };
  };
}

function removeFinished(tables: Tables, { collection, key }: Place, nowMs: number): number {
  const table = tables[collection];
  const head = table.head(key);
  if (head === undefined || head.dueAtMs !== undefined) return 0;
  const value = collection === 'events' || collection === 'deliveries' ? table.read(key)?.value : undefined;
  if (isWorkDue(tables, workOf(collection, key, value))) return 0;
  const event = collection === 'events' ? value : undefined;
  if (event !== undefined && isCollected(tables, event)) return 0;
  table.remove(key);
  if (event !== undefined) unmarkEvent(tables, key, event, nowMs);
  if (isMarked(collection)) unmarkWork(tables, collection, key);
  return 1;
}

/** The key of the run or first delivery to which a record belongs; its own if it names no other. */
function workOf(collection: Collection, key: string, value: JsonObject | undefined): string {
  const work = collection === 'events' ? value?.work : collection === 'deliveries' ? value?.runKey : undefined;
  return typeof work === 'string' ? work : key;
}

/** Whether a run or one of its deliveries is due. Only the first delivery has their number, so it is kept for the others. */
function isWorkDue(tables: Tables, work: string): boolean {
  if (!isKey(work)) return false;
  return isDue(tables, 'runs', work) || deliveryKeysOf(tables, work).some((key) => isDue(tables, 'deliveries', key));
}

/** Whether the work of an event is yet to begin when its batch has settled. */
function isCollected(tables: Tables, { work, profile, route, told }: JsonObject): boolean {
  const groupKey = isJsonObject(told) ? told.groupKey : undefined;
  if (typeof profile !== 'string' || typeof route !== 'string' || typeof groupKey !== 'string') return false;
  const group = groupName(profile, route, groupKey);
  const burst = isKey(group) ? tables.groups.read(group)?.value?.burst : undefined;
  return isJsonObject(burst) && burst.id === work;
}

function isDue(tables: Tables, collection: Collection, key: string): boolean {
  return tables[collection].head(key)?.dueAtMs !== undefined;
}

const pageSize = 64;
/** Initial letters of the marks that many records share. Other marks are removed with their record. */
const sharedKinds = ['c', 'o', 'p', 'r', 's', 't', 'w'];

const ofWork = `${letters.events}/${workMark('')}`;

/** Returns a job that removes further marks at each call. */
export function sweeping(engine: Engine): (spent: Spent) => Piece {
  const ranges = markedCollections.flatMap((collection) =>
    sharedKinds.map((kind) => {
      const begin = `${letters[collection]}/${kind}`;
      return { collection, from: begin, until: `${begin.slice(0, -1)}${String.fromCharCode(kind.charCodeAt(0) + 1)}` };
    }),
  );
  let [range] = ranges;
  return (spent) => {
    const { tables } = engine;
    let removed = 0;
    // A record with an old key may still be written and needs its mark again.
    tables.recentMarks.clear();
    while (range !== undefined) {
      const { collection, from } = range;
      if (spent()) return { removed, more: true };
      const [oldest] = tables[collection].keys({ limit: 1 });
      // The key of work is a time too, and not later than those of its events.
      const isOfWork = from.startsWith(ofWork) && oldest !== undefined;
      const until = isOfWork ? ofWork + bucketOf(oldest) : range.until;
      const [first] = tables.marks.keys({ from, until, limit: 1 });
      if (first === undefined) {
        ranges.shift();
        [range] = ranges;
        continue;
      }
      const prefix = first.slice(0, first.indexOf('/', 2) + 1);
      if (first === prefix) {
        // Up to layout 3, work with events had a mark without a place, which no listing uses.
        tables.marks.remove(first);
        continue;
      }
      const end = oldest === undefined ? afterPrefix(prefix) : prefix + bucketOf(oldest);
      const stale = tables.marks.keys({ from: prefix, until: end, limit: pageSize });
      for (const mark of stale) tables.marks.remove(mark);
      removed += stale.length;
      if (stale.length < pageSize) range = { ...range, from: afterPrefix(prefix) };
    }
    return { removed, more: false };
  };
}
