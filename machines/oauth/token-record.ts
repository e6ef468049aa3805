/**
 * The stored form of a server's tokens: absolute expiry, and their issuer. Decides whether a token is still valid and what
 * to do if not. All of it is secret.
 * @see OAU-1 and OAU-2 in docs/specification.md
 */

import type { Json, JsonObject } from '../base/json.ts';
import { parseObject } from '../base/read-json.ts';

export interface TokenRecord {
  readonly accessToken: string;
  readonly refreshToken?: string;
  readonly scope?: string;
  /** Unix milliseconds; absent if the server gives no lifetime. */
  readonly expiresAtMs?: number;
  /** When the token was issued; how early it is renewed depends on its lifetime. */
  readonly issuedAtMs?: number;
  /** The server that the tokens were issued for; they are sent to no other, whatever the entry says later. */
  readonly url?: string;
  readonly issuer: string;
  /** The client that the tokens were issued to; a refresh must use the same. */
  readonly clientId: string;
}

type TokenUse =
  | { readonly kind: 'use'; readonly accessToken: string }
  | { readonly kind: 'refresh' }
  | { readonly kind: 'login' };

/** A token is renewed this long before it expires, because calls take time and clocks differ. */
const maxSkewMs = 30_000;
/** Otherwise a token that is valid for seconds would be renewed before every request. */
const skewShare = 0.25;

/** Decides which token a request uses, or what has to come first. */
export function chooseToken(record: TokenRecord | undefined, nowMs: number): TokenUse {
  if (record === undefined) return { kind: 'login' };
  const { accessToken, refreshToken, expiresAtMs } = record;
  // A token that cannot be renewed is used until it expires.
  const skewMs = refreshToken === undefined ? 0 : skewOf(record);
  if (expiresAtMs === undefined || expiresAtMs - skewMs > nowMs) return { kind: 'use', accessToken };
  return refreshToken === undefined ? { kind: 'login' } : { kind: 'refresh' };
}

/** Whether a token has not expired, even if it is time to renew it. */
export function isValid(record: TokenRecord | undefined, nowMs: number): record is TokenRecord {
  return record !== undefined && (record.expiresAtMs ?? Number.POSITIVE_INFINITY) > nowMs;
}

/**
 * Whether a record may be used for a server. Tokens requested with a resource are valid for it and for addresses below it;
 * others for the origin that they were issued for. A record without a server is an old one, and trusted.
 * @param resource the indicator that the tokens were requested with (RFC 8707)
 */
export function isFor(record: TokenRecord, url: string, resource?: string): boolean {
  if (record.url === undefined || record.url === url) return true;
  if (!URL.canParse(record.url) || !URL.canParse(url) || new URL(record.url).origin !== new URL(url).origin)
    return false;
  return resource === undefined || isUnder(new URL(url), resource);
}

function isUnder({ origin, pathname }: URL, resource: string): boolean {
  if (!URL.canParse(resource)) return false;
  const { origin: itsOrigin, pathname: itsPath } = new URL(resource);
  const folder = (path: string): string => (path.endsWith('/') ? path : `${path}/`);
  return origin === itsOrigin && folder(pathname).startsWith(folder(itsPath));
}

/**
 * Converts a token endpoint's answer; a refresh without a new refresh token or scope keeps the old ones. Undefined if there
 * is no access token, or one that no header can carry.
 */
export function recordOf(
  answer: JsonObject,
  owner: Pick<TokenRecord, 'issuer' | 'clientId' | 'url'>,
  nowMs: number,
  before?: TokenRecord,
): TokenRecord | undefined {
  if (typeof answer.access_token !== 'string' || !isCarriable(answer.access_token)) return undefined;
  const refreshToken = typeof answer.refresh_token === 'string' ? answer.refresh_token : before?.refreshToken;
  const scope = typeof answer.scope === 'string' ? answer.scope : before?.scope;
  const lifeMs = lifeOf(answer.expires_in);
  return {
    accessToken: answer.access_token,
    ...(refreshToken === undefined ? {} : { refreshToken }),
    ...(scope === undefined ? {} : { scope }),
    ...(lifeMs === undefined ? {} : { expiresAtMs: nowMs + lifeMs, issuedAtMs: nowMs }),
    ...owner,
  };
}

/** Parses a stored record; undefined if it is invalid. */
export function readTokenRecord(text: string): TokenRecord | undefined {
  const value = parseObject(text);
  if (value === undefined) return undefined;
  const { access_token: accessToken, refresh_token: refreshToken, scope, expires_at_ms: expiresAtMs } = value;
  const { issuer, client_id: clientId, issued_at_ms: issuedAtMs, url } = value;
  if (typeof accessToken !== 'string' || typeof issuer !== 'string' || typeof clientId !== 'string') return undefined;
  if (!isCarriable(accessToken)) return undefined;
  return {
    accessToken,
    ...(typeof refreshToken === 'string' ? { refreshToken } : {}),
    ...(typeof scope === 'string' ? { scope } : {}),
    ...(typeof expiresAtMs === 'number' ? { expiresAtMs } : {}),
    ...(typeof issuedAtMs === 'number' ? { issuedAtMs } : {}),
    ...(typeof url === 'string' ? { url } : {}),
    issuer,
    clientId,
  };
}

export function formatTokenRecord(record: TokenRecord): string {
  const { accessToken, refreshToken, scope, expiresAtMs, issuedAtMs, url, issuer, clientId } = record;
  return `${JSON.stringify(
    {
      access_token: accessToken,
      refresh_token: refreshToken,
      scope,
      expires_at_ms: expiresAtMs,
      issued_at_ms: issuedAtMs,
      url,
      issuer,
      client_id: clientId,
    },
    null,
    2,
  )}\n`;
}

/**
 * Visible ASCII: a line feed would begin another header, and the platform's error would show half of the token. Servers and
 * proxies take shorter headers than this.
 */
function isCarriable(accessToken: string): boolean {
  return /^[\x21-\x7e]{1,65536}$/.test(accessToken);
}

function skewOf({ expiresAtMs, issuedAtMs }: TokenRecord): number {
  if (expiresAtMs === undefined || issuedAtMs === undefined) return maxSkewMs;
  return Math.min(maxSkewMs, Math.max(0, expiresAtMs - issuedAtMs) * skewShare);
}

/** Some servers write numbers as strings; a lifetime of zero counts as absent. */
function lifeOf(expiresIn: Json | undefined): number | undefined {
  const isGiven = typeof expiresIn === 'number' || (typeof expiresIn === 'string' && expiresIn.trim() !== '');
  const lifeMs = isGiven ? Number(expiresIn) * 1_000 : Number.NaN;
  return Number.isFinite(lifeMs) && lifeMs > 0 ? lifeMs : undefined;
}
