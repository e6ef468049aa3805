/**
 * Cuts a text into what a reader takes for single characters.
 * @see [UAX #29](https://www.unicode.org/reports/tr29/)
 */

/** Made at first use: most commands need none, and reading its tables takes a sixth of the time of a short one. */
let segmenter: Intl.Segmenter | undefined;

/** Returns the characters with their places in UTF-16 code units; never fails. */
export function graphemesOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter('und', { granularity: 'grapheme' });
  return segmenter.segment(text);
}
