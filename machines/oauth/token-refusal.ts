/**
 * Decides what an error of the token endpoint means: the client is refused, the grant is refused, or nobody has decided
 * anything and it is tried again. Only a word that the standards know is a decision: what a proxy or a server in trouble
 * writes as `error` is not.
 * @see OAU-1, OAU-4 and OAU-8 in docs/specification.md
 * @see [RFC 6749 §5.2](https://www.rfc-editor.org/rfc/rfc6749.html#section-5.2)
 */

export type TokenRefusal = 'clientRefused' | 'refused' | 'unreachable';

/** RFC 6749 §5.2; of the resource RFC 8707; of a provider that answers 200 to everything, its own words for the same. */
const refusals: ReadonlyMap<string, TokenRefusal> = new Map([
  ['invalid_client', 'clientRefused'],
  ['incorrect_client_credentials', 'clientRefused'],
  ['invalid_request', 'refused'],
  ['invalid_grant', 'refused'],
  ['unauthorized_client', 'refused'],
  ['unsupported_grant_type', 'refused'],
  ['invalid_scope', 'refused'],
  ['invalid_target', 'refused'],
  ['bad_refresh_token', 'refused'],
  ['bad_verification_code', 'refused'],
]);

/** @param status undefined where there was no answer */
export function readTokenRefusal(code: string, status: number | undefined): TokenRefusal {
  // RFC 6749 says 400 and 401; large providers say 403 or 200 with the same words, and none says them in an outage.
  const isTrouble = status === undefined || status === 408 || status === 429 || status >= 500;
  return isTrouble ? 'unreachable' : (refusals.get(code) ?? 'unreachable');
}
