/** The tables that the benchmarks print, and the medians in them. */

export function print([first = '', ...others]: readonly string[]): void {
  process.stdout.write(`${first.padEnd(36)}${others.map((cell) => cell.padStart(12)).join('')}\n`);
}

export function median<Row>(rows: readonly Row[], of: (row: Row) => number): number {
  const sorted = rows.map(of).sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
