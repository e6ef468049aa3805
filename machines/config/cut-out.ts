/**
 * Removes a key from YAML text and keeps every other character: in block style the pair's lines with its own comments, in
 * flow style the pair with its comma. Returns undefined for unknown forms. The caller has to verify the result.
 * @see HOME-4 in docs/specification.md
 */

import { isMap, isScalar, isSeq, type Node, type Pair, type YAMLMap } from 'yaml';
import type { ConfigPath } from './document.ts';

export function cutOut(text: string, root: Node | null, path: ConfigPath): string | undefined {
  let holder: unknown = root;
  let above: Pair | undefined;
  for (const [depth, step] of path.entries()) {
    const pair = isMap(holder) ? pairOf(holder, step) : undefined;
    if (!isMap(holder) || pair === undefined) return undefined;
    if (depth === path.length - 1)
      return holder.flow ? cutOfFlow(text, holder, pair) : cutOfBlock(text, holder, pair, above);
    above = pair;
    holder = pair.value;
  }
  return undefined;
}

/** Cuts the lines of the pair. An emptied mapping becomes `{}`, because a key without a value is not a mapping. */
function cutOfBlock(text: string, map: YAMLMap, pair: Pair, above: Pair | undefined): string | undefined {
  const keyAt = (pair.key as Node).range?.[0];
  const end = endOf(pair);
  if (keyAt === undefined || end === undefined) return undefined;
  const indent = lineStart(text, keyAt);
  if (!/^ *$/.test(indent)) return undefined;
  const head = withoutOwnComments(text.slice(0, keyAt - indent.length), indent);
  const tail = text.slice(endOfBlock(text, end, indent.length));
  if (map.items.length > 1) return `${head}${tail}`;
  if (above === undefined) return `${head}{}\n${tail}`;
  const keyEnd = (above.key as Node).range?.[1];
  const colon = keyEnd === undefined ? -1 : head.indexOf(':', keyEnd);
  return colon === -1 ? undefined : `${head.slice(0, colon + 1)} {}${head.slice(colon + 1)}${tail}`;
}

/** Comments right above a key, with the same indent, belong to it; comments at the start of the file belong to the file. */
function withoutOwnComments(head: string, indent: string): string {
  let from = head.length;
  for (;;) {
    const above = from < 2 ? 0 : head.lastIndexOf('\n', from - 2) + 1;
    if (from === 0 || !head.startsWith(`${indent}#`, above)) break;
    from = above;
  }
  return from === 0 ? head : head.slice(0, from);
}

/** The end of the pair's last line and of the more deeply indented comments below it; empty lines after that stay. */
function endOfBlock(text: string, end: number, indent: number): number {
  const last = text.slice(0, end).trimEnd().length;
  return pastComments(text, nextLine(text, text.slice(last, end).includes('\n') ? last : end), indent);
}

/** The end of the more deeply indented comments at the start of a line. */
export function pastComments(text: string, after: number, indent: number): number {
  const deeper = new RegExp(`(?:(?:[ \\t]*\\r?\\n)* {${indent + 1},}#[^\\n]*(?:\\n|$))*`, 'y');
  deeper.lastIndex = after;
  return after + (deeper.exec(text)?.[0].length ?? 0);
}

function cutOfFlow(text: string, map: YAMLMap, pair: Pair): string | undefined {
  const pairs = map.items as Pair[];
  const index = pairs.indexOf(pair);
  const [before, after] = [pairs[index - 1], pairs[index + 1]];
  const from = startOf(pair);
  const to = endOfFlow(pair);
  if (from === undefined || to === undefined) return undefined;
  // The pair's own comma or, for the last pair, the comma of the pair before.
  const comma = /^\s*,/.exec(text.slice(to))?.[0].length ?? 0;
  const end = to + comma;
  const lines = linesAround(text, from, end);
  if (before !== undefined && comma === 0) {
    const last = endOfFlow(before);
    const own = last === undefined ? -1 : text.indexOf(',', last);
    if (last === undefined || own === -1 || own > from) return undefined;
    if (lines === undefined) return `${text.slice(0, last)}${text.slice(to)}`;
    return `${text.slice(0, own)}${text.slice(own + 1, lines.from)}${text.slice(lines.to)}`;
  }
  if (lines !== undefined) return `${text.slice(0, lines.from)}${text.slice(lines.to)}`;
  const next = after === undefined ? undefined : startOf(after);
  if (next !== undefined) return `${text.slice(0, from)}${text.slice(next)}`;
  if (before !== undefined) return `${text.slice(0, from).trimEnd()}${text.slice(end)}`;
  const [open = 0, close = 0] = map.range ?? [];
  const isAlone = /^\{\s*$/.test(text.slice(open, from)) && /^\s*\}$/.test(text.slice(end, close));
  if (isAlone) return `${text.slice(0, open)}{}${text.slice(close)}`;
  return `${text.slice(0, from)}${text.slice(end)}`;
}

/** The complete lines, if they contain only the pair and a comment after it. */
function linesAround(
  text: string,
  from: number,
  to: number,
): { readonly from: number; readonly to: number } | undefined {
  const before = lineStart(text, from);
  const rest = /^[ \t]*(?:[ \t]#[^\n]*)?\r?\n/.exec(text.slice(to))?.[0];
  return /^[ \t]*$/.test(before) && from > before.length && rest !== undefined
    ? { from: from - before.length, to: to + rest.length }
    : undefined;
}

function startOf({ key }: Pair): number | undefined {
  return (key as Node).range?.[0];
}

/** In flow style, a missing value has its position after the key. */
function endOfFlow({ key, value }: Pair): number | undefined {
  return (value as Node | null)?.range?.[1] ?? (key as Node).range?.[1];
}

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
