/**
 * How a sender signs its requests, as data: declared by `signature:` on a route, or built into a source. Computes nothing;
 * reads only the prefix of a secret.
 * @see SRC-2 in docs/specification.md
 */

import { mapping } from './schema-parts.ts';

const algorithms = ['hmac-sha256', 'hmac-sha1', 'hmac-sha512', 'ed25519', 'ecdsa-sha256', 'token'] as const;
const lists = ['commas', 'semicolons', 'spaces'] as const;
/** `rsa`: with a certificate that the provider publishes; `jwt`: a token that it signs. Both only for built-in sources. */
export type Algorithm = (typeof algorithms)[number] | 'rsa' | 'jwt';

/** Where a request has a text. */
export type Place =
  | { readonly header: string }
  /** A dotted path in the body; values other than text and numbers count as absent. */
  | {
      readonly field: string;
      /** The path of an array: the text that all its items have there; absent if they differ. */
      readonly of?: string;
    }
  | { readonly query: string };

export interface Timestamp {
  /** A separate place, or a part of the signature header (`t=…,v1=…`). */
  readonly at: Place | { readonly part: string };
  /** `iso`: RFC 3339. */
  readonly unit: 's' | 'ms' | 'iso';
  readonly toleranceSeconds: number;
}

export interface JwtRule {
  /** The issuer, in each form of its name. */
  readonly issuers: readonly string[];
  /** Where the issuer publishes its keys: a JWK set, or an object of certificates. */
  readonly keysUrl: string;
  /** `email`: the secret is the service account of the token, whose audience is the address of the route. */
  readonly secretIs: 'audience' | 'email';
}

export interface SignatureScheme {
  readonly at: Place;
  /** Another place for a signature of the same content, by another key: either one is enough. */
  readonly alsoAt?: Place;
  /** `token`: the secret itself is sent. */
  readonly algorithm: Algorithm;
  readonly encoding: 'hex' | 'base64';
  readonly prefix?: string;
  /** The label of a signature in a list; if there are several, one valid signature is enough. */
  readonly part?: string;
  /** The format of the list: `label=value,…`, `label=value;…` or `label,value …`. */
  readonly list?: (typeof lists)[number];
  /** The signed text, with the tokens {id}, {timestamp}, {method}, {url} and {body}. */
  readonly signed: string;
  /** The signed form, if no such text describes it; `signed` then describes it for people. */
  readonly form?: 'twilio' | 'paypal' | 'sns';
  /** Of `jwt`: what the token must contain. */
  readonly jwt?: JwtRule;
  /** Whether a form may be signed by its payload, as if that were the body. */
  readonly signsPayload?: true;
  /** Whether {url} may be signed with some of its escapes decoded. */
  readonly decodesUrl?: true;
  /** What the secret is: the key itself or the encoded key, after an optional `whsec_`. */
  readonly key: 'text' | 'base64' | 'hex';
  readonly id?: Place;
  /** The place of {timestamp}, whose value is checked. */
  readonly timestamp?: Timestamp;
  /** What is different if the secret begins with `whpk_` and is therefore a public key. */
  readonly byPublicKey?: Pick<SignatureScheme, 'algorithm' | 'part'>;
}

/** The prefix of public keys in Standard Webhooks. No other scheme may use one as a secret, because it is not secret. */
export const publicKeyPrefix = 'whpk_';

export function schemeWith(scheme: SignatureScheme, secret: string | undefined): SignatureScheme {
  return scheme.byPublicKey !== undefined && secret?.startsWith(publicKeyPrefix) === true
    ? { ...scheme, ...scheme.byPublicKey }
    : scheme;
}

const text = { type: 'string', minLength: 1 } as const;

export const placeSchema = {
  ...mapping,
  properties: {
    header: { ...text, description: 'A header of the request.' },
    field: { ...text, description: 'A dotted path in the body.' },
  },
} as const;

export const signatureSchema = {
  ...mapping,
  description: 'How the sender signs, where no source says so; beside source: grafana, the names of its headers.',
  properties: {
    header: { ...text, description: 'The header that holds the signature or the token.' },
    query: { ...text, description: 'Instead of header: the query parameter of the address that holds the token.' },
    algorithm: {
      enum: algorithms,
      default: 'hmac-sha256',
      description: '`token`: the header or the query parameter holds the secret itself.',
    },
    encoding: { enum: ['hex', 'base64'], default: 'hex', description: 'How the signature is written.' },
    prefix: { ...text, description: 'Text before the signature, such as sha256=.' },
    part: { ...text, description: 'Label of the signature in a list, such as v1.' },
    list: {
      enum: lists,
      default: 'commas',
      description: 'label=value,…, label=value;… or label,value …',
    },
    signed: {
      ...text,
      default: '{body}',
      description: 'The signed text, with {id}, {timestamp}, {method}, {url} and {body}.',
    },
    key: { enum: ['text', 'base64', 'hex'], default: 'text', description: 'How the secret is written.' },
    id: { ...placeSchema, description: 'Where {id} is.' },
    timestamp: {
      ...mapping,
      properties: {
        ...placeSchema.properties,
        part: { ...text, description: 'Label in the list of the signature’s header.' },
        unit: {
          enum: ['s', 'ms', 'iso'],
          default: 's',
          description: 'Seconds or milliseconds since 1970, or the time as RFC 3339 has it.',
        },
        tolerance_seconds: {
          type: 'number',
          exclusiveMinimum: 0,
          default: 300,
          description: 'How far it may differ from the clock.',
        },
      },
      description: 'Where the time of the request is, and how far it may differ from the clock.',
    },
  },
} as const;
