/**
 * An MCP server over HTTP without sessions and streams that answers each request with what it is given, whatever the protocol
 * says of it.
 */

import { text } from 'node:stream/consumers';
import type { Test } from 'tap';
import type { Json, JsonObject } from '../../../machines/base/json.ts';
import { listenHttp } from '../http-listener.ts';

interface AskedOfPeer {
  readonly id: Json;
  readonly method: string;
  readonly params: JsonObject;
}

/** What follows `jsonrpc` and the id of an answer, which may be another; and the status of HTTP. */
interface Answer {
  readonly id?: Json;
  readonly method?: Json;
  readonly result?: Json;
  readonly error?: Json;
  readonly status?: number;
}

/** Returns the entry of a server; a handshake has the usual answer unless one is given. */
export async function jsonPeer(
  t: Test,
  answer: (asked: AskedOfPeer) => Answer | undefined | Promise<Answer | undefined>,
): Promise<{ readonly url: string; readonly skip_preflight: true }> {
  const { url } = await listenHttp(t, async (request, response) => {
    const { id, method, params } = JSON.parse((await text(request)) || '{}') as Partial<AskedOfPeer>;
    if (id === undefined) return void response.writeHead(request.method === 'POST' ? 202 : 405).end();
    const asked = { id, method: String(method), params: params ?? {} };
    const { status = 200, ...given } = (await answer(asked)) ?? usual(asked);
    response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, ...given }));
  });
  return { url: `${url}/mcp`, skip_preflight: true };
}

function usual({ method, params: { protocolVersion = '' } }: AskedOfPeer): Answer {
  if (method !== 'initialize') return { error: { code: -32_601, message: 'Method not found' } };
  return { result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'plain', version: '1' } } };
}
