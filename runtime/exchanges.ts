/**
 * The live side of the requests under way: what cannot lie in a machine's context because it is a socket, bytes or a
 * secret. One row per request, keyed by its id, gone when the request ends.
 */

import type { Opened } from '../actors/webhook/claim-delivery.ts';
import type { Exchange } from './http/front.ts';

export interface LiveRequest {
  readonly exchange: Exchange;
  readonly headers: Readonly<Record<string, string>>;
  body: Buffer;
  /** What the claim opened, until the wards are told. */
  opened: Opened;
}

export type Exchanges = Map<string, LiveRequest>;

const noBody = Buffer.alloc(0);

export function liveRequest(exchange: Exchange, body: Buffer = noBody): LiveRequest {
  return { exchange, headers: exchange.head.headers, body, opened: { kind: 'nothing' } };
}
