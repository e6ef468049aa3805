/**
 * Signs an event like its sender: for test events, and for the targets that a signature proves us to.
 * @see SRC-1, SUB-4 and DLV-5 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject, scalarText } from '../base/json.ts';
import { putField } from '../base/put-field.ts';
import { readJson } from '../base/read-json.ts';
import { type Algorithm, type Place, type SignatureScheme, schemeWith } from '../config/signature-scheme.ts';
import type { Source } from '../config/sources.ts';
import { labelOf, stampOf } from './scheme.ts';
import { headerValue, latin1, type SchemeUse } from './signature.ts';
import { compileContent, hmacOf, keyOf, twilioContents } from './signed-content.ts';

/** An event as its sender would send it. */
export interface SignedEvent {
  /** The query string after the path. */
  readonly query?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface UnsignedEvent {
  readonly payload: JsonObject;
  /** The payload as its owner wrote it, of which only the fields that the sender fills in are changed. */
  readonly text?: string;
  /** As in the history; placed where the source expects it. */
  readonly event?: string | undefined;
  readonly id: string;
  /** Whether the payload already contains the delivery's id. */
  readonly isIdInside?: boolean;
  /** The route's path, as it is sent. */
  readonly path: string;
  readonly nowMs: number;
}

/**
 * Signs a payload like its sender, with event, id and time in the sender's places; unsigned without a secret, or if only the
 * sender can sign.
 */
export function signEvent(
  given: SignatureScheme,
  { secret, publicUrl }: Omit<SchemeUse, 'secret'> & { readonly secret: string | undefined },
  { payload, text, event, id, isIdInside = false, path, nowMs }: UnsignedEvent,
  source?: Pick<Source, 'event' | 'id' | 'bodyDiffersBy' | 'body'>,
): SignedEvent {
  const scheme = schemeWith(given, secret);
  const { at, algorithm, prefix = '', timestamp } = scheme;
  const headers: Record<string, string> = {};
  let json = text ?? JSON.stringify(payload);
  const put = (place: Place | undefined, value: string | number): void => {
    if (place !== undefined && 'header' in place) headers[place.header] = headerValue(place.header, String(value));
    else if (place !== undefined && 'field' in place) json = putField(json, place.field.split('.'), value);
  };
  const [type] = source?.event ?? [];
  if (event !== undefined && Array.isArray(type)) {
    const texts = event.split('.');
    for (const [index, place] of (type as readonly Place[]).entries()) put(place, texts[index] ?? '');
  } else if (event !== undefined) put(type as Place | undefined, event);
  put(scheme.id, id);
  if (!isIdInside) for (const place of [source?.id[0] ?? source?.bodyDiffersBy ?? []].flat()) put(place, id);
  const seconds = Math.floor(nowMs / 1_000);
  const times = { s: seconds, ms: nowMs, iso: new Date(nowMs).toISOString() };
  const time = times[timestamp?.unit ?? 's'];
  if (timestamp !== undefined && !('part' in timestamp.at)) put(timestamp.at, time);
  const texts = { id, timestamp: String(time), method: 'POST', url: `${publicUrl ?? ''}${path}` };
  const signatureOf = (body: string): string | undefined => {
    if (secret === undefined || signsByPrivateKey(algorithm)) return undefined;
    if (algorithm === 'token') return latin1(`${prefix}${secret}`);
    const bytes = Buffer.from(body, 'utf8');
    const [content] =
      scheme.form === 'twilio'
        ? twilioContents(texts.url, { headers, body: bytes, nowMs })
        : [compileContent(scheme.signed)(texts, bytes)];
    if (content === undefined) return undefined;
    return `${prefix}${hmacOf(algorithm, keyOf(secret, scheme.key))(content).toString(scheme.encoding)}`;
  };
  // A signature within the body cannot cover it.
  const inside = 'header' in at ? undefined : signatureOf('');
  if (inside !== undefined) put(at, inside);
  if (scheme.form === 'twilio') headers['content-type'] = 'application/x-www-form-urlencoded';
  const body = scheme.form === 'twilio' ? formOfFields(readJson(json)) : wrapped(json, source?.body);
  const signature = 'header' in at ? signatureOf(body) : undefined;
  if ('header' in at && signature !== undefined)
    headers[at.header] = `${stampOf(scheme, time)}${labelOf(scheme)}${signature}`;
  if ('query' in at && secret !== undefined)
    return { headers, body, query: new URLSearchParams({ [at.query]: secret }).toString() };
  return { headers, body };
}

/** Whether a sender signs with a private key, which the gateway does not have. */
export function signsByPrivateKey(algorithm: Algorithm): algorithm is 'ed25519' | 'ecdsa-sha256' | 'rsa' | 'jwt' {
  return algorithm !== 'token' && !algorithm.startsWith('hmac-');
}

/** Wraps one event like a provider that sends arrays. */
function wrapped(json: string, rule: Source['body']): string {
  if (rule?.shape !== 'each') return json;
  const keys = rule.items?.split('.') ?? [];
  return keys.reduceRight((inner, key) => `{${JSON.stringify(key)}:${inner}}`, `[${json}]`);
}

function formOfFields(held: Json | undefined): string {
  const form = new URLSearchParams();
  if (isJsonObject(held)) for (const [name, value] of Object.entries(held)) form.set(name, scalarText(value));
  return form.toString();
}
