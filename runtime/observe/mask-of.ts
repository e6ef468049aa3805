/**
 * Masks exact secrets in a text, in each of their encodings, and the beginning of one before the mark of a cut. Takes time
 * linear in the length of the text: the beginnings are looked up, because a pattern of so many is not compiled by the engine.
 * @see OBS-1 in docs/specification.md
 */

import { encodingsOf } from '../../machines/base/secret-encodings.ts';

/** Ends a text that was cut. */
const cutMark = '…';
export const shortestSecret = 6;
/** Of a secret that was cut: from which length its beginning is hidden. A shorter one, such as `https://`, is not secret. */
const shortestBegun = 12;
/** In characters: of a pattern, and of a form in one. */
const longestPattern = 65_536;
const longestShared = 8_192;
/** Of a longer form: what is looked for first. */
const headLength = 32;

/** @returns a function that masks these secrets */
export function maskOf(secrets: readonly string[], mask: string): (text: string) => string {
  if (secrets.length === 0) return (text) => text;
  // The longest first, so that a secret within another leaves no rest.
  const forms = [...new Set(secrets.flatMap(encodingsOf))].sort((one, other) => other.length - one.length);
  const exact = replacersOf(forms, mask);
  const longest = forms[0]?.length ?? 0;
  const sorted = [...forms].sort();
  const heads = new Set(forms.map((form) => form.slice(0, shortestSecret)));
  const starts = new Set(forms.map((form) => form.slice(0, hiddenFrom(form))));

  /** Whether a text is the beginning of a form, and one to hide. */
  function isBegun(text: string): boolean {
    if (!heads.has(text.slice(0, shortestSecret))) return false;
    let length = shortestSecret;
    while (length <= shortestBegun && !starts.has(text.slice(0, length))) length += 1;
    if (length > Math.min(shortestBegun, text.length)) return false;
    let [low, high] = [0, sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sorted[middle] ?? '') < text) low = middle + 1;
      else high = middle;
    }
    return sorted[low]?.startsWith(text) === true;
  }

  function withoutBegun(text: string): string {
    let clean = '';
    let from = 0;
    for (let mark = text.indexOf(cutMark); mark !== -1; mark = text.indexOf(cutMark, mark + 1)) {
      const end = /\s/.test(text.charAt(mark - 1)) ? mark - 1 : mark;
      for (let at = Math.max(from, end - longest); at <= end - shortestSecret; at += 1) {
        if (!isBegun(text.slice(at, end))) continue;
        clean += text.slice(from, at) + mask;
        from = end;
        break;
      }
      clean += text.slice(from, mark + 1);
      from = mark + 1;
    }
    return clean + text.slice(from);
  }

  return (text) => {
    const clean = exact.reduce((rest, replace) => replace(rest), text);
    return clean.includes(cutMark) ? withoutBegun(clean) : clean;
  };
}

type Replace = (text: string) => string;

/**
 * The engine compiles no form of some 32,000 characters beside another one, nor alone if its first characters repeat, and its
 * error would quote all of them. The token of a server can be that long.
 */
function replacersOf(forms: readonly string[], mask: string): readonly Replace[] {
  // These come first.
  const long = forms.filter((form) => form.length > longestShared);
  const sources: string[] = [];
  for (const form of forms.slice(long.length)) {
    const escaped = form.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
    const last = sources.at(-1);
    if (last !== undefined && last.length + escaped.length <= longestPattern)
      sources.push(`${sources.pop()}|${escaped}`);
    else sources.push(escaped);
  }
  const patterns = sources.map((source) => new RegExp(source, 'g'));
  return [
    ...long.map((form) => replaceLong(form, mask)),
    ...patterns.map(
      (pattern): Replace =>
        (text) =>
          text.replace(pattern, mask),
    ),
  ];
}

/** By Knuth, Morris and Pratt, since the search of the engine takes quadratic time for a form and a text that repeat a character. */
function replaceLong(form: string, mask: string): Replace {
  const head = form.slice(0, headLength);
  /** Up to each place: how many characters end there with which the form begins, too. */
  let borders: Uint32Array | undefined;

  /** How many characters of the form are matched once the next one is read. */
  function step(matched: number, next: string, known: Uint32Array): number {
    let length = matched;
    while (length > 0 && form[length] !== next) length = known[length - 1] ?? 0;
    return form[length] === next ? length + 1 : length;
  }

  function bordersOf(): Uint32Array {
    const known = new Uint32Array(form.length);
    for (let at = 1; at < form.length; at += 1) known[at] = step(known[at - 1] ?? 0, form[at] ?? '', known);
    return known;
  }

  return (text) => {
    if (text.length < form.length || !text.includes(head)) return text;
    borders ??= bordersOf();
    let clean = '';
    let from = 0;
    let matched = 0;
    for (let at = 0; at < text.length; at += 1) {
      matched = step(matched, text[at] ?? '', borders);
      if (matched < form.length) continue;
      clean += text.slice(from, at + 1 - form.length) + mask;
      from = at + 1;
      matched = 0;
    }
    return clean + text.slice(from);
  };
}

function hiddenFrom(form: string): number {
  return Math.min(Math.max(shortestSecret, Math.ceil(form.length / 2)), shortestBegun);
}
