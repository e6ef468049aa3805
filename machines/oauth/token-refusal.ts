/**
 * Decides what an error of the token endpoint means: the client is refused, the grant is refused, or nothing was decided and
 * the request is retried. Only error codes of the standards are decisions, not what a proxy or a failing server puts into
 * `error`.
 * @see OAU-1, OAU-4 and OAU-8 in docs/specification.md
 * @see [RFC 6749 §5.2](https://www.rfc-editor.org/rfc/rfc6749.html#section-5.2) and [OpenID Connect Core §3.1.2.6](https://openid.net/specs/openid-connect-core-1_0.html#AuthError)
 */

type TokenRefusal = 'clientRefused' | 'refused' | 'unreachable';

/**
 * RFC 6749 §5.2; RFC 8707 for the resource; those of an authorization request, with which a provider refuses a renewal until
 * the person has logged in; and the equivalents of a provider that answers 200 to everything.
 */
const refusals: ReadonlyMap<string, TokenRefusal> = new Map([
  ['invalid_client', 'clientRefused'],
  ['incorrect_client_credentials', 'clientRefused'],
  ['invalid_request', 'refused'],
  ['invalid_grant', 'refused'],
  ['unauthorized_client', 'refused'],
  ['unsupported_grant_type', 'refused'],
  ['invalid_scope', 'refused'],
  ['invalid_target', 'refused'],
  ['access_denied', 'refused'],
  ['interaction_required', 'refused'],
  ['login_required', 'refused'],
  ['consent_required', 'refused'],
  ['bad_refresh_token', 'refused'],
  ['bad_verification_code', 'refused'],
]);

/** @param status undefined if there was no answer */
export function readTokenRefusal(code: string, status: number | undefined): TokenRefusal {
  // RFC 6749 requires 400 or 401; large providers send 403 or 200 with the same codes, but none of them during an outage.
  return isTroubled(status) ? 'unreachable' : (refusals.get(code) ?? 'unreachable');
}

/** Whether an answer with this status decides nothing, whatever it says. */
export function isTroubled(status: number | undefined): boolean {
  return status === undefined || status === 408 || status === 429 || status >= 500;
}
