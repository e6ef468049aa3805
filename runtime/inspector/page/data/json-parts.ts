/**
 * Divides JSON into the parts that have a colour. A text that is cut within a string is divided too. Independent of the page.
 * @see INS-4 in docs/specification.md
 */

interface JsonPart {
  /** `k`: a key with its colon; `s`: a string; `n`: a number or a word; empty: anything else. */
  readonly name: 'k' | 's' | 'n' | '';
  readonly text: string;
}

/**
 * A string ends where the text ends, at the latest. Otherwise each escaped quote of a cut string would be tried as the start
 * of another one, whose end is searched for in all of the rest.
 */
const coloured = /("[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?$))(\s*:)?|\b(?:true|false|null|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\b/gis;

export function jsonParts(text: string): readonly JsonPart[] {
  const parts: JsonPart[] = [];
  let last = 0;
  for (const match of text.matchAll(coloured)) {
    const [found, string, colon] = match;
    if (match.index > last) parts.push({ name: '', text: text.slice(last, match.index) });
    parts.push({ name: colon !== undefined ? 'k' : string !== undefined ? 's' : 'n', text: found });
    last = match.index + found.length;
  }
  return last < text.length ? [...parts, { name: '', text: text.slice(last) }] : parts;
}
