/**
 * Parses the query of a redirect: whether it belongs to this login and its authorization server, and the code or refusal.
 * The order matters: an answer to another login is never quoted.
 * @see OAU-1 in docs/specification.md
 * @see [RFC 9207 §2.4](https://www.rfc-editor.org/rfc/rfc9207.html#section-2.4)
 */

export interface ExpectedAnswer {
  readonly state: string;
  readonly issuer: string;
  /** Whether the metadata promises that `iss` is always sent. */
  readonly issPromised: boolean;
}

type RedirectAnswer =
  | { readonly kind: 'code'; readonly code: string; readonly iss?: string }
  /** `errorCode`: of the authorization server's refusal. */
  | { readonly kind: 'refused'; readonly why: string; readonly errorCode?: string };

export function readRedirect(query: string, expected: ExpectedAnswer): RedirectAnswer {
  const params = new URLSearchParams(query);
  if (params.get('state') !== expected.state) {
    return refuse('the redirect carries another state: it does not belong to this login; begin again');
  }
  const iss = params.get('iss');
  if (iss === null && expected.issPromised) {
    return refuse('the redirect lacks the issuer that the authorization server promises to send');
  }
  if (iss !== null && iss !== expected.issuer) {
    return refuse('the redirect comes from another issuer than the login was begun with');
  }
  const error = params.get('error');
  if (error !== null) {
    const description = params.get('error_description');
    const why = `${short(error)}${description === null ? '' : ` (${short(description)})`}`;
    return { kind: 'refused', why: `the authorization server refused: ${why}`, errorCode: short(error) };
  }
  const code = params.get('code');
  return code === null || code === ''
    ? refuse('the redirect carries neither a code nor an error')
    : { kind: 'code', code, ...(iss === null ? {} : { iss }) };
}

/**
 * The query of a redirect URL that a person pasted; undefined if the text is not one. The address at which the login begins has
 * the state too, and pasted by mistake it must not end the login.
 */
export function pastedQuery(text: string): string | undefined {
  const trimmed = text.trim();
  if (!URL.canParse(trimmed)) return undefined;
  const { search, searchParams: params } = new URL(trimmed);
  return params.has('code') || params.has('error') ? search.slice(1) : undefined;
}

function refuse(why: string): RedirectAnswer {
  return { kind: 'refused', why };
}

function short(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, ' ').slice(0, 200);
}
