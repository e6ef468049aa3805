/**
 * Adapts the SDK's transports to its client: a stream that ends without the answer to its request is reported, so that
 * the call need not time out, messages are delivered one per turn, and a JSON answer need not be strict. Of a message only
 * its own members are read.
 * @see TRU-2, SRV-3 and FLT-4 in docs/specification.md
 */

import type { FetchLike, Transport } from '@modelcontextprotocol/client';
import { isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import { messageWithoutNulls } from '../../machines/mcp/without-nulls.ts';

/** Outside the range that JSON-RPC reserves for servers; recognized when the error of a call or a connect is read. */
export const streamEndedCode = -32_098;
export const streamEndedWords = 'the stream ended before the answer';

/**
 * Before the client is connected: answers a request with an error if its stream ended without an answer. Returns whether
 * that has happened, because discovery takes any error for the other era.
 */
export function reportEndedStreams(transport: Transport): () => boolean {
  let told = false;
  const waiting = new Set<string | number>();
  const before = transport.onmessage;
  const send = transport.send.bind(transport);
  transport.onmessage = (message, extra) => {
    before?.(message, extra);
    if ('method' in message || message.id === undefined) return;
    // The id of the discovery is a text, and a server may answer with a number as one.
    waiting.delete(message.id);
    waiting.delete(Number(message.id));
  };
  transport.send = (message, options) => {
    // A caller that sets `onRequestStreamEnd` handles the end itself.
    if (!('method' in message && 'id' in message) || options?.onRequestStreamEnd !== undefined) {
      return send(message, options);
    }
    const { id } = message;
    waiting.add(id);
    const onRequestStreamEnd = (): void => {
      if (!waiting.delete(id)) return;
      told = true;
      transport.onmessage?.({ jsonrpc: '2.0', id, error: { code: streamEndedCode, message: streamEndedWords } });
    };
    return send(message, { ...options, onRequestStreamEnd });
  };
  return () => told;
}

/**
 * Before the client is connected, after the other handlers: they see the answer to its discovery too, for which the client
 * takes their place.
 */
export function seeDiscovery(transport: Transport): void {
  const own = transport.onmessage;
  const send = transport.send.bind(transport);
  let seen: Transport['onmessage'];
  transport.send = (message, options) => {
    const take = transport.onmessage;
    // The client's own health check has a number as id, and leaves the handlers in place.
    const isProbe = 'method' in message && message.method === 'server/discover' && 'id' in message;
    if (isProbe && typeof message.id === 'string' && take !== seen) {
      seen = (answer, extra) => {
        own?.(answer, extra);
        take?.(answer, extra);
      };
      transport.onmessage = seen;
    }
    return send(message, options);
  };
}

/**
 * Once the client is connected: delivers one message per turn. The client handles a response at once and a notification a
 * turn later, so progress that arrives together with the result would belong to a call that is already closed.
 */
export function deliverInTurn(transport: Transport): void {
  const take = transport.onmessage;
  let turn = Promise.resolve();
  transport.onmessage = (message, extra) => {
    turn = turn.then(() => take?.(message, extra)).catch((thrown: unknown) => transport.onerror?.(thrown as Error));
  };
}

/**
 * The SDK refuses a JSON answer with a member that is `null`, a result whose `_meta` is no object, or an error without the
 * id of its request, before any handler sees it. Such an error can only be about the message that was posted.
 */
export function readPlainAnswers(fetch: FetchLike): FetchLike {
  return async (url, init) => {
    const answer = await fetch(url, init);
    const read = answer.json.bind(answer);
    return Object.assign(answer, { json: async () => plainAnswer(await read(), init?.body) });
  };
}

function plainAnswer(given: unknown, posted: RequestInit['body']): unknown {
  if (Array.isArray(given)) return given.map((each) => plainAnswer(each, posted));
  if (!isJsonObject(given)) return given;
  const answer = messageWithoutNulls(given);
  const { result } = answer;
  if (isJsonObject(result) && result._meta !== undefined && !isJsonObject(result._meta)) {
    const { _meta, ...rest } = result;
    return { ...answer, result: rest };
  }
  if (!isJsonObject(answer.error) || (answer.id ?? null) !== null || typeof posted !== 'string') return answer;
  return { ...answer, id: (JSON.parse(posted) as JsonObject).id };
}

/** Our messages have the method before the params, so the first match is the method of the message itself. */
const methodPlace = 200;
const firstMethod = /"method":"([^"]*)"/;

/** The method of a message that the transport sends. Only its beginning is read. */
export function methodIn(body: RequestInit['body']): string | undefined {
  return typeof body === 'string' ? firstMethod.exec(body.slice(0, methodPlace))?.[1] : undefined;
}
