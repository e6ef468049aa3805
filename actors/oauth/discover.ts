/**
 * Discovers the authorization server of an MCP server: sends a request without credentials, reads the protected-resource
 * metadata that its challenge names, and the metadata of the authorization server. The issuer must match the advertised
 * one.
 * @see OAU-1, OAU-7 and DEV-2 in docs/specification.md
 * @see [RFC 9728](https://www.rfc-editor.org/rfc/rfc9728.html) and [RFC 8414 §3.3](https://www.rfc-editor.org/rfc/rfc8414.html#section-3.3)
 */

import {
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
  type FetchLike,
  selectResourceURL,
} from '@modelcontextprotocol/client';
import { causeOf } from '../../machines/base/fault.ts';
import { isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import { untrustedWords } from '../../machines/mcp/untrusted-words.ts';
import { describeDiscovery } from '../../machines/oauth/discovery-fault.ts';
import { chooseScope } from '../../machines/oauth/scope.ts';
import { withoutSecrets } from '../../machines/oauth/without-secrets.ts';
import { ConnectError, plainWords } from '../mcp/connect-errors.ts';
import type { StoredServer } from './credentials.store.ts';
import type { OauthFetch } from './oauth-fetch.ts';
import { plainFetch, UnreadFailure } from './plain-fetch.ts';
import { schemaWords } from './schema-words.ts';

export interface Discovery extends StoredServer {
  readonly scope?: string;
}

export type DiscoveryVerdict =
  | { readonly kind: 'found'; readonly discovery: Discovery }
  | { readonly kind: 'failed'; readonly why: string };

interface Found {
  readonly authorizationServerUrl: string;
  readonly metadata: JsonObject;
  readonly resourceMetadata: Parameters<typeof selectResourceURL>[2];
}

export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
/** A server chooses how many it advertises, and each is asked at several places that need not answer. */
const maxServers = 16;

/**
 * For a login in the browser: the first advertised server whose issuer matches and that supports PKCE, else the reason of
 * the first one. Never rejects.
 */
export async function discoverForBrowser(url: string, oauth: OauthFetch): Promise<DiscoveryVerdict> {
  try {
    const challenge = await challengeOf(url, oauth);
    const resourceMetadata = await resourceOf(url, challenge.resourceMetadataUrl, oauth);
    const advertised = (resourceMetadata?.authorization_servers ?? []).slice(0, maxServers).map(String);
    let chosen: (Pick<Found, 'authorizationServerUrl'> & { readonly looked: JsonObject | string }) | undefined;
    for (const candidate of advertised.length > 0 ? advertised : [String(new URL('/', url))]) {
      const looked = await lookForBrowser(candidate, oauth);
      const isUsable = typeof looked !== 'string' && Object.keys(looked).length > 0;
      if (isUsable || chosen === undefined) chosen = { authorizationServerUrl: candidate, looked };
      if (isUsable) break;
    }
    const { authorizationServerUrl = '', looked = '' } = chosen ?? {};
    if (typeof looked === 'string') return failed(describeDiscovery(oauth.seen, looked));
    const found = { authorizationServerUrl, metadata: looked, resourceMetadata };
    return { kind: 'found', discovery: await discoveryOf(url, challenge.scope, found) };
  } catch (thrown) {
    return failed(describeDiscovery(oauth.seen, wordsOf(thrown)));
  }
}

/** The metadata of one candidate, empty if it has none, or why no login is begun there. */
async function lookForBrowser(candidate: string, oauth: OauthFetch): Promise<JsonObject | string> {
  const places = placesOf(oauth);
  try {
    const found = await discoverAuthorizationServerMetadata(candidate, {
      fetchFn: places.fetch,
      // The SDK accepts a slash that the metadata lacks, but not one that it has. The check is made below.
      skipIssuerValidation: true,
    });
    if (found === undefined) {
      places.refuseOdd();
      return {};
    }
    if (withoutSlash(found.issuer) !== withoutSlash(candidate))
      return withoutSecrets(otherIssuer(candidate, found.issuer), []);
    const methods = found.code_challenge_methods_supported;
    const isPushed = (found as JsonObject).require_pushed_authorization_requests === true;
    if (Array.isArray(methods) && methods.includes('S256') && !isPushed) return found as JsonObject;
    const what = isPushed
      ? 'accepts only pushed authorization requests (RFC 9126), which are not supported'
      : 'does not say that it supports PKCE with S256';
    return `the authorization server ${what}, so no login is begun; a login with \`--flow device\` needs none`;
  } catch (thrown) {
    return wordsOf(thrown);
  }
}

/** For a device login: the first advertised server whose issuer matches and that offers the grant. Never rejects. */
export async function discoverForDevice(url: string, oauth: OauthFetch): Promise<DiscoveryVerdict> {
  try {
    const challenge = await challengeOf(url, oauth);
    const resourceMetadata = await resourceOf(url, challenge.resourceMetadataUrl, oauth);
    const advertised = resourceMetadata?.authorization_servers ?? [];
    const { origin } = new URL(url);
    // If it advertises none, it is its own candidate; its issuer may be written with or without a slash.
    const candidates = advertised.length > 0 ? advertised.slice(0, maxServers).map(String) : [origin, `${origin}/`];
    const whys: string[] = [];
    for (const candidate of candidates) {
      const looked = await lookForDevice(candidate, oauth);
      if (typeof looked === 'string') {
        whys.push(looked);
        continue;
      }
      const discovery = await discoveryOf(url, challenge.scope, {
        authorizationServerUrl: candidate,
        metadata: looked,
        resourceMetadata,
      });
      return { kind: 'found', discovery };
    }
    if (advertised.length > maxServers) whys.push(`only the first ${maxServers} of ${advertised.length} are asked`);
    const what = `no authorization server offers device login: ${whys.join('; ')}`;
    const cure = 'log in with `--flow browser` on a machine with a browser, or paste the redirect URL back';
    return failed(describeDiscovery(oauth.seen, `${what}; ${cure}`));
  } catch (thrown) {
    return failed(describeDiscovery(oauth.seen, wordsOf(thrown)));
  }
}

/** The metadata of one candidate, or why it is skipped. */
async function lookForDevice(candidate: string, oauth: OauthFetch): Promise<JsonObject | string> {
  const places = placesOf(oauth);
  try {
    const metadata = await discoverAuthorizationServerMetadata(candidate, { fetchFn: places.fetch });
    if (metadata === undefined) {
      places.refuseOdd();
      return `${candidate} has no metadata`;
    }
    // From metadata of an OpenID provider the SDK drops the device endpoint; the object as it came still has it.
    const found = { ...places.latest(), ...metadata } as JsonObject;
    if (found.issuer !== candidate) return `${candidate} calls itself ${String(found.issuer)}`;
    const grants = found.grant_types_supported;
    if (typeof found.device_authorization_endpoint !== 'string' || !URL.canParse(found.device_authorization_endpoint))
      return `${candidate} has no device_authorization_endpoint`;
    if (Array.isArray(grants) && !grants.includes(deviceGrant))
      return `${candidate} does not list the device_code grant`;
    return found;
  } catch (thrown) {
    return `${candidate}: ${wordsOf(thrown)}`;
  }
}

interface Places {
  /**
   * Answers with 404 for a place that has no JSON object, such as that of an application which answers every address with
   * its page, so that the next place is tried. Of metadata, passes on what a login uses, and what the SDK requires.
   */
  readonly fetch: FetchLike;
  latest(): JsonObject;
  /** The address of the latest request. */
  place(): string;
  /** Throws if a place for metadata of an authorization server had something else. */
  refuseOdd(): void;
}

const serverPlace = /\/\.well-known\/(?:oauth-authorization-server|openid-configuration)/;

/** Of the members below, those that are true or false. One that is neither says nothing. */
const flags: ReadonlySet<string> = new Set([
  ...['client_id_metadata_document_supported', 'authorization_response_iss_parameter_supported'],
  ...['require_pushed_authorization_requests', 'dpop_bound_access_tokens_required'],
]);

/**
 * The members of metadata that a login uses. The others are left out, because the SDK refuses the whole if any of them deviates,
 * such as a list that is a text or a relative address of the documentation.
 */
const used: ReadonlySet<string> = new Set([
  ...['resource', 'authorization_servers', 'scopes_supported', 'issuer'],
  ...['authorization_endpoint', 'token_endpoint', 'registration_endpoint', 'device_authorization_endpoint'],
  ...['response_types_supported', 'grant_types_supported', 'code_challenge_methods_supported'],
  ...['token_endpoint_auth_methods_supported', ...flags],
]);

/** The SDK explains each item that is wrong, which takes a second for a hundred thousand. */
const maxItems = 1_000;

/** Members that some servers write as one text instead of a list. */
const lists: ReadonlySet<string> = new Set(['authorization_servers', 'scopes_supported']);

function usedOf(metadata: JsonObject): JsonObject {
  const given = Object.entries(metadata).filter(
    ([key, value]) => used.has(key) && (typeof value === 'boolean' || !flags.has(key)),
  );
  return Object.fromEntries(
    given.map(([key, value]) => {
      const list = lists.has(key) && typeof value === 'string' ? wordsIn(value) : value;
      // GitLab before 19.4 names its resource in a list.
      if (key === 'resource' && Array.isArray(list) && list.length === 1) return [key, list[0] ?? null];
      return [key, Array.isArray(list) ? list.slice(0, maxItems) : list];
    }),
  );
}

function wordsIn(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '');
}

/**
 * Adds the members that the SDK requires and a login does not use. Some servers have plain metadata, without them, at the
 * place for OpenID Connect.
 */
function withUnused(metadata: JsonObject, place: string): JsonObject {
  const openid = {
    jwks_uri: place,
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
  };
  const isOpenid = place.includes('/openid-configuration');
  return { response_types_supported: ['code'], ...(isOpenid ? openid : {}), ...metadata };
}

/** The places where metadata may be (RFC 8414 §3.1, RFC 9728 §3.1). */
function placesOf({ fetch }: OauthFetch): Places {
  const plain = plainFetch(fetch);
  let latest: JsonObject = {};
  let isOdd = false;
  let place = '';
  return {
    async fetch(url, init) {
      place = String(url);
      const answer = await plain(url, init);
      if (!answer.ok) return answer;
      const body: unknown = await answer
        .clone()
        .json()
        .catch(() => undefined);
      if (isJsonObject(body)) {
        const found = usedOf(body);
        latest = serverPlace.test(String(url)) ? withUnused(found, String(url)) : found;
        return new Response(JSON.stringify(latest), answer);
      }
      isOdd ||= serverPlace.test(String(url));
      return new Response(null, { status: 404 });
    },
    latest: () => latest,
    place: () => place,
    refuseOdd() {
      if (isOdd) throw new SyntaxError('an answer is no JSON object');
    },
  };
}

/**
 * The protected-resource metadata; undefined if the server has none. A challenge may name a place that has none, such as one
 * with the address behind a proxy; then the usual places are asked.
 */
async function resourceOf(url: string, named: URL | undefined, oauth: OauthFetch) {
  const places = placesOf(oauth);
  for (const place of named === undefined ? [undefined] : [named, undefined]) {
    try {
      return await discoverOAuthProtectedResourceMetadata(
        url,
        place === undefined ? {} : { resourceMetadataUrl: place },
        places.fetch,
      );
    } catch (thrown) {
      const wrong = schemaWords(thrown, 'metadata');
      if (wrong !== undefined) oauth.noteUnusable(places.place(), wrong.replace('metadata has', 'metadata with'));
      // The server was not reached or did not finish, so whether it has metadata is unknown.
      if (place === undefined && (thrown instanceof TypeError || thrown instanceof UnreadFailure)) throw thrown;
    }
  }
  return undefined;
}

function otherIssuer(authorizationServerUrl: string, issuer: string): string {
  const what = `the authorization server ${authorizationServerUrl} names another issuer, ${untrustedWords(issuer)}`;
  const cure = 'ask its operator to correct its metadata (RFC 8414 §3.3), or put a token of your own into headers';
  return `${what}, so no login is begun; ${cure}`;
}

function otherResource(resource: string): string {
  const what = `the server's metadata is that of another resource, ${untrustedWords(resource)}`;
  return `${what}, so no login is begun; if that is the address of the server, put it in url`;
}

/** For the address of its metadata, a slash at the end of an issuer is removed (RFC 8414 §3.1). */
function withoutSlash(issuer: string): string {
  return issuer.endsWith('/') ? issuer.slice(0, -1) : issuer;
}

async function discoveryOf(
  url: string,
  challengeScope: string | undefined,
  { authorizationServerUrl, metadata, resourceMetadata }: Found,
): Promise<Discovery> {
  if ((resourceMetadata as JsonObject | undefined)?.dpop_bound_access_tokens_required === true) {
    const what = 'the server accepts only tokens with a proof of possession (DPoP, RFC 9449), which are not supported';
    throw new Error(`${what}, so no login is begun`);
  }
  // A provider could override the selection of the resource; with none, the default applies.
  const selected = await selectResourceURL(asFolder(url), {} as never, resourceMetadata).catch(() => {
    throw new Error(otherResource(String(resourceMetadata?.resource)));
  });
  const resource = selected === undefined ? undefined : (resourceMetadata?.resource ?? selected.href);
  const scope = chooseScope(challengeScope, resourceMetadata as JsonObject | undefined, metadata);
  return {
    authorizationServerUrl,
    metadata,
    issuer: typeof metadata.issuer === 'string' ? metadata.issuer : authorizationServerUrl,
    ...(resource === undefined ? {} : { resource }),
    ...(scope === undefined ? {} : { scope }),
  };
}

/** A resource with a slash at its end is the same without it, but the SDK takes only one that is not longer than the URL. */
function asFolder(url: string): URL {
  const folder = new URL(url);
  if (!folder.pathname.endsWith('/')) folder.pathname += '/';
  return folder;
}

/** The challenge in the server's answer to a request without credentials. */
async function challengeOf(url: string, { fetch, noteUnusable }: OauthFetch) {
  const asked = fetch(url, {
    method: 'POST',
    headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 'login-probe', method: 'ping' }),
  });
  const answer = await asked.catch((thrown: unknown) => {
    // Many servers redirect a request without a session to their login page. That is not a challenge; their metadata has
    // the details.
    if (thrown instanceof ConnectError && thrown.failure.kind === 'redirect') return undefined;
    throw thrown;
  });
  if (answer === undefined) return {};
  await answer.body?.cancel();
  if (answer.status === 401 || answer.status === 403) return extractWWWAuthenticateParams(answer);
  // The address may be wrong, or need no login.
  noteUnusable(url, `HTTP ${answer.status} and no demand for a login`);
  return {};
}

function wordsOf(thrown: unknown): string {
  const shape = schemaWords(thrown, 'its metadata');
  if (shape !== undefined) return shape;
  const { cause } = thrown as { readonly cause?: unknown };
  return withoutSecrets(
    cause instanceof Error ? `${causeOf(thrown)}: ${plainWords(cause) ?? cause.message}` : causeOf(thrown),
    [],
  );
}

function failed(why: string): DiscoveryVerdict {
  return { kind: 'failed', why };
}
