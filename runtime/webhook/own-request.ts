/**
 * Sends a request of the owner through the chart and resolves with the sender's answer. A request that only its sender
 * could sign (`handedIn`) skips the signature and the sender's quota, and gets the gateway's own answer. With
 * `checksOnly` it ends before its claim: nothing is written, delivered or run, and the route's script is skipped.
 * @see SUB-4 in docs/specification.md
 */

import type { Hand } from '../../machines/webhook/record.ts';
import { Refusal } from '../control/refusal.ts';
import type { Exchange, Reply } from '../http/front.ts';
import type { NextId } from '../system/ids.ts';
import type { Wards } from '../system/wards.ts';
import { type Exchanges, liveRequest } from './exchanges.ts';

export interface OwnRequestPorts {
  readonly exchanges: Exchanges;
  readonly wards: () => Wards;
  readonly nextId: NextId;
  readonly nowMs: () => number;
}

export interface OwnRequest {
  readonly path: string;
  readonly query?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly checksOnly?: true | undefined;
  /** The tool that submits it without a signature; absent if it is signed. */
  readonly handedIn?: Hand | undefined;
}

export function sendOwnRequest(request: OwnRequest, ports: OwnRequestPorts): Promise<Reply> {
  const { path, query, headers, body, checksOnly, handedIn } = request;
  return new Promise((resolve, reject) => {
    const receivedAtMs = ports.nowMs();
    const id = ports.nextId(receivedAtMs);
    const bytes = Buffer.from(body, 'utf8');
    const exchange: Exchange = {
      head: { method: 'POST', path, query, headers, contentLength: bytes.length },
      readBody: (_, settled) => settled({ kind: 'read', bytes }),
      reply: resolve,
    };
    ports.exchanges.set(id, { ...liveRequest(exchange, bytes), checksOnly, handedIn });
    const { requests } = ports.wards();
    const origin = handedIn === undefined ? 'http' : 'owner';
    const input = { id, origin, method: 'POST', path, declaredBytes: bytes.length, receivedAtMs } as const;
    if (requests.spawn(id, input) !== undefined) return;
    ports.exchanges.delete(id);
    reject(new Refusal('gateway-busy', 'the gateway is busy starting or stopping; try again in a moment'));
  });
}
