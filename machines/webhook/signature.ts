/**
 * Decides whether a request's signature is genuine: by the schemes that a route names, or by one of the five that every
 * other route accepts. The first scheme whose signature header is present decides; a weaker one is never tried after it.
 * @see SIG-1 to SIG-5, SRC-1, SRC-2 and SEC-6 in docs/specification.md
 * @see [Standard Webhooks](https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md)
 */

import { hash, timingSafeEqual } from 'node:crypto';
import type { JsonObject } from '../base/json.ts';
import type { RouteSecret } from '../config/route.ts';
import { type Hmac, hmacSha256 } from './hmac.ts';

export type Scheme = 'standard-webhooks' | 'github' | 'gitlab' | 'generic-v2' | 'generic-v1';

export type SignatureVerdict =
  | {
      readonly kind: 'genuine';
      /** One of the five, a source, `declared` or `none`; with the number of the matching secret unless it is the first. */
      readonly scheme: string;
      /** Absent if nothing is signed: without a secret, and for GitLab's token, which is the same in every request. */
      readonly signed?: SignedContent;
    }
  /** Temporary if the sender may retry: what verifies the signature is not available yet. */
  | { readonly kind: 'refused'; readonly scheme?: string; readonly why: string; readonly isTemporary?: true };

export interface SignedContent {
  /** The same for one signature, regardless of header format and scheme. */
  readonly digest: string;
  /** Whether a time is signed with the body: the same body then has another signature each second. */
  readonly isTimed: boolean;
}

export interface SignedRequest {
  /** Lower-case names; values as Latin-1 text. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly nowMs: number;
  /** Absent: POST. */
  readonly method?: string;
  /** The path and the query string, as sent. */
  readonly path?: string;
  readonly query?: string | undefined;
  /** Parses the body; undefined if that fails. */
  readonly payload?: () => JsonObject | undefined;
  /** A fetched certificate, as PEM. */
  readonly certificate?: (url: string) => string | undefined;
}

export type SignatureVerifier = (request: SignedRequest) => SignatureVerdict;

/** Seconds that a signed timestamp may differ from the clock in either direction, inclusive (SIG-3). */
const skewSeconds = 300;
const openBrace = 0x7b;
const hexDigest = /^[0-9a-f]{64}$/i;
/** Characters of a digest that are kept: 132 bits. */
const digestLength = 22;
const wholeSeconds = /^\d{1,12}$/;

interface Keys {
  /** The secret's bytes as written: the HMAC key of every scheme except Standard Webhooks. */
  readonly plain: Hmac;
  /** The key that a `whsec_` secret encodes, else the plain one. */
  readonly standard: Hmac;
  readonly token: Buffer;
}

/** Returns a verifier for the five schemes; its keys are prepared once. */
export function signatureVerifier(secret: RouteSecret): SignatureVerifier {
  if (secret.kind === 'insecure') return verifyNoBrowser;
  return bySecret(secret, (text) => {
    const keys = keysOf(text);
    return (request) => verify(request, keys);
  });
}

/**
 * Tries the secrets of a route in order; if none matches, returns the verdict of the first, unless another may match when the
 * request is sent again (SRC-2).
 */
export function bySecret(
  { secret, older = [] }: Extract<RouteSecret, { kind: 'shared' }>,
  verifierOf: (secret: string) => SignatureVerifier,
): SignatureVerifier {
  const first = verifierOf(secret);
  if (older.length === 0) return first;
  const others = older.map(verifierOf);
  return (request) => {
    const verdict = first(request);
    if (verdict.kind === 'genuine') return verdict;
    let refused = verdict;
    for (const [index, other] of others.entries()) {
      const next = other(request);
      if (next.kind === 'genuine') return { ...next, scheme: `${next.scheme} (secret ${index + 2})` };
      if (next.isTemporary) refused = next;
    }
    return refused;
  };
}

/** The number of the secret in a verdict's scheme; undefined for the first, and if there is only one. */
export function secretNumber(scheme: string): string | undefined {
  return scheme.endsWith(')') ? / \(secret (\d+)\)$/.exec(scheme)?.[1] : undefined;
}

export type Headers = Readonly<Record<string, string>>;

/** The header that signs a body like GitHub. */
export function signGithub(secret: string, body: string): Headers {
  return { 'x-hub-signature-256': `sha256=${keysOf(secret).plain('', Buffer.from(body, 'utf8')).toString('hex')}` };
}

/** The headers that sign a body with the recommended scheme (generic V2). */
export function signV2(secret: string, timestampSeconds: number, body: string | Uint8Array): Headers {
  const timestamp = String(timestampSeconds);
  const bytes = typeof body === 'string' ? Buffer.from(body, 'utf8') : body;
  const digest = hmacSha256(Buffer.from(secret, 'utf8'))(`${timestamp}.`, bytes).toString('hex');
  return { 'x-webhook-timestamp': timestamp, 'x-webhook-signature-v2': digest };
}

function verify(request: SignedRequest, keys: Keys): SignatureVerdict {
  const { headers } = request;
  const standard = headers['webhook-signature'];
  if (standard !== undefined) return verifyStandard(standard, request, keys);
  const github = headers['x-hub-signature-256'];
  if (github !== undefined) return verifyGithub(github, request, keys);
  const gitlab = headers['x-gitlab-token'] ?? headers['x-hostb-token'];
  if (gitlab !== undefined) return verifyToken(gitlab, keys);
  const v2 = headers['x-webhook-signature-v2'];
  if (v2 !== undefined) return verifyV2(v2, request, keys);
  const v1 = headers['x-webhook-signature'];
  if (v1 !== undefined) return verifyV1(v1, request, keys);
  return { kind: 'refused', why: 'no recognised signature header' };
}

const unsigned: SignatureVerdict = { kind: 'genuine', scheme: 'none' };
/**
 * Without a signature, binding to loopback excludes other machines, but not web pages in a browser on this one: any of them,
 * also from another port, can send requests. Browsers add their page's origin to every POST (RFC 6454 section 7) and its
 * relation to the target (Fetch Metadata); other senders add neither.
 */
function verifyNoBrowser({ headers: { origin, 'sec-fetch-site': site } }: SignedRequest): SignatureVerdict {
  if (origin === undefined && site === undefined) return unsigned;
  return { kind: 'refused', why: 'a web page in a browser sent it; a route without a secret accepts none' };
}

/** The signed content is `{id}.{timestamp}.{body}`; any of several `v1,` signatures may match. */
function verifyStandard(header: string, { headers, body, nowMs }: SignedRequest, keys: Keys): SignatureVerdict {
  const scheme = 'standard-webhooks';
  const id = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  if (id === undefined || id === '') return { kind: 'refused', scheme, why: 'webhook-id is missing' };
  const unfit = timestampFault(timestamp, nowMs);
  if (unfit !== undefined) return { kind: 'refused', scheme, why: unfit };
  const digest = keys.standard(`${id}.${timestamp}.`, body);
  for (const part of header.split(' ')) {
    if (part.startsWith('v1,') && sameBytes(Buffer.from(part.slice(3), 'base64'), digest))
      return genuine(scheme, { digest: digestOf(digest), isTimed: true });
  }
  return { kind: 'refused', scheme, why: 'no signature matches' };
}

function verifyGithub(header: string, { body }: SignedRequest, keys: Keys): SignatureVerdict {
  const scheme = 'github';
  if (!header.startsWith('sha256='))
    return { kind: 'refused', scheme, why: 'the signature does not begin with sha256=' };
  return untimedVerdict(scheme, header.slice('sha256='.length), body, keys);
}

/** GitLab sends the secret itself; its raw bytes are compared. */
function verifyToken(header: string, keys: Keys): SignatureVerdict {
  const scheme = 'gitlab';
  // Header bytes arrive as Latin-1 text; converting them back gives what was sent.
  if (sameBytes(Buffer.from(header, 'latin1'), keys.token)) return genuine(scheme);
  return { kind: 'refused', scheme, why: 'the token does not match' };
}

function verifyV2(header: string, { headers, body, nowMs }: SignedRequest, keys: Keys): SignatureVerdict {
  const scheme = 'generic-v2';
  const timestamp = headers['x-webhook-timestamp'];
  const unfit = timestampFault(timestamp, nowMs);
  if (unfit !== undefined) return { kind: 'refused', scheme, why: unfit };
  return digestVerdict(scheme, header, keys.plain(`${timestamp}.`, body), true);
}

function verifyV1(header: string, { body }: SignedRequest, keys: Keys): SignatureVerdict {
  return untimedVerdict('generic-v1', header, body, keys);
}

/** No signed content of a timed scheme has a longer id. */
const longestPrefix = 300;
/**
 * The beginning of signed content in V2 and Stripe (`{timestamp}.`), Standard Webhooks (`{id}.{timestamp}.`), Slack
 * (`v0:{timestamp}:`), Grafana (`{timestamp}:`) and HubSpot (`{method}{url}`), and all of it in Mailgun; no JSON object or
 * form begins so.
 */
const timedContent = /^(?:(?:[^\s{=&]+\.)?\d{10}\.|(?:v0:)?\d{10}:|[A-Z]+https?:\/\/|\d{10}[0-9a-f]{50}$)/;

/**
 * Verifies a signature of the body alone. A timed scheme's content, sent as the body, would have a valid signature under the
 * same secret: a captured request would outlive its time, and its text would be parsed as a form (SIG-3).
 */
function untimedVerdict(scheme: Scheme, hex: string, body: Uint8Array, keys: Keys): SignatureVerdict {
  if (isTimedContent(body))
    return { kind: 'refused', scheme, why: 'the body is the signed content of a scheme with a time' };
  return digestVerdict(scheme, hex, keys.plain('', body));
}

/** Whether a body could be the signed content of a timed scheme. */
export function isTimedContent(body: Uint8Array): boolean {
  const beginning = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, longestPrefix));
  return beginning[0] !== openBrace && timedContent.test(beginning.toString('latin1'));
}

function digestVerdict(scheme: Scheme, hex: string, digest: Buffer, isTimed = false): SignatureVerdict {
  if (!hexDigest.test(hex)) return { kind: 'refused', scheme, why: 'the signature is not a SHA-256 hex digest' };
  if (!timingSafeEqual(Buffer.from(hex, 'hex'), digest))
    return { kind: 'refused', scheme, why: 'the signature does not match' };
  return genuine(scheme, { digest: digestOf(digest), isTimed });
}

function genuine(scheme: Scheme, signed?: SignedContent): SignatureVerdict {
  // Listed field by field: a copy with one more field is allocated in the old heap, where it waits for a full collection.
  if (signed === undefined) return { kind: 'genuine', scheme };
  return { kind: 'genuine', scheme, signed };
}

/** The digest of a signature's expected bytes, or of a body. A signature itself could be replayed, so it is never stored. */
export function digestOf(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'base64url').slice(0, digestLength);
}

function timestampFault(timestamp: string | undefined, nowMs: number): string | undefined {
  if (timestamp === undefined) return 'the timestamp is missing';
  if (!wholeSeconds.test(timestamp)) return 'the timestamp is not in whole Unix seconds';
  const skew = Math.abs(Math.floor(nowMs / 1_000) - Number(timestamp));
  return skew <= skewSeconds ? undefined : `the timestamp is ${skew} s from the clock; ${skewSeconds} s are allowed`;
}

/** Compares in constant time; lengths first, because the comparison throws if they differ. */
export function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

function keysOf(secret: string): Keys {
  const token = Buffer.from(secret, 'utf8');
  const plain = hmacSha256(token);
  if (!secret.startsWith('whsec_')) return { plain, standard: plain, token };
  const decoded = decodedWhole(secret.slice('whsec_'.length), 'base64');
  return { plain, standard: decoded === undefined ? plain : hmacSha256(decoded), token };
}

/**
 * The bytes of an encoded key; undefined if any part of the text is not of the encoding. `Buffer.from` ignores such parts,
 * and would leave a guessable key of a secret that is not encoded.
 */
export function decodedWhole(encoded: string, encoding: 'base64' | 'hex'): Buffer | undefined {
  const bytes = Buffer.from(encoded, encoding);
  const isWhole = bytes.toString(encoding).replace(/=+$/, '') === encoded.replace(/=+$/, '');
  return isWhole && bytes.length > 0 ? bytes : undefined;
}

/** Whether a scheme does not protect against replays, so that its senders should use another. */
export function isDeprecated(scheme: string | undefined): scheme is string {
  return scheme?.startsWith('generic-v1') === true;
}
