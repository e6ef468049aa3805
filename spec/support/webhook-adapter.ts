/** A gateway's webhook adapter on loopback, and signed requests to its routes. */

import type { JsonObject } from '../../machines/base/json.ts';
import type { Gateway } from './mcp/gateway.ts';
import { type Answer, postSigned } from './sign.ts';

export const webhookSecret = 'mcp-journey-secret-mcp-journey';

/** The adapter's entry of the configuration; `more` has other keys, or another secret. */
export function adapterOf(routes: JsonObject, more: JsonObject = {}): JsonObject {
  return { enabled: true, extra: { host: '127.0.0.1', port: 0, secret: webhookSecret, routes, ...more } };
}

export function send({ daemon }: Gateway, route: string, payload: JsonObject, id: string): Promise<Answer> {
  return postSigned(`${daemon.url}/webhooks/${route}`, payload, { secret: webhookSecret, id });
}
