/**
 * Tokens (JWT) by which an issuer states who sends a request: what one must contain, and whether it is signed with a key that
 * the issuer publishes. A token says nothing about the body. Fetches nothing.
 * @see SRC-1 in docs/specification.md
 * @see [RFC 7519](https://www.rfc-editor.org/rfc/rfc7519.html) and its best practices, [RFC 8725](https://www.rfc-editor.org/rfc/rfc8725.html)
 */

import { createPublicKey, type KeyObject, verify, X509Certificate } from 'node:crypto';
import { isJsonObject, type JsonObject } from '../base/json.ts';
import { readJson } from '../base/read-json.ts';
import type { JwtRule } from '../config/signature-scheme.ts';
import { reasonStarts } from './reply.ts';
import { mismatch, type SchemeUse, type SignatureVerdict, type SignedRequest } from './signature.ts';

/** Why a token is refused, without a text of it. */
export const jwtFaults = {
  algorithm: 'its token is not signed by RS256',
  audience: 'its token is for another audience',
  early: 'its token is valid in',
  email: 'its token is of another service account',
  endless: 'its token does not state for how long it is valid',
  expired: 'its token has expired',
  issuer: 'its token is of another issuer',
  key: 'its token names a key that its issuer does not publish',
  malformed: 'the header authorization holds no JSON Web Token',
} as const;

/** What verifies a request and is not at hand, or may be outdated: a certificate or a set of keys. */
export interface Needed {
  readonly url: string;
  /** Of a set of keys: whether the one at hand has the key of the request. */
  readonly hasKey?: boolean;
}

interface Token {
  readonly header: JsonObject;
  readonly claims: JsonObject;
  /** The text that is signed. */
  readonly text: string;
  readonly signature: Buffer;
}

const toleranceSeconds = 300;
const form = /^Bearer ([\w-]+)\.([\w-]+)\.([\w-]+)$/i;

export function compileToken(rule: JwtRule, { name, secret, publicUrl }: SchemeUse) {
  const refused = (why: string, more = {}): SignatureVerdict => ({ kind: 'refused', scheme: name, why, ...more });
  /** Checks all but the signature. */
  const read = (request: SignedRequest): Token | string => {
    const { headers, path = '', query } = request;
    if (headers.authorization === undefined) return 'the header authorization is missing';
    if (rule.secretIs === 'email' && publicUrl === undefined)
      return 'its token is for the public address; set platforms.webhook.extra.public_url';
    const token = readToken(headers.authorization);
    const url = `${publicUrl}${path}${query === undefined ? '' : `?${query}`}`;
    return token === undefined ? jwtFaults.malformed : (faultOf(token, { rule, secret, url }, request.nowMs) ?? token);
  };
  /** The last set is kept, because reading one costs more than verifying a signature. */
  let kept: { readonly text: string; readonly keys: Keys } | undefined;
  const heldBy = ({ certificate }: SignedRequest): Keys | undefined => {
    const text = certificate?.(rule.keysUrl);
    if (text === undefined) return undefined;
    if (kept?.text !== text) kept = { text, keys: publicKeysIn(text) };
    return kept.keys;
  };
  return {
    /** The keys that a request needs; none for one that cannot be genuine, because anyone can send that. */
    needed(request: SignedRequest): Needed | undefined {
      const token = read(request);
      if (typeof token === 'string') return undefined;
      return { url: rule.keysUrl, hasKey: keyOf(token, heldBy(request)) !== undefined };
    },
    verify(request: SignedRequest): SignatureVerdict {
      const token = read(request);
      if (typeof token === 'string') return refused(token);
      const keys = heldBy(request);
      if (keys === undefined) return refused(`${reasonStarts.keys}could not be fetched in time`, { isTemporary: true });
      const key = keyOf(token, keys);
      if (key === undefined) return refused(jwtFaults.key);
      if (!verify('sha256', Buffer.from(token.text), key, token.signature)) return refused(mismatch.signature);
      return { kind: 'genuine', scheme: name };
    },
  };
}

function readToken(given: string): Token | undefined {
  const [, first = '', second = '', third = ''] = form.exec(given) ?? [];
  const [header, claims] = [first, second].map((part) => readJson(Buffer.from(part, 'base64url').toString('utf8')));
  if (!isJsonObject(header) || !isJsonObject(claims)) return undefined;
  const signature = Buffer.from(third, 'base64url');
  // Other letters of the same bytes would be another token.
  if (signature.toString('base64url') !== third) return undefined;
  return { header, claims, text: `${first}.${second}`, signature };
}

function faultOf(
  { header, claims }: Token,
  { rule, secret, url }: { readonly rule: JwtRule; readonly secret: string; readonly url: string },
  nowMs: number,
): string | undefined {
  const { iss, aud, exp, iat, nbf, email, email_verified: isVerified } = claims;
  // A fixed algorithm: by `none`, or by an HMAC with a public key as its secret, anyone could sign (RFC 8725 §3.1).
  if (header.alg !== 'RS256' || header.crit !== undefined) return jwtFaults.algorithm;
  if (!rule.issuers.some((one) => one === iss)) return jwtFaults.issuer;
  const seconds = Math.floor(nowMs / 1_000);
  const allowed = `${toleranceSeconds} s are allowed`;
  if (typeof exp !== 'number') return jwtFaults.endless;
  if (exp + toleranceSeconds < seconds) return `${jwtFaults.expired} ${Math.ceil(seconds - exp)} s ago; ${allowed}`;
  for (const from of [iat, nbf]) {
    if (from === undefined) continue;
    if (typeof from !== 'number') return jwtFaults.endless;
    if (from - toleranceSeconds > seconds) return `${jwtFaults.early} ${Math.ceil(from - seconds)} s; ${allowed}`;
  }
  const isOfAccount = rule.secretIs === 'email';
  if (![aud].flat().includes(isOfAccount ? url : secret)) return jwtFaults.audience;
  // Each account of Google gets tokens for any audience.
  return isOfAccount && !(email === secret && isVerified === true) ? jwtFaults.email : undefined;
}

type Keys = ReadonlyMap<string, KeyObject>;

function keyOf({ header: { kid } }: Token, keys: Keys | undefined): KeyObject | undefined {
  return typeof kid === 'string' ? keys?.get(kid) : undefined;
}

/** The RSA keys of a JWK set, or of an object that has certificates by the ids of their keys; empty for other text. */
export function publicKeysIn(text: string): Keys {
  const set = readJson(text);
  const keys = new Map<string, KeyObject>();
  if (!isJsonObject(set)) return keys;
  const list = Array.isArray(set.keys) ? set.keys : Object.entries(set).map(([kid, pem]) => ({ kid, pem }));
  for (const one of list) {
    const key = isJsonObject(one) ? readKey(one) : undefined;
    if (key !== undefined) keys.set(...key);
  }
  return keys;
}

/** Undefined for a key that is not for signatures by RS256, or too weak for them (RFC 7518 §3.3). */
function readKey({ kid, pem, ...jwk }: JsonObject): [kid: string, key: KeyObject] | undefined {
  const { kty, use = 'sig', alg = 'RS256', n = null, e = null } = jwk;
  if (typeof kid !== 'string' || use !== 'sig' || alg !== 'RS256') return undefined;
  try {
    const key =
      typeof pem === 'string'
        ? new X509Certificate(pem).publicKey
        : createPublicKey({ format: 'jwk', key: { kty: String(kty), n: String(n), e: String(e) } });
    const isStrong = key.asymmetricKeyType === 'rsa' && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= 2_048;
    return isStrong ? [kid, key] : undefined;
  } catch {
    return undefined;
  }
}
