/**
 * Asks a token endpoint: a code or a refresh token in, tokens out. Says whether the endpoint refused the client, refused
 * the grant, or was not reached: only the second asks for a new login.
 * @see OAU-1, OAU-3 and OAU-4 in docs/specification.md
 */

import { exchangeAuthorization, OAuthError, refreshAuthorization } from '@modelcontextprotocol/client';
import { causeOf } from '../../machines/base/fault.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import type { OauthClient } from '../../machines/oauth/client-identity.ts';
import { recordOf, type TokenRecord } from '../../machines/oauth/token-record.ts';
import { withoutSecrets } from '../../machines/oauth/without-secrets.ts';
import type { OauthFetch } from './oauth-fetch.ts';

export interface TokenEndpoint {
  readonly authorizationServerUrl: string;
  readonly metadata: JsonObject;
  readonly issuer: string;
  readonly resource?: string;
  readonly client: OauthClient;
  /** The server that the tokens will be for. */
  readonly url?: string;
  readonly oauth: OauthFetch;
}

export interface Grant {
  readonly code: string;
  /** The issuer that the redirect named (RFC 9207). */
  readonly iss: string | undefined;
  readonly codeVerifier: string;
  readonly redirectUri: string;
}

export type TokenAnswer =
  | { readonly kind: 'tokens'; readonly record: TokenRecord }
  | { readonly kind: 'clientRefused'; readonly why: string }
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'unreachable'; readonly why: string };

/** Never rejects. */
export function exchangeForTokens(endpoint: TokenEndpoint, grant: Grant, nowMs: number): Promise<TokenAnswer> {
  const asked = { nowMs, before: undefined, secrets: [grant.code, grant.codeVerifier] };
  return ask(endpoint, asked, () =>
    exchangeAuthorization(endpoint.authorizationServerUrl, {
      ...common(endpoint),
      authorizationCode: grant.code,
      ...(grant.iss === undefined ? {} : { iss: grant.iss }),
      codeVerifier: grant.codeVerifier,
      redirectUri: grant.redirectUri,
    }),
  );
}

/** Never rejects. */
export function refreshTokens(endpoint: TokenEndpoint, before: TokenRecord, nowMs: number): Promise<TokenAnswer> {
  const asked = { nowMs, before, secrets: [before.refreshToken, before.accessToken] };
  return ask(endpoint, asked, () =>
    refreshAuthorization(endpoint.authorizationServerUrl, {
      ...common(endpoint),
      refreshToken: before.refreshToken ?? '',
    }),
  );
}

async function ask(
  { issuer, client, url = undefined }: TokenEndpoint,
  { nowMs, before, secrets }: Asked,
  send: () => Promise<unknown>,
): Promise<TokenAnswer> {
  const owner = { issuer, clientId: client.clientId, ...ownedUrl(url ?? before?.url) };
  try {
    const answer = (await send()) as JsonObject;
    const record = recordOf(answer, owner, nowMs, before);
    return record === undefined
      ? { kind: 'refused', why: 'the token endpoint answered without an access token' }
      : { kind: 'tokens', record };
  } catch (thrown) {
    const said = withoutSecrets(wordsOf(thrown), [...secrets, client.clientSecret]);
    if (!(thrown instanceof OAuthError)) return { kind: 'unreachable', why: `the token endpoint: ${said}` };
    const why = `the token endpoint refused: ${said}`;
    if (thrown.code === 'invalid_client') return { kind: 'clientRefused', why };
    return thrown.code === 'server_error' || thrown.code === 'temporarily_unavailable'
      ? { kind: 'unreachable', why }
      : { kind: 'refused', why };
  }
}

interface Asked {
  readonly nowMs: number;
  readonly before: TokenRecord | undefined;
  /** What the request held: an answer may quote it. */
  readonly secrets: readonly (string | undefined)[];
}

function ownedUrl(url: string | undefined): Pick<TokenRecord, 'url'> {
  return url === undefined ? {} : { url };
}

/** What was said, without the SDK's own words around it. */
function wordsOf(thrown: unknown): string {
  // The parser quotes the beginning of the answer, which may be a token.
  if (thrown instanceof SyntaxError) return 'its answer is no JSON';
  const cause = thrown instanceof Error && thrown.cause instanceof Error ? ` (${thrown.cause.message})` : '';
  const text = causeOf(thrown).replace(/Invalid OAuth error response: .* Raw body: /s, 'answered ');
  const code = thrown instanceof OAuthError && !text.includes(thrown.code) ? `${thrown.code}: ` : '';
  return `${code}${text}${cause}`;
}

export function clientInformation({ clientId, clientSecret, authMethod }: OauthClient) {
  return {
    client_id: clientId,
    ...(clientSecret === undefined ? {} : { client_secret: clientSecret }),
    ...(authMethod === undefined ? {} : { token_endpoint_auth_method: authMethod }),
  };
}

function common({ metadata, resource, client, oauth }: TokenEndpoint) {
  return {
    ...(Object.keys(metadata).length === 0 ? {} : { metadata: metadata as never }),
    clientInformation: clientInformation(client) as never,
    ...(resource === undefined ? {} : { resource }),
    fetchFn: oauth.tokenFetch,
  };
}
