/**
 * Keeps the index of work: for each record with a due time, its collection, holder, time and key, in this order. Work
 * in the hands of the living is never looked at, however much of it there is.
 */

import type { Collection } from './journal.ts';
import { timeText } from './keys.ts';
import { bareKey, type Table } from './tables.ts';

/** What the keys of an index begin with. */
export const letters: Readonly<Record<Collection, string>> = {
  events: 'e',
  runs: 'r',
  groups: 'g',
  deliveries: 'd',
  transcripts: 't',
};

const allWork = 10_000_000;

export interface Work {
  readonly indexKey: string;
  readonly key: string;
}

/** The index key of a record; undefined where nothing is due. */
export function workKey(
  collection: Collection,
  key: string,
  work: { readonly dueAtMs: number | undefined; readonly heldBy: string | undefined },
): string | undefined {
  if (work.dueAtMs === undefined) return undefined;
  return `${letters[collection]}/${holderText(work.heldBy)}/${timeText(work.dueAtMs)}/${key}`;
}

export function addWork(due: Table, indexKey: string | undefined): void {
  if (indexKey !== undefined) due.write(indexKey, bareKey);
}

export function removeWork(due: Table, indexKey: string | undefined): void {
  if (indexKey !== undefined) due.remove(indexKey);
}

/** Finds work due by a time that no living session holds, oldest due first; some of it may be passed over. */
export function freeWork(
  due: Table,
  collection: Collection,
  query: {
    readonly dueBeforeMs: number;
    readonly limit: number;
    readonly isLiving: (session: string) => boolean;
    readonly isPassedOver?: (key: string) => boolean;
  },
): Work[] {
  const found: { readonly order: string; readonly indexKey: string }[] = [];
  for (const holder of holders(due, collection)) {
    if (holder !== '' && query.isLiving(holder)) continue;
    const prefix = `${letters[collection]}/${holder}/`;
    const until = prefix + timeText(Math.floor(query.dueBeforeMs) + 1);
    let missing = query.limit;
    for (let from = prefix; missing > 0; ) {
      const indexKeys = due.keys({ from, until, limit: missing });
      const asked = missing;
      for (const indexKey of indexKeys) {
        const order = indexKey.slice(prefix.length);
        if (query.isPassedOver?.(keyIn(order)) === true) continue;
        found.push({ order, indexKey });
        missing -= 1;
      }
      if (indexKeys.length < asked) break;
      from = indexKeys.at(-1) ?? until;
    }
  }
  found.sort((one, other) => (one.order < other.order ? -1 : 1));
  return found.slice(0, query.limit).map(({ order, indexKey }) => ({ indexKey, key: keyIn(order) }));
}

const keyIn = (order: string): string => order.slice(order.indexOf('/') + 1);

/** The holders that have work, nobody first as ''. One look-up for each, since a look-up skips to the next holder. */
function holders(due: Table, collection: Collection): string[] {
  const names: string[] = [];
  const until = `${letters[collection]}0`;
  let from = `${letters[collection]}/`;
  for (;;) {
    const [first] = due.keys({ from, until, limit: 1 });
    if (first === undefined) return names;
    const holder = first.slice(2, first.indexOf('/', 2));
    names.push(holder);
    // '0' is the character after '/'.
    from = `${letters[collection]}/${holder}0`;
  }
}

/** A name with a slash is none that a session was ever given, so it holds nothing back. */
function holderText(heldBy: string | undefined): string {
  return heldBy === undefined || heldBy.includes('/') ? '' : heldBy;
}

/** The keys of all records of a collection that are due at some time, whoever holds them. */
export function dueKeys(due: Table, collection: Collection): string[] {
  const indexKeys = due.keys({ from: `${letters[collection]}/`, until: `${letters[collection]}0`, limit: allWork });
  return indexKeys.map((indexKey) => indexKey.slice(indexKey.indexOf('/', indexKey.indexOf('/', 2) + 1) + 1));
}
