/**
 * The live side of the requests under way: what cannot lie in a machine's context because it is a socket, bytes or a
 * secret. One row per request, keyed by its id, gone when the request ends.
 */

import type { Opened } from '../actors/webhook/claim-delivery.ts';
import { decodeBody } from '../machines/webhook/body.ts';
import type { Exchange } from './http/front.ts';

export interface LiveRequest {
  readonly exchange: Exchange;
  readonly headers: Readonly<Record<string, string>>;
  body: Buffer;
  /** The body decoded, once somebody asked for it. */
  text: string | undefined;
  /** What the claim opened, until the wards are told. */
  opened: Opened;
}

export type Exchanges = Map<string, LiveRequest>;

const noBody = Buffer.alloc(0);
const nothing: Opened = { kind: 'nothing' };

export function liveRequest(exchange: Exchange, body: Buffer = noBody): LiveRequest {
  return { exchange, headers: exchange.head.headers, body, text: undefined, opened: nothing };
}

/** The decoded body; undefined where it is not UTF-8. Decoded once for all who ask. */
export function textOf(live: LiveRequest): string | undefined {
  live.text ??= decodeBody(live.body);
  return live.text;
}
