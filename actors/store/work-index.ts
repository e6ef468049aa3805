/**
 * Keeps the index of work: for each record with a due time, its collection, holder, time and key, in this order. Work
 * that live sessions hold is skipped as a block, however much there is.
 */

import type { Collection } from './journal.ts';
import { timeText } from './keys.ts';
import { bareKey, letters, type Table } from './tables.ts';

const allWork = 10_000_000;

export interface Work {
  readonly indexKey: string;
  readonly key: string;
}

/** The index key of a record; undefined if nothing is due. */
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

/** Finds work that is due by a time and that no live session holds, oldest first; some of it may be skipped. */
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

/** The holders that have work, starting with '' for none. One lookup each, because it skips to the next holder. */
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

/** No session id contains a slash, so such a name counts as no holder. */
function holderText(heldBy: string | undefined): string {
  return heldBy === undefined || heldBy.includes('/') ? '' : heldBy;
}

/** The keys of all records of a collection with a due time, whatever session holds them. */
export function dueKeys(due: Table, collection: Collection): string[] {
  const indexKeys = due.keys({ from: `${letters[collection]}/`, until: `${letters[collection]}0`, limit: allWork });
  return indexKeys.map((indexKey) => indexKey.slice(indexKey.indexOf('/', indexKey.indexOf('/', 2) + 1) + 1));
}
