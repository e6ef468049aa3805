/**
 * Prunes the history in pieces: each piece is its own job, so that commits run in between and the event loop is not
 * blocked. Removes finished records, and events only if their work is finished too and their batch no longer collects.
 * @see DUR-2 in docs/specification.md
 */

import { isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import { groupName } from '../../machines/webhook/record.ts';
import type { Collection } from './journal.ts';
import { timeText } from './keys.ts';
import { isKey } from './ledger.ts';
import { isMarked, unmarkEvent, unmarkWork } from './marks.ts';
import type { Engine, Tables } from './tables.ts';

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
const histories = ['events', 'runs', 'deliveries', 'transcripts'] as const satisfies readonly Collection[];

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
  const next = oldestFirst(engine, keepAfterKey);
  return (spent) => {
    let removed = 0;
    for (let looked = 0; looked < pieceSize && !spent(); looked += 1) {
      const at = next();
      if (at === undefined) return { removed, more: false };
      removed += removeFinished(engine.tables, at, nowMs);
    }
    return { removed, more: true };
  };
}

/** Returns a job that removes the next oldest finished records at each call, while the store is above `maxBytes`. */
export function shrinking(engine: Engine, maxBytes: number, nowMs: number): (spent: Spent) => Piece {
  const next = oldestFirst(engine, undefined);
  return (spent) => {
    let removed = 0;
    for (let looked = 0; looked < pieceSize && !spent(); looked += 1) {
      if (looked % measureEvery === 0 && engine.usedBytes() <= maxBytes) return { removed, more: false };
      const at = next();
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
  const event = collection === 'events' ? table.read(key)?.value : undefined;
  if (event !== undefined && isNeeded(tables, event)) return 0;
  table.remove(key);
  if (event !== undefined) unmarkEvent(tables, key, event, nowMs);
  if (isMarked(collection)) unmarkWork(tables, collection, key);
  return 1;
}

/** Whether the work of an event is due, or is yet to begin when its batch has settled. */
function isNeeded(tables: Tables, { work, profile, route, told }: JsonObject): boolean {
  if (typeof work !== 'string' || !isKey(work)) return false;
  if (isDue(tables, 'runs', work) || isDue(tables, 'deliveries', work)) return true;
  const groupKey = isJsonObject(told) ? told.groupKey : undefined;
  if (typeof profile !== 'string' || typeof route !== 'string' || typeof groupKey !== 'string') return false;
  const group = groupName(profile, route, groupKey);
  const burst = isKey(group) ? tables.groups.read(group)?.value?.burst : undefined;
  return isJsonObject(burst) && burst.id === work;
}

function isDue(tables: Tables, collection: Collection, key: string): boolean {
  return tables[collection].head(key)?.dueAtMs !== undefined;
}
