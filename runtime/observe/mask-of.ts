/**
 * Masks exact secrets in a text, in each of their encodings, and the beginning of one before the mark of a cut. Takes time
 * linear in the length of the text.
 * @see OBS-1 in docs/specification.md
 */

import { encodingsOf } from '../../machines/base/secret-encodings.ts';

/** Ends a text that was cut. */
const cutMark = '…';
export const shortestSecret = 6;
/** Of a secret that was cut: from which length its beginning is hidden. A shorter one, such as `https://`, is not secret. */
const shortestBegun = 12;
/** A longer form is looked for by itself. */
const maxSharedLength = 8_192;
/** Of a longer form: what is looked for first. */
const headLength = 32;
/** The characters of a piece, how many keys pieces have, and how many characters of each form are looked for first. */
const pieceLength = 3;
const keyCount = 65_536;
const maxStartLength = 16;

/** @returns a function that masks these secrets */
export function maskOf(secrets: readonly string[], mask: string): (text: string) => string {
  if (secrets.length === 0) return (text) => text;
  const sorted = [...new Set(secrets.flatMap(encodingsOf))].sort();
  // The longest first, so that a secret within another leaves no rest.
  const long = sorted.filter((form) => form.length > maxSharedLength).sort((one, other) => other.length - one.length);
  const withoutLong = long.map((form) => replaceLong(form, mask));
  const withoutShared = replaceShared(
    sorted.filter((form) => form.length <= maxSharedLength),
    mask,
  );
  const longest = sorted.reduce((length, form) => Math.max(length, form.length), 0);
  const heads = new Set(sorted.map((form) => form.slice(0, shortestSecret)));
  const starts = new Set(sorted.map((form) => form.slice(0, hiddenFrom(form))));

  /** Whether a text is the beginning of a form, and one to hide. */
  function isBegun(text: string): boolean {
    if (!heads.has(text.slice(0, shortestSecret))) return false;
    let length = shortestSecret;
    while (length <= shortestBegun && !starts.has(text.slice(0, length))) length += 1;
    if (length > Math.min(shortestBegun, text.length)) return false;
    return sorted[placeIn(sorted, (form) => form < text)]?.startsWith(text) === true;
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
    const clean = withoutShared(withoutLong.reduce((rest, replace) => replace(rest), text));
    return clean.includes(cutMark) ? withoutBegun(clean) : clean;
  };
}

type Replace = (text: string) => string;

/** The first place of a sorted list whose form is not before what is looked for. */
function placeIn(sorted: readonly string[], isBefore: (form: string) => boolean): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(sorted[middle] ?? '')) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * By Wu and Manber. The engine tries one alternative of a pattern after another: with thousands of secrets a line of the log
 * would take milliseconds.
 */
function replaceShared(sorted: readonly string[], mask: string): Replace {
  const longest = sorted.reduce((length, form) => Math.max(length, form.length), 0);
  const startLength = sorted.reduce((length, form) => Math.min(length, form.length), maxStartLength);
  /** Of a piece: how far it is, at least, from the end of the start of a form. */
  const skips = new Uint8Array(keyCount).fill(startLength - pieceLength + 1);
  const starts = new Set<string>();
  /** Of a form: the longest other one that it begins with. */
  const within = new Map<string, string>();
  let outer: string | undefined;
  for (const form of sorted) {
    while (outer !== undefined && !form.startsWith(outer)) outer = within.get(outer);
    if (outer !== undefined) within.set(form, outer);
    outer = form;
    for (let end = pieceLength; end <= startLength; end += 1) {
      const key = keyOf(form, end);
      skips[key] = Math.min(skips[key] ?? 0, startLength - end);
    }
    starts.add(form.slice(0, startLength));
  }

  /** The longest form that a text begins with. Between one and the text, all that is sorted begins with it too. */
  function formAt(text: string, at: number): string | undefined {
    if (!starts.has(text.slice(at, at + startLength))) return undefined;
    const rest = text.slice(at, at + longest);
    let form = sorted[placeIn(sorted, (one) => one <= rest) - 1];
    while (form !== undefined && !rest.startsWith(form)) form = within.get(form);
    return form;
  }

  return (text) => {
    let clean = '';
    let from = 0;
    let end = startLength;
    while (end <= text.length) {
      const skip = skips[keyOf(text, end)] ?? 0;
      const at = end - startLength;
      const form = skip === 0 ? formAt(text, at) : undefined;
      end += Math.max(skip, 1);
      if (form === undefined) continue;
      clean += text.slice(from, at) + mask;
      from = at + form.length;
      end = from + startLength;
    }
    return from === 0 ? text : clean + text.slice(from);
  };
}

/** The key of the piece of a text before this place. */
function keyOf(text: string, end: number): number {
  return (
    ((text.charCodeAt(end - 3) << 10) ^ (text.charCodeAt(end - 2) << 5) ^ text.charCodeAt(end - 1)) & (keyCount - 1)
  );
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
