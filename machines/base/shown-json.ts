/**
 * Formats a third party's JSON for a person who is to say yes to it: indented, and with every invisible character written as
 * an escape. What is shown is still the same value, and nothing in it can hide, turn a line around or look like another.
 * @see LNK-2, TRU-3, SEC-2 and SEC-7 in docs/specification.md
 */

import { cut } from './json.ts';

/**
 * Control characters, those that only format (directions, joiners, tags, soft hyphens), separators that end lines, and
 * letters without a shape. JSON itself escapes the first thirty-two.
 */
const unseen = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu;

export function shownJson(value: unknown): string {
  return shownText(JSON.stringify(value, null, 2) ?? '');
}

/** A sentence that quotes a third party, such as the name of a command. */
export function shownText(text: string): string {
  return text.replace(unseen, (found) =>
    [...Array(found.length).keys()]
      .map((unit) => `\\u${found.charCodeAt(unit).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

const gap = /(?<=\S)\p{Zs}{9,}/gu;

/** Blanks in a row can push what follows out of sight: of many, only their number is shown. */
export function withoutGaps(text: string): string {
  return text.replace(gap, (found) => ` …(${found.length} blanks)… `);
}

/** Characters of a tool's description, and of what a form asks for, that stand with a question. */
const longestDescription = 240;
const longestRequest = 1_000;

/**
 * What a server says of the call or the form that it asks about: one line in quotes that can pose as no part of the
 * question; empty where it says nothing (SEC-7).
 */
export function wordsOfServer(server: string, words: string, kind: string): string {
  const quoted = inQuotes(words, kind === 'form' ? longestRequest : longestDescription);
  return quoted === '' ? '' : `${server} says: ${quoted}`;
}

/** Words of a server within a question: one line in quotes, cut where it is long; empty where there are none (SEC-7). */
export function inQuotes(words: string, longest = longestDescription): string {
  // A quote of its own would end ours.
  const line = shownText(words.replace(/\s+/gu, ' ').replace(/[“”]/gu, '"').trim());
  const kept = cut(line, longest);
  return line === '' ? '' : `“${kept}${kept === line ? '' : '…'}”`;
}

/** A word of a link or of another program's file within a sentence: in quotes unless it can be no more than one (SEC-7). */
export function wordInSentence(word: string): string {
  return /^[\w./~@+-]{1,200}$/.test(word) ? word : inQuotes(word, longestRequest) || '“”';
}

/** A word of a command, or an address, of another program's file: in quotes and uncut unless it is one plain word (SEC-7). */
export function wordOfCommand(word: string): string {
  return /^[!-~]+$/.test(word) ? word : inQuotes(word, Number.POSITIVE_INFINITY) || '“”';
}

/** A name of another program's file within a sentence: as it is where it is a short identifier, otherwise in quotes (SEC-7). */
export function nameInSentence(name: string): string {
  return /^[A-Za-z_]\w{0,63}$/.test(name) ? name : inQuotes(name) || '“”';
}
