/**
 * Joins the pages of a long history into one list, newest first: the newest page is asked for again and again, and the
 * older ones, as far down as a person has asked, with it. No row is missing between two of it, none stays that a fresh
 * page would not show, and it tells whether the end is among them. Asks nobody.
 * @see DUR-2 and INS-2 in docs/specification.md
 */

interface Keyed {
  readonly key?: string;
}

export interface Listed<Row> {
  readonly rows: readonly Row[];
  /** The oldest that is kept is among them. */
  readonly isWhole: boolean;
  /** The key down to which older ones were asked for; absent while only the newest page is wanted. */
  readonly reach?: string;
}

/** A page as it was answered, and how long a page of its kind may be. */
interface Page<Row> {
  readonly before: string;
  readonly older: readonly Row[];
  readonly limit: number;
}

/** Rows that are held at most: all of them are asked for anew while the daemon is at work. */
export const mostHeld = 10_000;

export const nothingListed: Listed<never> = { rows: [], isWhole: false };

/**
 * The list with its newest page anew. Below it the older rows stay as they were told last, until they too were asked for
 * again; but where nobody asked for older ones there are none, and a page that does not reach down to them stands alone.
 */
export function withNewest<Row extends Keyed>(
  held: Listed<Row>,
  newest: readonly Row[],
  limit: number,
  most = mostHeld,
): Listed<Row> {
  if (newest.length < limit) return { ...held, rows: newest, isWhole: true };
  const { reach } = held;
  const end = keyOf(newest.at(-1));
  if (reach === undefined || keyOf(held.rows[0]) < end) return { ...held, rows: newest, isWhole: false };
  const below = held.rows.filter((row) => keyOf(row) < end);
  return within({ rows: [...newest, ...below], isWhole: held.isWhole, reach }, most);
}

/** The list from now on kept as far down as it reaches: what sinks below the newest page is no longer let go. */
export function reaching<Row extends Keyed>(held: Listed<Row>): Listed<Row> {
  return held.reach === undefined ? { ...held, reach: endOf(held) } : held;
}

/** The list with the page before a key; as it was where that is not its end any more. */
export function withOlder<Row extends Keyed>(
  held: Listed<Row>,
  { before, older, limit }: Page<Row>,
  most = mostHeld,
): Listed<Row> {
  if (before !== endOf(held)) return held;
  const rows = [...held.rows, ...older];
  return within({ rows, isWhole: older.length < limit, reach: keyOf(rows.at(-1)) }, most);
}

/** Whether older rows are held, or wanted again, than have been asked for anew so far. */
export function lacks(anew: Listed<Keyed>, { reach }: Listed<Keyed>, most = mostHeld): boolean {
  return reach !== undefined && !anew.isWhole && endOf(anew) > reach && anew.rows.length < most;
}

/** The list as it was asked for anew, from the newest page down to where it reached, with the page that is the newest by now. */
export function withAnew<Row extends Keyed>(
  held: Listed<Row>,
  anew: Listed<Row>,
  { newest, limit }: { readonly newest: readonly Row[]; readonly limit: number },
  most = mostHeld,
): Listed<Row> {
  const { reach } = held;
  if (reach === undefined) return held;
  const rows = anew.rows.filter((row) => keyOf(row) >= reach);
  const isWhole = anew.isWhole && rows.length === anew.rows.length;
  return withNewest({ rows, isWhole, reach }, newest, limit, most);
}

/** No more rows are taken in, although there may be older ones. */
export function isFull({ rows, isWhole }: Listed<Keyed>, most = mostHeld): boolean {
  return !isWhole && rows.length >= most;
}

/** The key before which the next page is asked for. */
export function endOf(held: Listed<Keyed>): string {
  return keyOf(held.rows.at(-1));
}

/** The oldest are let go, and from then on no longer asked for. */
function within<Row extends Keyed>(listed: Listed<Row>, most: number): Listed<Row> {
  if (listed.rows.length <= most) return listed;
  const rows = listed.rows.slice(0, most);
  return { rows, isWhole: false, reach: keyOf(rows.at(-1)) };
}

/** Keys rise with the time. */
function keyOf(row: Keyed | undefined): string {
  return row?.key ?? '';
}
