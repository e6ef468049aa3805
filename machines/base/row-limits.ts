/**
 * How many rows a listing of the history gives: the same for who answers it and for who tells a person that there may be
 * more.
 * @see CLI-2 and DUR-2 in docs/specification.md
 */

/** Where no limit is given. */
const usualRows = 50;
/** However high a limit is. */
const mostRows = 1_000;

/** The rows that a listing gives at most; what is no number asks for the usual ones. */
export function rowLimit(asked: unknown): number {
  return typeof asked === 'number' ? Math.min(mostRows, Math.max(1, asked)) : usualRows;
}
