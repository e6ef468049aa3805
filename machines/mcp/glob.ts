/**
 * Compiles a shell glob for names: `*`, `?`, `[abc]`, `[!a-z]` and a backslash before a literal. Case-sensitive; names may
 * contain any characters. An unclosed bracket is a literal.
 * @see FLT-1 in docs/specification.md
 * @see [POSIX pattern matching](https://pubs.opengroup.org/onlinepubs/9699919799/utilities/V3_chap02.html#tag_18_13)
 */

type Token =
  | { readonly kind: 'star' }
  | { readonly kind: 'any' }
  | { readonly kind: 'literal'; readonly character: string }
  | { readonly kind: 'set'; readonly negated: boolean; readonly ranges: readonly Range[] };

interface Piece {
  /** As written in the pattern. */
  readonly source: string;
  readonly token: Token;
}

/** Code points, inclusive. */
interface Range {
  readonly from: number;
  readonly to: number;
}

/** Returns a test of full names against the pattern; its time is bounded by pattern length times name length. */
export function matchesGlob(pattern: string): (name: string) => boolean {
  const tokens = tokensOf([...pattern]);
  return (name) => matchAll(tokens, [...name]);
}

/**
 * Splits a comma-separated list of globs, trimmed and without empty ones. A comma in a bracket or after a backslash belongs
 * to its glob.
 */
export function splitGlobs(list: string): readonly string[] {
  const globs = [''];
  for (const { source } of piecesOf([...list])) {
    if (source === ',') globs.push('');
    else globs.push(`${globs.pop()}${source}`);
  }
  return globs.map((glob) => glob.trim()).filter((glob) => glob !== '');
}

/** Joins globs into a list that `splitGlobs` reads as globs that match the same names. */
export function joinGlobs(globs: readonly string[]): string {
  // An unclosed bracket would find its end in the next glob.
  const escaped = ({ source }: Piece): string => (/^[,[\\]$/.test(source) ? `\\${source}` : source);
  return globs
    .map((glob) =>
      piecesOf([...glob])
        .map(escaped)
        .join(''),
    )
    .join(',');
}

/** Backtracks only to the last star: an earlier one cannot match more. */
function matchAll(tokens: readonly Token[], name: readonly string[]): boolean {
  let at = 0;
  let token = 0;
  let star = -1;
  let starTook = 0;
  while (at < name.length) {
    const next = tokens[token];
    if (next?.kind === 'star') {
      star = token;
      starTook = at;
      token += 1;
    } else if (next !== undefined && matchesOne(next, name[at] ?? '')) {
      at += 1;
      token += 1;
    } else if (star >= 0) {
      starTook += 1;
      at = starTook;
      token = star + 1;
    } else return false;
  }
  return tokens.slice(token).every(({ kind }) => kind === 'star');
}

function matchesOne(token: Token, character: string): boolean {
  switch (token.kind) {
    case 'literal':
      return token.character === character;
    case 'set': {
      const code = codeOf(character);
      return token.ranges.some(({ from, to }) => from <= code && code <= to) !== token.negated;
    }
    default:
      return true;
  }
}

function tokensOf(pattern: readonly string[]): readonly Token[] {
  const tokens = piecesOf(pattern).map(({ token }) => token);
  return tokens.filter(({ kind }, at) => kind !== 'star' || tokens[at - 1]?.kind !== 'star');
}

function piecesOf(pattern: readonly string[]): readonly Piece[] {
  const pieces: Piece[] = [];
  // If one bracket is not closed, no later one is: otherwise a long row of brackets would be searched again and again.
  let mayClose = true;
  for (let at = 0; at < pattern.length; at += 1) {
    const from = at;
    const character = pattern[at] ?? '';
    let token: Token = { kind: 'literal', character };
    if (character === '*') token = { kind: 'star' };
    else if (character === '?') token = { kind: 'any' };
    else if (character === '\\' && at + 1 < pattern.length) {
      at += 1;
      token = { kind: 'literal', character: pattern[at] ?? '' };
    } else if (character === '[' && mayClose) {
      const set = readSet(pattern, at + 1);
      if (set === undefined) mayClose = false;
      token = set?.token ?? token;
      at = set?.end ?? at;
    }
    pieces.push({ source: pattern.slice(from, at + 1).join(''), token });
  }
  return pieces;
}

/** Reads a bracket after its `[` up to its `]`; undefined if it is not closed. */
function readSet(pattern: readonly string[], from: number): { token: Token; end: number } | undefined {
  const negated = pattern[from] === '!';
  const first = negated ? from + 1 : from;
  const ranges: Range[] = [];
  let at = first;
  const take = (): number => {
    if (pattern[at] === '\\' && at + 1 < pattern.length) at += 1;
    at += 1;
    return codeOf(pattern[at - 1] ?? '');
  };
  // A `]` in the first position is a member, as in every shell.
  while (at < pattern.length && (pattern[at] !== ']' || at === first)) {
    const low = take();
    const isRange = pattern[at] === '-' && at + 1 < pattern.length && pattern[at + 1] !== ']';
    if (isRange) at += 1;
    ranges.push({ from: low, to: isRange ? take() : low });
  }
  return at < pattern.length ? { token: { kind: 'set', negated, ranges }, end: at } : undefined;
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? -1;
}
