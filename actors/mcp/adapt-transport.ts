/**
 * Adapts the SDK's transports to its client, by handlers between the two in one order: a stream that ends without the
 * answer to its request is reported, so that the call need not time out, and messages are delivered one per turn.
 * @see TRU-2, SRV-3 and FLT-4 in docs/specification.md
 */

import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';

/** Outside the range that JSON-RPC reserves for servers; recognized when the error of a call or a connect is read. */
export const streamEndedCode = -32_098;
export const streamEndedWords = 'the stream ended before the answer';
export const answerCutCode = -32_097;

/** The error of a request whose stream ended without its answer, which was too long if it was cut off here. */
export function streamEnd(isCut: boolean): { readonly code: number; readonly message: string } {
  return isCut
    ? { code: answerCutCode, message: 'its answer was cut off, at 64 MiB or a million values' }
    : { code: streamEndedCode, message: streamEndedWords };
}

type Receive = NonNullable<Transport['onmessage']>;
type Send = Transport['send'];

/** Handles messages between a transport and its client. */
export interface Handler {
  /** Takes each message of the server; `next` passes it on towards the client. */
  readonly receive?: (message: JSONRPCMessage, extra: Parameters<Receive>[1], next: Receive) => void;
  /** Takes each message of the client; `next` passes it on towards the server. */
  readonly send?: (message: JSONRPCMessage, options: Parameters<Send>[1], next: Send) => Promise<void>;
}

/** Adds handlers, from the server to the client, before those that were added earlier. */
export type PutBefore = (handlers: readonly Handler[]) => void;

/**
 * Puts handlers between a transport and its client, whatever the client takes its messages with: for its discovery it has
 * another function. To be called before the client is connected.
 * @param first the handler that stays the first
 */
export function lineUp(transport: Transport, first: Handler): PutBefore {
  let client: Receive | undefined;
  let entry: Receive | undefined;
  let receive: Receive;
  let others: readonly Handler[] = [];
  const toServer = transport.send.bind(transport);
  const toClient: Receive = (message, extra) => client?.(message, extra);
  const putBefore: PutBefore = (handlers) => {
    others = [...handlers, ...others];
    const line = [first, ...others];
    receive = line.reduceRight<Receive>(
      (next, { receive: take }) => (take === undefined ? next : (message, extra) => take(message, extra, next)),
      toClient,
    );
    transport.send = line.reduce<Send>(
      (next, { send }) => (send === undefined ? next : (message, options) => send(message, options, next)),
      toServer,
    );
  };
  putBefore([]);
  Object.defineProperty(transport, 'onmessage', {
    get: () => entry,
    set: (taken: Receive | undefined) => {
      client = taken;
      // A client calls the function that it finds here from its own, behind the handlers.
      const own: Receive = (message, extra) => (own === entry ? receive(message, extra) : taken?.(message, extra));
      entry = taken && own;
    },
  });
  return putBefore;
}

/** Answers a request with an error if its stream ended without an answer. */
export interface EndedStreams extends Handler {
  /** Whether that has happened, because discovery takes any error for the other era. */
  hasReported(): boolean;
}

export function reportEndedStreams(
  transport: Transport,
  isCut: (id: string | number) => boolean = () => false,
): EndedStreams {
  let reported = false;
  const waiting = new Set<string | number>();
  return {
    hasReported: () => reported,
    receive(message, extra, next) {
      if (!('method' in message) && message.id !== undefined) {
        // The id of the discovery is a text, and a server may answer with a number as one.
        waiting.delete(message.id);
        waiting.delete(Number(message.id));
      }
      next(message, extra);
    },
    send(message, options, next) {
      // A caller that sets `onRequestStreamEnd` handles the end itself.
      if (!('method' in message && 'id' in message) || options?.onRequestStreamEnd !== undefined) {
        return next(message, options);
      }
      const { id } = message;
      // Whether a listing was cut off is asked by its reader.
      const isCall = message.method === 'tools/call';
      waiting.add(id);
      const onRequestStreamEnd = (): void => {
        if (!waiting.delete(id)) return;
        reported = true;
        transport.onmessage?.({ jsonrpc: '2.0', id, error: streamEnd(isCall && isCut(id)) });
      };
      return next(message, { ...options, onRequestStreamEnd });
    },
  };
}

/**
 * Delivers one message per turn. The client handles a response at once and a notification a turn later, so progress that
 * arrives together with the result would belong to a call that is already closed.
 */
export function deliverInTurn(transport: Transport): Handler {
  let turn = Promise.resolve();
  return {
    receive(message, extra, next) {
      turn = turn.then(() => next(message, extra)).catch((thrown: unknown) => transport.onerror?.(thrown as Error));
    },
  };
}

/** Our messages have the method before the params, so the first match is the method of the message itself. */
const methodPlace = 200;
const firstMethod = /"method":"([^"]*)"/;

/** The method of a message that the transport sends. Only its beginning is read. */
export function methodIn(body: RequestInit['body']): string | undefined {
  return typeof body === 'string' ? firstMethod.exec(body.slice(0, methodPlace))?.[1] : undefined;
}
