/**
 * Adapts the SDK's transports to its client, by handlers between the two in one order: a stream that ends without the
 * answer to its request is reported, so that the call need not time out, and messages are delivered one per turn. A JSON
 * answer need not be strict. Of a message only its own members are read.
 * @see TRU-2, SRV-3 and FLT-4 in docs/specification.md
 */

import {
  type FetchLike,
  type JSONRPCMessage,
  SdkError,
  SdkErrorCode,
  type Transport,
} from '@modelcontextprotocol/client';
import { isJsonObject, type Json, type JsonObject } from '../../machines/base/json.ts';
import { messageWithoutNulls } from '../../machines/mcp/without-nulls.ts';

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

/**
 * The SDK refuses a JSON answer with a member that is `null`, or a result whose `_meta` is no object, before any handler
 * sees it, and one with another id ends no request, which would wait until its timeout.
 */
export function readPlainAnswers(fetch: FetchLike): FetchLike {
  return async (url, init) => {
    const answer = await fetch(url, init);
    const read = answer.json.bind(answer);
    return Object.assign(answer, { json: async () => answering(init?.body, plainAnswer(await read())) });
  };
}

/** Messages of one batch: the client reads all of them in one turn. */
const maxTogether = 1_000;

function plainAnswer(given: unknown): unknown {
  if (Array.isArray(given)) {
    if (given.length > maxTogether) throw new Error(`answers with a batch of more than ${maxTogether} messages`);
    return given.map(plainAnswer);
  }
  if (!isJsonObject(given)) return given;
  const answer = messageWithoutNulls(given);
  const { result } = answer;
  if (!isJsonObject(result) || result._meta === undefined || isJsonObject(result._meta)) return answer;
  const { _meta, ...rest } = result;
  return { ...answer, result: rest };
}

/**
 * An error with another id, or without one, can only be about the message that was posted. A result with another id may be
 * that of another request.
 */
function answering(posted: RequestInit['body'], given: unknown): unknown {
  const messages: readonly unknown[] = Array.isArray(given) ? given : [given];
  const answers = messages.filter(isJsonObject).filter(({ method }) => method === undefined);
  if (typeof posted !== 'string' || answers.some(({ id = null }) => hasId(posted, id))) return given;
  // What is no message is refused by the SDK.
  if (!messages.every((message) => isJsonObject(message) && message.jsonrpc === '2.0')) return given;
  const { id = null } = JSON.parse(posted) as JsonObject;
  if (answers.some((answer) => String(answer.id) === String(id))) return given;
  const error = answers.find((answer) => isJsonObject(answer.error));
  if (error !== undefined) return messages.map((message) => (message === error ? { ...error, id } : message));
  const ids = answers.map((answer) => JSON.stringify(answer.id ?? null)).join(', ');
  const words = ids === '' ? 'it answers nothing' : `it has the id ${ids}, not that of the request`;
  throw new SdkError(SdkErrorCode.InvalidResult, words);
}

/** Whether a request has the id, without parsing it: our own begin with it, and those of the SDK's client end with it. */
function hasId(posted: string, id: Json): boolean {
  const written = `"jsonrpc":"2.0","id":${JSON.stringify(id)}`;
  return posted.startsWith(`{${written},`) || posted.endsWith(`,${written}}`);
}

/** Our messages have the method before the params, so the first match is the method of the message itself. */
const methodPlace = 200;
const firstMethod = /"method":"([^"]*)"/;

/** The method of a message that the transport sends. Only its beginning is read. */
export function methodIn(body: RequestInit['body']): string | undefined {
  return typeof body === 'string' ? firstMethod.exec(body.slice(0, methodPlace))?.[1] : undefined;
}
