/**
 * What the verification of a signature reads of a request and returns, and the digest by which a repeated signature is
 * recognized.
 * @see SIG-3, SRC-2 and SEC-6 in docs/specification.md
 */

import { hash, timingSafeEqual } from 'node:crypto';
import { compilePath, type Json, type JsonObject, scalarText } from '../base/json.ts';
import type { Place } from '../config/signature-scheme.ts';
import { hmacSha256 } from './hmac.ts';

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

/** Reasons that leave the cause open; any other names it. */
export const mismatch = { signature: 'the signature does not match', token: 'the token does not match' } as const;

export interface SignedContent {
  /** The same for one signature, regardless of header format and scheme. */
  readonly digest: string;
  /** Whether a time is signed with the body: the same body then has another signature each second. */
  readonly isTimed: boolean;
}

/** What a scheme verifies and signs with. */
export interface SchemeUse {
  /** Its name in the history. */
  readonly name: string;
  readonly secret: string;
  /** Where senders reach the listener, without a trailing slash, for {url}. */
  readonly publicUrl?: string | undefined;
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
  /** A fetched certificate, as PEM, or set of keys. */
  readonly certificate?: (url: string) => string | undefined;
}

export type SignatureVerifier = (request: SignedRequest) => SignatureVerdict;

const openBrace = 0x7b;
/** Characters of a digest that are kept: 132 bits. */
const digestLength = 22;

/** The number of the secret in a verdict's scheme; undefined for the first, and if there is only one. */
export function secretNumber(scheme: string): string | undefined {
  return scheme.endsWith(')') ? / \(secret (\d+)\)$/.exec(scheme)?.[1] : undefined;
}

export type Headers = Readonly<Record<string, string>>;

/** The headers that sign a body with the recommended scheme (generic V2). */
export function signV2(secret: string, timestampSeconds: number, body: string | Uint8Array): Headers {
  const timestamp = String(timestampSeconds);
  const bytes = typeof body === 'string' ? Buffer.from(body, 'utf8') : body;
  const digest = hmacSha256(Buffer.from(secret, 'utf8'))(`${timestamp}.`, bytes).toString('hex');
  return { 'x-webhook-timestamp': timestamp, 'x-webhook-signature-v2': digest };
}

/** No signed content of a timed scheme has a longer id. */
const maxPrefixLength = 300;
/**
 * The beginning of signed content in V2 and Stripe (`{timestamp}.`), Standard Webhooks (`{id}.{timestamp}.`), Slack
 * (`v0:{timestamp}:`), Grafana (`{timestamp}:`) and HubSpot (`{method}{url}`), and all of it in Mailgun; no JSON object or
 * form begins so.
 */
const timedContent = /^(?:(?:[^\s{=&]+\.)?\d{10}\.|(?:v0:)?\d{10}:|[A-Z]+https?:\/\/|\d{10}[0-9a-f]{50}$)/;

/**
 * Whether a body could be the signed content of a timed scheme. Sent as a body of an untimed one, it would have a valid
 * signature under the same secret: a captured request would outlive its time, and its text would be parsed as a form.
 */
export function isTimedContent(body: Uint8Array): boolean {
  if (body[0] === openBrace) return false;
  const beginning = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, maxPrefixLength));
  return timedContent.test(beginning.toString('latin1'));
}

/** Returns a reader of a request's text, as Latin-1 of its bytes; undefined if it is absent or empty. */
export function readerOf(place: Place): (request: SignedRequest) => string | undefined {
  if ('header' in place) {
    const name = place.header.toLowerCase();
    const textOf = isOfCloudEvent(name) ? attributeText : (value: string) => value;
    return ({ headers }) => (Object.hasOwn(headers, name) ? textOf(headers[name] ?? '') || undefined : undefined);
  }
  if ('query' in place) {
    return ({ query }) => latin1(new URLSearchParams(query ?? '').get(place.query) ?? '') || undefined;
  }
  const find = compilePath(place.field);
  if (place.of !== undefined) {
    const items = compilePath(place.of);
    return ({ payload }) => latin1(sharedText(items((payload?.() ?? null) as Json), find)) || undefined;
  }
  return ({ payload }) => latin1(scalarText(find((payload?.() ?? null) as Json))) || undefined;
}

/** The text that all items of an array share; empty if they differ or there are none. */
function sharedText(items: Json | undefined, find: (item: Json) => Json | undefined): string {
  if (!Array.isArray(items)) return '';
  const texts = new Set(items.map((item) => scalarText(find(item))));
  const [text = ''] = texts;
  return texts.size === 1 ? text : '';
}

export const visibleAscii = /^[\x20-\x7e]*$/;

export function latin1(text: string): string {
  return visibleAscii.test(text) ? text : Buffer.from(text, 'utf8').toString('latin1');
}

/** Whether a header has an attribute of an event in CloudEvents' binary mode, which is percent-encoded. */
const isOfCloudEvent = (name: string): boolean => /^ce-/i.test(name);

/**
 * An attribute of a CloudEvent: unquoted, as earlier senders quoted it, and decoded once.
 * @see [CloudEvents, HTTP §3.1.3.2](https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/http-protocol-binding.md#3132-http-header-values)
 */
function attributeText(value: string): string {
  const [, quoted] = /^"((?:\\.|[^"\\])*)"$/.exec(value) ?? [];
  const text = quoted === undefined ? value : quoted.replace(/\\(.)/g, '$1');
  return text.replace(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}

/** A text as the value of a header: Latin-1 of its bytes, or an encoded attribute of a CloudEvent. */
export function headerValue(name: string, text: string): string {
  const value = latin1(text);
  if (!isOfCloudEvent(name)) return value;
  return value.replace(
    /[^\x21\x23\x24\x26-\x7e]/g,
    (byte) => `%${Buffer.from(byte, 'latin1').toString('hex').toUpperCase()}`,
  );
}

/** Describes a place for people, such as `the header x-signature`. */
export function placeText(place: Place): string {
  if ('header' in place) return `the header ${place.header}`;
  if ('field' in place && place.of !== undefined)
    return `the field ${place.field}, the same in each item of ${place.of} of the body,`;
  return 'field' in place ? `the field ${place.field} of the body` : `the query’s ${place.query}`;
}

/** The digest of a signature's expected bytes, or of a body. A signature itself could be replayed, so it is never stored. */
export function digestOf(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'base64url').slice(0, digestLength);
}

/** Compares in constant time; lengths first, because the comparison throws if they differ. */
export function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
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
