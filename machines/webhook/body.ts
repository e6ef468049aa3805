/**
 * Parses a request's payload: JSON, or a form as GitHub may send it. Returns an object, or a refusal with its reason.
 * @see LIM-3 and SEC-3 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject, lookUp, stringify } from '../base/json.ts';
import { isBeyondReading, readJson } from '../base/read-json.ts';
import { type BodyRule, sources } from '../config/sources.ts';
import { decodeBody, decoderOf, decodeWindows1252 } from './charset.ts';
import { parseMultipart } from './multipart.ts';

export type ParsedBody =
  /** `items` if the body is an array. */
  | { readonly ok: true; readonly value: JsonObject; readonly items?: readonly Json[] }
  | { readonly ok: false; readonly why: string };

const beginsAsJson = /^\s*[[{]/;
const compressions = /\b(?:gzip|deflate|br|zstd|compress)\b/i;
const escapedByte = /%[89a-f][0-9a-f]/i;
/** Only those in which ASCII, of which the rest of a form is, is itself; without the usual one. */
const charset =
  /;\s*charset\s*=\s*"?(?!windows-1252|iso-8859-1\b)((?:windows|iso-8859|koi8|shift_jis|euc|gb|big5)[\w-]*)/i;
/** Types that explain why a body is not JSON. A list, since no text of the sender is in a reason. */
const otherType = /^(?:multipart\/mixed|(?:application|text)\/xml|application\/x-ndjson|text\/csv)\b/i;
/** No known sender's form has more than a few dozen fields; each costs far more than its bytes. */
export const maxFields = 1_000;

/**
 * @param body its text, or its bytes, which a form with files needs; undefined if it is not UTF-8
 * @param headers lower-case names; they show whether the body is a form, and whether it is only data
 * @param rule whether an array is a payload too: it becomes `{items: [...]}` (SRC-4)
 */
export function parseBody(
  body: string | Uint8Array | undefined,
  headers: Readonly<Record<string, string>>,
  { shape, dataBy, mayBeEmpty }: BodyRule = { shape: 'object' },
): ParsedBody {
  const fault = (why: string): ParsedBody => {
    const [type] = otherType.exec(headers['content-type'] ?? '') ?? [];
    return { ok: false, why: compressedBy(headers) ?? (type === undefined ? why : `${why} (${type})`) };
  };
  const isData = dataBy !== undefined && headers[dataBy] !== undefined;
  const read = shape === 'object' ? readObject : readArray;
  if (body !== undefined && !isData && isMultipart(headers)) {
    const parsed = readMultipart(body, read, headers['content-type']);
    return parsed.ok ? parsed : fault(parsed.why);
  }
  const text = body === undefined || typeof body === 'string' ? body : decodeBody(body);
  if (text === undefined) return fault('the body is not UTF-8');
  if (isData) return { ok: true, value: dataOf(text) };
  if (mayBeEmpty === true && text === '') return { ok: true, value: {} };
  if (isForm(headers)) return parseForm(text, read, headers['content-type']);
  const value = readJson(text);
  if (value !== undefined) return read(value);
  return fault(isBeyondReading(text) ? 'the body is nested too deep' : 'the body is not JSON');
}

/** Whether the headers, with lower-case names, declare the body as a form. */
export function isForm(headers: Readonly<Record<string, string>>): boolean {
  return /^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(headers['content-type'] ?? '');
}

/** Whether the headers, with lower-case names, declare the body as a form with parts, whose bytes may not be UTF-8. */
export function isMultipart(headers: Readonly<Record<string, string>>): boolean {
  return /^multipart\/form-data\s*(?:;|$)/i.test(headers['content-type'] ?? '');
}

/** Says that a body is compressed, which the gateway does not undo; undefined if it is not. */
export function compressedBy(headers: Readonly<Record<string, string>>): string | undefined {
  const [coding] = compressions.exec(headers['content-encoding'] ?? '') ?? [];
  if (coding === undefined) return undefined;
  return `the body is compressed (content-encoding: ${coding}); let the sender, or the proxy before the gateway, send it uncompressed`;
}

/** Data that is not an object is wrapped in one; what is not JSON is text. */
function dataOf(text: string): JsonObject {
  if (text === '') return {};
  const value = readJson(text) ?? text;
  if (isJsonObject(value)) return value;
  return Array.isArray(value) ? { items: value } : { data: value };
}

/** The most events of one body. Azure Event Grid sends 5,000 in a batch, others fewer. */
export const maxItems = 10_000;

export type SplitBody =
  | { readonly ok: true; readonly items: readonly JsonObject[] }
  | { readonly ok: false; readonly why: string; readonly isTooLong?: true };

/**
 * Returns the events of a body, or why it cannot be split; undefined if the body is one event.
 * @param path where the array is in a body that is an object
 */
export function splitItems(
  { value, items: given }: Extract<ParsedBody, { ok: true }>,
  path?: string,
): SplitBody | undefined {
  const items = given ?? (path === undefined ? undefined : lookUp(value, path));
  if (!Array.isArray(items)) return undefined;
  if (items.length > maxItems)
    return { ok: false, why: `the body has ${items.length} events; at most ${maxItems} are taken`, isTooLong: true };
  const strange = items.findIndex((item) => !isJsonObject(item));
  if (strange >= 0) return { ok: false, why: `item ${strange + 1} of the body is not an object` };
  return { ok: true, items: items as readonly JsonObject[] };
}

/** The payload without the credential that its sender puts into each item; the same payload if there is none. */
export function withoutCredential(payload: JsonObject, { items, omit }: BodyRule): JsonObject {
  const held = items === undefined ? undefined : payload[items];
  if (omit === undefined || items === undefined || !Array.isArray(held)) return payload;
  const kept = held.map((item: Json) => {
    if (!isJsonObject(item)) return item;
    const { [omit]: _, ...rest } = item;
    return rest;
  });
  return { ...payload, [items]: kept };
}

/** The payload with the texts read that encode another value: JSON, or base64 in either of its alphabets. */
export function unpacked(payload: JsonObject, { json, base64 }: Pick<BodyRule, 'json' | 'base64'>): JsonObject {
  if (base64 === undefined) return json === undefined ? payload : withJsonRead(payload, json);
  const [key = '', inner = ''] = base64.split('.');
  const held = payload[key];
  if (!isJsonObject(held)) return payload;
  const encoded = held[inner];
  const isEncoded = typeof encoded === 'string' && /^[\w+/-]*={0,2}$/.test(encoded);
  // Bytes that are no text stay encoded.
  const text = isEncoded ? decodeBody(Buffer.from(encoded, 'base64')) : undefined;
  return text === undefined ? payload : { ...payload, [key]: withJsonRead({ ...held, [inner]: text }, inner) };
}

/** Replaces a text that is a JSON object or array by its value. */
function withJsonRead(payload: JsonObject, key: string): JsonObject {
  const text = payload[key];
  const value = typeof text === 'string' && beginsAsJson.test(text) ? readJson(text) : undefined;
  return value === undefined ? payload : { ...payload, [key]: value };
}

/**
 * A `payload` field contains the complete payload as JSON; other forms become an object of their fields. Clients without a
 * content type declare JSON as a form (`curl -d`), so text that parses as an object or an array is JSON.
 */
function parseForm(text: string, read: (value: Json) => ParsedBody, type?: string): ParsedBody {
  const json = beginsAsJson.test(text) ? readJson(text) : undefined;
  if (json !== undefined) return read(json);
  if (hasMoreFieldsThan(maxFields, text)) return { ok: false, why: `the form has more than ${maxFields} fields` };
  const fields = new URLSearchParams(text);
  const payload = fields.get('payload');
  if (payload !== null) return readPayload(payload, read);
  return objectOf(isUtf8Form(text) ? fields : new URLSearchParams(inOwnCharset(text, type)));
}

/** The same of a form with parts. The journal keeps such a form as the JSON of its payload, so that is read too. */
function readMultipart(body: string | Uint8Array, read: (value: Json) => ParsedBody, type = ''): ParsedBody {
  // A form begins with its boundary, unless a text for people is before that.
  const text = typeof body === 'string' ? body : body[0] === 0x2d ? undefined : decodeBody(body);
  const json = text !== undefined && beginsAsJson.test(text) ? readJson(text) : undefined;
  if (json !== undefined) return read(json);
  const bytes = typeof body === 'string' ? Buffer.from(body) : Buffer.from(body.buffer, body.byteOffset, body.length);
  const form = parseMultipart(bytes, type, maxFields);
  if (!form.ok) return form;
  const [, payload] = form.fields.find(([name]) => name === 'payload') ?? [];
  const held = payload !== undefined && isJsonObject(payload) ? payload.text : payload;
  return typeof held === 'string' ? readPayload(held, read) : objectOf(form.fields);
}

function readPayload(payload: string, read: (value: Json) => ParsedBody): ParsedBody {
  const value = readJson(payload);
  return value === undefined ? { ok: false, why: 'the payload field of the form is not JSON' } : read(value);
}

/** The values of a repeated name are a list. */
function objectOf(fields: Iterable<readonly [name: string, value: Json]>): ParsedBody {
  const values = new Map<string, Json>();
  const lists = new Map<string, Json[]>();
  for (const [name, value] of fields) {
    const before = values.get(name);
    if (before === undefined) values.set(name, value);
    else {
      const list = lists.get(name) ?? [before];
      list.push(value);
      lists.set(name, list);
      values.set(name, list);
    }
  }
  if (values.size === 0) return { ok: false, why: 'the form is empty' };
  return { ok: true, value: Object.fromEntries(values) };
}

/** Whether the escapes of a form are UTF-8; linear, since anyone may send a form. */
export function isUtf8Form(form: string): boolean {
  return !escapedByte.test(form) || decodeBody(bytesOf(form)) !== undefined;
}

/**
 * A form whose escapes are not UTF-8, as old PHP pages and PayPal's IPN send it, in the charset of its content type or else in
 * the web's former one: as UTF-8, every such letter would be lost. The `payload` of a form may be signed alone, so it is read
 * as it is verified.
 */
function inOwnCharset(form: string, type = ''): string {
  const bytes = bytesOf(form);
  const [, label] = charset.exec(type) ?? [];
  return (label === undefined ? undefined : decoderOf(label)?.decode(bytes)) ?? decodeWindows1252(bytes);
}

/**
 * The bytes of a form, with the escapes from 0x40 decoded: all of letters outside of ASCII, whose last byte may be one of its
 * own, and no `%`, `&`, `+` or `=`.
 */
function bytesOf(form: string): Buffer {
  const bytes = Buffer.from(form);
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    let byte = bytes[at] ?? 0;
    if (byte === 0x25) {
      const high = digitOf(bytes[at + 1]);
      const low = digitOf(bytes[at + 2]);
      if (high >= 4 && low >= 0) {
        byte = high * 16 + low;
        at += 2;
      }
    }
    bytes[length] = byte;
    length += 1;
  }
  return bytes.subarray(0, length);
}

/** The value of a hexadecimal digit; -1 if it is none. */
function digitOf(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

/**
 * A body, and the payload of a form that has no other field. With another one, a signed payload could stand beside JSON or a
 * payload that is read instead of it.
 */
export function bodyAndPayload({
  headers,
  body,
}: {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}): readonly Uint8Array[] {
  if (!isForm(headers)) return [body];
  const text = Buffer.from(body).toString('utf8');
  if (!/^payload=[^&]*$/.test(text)) return [body];
  return [body, Buffer.from(new URLSearchParams(text).get('payload') ?? '', 'utf8')];
}

/**
 * The payload as people read it: a form as the JSON of its payload, a message of Pub/Sub with its data decoded, any other body
 * as it came.
 */
export function readablePayload(body: string, headers: Readonly<Record<string, string>>): string {
  const isEnveloped = body.includes('"subscription"') && body.includes('"messageId"');
  const envelope = isEnveloped ? readJson(body) : undefined;
  if (isJsonObject(envelope)) {
    const message = unpacked(envelope, sources['google-pubsub'].body);
    return message === envelope ? body : stringify(message);
  }
  if (!isForm(headers) || beginsAsJson.test(body)) return body;
  const form = parseForm(body, readArray, headers['content-type']);
  return form.ok ? stringify(form.value) : body;
}

/** Counts before decoding anything. */
export function hasMoreFieldsThan(max: number, form: string): boolean {
  let count = 1;
  for (let at = form.indexOf('&'); at >= 0 && count <= max; at = form.indexOf('&', at + 1)) count += 1;
  return count > max;
}

function readObject(value: Json): ParsedBody {
  if (isJsonObject(value)) return { ok: true, value };
  return {
    ok: false,
    why: Array.isArray(value)
      ? 'the body is an array; set body: each on the route to take an event from each item, or body: raw'
      : 'the body is JSON but not an object',
  };
}

function readArray(value: Json): ParsedBody {
  if (Array.isArray(value)) return { ok: true, value: { items: value }, items: value };
  return isJsonObject(value)
    ? { ok: true, value }
    : { ok: false, why: 'the body is JSON but neither an object nor an array' };
}
