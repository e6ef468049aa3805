/**
 * Registers a client with an authorization server (RFC 7591): one for the browser with its loopback redirect, or one for
 * the device and refresh grants.
 * @see OAU-4, OAU-7 and DEV-3 in docs/specification.md
 */

import {
  type FetchLike,
  type OAuthClientMetadata,
  RegistrationRejectedError,
  registerClient,
} from '@modelcontextprotocol/client';
import { causeOf } from '../../machines/base/fault.ts';
import { isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import { parseObject } from '../../machines/base/read-json.ts';
import type { StoredClient } from '../../machines/oauth/client-identity.ts';
import { describeDiscovery } from '../../machines/oauth/discovery-fault.ts';
import type { OauthSettings } from '../../machines/oauth/oauth-settings.ts';
import { insecureWords, isSecureEndpoint } from '../../machines/oauth/secure-endpoint.ts';
import { withoutSecrets } from '../../machines/oauth/without-secrets.ts';
import { type Discovery, deviceGrant } from './discover.ts';
import type { OauthFetch } from './oauth-fetch.ts';
import { plainFetch } from './plain-fetch.ts';
import { schemaWords } from './schema-words.ts';

type RegisterVerdict =
  | { readonly kind: 'registered'; readonly client: StoredClient }
  /** `errorCode`: `invalid_scope` if the requested scope was refused, for which a registration has no code of its own. */
  | { readonly kind: 'failed'; readonly why: string; readonly errorCode?: string };

interface RegisterRequest {
  readonly settings: OauthSettings;
  readonly discovery: Discovery;
  readonly oauth: OauthFetch;
  /** Undefined for the device grant. */
  readonly redirectUri?: string;
}

/** Never rejects. */
export async function registerOauthClient(request: RegisterRequest): Promise<RegisterVerdict> {
  const { settings, discovery, oauth, redirectUri } = request;
  const method =
    settings.tokenEndpointAuthMethod ?? (redirectUri === undefined ? 'none' : methodFor(discovery.metadata));
  const clientMetadata: OAuthClientMetadata = {
    client_name: settings.clientName ?? 'Agent Gateway',
    redirect_uris: redirectUri === undefined ? [] : [redirectUri],
    grant_types: redirectUri === undefined ? [deviceGrant, 'refresh_token'] : ['authorization_code', 'refresh_token'],
    response_types: redirectUri === undefined ? [] : ['code'],
    application_type: 'native',
    ...(method === undefined ? {} : { token_endpoint_auth_method: method }),
  };
  const { registration_endpoint: named } = discovery.metadata;
  const endpoint = typeof named === 'string' ? named : discovery.authorizationServerUrl;
  if (!isSecureEndpoint(endpoint)) {
    const why = insecureWords('the registration endpoint', endpoint);
    return { kind: 'failed', why: describeDiscovery(oauth.seen, why) };
  }
  const register = (scope?: string) =>
    registerClient(discovery.authorizationServerUrl, {
      ...(Object.keys(discovery.metadata).length === 0 ? {} : { metadata: discovery.metadata as never }),
      clientMetadata,
      ...(scope === undefined ? {} : { scope }),
      fetchFn: neededOnly(plainFetch(oauth.fetch)),
    });
  const isForScope = (reason: string): boolean => discovery.scope !== undefined && /scope/i.test(reason);
  try {
    const answer = await register(discovery.scope).catch((thrown: unknown) => {
      // Some servers do not register the scopes of a resource, and grant them to every client.
      if (!isForScope(reasonOf(thrown))) throw thrown;
      // The first refusal says more, and what to request next.
      return register().catch(() => Promise.reject(thrown));
    });
    // RFC 7591 §3.2.1: seconds, and 0 for never.
    const { client_secret_expires_at: expiresAt = 0 } = answer;
    // Not every server repeats the method that was registered.
    const authMethod = answer.token_endpoint_auth_method ?? settings.tokenEndpointAuthMethod;
    return {
      kind: 'registered',
      client: {
        issuer: discovery.issuer,
        clientId: answer.client_id,
        ...(answer.client_secret === undefined ? {} : { clientSecret: answer.client_secret }),
        ...(expiresAt === 0 ? {} : { secretExpiresAtMs: expiresAt * 1_000 }),
        ...(authMethod === undefined ? {} : { authMethod }),
        ...(redirectUri === undefined ? {} : { redirectUri }),
        ...(settings.clientName === undefined ? {} : { clientName: settings.clientName }),
        ...(discovery.scope === undefined ? {} : { scope: discovery.scope }),
      },
    };
  } catch (thrown) {
    const reason = reasonOf(thrown);
    const what =
      thrown instanceof RegistrationRejectedError
        ? `Registration failed: ${thrown.status}${reason}`
        : `Registration failed: ${schemaWords(thrown, 'its answer') ?? withoutSecrets(causeOf(thrown), [])}`;
    return {
      kind: 'failed',
      why: describeDiscovery(oauth.seen, `${what}; set oauth.client_id to use a client of your own`),
      ...(isForScope(reason) ? { errorCode: 'invalid_scope' } : {}),
    };
  }
}

/** A registration without a method asks for `client_secret_basic` (RFC 7591 §2), which a server may refuse. */
function methodFor({ token_endpoint_auth_methods_supported: listed }: JsonObject): string | undefined {
  if (!Array.isArray(listed) || listed.includes('client_secret_basic')) return undefined;
  return ['none', 'client_secret_post'].find((method) => listed.includes(method));
}

/**
 * Of a registration only what a login needs: the SDK refuses it for any other member that deviates, and without
 * redirects, which some servers do not repeat.
 */
function neededOnly(fetch: FetchLike): FetchLike {
  return async (url, init) => {
    const answer = await fetch(url, init);
    if (!answer.ok) return answer;
    const given: unknown = await answer.json();
    const {
      client_id: id,
      client_secret: secret,
      client_secret_expires_at: expiresAt,
      token_endpoint_auth_method: method,
    } = isJsonObject(given) ? given : {};
    const needed = {
      redirect_uris: [],
      client_id: id,
      client_secret: secret,
      // Some servers write numbers as strings.
      client_secret_expires_at: Number(expiresAt) || undefined,
      token_endpoint_auth_method: method,
    };
    return new Response(JSON.stringify(needed));
  };
}

/** The reason of a refused registration (RFC 7591 §3.2.2); empty if there is none. */
function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof RegistrationRejectedError)) return '';
  const { error, error_description: description } = parseObject(thrown.body) ?? {};
  const words = [error, description].filter((each) => typeof each === 'string').join(': ');
  return words === '' ? '' : ` (${withoutSecrets(words, [])})`;
}
