/**
 * Finds a pair of a YAML mapping in its source text: where it begins, and where its value ends.
 * @see HOME-4 in docs/specification.md
 */

import { isMap, isScalar, isSeq, type Node, type Pair, type YAMLMap } from 'yaml';

export function pairOf(map: YAMLMap, step: string | number): Pair | undefined {
  return (map.items as Pair[]).find(({ key }) => isScalar(key) && String(key.value) === String(step));
}

/** The end of a pair's value, before a comment on its line. */
export function endOf({ key, value }: Pair): number | undefined {
  if (isNothing(value)) return (key as Node).range?.[1];
  return endOfValue(value as Node);
}

/** A block ends with its last item, because its own range continues through comments that may belong to another key. */
export function endOfValue(value: Node): number | undefined {
  if (isMap(value) && value.flow !== true) {
    const last = (value.items as Pair[]).at(-1);
    return last === undefined ? undefined : endOf(last);
  }
  if (isSeq(value) && value.flow !== true) {
    const last = value.items.at(-1) as Node | undefined;
    return last === undefined || isNothing(last) ? value.range?.[1] : endOfValue(last);
  }
  return value.range?.[1];
}

export function isNothing(value: unknown): boolean {
  return value === null || (isScalar(value) && value.value === null && value.source === '');
}

/** The text before an offset on its line. */
export function lineStart(text: string, at: number): string {
  return text.slice(text.lastIndexOf('\n', at - 1) + 1, at);
}

/** The start of the line after an offset; an offset right after a line end is one already. */
export function nextLine(text: string, at: number): number {
  if (text[at - 1] === '\n') return at;
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end + 1;
}
