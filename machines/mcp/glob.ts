/**
 * Compiles a shell glob over names: `*`, `?`, `[abc]`, `[!a-z]` and a backslash before a literal. Case matters, and no
 * character is special in the name. A bracket that never closes stands for itself. Knows no tool.
 * @see FLT-1 in docs/specification.md
 * @see [POSIX pattern matching](https://pubs.opengroup.org/onlinepubs/9699919799/utilities/V3_chap02.html#tag_18_13)
 */

type Token =
  | { readonly kind: 'star' }
  | { readonly kind: 'any' }
  | { readonly kind: 'literal'; readonly character: string }
  | { readonly kind: 'set'; readonly negated: boolean; readonly ranges: readonly Range[] };

interface Piece {
  /** As the pattern has it. */
  readonly source: string;
  readonly token: Token;
}

/** Code points, both ends included. */
interface Range {
  readonly from: number;
  readonly to: number;
}

/** Returns the test of whole names against the pattern; its time is bounded by pattern length times name length. */
export function matchesGlob(pattern: string): (name: string) => boolean {
  const tokens = tokensOf([...pattern]);
  return (name) => matchAll(tokens, [...name]);
}

/**
 * Returns the globs of a list that commas separate, without blanks around them and without empty ones. A comma in a bracket
 * or behind a backslash belongs to its glob.
 */
export function splitGlobs(list: string): readonly string[] {
  const globs = [''];
  for (const { source } of piecesOf([...list])) {
    if (source === ',') globs.push('');
    else globs.push(`${globs.pop()}${source}`);
  }
  return globs.map((glob) => glob.trim()).filter((glob) => glob !== '');
}

/** Returns the list that `splitGlobs` reads as globs which match the same names. */
export function joinGlobs(globs: readonly string[]): string {
  // A bracket without its end would find one in the next glob.
  const escaped = ({ source }: Piece): string => (/^[,[\\]$/.test(source) ? `\\${source}` : source);
  return globs
    .map((glob) =>
      piecesOf([...glob])
        .map(escaped)
        .join(''),
    )
    .join(',');
}

/** Only the last star is ever gone back to: an earlier one can give nothing that the last one cannot. */
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
  // Where one bracket has no end, no later one has: without this, a long row of brackets is searched again and again.
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

/** Reads a bracket from behind its `[` up to its `]`; undefined where it never closes. */
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
  // A `]` in the first place is a member, as in every shell.
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
