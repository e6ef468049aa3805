/**
 * Parses JSON that may have numbers beyond the range of JavaScript's. An integer beyond 2^53 - 1 becomes the text of its
 * digits, so that two ids never become equal, and so does a number such as 1e400, which would be written again as null;
 * everything else is as in `JSON.parse`, which also decides what is valid.
 * @see COA-1, FIL-2 and TPL-1 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from './json.ts';

/** The fewest digits of an integer that is not exact. */
const longDigits = 16;
const wholeNumber = /^-?\d+$/;
/** The end of a number whose exponent has three digits or more. Fewer need a mantissa of many digits to be too large. */
const longExponent = /\de\+?\d{3,}\s*(?:[,\]}]|$)/i;
const quote = 0x22;
const backslash = 0x5c;
const minus = 0x2d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/**
 * The deepest nesting that is read: each level of a value costs microseconds wherever it is used, and a text of a few
 * megabytes may have millions. Each takes two characters, so that most texts, which are shorter, need not be searched.
 */
export const deepestRead = 131_072;

/** @returns undefined if the text is not JSON, or is nested deeper than any that is read */
export function readJson(text: string): Json | undefined {
  const value = parseJson(text);
  if (value === undefined || !(holdsLongDigits(text) || longExponent.test(text))) return value;
  const exact = withDigitsAsText(text);
  return exact === text ? value : parseJson(exact);
}

/** The same with every number as `JSON.parse` rounds it. */
export function parseJson(text: string): Json | undefined {
  if (isBeyondReading(text)) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

export function parseObject(text: string): JsonObject | undefined {
  const value = parseJson(text);
  return isJsonObject(value) ? value : undefined;
}

/** The deepest nesting allowed for values that are walked recursively; the configuration has the same limit. */
export const deepestJson = 200;

/** Whether a text is nested deeper than any that is read. */
export function isBeyondReading(text: string): boolean {
  return text.length > 2 * deepestRead && isTooDeep(text, deepestRead);
}

/** Whether lists and objects are nested deeper in JSON text; `JSON.parse` accepts any depth. */
export function isTooDeep(text: string, deepest = deepestJson): boolean {
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === backslash) at += 1;
    else if (unit === quote) quoted = !quoted;
    else if (quoted) continue;
    else if (unit === openBrace || unit === openBracket) depth += 1;
    else if (unit === closeBrace || unit === closeBracket) depth -= 1;
    if (depth > deepest) return true;
  }
  return false;
}

/** Whether lists and objects are nested deeper in a value. */
export function isDeeper(value: Json, deepest = deepestJson): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return deepest === 0 || Object.values(value).some((held) => isDeeper(held, deepest - 1));
}

/** A run of n digits covers one of every n positions, so only those are checked. */
function holdsLongDigits(text: string): boolean {
  for (let at = longDigits - 1; at < text.length; at += longDigits) {
    if (!isDigit(text.charCodeAt(at))) continue;
    let from = at;
    while (at - from < longDigits - 1 && isDigit(text.charCodeAt(from - 1))) from -= 1;
    let to = at + 1;
    while (to - from < longDigits && isDigit(text.charCodeAt(to))) to += 1;
    if (to - from === longDigits) return true;
  }
  return false;
}

/** Puts quotes around integers that are not exact. The text is valid JSON, so strings and numbers end where they should. */
function withDigitsAsText(text: string): string {
  let written = '';
  let kept = 0;
  let at = 0;
  while (at < text.length) {
    const unit = text.charCodeAt(at);
    if (unit === quote) at = afterString(text, at);
    else if (unit !== minus && !isDigit(unit)) at += 1;
    else {
      const end = afterNumber(text, at);
      if (isInexact(text.slice(at, end))) {
        written += `${text.slice(kept, at)}"${text.slice(at, end)}"`;
        kept = end;
      }
      at = end;
    }
  }
  return written + text.slice(kept);
}

/** A number with a fraction or an exponent is an approximation anyway, unless it is too large for one. */
function isInexact(number: string): boolean {
  if (!wholeNumber.test(number)) return !Number.isFinite(Number(number));
  return number.length >= longDigits && !Number.isSafeInteger(Number(number));
}

function afterNumber(text: string, start: number): number {
  let end = start + 1;
  while (isOfNumber(text.charCodeAt(end))) end += 1;
  return end;
}

/** No backslash precedes two quotes, so each is counted once. */
function afterString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let from = end;
    while (text.charCodeAt(from - 1) === backslash) from -= 1;
    if ((end - from) % 2 === 0) return end + 1;
  }
  return text.length;
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}

/** Digits, a sign, a point, an exponent. */
function isOfNumber(unit: number): boolean {
  return isDigit(unit) || unit === 0x2b || unit === minus || unit === 0x2e || unit === 0x45 || unit === 0x65;
}
