/** What the measurements share: turns, the medians of them, and the tables that are printed and written to the docs. */

export type Cells = readonly string[];

/** The first row is the head. */
export type Table = readonly Cells[];

export function print([first = '', ...others]: Cells): void {
  process.stdout.write(`${first.padEnd(36)}${others.map((cell) => cell.padStart(12)).join('')}\n`);
}

/** Prints a table, and an empty line after it. */
export function printAll(table: Table): void {
  for (const row of table) print(row);
  process.stdout.write('\n');
}

export function median<Row>(rows: readonly Row[], of: (row: Row) => number): number {
  const sorted = rows.map(of).sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** The medians of some numbers of each row. */
export function medians<Key extends string>(
  rows: readonly Readonly<Record<Key, number>>[],
  ...keys: readonly Key[]
): Record<Key, number> {
  return Object.fromEntries(keys.map((key) => [key, median(rows, (row) => row[key])])) as Record<Key, number>;
}

/**
 * Lets each subject take its turns, forth and back, so that what else the machine does meets all alike. Resolves with the
 * turns of each; those of the first round warm up and are left out.
 */
export async function inTurns<Subject, Turn>(
  subjects: readonly Subject[],
  rounds: number,
  take: (subject: Subject, round: number) => Promise<Turn>,
): Promise<readonly (readonly Turn[])[]> {
  const turns = subjects.map((): Turn[] => []);
  for (let round = 0; round <= rounds; round += 1) {
    const order = [...subjects.entries()];
    for (const [at, subject] of round % 2 === 0 ? order : order.reverse()) {
      const turn = await take(subject, round);
      if (round > 0) turns[at]?.push(turn);
    }
  }
  return turns;
}
