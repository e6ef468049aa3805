/**
 * Reads one string of TOML: basic or literal, on one line or over several. Knows nothing of what it stands in.
 * @see [TOML 1.0.0, String](https://toml.io/en/v1.0.0#string)
 */

interface Cursor {
  readonly text: string;
  at: number;
  fault: string | undefined;
}

const escapes: Readonly<Record<string, string>> = {
  b: '\b',
  t: '\t',
  n: '\n',
  f: '\f',
  r: '\r',
  '"': '"',
  '\\': '\\',
};
const highestCodePoint = 0x10ffff;

/** The string at the cursor, which is set behind it; undefined, with the fault, where there is none. */
export function readString(cursor: Cursor): string | undefined {
  const quote = cursor.text[cursor.at] ?? '';
  const isLong = cursor.text.startsWith(quote.repeat(3), cursor.at);
  return isLong ? readLong(cursor, quote) : readShort(cursor, quote);
}

function readShort(cursor: Cursor, quote: string): string | undefined {
  const pattern = quote === '"' ? /"((?:[^"\\\n]|\\.)*)"/y : /'([^'\n]*)'/y;
  pattern.lastIndex = cursor.at;
  const [whole, inner] = pattern.exec(cursor.text) ?? [];
  if (whole === undefined || inner === undefined) return fail(cursor, 'the string does not end on its line');
  cursor.at += whole.length;
  return quote === '"' ? unescaped(cursor, inner) : inner;
}

/** A newline right after the opening quotes is none of the text; up to two quotes may stand before the closing ones. */
function readLong(cursor: Cursor, quote: string): string | undefined {
  const pattern =
    quote === '"'
      ? /"""(?:\r?\n)?((?:[^"\\]|\\[\s\S]|"{1,2}(?!"))*"{0,2})"""/y
      : /'''(?:\r?\n)?((?:[^']|'{1,2}(?!'))*'{0,2})'''/y;
  pattern.lastIndex = cursor.at;
  const [whole, inner] = pattern.exec(cursor.text) ?? [];
  if (whole === undefined || inner === undefined) return fail(cursor, 'the string does not end');
  cursor.at += whole.length;
  return quote === '"' ? unescaped(cursor, inner) : inner;
}

function unescaped(cursor: Cursor, text: string): string | undefined {
  let wrong: string | undefined;
  // A backslash at a line's end takes the line break and every blank after it away.
  const value = text.replace(/\\(u[\da-fA-F]{4}|U[\da-fA-F]{8}|[ \t]*\r?\n\s*|[\s\S])/g, (whole, what: string) => {
    if (/\n/.test(what)) return '';
    if (what.length > 1) {
      const code = Number.parseInt(what.slice(1), 16);
      const isScalar = code <= highestCodePoint && !(code >= 0xd800 && code <= 0xdfff);
      if (isScalar) return String.fromCodePoint(code);
    }
    const one = escapes[what];
    if (one === undefined) wrong ??= whole;
    return one ?? '';
  });
  return wrong === undefined ? value : fail(cursor, `"${wrong}" is no escape`);
}

function fail(cursor: Cursor, why: string): undefined {
  cursor.fault ??= why;
  return undefined;
}
