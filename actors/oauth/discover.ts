/**
 * Finds out who protects a server: asks it without credentials, reads the protected-resource metadata that its challenge
 * names, and the metadata of the authorization server. Issuers must match what was advertised, always.
 * @see OAU-1, OAU-7 and DEV-2 in docs/specification.md
 * @see [RFC 9728](https://www.rfc-editor.org/rfc/rfc9728.html) and [RFC 8414 §3.3](https://www.rfc-editor.org/rfc/rfc8414.html#section-3.3)
 */

import {
  discoverAuthorizationServerMetadata,
  discoverOAuthServerInfo,
  extractWWWAuthenticateParams,
  selectResourceURL,
} from '@modelcontextprotocol/client';
import { causeOf } from '../../machines/base/fault.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import { describeDiscovery } from '../../machines/oauth/discovery-fault.ts';
import { chooseScope } from '../../machines/oauth/scope.ts';
import type { OauthFetch } from './oauth-fetch.ts';

export interface Discovery {
  readonly authorizationServerUrl: string;
  /** Empty where the server has none. */
  readonly metadata: JsonObject;
  readonly issuer: string;
  readonly resource?: string;
  readonly scope?: string;
}

export type DiscoveryVerdict =
  | { readonly kind: 'found'; readonly discovery: Discovery }
  | { readonly kind: 'failed'; readonly why: string };

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/** For a login in the browser. Never rejects. */
export async function discoverForBrowser(url: string, oauth: OauthFetch): Promise<DiscoveryVerdict> {
  try {
    const found = await lookAt(url, oauth);
    const metadata = (found.authorizationServerMetadata ?? {}) as unknown as JsonObject;
    const methods = metadata.code_challenge_methods_supported;
    const knows = Object.keys(metadata).length > 0;
    if (knows && !(Array.isArray(methods) && methods.includes('S256'))) {
      return failed('the authorization server does not say that it supports PKCE with S256, so no login is begun');
    }
    return { kind: 'found', discovery: found.discovery };
  } catch (thrown) {
    return failed(describeDiscovery(oauth.seen, causeOf(thrown)));
  }
}

/** For a device login: scans the advertised servers for the first whose issuer matches and that offers the grant. */
export async function discoverForDevice(url: string, oauth: OauthFetch): Promise<DiscoveryVerdict> {
  try {
    const found = await lookAt(url, oauth);
    const advertised = found.resourceMetadata?.authorization_servers ?? [found.authorizationServerUrl];
    const whys: string[] = [];
    for (const candidate of advertised) {
      const looked = await lookForDevice(String(candidate), oauth);
      if (typeof looked === 'string') {
        whys.push(looked);
        continue;
      }
      const issuer = String(looked.issuer);
      const discovery = { ...found.discovery, authorizationServerUrl: String(candidate), metadata: looked, issuer };
      return { kind: 'found', discovery };
    }
    return failed(
      `no authorization server offers device login: ${whys.join('; ')}; use \`agent mcp login <server> --flow browser\``,
    );
  } catch (thrown) {
    return failed(describeDiscovery(oauth.seen, causeOf(thrown)));
  }
}

/** The metadata of one candidate, or why it is passed over. */
async function lookForDevice(candidate: string, oauth: OauthFetch): Promise<JsonObject | string> {
  try {
    const metadata = await discoverAuthorizationServerMetadata(candidate, { fetchFn: oauth.fetch });
    const found = (metadata ?? {}) as unknown as JsonObject;
    if (metadata === undefined) return `${candidate} has no metadata`;
    if (!sameIssuer(String(found.issuer), candidate)) return `${candidate} calls itself ${String(found.issuer)}`;
    const grants = found.grant_types_supported;
    if (typeof found.device_authorization_endpoint !== 'string')
      return `${candidate} has no device_authorization_endpoint`;
    if (Array.isArray(grants) && !grants.includes(deviceGrant))
      return `${candidate} does not list the device_code grant`;
    return found;
  } catch (thrown) {
    return `${candidate}: ${causeOf(thrown)}`;
  }
}

async function lookAt(url: string, oauth: OauthFetch) {
  const challenge = await challengeOf(url, oauth);
  const info = await discoverOAuthServerInfo(url, {
    ...(challenge.resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl: challenge.resourceMetadataUrl }),
    fetchFn: oauth.fetch,
  });
  // The provider may change the rule for resources; none is given, so the rule stands.
  const selected = await selectResourceURL(url, {} as never, info.resourceMetadata);
  const resource = selected === undefined ? undefined : (info.resourceMetadata?.resource ?? selected.href);
  const metadata = (info.authorizationServerMetadata ?? {}) as unknown as JsonObject;
  const scope = chooseScope(challenge.scope, info.resourceMetadata as unknown as JsonObject | undefined, metadata);
  const discovery: Discovery = {
    authorizationServerUrl: String(info.authorizationServerUrl),
    metadata,
    issuer: typeof metadata.issuer === 'string' ? metadata.issuer : String(info.authorizationServerUrl),
    ...(resource === undefined ? {} : { resource }),
    ...(scope === undefined ? {} : { scope }),
  };
  return { ...info, discovery };
}

/** What the server says to a request without credentials. */
async function challengeOf(url: string, { fetch }: OauthFetch) {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 'login-probe', method: 'ping' }),
  });
  await answer.body?.cancel();
  return answer.status === 401 || answer.status === 403 ? extractWWWAuthenticateParams(answer) : {};
}

/** RFC 3986 allows an empty path to be written as a slash; nothing else is relaxed. */
function sameIssuer(issuer: string, advertised: string): boolean {
  return issuer === advertised || issuer === advertised.replace(/\/$/, '') || `${issuer}` === `${advertised}/`;
}

function failed(why: string): DiscoveryVerdict {
  return { kind: 'failed', why };
}
