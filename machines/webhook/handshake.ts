/**
 * Answers what a provider asks before it sends events, or again and again to see that it is still its addressee. Knows no
 * rate and no history.
 * @see SRC-3 in docs/specification.md
 */

import { createHmac } from 'node:crypto';
import type { JsonObject } from '../base/json.ts';
import { type RouteSecret, textsOfSecret } from '../config/route.ts';
import type { HandshakeName } from '../config/sources.ts';
import type { Outcome } from './reply.ts';
import { sameBytes } from './signature.ts';

export interface Greeting {
  /** What was asked, for the history. */
  readonly what: string;
  readonly status: number;
  readonly body: string;
  /** `application/json` unless given. */
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The field of the body that a person needs, so that the history keeps its text. */
  readonly shownField?: string;
  /** The field of the body whose address is visited to confirm that events are wanted. */
  readonly visitField?: string;
}

interface Head {
  readonly method: string;
  readonly query: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Returns the outcome of a handshake whose address was visited, or could not be. The sender repeats what is answered by 503,
 * also after a restart, so the gateway need not try again itself.
 * @param failure why the visit failed
 */
export function visited(greeting: Handshaken, failure: string | undefined): Handshaken {
  const { outcome, reason } = greeting;
  if (failure === undefined) return { outcome, reason: `${reason}, confirmed` };
  return {
    outcome: { ...outcome, status: 503, body: '{"error":"Service unavailable"}' },
    reason: `${reason}, which could not be confirmed at ${failure}; the sender repeats it for a while; after that, request a confirmation there again`,
  };
}

export interface Handshaken {
  readonly outcome: Extract<Outcome, { readonly kind: 'handshake' }>;
  readonly reason: string;
}

/** Undefined where a request is no handshake. */
export interface Handshake {
  /** Judges a request by its head alone, whatever its method, before anything is verified. */
  readonly byHead?: (head: Head) => Greeting | undefined;
  /** Judges the body of a request whose signature is not genuine. */
  readonly byUnsigned?: (payload: JsonObject) => Greeting | undefined;
  /** Judges the body of a request whose signature is genuine. */
  readonly byBody?: (payload: JsonObject) => Greeting | undefined;
}

const plain = 'text/plain; charset=utf-8';

export function compileHandshake(name: HandshakeName, secret: RouteSecret): Handshake {
  const key = secret.kind === 'shared' ? secret.secret : '';
  switch (name) {
    case 'slack':
      return {
        byBody: ({ type, challenge }) =>
          type === 'url_verification' && typeof challenge === 'string'
            ? { what: 'url_verification', status: 200, body: JSON.stringify({ challenge }) }
            : undefined,
      };
    case 'zoom':
      return {
        byBody({ event, payload }) {
          const plainToken = (payload as JsonObject | undefined)?.plainToken;
          if (event !== 'endpoint.url_validation' || typeof plainToken !== 'string') return undefined;
          const encryptedToken = createHmac('sha256', key).update(plainToken).digest('hex');
          return { what: event, status: 200, body: JSON.stringify({ plainToken, encryptedToken }) };
        },
      };
    case 'discord':
      return { byBody: ({ type }) => (type === 1 ? { what: 'PING', status: 200, body: '{"type":1}' } : undefined) };
    case 'meta':
      return { byHead: ({ method, query }) => (method === 'GET' ? subscribed(query, secret) : undefined) };
    case 'notion':
      // Once the route has Notion's token, another one is somebody else's.
      return {
        byUnsigned: ({ verification_token: given }) =>
          typeof given === 'string' && !notionToken.test(key)
            ? {
                what: 'verification_token; type in the text below at Notion and make it the secret of the route',
                status: 200,
                body: '{}',
                shownField: 'verification_token',
              }
            : undefined,
      };
    case 'microsoft-graph':
      return {
        byHead({ method, query }) {
          const given = method === 'POST' ? new URLSearchParams(query ?? '').get('validationToken') : null;
          return given === null ? undefined : { what: 'validationToken', status: 200, body: given, contentType: plain };
        },
      };
    case 'azure-event-grid':
      return {
        byHead: (head) => asked(head, new URLSearchParams(head.query ?? '').get('code') ?? '', secret),
        byBody({ items }) {
          const [event] = Array.isArray(items) ? (items as readonly JsonObject[]) : [];
          const code = (event?.data as JsonObject | undefined)?.validationCode;
          if (event?.eventType !== 'Microsoft.EventGrid.SubscriptionValidationEvent' || typeof code !== 'string')
            return undefined;
          return { what: event.eventType, status: 200, body: JSON.stringify({ validationResponse: code }) };
        },
      };
    case 'aws-sns':
      return {
        byBody({ Type: type }) {
          if (type === 'SubscriptionConfirmation')
            return { what: type, status: 200, body: '{}', visitField: 'SubscribeURL' };
          return type === 'UnsubscribeConfirmation' ? { what: type, status: 200, body: '{}' } : undefined;
        },
      };
    case 'cloudevents':
      return { byHead: (head) => asked(head) };
  }
}

const notionToken = /^secret_/;
const originName = /^[\x21-\x7e]{1,256}$/;

/**
 * The question of CloudEvents, whether a sender may send here. It is no login; Event Grid has the key in its address all
 * the same, and only where that is right is it given leave.
 * @see [CloudEvents, abuse protection](https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/http-webhook.md#4-abuse-protection)
 */
function asked({ method, headers }: Head, given?: string, secret?: RouteSecret): Greeting | undefined {
  const origin = headers['webhook-request-origin'];
  if (method !== 'OPTIONS' || origin === undefined || !originName.test(origin)) return undefined;
  const what = 'WebHook-Request-Origin';
  const bytes = Buffer.from(given ?? '', 'utf8');
  const keys = secret === undefined ? [] : textsOfSecret(secret);
  if (keys.length > 0 && !keys.some((one) => sameBytes(Buffer.from(one, 'utf8'), bytes)))
    return { what: `${what} with a wrong code`, status: 401, body: '{"error":"Invalid signature"}' };
  const allowed = { 'webhook-allowed-origin': origin, 'webhook-allowed-rate': '*', allow: 'POST, OPTIONS' };
  return { what, status: 200, body: '', headers: allowed };
}

/** Meta's challenge: its token is compared in constant time, and what it wants back is text, never a page. */
function subscribed(query: string | undefined, secret: RouteSecret): Greeting {
  const asked = new URLSearchParams(query ?? '');
  const token = Buffer.from(asked.get('hub.verify_token') ?? '', 'utf8');
  const wanted = Buffer.from((secret.kind === 'shared' ? secret.verifyToken : undefined) ?? '', 'utf8');
  const isRight = asked.get('hub.mode') === 'subscribe' && wanted.length > 0 && sameBytes(token, wanted);
  const what = 'hub.challenge';
  if (!isRight) return { what: `${what} with a wrong verify_token`, status: 403, body: '{"error":"Forbidden"}' };
  return { what, status: 200, body: asked.get('hub.challenge') ?? '', contentType: plain };
}
