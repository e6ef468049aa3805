/**
 * How a sender signs its requests, as data: what `signature:` on a route declares by hand and what a source brings along.
 * Computes nothing; of a secret it reads how it begins.
 * @see SRC-2 in docs/specification.md
 */

export const algorithms = ['hmac-sha256', 'hmac-sha1', 'hmac-sha512', 'ed25519', 'ecdsa-sha256', 'token'] as const;
/** `rsa`: by a certificate that the provider publishes; a source alone has it. */
export type Algorithm = (typeof algorithms)[number] | 'rsa';

/** Where one text of a request stands. */
export type Place =
  | { readonly header: string }
  /** A dotted path in the body; what is no text and no number is nothing. */
  | {
      readonly field: string;
      /** The path of an array: the text that each of its items has there; nothing where they differ. */
      readonly of?: string;
    }
  | { readonly query: string };

export interface Timestamp {
  /** A place of its own, or a part of the signature's header beside the signature (`t=…,v1=…`). */
  readonly at: Place | { readonly part: string };
  /** `iso`: RFC 3339. */
  readonly unit: 's' | 'ms' | 'iso';
  readonly toleranceSeconds: number;
}

export interface SignatureScheme {
  readonly at: Place;
  /** `token`: the secret itself is sent. */
  readonly algorithm: Algorithm;
  readonly encoding: 'hex' | 'base64';
  /** What stands before the signature, or the token. */
  readonly prefix?: string;
  /** The label of a signature in a list; of several, one that fits is enough. */
  readonly part?: string;
  /** How the list is written: `label=value,…` or `label,value …`. */
  readonly list?: 'commas' | 'spaces';
  /** What is signed: text with the tokens {id}, {timestamp}, {method}, {url} and {body}. */
  readonly signed: string;
  /** Signed in a form that no such text describes; `signed` then names it for people. */
  readonly form?: 'twilio' | 'paypal' | 'sns';
  /** What the secret's text is: the key itself, or the key encoded, after `whsec_` where that stands before it. */
  readonly key: 'text' | 'base64' | 'hex';
  /** Of {id}. */
  readonly id?: Place;
  /** Checked, and the value of {timestamp}. */
  readonly timestamp?: Timestamp;
  /** What is otherwise where the secret begins with `whpk_`: it is a public key then. */
  readonly byPublicKey?: Pick<SignatureScheme, 'algorithm' | 'part'>;
}

/** How Standard Webhooks begins a public key, which no other scheme may take for a secret: it is none. */
export const publicKeyPrefix = 'whpk_';

/** Returns a scheme as it is with this secret. */
export function schemeWith(scheme: SignatureScheme, secret: string | undefined): SignatureScheme {
  return scheme.byPublicKey !== undefined && secret?.startsWith(publicKeyPrefix) === true
    ? { ...scheme, ...scheme.byPublicKey }
    : scheme;
}

const text = { type: 'string', minLength: 1 } as const;

export const placeSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    header: { ...text, description: 'A header of the request.' },
    field: { ...text, description: 'A dotted path in the body.' },
  },
} as const;

export const signatureSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['header'],
  description: 'How the sender signs, where no source says so; beside source: grafana, the names of its headers.',
  properties: {
    header: { ...text, description: 'The header that holds the signature or the token.' },
    algorithm: {
      enum: algorithms,
      default: 'hmac-sha256',
      description: '`token`: the header holds the secret itself.',
    },
    encoding: { enum: ['hex', 'base64'], default: 'hex', description: 'How the signature is written.' },
    prefix: { ...text, description: 'Text before the signature, such as sha256=.' },
    part: { ...text, description: 'Label of the signature in a list, such as v1.' },
    list: { enum: ['commas', 'spaces'], default: 'commas', description: 'label=value,… or label,value …' },
    signed: {
      ...text,
      default: '{body}',
      description: 'The signed text, with {id}, {timestamp}, {method}, {url} and {body}.',
    },
    key: { enum: ['text', 'base64', 'hex'], default: 'text', description: 'How the secret is written.' },
    id: { ...placeSchema, description: 'Where {id} is.' },
    timestamp: {
      type: 'object',
      additionalProperties: false,
      properties: {
        header: { ...text, description: 'A header of the request.' },
        field: { ...text, description: 'A dotted path in the body.' },
        part: { ...text, description: 'Label in the list of the signature’s header.' },
        unit: { enum: ['s', 'ms'], default: 's', description: 'Seconds or milliseconds since 1970.' },
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
