/**
 * Answers the handshakes of providers: before they send events, or repeatedly to check that this is still the right
 * receiver.
 * @see SRC-3 in docs/specification.md
 */

import { createHmac } from 'node:crypto';
import type { Json, JsonObject } from '../base/json.ts';
import { type Route, type RouteSecret, textsOfSecret } from '../config/route.ts';
import type { HandshakeName } from '../config/sources.ts';
import type { HandshakeReply, Outcome } from './reply.ts';
import { sameBytes, secretNumber } from './signature.ts';

export interface HandshakeAnswer extends HandshakeReply {
  /** The request in words, for the history. */
  readonly what: string;
}

/** Why a handshake is refused, as a part of `what`; the diagnosis recognizes it by these words. */
export const handshakeRefusals = {
  noCode: 'without the code of the address',
  otherWebhook: 'of another webhook, which needs a route of its own',
  unconfirmed: 'which could not be confirmed',
  wrongToken: 'with a wrong verify_token',
} as const;
const { noCode, otherWebhook, unconfirmed, wrongToken } = handshakeRefusals;

interface Head {
  readonly method: string;
  readonly query: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Returns the outcome of a handshake after the visit of its address succeeded or failed. The sender repeats requests
 * answered with 503, also after a restart, so the gateway itself need not retry.
 * @param failure why the visit failed
 */
export function visited(answer: Handshaken, failure: string | undefined): Handshaken {
  const { outcome, reason } = answer;
  if (failure === undefined) return { outcome, reason: `${reason}, confirmed` };
  return {
    outcome: { ...outcome, status: 503, body: '{"error":"Service unavailable"}' },
    reason: `${reason}, ${unconfirmed} at ${failure}; the sender repeats it for a while; after that, request a confirmation there again`,
  };
}

interface Handshaken {
  readonly outcome: Extract<Outcome, { readonly kind: 'handshake' }>;
  readonly reason: string;
}

/** Each function returns undefined if the request is not a handshake. */
export interface Handshake {
  /** Checks only the head of a request, with any method, before anything is verified. */
  readonly byHead?: (head: Head) => HandshakeAnswer | undefined;
  /** Checks the body and the query of a request whose signature is not genuine. */
  readonly byUnsigned?: (payload: JsonObject, query: string | undefined) => HandshakeAnswer | undefined;
  /**
   * Checks the body of a request whose signature is genuine.
   * @param scheme of the verdict, which names the matching secret
   */
  readonly byBody?: (payload: JsonObject, scheme: string) => HandshakeAnswer | undefined;
}

const plain = 'text/plain; charset=utf-8';

export function compileHandshake(
  name: HandshakeName,
  secret: RouteSecret,
  { source }: Pick<Route, 'source'>,
): Handshake {
  const texts = textsOfSecret(secret);
  switch (name) {
    case 'slack':
      return {
        byUnsigned: certificateChecked,
        byBody(payload) {
          const { type, challenge } = payload;
          if (type === 'url_verification' && typeof challenge === 'string')
            return { what: 'url_verification', status: 200, body: JSON.stringify({ challenge }) };
          // Asked while a person types into a menu whose choices the app provides: nothing is chosen yet.
          if (type === 'block_suggestion' || type === 'dialog_suggestion')
            return { what: type, status: 200, body: '{"options":[]}' };
          return certificateChecked(payload);
        },
      };
    case 'woocommerce':
      // The form without a signature with which it tests an address that its owner saves.
      return {
        byUnsigned: ({ webhook_id: id, ...rest }) =>
          typeof id === 'string' && Object.keys(rest).length === 0
            ? { what: 'ping', status: 200, body: '{}' }
            : undefined,
      };
    case 'head':
      // Asked when an owner names the address: https://developers.intercom.com/docs/webhooks/setting-up-webhooks
      return { byHead: ({ method }) => (method === 'HEAD' ? { what: 'HEAD', status: 200, body: '' } : undefined) };
    case 'twitch':
      return {
        byBody({ challenge, subscription, event, events }) {
          const { status } = (subscription ?? {}) as JsonObject;
          if (status === 'webhook_callback_verification_pending' && typeof challenge === 'string')
            return { what: status, status: 200, body: challenge, contentType: plain };
          // Twitch sends nothing more; there is no event, nor a list of them as of drop.entitlement.grant.
          return typeof status === 'string' && event === undefined && events === undefined
            ? { what: 'revocation', status: 200, body: '' }
            : undefined;
        },
      };
    case 'dropbox':
      return {
        byHead({ method, query }) {
          const given = method === 'GET' ? new URLSearchParams(query ?? '').get('challenge') : null;
          if (given === null) return undefined;
          const headers = { 'x-content-type-options': 'nosniff' };
          return { what: 'challenge', status: 200, body: given, contentType: plain, headers };
        },
      };
    case 'okta':
      return {
        byHead({ method, headers }) {
          const verification = method === 'GET' ? headers['x-okta-verification-challenge'] : undefined;
          return verification === undefined
            ? undefined
            : { what: 'X-Okta-Verification-Challenge', status: 200, body: JSON.stringify({ verification }) };
        },
      };
    case 'monday':
      return {
        byBody: ({ challenge }) =>
          typeof challenge === 'string'
            ? { what: 'challenge', status: 200, body: JSON.stringify({ challenge }) }
            : undefined,
      };
    case 'asana':
      return { byHead: (head) => hooked(head, { secret, source }) };
    case 'zoom':
      return {
        byBody({ event, payload }, scheme) {
          const plainToken = (payload as JsonObject | undefined)?.plainToken;
          if (event !== 'endpoint.url_validation' || typeof plainToken !== 'string') return undefined;
          const key = texts[Number(secretNumber(scheme) ?? 1) - 1] ?? '';
          const encryptedToken = createHmac('sha256', key).update(plainToken).digest('hex');
          return { what: event, status: 200, body: JSON.stringify({ plainToken, encryptedToken }) };
        },
      };
    case 'discord':
      return {
        byBody({ type }) {
          if (type === 1) return { what: 'PING', status: 200, body: '{"type":1}' };
          // Each key that is pressed in an option with suggestions: the command has not been given yet.
          return type === 4
            ? { what: 'autocomplete', status: 200, body: '{"type":8,"data":{"choices":[]}}' }
            : undefined;
        },
      };
    case 'discord-events':
      return { byBody: ({ type }) => (type === 0 ? { what: 'PING', status: 204, body: '' } : undefined) };
    case 'meta':
      return { byHead: ({ method, query }) => (method === 'GET' ? subscribed(query, secret) : undefined) };
    case 'notion':
      return { byUnsigned: ({ verification_token: token }, query) => verified(token, query, { secret, source }) };
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

/** Of a sender that asks, by GET or HEAD, whether the address with its token is there, as Mailchimp does before it takes it. */
export function compileAddressCheck(parameter: string, secret: RouteSecret): Handshake {
  const texts = textsOfSecret(secret);
  return {
    byHead({ method, query }) {
      const given = new URLSearchParams(query ?? '').get(parameter) ?? '';
      const isAsked = (method === 'GET' || method === 'HEAD') && texts.some((one) => sameText(given, one));
      return isAsked ? { what: `${method} of the address`, status: 200, body: '{}' } : undefined;
    },
  };
}

/**
 * Now and then the address of a command of Slack gets a form without one, to check its certificate. It need not be signed:
 * https://docs.slack.dev/interactivity/implementing-slash-commands
 */
function certificateChecked({ ssl_check: check }: JsonObject): HandshakeAnswer | undefined {
  return check === '1' ? { what: 'ssl_check', status: 200, body: '', contentType: plain } : undefined;
}

/** The query parameter of the address that is given to a provider whose secret comes in its handshake. */
export const handshakeCode = 'code';
const notionToken = /^secret_/;

/**
 * Notion's token, which is not signed. It becomes a subscription's secret only if it arrives at the address given to Notion,
 * with the code that only Notion has; the owner of a route in config.yaml copies it there.
 */
function verified(
  token: Json | undefined,
  query: string | undefined,
  { secret, source }: Pick<Route, 'source'> & { readonly secret: RouteSecret },
): HandshakeAnswer | undefined {
  if (typeof token !== 'string' || secret.kind !== 'shared') return undefined;
  const what = 'verification_token';
  const shown = { status: 200, body: '{}', shownField: what };
  const code = source === 'dynamic' ? secret.verifyToken : undefined;
  if (code !== undefined) {
    if (!hasCode(query, code)) return { what: `${what} ${noCode}`, ...unauthorized };
    return { what: `${what}; it becomes the secret of the route: type it in at Notion`, ...shown, keyField: what };
  }
  const known = textsOfSecret(secret).filter((text) => notionToken.test(text));
  if (known.length === 0)
    return { what: `${what}; type it in at Notion and make it the secret of the route`, ...shown };
  // Once the route has Notion's token, a different one is not Notion's.
  return known.some((one) => sameText(token, one))
    ? { what: `${what}, which the route has: type it in at Notion`, ...shown }
    : undefined;
}

/**
 * Asana's secret, which is not signed and of one webhook alone. It is repeated in the answer, and becomes a subscription's
 * as Notion's does.
 */
function hooked(
  { method, query, headers }: Head,
  { secret, source }: Pick<Route, 'source'> & { readonly secret: RouteSecret },
): HandshakeAnswer | undefined {
  const name = 'x-hook-secret';
  const given = headers[name];
  if (method !== 'POST' || given === undefined || secret.kind !== 'shared' || !originName.test(given)) return undefined;
  const repeated = { status: 200, body: '', headers: { [name]: given } };
  const what = 'X-Hook-Secret';
  if (textsOfSecret(secret).some((one) => sameText(given, one))) return { what, ...repeated };
  if (source === 'static') return { what: `${what}; make that in Asana’s answer the secret of the route`, ...repeated };
  const { verifyToken: code } = secret;
  if (code === undefined) return { what: `${what} ${otherWebhook}`, ...unauthorized };
  return hasCode(query, code)
    ? { what: `${what}; it becomes the secret of the route`, ...repeated, keyHeader: name }
    : { what: `${what} ${noCode}`, ...unauthorized };
}

function hasCode(query: string | undefined, code: string): boolean {
  return sameText(new URLSearchParams(query ?? '').get(handshakeCode) ?? '', code);
}

function sameText(one: string, other: string): boolean {
  return sameBytes(Buffer.from(one, 'utf8'), Buffer.from(other, 'utf8'));
}

const unauthorized = { status: 401, body: '{"error":"Invalid signature"}' };
const originName = /^[\x21-\x7e]{1,256}$/;

/**
 * The validation request of CloudEvents: whether a sender may send here. It is no authentication, but Event Grid has the key
 * in its address and is allowed only if that is correct.
 * @see [CloudEvents, abuse protection](https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/http-webhook.md#4-abuse-protection)
 */
function asked({ method, headers }: Head, given?: string, secret?: RouteSecret): HandshakeAnswer | undefined {
  const origin = headers['webhook-request-origin'];
  if (method !== 'OPTIONS' || origin === undefined || !originName.test(origin)) return undefined;
  const what = 'WebHook-Request-Origin';
  const keys = secret === undefined ? [] : textsOfSecret(secret);
  if (keys.length > 0 && !keys.some((one) => sameText(one, given ?? '')))
    return { what: `${what} with a wrong code`, ...unauthorized };
  const allowed = { 'webhook-allowed-origin': origin, 'webhook-allowed-rate': '*', allow: 'POST, OPTIONS' };
  return { what, status: 200, body: '', headers: allowed };
}

/** Meta's challenge: compares the token in constant time, and answers with plain text, never a page. */
function subscribed(query: string | undefined, secret: RouteSecret): HandshakeAnswer {
  const asked = new URLSearchParams(query ?? '');
  const token = asked.get('hub.verify_token') ?? '';
  const wanted = secret.kind === 'shared' ? secret.verifyToken : undefined;
  const isRight = asked.get('hub.mode') === 'subscribe' && wanted !== undefined && sameText(token, wanted);
  const what = 'hub.challenge';
  if (!isRight) return { what: `${what} ${wrongToken}`, status: 403, body: '{"error":"Forbidden"}' };
  return { what, status: 200, body: asked.get('hub.challenge') ?? '', contentType: plain };
}
