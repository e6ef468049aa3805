/**
 * Reads how a route's sender signs: its source or its own scheme, and where its ids are. Reports what cannot be used, and a
 * secret that looks like another kind. Never shows a secret.
 * @see SRC-1, SRC-2 and IDM-2 in docs/specification.md
 */

import { defined, isJsonObject, type JsonObject } from '../base/json.ts';
import { type Declared, declared } from './declared.ts';
import type { ConfigPath } from './document.ts';
import { unresolvedReference } from './interpolate.ts';
import type { Route } from './route.ts';
import {
  type Algorithm,
  type Place,
  publicKeyPrefix,
  type SignatureScheme,
  schemeWith,
  signatureSchema,
  type Timestamp,
} from './signature-scheme.ts';
import { isAsymmetric, type Source, type SourceName, sourceOf } from './sources.ts';

export type Refuse = (path: ConfigPath, message: string, code: string) => void;

/** What a route's keys `source`, `signature` and `delivery_id` are read into. */
export type Signing = Pick<Route, 'sender' | 'signature' | 'deliveryIdAt' | 'publicUrl'>;

/** Well-known API keys, none of which signs webhooks. */
const apiKeys: readonly (readonly [form: RegExp, words: string])[] = [
  [/^[spr]k_(?:live|test)_/, 'an API key of Stripe'],
  [/^(?:gh[opsu]|github_pat)_/, 'an access token of GitHub'],
  [/^glpat-/, 'an access token of GitLab'],
  [/^(?:xox[abeprs]|xapp)-/, 'a token of a Slack app'],
  [/^lin_(?:api|oauth)_/, 'an API key of Linear'],
  [/^shp(?:at|ca|pa)_/, 'an access token of Shopify'],
  [/^SG\./, 'an API key of SendGrid'],
  [/^AKIA/, 'an access key of AWS'],
  [/^re_\w{8}_/, 'an API key of Resend'],
  [/^sk-/, 'an API key of a model provider'],
  [/^\d{6,12}:AA/, 'the token of a Telegram bot'],
];

/** What kind of API key a secret looks like, such as `an API key of Stripe`; undefined if it looks like none. */
export function apiKeyWords(secret: string): string | undefined {
  return apiKeys.find(([form]) => form.test(secret))?.[1];
}

export function readSigning(
  written: JsonObject,
  { publicUrl, unread }: { readonly publicUrl?: string | undefined; readonly unread: (key: string) => boolean },
  refuse: Refuse,
): Signing {
  const sender = unread('source') ? undefined : (written.source as SourceName | undefined);
  const given = unread('signature') ? undefined : written.signature;
  const source = sourceOf(sender);
  if (source !== undefined && given !== undefined && source.timed === undefined) {
    refuse(['signature'], 'sets signature together with source; keep one of them', 'signature-with-source');
  }
  const readIt = source?.timed === undefined ? readScheme : readNames(source);
  const signature = isJsonObject(given) ? readIt(given, refuse) : undefined;
  const at = unread('delivery_id') || !isJsonObject(written.delivery_id) ? undefined : written.delivery_id;
  // The id that a signature covers is the delivery's, unless the route says otherwise.
  const deliveryIdAt = at === undefined ? signature?.id : readPlace(at, ['delivery_id'], refuse);
  const token = unread('verify_token') ? '' : written.verify_token;
  const isSecret = source?.secretKey === 'verify_token';
  if (token === undefined && (source?.handshake === 'meta' || isSecret)) {
    refuse(
      ['source'],
      isSecret
        ? `needs a verify_token: ${source?.secret.is}`
        : 'needs a verify_token: the text that you type beside the callback URL, which Meta repeats when it asks for it',
      'verify-token-missing',
    );
  }
  if (isSecret && written.secret !== undefined) {
    refuse(['secret'], `has a secret, which ${source?.title} does not know; give verify_token alone`, 'secret-unused');
  }
  const unset = typeof token === 'string' ? unresolvedReference(token) : undefined;
  if (unset !== undefined) {
    refuse(
      ['verify_token'],
      `has a verify_token that refers to "${unset}", which is not set; set ${unset} in the profile's .env or in the environment`,
      'secret-unresolved',
    );
  }
  const schemes = signature === undefined ? source?.schemes : [signature];
  const needsUrl = schemes?.some(({ signed }) => signed.includes('{url}')) === true;
  if (needsUrl && publicUrl === undefined) {
    refuse(
      [sender === undefined ? 'signature' : 'source'],
      'needs the address that its sender posts to, which the signature covers; set platforms.webhook.extra.public_url, such as https://hooks.example.com',
      'public-url-missing',
    );
  }
  return {
    ...(sender === undefined ? {} : { sender }),
    ...(signature === undefined ? {} : { signature }),
    ...(deliveryIdAt === undefined ? {} : { deliveryIdAt }),
    ...(needsUrl && publicUrl !== undefined ? { publicUrl } : {}),
  };
}

/** Why a secret does not fit its source or scheme, as the predicate of a sentence. */
interface DoubtfulSecret {
  readonly why: string;
  /** Whether it can verify nothing. Otherwise only its form is unusual, and a provider may change that. */
  readonly isCertain: boolean;
}

export function doubtfulSecret(secret: string, { sender, signature }: Signing): DoubtfulSecret | undefined {
  const source = sourceOf(sender);
  const key = doubtfulKey(secret, signature === undefined ? (source?.schemes ?? []) : [signature]);
  if (key !== undefined) return { why: key, isCertain: true };
  const form = signature && publicKeyForms[signature.algorithm];
  if (form?.test(secret.replace(/-----(?:BEGIN|END) PUBLIC KEY-----|\s/g, '')) === false) {
    const { algorithm } = signature as SignatureScheme;
    const why = `has a secret that is no public key of its sender, by which ${algorithm} is verified: ${keyWords[algorithm]}`;
    return { why, isCertain: true };
  }
  if (source === undefined) return undefined;
  const { title, secret: right, schemes } = source;
  const isCertain = !schemes.some(({ algorithm }) => algorithm.startsWith('hmac-') || algorithm === 'token');
  if (right.looks !== undefined && isCertain && !right.looks.test(secret))
    return { why: `has a secret that ${title} does not make; it signs with ${right.is}`, isCertain };
  if (apiKeyWords(secret) !== undefined)
    return { why: `has what looks like an API key as its secret; ${title} signs with ${right.is}`, isCertain: false };
  if (right.looks !== undefined && !right.looks.test(secret))
    return { why: `has a secret unlike those of ${title}, which signs with ${right.is}`, isCertain: false };
  const isStandard = schemes.some(({ key }) => key === 'base64');
  if (right.looks === undefined && !isStandard && secret.startsWith('whsec_')) {
    const why = `has a secret that begins with whsec_, as those of Stripe and Standard Webhooks do; ${title} signs with ${right.is}`;
    return { why, isCertain: false };
  }
  return undefined;
}

/** With a public key as the HMAC secret, anyone could sign. */
function doubtfulKey(secret: string, schemes: readonly SignatureScheme[]): string | undefined {
  if (secret.startsWith('whsk_'))
    return `has the private key of its sender as its secret; give the public key, which begins with ${publicKeyPrefix}`;
  if (!secret.startsWith(publicKeyPrefix)) return undefined;
  if (!schemes.some((scheme) => schemeWith(scheme, secret).algorithm === 'ed25519'))
    return 'has a public key as its secret, by which anybody could sign; set source: standard-webhooks or svix, which verify by it';
  return publicKeyForm.test(secret)
    ? undefined
    : `has a malformed public key as its secret: ${publicKeyPrefix} is followed by the base64 of 32 bytes`;
}

/** Whether the sender makes a key pair or a certificate, so that what the route has as its secret is none. */
export function hasPublicSecret({ sender, signature }: Pick<Route, 'sender' | 'signature'>): boolean {
  const schemes = signature === undefined ? (sourceOf(sender)?.schemes ?? []) : [signature];
  return schemes.some(({ algorithm }) => isAsymmetric(algorithm));
}

/**
 * As a provider may show it, without the lines of PEM, in base64 or base64url: the key alone, or a complete
 * SubjectPublicKeyInfo, in which the point of ECDSA may be compressed.
 */
const publicKeyForms: Readonly<Partial<Record<Algorithm, RegExp>>> = {
  ed25519: /^(?:[0-9a-f]{64}|(?:whpk_|MCowBQYDK2VwAyEA)?[\w+/-]{43}=?)$/i,
  'ecdsa-sha256': /^M[\w+/-]{75,}={0,2}$/,
};
const keyWords: Readonly<Partial<Record<Algorithm, string>>> = {
  ed25519: '64 hexadecimal digits, base64, PEM or whpk_…',
  'ecdsa-sha256': 'base64 or PEM',
};

/** 32 bytes are 43 characters of base64. */
const publicKeyForm = new RegExp(`^${publicKeyPrefix}[A-Za-z0-9+/]{43}=?$`);

/** Returns a reader of the header names for a source whose owner chooses them. */
function readNames({ schemes, timed = '', title }: Source): typeof readScheme {
  return (given, refuse) => {
    const { header: _, timestamp: written, ...others } = given;
    const time = isJsonObject(written) ? written : {};
    const { header: __, tolerance_seconds: ___, ...otherTimes } = time;
    const strange = [...Object.keys(others), ...Object.keys(otherTimes).map((key) => `timestamp.${key}`)];
    if (strange.length > 0) {
      const message = `sets signature.${strange[0]}, which ${title} does not let you choose; name header and timestamp.header alone`;
      refuse(['signature'], message, 'signature-with-source');
    }
    const read = declared(signatureSchema, given);
    const [scheme] = schemes;
    const at = placeOfSignature(given, refuse);
    if (at === undefined || scheme === undefined) return undefined;
    const named = { ...scheme, at };
    if (read.timestamp?.header === undefined) return named;
    const { header, tolerance_seconds: toleranceSeconds } = read.timestamp;
    return { ...named, signed: timed, timestamp: { at: { header }, unit: 's', toleranceSeconds } };
  };
}

function readScheme(given: JsonObject, refuse: Refuse): SignatureScheme | undefined {
  const say = (key: string, message: string): void =>
    refuse(['signature', key], `has a signature scheme that cannot be used: ${message}`, 'signature-scheme');
  const read = declared(signatureSchema, given);
  const at = placeOfSignature(given, refuse);
  if (at === undefined) return undefined;
  const { algorithm, signed } = read;
  if ('query' in at && algorithm !== 'token')
    say('query', 'an address can hold a token only; set algorithm: token, or name the header of the signature');
  const timestamp = read.timestamp && readTimestamp(read.timestamp, say);
  const id = isJsonObject(given.id) ? readPlace(given.id, ['signature', 'id'], refuse) : undefined;
  if (signed.split('{body}').length > 2) say('signed', 'it names {body} twice');
  if (!signed.includes('{body}') && algorithm !== 'token')
    say('signed', 'it names no {body}, so that anybody could send another one under a captured signature');
  const [strange] = signed.match(/\{(?!(?:id|timestamp|method|url|body)\})\w+\}/) ?? [];
  if (strange !== undefined)
    say('signed', `it names ${strange}; known are {id}, {timestamp}, {method}, {url} and {body}`);
  if (signed.includes('{timestamp}') && given.timestamp === undefined)
    say('signed', 'it names {timestamp}; set timestamp to say where that is');
  if (signed.includes('{id}') && given.id === undefined) say('signed', 'it names {id}; set id to say where that is');
  const isInBody = timestamp !== undefined && 'field' in timestamp.at;
  if (timestamp !== undefined && !isInBody && !signed.includes('{timestamp}'))
    say('timestamp', 'a time that is not signed protects from nothing; name {timestamp} in signed, or drop it');
  const { header: _, query: __, ...own } = read;
  return defined({ ...own, at, id, timestamp });
}

function placeOfSignature({ header, query }: JsonObject, refuse: Refuse): Place | undefined {
  if (typeof header === 'string' && query === undefined) return { header };
  if (typeof query === 'string' && header === undefined) return { query };
  const message =
    'names no single place of its signature; write signature.header, or signature.query for a token in the address';
  refuse(['signature'], message, 'place-malformed');
  return undefined;
}

type WrittenTimestamp = NonNullable<Declared<typeof signatureSchema>['timestamp']>;

function readTimestamp(given: WrittenTimestamp, say: (key: string, message: string) => void): Timestamp | undefined {
  const places = (['header', 'field', 'part'] as const).filter((key) => given[key] !== undefined);
  const [place] = places;
  if (place === undefined || places.length > 1) {
    say('timestamp', 'timestamp names one place: header, field or part');
    return undefined;
  }
  return {
    at: { [place]: String(given[place]) } as Timestamp['at'],
    unit: given.unit,
    toleranceSeconds: given.tolerance_seconds,
  };
}

function readPlace({ header, field }: JsonObject, path: ConfigPath, refuse: Refuse): Place | undefined {
  if (typeof header === 'string' && field === undefined) return { header };
  if (typeof field === 'string' && header === undefined) return { field };
  refuse(path, `names no single place in ${path.join('.')}; write header or field`, 'place-malformed');
  return undefined;
}
