/**
 * Keeps the index of work: for each record with a due time, its collection, holder, time and key, in this order. The holder
 * is a session, or the queue in which free work waits. Work that live sessions hold, or whose queue has no room, is skipped
 * as a block, however much there is.
 */

import type { JsonObject } from '../../machines/base/json.ts';
import { queueOf } from '../../machines/webhook/work-queue.ts';
import type { Collection, Put, SessionId } from './journal.ts';
import { markText, timeText } from './keys.ts';
import { bareKey, letters, type Table } from './tables.ts';

const allWork = 10_000_000;
/** No session's id begins like this. */
const queueSign = '=';

export interface Work {
  readonly indexKey: string;
  readonly key: string;
}

/** Who holds a queue's free work. */
export function holderOfQueue(queue: string): string {
  return queueSign + markText(queue);
}

/** Who holds a record that is written; undefined if it has no work, or is free and has no queue. */
export function holderOf({ collection, value, dueAtMs, heldBy }: Put): string | undefined {
  if (heldBy !== undefined || (dueAtMs ?? undefined) === undefined) return heldBy;
  const queue = queueOf(collection, value as JsonObject);
  return queue === undefined ? undefined : holderOfQueue(queue);
}

export function sessionOf(holder: string | null | undefined): SessionId | undefined {
  return holder?.startsWith(queueSign) === true ? undefined : (holder ?? undefined);
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

/** Finds work that is due by a time and that no live session holds, oldest first; some of it may be passed over. */
export function freeWork(
  due: Table,
  collection: Collection,
  query: {
    readonly dueBeforeMs: number;
    readonly limit: number;
    /** Whether all work of a holder is left out. */
    readonly isLeft: (holder: string) => boolean;
    readonly isPassedOver?: (key: string) => boolean;
  },
): Work[] {
  const dueBefore = timeText(Math.floor(query.dueBeforeMs) + 1);
  const asked = holders(due, collection)
    .filter(({ holder, oldest }) => oldest < dueBefore && (holder === '' || !query.isLeft(holder)))
    .sort((one, other) => (one.oldest < other.oldest ? -1 : 1));
  let found: { readonly order: string; readonly indexKey: string }[] = [];
  for (const { holder, oldest } of asked) {
    const youngest = found.length < query.limit ? undefined : found.at(-1)?.order;
    const before = youngest ?? dueBefore;
    if (oldest >= before) break;
    const prefix = `${letters[collection]}/${holder}/`;
    let missing = query.limit;
    for (let from = prefix; missing > 0; ) {
      const indexKeys = due.keys({ from, until: prefix + before, limit: missing });
      const max = missing;
      for (const indexKey of indexKeys) {
        const order = indexKey.slice(prefix.length);
        if (query.isPassedOver?.(keyIn(order)) === true) continue;
        found.push({ order, indexKey });
        missing -= 1;
      }
      if (indexKeys.length < max) break;
      from = indexKeys.at(-1) ?? prefix;
    }
    found = found.sort((one, other) => (one.order < other.order ? -1 : 1)).slice(0, query.limit);
  }
  return found.map(({ order, indexKey }) => ({ indexKey, key: keyIn(order) }));
}

const keyIn = (order: string): string => order.slice(order.indexOf('/') + 1);

interface Holder {
  readonly holder: string;
  /** The time and the key of its oldest work. */
  readonly oldest: string;
}

/** The holders that have work, starting with '' for none. One lookup each, because it skips to the next holder. */
function holders(due: Table, collection: Collection): Holder[] {
  const found: Holder[] = [];
  const until = `${letters[collection]}0`;
  let from = `${letters[collection]}/`;
  for (;;) {
    const [first] = due.keys({ from, until, limit: 1 });
    if (first === undefined) return found;
    const end = first.indexOf('/', 2);
    const holder = first.slice(2, end);
    found.push({ holder, oldest: first.slice(end + 1) });
    // '0' is the character after '/'.
    from = `${letters[collection]}/${holder}0`;
  }
}

/** No holder contains a slash, so such a name counts as none. */
function holderText(heldBy: string | undefined): string {
  return heldBy === undefined || heldBy.includes('/') ? '' : heldBy;
}

/** The keys of all records of a collection with a due time, whatever session holds them. */
export function dueKeys(due: Table, collection: Collection): string[] {
  const indexKeys = due.keys({ from: `${letters[collection]}/`, until: `${letters[collection]}0`, limit: allWork });
  return indexKeys.map((indexKey) => indexKey.slice(indexKey.indexOf('/', indexKey.indexOf('/', 2) + 1) + 1));
}
