/**
 * Reads a request's payload from its text: JSON, or a form as GitHub can send it. Always an object, or a refusal that
 * says why. Knows no route.
 * @see LIM-3 and SEC-3 in docs/specification.md
 */

import { isJsonObject, type JsonObject } from '../base/json.ts';
import { readJson } from '../base/read-json.ts';

export type ParsedBody =
  | { readonly ok: true; readonly value: JsonObject }
  | { readonly ok: false; readonly why: string };

const decoder = new TextDecoder('utf-8', { fatal: true });
const formType = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;
const beginsAsObject = /^\s*\{/;
/** No known sender's form has more than a few dozen; each costs far more than its bytes. */
export const mostFields = 1_000;

/** @param text the decoded body; undefined where it is not UTF-8 */
export function parseBody(text: string | undefined, contentType: string | undefined): ParsedBody {
  if (text === undefined) return { ok: false, why: 'the body is not UTF-8' };
  if (contentType !== undefined && formType.test(contentType)) return parseForm(text);
  return parseObject(text);
}

/**
 * A `payload` field holds the whole payload as JSON; other forms become an object of their fields. Clients that are given
 * no type call JSON a form (`curl -d`), so what reads as an object is one.
 */
function parseForm(text: string): ParsedBody {
  if (beginsAsObject.test(text)) {
    const object = parseObject(text);
    if (object.ok) return object;
  }
  if (hasMoreThan(mostFields, text)) return { ok: false, why: `the form has more than ${mostFields} fields` };
  const fields = new URLSearchParams(text);
  const payload = fields.get('payload');
  if (payload !== null) return parseObject(payload);
  const values = new Map<string, string | string[]>();
  for (const [name, value] of fields) {
    const before = values.get(name);
    if (Array.isArray(before)) before.push(value);
    else values.set(name, before === undefined ? value : [before, value]);
  }
  if (values.size === 0) return { ok: false, why: 'the form is empty' };
  return { ok: true, value: Object.fromEntries(values) };
}

/** Counted before anything is decoded. */
function hasMoreThan(most: number, form: string): boolean {
  let count = 1;
  for (let at = form.indexOf('&'); at >= 0 && count <= most; at = form.indexOf('&', at + 1)) count += 1;
  return count > most;
}

function parseObject(text: string): ParsedBody {
  const value = readJson(text);
  if (value === undefined) return { ok: false, why: 'the body is not JSON' };
  return isJsonObject(value) ? { ok: true, value } : { ok: false, why: 'the body is JSON but not an object' };
}

/** Decodes a body; undefined where it is not UTF-8. */
export function decodeBody(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}
