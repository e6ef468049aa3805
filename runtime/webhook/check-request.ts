/**
 * Sends a signed request through the chart up to its claim, and answers what the sender would be answered. Nothing is
 * claimed, written, delivered or run: no agent, and no script of the route, which leaves the payload as it is.
 * @see SUB-4 in docs/specification.md
 */

import { Refusal } from '../control/refusal.ts';
import type { Exchange, Reply } from '../http/front.ts';
import type { NextId } from '../system/ids.ts';
import type { Wards } from '../system/wards.ts';
import { type Exchanges, liveRequest } from './exchanges.ts';

export interface CheckPorts {
  readonly exchanges: Exchanges;
  readonly wards: () => Wards;
  readonly nextId: NextId;
  readonly nowMs: () => number;
}

export interface CheckedRequest {
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function checkRequest({ path, headers, body }: CheckedRequest, ports: CheckPorts): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const receivedAtMs = ports.nowMs();
    const id = ports.nextId(receivedAtMs);
    const bytes = Buffer.from(body, 'utf8');
    const exchange: Exchange = {
      head: { method: 'POST', path, headers, contentLength: bytes.length },
      readBody: (_, settled) => settled({ kind: 'read', bytes }),
      reply: resolve,
    };
    ports.exchanges.set(id, { ...liveRequest(exchange), checksOnly: true });
    const { requests } = ports.wards();
    const input = { id, origin: 'http', method: 'POST', path, declaredBytes: bytes.length, receivedAtMs } as const;
    if (requests.spawn(id, input) !== undefined) return;
    ports.exchanges.delete(id);
    reject(new Refusal('gateway-busy', 'the gateway is busy starting or stopping; try again in a moment'));
  });
}
