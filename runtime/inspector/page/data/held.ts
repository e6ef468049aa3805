/**
 * Decides which rows of a list are shown while news waits: shown rows keep their places and are only updated; new rows wait
 * above them until a person takes them. Independent of the page.
 * @see INS-2 in docs/specification.md
 */

interface HeldRows<Row> {
  readonly shown: readonly Row[];
  /** How many rows wait above the first one. */
  readonly waiting: number;
  /** Whether more may wait: none of the current rows is shown, so rows between them may not have been read. */
  readonly isLeast: boolean;
}

/**
 * @param stood the rows that are shown.
 * @param now the current rows, newest first.
 */
export function heldRows<Row>(stood: readonly Row[], now: readonly Row[], keyOf: (row: Row) => string): HeldRows<Row> {
  const fresh = new Map(now.map((row) => [keyOf(row), row]));
  const known = new Set(stood.map(keyOf));
  const shown = stood.map((row) => fresh.get(keyOf(row)) ?? row);
  const firstKnown = now.findIndex((row) => known.has(keyOf(row)));
  if (firstKnown < 0) return { shown, waiting: now.length, isLeast: now.length > 0 };
  // Older rows that were read come below the last one.
  const last = shown.at(-1);
  const lastAt = last === undefined ? -1 : now.findIndex((row) => keyOf(row) === keyOf(last));
  const older = lastAt < 0 ? [] : now.slice(lastAt + 1).filter((row) => !known.has(keyOf(row)));
  return { shown: [...shown, ...older], waiting: firstKnown, isLeast: false };
}
