/**
 * Forwards each request of an `agent mcp serve` client to the gateway on its own connection: closing it cancels the request.
 * Progress is passed on.
 * @see CLI-5 and SRV-3 in docs/specification.md
 */

import type { ServerContext } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../machines/base/json.ts';
import { type ControlClient, connectControl } from '../../runtime/control/client.ts';
import type { GatewayPlace } from '../context.ts';

export interface ServedGateway {
  readonly place: GatewayPlace;
  /** The profile, toolsets and run that every request is bound to. */
  readonly bounds: JsonObject;
}

export type ClientRequest = ServerContext['mcpReq'];

interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/**
 * Does the work for a client's request; undefined if no gateway listens. Closing the connection cancels the request, also
 * while it is still connecting.
 */
export async function withGateway<Value>(
  { place }: ServedGateway,
  request: ClientRequest,
  work: (client: ControlClient) => Promise<Value>,
): Promise<Value | undefined> {
  const client = await connectControl(place.socket, request);
  if (client === undefined) return undefined;
  const { progressToken } = request._meta ?? {};
  if (progressToken !== undefined) {
    const report = reporter((progress) =>
      request.notify({ method: 'notifications/progress', params: { progressToken, ...progress } }),
    );
    client.onNotification((method, params) => report(method, params));
  }
  try {
    return wellFormed(await work(client));
  } finally {
    client.close();
  }
}

/** JSON has half a character, as a text has that its server cut, as an escape alone: parsers in Rust refuse the message. */
function wellFormed<Value>(value: Value): Value {
  const text = JSON.stringify(value);
  if (!/\\ud[89a-f]/.test(text)) return value;
  return JSON.parse(text, (_, held) => (typeof held === 'string' ? held.toWellFormed() : held));
}

/** As small as possible: waiting is not a step of the work, but the protocol requires rising progress values. */
const leastStep = 1e-6;

/** Converts the gateway's reports on a call into progress notifications. */
function reporter(notify: (progress: Progress) => Promise<void>): (method: string, params: JsonObject) => void {
  let last = -leastStep;
  return (method, params) => {
    const least = last + leastStep;
    if (method === 'mcp.waiting') last = least;
    else if (method === 'mcp.progress' && typeof params.progress === 'number') last = Math.max(least, params.progress);
    else return;
    notify({
      progress: last,
      ...(typeof params.total === 'number' ? { total: params.total } : {}),
      ...(typeof params.message === 'string' ? { message: params.message } : {}),
    }).catch(() => {});
  };
}
