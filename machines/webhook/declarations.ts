/**
 * What a route would have to declare under `signature:` for a request that its schemes do not cover: the secret itself in a
 * header or the address, or an HMAC in a header, with or without a time. Verifies nothing.
 * @see SRC-5 in docs/specification.md
 */

import type { JsonObject } from '../base/json.ts';
import type { SignedRequest } from './signature.ts';

const hmacs: ReadonlyMap<number, JsonObject> = new Map([
  [20, { algorithm: 'hmac-sha1' }],
  [32, {}],
  [64, { algorithm: 'hmac-sha512' }],
]);
const timed = [
  '{timestamp}.{body}',
  '{timestamp}{body}',
  '{timestamp}:{body}',
  'v0:{timestamp}:{body}',
  '{body}{timestamp}',
];
/** Of each kind, in the order of the request: an untrusted sender must not cause more work. */
const max = { headers: 64, signatures: 2, times: 2, parameters: 16 } as const;
const maxValueLength = 512;

/** The declarations to try, each as it is written in the configuration. */
export function declarations({ headers, query = '' }: SignedRequest): readonly JsonObject[] {
  const given = Object.entries(headers)
    .filter(([, value]) => value.length <= maxValueLength)
    .slice(0, max.headers);
  const times = given.flatMap(([header, value]) => timeOf({ header }, value)).slice(0, max.times);
  const inAddress = [...new URLSearchParams(query).keys()].filter((name) => /^[\w-]{1,64}$/.test(name));
  return [
    ...given
      .map(([header, value]) => signedBy(header, value, times))
      .filter(({ length }) => length > 0)
      .slice(0, max.signatures)
      .flat(),
    ...given.map(([header, value]) => ({ header, ...token, ...prefixOf(/^[A-Za-z]+ /.exec(value)?.[0]) })),
    ...inAddress.slice(0, max.parameters).map((name) => ({ query: name, ...token })),
  ];
}

/** A declaration as YAML on one line. */
export function written(declaration: JsonObject): string {
  const members = Object.entries(declaration).map(([key, value]) => {
    const text = typeof value === 'string' ? value : '';
    return `${key}: ${text === '' ? written(value as JsonObject) : plain.test(text) ? text : `'${text.replaceAll("'", "''")}'`}`;
  });
  return `{ ${members.join(', ')} }`;
}

/** What YAML reads as a text without quotes. */
const plain = /^(?!(?:true|false|null)$)[a-z][\w-]*$/i;
const token = { algorithm: 'token' };

function prefixOf(prefix: string | undefined): JsonObject {
  return prefix === undefined ? {} : { prefix };
}

function timeOf(place: JsonObject, text: string): JsonObject[] {
  if (/^\d{4}-\d\d-\d\dT[\d:.]{8,18}(?:Z|[+-]\d\d:\d\d)$/.test(text)) return [{ ...place, unit: 'iso' }];
  if (!/^\d{10}(?:\d{3})?$/.test(text)) return [];
  return [{ ...place, ...(text.length > 10 ? { unit: 'ms' } : {}) }];
}

function signedBy(header: string, value: string, times: readonly JsonObject[]): readonly JsonObject[] {
  const parts = value.split(/[,;] */).map((text) => /^(?:([A-Za-z]\w{0,31})=)?([\w+/-]+={0,2})$/.exec(text));
  const [time] = parts.flatMap((part) => (part?.[1] === undefined ? [] : timeOf({ part: part[1] }, part[2] ?? '')));
  for (const part of parts) {
    const [, label, text = ''] = part ?? [];
    const form = hmacOf(text);
    if (form === undefined) continue;
    if (time === undefined) {
      const alone = { header, ...form, ...prefixOf(label && `${label}=`) };
      return [alone, ...times.flatMap((timestamp) => timed.map((signed) => ({ ...alone, signed, timestamp })))];
    }
    const list = value.includes(';') ? { list: 'semicolons' } : {};
    return label === undefined
      ? []
      : timed.map((signed) => ({ header, ...form, part: label, ...list, signed, timestamp: time }));
  }
  return [];
}

function hmacOf(text: string): JsonObject | undefined {
  const isHex = /^(?:[0-9a-f]{2})+$/i.test(text);
  const form = hmacs.get(isHex ? text.length / 2 : Math.floor((text.replace(/=+$/, '').length * 3) / 4));
  return form && { ...form, ...(isHex ? {} : { encoding: 'base64' }) };
}
