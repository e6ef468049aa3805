/**
 * Between the HTTP server and the request chart: answers `/health`, refuses all but POST at paths that are not webhooks,
 * and spawns one request chart per webhook while there is room.
 * @see ADP-2 and RTE-3 in docs/specification.md
 */

import { replyTo } from '../../machines/webhook/reply.ts';
import { readTarget } from '../../machines/webhook/routes.ts';
import type { RequestInput } from '../../machines/webhook/webhook-request.machine.ts';
import type { Exchange, ExchangeHandler } from '../http/http-server.ts';
import type { EventTraces } from '../observe/tracing-spans.ts';
import { liveRequest, type SpawnPorts } from './exchanges.ts';

interface ReceiverPorts extends SpawnPorts {
  readonly traces: Pick<EventTraces, 'begin'>;
  /** How many of the requests in the pool are events of arrays, which have their own limit. */
  readonly parts: () => number;
}

/** Further requests are refused as overloaded: each may hold a body of the maximum size. */
const maxRequests = 10_000;

const healthy = { status: 200, body: JSON.stringify({ status: 'ok', platform: 'webhook' }) };
const health405 = { ...replyTo({ kind: 'methodNotAllowed' }), headers: { allow: 'GET, HEAD' } };
const unknown = replyTo({ kind: 'unknownRoute' });
const overloaded = replyTo({ kind: 'overloaded' });

export function createReceiver(ports: ReceiverPorts): ExchangeHandler {
  return (exchange) => {
    const { head } = exchange;
    const target = readTarget(head.path);
    if (target.kind === 'health') {
      exchange.reply(head.method === 'GET' || head.method === 'HEAD' ? healthy : health405);
      return;
    }
    // A POST may be a webhook whose URL was mistyped at the provider; its request is recorded as refused.
    if (target.kind === 'none' && head.method !== 'POST') {
      exchange.reply(unknown);
      return;
    }
    receive(exchange, ports);
  };
}

function receive(exchange: Exchange, { exchanges, pools, nextId, traces, nowMs, parts }: ReceiverPorts): void {
  const { requests } = pools();
  if (requests.size - parts() >= maxRequests) {
    exchange.reply(overloaded);
    return;
  }
  const { method, path, contentLength } = exchange.head;
  const receivedAtMs = nowMs();
  const id = nextId(receivedAtMs);
  const input: RequestInput = {
    id,
    origin: 'http',
    method,
    path,
    declaredBytes: contentLength,
    receivedAtMs,
  };
  const live = liveRequest(exchange);
  traces.begin(live, receivedAtMs);
  exchanges.set(id, live);
  if (requests.spawn(id, input) !== undefined) return;
  // The gateway is stopping, or its supervisor has crashed.
  exchanges.delete(id);
  exchange.reply(overloaded);
}
