/**
 * How many rows a listing of the history returns: shared by the daemon and by the commands that say that there may be more.
 * @see CLI-2 and DUR-2 in docs/specification.md
 */

/** Without a given limit. */
const defaultRows = 50;
/** The upper bound of any limit. */
const maxRows = 1_000;

/** The most rows of a listing; the default if the given limit is not a number. */
export function rowLimit(asked: unknown): number {
  return typeof asked === 'number' ? Math.min(maxRows, Math.max(1, asked)) : defaultRows;
}
