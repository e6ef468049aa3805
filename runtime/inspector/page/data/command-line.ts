/**
 * Splits a typed command line into words, and joins words again, with quotes and backslashes as in a shell but without
 * expansion. No shell ever runs the line.
 * @see INS-4 in docs/specification.md
 */

type SplitLine =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'open'; readonly quote: string };

export function splitCommandLine(line: string): SplitLine {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let at = 0; at < line.length; at += 1) {
    const letter = line.charAt(at);
    if (quote === "'" ? false : letter === '\\' && at + 1 < line.length && escapes(quote, line.charAt(at + 1))) {
      at += 1;
      word = (word ?? '') + line.charAt(at);
    } else if (quote !== '' && letter === quote) quote = '';
    else if (quote === '' && (letter === '"' || letter === "'")) {
      quote = letter;
      word ??= '';
    } else if (quote === '' && /\s/.test(letter)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + letter;
  }
  if (quote !== '') return { kind: 'open', quote };
  return { kind: 'words', words: word === undefined ? words : [...words, word] };
}

export function joinCommandLine(words: readonly string[]): string {
  return words
    .map((word) => (/^[\w@%+=:,./~${}-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`))
    .join(' ');
}

/** Within double quotes only a quote and a backslash are escaped. */
function escapes(quote: string, next: string): boolean {
  return quote === '' || next === '"' || next === '\\';
}
