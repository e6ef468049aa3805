/**
 * How many terminal columns a text takes: two for a wide character or an emoji, none for a combining mark.
 * @see CLI-6 in docs/specification.md and [UAX #11](https://www.unicode.org/reports/tr11/)
 */

import { graphemesOf } from '../machines/base/graphemes.ts';

const narrow = /^[\x20-\x7e]*$/;
/** Wide and fullwidth characters of UAX #11, as ranges. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{17000}-\u{18cff}\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]/u;
const emoji = /\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f|[\d#*]\ufe0f?\u20e3|\p{Emoji_Modifier}/u;
const unseen = /^[\p{M}\p{Cf}]+$/u;

/** The columns that a line of text takes. */
export function widthOf(text: string): number {
  if (narrow.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemesOf(text)) width += widthOfOne(segment);
  return width;
}

/** Cuts a line to so many columns; a cut is marked by an ellipsis. */
export function cutTo(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let cut = '';
  let width = 0;
  for (const { segment } of graphemesOf(text)) {
    width += widthOfOne(segment);
    if (width > columns - 1) break;
    cut += segment;
  }
  return `${cut}…`;
}

/** Pads the line with spaces to so many columns. */
export function padTo(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - widthOf(text)));
}

function widthOfOne(grapheme: string): number {
  if (unseen.test(grapheme)) return 0;
  return emoji.test(grapheme) || wide.test(grapheme) ? 2 : 1;
}
