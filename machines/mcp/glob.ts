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
  const tokens: Token[] = [];
  // Where one bracket has no end, no later one has: without this, a long row of brackets is searched again and again.
  let mayClose = true;
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern[at] ?? '';
    if (character === '*') {
      if (tokens.at(-1)?.kind !== 'star') tokens.push({ kind: 'star' });
    } else if (character === '?') tokens.push({ kind: 'any' });
    else if (character === '\\' && at + 1 < pattern.length) {
      at += 1;
      tokens.push({ kind: 'literal', character: pattern[at] ?? '' });
    } else if (character === '[') {
      const set = mayClose ? readSet(pattern, at + 1) : undefined;
      if (set === undefined) mayClose = false;
      tokens.push(set?.token ?? { kind: 'literal', character });
      at = set?.end ?? at;
    } else tokens.push({ kind: 'literal', character });
  }
  return tokens;
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
