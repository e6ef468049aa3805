/**
 * The stored form of a server's tokens: absolute expiry, and the issuer that they belong to. Decides whether a token is
 * still good and what can be done when it is not. Secret throughout.
 * @see OAU-1 and OAU-2 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';

export interface TokenRecord {
  readonly accessToken: string;
  readonly refreshToken?: string;
  readonly scope?: string;
  /** Unix milliseconds; absent where the server does not say. */
  readonly expiresAtMs?: number;
  /** When the answer came; how early to renew depends on the whole life. */
  readonly issuedAtMs?: number;
  /** The server that the tokens were issued for: nobody else is shown them, whatever the entry says later. */
  readonly url?: string;
  readonly issuer: string;
  /** The client that the tokens were issued to; a refresh must come from the same. */
  readonly clientId: string;
}

export type TokenUse =
  | { readonly kind: 'use'; readonly accessToken: string }
  | { readonly kind: 'refresh' }
  | { readonly kind: 'login' };

/** A token is renewed this long before it ends: a call takes time, and clocks differ. */
const mostSkewMs = 30_000;
/** A token that lives for seconds would otherwise be renewed before every request. */
const skewShare = 0.25;

/** Decides what a request carries, or what must come first. */
export function chooseToken(record: TokenRecord | undefined, nowMs: number): TokenUse {
  if (record === undefined) return { kind: 'login' };
  const { accessToken, refreshToken, expiresAtMs } = record;
  // What cannot be renewed is good until it ends.
  const skewMs = refreshToken === undefined ? 0 : skewOf(record);
  if (expiresAtMs === undefined || expiresAtMs - skewMs > nowMs) return { kind: 'use', accessToken };
  return refreshToken === undefined ? { kind: 'login' } : { kind: 'refresh' };
}

/**
 * Tells whether a record may be used for a server. Tokens that were asked for with a resource go to it and to what lies
 * under it; without one to the origin that they were issued for. A record that names no server is an old one, and trusted.
 * @param resource the indicator that the tokens were asked for with (RFC 8707)
 */
export function isFor(record: TokenRecord, url: string, resource?: string): boolean {
  if (record.url === undefined || record.url === url) return true;
  if (!URL.canParse(record.url) || new URL(record.url).origin !== new URL(url).origin) return false;
  return resource === undefined || isUnder(new URL(url), resource);
}

function isUnder({ origin, pathname }: URL, resource: string): boolean {
  if (!URL.canParse(resource)) return false;
  const { origin: itsOrigin, pathname: itsPath } = new URL(resource);
  const folder = (path: string): string => (path.endsWith('/') ? path : `${path}/`);
  return origin === itsOrigin && folder(pathname).startsWith(folder(itsPath));
}

/**
 * Takes over a token endpoint's answer; a refresh that sends no new refresh token or scope keeps the old ones. Undefined
 * where there is no access token in it, or one that no header can carry.
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

/** Reads a stored record; undefined where it is not one. */
export function readTokenRecord(text: string): TokenRecord | undefined {
  const value = parse(text);
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

export function spellTokenRecord(record: TokenRecord): string {
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

/** Visible ASCII: a line feed in a header is another header, and the platform's error would show half of the token. */
function isCarriable(accessToken: string): boolean {
  return /^[\x21-\x7e]+$/.test(accessToken);
}

function skewOf({ expiresAtMs, issuedAtMs }: TokenRecord): number {
  if (expiresAtMs === undefined || issuedAtMs === undefined) return mostSkewMs;
  return Math.min(mostSkewMs, Math.max(0, expiresAtMs - issuedAtMs) * skewShare);
}

/** Some servers write numbers as text; a life of nothing says as much as none. */
function lifeOf(expiresIn: Json | undefined): number | undefined {
  const isSpelled = typeof expiresIn === 'number' || (typeof expiresIn === 'string' && expiresIn.trim() !== '');
  const lifeMs = isSpelled ? Number(expiresIn) * 1_000 : Number.NaN;
  return Number.isFinite(lifeMs) && lifeMs > 0 ? lifeMs : undefined;
}

function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
