/**
 * Creates the URL for the browser, with its PKCE challenge, and the verifier, which stays here.
 * @see OAU-1 in docs/specification.md
 * @see [RFC 7636 §4](https://www.rfc-editor.org/rfc/rfc7636.html#section-4)
 */

import { startAuthorization } from '@modelcontextprotocol/client';
import { causeOf } from '../../machines/base/fault.ts';
import type { OauthClient } from '../../machines/oauth/client-identity.ts';
import { insecureWords, isSecureEndpoint, isWebAddress } from '../../machines/oauth/secure-endpoint.ts';
import type { Discovery } from './discover.ts';

/** Issues a refresh token only if it is requested in its own way, and to a known client only with another consent. */
const google = 'accounts.google.com';

type BegunAuthorization =
  | { readonly kind: 'begun'; readonly url: string; readonly codeVerifier: string }
  | { readonly kind: 'failed'; readonly why: string };

/** Never rejects. */
export async function beginAuthorization(request: {
  readonly discovery: Discovery;
  readonly client: OauthClient;
  readonly redirectUri: string;
  readonly state: string;
}): Promise<BegunAuthorization> {
  const { discovery, client, redirectUri, state } = request;
  const { token_endpoint: token } = discovery.metadata;
  // A person would log in in vain where no tokens can be requested.
  if (typeof token === 'string' && !isSecureEndpoint(token))
    return { kind: 'failed', why: insecureWords('the token endpoint', token) };
  try {
    const { authorizationUrl, codeVerifier } = await startAuthorization(discovery.authorizationServerUrl, {
      ...(Object.keys(discovery.metadata).length === 0 ? {} : { metadata: discovery.metadata as never }),
      clientInformation: { client_id: client.clientId },
      redirectUrl: redirectUri,
      state,
      ...(discovery.scope === undefined ? {} : { scope: discovery.scope }),
      ...(discovery.resource === undefined ? {} : { resource: discovery.resource }),
    });
    // The server chose this URL, so only http and https are opened.
    if (!isWebAddress(authorizationUrl.href)) {
      return { kind: 'failed', why: `the authorization endpoint is no web address: ${authorizationUrl.protocol}` };
    }
    if (!isSecureEndpoint(authorizationUrl.href)) {
      return { kind: 'failed', why: insecureWords('the authorization endpoint', authorizationUrl.href) };
    }
    if (authorizationUrl.hostname === google) {
      authorizationUrl.searchParams.set('access_type', 'offline');
      authorizationUrl.searchParams.set('prompt', 'consent');
    }
    return { kind: 'begun', url: authorizationUrl.href, codeVerifier };
  } catch (thrown) {
    return { kind: 'failed', why: `no login can be begun: ${causeOf(thrown)}` };
  }
}
