/**
 * Splits a text into grapheme clusters, which readers see as single characters.
 * @see [UAX #29](https://www.unicode.org/reports/tr29/)
 */

/** Created at first use: most commands need none, and loading its tables takes a sixth of a short command's time. */
let segmenter: Intl.Segmenter | undefined;

/** Returns the clusters with their offsets in UTF-16 code units; never fails. */
export function graphemesOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter('und', { granularity: 'grapheme' });
  return segmenter.segment(text);
}
