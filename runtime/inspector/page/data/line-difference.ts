/**
 * Compares two texts line by line: the lines that are the same, removed and added, in order. Uses the longest common
 * subsequence of what lies between their equal ends.
 * @see INS-4 in docs/specification.md
 */

export interface DifferenceLine {
  readonly kind: 'same' | 'added' | 'removed';
  readonly text: string;
}

/** A longer middle is shown as removed and added, because its comparison table would be too large. */
const mostCompared = 2_000;

export function lineDifference(before: readonly string[], after: readonly string[]): readonly DifferenceLine[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  while (
    tail < before.length - head &&
    tail < after.length - head &&
    before[before.length - 1 - tail] === after[after.length - 1 - tail]
  ) {
    tail += 1;
  }
  const same = (text: string): DifferenceLine => ({ kind: 'same', text });
  return [
    ...before.slice(0, head).map(same),
    ...middle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...after.slice(after.length - tail).map(same),
  ];
}

function middle(before: readonly string[], after: readonly string[]): readonly DifferenceLine[] {
  const removed = (text: string): DifferenceLine => ({ kind: 'removed', text });
  const added = (text: string): DifferenceLine => ({ kind: 'added', text });
  if (before.length > mostCompared || after.length > mostCompared) {
    return [...before.map(removed), ...after.map(added)];
  }
  const width = after.length + 1;
  const common = new Uint16Array((before.length + 1) * width);
  const at = (row: number, column: number): number => common[row * width + column] ?? 0;
  for (let row = before.length - 1; row >= 0; row -= 1) {
    for (let column = after.length - 1; column >= 0; column -= 1) {
      common[row * width + column] =
        before[row] === after[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const lines: DifferenceLine[] = [];
  let [row, column] = [0, 0];
  while (row < before.length || column < after.length) {
    const [old, fresh] = [before[row], after[column]];
    if (old !== undefined && old === fresh) {
      lines.push({ kind: 'same', text: old });
      row += 1;
      column += 1;
    } else if (old !== undefined && (fresh === undefined || at(row + 1, column) >= at(row, column + 1))) {
      lines.push(removed(old));
      row += 1;
    } else {
      lines.push(added(fresh ?? ''));
      column += 1;
    }
  }
  return lines;
}
