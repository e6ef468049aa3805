/**
 * Turns a scheme that is data into a verifier and a signer for one secret; keys and templates are prepared once. Knows no
 * provider and no route.
 * @see SRC-1, SRC-2, SIG-3 and SEC-6 in docs/specification.md
 */

import { createHmac, createPublicKey, type KeyObject, verify as verifyWithKey } from 'node:crypto';
import { compilePath, isJsonObject, type Json, type JsonObject, scalarText } from '../base/json.ts';
import type { Place, SignatureScheme, Timestamp } from '../config/signature-scheme.ts';
import type { Source } from '../config/sources.ts';
import { hmacSha256 } from './hmac.ts';
import {
  decodedWhole,
  digestOf,
  isTimedContent,
  type SignatureVerdict,
  type SignedRequest,
  sameBytes,
} from './signature.ts';

export interface SchemeVerifier {
  /** Whether the request has something where the scheme looks for a signature. */
  readonly applies: (request: SignedRequest) => boolean;
  readonly verify: (request: SignedRequest) => SignatureVerdict;
}

export interface SchemeUse {
  /** What the history calls it. */
  readonly name: string;
  readonly secret: string;
  /** Where senders reach the listener, without a slash at its end; of {url}. */
  readonly publicUrl?: string | undefined;
}

/** The texts of a signed content, as Latin-1 of their bytes. */
type Texts = Readonly<Record<'id' | 'timestamp' | 'method' | 'url', string>>;

interface Content {
  readonly before: string;
  readonly body: Uint8Array;
  readonly after: string;
}

const noBody = new Uint8Array();
/** Signatures in a list beyond this many are not looked at; senders that roll their key send two. */
const mostSignatures = 16;
const whole = { s: /^\d{1,12}$/, ms: /^\d{1,15}$/ } as const;
const hexDigits = /^(?:[0-9a-f]{2})+$/i;
/** SubjectPublicKeyInfo of an Ed25519 key, up to its 32 bytes (RFC 8410 §4). */
const ed25519Prefix = Buffer.from('302a300506032b6570032100', 'hex');

export function compileScheme(scheme: SignatureScheme, use: SchemeUse): SchemeVerifier {
  const { name, publicUrl } = use;
  const read = readerOf(scheme.at);
  const where = placeText(scheme.at);
  const contentOf = compileContent(scheme.signed);
  const signaturesOf = candidatesOf(scheme);
  const fits = matcherOf(scheme, use.secret);
  const readId = scheme.id === undefined ? undefined : readerOf(scheme.id);
  const { timestamp } = scheme;
  const isSigned = scheme.signed.includes('{timestamp}');
  // What only the body tells is read once the body is known to be genuine, unless the signature is made of it.
  const isLate = timestamp !== undefined && 'field' in timestamp.at && !isSigned;

  function verify(request: SignedRequest): SignatureVerdict {
    const refused = (why: string): SignatureVerdict => ({ kind: 'refused', scheme: name, why });
    const given = read(request);
    if (given === undefined) return refused(`${where} is missing`);
    const time = timestamp === undefined ? '' : timeOf(timestamp, given, request);
    if (timestamp !== undefined && !isLate) {
      const unfit = timestampFault(timestamp, time, request.nowMs);
      if (unfit !== undefined) return refused(unfit);
    }
    const id = readId?.(request);
    if (readId !== undefined && id === undefined) return refused(`${placeText(scheme.id as Place)} is missing`);
    if (scheme.signed.includes('{url}') && publicUrl === undefined)
      return refused('its signature covers the public address; set platforms.webhook.extra.public_url');
    const target = `${request.path ?? ''}${request.query === undefined ? '' : `?${request.query}`}`;
    const url = `${publicUrl ?? ''}${target}`;
    const content = contentOf(
      { id: id ?? '', timestamp: time ?? '', method: request.method ?? 'POST', url },
      request.body,
    );
    if (!isSigned && timestamp === undefined && scheme.algorithm !== 'token' && isTimedContent(request.body))
      return refused('the body is the signed content of a scheme with a time');
    const signatures = signaturesOf(given);
    if (signatures.length === 0) return refused(`${where} holds no signature ${formOf(scheme)}`);
    const digest = fits(content, signatures);
    if (digest === undefined) return refused('the signature does not match');
    if (timestamp !== undefined && isLate) {
      const unfit = timestampFault(timestamp, time, request.nowMs);
      if (unfit !== undefined) return refused(unfit);
    }
    if (digest === '') return { kind: 'genuine', scheme: name, deprecated: false };
    const signed = { digest, isTimed: timestamp !== undefined };
    return { kind: 'genuine', scheme: name, deprecated: false, signed };
  }

  return { applies: (request) => read(request) !== undefined, verify };
}

/** Reads a text of a request, as Latin-1 of its bytes; undefined where it is absent or empty. */
export function readerOf(place: Place): (request: SignedRequest) => string | undefined {
  if ('header' in place) {
    const name = place.header.toLowerCase();
    return ({ headers }) => (Object.hasOwn(headers, name) ? headers[name] || undefined : undefined);
  }
  if ('query' in place) {
    return ({ query }) => latin1(new URLSearchParams(query ?? '').get(place.query) ?? '') || undefined;
  }
  const find = compilePath(place.field);
  return ({ payload }) => latin1(scalarText(find((payload?.() ?? null) as Json))) || undefined;
}

function latin1(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

function placeText(place: Place): string {
  if ('header' in place) return `the header ${place.header}`;
  return 'field' in place ? `the field ${place.field} of the body` : `the query’s ${place.query}`;
}

function formOf({ part, prefix, list }: SignatureScheme): string {
  const label = part === undefined ? '' : `${part}${list === 'spaces' ? ',' : '='}`;
  return label + (prefix ?? '') === '' ? '' : `that begins with ${label}${prefix ?? ''}`;
}

/** The signatures in a header's value, without what stands before each. */
function candidatesOf({ part, list, prefix = '' }: SignatureScheme): (given: string) => readonly string[] {
  if (part === undefined) {
    return (given) => (given.startsWith(prefix) ? [given.slice(prefix.length)] : []);
  }
  const label = `${part}${list === 'spaces' ? ',' : '='}${prefix}`;
  return (given) =>
    partsOf(given, list)
      .filter((one) => one.startsWith(label))
      .map((one) => one.slice(label.length));
}

function partsOf(given: string, list: SignatureScheme['list']): readonly string[] {
  return given.split(list === 'spaces' ? / +/ : /, */, mostSignatures);
}

function timeOf({ at }: Timestamp, given: string, request: SignedRequest): string | undefined {
  if (!('part' in at)) return readerOf(at)(request);
  const label = `${at.part}=`;
  return partsOf(given, 'commas')
    .find((one) => one.startsWith(label))
    ?.slice(label.length);
}

function timestampFault(
  { unit, toleranceSeconds }: Timestamp,
  time: string | undefined,
  nowMs: number,
): string | undefined {
  if (time === undefined) return 'the timestamp is missing';
  if (!whole[unit].test(time)) return `the timestamp is not in whole Unix ${unit === 's' ? 'seconds' : 'milliseconds'}`;
  const then = unit === 's' ? Number(time) : Math.floor(Number(time) / 1_000);
  const skew = Math.abs(Math.floor(nowMs / 1_000) - then);
  if (skew <= toleranceSeconds) return undefined;
  return `the timestamp is ${skew} s from the clock; ${toleranceSeconds} s are allowed`;
}

/** Compiles the template of what is signed: what stands before the body, and after it. */
function compileContent(signed: string): (texts: Texts, body: Uint8Array) => Content {
  const at = signed.indexOf('{body}');
  const [before, after] = at < 0 ? [signed, ''] : [signed.slice(0, at), signed.slice(at + '{body}'.length)];
  const fill = (part: string): ((texts: Texts) => string) => {
    const pieces = part.split(/\{(id|timestamp|method|url)\}/);
    if (pieces.length === 1) return () => part;
    return (texts) => pieces.map((piece, index) => (index % 2 === 0 ? piece : texts[piece as keyof Texts])).join('');
  };
  const fillBefore = fill(before);
  const fillAfter = fill(after);
  return (texts, body) => ({ before: fillBefore(texts), body: at < 0 ? noBody : body, after: fillAfter(texts) });
}

/** Says for a content and its signatures: the digest that stands for the content (SEC-6), empty where nothing is signed. */
type Matcher = (content: Content, signatures: readonly string[]) => string | undefined;

function matcherOf({ algorithm, encoding, key }: SignatureScheme, secret: string): Matcher {
  const bytesOf = (text: string): Buffer | undefined => {
    if (encoding === 'base64') return Buffer.from(text, 'base64');
    return hexDigits.test(text) ? Buffer.from(text, 'hex') : undefined;
  };
  if (algorithm === 'token') {
    const token = Buffer.from(secret, 'utf8');
    return (_, signatures) => (signatures.some((one) => sameBytes(Buffer.from(one, 'latin1'), token)) ? '' : undefined);
  }
  if (algorithm === 'ed25519' || algorithm === 'ecdsa-sha256') {
    const publicKey = publicKeyOf(algorithm, secret);
    const hash = algorithm === 'ed25519' ? null : 'sha256';
    return ({ before, body, after }, signatures) => {
      const content = Buffer.concat([Buffer.from(before, 'latin1'), body, Buffer.from(after, 'latin1')]);
      const isGenuine = signatures.some((one) => {
        const signature = bytesOf(one);
        return publicKey !== undefined && signature !== undefined && verifyWithKey(hash, content, publicKey, signature);
      });
      // Of the content: another signature of the same content can be made from one without the key.
      return isGenuine ? digestOf(content) : undefined;
    };
  }
  const keyBytes = keyOf(secret, key);
  const sum = hmacOf(algorithm, keyBytes);
  return (content, signatures) => {
    const digest = sum(content);
    const isGenuine = signatures.some((one) => {
      const signature = bytesOf(one);
      return signature !== undefined && sameBytes(signature, digest);
    });
    return isGenuine ? digestOf(digest) : undefined;
  };
}

function hmacOf(algorithm: 'hmac-sha256' | 'hmac-sha1' | 'hmac-sha512', key: Uint8Array): (content: Content) => Buffer {
  const hash = algorithm.slice('hmac-'.length);
  const fast = algorithm === 'hmac-sha256' ? hmacSha256(key) : undefined;
  return ({ before, body, after }) => {
    if (fast !== undefined && after === '') return fast(before, body);
    return createHmac(hash, key).update(before, 'latin1').update(body).update(after, 'latin1').digest();
  };
}

function keyOf(secret: string, key: SignatureScheme['key']): Buffer {
  if (key === 'text') return Buffer.from(secret, 'utf8');
  const encoded = key === 'base64' ? secret.replace(/^whsec_/, '') : secret.toLowerCase();
  return decodedWhole(encoded, key) ?? Buffer.from(secret, 'utf8');
}

function publicKeyOf(algorithm: 'ed25519' | 'ecdsa-sha256', secret: string): KeyObject | undefined {
  try {
    const der =
      algorithm === 'ed25519'
        ? Buffer.concat([ed25519Prefix, Buffer.from(secret, 'hex')])
        : Buffer.from(secret.replace(/-----[A-Z ]+-----|\s/g, ''), 'base64');
    return createPublicKey({ key: der, format: 'der', type: 'spki' });
  } catch {
    return undefined;
  }
}

/** An event as its sender would send it. */
export interface Sealed {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Unsealed {
  readonly payload: JsonObject;
  /** As the history shows it; goes where the source has it. */
  readonly event?: string | undefined;
  readonly id: string;
  /** Of the route, as it is sent. */
  readonly path: string;
  readonly nowMs: number;
}

/**
 * Signs a payload as its sender would, with the event, the id and the time where the sender has them; undefined where only
 * the sender can sign, by a private key.
 */
export function sealEvent(
  scheme: SignatureScheme,
  { secret, publicUrl }: SchemeUse,
  { payload, event, id, path, nowMs }: Unsealed,
  source?: Pick<Source, 'event' | 'id'>,
): Sealed | undefined {
  const { at, algorithm, part, list, prefix = '', timestamp } = scheme;
  if (algorithm === 'ed25519' || algorithm === 'ecdsa-sha256') return undefined;
  const headers: Record<string, string> = {};
  let held: Json = payload;
  const put = (place: Place | undefined, value: string | number): void => {
    if (place !== undefined && 'header' in place) headers[place.header] = latin1(String(value));
    else if (place !== undefined && 'field' in place) held = withField(held, place.field.split('.'), value);
  };
  const [type] = source?.event ?? [];
  if (event !== undefined && Array.isArray(type)) {
    const texts = event.split('.');
    for (const [index, place] of (type as readonly Place[]).entries()) put(place, texts[index] ?? '');
  } else if (event !== undefined) put(type as Place | undefined, event);
  if (scheme.id === undefined) put(source?.id[0], id);
  else put(scheme.id, id);
  const time = timestamp?.unit === 'ms' ? nowMs : Math.floor(nowMs / 1_000);
  if (timestamp !== undefined && !('part' in timestamp.at)) put(timestamp.at, time);
  const texts = { id, timestamp: String(time), method: 'POST', url: `${publicUrl ?? ''}${path}` };
  const signatureOf = (body: string): string => {
    if (algorithm === 'token') return latin1(`${prefix}${secret}`);
    const content = compileContent(scheme.signed)(texts, Buffer.from(body, 'utf8'));
    return `${prefix}${hmacOf(algorithm, keyOf(secret, scheme.key))(content).toString(scheme.encoding)}`;
  };
  // A signature within the body cannot cover it.
  if (!('header' in at)) put(at, signatureOf(''));
  const body = JSON.stringify(held);
  if ('header' in at) {
    const signature = signatureOf(body);
    const stamp = timestamp !== undefined && 'part' in timestamp.at ? `${timestamp.at.part}=${time},` : '';
    headers[at.header] = part === undefined ? signature : `${stamp}${part}${list === 'spaces' ? ',' : '='}${signature}`;
  }
  return { headers, body };
}

function withField(held: Json, [key = '', ...rest]: readonly string[], value: string | number): Json {
  const object = isJsonObject(held) ? held : {};
  return { ...object, [key]: rest.length === 0 ? value : withField(object[key] ?? {}, rest, value) };
}
