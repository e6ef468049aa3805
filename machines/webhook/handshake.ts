/**
 * Answers what a provider asks before it sends events, or again and again to see that it is still its addressee. Knows no
 * rate and no history.
 * @see SRC-3 in docs/specification.md
 */

import { createHmac } from 'node:crypto';
import type { JsonObject } from '../base/json.ts';
import type { RouteSecret } from '../config/route.ts';
import type { HandshakeName } from '../config/sources.ts';
import { sameBytes } from './signature.ts';

export interface Greeting {
  /** What was asked, for the history. */
  readonly what: string;
  readonly status: number;
  readonly body: string;
  /** `application/json` unless given. */
  readonly contentType?: string;
}

/** Undefined where a request is no handshake. */
export interface Handshake {
  /** Judges a request by its head alone, whatever its method, before anything is verified. */
  readonly byHead?: (head: { readonly method: string; readonly query: string | undefined }) => Greeting | undefined;
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
  }
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
