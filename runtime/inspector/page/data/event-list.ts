/**
 * The rows of the events as they are held: pages that were asked for, joined with news. Rows are in the order of their
 * keys, newest first, each once, and no row comes below the last one that was asked for. Knows no page.
 * @see INS-4 in docs/specification.md
 */

import type { EventFound, FoundEvents } from '../../../control/contract.ts';
import { keyOfRow } from './event-words.ts';

/** More are not held: a person narrows the search instead. */
export const mostHeld = 2_000;

export interface EventList {
  readonly rows: readonly EventFound[];
  /** What older rows are asked for with; absent where there are none. */
  readonly cursor?: string;
}

/** Older rows, below those that are held. */
export function withOlder({ rows }: EventList, older: EventList): EventList {
  const joined = joinedRows(rows, older.rows).slice(0, mostHeld);
  return older.cursor === undefined ? { rows: joined } : { rows: joined, cursor: older.cursor };
}

/** New and changed rows. The oldest ones are let go where more would be held than may be. */
export function withNews({ rows, cursor }: EventList, news: readonly EventFound[]): EventList {
  const last = rows.at(-1)?.key ?? '';
  const known = new Set(rows.map(keyOfRow));
  const fitting = news.filter((row) => cursor === undefined || row.key > last || known.has(keyOfRow(row)));
  if (fitting.length === 0) return cursor === undefined ? { rows } : { rows, cursor };
  const joined = joinedRows(rows, fitting);
  const kept = joined.slice(0, mostHeld);
  const next = joined.length > mostHeld ? kept.at(-1)?.key : cursor;
  return next === undefined ? { rows: kept } : { rows: kept, cursor: next };
}

/** Rows of one call; the gateway gives no more. */
const pageRows = 1_000;

export interface Collected {
  /** Newest first. */
  readonly rows: readonly EventFound[];
  /** Whether these are all rows that match. */
  readonly isAll: boolean;
  /** What the search was rejected with; the rows are those before it. */
  readonly error?: unknown;
}

/**
 * Reads the newest rows that a search finds, until it has read all, `most` of them or the signal. The range is fixed first: that
 * of the last hour would move with each call.
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
    most,
    signal,
    heard,
  }: {
    readonly range: string;
    readonly most: number;
    readonly signal: AbortSignal;
    readonly heard: (count: number) => void;
  },
): Promise<Collected> {
  const rows: EventFound[] = [];
  let next: { readonly cursor?: string } | undefined = {};
  try {
    const { from, to } = await search({ range: named, limit: 0 });
    const range = `${from}..${to}`;
    while (next !== undefined && rows.length < most && !signal.aborted) {
      const page = await search({ range, limit: pageRows, ...next });
      rows.push(...page.rows);
      next = page.cursor === undefined ? undefined : { cursor: page.cursor };
      heard(Math.min(most, rows.length));
    }
    return { rows: rows.slice(0, most), isAll: next === undefined && rows.length <= most };
  } catch (error) {
    return { rows, isAll: false, error };
  }
}

function joinedRows(rows: readonly EventFound[], more: readonly EventFound[]): EventFound[] {
  const joined = new Map(rows.map((row) => [keyOfRow(row), row]));
  for (const row of more) joined.set(keyOfRow(row), row);
  return [...joined.values()].sort((one, other) => (one.key < other.key ? 1 : -1));
}
