/**
 * Exchanges a code or a refresh token for tokens. Distinguishes whether the endpoint refused the client, refused the
 * grant, or decided nothing: only a refusal requires a new login.
 * @see OAU-1, OAU-3 and OAU-4 in docs/specification.md
 */

import { exchangeAuthorization, type FetchLike, OAuthError, refreshAuthorization } from '@modelcontextprotocol/client';
import { causeOf } from '../../machines/base/fault.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import { basicEncoded } from '../../machines/base/secret-encodings.ts';
import { retryAfterMs } from '../../machines/dispatch/retry-after.ts';
import type { OauthClient } from '../../machines/oauth/client-identity.ts';
import { recordOf, type TokenRecord } from '../../machines/oauth/token-record.ts';
import { isTroubled, readTokenRefusal } from '../../machines/oauth/token-refusal.ts';
import { clientSecrets, withoutSecrets } from '../../machines/oauth/without-secrets.ts';
import type { StoredServer } from './credentials.store.ts';
import type { OauthFetch } from './oauth-fetch.ts';
import { plainFetch } from './plain-fetch.ts';
import { schemaWords } from './schema-words.ts';

export interface TokenEndpoint extends StoredServer {
  readonly client: OauthClient;
  /** The server that the tokens are for. */
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

type TokenAnswer =
  | { readonly kind: 'tokens'; readonly record: TokenRecord }
  | { readonly kind: 'clientRefused'; readonly why: string }
  | { readonly kind: 'refused'; readonly why: string; readonly errorCode: string }
  /**
   * `waitMs`: how long a busy endpoint asks to be left alone. `isOdd`: something answered that is no token endpoint, as at an
   * address from which it has moved.
   */
  | { readonly kind: 'unreachable'; readonly why: string; readonly waitMs?: number; readonly isOdd?: boolean };

/** Never rejects. */
export function exchangeForTokens(endpoint: TokenEndpoint, grant: Grant, nowMs: number): Promise<TokenAnswer> {
  const asked = { nowMs, before: undefined, secrets: [grant.code, grant.codeVerifier] };
  return ask(endpoint, asked, (fetchFn) =>
    exchangeAuthorization(endpoint.authorizationServerUrl, {
      ...common(endpoint, fetchFn),
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
  return ask(endpoint, asked, (fetchFn) =>
    refreshAuthorization(endpoint.authorizationServerUrl, {
      ...common(endpoint, fetchFn),
      refreshToken: before.refreshToken ?? '',
    }),
  );
}

async function ask(
  { issuer, client, oauth, url = undefined }: TokenEndpoint,
  { nowMs, before, secrets }: Asked,
  send: (fetchFn: FetchLike) => Promise<unknown>,
): Promise<TokenAnswer> {
  const owner = { issuer, clientId: client.clientId, ...ownedUrl(url ?? before?.url) };
  let status: number | undefined;
  let waitMs: number | undefined;
  try {
    const noting: FetchLike = async (to, init) => {
      const response = await oauth.tokenFetch(to, init);
      status = response.status;
      if (isTroubled(status)) waitMs = retryAfterMs({ header: response.headers.get('retry-after') }, nowMs);
      return response;
    };
    const answer = (await send(plainFetch(noting))) as JsonObject;
    const record = recordOf(answer, owner, nowMs, before);
    return record === undefined
      ? {
          kind: 'unreachable',
          why: 'the token endpoint answered without an access token that a header can carry',
          isOdd: true,
        }
      : { kind: 'tokens', record };
  } catch (thrown) {
    const said = withoutSecrets(wordsOf(thrown), [...secrets, ...clientSecrets(client)]);
    const wait = { ...(waitMs === undefined ? {} : { waitMs }), isOdd: !isTroubled(status) };
    if (!(thrown instanceof OAuthError)) return { kind: 'unreachable', why: `the token endpoint: ${said}`, ...wait };
    const kind = readTokenRefusal(thrown.code, status);
    const why = `the token endpoint refused: ${said}`;
    if (kind === 'refused') return { kind, why, errorCode: thrown.code };
    if (kind === 'clientRefused') return { kind, why };
    return { kind, why: `the token endpoint answered HTTP ${status ?? 'nothing'}: ${said}`, ...wait };
  }
}

interface Asked {
  readonly nowMs: number;
  readonly before: TokenRecord | undefined;
  /** The secrets of the request, which an answer may quote. */
  readonly secrets: readonly (string | undefined)[];
}

function ownedUrl(url: string | undefined): Pick<TokenRecord, 'url'> {
  return url === undefined ? {} : { url };
}

/** The error text without the SDK's additions. */
function wordsOf(thrown: unknown): string {
  // The parser's message quotes the beginning of the answer, which may contain a token.
  const shape = schemaWords(thrown, 'its answer');
  if (shape !== undefined) return shape;
  const cause = thrown instanceof Error && thrown.cause instanceof Error ? ` (${thrown.cause.message})` : '';
  if (!(thrown instanceof OAuthError)) return `${causeOf(thrown)}${cause}`;
  const raw = /Invalid OAuth error response: .* Raw body: /s.exec(thrown.message);
  // If the answer has no OAuth error code, the SDK invents one.
  if (raw !== null) return thrown.message.slice(raw.index + raw[0].length) || 'nothing';
  const text = causeOf(thrown);
  return `${text.includes(thrown.code) ? '' : `${thrown.code}: `}${text}${cause}`;
}

const [basic, post, none] = ['client_secret_basic', 'client_secret_post', 'none'];

/** The client's own method, whatever the metadata lists, or one that it lists. Without a secret no method applies. */
function methodOf({ client: { clientSecret, authMethod = '' }, metadata }: Authenticated): string {
  if (clientSecret === undefined) return none;
  if ([basic, post, none].includes(authMethod)) return authMethod;
  const { token_endpoint_auth_methods_supported: given } = metadata;
  const listed: readonly unknown[] = Array.isArray(given) && given.length > 0 ? given : [basic];
  return [basic, post, none].find((method) => listed.includes(method)) ?? post;
}

type Authenticated = Pick<TokenEndpoint, 'client' | 'metadata'>;

/**
 * Adds the client and its secret to a request, in a header with both encoded (RFC 6749 §2.3.1) as far as they must be: the
 * SDK does not encode them, and the library of the device grant encodes characters such as hyphens, too, which servers that
 * decode nothing refuse.
 */
export function authenticate(endpoint: Authenticated, headers: Headers, params: URLSearchParams): void {
  const { clientId, clientSecret = '' } = endpoint.client;
  const method = methodOf(endpoint);
  if (method === basic) {
    headers.set('authorization', `Basic ${btoa(`${basicEncoded(clientId)}:${basicEncoded(clientSecret)}`)}`);
    return;
  }
  params.set('client_id', clientId);
  if (method === post) params.set('client_secret', clientSecret);
}

function common(endpoint: TokenEndpoint, fetchFn: FetchLike) {
  const { metadata, resource, client } = endpoint;
  return {
    ...(Object.keys(metadata).length === 0 ? {} : { metadata: metadata as never }),
    clientInformation: { client_id: client.clientId },
    addClientAuthentication: (headers: Headers, params: URLSearchParams) => authenticate(endpoint, headers, params),
    ...(resource === undefined ? {} : { resource }),
    fetchFn,
  };
}
