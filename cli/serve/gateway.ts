/**
 * Forwards each request of an `agent mcp serve` client to the gateway on a connection that it has alone meanwhile: closing
 * it cancels the request. Progress is passed on.
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
  /** Connections that the next requests use: making one costs as much as a call. */
  readonly idle: ControlClient[];
}

/** A run has 64 connections for all the programs that it starts. */
const maxIdle = 2;

export type ClientRequest = ServerContext['mcpReq'];

interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/**
 * Does the work for a client's request; undefined if no gateway listens. Closing the connection cancels the request, and one
 * that is cancelled while it is still connecting is not sent.
 */
export async function withGateway<Value>(
  { place, idle }: ServedGateway,
  request: ClientRequest,
  work: (client: ControlClient) => Promise<Value>,
): Promise<Value | undefined> {
  const { signal } = request;
  const client = takeFrom(idle) ?? (await connectControl(place.socket));
  if (client === undefined) return undefined;
  const cancel = (): void => client.close();
  if (signal.aborted) cancel();
  else signal.addEventListener('abort', cancel, { once: true });
  const { progressToken } = request._meta ?? {};
  const stopReporting =
    progressToken === undefined
      ? () => {}
      : client.onNotification(
          reporter((progress) =>
            request.notify({ method: 'notifications/progress', params: { progressToken, ...progress } }),
          ),
        );
  try {
    return wellFormed(await work(client));
  } finally {
    stopReporting();
    signal.removeEventListener('abort', cancel);
    if (client.isOpen() && idle.length < maxIdle) idle.push(client);
    else client.close();
  }
}

function takeFrom(idle: ControlClient[]): ControlClient | undefined {
  const client = idle.pop();
  return client === undefined || client.isOpen() ? client : takeFrom(idle);
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
