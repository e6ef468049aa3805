/**
 * Makes one line of what a server, its child or its proxy said: without secrets, without what nobody sees, and no longer
 * than somebody reads. For reasons and errors; results have rules of their own.
 * @see LIF-13 in docs/specification.md
 */

import { cut } from '../base/json.ts';
import { redactShapes } from './redact-shapes.ts';
import { stripTags } from './strip-tags.ts';

/** What is looked at; the rest of a page is not worth the time. */
const longestLook = 4_000;

export function strangersWords(text: string, most = 300): string {
  return cut(
    redactShapes(stripTags(cut(text, longestLook)))
      .replace(/[\s\p{Cc}]+/gu, ' ')
      .trim(),
    most,
  );
}
