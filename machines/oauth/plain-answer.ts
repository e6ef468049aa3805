/**
 * Converts an answer of an authorization server, or the metadata that leads to it, to the form of the standards, where
 * providers are known to deviate: empty members instead of absent ones, a scope as a list, other names. A client that
 * refuses such an answer loses the tokens in it, and the grant that was spent on them.
 * @see OAU-1, OAU-4 and DEV-4 in docs/specification.md
 * @see [RFC 6749 §5.1](https://www.rfc-editor.org/rfc/rfc6749.html#section-5.1) and [RFC 8628 §3.2](https://www.rfc-editor.org/rfc/rfc8628.html#section-3.2)
 */

import { defined, type Json, type JsonObject } from '../base/json.ts';

export function plainAnswer(answer: JsonObject): JsonObject {
  const given = Object.entries(answer).filter(([, value]) => value !== null && value !== '');
  // An ID token has no use here, and its dates or its issuer could only make a login fail.
  const {
    id_token: _,
    verification_url: address,
    scope,
    interval,
    expires_in: life,
    ...rest
  } = Object.fromEntries(given);
  return defined({
    ...(typeof rest.access_token === 'string' ? { token_type: 'Bearer' } : {}),
    // Google's name, from before the RFC.
    ...(address === undefined ? {} : { verification_uri: address }),
    ...rest,
    scope: Array.isArray(scope) ? scope.join(' ') : scope,
    interval: positive(interval),
    expires_in: positive(life),
  }) as JsonObject;
}

/** Whether it is an error of RFC 6749 §5.2, which some providers send with the status 200. */
export function isErrorAnswer({ error, access_token: token }: JsonObject): boolean {
  return typeof error === 'string' && token === undefined;
}

/** Some servers write numbers as strings; a time of zero counts as absent. */
function positive(value: Json | undefined): number | undefined {
  const number = typeof value === 'string' || typeof value === 'number' ? Number(value) : Number.NaN;
  return Number.isFinite(number) && number > 0 ? number : undefined;
}

/** A parameter, in quotes of either kind or in none, or a word, which begins a challenge. */
const part = /([\w-]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s,]+))|([\w-]+)/g;

/**
 * Rewrites a `WWW-Authenticate` header to its Bearer challenge in the form that the SDK reads: as the first challenge, without
 * blanks around `=`, and in double quotes. Returns it unchanged if it has no Bearer challenge with parameters.
 * @see [RFC 9110 §11.6.1](https://www.rfc-editor.org/rfc/rfc9110.html#section-11.6.1)
 */
export function plainChallenge(header: string): string {
  let scheme = '';
  const params: string[] = [];
  for (const [, name, quoted, single, bare, word] of header.matchAll(part)) {
    if (word !== undefined) scheme = word.toLowerCase();
    else if (scheme === 'bearer') params.push(`${name}="${(quoted ?? single ?? bare ?? '').replace(/["\\]/g, '')}"`);
  }
  return params.length === 0 ? header : `Bearer ${params.join(', ')}`;
}
