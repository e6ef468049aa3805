/**
 * The providers' own libraries against which our verifying and signing are held, and the bodies on which. A library that is
 * small is a development dependency; what a larger one made is kept in `oracle-vectors.json`, which `record-oracles.ts` wrote
 * with it.
 * @see SRC-1 in docs/specification.md
 */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { JsonObject } from '../../machines/base/json.ts';
import type { SignatureScheme } from '../../machines/config/signature-scheme.ts';
import { type SourceName, sources } from '../../machines/config/sources.ts';
import { type SignedEvent, signEvent, signsByPrivateKey } from '../../machines/webhook/sign-event.ts';

export interface Oracle {
  readonly source: SourceName;
  readonly library: string;
  /** `library`: it signs; `key`: a key pair of the spec, because only the provider can sign; absent where it verifies alone. */
  readonly signs?: 'library' | 'key';
  /** What the library cannot do on each body, so that those are left out of what it signs. */
  readonly without?: readonly TextName[];
  /** Kept in `oracle-vectors.json`. */
  readonly isRecorded?: true;
}

export const oracles: readonly Oracle[] = [
  { source: 'github', library: '@octokit/webhooks-methods', signs: 'library', without: ['nothing'] },
  { source: 'standard-webhooks', library: 'standardwebhooks', signs: 'library' },
  { source: 'svix', library: 'svix', signs: 'library' },
  { source: 'notion', library: '@notionhq/client', signs: 'library' },
  { source: 'linear', library: '@linear/sdk' },
  { source: 'discord', library: 'discord-interactions', signs: 'key' },
  { source: 'sendgrid', library: '@sendgrid/eventwebhook', signs: 'library' },
  { source: 'aws-sns', library: 'sns-validator', signs: 'key' },
  { source: 'stripe', library: 'stripe', signs: 'library', without: ['nothing'], isRecorded: true },
  { source: 'twilio', library: 'twilio', signs: 'library', isRecorded: true },
  { source: 'hubspot', library: '@hubspot/api-client', signs: 'library', isRecorded: true },
  { source: 'slack', library: '@slack/bolt', isRecorded: true },
  { source: 'square', library: 'square', isRecorded: true },
  { source: 'shopify', library: '@shopify/shopify-api', isRecorded: true },
  { source: 'line', library: '@line/bot-sdk', isRecorded: true },
  { source: 'paddle', library: '@paddle/paddle-node-sdk', isRecorded: true },
];

/** Objects, which both sides can send. */
export const payloads: Readonly<Record<string, JsonObject>> = {
  empty: {},
  short: { a: 1 },
  latin: { greeting: 'Grüße aus Köln — ß, ñ, å' },
  cjk: { text: '世界、こんにちは', name: '한국어' },
  emoji: { text: '👩‍👩‍👧‍👦 🎉', flag: '🇪🇺' },
  combining: { text: 'e\u0301 a\u0308 \u200b\u202e' },
  separators: { text: 'a\u2028b\u2029c' },
  controls: { text: '\u0000\u0001\b\t\n\f\r\u001f\u007f' },
  quotes: { text: '"double", \'single\', \\backslash\\ and /slash' },
  markup: { html: '<script>alert("&amp;")</script>' },
  percent: { text: '100%41 + & = ? # %zz' },
  timed: { text: '1700000000.{"a":1} v0:1700000000:' },
  numbers: { a: 0, b: -1, c: 1.5e300, d: 9_007_199_254_740_991, e: 0.1 },
  literals: { yes: true, no: false, none: null },
  nested: JSON.parse(`${'{"a":['.repeat(40)}1${']}'.repeat(40)}`) as JsonObject,
  list: { items: Array.from({ length: 50 }, (_, id) => ({ id, name: `item ${id}` })) },
  'long key': { ['k'.repeat(500)]: 'v' },
  'beyond 64 KiB': { text: 'ä'.repeat(40_000) },
  large: { text: 'x'.repeat(300_000) },
};

/** What no JSON.stringify makes. */
export const texts = {
  nothing: '',
  space: ' {"a" : 1}\n',
  lines: '{\r\n\t"a": "b"\r\n}\r\n',
  escapes: '{"a":"\\u00fc\\u0041\\/"}',
  array: '[{"a":1},{"a":2}]',
  form: 'a=1&b=%20&c=%C3%BC',
  mark: '\ufeff{"a":1}',
} as const;
export type TextName = keyof typeof texts;

/** The texts of a form: Twilio sends no object in it. */
export const forms: Readonly<Record<string, JsonObject>> = {
  empty: { Body: '' },
  message: { MessageSid: 'SM1', From: '+15551234567', To: '+15557654321', Body: 'Hello' },
  ...Object.fromEntries(
    ['latin', 'cjk', 'emoji', 'combining', 'separators', 'quotes', 'markup', 'percent', 'timed'].map((name) => [
      name,
      { MessageSid: 'SM1', Body: String(Object.values(payloads[name] ?? {})[0]) },
    ]),
  ),
  controls: { Body: '\t\n\u0001' },
  spaces: { Body: '  two  spaces  ', Empty: '', Plus: '+ +' },
  capitals: { b: '1', B: '2', a: '3', A: '4', _: '5', 0: '6' },
  'long value': { Body: 'x'.repeat(20_000) },
  many: Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`Field${index}`, `value ${index}`])),
};

export const publicUrl = 'https://hooks.example.com';
export const path = '/webhooks/in';
/** Of recorded signatures. */
export const recordedAtMs = 1_700_000_000_000;
const hexSecret = '0f1e2d3c4b5a69788796a5b4c3d2e1f0';
const id = 'msg_2KWPBgLlAfxdpx2AI54pPJ85f4W';

/** The secret of a provider that knows one; a public key is the spec's to make. */
export function secretOf(source: SourceName): string {
  if (source === 'stripe') return 'whsec_c3RyaXBlIHNlY3JldCBvZiB0aGUgc3BlYw';
  const isStandard = (sources[source].schemes as readonly SignatureScheme[]).some(({ key }) => key === 'base64');
  return isStandard ? `whsec_${Buffer.from(`key of ${hexSecret}`).toString('base64')}` : hexSecret;
}

/** The bodies that a library signs. */
export function bodiesOf({ source, without = [] }: Oracle): Readonly<Record<string, string>> {
  const objects = Object.entries(source === 'twilio' ? forms : payloads).map(([name, payload]) => [
    name,
    source === 'twilio' ? new URLSearchParams(payload as Record<string, string>).toString() : JSON.stringify(payload),
  ]);
  const others = Object.entries(texts).filter(([name]) => !without.includes(name as TextName));
  return Object.fromEntries([...objects, ...others.map(([name, text]) => [`text: ${name}`, text])]);
}

/** What we sign. */
export function payloadsOf({ source }: Oracle): Readonly<Record<string, JsonObject>> {
  return source === 'twilio' ? forms : payloads;
}

/** Signs a payload as ours; undefined where only the provider can. */
export function sealed(
  { source }: Oracle,
  secret: string,
  payload: JsonObject,
  nowMs: number,
): SignedEvent | undefined {
  const [scheme] = sources[source].schemes as readonly SignatureScheme[];
  if (scheme === undefined || signsByPrivateKey(scheme.algorithm)) return undefined;
  return signEvent(scheme, { name: source, secret, publicUrl }, { payload, id, isIdInside: true, path, nowMs });
}

/** A request with a signature that was made elsewhere. */
export function sentWith({ source }: Oracle, body: string, signature: string, nowMs: number): SignedEvent {
  const [scheme] = sources[source].schemes as readonly SignatureScheme[];
  if (scheme === undefined || !('header' in scheme.at)) return { headers: {}, body };
  const headers: Record<string, string> = { [scheme.at.header]: signature };
  if (scheme.id !== undefined && 'header' in scheme.id) headers[scheme.id.header] = id;
  const { at, unit } = scheme.timestamp ?? { at: {}, unit: 's' };
  if ('header' in at) headers[at.header] = String(unit === 'ms' ? nowMs : Math.floor(nowMs / 1_000));
  if (source !== 'twilio') return { headers, body };
  if (Object.values(texts).includes(body as never)) return { headers, body, query: digestQuery(body) };
  return { headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' }, body };
}

/** Of a body of Twilio that is no form. */
export function digestQuery(body: string): string {
  return `bodySHA256=${createHash('sha256').update(body).digest('hex')}`;
}

/** The header that holds a provider's signature. */
export function signatureHeader({ source }: Oracle): string {
  const [scheme] = sources[source].schemes as readonly SignatureScheme[];
  return scheme !== undefined && 'header' in scheme.at ? scheme.at.header : '';
}

export interface Vectors {
  readonly version: string;
  /** What was called: to sign where the library can, and to verify. */
  readonly calls: readonly string[];
  /** By the name of the body. */
  readonly signatures: Readonly<Record<string, string>>;
}

export function recordedVectors(): Readonly<Record<string, Vectors>> {
  return JSON.parse(readFileSync('spec/support/oracle-vectors.json', 'utf8'));
}

/** The version that the specs run with. */
export function versionOf({ library, isRecorded }: Oracle): string {
  if (isRecorded) return recordedVectors()[library]?.version ?? '';
  const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  return devDependencies[library] ?? '';
}

/** How many bodies each side signs; both judge each of them, and each altered. */
export function casesOf(oracle: Oracle): { readonly theirs: number; readonly ours: number } {
  const [scheme] = sources[oracle.source].schemes as readonly SignatureScheme[];
  const isOurs = scheme !== undefined && !signsByPrivateKey(scheme.algorithm);
  return {
    theirs: oracle.signs === undefined ? 0 : Object.keys(bodiesOf(oracle)).length,
    ours: isOurs ? Object.keys(payloadsOf(oracle)).length : 0,
  };
}
