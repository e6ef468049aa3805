/**
 * The stored form of a server's tokens: absolute expiry, and the issuer that they belong to. Decides whether a token is
 * still good and what can be done when it is not. Secret throughout.
 * @see OAU-1 and OAU-2 in docs/specification.md
 */

import { isJsonObject, type JsonObject } from '../base/json.ts';

export interface TokenRecord {
  readonly accessToken: string;
  readonly refreshToken?: string;
  readonly scope?: string;
  /** Unix milliseconds; absent where the server does not say. */
  readonly expiresAtMs?: number;
  readonly issuer: string;
  /** The client that the tokens were issued to; a refresh must come from the same. */
  readonly clientId: string;
}

export type TokenUse =
  | { readonly kind: 'use'; readonly accessToken: string }
  | { readonly kind: 'refresh' }
  | { readonly kind: 'login' };

/** A token is renewed this long before it ends: a call takes time, and clocks differ. */
const skewMs = 30_000;

/** Decides what a request carries, or what must come first. */
export function chooseToken(record: TokenRecord | undefined, nowMs: number): TokenUse {
  if (record === undefined) return { kind: 'login' };
  const isFresh = record.expiresAtMs === undefined || record.expiresAtMs - skewMs > nowMs;
  if (isFresh) return { kind: 'use', accessToken: record.accessToken };
  return record.refreshToken === undefined ? { kind: 'login' } : { kind: 'refresh' };
}

/** Takes over a token endpoint's answer; a refresh that sends no new refresh token or scope keeps the old ones. */
export function recordOf(
  answer: JsonObject,
  owner: { readonly issuer: string; readonly clientId: string },
  nowMs: number,
  before?: TokenRecord,
): TokenRecord | undefined {
  if (typeof answer.access_token !== 'string' || answer.access_token === '') return undefined;
  const refreshToken = typeof answer.refresh_token === 'string' ? answer.refresh_token : before?.refreshToken;
  const scope = typeof answer.scope === 'string' ? answer.scope : before?.scope;
  // Some servers spell numbers as text.
  const lifeSeconds = Number(answer.expires_in);
  return {
    accessToken: answer.access_token,
    ...(refreshToken === undefined ? {} : { refreshToken }),
    ...(scope === undefined ? {} : { scope }),
    ...(answer.expires_in !== undefined && Number.isFinite(lifeSeconds)
      ? { expiresAtMs: nowMs + lifeSeconds * 1_000 }
      : {}),
    ...owner,
  };
}

/** Reads a stored record; undefined where it is not one. */
export function readTokenRecord(text: string): TokenRecord | undefined {
  const value = parse(text);
  if (value === undefined) return undefined;
  const { access_token: accessToken, refresh_token: refreshToken, scope, expires_at_ms: expiresAtMs } = value;
  const { issuer, client_id: clientId } = value;
  if (typeof accessToken !== 'string' || typeof issuer !== 'string' || typeof clientId !== 'string') return undefined;
  return {
    accessToken,
    ...(typeof refreshToken === 'string' ? { refreshToken } : {}),
    ...(typeof scope === 'string' ? { scope } : {}),
    ...(typeof expiresAtMs === 'number' ? { expiresAtMs } : {}),
    issuer,
    clientId,
  };
}

export function spellTokenRecord(record: TokenRecord): string {
  const { accessToken, refreshToken, scope, expiresAtMs, issuer, clientId } = record;
  return `${JSON.stringify(
    {
      access_token: accessToken,
      refresh_token: refreshToken,
      scope,
      expires_at_ms: expiresAtMs,
      issuer,
      client_id: clientId,
    },
    null,
    2,
  )}\n`;
}

function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
