/**
 * Indents JSON without another change: a number that JavaScript does not hold exactly and a key that comes twice stay as the
 * sender wrote them.
 * @see INS-4 and DUR-2 in docs/specification.md
 */

/** Strings, punctuation, and numbers and words. */
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** The deepest nesting of a payload that a route takes. */
const deepest = 200;

/** Returns any other text unchanged, and one that is nested too deep to be read. */
export function indentedJson(text: string): string {
  if (!isJson(text)) return text;
  let written = '';
  let depth = 0;
  let before = '';
  for (const [token] of text.matchAll(tokens)) {
    const isEnd = token === '}' || token === ']';
    const isFirst = before === '{' || before === '[';
    if (isEnd) depth -= 1;
    // What is empty stays in one line.
    if (before === ',' || isEnd !== isFirst) written += `\n${'  '.repeat(depth)}`;
    written += token === ':' ? ': ' : token.includes('\\') ? JSON.stringify(JSON.parse(token)) : token;
    if (token === '{' || token === '[') depth += 1;
    if (depth > deepest) return text;
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
