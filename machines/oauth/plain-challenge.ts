/**
 * Rewrites a `WWW-Authenticate` header to its Bearer challenge in the form that the SDK reads: as the first challenge, without
 * blanks around `=`, and in double quotes.
 * @see OAU-1 in docs/specification.md
 * @see [RFC 9110 §11.6.1](https://www.rfc-editor.org/rfc/rfc9110.html#section-11.6.1)
 */

/** A parameter, in quotes of either kind or in none, or a word, which begins a challenge. */
const part = /([\w-]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s,]+))|([\w-]+)/g;

/** Returns the header unchanged if it has no Bearer challenge with parameters. */
export function plainChallenge(header: string): string {
  let scheme = '';
  const params: string[] = [];
  for (const [, name, quoted, single, bare, word] of header.matchAll(part)) {
    if (word !== undefined) scheme = word.toLowerCase();
    else if (scheme === 'bearer') params.push(`${name}="${(quoted ?? single ?? bare ?? '').replace(/["\\]/g, '')}"`);
  }
  return params.length === 0 ? header : `Bearer ${params.join(', ')}`;
}
