/**
 * Reads a collection of the journal newest first, page by page, until enough rows are found or enough was looked through.
 * @see DUR-2 in docs/specification.md
 */

import type { Collection, Journal, StoredRecord } from '../actors/store/journal.ts';

/** A page of the journal that is looked through for rows that match. */
const pageSize = 200;
/** Records that are looked through for one answer, whatever matches. */
const mostLooked = 20_000;

/** Picks rows until there are as many as the limit; a record that gives undefined is passed over. */
export function newestFirst<Row>(
  journal: Journal | undefined,
  { collection, limit }: { readonly collection: Collection; readonly limit: number },
  pick: (stored: StoredRecord) => Row | undefined,
): Row[] {
  const rows: Row[] = [];
  let from: string | undefined;
  for (let looked = 0; journal !== undefined && looked < mostLooked; looked += pageSize) {
    const page = journal.list(collection, {
      limit: pageSize,
      order: 'newest',
      ...(from === undefined ? {} : { from }),
    });
    for (const stored of page) {
      const row = pick(stored);
      if (row !== undefined) rows.push(row);
      if (rows.length === limit) return rows;
    }
    if (page.length < pageSize) return rows;
    from = page.at(-1)?.key;
  }
  return rows;
}
