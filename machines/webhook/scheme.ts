/**
 * Compiles a scheme into a verifier for one secret; keys and templates are prepared once.
 * @see SRC-1, SRC-2, SIG-3 and SEC-6 in docs/specification.md
 */

import { createPublicKey, type KeyObject, verify as verifyWithKey } from 'node:crypto';
import {
  type Place,
  publicKeyPrefix,
  type SignatureScheme,
  schemeWith,
  type Timestamp,
} from '../config/signature-scheme.ts';
import { bodyAndPayload, maxFields } from './body.ts';
import { certifiedBy } from './certificate.ts';
import { compileToken } from './jwt.ts';
import {
  digestOf,
  isTimedContent,
  mismatch,
  placeText,
  readerOf,
  type SchemeUse,
  type SignatureVerdict,
  type SignedRequest,
  sameBytes,
} from './signature.ts';
import {
  type Content,
  compileContent,
  hmacOf,
  isTwilioSha256,
  keyOf,
  signableUrls,
  type Texts,
  twilioContents,
} from './signed-content.ts';

interface SchemeVerifier {
  /** Whether the request has a value at the scheme's place for the signature. */
  readonly applies: (request: SignedRequest) => boolean;
  readonly verify: (request: SignedRequest) => SignatureVerdict;
}

type List = NonNullable<SignatureScheme['list']>;
/** What is between the parts of a list, as it is read and as it is written, and between a part's label and its value. */
const lists: Readonly<Record<List, Record<'joint' | 'afterLabel', string> & { readonly divider: RegExp }>> = {
  commas: { divider: /, */, joint: ',', afterLabel: '=' },
  semicolons: { divider: /; */, joint: ';', afterLabel: '=' },
  spaces: { divider: / +/, joint: ' ', afterLabel: ',' },
};
const noTexts: Texts = { id: '', timestamp: '', method: '', url: '' };
/** Further signatures in a list are ignored; senders that rotate their key send two. */
const maxSignatures = 16;
const whole = {
  s: /^\d{1,12}$/,
  ms: /^\d{1,15}$/,
  iso: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/,
} as const;
const units = { s: 'in whole Unix seconds', ms: 'in whole Unix milliseconds', iso: 'as RFC 3339 has it' } as const;
const hexDigits = /^[0-9a-f]+$/i;
/** An odd digit would be ignored. */
const isHex = (text: string): boolean => text.length % 2 === 0 && hexDigits.test(text);
/** SubjectPublicKeyInfo of an Ed25519 key, up to its 32 bytes (RFC 8410 §4). */
const ed25519Prefix = Buffer.from('302a300506032b6570032100', 'hex');

export function compileScheme(given: SignatureScheme, use: SchemeUse): SchemeVerifier {
  const { name, publicUrl } = use;
  const scheme = schemeWith(given, use.secret);
  const read = readerOf(scheme.at);
  const applies = (request: SignedRequest): boolean => read(request) !== undefined;
  if (scheme.jwt !== undefined) return { applies, verify: compileToken(scheme.jwt, use).verify };
  const also = scheme.alsoAt === undefined ? undefined : readerOf(scheme.alsoAt);
  const where = placeText(scheme.at);
  const contentOf = compileContent(scheme.signed);
  const signaturesOf = candidatesOf(scheme);
  const fits = matcherOf(scheme, use.secret);
  const isTwilio = scheme.form === 'twilio';
  const fitsSha256 = isTwilio ? matcherOf({ ...scheme, algorithm: 'hmac-sha256' }, use.secret) : fits;
  const signsUrl = scheme.signed.includes('{url}');
  const isOfBody = scheme.signed === '{body}';
  const certified = scheme.form === 'paypal' || scheme.form === 'sns' ? certifiedBy(scheme.form, use) : undefined;
  const readId = scheme.id === undefined ? undefined : readerOf(scheme.id);
  const { timestamp } = scheme;
  const readTime = timestamp === undefined ? undefined : timeReader(timestamp, scheme.list);
  const isSigned = scheme.signed.includes('{timestamp}');
  // A time in the body is read once the body is known to be genuine, unless the signature covers it explicitly.
  const isLate = timestamp !== undefined && 'field' in timestamp.at && !isSigned;

  const refused = (why: string): SignatureVerdict => ({ kind: 'refused', scheme: name, why });

  function verify(request: SignedRequest): SignatureVerdict {
    const given = read(request);
    if (given === undefined) return refused(`${where} is missing`);
    const time = isLate ? undefined : readTime?.(given, request);
    if (timestamp !== undefined && !isLate) {
      const invalid = timestampFault(timestamp, time, request.nowMs);
      if (invalid !== undefined) return refused(invalid);
    }
    const id = readId?.(request);
    if (readId !== undefined && id === undefined) return refused(`${placeText(scheme.id as Place)} is missing`);
    if (signsUrl && publicUrl === undefined)
      return refused('its signature covers the public address; set platforms.webhook.extra.public_url');
    const query = request.query === undefined ? '' : `?${request.query}`;
    const url = signsUrl || isTwilio ? `${publicUrl ?? ''}${request.path ?? ''}${query}` : '';
    const texts = isOfBody ? noTexts : { id: id ?? '', timestamp: time ?? '', method: request.method ?? 'POST', url };
    const several = isTwilio
      ? twilioContents(url, request)
      : scheme.signsPayload
        ? bodyAndPayload(request).map((body) => contentOf(texts, body))
        : scheme.decodesUrl && signableUrls(url).map((one) => contentOf({ ...texts, url: one }, request.body));
    if (several?.length === 0)
      return refused(
        `its signature does not cover the body: that is no form of at most ${maxFields} fields, and bodySHA256 in the query is not its digest`,
      );
    if (!isSigned && timestamp === undefined && scheme.algorithm !== 'token' && isTimedContent(request.body))
      return refused('the body is the signed content of a scheme with a time');
    const signatures = also === undefined ? signaturesOf(given) : [given, also(request) ?? ''].flatMap(signaturesOf);
    if (certified !== undefined) return certified(request, signatures[0] ?? '');
    if (signatures.length === 0)
      return refused(`${where} holds no ${scheme.algorithm === 'token' ? 'token' : 'signature'} ${formOf(scheme)}`);
    const fitsHere = isTwilio && isTwilioSha256(request) ? fitsSha256 : fits;
    let digest: string | undefined;
    if (several === undefined) digest = fits(contentOf(texts, request.body), signatures);
    else for (const content of several) digest ??= fitsHere(content, signatures);
    if (digest === undefined) return refused(mismatchOf(scheme, signatures));
    if (timestamp !== undefined && isLate) {
      const invalid = timestampFault(timestamp, readTime?.(given, request), request.nowMs);
      if (invalid !== undefined) return refused(invalid);
    }
    if (digest === '') return { kind: 'genuine', scheme: name };
    const signed = { digest, isTimed: timestamp !== undefined };
    return { kind: 'genuine', scheme: name, signed };
  }

  return { applies, verify };
}

function mismatchOf({ algorithm, encoding }: SignatureScheme, signatures: readonly string[]): string {
  if (algorithm === 'token') return mismatch.token;
  const isEncoded = encoding === 'base64' || signatures.some(isHex);
  return isEncoded ? mismatch.signature : 'the signature is not in hexadecimal digits';
}

/** The text before a signature in its place, without a prefix. */
export function labelOf({ part, list = 'commas' }: SignatureScheme): string {
  return part === undefined ? '' : `${part}${lists[list].afterLabel}`;
}

/** The part with the time that a list of signatures begins with; empty if the time is elsewhere. */
export function stampOf({ timestamp, list = 'commas' }: SignatureScheme, time: string | number): string {
  if (timestamp === undefined || !('part' in timestamp.at)) return '';
  const { afterLabel, joint } = lists[list];
  return `${timestamp.at.part}${afterLabel}${time}${joint}`;
}

function formOf(scheme: SignatureScheme): string {
  const beginning = labelOf(scheme) + (scheme.prefix ?? '');
  return beginning === '' ? '' : `that begins with ${beginning.trimEnd()}`;
}

/** The signatures in a header's value, without their prefixes. */
function candidatesOf(scheme: SignatureScheme): (given: string) => readonly string[] {
  const { algorithm, part, list = 'commas', prefix = '' } = scheme;
  if (part === undefined && algorithm === 'token') {
    // The name of an authentication scheme has no case (RFC 9110 §11.1).
    const name = prefix.toLowerCase();
    return (given) => (given.slice(0, name.length).toLowerCase() === name ? [given.slice(name.length)] : []);
  }
  if (part === undefined) {
    return (given) => (given.startsWith(prefix) ? [given.slice(prefix.length)] : []);
  }
  const label = labelOf(scheme) + prefix;
  return (given) =>
    partsOf(given, list)
      .filter((one) => one.startsWith(label))
      .map((one) => one.slice(label.length));
}

function partsOf(given: string, list: List): readonly string[] {
  return given.split(lists[list].divider, maxSignatures);
}

/** The text of a request's time, whatever its unit; undefined if it is missing. */
export function statedTime({ at, timestamp, list }: SignatureScheme, request: SignedRequest): string | undefined {
  return timestamp && timeReader(timestamp, list)(readerOf(at)(request) ?? '', request);
}

/** Returns a reader of the time, given the text at the place of the signature. */
function timeReader(
  { at }: Timestamp,
  list: List = 'commas',
): (given: string, request: SignedRequest) => string | undefined {
  if (!('part' in at)) {
    const read = readerOf(at);
    return (_, request) => read(request);
  }
  const label = `${at.part}${lists[list].afterLabel}`;
  return (given) =>
    partsOf(given, list)
      .find((one) => one.startsWith(label))
      ?.slice(label.length);
}

/** The request's time in milliseconds; undefined if there is none in the scheme's unit. */
export function statedTimeMs(scheme: SignatureScheme, request: SignedRequest): number | undefined {
  const { timestamp } = scheme;
  const time = statedTime(scheme, request);
  if (timestamp === undefined || time === undefined || !whole[timestamp.unit].test(time)) return undefined;
  const ms = timeMs(timestamp.unit, time);
  return Number.isNaN(ms) ? undefined : ms;
}

function timeMs(unit: Timestamp['unit'], time: string): number {
  return unit === 'iso' ? Date.parse(time) : Number(time) * (unit === 's' ? 1_000 : 1);
}

function timestampFault(
  { unit, toleranceSeconds }: Timestamp,
  time: string | undefined,
  nowMs: number,
): string | undefined {
  if (time === undefined) return 'the timestamp is missing';
  if (!whole[unit].test(time)) return `the timestamp is not ${units[unit]}`;
  const thenMs = timeMs(unit, time);
  if (Number.isNaN(thenMs)) return `the timestamp is not ${units[unit]}`;
  const then = Math.floor(thenMs / 1_000);
  const skew = Math.abs(Math.floor(nowMs / 1_000) - then);
  if (skew <= toleranceSeconds) return undefined;
  return `the timestamp is ${skew} s from the clock; ${toleranceSeconds} s are allowed`;
}

/** Matches a content's signatures: returns the digest that identifies the content (SEC-6), empty if nothing is signed. */
type Matcher = (content: Content, signatures: readonly string[]) => string | undefined;

function matcherOf({ algorithm, encoding, key }: SignatureScheme, secret: string): Matcher {
  const bytesOf = (text: string): Buffer | undefined => {
    if (encoding === 'base64') return Buffer.from(text, 'base64');
    return isHex(text) ? Buffer.from(text, 'hex') : undefined;
  };
  if (algorithm === 'token') {
    const token = Buffer.from(secret, 'utf8');
    return (_, signatures) => (signatures.some((one) => sameBytes(Buffer.from(one, 'latin1'), token)) ? '' : undefined);
  }
  if (algorithm === 'ed25519' || algorithm === 'ecdsa-sha256') {
    const publicKey = publicKeyOf(algorithm, secret);
    const hash = algorithm === 'ed25519' ? null : 'sha256';
    return (signed, signatures) => {
      const content = bytesOfContent(signed);
      const isGenuine = signatures.some((one) => {
        const signature = bytesOf(one);
        return publicKey !== undefined && signature !== undefined && verifyWithKey(hash, content, publicKey, signature);
      });
      // The content's digest: other signatures of the same content can be derived without the key.
      return isGenuine ? digestOf(content) : undefined;
    };
  }
  // Verified with a certificate or a published key instead.
  if (algorithm === 'rsa' || algorithm === 'jwt') return () => undefined;
  const sum = hmacOf(algorithm, keyOf(secret, key));
  return (content, signatures) => {
    const digest = sum(content);
    for (const one of signatures) {
      const signature = bytesOf(one);
      if (signature !== undefined && sameBytes(signature, digest)) return digestOf(digest);
    }
    return undefined;
  };
}

const scratch = Buffer.alloc(65_536);
function bytesOfContent({ before, body, after }: Content): Buffer {
  const length = before.length + body.length + after.length;
  const bytes = length > scratch.length ? Buffer.alloc(length) : scratch.subarray(0, length);
  bytes.write(before, 'latin1');
  bytes.set(body, before.length);
  bytes.write(after, before.length + body.length, 'latin1');
  return bytes;
}

function publicKeyOf(algorithm: 'ed25519' | 'ecdsa-sha256', secret: string): KeyObject | undefined {
  try {
    const text = secret.replace(/-----[A-Z ]+-----|\s/g, '');
    const der = algorithm === 'ed25519' ? ed25519Key(text) : Buffer.from(text, 'base64');
    return createPublicKey({ key: der, format: 'der', type: 'spki' });
  } catch {
    return undefined;
  }
}

/** The 32 bytes may be given alone, in hexadecimal digits or base64. */
function ed25519Key(secret: string): Buffer {
  const isDigits = secret.length === 64 && isHex(secret);
  const bytes = Buffer.from(secret.replace(publicKeyPrefix, ''), isDigits ? 'hex' : 'base64');
  return bytes.length === 32 ? Buffer.concat([ed25519Prefix, bytes]) : bytes;
}
