/**
 * The table of replies: each outcome of a request with its HTTP status and JSON body. No other file writes them.
 * @see DIS-1, DIS-2, LIM-3, IDM-1 and IDM-2 in docs/specification.md
 */

import type { Answer } from '../config/sources.ts';

interface Named {
  readonly route: string;
  readonly event: string;
  readonly deliveryId: string;
}

export interface HandshakeReply extends Reply {
  /** The field of the body that a person needs; the history keeps its text. */
  readonly shownField?: string;
  /** The field of the body with the address to visit as confirmation. */
  readonly visitField?: string;
  /** The field of the body that becomes the subscription's secret. */
  readonly keyField?: string;
  /** The header with that secret. */
  readonly keyHeader?: string;
}

export type Outcome =
  /** A provider's handshake with its required answer; nothing else follows (SRC-3). */
  | ({ readonly kind: 'handshake' } & HandshakeReply)
  /** For an array; each number counts its events. */
  | { readonly kind: 'split'; readonly accepted: number; readonly duplicate: number; readonly ignored: number }
  /** `why` names the limit, if it is not the limit of bytes. */
  | { readonly kind: 'tooLarge'; readonly why?: string }
  | { readonly kind: 'unknownRoute' | 'routeDisabled' | 'methodNotAllowed' | 'badSignature' | 'badBody' }
  | { readonly kind: 'rateLimited'; readonly retryAfterSeconds: number }
  | { readonly kind: 'ignoredEvent'; readonly event: string }
  | { readonly kind: 'ignoredFilter' | 'ignoredScript' | 'ignoredScriptFailed'; readonly route: string }
  | { readonly kind: 'duplicate'; readonly deliveryId: string }
  | ({ readonly kind: 'accepted' | 'coalesced' | 'cron' } & Named)
  | { readonly kind: 'delivered'; readonly route: string; readonly target: string; readonly deliveryId: string }
  | { readonly kind: 'deliveryFailed' | 'pending' | 'unavailable' | 'overloaded' | 'draining' | 'internal' };

export type OutcomeKind = Outcome['kind'];

/** How a reason begins if the outcome alone does not show which check has decided it. The history keeps the reasons. */
export const reasonStarts = {
  bodies: 'bodies ',
  certificate: 'its certificate ',
  declared: 'declared ',
  filter: 'filter: ',
  keys: 'the keys of its issuer ',
  sameBody: 'another event of the same body ',
  script: 'script: ',
  subscriptions: 'the subscriptions ',
  when: 'when: ',
} as const;

export interface Reply {
  readonly status: number;
  readonly body: string;
  /** `application/json` unless given. */
  readonly contentType?: string;
  /** Besides Content-Type and Content-Length, which the HTTP server writes. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** When senders should retry while the gateway cannot accept an event, or its outcome is not known yet. */
const retryAfter = { 'retry-after': '5' } as const;

/** Constant replies, built once. */
const fixed = {
  tooLarge: refusal(413, 'Payload too large'),
  unknownRoute: refusal(404, 'Unknown route'),
  routeDisabled: refusal(403, 'Route disabled'),
  methodNotAllowed: refusal(405, 'Method not allowed', { allow: 'POST' }),
  badSignature: refusal(401, 'Invalid signature'),
  badBody: refusal(400, 'Cannot parse body'),
  deliveryFailed: refusal(502, 'Delivery failed'),
  pending: refusal(503, 'Delivery in progress', retryAfter),
  unavailable: refusal(503, 'Service unavailable', retryAfter),
  overloaded: refusal(503, 'Service unavailable', retryAfter),
  draining: refusal(503, 'Service unavailable', retryAfter),
  internal: refusal(500, 'Internal error'),
} as const;

export function replyTo(outcome: Outcome): Reply {
  switch (outcome.kind) {
    case 'handshake': {
      const { kind: _, shownField: __, visitField: ___, keyField: ____, keyHeader: _____, ...reply } = outcome;
      return reply;
    }
    case 'rateLimited':
      return refusal(statusOf(outcome), 'Rate limit exceeded', { 'retry-after': String(outcome.retryAfterSeconds) });
    case 'tooLarge':
      return outcome.why === undefined ? fixed.tooLarge : refusal(413, `Payload too large: ${outcome.why}`);
    case 'split': {
      const { accepted, duplicate, ignored } = outcome;
      const status = accepted > 0 ? 'accepted' : duplicate > 0 ? 'duplicate' : 'ignored';
      return { status: statusOf(outcome), body: JSON.stringify({ status, accepted, duplicate, ignored }) };
    }
    case 'ignoredEvent':
      return json(statusOf(outcome), { status: 'ignored', event: outcome.event });
    case 'ignoredFilter':
      return json(statusOf(outcome), { status: 'ignored', reason: 'filter', route: outcome.route });
    case 'ignoredScript':
    case 'ignoredScriptFailed':
      return json(statusOf(outcome), { status: 'ignored', reason: 'script', route: outcome.route });
    case 'duplicate':
      return json(statusOf(outcome), { status: 'duplicate', delivery_id: outcome.deliveryId });
    case 'accepted':
    case 'cron':
      return json(statusOf(outcome), named('accepted', outcome));
    case 'coalesced':
      return json(statusOf(outcome), named('coalesced', outcome));
    case 'delivered': {
      const { route, target, deliveryId } = outcome;
      return json(statusOf(outcome), { status: 'delivered', route, target, delivery_id: deliveryId });
    }
    default:
      return fixed[outcome.kind];
  }
}

/** The reply to a provider that reads it: 200 and the parts of the answer that exist. */
export function replyFor(outcome: Outcome, answer: Answer | undefined): Reply {
  const reply = replyTo(outcome);
  if (answer === undefined || outcome.kind === 'handshake') return reply;
  const { bareRefusals, ...wanted } = answer;
  if (reply.status >= 300) return bareRefusals === true ? { ...reply, body: '' } : reply;
  return { status: 200, body: reply.body, ...wanted };
}

/** The HTTP status of an outcome, without building its body. */
export function statusOf(outcome: Outcome): number {
  if (outcome.kind === 'handshake') return outcome.status;
  const { kind } = outcome;
  switch (kind) {
    case 'split':
      return outcome.accepted > 0 ? 202 : 200;
    case 'rateLimited':
      return 429;
    case 'ignoredEvent':
    case 'ignoredFilter':
    case 'ignoredScript':
    case 'ignoredScriptFailed':
    case 'duplicate':
    case 'delivered':
      return 200;
    case 'accepted':
    case 'cron':
    case 'coalesced':
      return 202;
    default:
      return fixed[kind].status;
  }
}

function named(status: string, { route, event, deliveryId }: Named): Record<string, string> {
  return { status, route, event, delivery_id: deliveryId };
}

function json(status: number, body: Readonly<Record<string, string>>): Reply {
  return { status, body: JSON.stringify(body) };
}

function refusal(status: number, error: string, headers?: Readonly<Record<string, string>>): Reply {
  const body = JSON.stringify({ error });
  return headers === undefined ? { status, body } : { status, body, headers };
}
