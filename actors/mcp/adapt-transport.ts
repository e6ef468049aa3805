/**
 * Adapts the SDK's transports to its client: a stream that ends without the answer to
 * its request is reported, instead of being waited for until the call's time is over; and messages come one a turn. Reads
 * nothing of a message but whose answer it is.
 * @see TRU-2 and SRV-3 in docs/specification.md
 */

import type { Transport } from '@modelcontextprotocol/client';

/** Ours, beside those that JSON-RPC keeps for servers; read again where a call or a connect failed. */
export const streamEndedCode = -32_098;
export const streamEndedWords = 'the stream ended before the answer';

/**
 * Before the client is connected: answers a request in the server's place where its stream ended without one. Returns
 * whether that has happened, for to a discovery any error is the other era's.
 */
export function reportEndedStreams(transport: Transport): () => boolean {
  let told = false;
  const waiting = new Set<string | number>();
  const before = transport.onmessage;
  const send = transport.send.bind(transport);
  transport.onmessage = (message, extra) => {
    before?.(message, extra);
    if (!('method' in message) && message.id !== undefined) waiting.delete(message.id);
  };
  transport.send = (message, options) => {
    // Whoever asks for the end of its stream knows what to make of it.
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
 * Once the client is connected: gives it one message a turn. It takes a response at once and a notification a turn later,
 * so that the progress which comes in one piece with the result would be of a call that it has forgotten.
 */
export function deliverInTurn(transport: Transport): void {
  const take = transport.onmessage;
  let turn = Promise.resolve();
  transport.onmessage = (message, extra) => {
    turn = turn.then(() => take?.(message, extra)).catch((thrown: unknown) => transport.onerror?.(thrown as Error));
  };
}
