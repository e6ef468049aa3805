/**
 * The content that a scheme signs: the request's parts in the order of its template, and their HMAC.
 * @see SRC-1 and SIG-3 in docs/specification.md
 */

import { createHash, createHmac } from 'node:crypto';
import type { SignatureScheme } from '../config/signature-scheme.ts';
import { hasMoreFieldsThan, isForm, isUtf8Form, maxFields } from './body.ts';
import { hmacSha256 } from './hmac.ts';
import { decodedWhole, latin1, type SignedRequest } from './signature.ts';

/** The texts in the signed content, as Latin-1 of their bytes. */
export type Texts = Readonly<Record<'id' | 'timestamp' | 'method' | 'url', string>>;

export interface Content {
  readonly before: string;
  readonly body: Uint8Array;
  readonly after: string;
}

const emptyBody = new Uint8Array();

/** Compiles the template of the signed content: the texts before and after the body. */
export function compileContent(signed: string): (texts: Texts, body: Uint8Array) => Content {
  const at = signed.indexOf('{body}');
  const [before, after] = at < 0 ? [signed, ''] : [signed.slice(0, at), signed.slice(at + '{body}'.length)];
  const fill = (part: string): ((texts: Texts) => string) => {
    const pieces = part.split(/\{(id|timestamp|method|url)\}/);
    if (pieces.length === 1) return () => part;
    return (texts) => {
      let filled = '';
      for (let at = 0; at < pieces.length; at += 1)
        filled += at % 2 === 0 ? pieces[at] : texts[pieces[at] as keyof Texts];
      return filled;
    };
  };
  const fillBefore = fill(before);
  const fillAfter = fill(after);
  return (texts, body) => ({ before: fillBefore(texts), body: at < 0 ? emptyBody : body, after: fillAfter(texts) });
}

/**
 * A URL as sent, and with the escapes decoded that HubSpot decodes before it signs.
 * @see [HubSpot's page](https://developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/request-validation)
 */
export function signableUrls(url: string): readonly string[] {
  const decoded = url.replace(/%(?:2[14789AC]|2F|3[ABF]|40)/gi, decodeURIComponent);
  return decoded === url ? [url] : [decoded, url];
}

/**
 * Whether Twilio signed with a shared key, by SHA-256.
 * @see [Twilio's page](https://www.twilio.com/docs/usage/webhooks/webhook-shared-keys)
 */
export function isTwilioSha256({ headers }: SignedRequest): boolean {
  return /(?:^|,) *algorithm=HMAC_SHA256(?:,|$)/.test(headers['x-twilio-webhooks-signature-settings'] ?? '');
}

/**
 * The content that Twilio signs: the URL, then a form's sorted names and values; for another body its digest, which is in
 * the URL. Twilio's port is ambiguous, so there are two contents. Empty if the signature would not cover the body.
 * @see [Twilio's page](https://www.twilio.com/docs/usage/webhooks/webhooks-security)
 */
export function twilioContents(url: string, { headers, body, query }: SignedRequest): readonly Content[] {
  const given = new URLSearchParams(query ?? '').get('bodySHA256');
  if (given === null ? !isForm(headers) : given !== createHash('sha256').update(body).digest('hex')) return [];
  const form = given === null ? sortedForm(Buffer.from(body).toString('utf8')) : '';
  if (form === undefined) return [];
  const bytes = Buffer.from(form, 'utf8');
  return [url, otherPort(url)].map((one) => ({ before: latin1(one), body: bytes, after: '' }));
}

/**
 * Names and values in order, without duplicates. Undefined if there are too many, as nothing is verified yet (SEC-3), or if
 * they are not UTF-8, as Twilio's are: other bytes would pass for the U+FFFD that was signed, and be read as other letters.
 */
function sortedForm(text: string): string | undefined {
  if (hasMoreFieldsThan(maxFields, text) || !isUtf8Form(text)) return undefined;
  const fields = [...new URLSearchParams(text)];
  fields.sort(([one, first], [other, second]) => inOrder(one, other) || inOrder(first, second));
  let sorted = '';
  for (const [index, [name, value]] of fields.entries()) {
    const before = fields[index - 1];
    if (before?.[0] !== name || before[1] !== value) sorted += name + value;
  }
  return sorted;
}

function inOrder(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

/** The same URL with its scheme's default port if it has none, or without its port. */
function otherPort(url: string): string {
  const [, start = '', scheme = '', host = '', port, rest = ''] =
    /^((https?):\/\/)([^/:?#]+)(:\d+)?(.*)$/.exec(url) ?? [];
  if (start === '') return url;
  return `${start}${host}${port === undefined ? `:${scheme === 'https' ? 443 : 80}` : ''}${rest}`;
}

export function hmacOf(
  algorithm: 'hmac-sha256' | 'hmac-sha1' | 'hmac-sha512',
  key: Uint8Array,
): (content: Content) => Buffer {
  const hash = algorithm.slice('hmac-'.length);
  const fast = algorithm === 'hmac-sha256' ? hmacSha256(key) : undefined;
  if (fast !== undefined) return ({ before, body, after }) => fast(before, body, after);
  return ({ before, body, after }) =>
    createHmac(hash, key).update(before, 'latin1').update(body).update(after, 'latin1').digest();
}

export function keyOf(secret: string, key: SignatureScheme['key']): Buffer {
  if (key === 'text') return Buffer.from(secret, 'utf8');
  const encoded = key === 'base64' ? secret.replace(/^whsec_/, '') : secret.toLowerCase();
  return decodedWhole(encoded, key) ?? Buffer.from(secret, 'utf8');
}
