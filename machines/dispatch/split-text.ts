/**
 * Splits a text into pieces that fit into one message. Cuts where a reader would: between paragraphs, else lines, sentences,
 * words; never within a grapheme cluster that fits. A code block stays in one piece if it fits into one; else its fence is
 * closed at the end of a piece and opened again in the next. Nothing else is added, and nothing is left out.
 * @see [CommonMark §4.5](https://spec.commonmark.org/0.31.2/#fenced-code-blocks)
 * @see DLV-4 in docs/specification.md
 */

import { graphemesOf } from '../base/graphemes.ts';

/** The unit in which a platform counts. */
export type TextUnit =
  | 'utf16'
  | 'codePoints'
  | 'utf8Bytes'
  /** UTF-8 within a JSON string. */
  | 'jsonBytes'
  /** UTF-16 after `&`, `<` and `>` are escaped as entities. */
  | 'entities';

export interface TextLimit {
  /** At least 32. */
  readonly max: number;
  readonly unit: TextUnit;
}

export interface Piece {
  /** A reopened fence with its line end; else empty. */
  readonly before: string;
  /** All pieces' texts joined give the original text. */
  readonly text: string;
  /** A closing fence, after a line end if it needs one; else empty. */
  readonly after: string;
}

/** A fenced code block by its offsets in the text. */
interface Fence {
  readonly start: number;
  readonly contentStart: number;
  /** Of the closing line; the end of the text if there is none. */
  readonly closeStart: number;
  readonly end: number;
  /** Its indentation and marks; the line that closes it. */
  readonly closing: string;
  /** The line that reopens it. */
  readonly opening: string;
}

interface Border {
  readonly pattern: RegExp;
  /** The share of the room that a piece must fill for this border; else a finer one is used. */
  readonly share: number;
  readonly insideFences: boolean;
}

/** Indented at will: as in an item of a list, and at chats everywhere. */
const openingLine = /^([ \t]*)(`{3,}(?=[^`]*$)|~{3,})(.*)$/;
const borders: readonly Border[] = [
  { pattern: /\n(?:[^\S\n]*\n)+/g, share: 0.5, insideFences: false },
  { pattern: /\n/g, share: 0.3, insideFences: true },
  { pattern: /[.!?…:;][)"'\]»”’]*[ \t]+|[。！？；]/g, share: 0.5, insideFences: true },
  { pattern: /[ \t\u3000]+/g, share: 0.2, insideFences: true },
];

/** A letter, and an `@` or an entity for it: without the letter, which stays with it, it could begin a mention. */
const afterLetter = /[A-Za-z\d][@&]$/;

/** The pieces as messages: without blank ones, and without blank lines and spaces at the cuts. */
export function messagesOf(text: string, limit: TextLimit): string[] {
  // Platforms reject half a surrogate pair, and some reject NUL.
  return splitText(text.replace(/\p{Cs}|\0/gu, '\ufffd'), limit)
    .map(({ before, text, after }) => `${before}${text}${after}`.trimEnd().replace(/^(?:[^\S\n]*\n)+/, ''))
    .filter((message) => message !== '');
}

/** Returns the pieces; none for an empty text. */
export function splitText(text: string, limit: TextLimit): Piece[] {
  const fences = fencesOf(text, limit);
  const pieces: Piece[] = [];
  let open: Fence | undefined;
  let first = 0;
  for (let at = 0; at < text.length; ) {
    const before = open === undefined ? '' : `${open.opening}\n`;
    const room = limit.max - lengthIn(before, limit.unit);
    const fitsTo = reach(text, at, room, limit.unit);
    if (fitsTo === text.length) {
      pieces.push({ before, text: text.slice(at), after: '' });
      break;
    }
    while ((fences[first]?.end ?? text.length) <= at) first += 1;
    let last = first;
    while ((fences[last]?.start ?? text.length) < fitsTo) last += 1;
    const near = fences.slice(first, last);
    // The closing line must fit wherever the cut is.
    const reserve = Math.max(0, ...near.map(({ closing }) => lengthIn(`\n${closing}`, limit.unit)));
    const cut = cutBetween(text, at, reach(text, at, room - reserve, limit.unit), near, limit);
    open = near.find(({ contentStart, closeStart }) => contentStart <= cut && cut < closeStart);
    const after = open === undefined ? '' : `${text[cut - 1] === '\n' ? '' : '\n'}${open.closing}`;
    pieces.push({ before, text: text.slice(at, cut), after });
    at = cut;
  }
  return pieces;
}

/** The length of a text as a platform counts it. */
export function lengthIn(text: string, unit: TextUnit): number {
  if (unit === 'utf16') return text.length;
  let length = 0;
  for (const character of text) length += costOf(character.codePointAt(0) ?? 0, unit);
  return length;
}

/** Where to cut, after `at` and at most at `end`. */
function cutBetween(text: string, at: number, end: number, near: readonly Fence[], limit: TextLimit): number {
  // A block that would be cut, and fits a piece of its own, begins one.
  const torn = near.find((fence) => at < fence.start && fence.start < end && end < fence.end);
  if (torn !== undefined && reach(text, torn.start, limit.max, limit.unit) >= torn.end) return torn.start;

  const inRoom = text.slice(at, end);
  for (const { pattern, share, insideFences } of borders) {
    const least = at + (end - at) * share;
    for (const found of [...inRoom.matchAll(pattern)].reverse()) {
      const cut = at + found.index + found[0].length;
      if (cut < least) break;
      if (tearsFenceLine(near, cut) || !isGraphemeBorder(text, at, cut)) continue;
      if (insideFences || !near.some(({ start, end }) => start < cut && cut < end)) return cut;
    }
  }
  const line = near.find((fence) => tearsFenceLine([fence], end));
  if (line === undefined) return lastGrapheme(text, at, end);
  // A closing line must not begin a piece: keep the line end before it with it.
  if (end >= line.closeStart && line.closeStart - 1 > Math.max(at, line.contentStart))
    return lastGrapheme(text, at, line.closeStart - 1);
  return line.start > at ? line.start : lastGrapheme(text, at, end);
}

/** The last grapheme border up to `end`; `end` itself if one grapheme is longer than the room. */
function lastGrapheme(text: string, at: number, end: number): number {
  const found = graphemesOf(text.slice(at, end + 2)).containing(end - at);
  const cut = found === undefined || found.index === 0 ? end : at + found.index;
  if (!afterLetter.test(text.slice(cut - 1, cut + 1))) return cut;
  const letter = graphemesOf(text.slice(at, cut)).containing(cut - at - 1)?.index ?? 0;
  return letter === 0 ? cut : at + letter;
}

/** A border depends on the text before it and one code point after it. */
function isGraphemeBorder(text: string, at: number, cut: number): boolean {
  return graphemesOf(text.slice(at, cut + 2)).containing(cut - at)?.index === cut - at;
}

/** Also right after an opening line and right before a closing one, which would leave an empty block. */
function tearsFenceLine(near: readonly Fence[], cut: number): boolean {
  return near.some(
    ({ start, contentStart, closeStart, end }) =>
      (start < cut && cut <= contentStart) || (closeStart <= cut && cut < end),
  );
}

/** The index up to which a text fits, counted from `at`; between code points. */
function reach(text: string, at: number, room: number, unit: TextUnit): number {
  let left = room;
  let index = at;
  while (index < text.length) {
    const point = text.codePointAt(index) ?? 0;
    left -= costOf(point, unit);
    if (left < 0) break;
    index += point > 0xffff ? 2 : 1;
  }
  return index;
}

function costOf(point: number, unit: TextUnit): number {
  switch (unit) {
    case 'codePoints':
      return 1;
    case 'utf16':
      return point > 0xffff ? 2 : 1;
    case 'entities':
      return point === 0x26 ? 5 : point === 0x3c || point === 0x3e ? 4 : costOf(point, 'utf16');
    case 'jsonBytes':
      // `\b`, `\t`, `\n`, `\f`, `\r`, the quote and the backslash take two, other control characters six (`\u` and four
      // digits).
      if (point < 0x20) return point > 0x07 && point < 0x0e && point !== 0x0b ? 2 : 6;
      return point === 0x22 || point === 0x5c ? 2 : costOf(point, 'utf8Bytes');
    case 'utf8Bytes':
      // Half a surrogate pair becomes U+FFFD, which has three bytes too.
      return point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  }
}

/** The fenced code blocks. Lines that are long for the limit do not count as fences, because they could not be repeated. */
export function fencesOf(text: string, { max, unit }: TextLimit): Fence[] {
  const fences: Fence[] = [];
  const maxLength = max / 4;
  let open: (Omit<Fence, 'closeStart' | 'end'> & { readonly indent: number; readonly marker: string }) | undefined;
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf('\n', at);
    const end = newline === -1 ? text.length : newline + 1;
    // Longer lines cannot be fences, so they are not even sliced.
    const line = end - at <= maxLength ? text.slice(at, end).trimEnd() : '';
    if (open === undefined) {
      const [opening, indent = '', marker = ''] = openingLine.exec(line) ?? [];
      if (
        opening !== undefined &&
        marker.length * 8 <= max &&
        lengthIn(opening, unit) + 1 <= maxLength &&
        newline !== -1
      )
        open = { start: at, contentStart: end, opening, closing: indent + marker, indent: indent.length, marker };
    } else if (
      closesFence(
        line.replace(/^[ \t]*/, (given) => given.slice(open?.indent)),
        open.marker,
      )
    ) {
      fences.push({ ...open, closeStart: at, end });
      open = undefined;
    }
    at = end;
  }
  if (open !== undefined) fences.push({ ...open, closeStart: text.length, end: text.length });
  return fences;
}

/** Whether a line, without spaces at its end, closes a fence. */
export function closesFence(line: string, marker: string): boolean {
  const bare = line.replace(/^ {1,3}/, '');
  return bare.length >= marker.length && bare === marker.charAt(0).repeat(bare.length);
}
