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
/** In characters: of a pattern, and of a form that shares one. */
const longestPattern = 65_536;
const longestShared = 8_192;

/** @returns a function that masks these secrets */
export function maskOf(secrets: readonly string[], mask: string): (text: string) => string {
  if (secrets.length === 0) return (text) => text;
  // The longest first, so that a secret within another leaves no rest.
  const forms = [...new Set(secrets.flatMap(encodingsOf))].sort((one, other) => other.length - one.length);
  const exact = patternsOf(forms);
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
    const clean = exact.reduce((rest, pattern) => rest.replace(pattern, mask), text);
    return clean.includes(cutMark) ? withoutBegun(clean) : clean;
  };
}

/**
 * The engine compiles no pattern of some 200,000 characters, nor one of alternatives of some 32,000, and its error would quote
 * all of them. Tokens of a few servers can be that long.
 */
function patternsOf(forms: readonly string[]): readonly RegExp[] {
  const patterns: RegExp[] = [];
  let source = '';
  for (const form of forms) {
    const escaped = form.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
    if (source !== '' && source.length + escaped.length > longestPattern) {
      patterns.push(new RegExp(source, 'g'));
      source = '';
    }
    // These come first.
    if (form.length > longestShared) patterns.push(new RegExp(escaped, 'g'));
    else source += source === '' ? escaped : `|${escaped}`;
  }
  return source === '' ? patterns : [...patterns, new RegExp(source, 'g')];
}

function hiddenFrom(form: string): number {
  return Math.min(Math.max(shortestSecret, Math.ceil(form.length / 2)), shortestBegun);
}
