/**
 * Indents JSON without another change: a number that JavaScript does not hold exactly and a key that comes twice stay as the
 * sender wrote them.
 * @see INS-4 and DUR-2 in docs/specification.md
 */

import { isTooDeep } from './read-json.ts';

/** The tokens of JSON: strings, punctuation, and numbers and words. */
export const jsonToken = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** The same, with a string that ends where the text ends. */
const cutToken = new RegExp(`${jsonToken.source}|"[^]*$`, 'g');

/** Returns any other text unchanged, and one that is nested too deep to be read. */
export function indentedJson(text: string): string {
  return isJson(text) && !isTooDeep(text) ? indented(jsonTokens(text), 2) : text;
}

/** Indents the beginning of JSON that was cut at any place; returns any other text unchanged. */
export function indentedStart(text: string): string {
  const tokens: readonly string[] = text.match(cutToken) ?? [];
  const before = tokens.slice(0, tokens.lastIndexOf(','));
  const open: string[] = [];
  for (const token of before) {
    if (token === '{' || token === '[') open.push(token === '{' ? '}' : ']');
    else if (token === '}' || token === ']') open.pop();
  }
  const closed = before.concat(open.reverse()).join('');
  return open.length > 0 && isJson(closed) && !isTooDeep(closed) ? indented(tokens, 2) : text;
}

/** The tokens of a text that is JSON; each string as JavaScript writes it. */
export function jsonTokens(json: string): readonly string[] {
  const found = json.match(jsonToken) ?? [];
  return found.map((token) => (token.includes('\\') ? JSON.stringify(JSON.parse(token)) : token));
}

/** Joins tokens with this many spaces per level. */
export function indented(given: readonly string[], width: number): string {
  let written = '';
  let depth = 0;
  let before = '';
  for (const token of given) {
    const isEnd = token === '}' || token === ']';
    const isFirst = before === '{' || before === '[';
    if (isEnd) depth -= 1;
    // What is empty stays in one line.
    if (before === ',' || isEnd !== isFirst) written += `\n${' '.repeat(depth * width)}`;
    written += token === ':' ? ': ' : token;
    if (token === '{' || token === '[') depth += 1;
    before = token;
  }
  return written;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
