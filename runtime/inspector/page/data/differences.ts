/**
 * Compares two texts line by line; JSON is compared by key, in any order of its keys. Independent of the page.
 * @see INS-4 in docs/specification.md
 */

export interface DifferenceLine {
  readonly kind: 'same' | 'added' | 'removed';
  readonly text: string;
  /** The part that differs from its counterpart in a changed line. */
  readonly changed?: readonly [from: number, to: number];
}

/** Longer differing sections are shown as replaced, without a comparison of their lines. */
const maxLines = 2_000;
/** Strings, and whole numbers of many digits. */
const longParts = /"[^"\\]*(?:\\.[^"\\]*)*"|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;

export function differencesOf(before: string, after: string): readonly DifferenceLine[] {
  const [old, fresh] = [linesOf(before), linesOf(after)];
  const [start, end] = equalEnds(old, fresh);
  const same = (lines: readonly string[]): DifferenceLine[] => lines.map((text) => ({ kind: 'same', text }));
  return [
    ...same(old.slice(0, start)),
    ...withChanges(middleOf(old.slice(start, old.length - end), fresh.slice(start, fresh.length - end))),
    ...same(old.slice(old.length - end)),
  ];
}

function linesOf(text: string): readonly string[] {
  return text === '' ? [] : text.split('\n');
}

/** Returns how many lines were added, removed or changed; a changed line counts once. */
export function changedLines(lines: readonly DifferenceLine[]): number {
  const removed = lines.filter(({ kind }) => kind === 'removed').length;
  const added = lines.filter(({ kind }) => kind === 'added').length;
  return Math.max(removed, added);
}

/** Formats JSON with sorted keys and indentation; returns any other text unchanged. */
export function comparable(text: string): string {
  try {
    // In a text that is no JSON, finding its strings can take quadratic time.
    JSON.parse(text);
    return JSON.stringify(sorted(JSON.parse(text.replace(longParts, exactPart))), null, 2);
  } catch {
    return text;
  }
}

/** Returns whether JavaScript holds each whole number of a JSON text exactly. */
export function isExact(json: string): boolean {
  return json.replace(longParts, exactPart) === json;
}

/** A whole number that JavaScript does not hold exactly becomes a text, so that two ids are never equal. */
function exactPart(part: string): string {
  return part.startsWith('"') || Number.isSafeInteger(Number(part)) ? part : `"${part}"`;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}

/** By the longest common subsequence. */
function middleOf(old: readonly string[], fresh: readonly string[]): DifferenceLine[] {
  const all = (kind: 'added' | 'removed', lines: readonly string[]): DifferenceLine[] =>
    lines.map((text) => ({ kind, text }));
  if (old.length > maxLines || fresh.length > maxLines) return [...all('removed', old), ...all('added', fresh)];
  const width = fresh.length + 1;
  const lengths = new Uint16Array((old.length + 1) * width);
  for (let row = old.length - 1; row >= 0; row -= 1) {
    for (let column = fresh.length - 1; column >= 0; column -= 1) {
      const at = row * width + column;
      lengths[at] =
        old[row] === fresh[column]
          ? (lengths[at + width + 1] ?? 0) + 1
          : Math.max(lengths[at + width] ?? 0, lengths[at + 1] ?? 0);
    }
  }
  const lines: DifferenceLine[] = [];
  let row = 0;
  let column = 0;
  while (row < old.length && column < fresh.length) {
    const text = old[row] ?? '';
    const at = row * width + column;
    if (text === fresh[column]) {
      lines.push({ kind: 'same', text });
      row += 1;
      column += 1;
    } else if ((lengths[at + width] ?? 0) >= (lengths[at + 1] ?? 0)) {
      lines.push({ kind: 'removed', text });
      row += 1;
    } else {
      lines.push({ kind: 'added', text: fresh[column] ?? '' });
      column += 1;
    }
  }
  return [...lines, ...all('removed', old.slice(row)), ...all('added', fresh.slice(column))];
}

/** Pairs as many removed lines with added lines after them, and marks where each pair differs. */
function withChanges(lines: readonly DifferenceLine[]): DifferenceLine[] {
  const drawn: DifferenceLine[] = [];
  for (let at = 0; at < lines.length; ) {
    const removed = runOf(lines, at, 'removed');
    const added = runOf(lines, at + removed.length, 'added');
    if (removed.length === 0 || removed.length !== added.length) {
      const step = Math.max(1, removed.length + added.length);
      drawn.push(...lines.slice(at, at + step));
      at += step;
      continue;
    }
    for (const [index, line] of removed.entries()) {
      const counterpart = added[index];
      if (counterpart === undefined) continue;
      drawn.push(marked(line, counterpart.text), marked(counterpart, line.text));
    }
    at += removed.length + added.length;
  }
  return drawn;
}

function runOf(lines: readonly DifferenceLine[], from: number, kind: DifferenceLine['kind']): DifferenceLine[] {
  let to = from;
  while (lines[to]?.kind === kind) to += 1;
  return lines.slice(from, to);
}

function marked(line: DifferenceLine, other: string): DifferenceLine {
  const { text } = line;
  const [start, end] = equalEnds(text, other);
  return start === 0 && end === 0 ? line : { ...line, changed: [start, text.length - end] };
}

/** Returns how many items are equal at the start, and at the end of the rest. */
function equalEnds(one: ArrayLike<string>, other: ArrayLike<string>): readonly [start: number, end: number] {
  const max = Math.min(one.length, other.length);
  let start = 0;
  while (start < max && one[start] === other[start]) start += 1;
  let end = 0;
  while (end < max - start && one[one.length - 1 - end] === other[other.length - 1 - end]) end += 1;
  return [start, end];
}
