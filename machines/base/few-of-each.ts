/**
 * Chooses the rows of a list that there is room for, so that many of one kind hide no other kind.
 * @see INS-4 in docs/specification.md
 */

/** Returns at most so many rows in their order: of each kind the first, and then the earliest. */
export function fewOfEach<Row extends { readonly kind: string }>(rows: readonly Row[], max: number): readonly Row[] {
  const firsts = new Map<string, Row>();
  for (const row of rows) if (!firsts.has(row.kind)) firsts.set(row.kind, row);
  const kept = new Set([...firsts.values()].slice(0, max));
  for (const row of rows.slice(0, max)) if (kept.size < max) kept.add(row);
  return rows.filter((row) => kept.has(row));
}
