/**
 * Cuts the listings of `agent mcp serve` into pages by their size: clients end the connection at a long message, those made
 * with the TypeScript SDK at 10 MiB.
 * @see CLI-5 in docs/specification.md
 */

import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { defined } from '../../machines/base/json.ts';

/** Bytes. Some clients read the first page alone, so it is a long one; a gateway reads pages of up to 8 MiB. */
const maxPageLength = 7 * 1_048_576;

interface Page<Row> {
  readonly rows: Row[];
  /** Absent in the last page. */
  readonly nextCursor?: string;
}

/**
 * @param cursor the place of the page's first row; empty in the first request of some clients. A client whose list changes
 * meanwhile is notified, and begins anew.
 */
export function pageAt<Row>(rows: readonly Row[], cursor = '0'): Page<Row> {
  if (!/^\d{0,9}$/.test(cursor))
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `no page begins at the cursor ${JSON.stringify(cursor)}`);
  const first = Number(cursor);
  let end = first;
  for (let bytes = 0; end < rows.length; end += 1) {
    bytes += Buffer.byteLength(JSON.stringify(rows[end])) + 1;
    if (bytes > maxPageLength && end > first) break;
  }
  return { rows: rows.slice(first, end), ...defined({ nextCursor: end < rows.length ? String(end) : undefined }) };
}
