/**
 * The rows of the events in memory: pages that were read, merged with news. Rows are ordered by key, newest first, each
 * once, and no row comes below the last one that was read. Independent of the page.
 * @see INS-4 in docs/specification.md
 */

import type { EventFound, FoundEvents } from '../../../control/contract/events.ts';
import { keyOfRow } from './event-words.ts';

/** Most rows in memory; a person narrows the search instead. */
export const maxHeld = 2_000;

export interface EventList {
  readonly rows: readonly EventFound[];
  /** For reading older rows; absent if there are none. */
  readonly cursor?: string;
}

/**
 * Adds older rows, which were read from a cursor, below the present ones. Undefined if the list ends elsewhere by now: then
 * there may be more between.
 */
export function withOlder({ rows, cursor }: EventList, older: EventList, from: string): EventList | undefined {
  if (cursor !== from) return undefined;
  const joined = joinedRows(rows, older.rows).slice(0, maxHeld);
  return older.cursor === undefined ? { rows: joined } : { rows: joined, cursor: older.cursor };
}

/**
 * Adds new and changed rows. The oldest ones are dropped beyond `maxHeld`.
 * @param from the start of the range, which moves with the time; rows from before it are dropped
 */
export function withNews({ rows, cursor = '' }: EventList, news: readonly EventFound[], from = ''): EventList {
  const known = new Set(rows.map(keyOfRow));
  // Down to the cursor the rows are complete.
  const fitting = news.filter((row) => row.key >= cursor || known.has(keyOfRow(row)));
  const joined = fitting.length === 0 ? rows : joinedRows(rows, fitting);
  const inRange = joined.filter((row) => row.received_at >= from);
  const kept = inRange.slice(0, maxHeld);
  // If the oldest row is not in the range any more, no older one is.
  const next = inRange.length > maxHeld ? kept.at(-1)?.key : inRange.length < joined.length ? '' : cursor;
  return next === undefined || next === '' ? { rows: kept } : { rows: kept, cursor: next };
}

/** The list before news that leaves out rows: those below its last one are dropped, to be read again once they are reached. */
export function beforeGap(list: EventList, news: readonly EventFound[]): EventList {
  const cursor = news.at(-1)?.key ?? '';
  if (cursor <= (list.cursor ?? '')) return list;
  return { rows: list.rows.filter(({ key }) => key >= cursor), cursor };
}

/** Rows per call; the gateway returns no more. */
const pageRows = 1_000;

interface Collected {
  /** Newest first. */
  readonly rows: readonly EventFound[];
  /** Whether these are all rows that match. */
  readonly isAll: boolean;
  /** Why the search failed; the rows are those read before. */
  readonly error?: unknown;
}

/**
 * Reads the newest rows of a search, until all or `max` are read or the signal aborts. The range is fixed first, because
 * the last hour, for example, would move with each call. Never rejects: an error is in the result.
 * @param heard is called with the count of rows so far
 */
export async function collectEvents(
  search: (page: {
    readonly range: string;
    readonly limit: number;
    readonly cursor?: string;
  }) => Promise<Pick<FoundEvents, 'from' | 'to' | 'rows' | 'cursor'>>,
  {
    range: named,
    max,
    signal,
    heard,
  }: {
    readonly range: string;
    readonly max: number;
    readonly signal: AbortSignal;
    readonly heard: (count: number) => void;
  },
): Promise<Collected> {
  const rows: EventFound[] = [];
  let next: { readonly cursor?: string } | undefined = {};
  try {
    const { from, to } = await search({ range: named, limit: 0 });
    const range = `${from}..${to}`;
    while (next !== undefined && rows.length < max && !signal.aborted) {
      const page = await search({ range, limit: pageRows, ...next });
      rows.push(...page.rows);
      next = page.cursor === undefined ? undefined : { cursor: page.cursor };
      heard(Math.min(max, rows.length));
    }
    return { rows: rows.slice(0, max), isAll: next === undefined && rows.length <= max };
  } catch (error) {
    return { rows, isAll: false, error };
  }
}

function joinedRows(rows: readonly EventFound[], more: readonly EventFound[]): EventFound[] {
  const joined = new Map(rows.map((row) => [keyOfRow(row), row]));
  for (const row of more) joined.set(keyOfRow(row), row);
  return [...joined.values()].sort((one, other) => (one.key < other.key ? 1 : -1));
}
