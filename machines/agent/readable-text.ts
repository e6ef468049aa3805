/**
 * Extracts a page's readable text: no scripts, styles or markup; one line per block. Takes time linear in the page, also for
 * hostile pages. Fetches nothing.
 * @see DIS-5 in docs/specification.md
 */

interface ReadableText {
  readonly title: string;
  readonly text: string;
}

/** Elements whose content is left out. */
const skipped: ReadonlySet<string> = new Set(
  'script style noscript template svg math iframe object canvas select textarea nav footer aside'.split(' '),
);
/** Elements whose content a browser treats as text until their end tag. */
const raw: ReadonlySet<string> = new Set(['script', 'style', 'textarea', 'iframe', 'noscript', 'title']);
const blocks: ReadonlySet<string> = new Set(
  'address article blockquote br dd div dl dt figcaption figure h1 h2 h3 h4 h5 h6 header hr li main ol p pre section table td th tr ul'.split(
    ' ',
  ),
);
const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  mdash: '—',
  ndash: '–',
  hellip: '…',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  bull: '•',
  middot: '·',
  copy: '©',
  reg: '®',
  trade: '™',
  euro: '€',
  laquo: '«',
  raquo: '»',
  times: '×',
  auml: 'ä',
  ouml: 'ö',
  uuml: 'ü',
  Auml: 'Ä',
  Ouml: 'Ö',
  Uuml: 'Ü',
  szlig: 'ß',
  eacute: 'é',
  egrave: 'è',
};

export function readableText(html: string): ReadableText {
  const pieces: string[] = [];
  let title = '';
  /** The element being left out, and how many elements of that name are open in it. */
  let left: { readonly name: string; depth: number } | undefined;
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf('<', at);
    const end = open === -1 ? html.length : open;
    if (left === undefined && end > at) pieces.push(html.slice(at, end));
    if (open === -1) break;
    const tag = readTag(html, open);
    if (tag === undefined) {
      // A `<` that begins no tag is a character.
      if (left === undefined) pieces.push('<');
      at = open + 1;
      continue;
    }
    at = tag.end;
    const { name, closing } = tag;
    if (left !== undefined) {
      // What looks like tags in a script is none.
      if (name === 'script' && !closing && !tag.selfClosing) at = endOfRaw(html, at, name).end;
      if (name === left.name && (closing || !tag.selfClosing)) left.depth += closing ? -1 : 1;
      if (left.depth === 0) left = undefined;
      continue;
    }
    if (!closing && raw.has(name)) {
      const close = endOfRaw(html, at, name);
      if (name === 'title' && title === '') title = clean(html.slice(at, close.start));
      at = close.end;
    } else if (!closing && skipped.has(name) && !tag.selfClosing) left = { name, depth: 1 };
    else if (blocks.has(name)) pieces.push(!closing && name === 'li' ? '\n- ' : '\n');
    else if (name === 'img' || name === 'input') pieces.push(' ');
  }
  return { title, text: clean(pieces.join('')) };
}

interface Tag {
  readonly name: string;
  readonly closing: boolean;
  readonly selfClosing: boolean;
  readonly end: number;
}

/** Undefined if no tag, comment or declaration begins here. An unclosed one takes the rest, as in a browser. */
function readTag(html: string, open: number): Tag | undefined {
  const next = html[open + 1] ?? '';
  if (next === '!' || next === '?') {
    const isComment = html.startsWith('<!--', open);
    const close = html.indexOf(isComment ? '-->' : '>', open + 2);
    return {
      name: '',
      closing: false,
      selfClosing: true,
      end: close === -1 ? html.length : close + (isComment ? 3 : 1),
    };
  }
  const closing = next === '/';
  const from = open + (closing ? 2 : 1);
  const name = nameAt(html, from);
  if (name === '') return undefined;
  const close = endOfTag(html, from + name.length);
  return { name: name.toLowerCase(), closing, selfClosing: html[close - 1] === '/', end: close + 1 };
}

const maxNameLength = 40;

function nameAt(html: string, from: number): string {
  let end = from;
  while (end < html.length && end - from < maxNameLength && /[A-Za-z0-9:-]/.test(html[end] ?? '')) end += 1;
  const name = html.slice(from, end);
  return /^[A-Za-z]/.test(name) ? name : '';
}

/** A quoted value may contain the character that ends a tag. */
function endOfTag(html: string, from: number): number {
  let quote = '';
  for (let at = from; at < html.length; at += 1) {
    const one = html[at] ?? '';
    if (quote !== '') quote = one === quote ? '' : quote;
    else if ((one === '"' || one === "'") && html[at - 1] === '=') quote = one;
    else if (one === '>') return at;
  }
  return html.length;
}

function endOfRaw(html: string, from: number, name: string): { readonly start: number; readonly end: number } {
  const pattern = new RegExp(`</${name}`, 'gi');
  pattern.lastIndex = from;
  const found = pattern.exec(html);
  if (found === null) return { start: html.length, end: html.length };
  return { start: found.index, end: endOfTag(html, found.index + found[0].length) + 1 };
}

function clean(text: string): string {
  return decodeEntities(text)
    .split('\n')
    .map((line) => line.replace(/[\s\u00A0]+/g, ' ').trim())
    .filter((line, index, lines) => line !== '' || (lines[index - 1] ?? '') !== '')
    .join('\n')
    .trim();
}

function decodeEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z]{2,8}));/g, (whole, decimal, hex, name) => {
    if (typeof name === 'string') return (Object.hasOwn(entities, name) ? entities[name] : undefined) ?? whole;
    const code = Number.parseInt(String(decimal ?? hex), decimal === undefined ? 16 : 10);
    const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return isCharacter ? String.fromCodePoint(code) : whole;
  });
}
