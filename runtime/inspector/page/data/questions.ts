/**
 * Decides which questions are in the list: one that was answered or has ended otherwise keeps its place for a moment, so
 * that no other moves under the pointer while a person reads its outcome. Independent of page and clock.
 * @see TRU-1 and TRU-3 in docs/specification.md
 */

/** How long an ended question keeps its place. */
export const stayMs = 4_000;

export interface Shown<Row> {
  readonly row: Row;
  /** When it was first missing among the open ones; absent while it is open. */
  readonly endedAtMs?: number;
  /** It was answered elsewhere, and stays until the person leaves the view. */
  readonly stays?: true;
}

/** Returns the new list: the shown ones in their order, and new ones at the daemon's places. */
export function lineUp<Row extends { readonly id: string }>(
  stood: readonly Shown<Row>[],
  open: readonly Row[],
  nowMs: number,
  stays: (id: string) => boolean = () => false,
): readonly Shown<Row>[] {
  const opened = new Map(open.map((row) => [row.id, row]));
  const line: Shown<Row>[] = [];
  for (const { row, endedAtMs = nowMs } of stood) {
    const now = opened.get(row.id);
    if (now !== undefined) line.push({ row: now });
    else if (stays(row.id)) line.push({ row, endedAtMs, stays: true });
    else if (nowMs < endedAtMs + stayMs) line.push({ row, endedAtMs });
  }
  for (const [at, row] of open.entries()) {
    if (line.some((one) => one.row.id === row.id)) continue;
    const before = open[at - 1]?.id;
    line.splice(line.findIndex((one) => one.row.id === before) + 1, 0, { row });
  }
  return line;
}

/** Returns when the next one leaves; undefined if none will. */
export function nextLeaveMs(line: readonly Shown<unknown>[]): number | undefined {
  const ends = line.flatMap(({ endedAtMs, stays }) => (stays ? [] : (endedAtMs ?? [])));
  return ends.length === 0 ? undefined : Math.min(...ends) + stayMs;
}

/** Returns the next open question in the list, or the first; undefined if no other is open. */
export function nextOpen<Row extends { readonly id: string }>(
  line: readonly Shown<Row>[],
  id: string,
): string | undefined {
  const at = line.findIndex(({ row }) => row.id === id);
  const others = [...line.slice(at + 1), ...line.slice(0, Math.max(0, at))];
  return others.find(({ endedAtMs }) => endedAtMs === undefined)?.row.id;
}

/** Returns the ids of the elements whose top has changed or is new. */
export function movedOnes(before: ReadonlyMap<string, number>, now: ReadonlyMap<string, number>): readonly string[] {
  return [...now].flatMap(([id, top]) => (Math.abs(top - (before.get(id) ?? Number.NaN)) <= 1 ? [] : id));
}
