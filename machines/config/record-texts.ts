/**
 * Splits the text of a JSON object into its members one at a time, so that a long file can be read with pauses and only
 * changed members are parsed. Accepts exactly what `JSON.parse` accepts if the caller parses each member, and a byte order
 * mark before it, as some editors on Windows write.
 * @see SUB-2 in docs/specification.md
 */

interface RecordText {
  readonly name: string;
  /** The value as it is written. */
  readonly text: string;
}

/** Yields the members in text order; returns whether the text was one complete object. */
export function* recordTexts(text: string): Generator<RecordText, boolean> {
  let at = spaceEnd(text, text.startsWith('\uFEFF') ? 1 : 0);
  if (text[at] !== '{') return false;
  at = spaceEnd(text, at + 1);
  if (text[at] === '}') return spaceEnd(text, at + 1) === text.length;
  for (;;) {
    const nameEnd = text[at] === '"' ? stringEnd(text, at) : at;
    const name = parsedName(text.slice(at, nameEnd));
    at = spaceEnd(text, nameEnd);
    if (name === undefined || text[at] !== ':') return false;
    const begin = spaceEnd(text, at + 1);
    const end = valueEnd(text, begin);
    if (end === begin) return false;
    yield { name, text: text.slice(begin, end) };
    at = spaceEnd(text, end);
    if (text[at] === '}') return spaceEnd(text, at + 1) === text.length;
    if (text[at] !== ',') return false;
    at = spaceEnd(text, at + 1);
  }
}

function parsedName(text: string): string | undefined {
  if (text === '') return undefined;
  try {
    return String(JSON.parse(text));
  } catch {
    return undefined;
  }
}

const notSpace = /[^ \t\n\r]/g;
const bracketOrString = /["{}[\]]/g;
const scalarEnd = /[,}\] \t\n\r]/g;

function spaceEnd(text: string, from: number): number {
  return found(notSpace, text, from);
}

/** The end of the value that begins here; the text in between may be invalid. */
function valueEnd(text: string, from: number): number {
  const first = text[from];
  if (first === '"') return stringEnd(text, from);
  if (first !== '{' && first !== '[') return found(scalarEnd, text, from);
  let depth = 0;
  for (let at = from; at < text.length; ) {
    at = found(bracketOrString, text, at);
    const mark = text[at];
    if (mark === '"') {
      at = stringEnd(text, at);
      continue;
    }
    depth += mark === '{' || mark === '[' ? 1 : -1;
    at += 1;
    if (depth === 0) return at;
  }
  return text.length;
}

function stringEnd(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text[at - 1 - slashes] === '\\') slashes += 1;
    if (slashes % 2 === 0) return at + 1;
  }
  return text.length;
}

function found(what: RegExp, text: string, from: number): number {
  what.lastIndex = from;
  return what.exec(text)?.index ?? text.length;
}
