/**
 * Formats the output of a server, its child or its proxy as one line: without secrets and invisible characters, limited in
 * length. For reasons and errors; results have their own rules.
 * @see LIF-13 in docs/specification.md
 */

import { cutWithMark } from '../base/json.ts';
import { redactShapes } from './redact-shapes.ts';
import { stripTags } from './strip-tags.ts';

/** Only this much is read; the rest of a long page is not worth the time. */
const longestLook = 4_000;

export function untrustedWords(text: string, most = 300): string {
  return cutWithMark(
    redactShapes(withoutColours(stripTags(cutWithMark(text, longestLook))))
      .replace(/[\s\p{Cc}]+/gu, ' ')
      .trim(),
    most,
  );
}

/** The end is added because a trace of Python ends with its error, where others begin with it. */
const longestStart = 300;
const longestEnd = 150;

/** The same for what a program wrote before it ended: of a long text the start and the end. */
export function lastWords(text: string): string {
  const words = untrustedWords(text, longestLook);
  const characters = [...words];
  if (characters.length <= longestStart + longestEnd) return words;
  // The end begins with a whole word, since the rest of a secret could not be found any more.
  const end = characters.slice(-longestEnd - 1).join('');
  return `${characters.slice(0, longestStart).join('')} … ${end.replace(/^\S* ?/, '')}`.trimEnd();
}

/** Programs colour their errors for a terminal. Without its control character the rest of a colour would be read as text. */
export function withoutColours(text: string): string {
  return text.replace(/(?!\s)\p{Cc}\[[\d;]*m/gu, '');
}
