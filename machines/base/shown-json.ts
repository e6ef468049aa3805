/**
 * Formats a third party's JSON for a person's approval: indented, with every invisible character escaped. The text is still
 * the same value, and nothing in it can hide, reverse a line or look like another character.
 * @see LNK-2, TRU-3, SEC-2 and SEC-7 in docs/specification.md
 */

import { cut } from './json.ts';

/**
 * Control characters, formatting characters (directions, joiners, tags, soft hyphens), line separators, and all that a font
 * may draw as nothing: fillers, variation selectors, the empty Braille pattern. Tabs and line ends are the shape of JSON.
 */
const unseen = /(?![\t\n\r])\p{Cc}|[\p{Cf}\p{Zl}\p{Zp}\p{DI}\u2800]/gu;

/** Characters that change the order in which the others are shown. */
const turning = /[\u202a-\u202e\u2066-\u2069]/g;

export function shownJson(value: unknown): string {
  return shownText(JSON.stringify(value, null, 2) ?? '');
}

/** A third party's text within a sentence, such as the name of a command, with invisible characters escaped. */
export function shownText(text: string): string {
  return text.replace(unseen, escaped);
}

/** Any text, with the characters escaped that could show it in another order than it is read. */
export function inOrder(text: string): string {
  return text.replace(turning, escaped);
}

function escaped(found: string): string {
  return [...Array(found.length).keys()]
    .map((unit) => `\\u${found.charCodeAt(unit).toString(16).padStart(4, '0')}`)
    .join('');
}

const gap = /(?<=\S)\p{Zs}{9,}/gu;

/** A long run of blanks can push text out of sight, so only its length is shown. */
export function withoutGaps(text: string): string {
  return text.replace(gap, (found) => ` …(${found.length} blanks)… `);
}

/** The most characters of a tool's description, and of a form's text, that are shown with a question. */
const maxDescriptionLength = 240;
const maxRequestLength = 1_000;

/**
 * What a server says about the call or form in question: one quoted line that cannot pose as part of the question; empty if
 * it says nothing (SEC-7).
 */
export function wordsOfServer(server: string, words: string, kind: string): string {
  const quoted = inQuotes(words, kind === 'form' ? maxRequestLength : maxDescriptionLength);
  return quoted === '' ? '' : `${server} says: ${quoted}`;
}

/** A server's text within a question: one quoted line, cut if it is long; empty if there is none (SEC-7). */
export function inQuotes(words: string, maxLength = maxDescriptionLength): string {
  // A closing quote in the text would end ours.
  const line = shownText(words.replace(/\s+/gu, ' ').replace(/[“”]/gu, '"').trim());
  const kept = cut(line, maxLength);
  return line === '' ? '' : `“${kept}${kept === line ? '' : '…'}”`;
}

/** A word of a link or of another program's file within a sentence: quoted unless it is one plain word (SEC-7). */
export function wordInSentence(word: string): string {
  return /^[\w./~@+-]{1,200}$/.test(word) ? word : inQuotes(word, maxRequestLength) || '“”';
}

/** A word of a command, or an address, from another program's file: quoted and uncut unless it is one plain word (SEC-7). */
export function wordOfCommand(word: string): string {
  return /^[!-~]+$/.test(word) ? word : inQuotes(word, Number.POSITIVE_INFINITY) || '“”';
}

/** A name from another program's file within a sentence: unchanged if it is a short identifier, else quoted (SEC-7). */
export function nameInSentence(name: string): string {
  return /^[A-Za-z_]\w{0,63}$/.test(name) ? name : inQuotes(name) || '“”';
}
