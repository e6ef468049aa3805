/**
 * Formats the output of a server, its child or its proxy as one line: without secrets and invisible characters, limited in
 * length. For reasons and errors; results have their own rules.
 * @see LIF-13 in docs/specification.md
 */

import { cutWithMark } from '../base/json.ts';
import { redactShapes } from './redact-shapes.ts';
import { stripTags } from './strip-tags.ts';

/** Only this much is read; the rest of a long page is not worth the time. */
const maxLookLength = 4_000;

export function untrustedWords(text: string, max = 300): string {
  return cutWithMark(
    redactShapes(withoutColours(stripTags(cutWithMark(text, maxLookLength))))
      .replace(/[\s\p{Cc}]+/gu, ' ')
      .trim(),
    max,
  );
}

/** The end is added because a trace of Python ends with its error, where others begin with it. */
const maxStartLength = 300;
const maxEndLength = 150;

/** The same for what a program wrote before it ended: of a long text the start and the end. */
export function lastWords(text: string): string {
  const words = untrustedWords(text, maxLookLength);
  const characters = [...words];
  if (characters.length <= maxStartLength + maxEndLength) return words;
  // The end begins with a whole word, since the rest of a secret could not be found any more.
  const end = characters.slice(-maxEndLength - 1).join('');
  return `${characters.slice(0, maxStartLength).join('')} … ${end.replace(/^\S* ?/, '')}`.trimEnd();
}

/** Programs colour their errors for a terminal. Without its control character the rest of a colour would be read as text. */
export function withoutColours(text: string): string {
  return text.replace(/(?!\s)\p{Cc}\[[\d;]*m/gu, '');
}
