/**
 * Calls tools past the SDK's client, directly over its transport, in the era of handshakes. For each call the client
 * creates a promise, a timer, a listener and validates the answer three times; here a call is a row in a table. Ids are
 * far above the client's, so that both can share one transport.
 * @see LIF-3, SRV-3 and TRU-2 in docs/specification.md
 */

import { type JSONRPCMessage, ProtocolError, SdkError, SdkErrorCode } from '@modelcontextprotocol/client';
import { isJsonObject, type Json, type JsonObject } from '../../machines/base/json.ts';
import { untrustedWords } from '../../machines/mcp/untrusted-words.ts';
import { type Handler, streamEnd } from './adapt-transport.ts';
import type { OpenCall, OpenCalls } from './open-calls.ts';
import type { OpenTransport } from './transports.ts';

export interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

interface DirectRequest {
  readonly tool: string;
  readonly args: JsonObject;
  /** The gateway's id of the call. */
  readonly id?: string | undefined;
  readonly onProgress: ((progress: Progress) => void) | undefined;
  /** The trace that the call belongs to. */
  readonly traceparent: string | undefined;
}

export type DirectAnswer =
  | { readonly kind: 'result'; readonly result: JsonObject }
  /** The error that the SDK's client would have thrown. */
  | { readonly kind: 'failed'; readonly thrown: unknown }
  | { readonly kind: 'cancelled' };

interface DirectCalls extends Handler {
  /**
   * Sends the call and reports the outcome once, possibly before it returns. The returned function cancels it, also on
   * the wire.
   */
  call(request: DirectRequest, settle: (answer: DirectAnswer) => void): () => void;
  /** The connection is closed: every open call fails. */
  closed(): void;
}

interface Waiting {
  readonly settle: (answer: DirectAnswer) => void;
  readonly onProgress: DirectRequest['onProgress'];
  readonly open: OpenCall;
  /** Ends its request; undefined where all requests share one stream. */
  readonly stop: AbortController | undefined;
}

/** The client counts its requests from 0 and never gets this far. */
const firstId = 1_000_000_000;
const ignore = (): void => {};

/** Takes the messages that answer its calls, and passes on the others. */
export function createDirectCalls(
  { transport, isCut }: Pick<OpenTransport, 'transport' | 'isCut'>,
  timeoutMs: number,
  calls: OpenCalls,
): DirectCalls {
  const waiting = new Map<number, Waiting>();
  let last = firstId;

  function settled(id: number, answer: DirectAnswer): void {
    const row = waiting.get(id);
    if (row === undefined) return;
    waiting.delete(id);
    row.open.end();
    row.settle(answer);
  }

  function tooLate(id: number): void {
    const thrown = new SdkError(SdkErrorCode.RequestTimeout, 'Request timed out', { timeout: timeoutMs });
    giveUp(id, 'it took too long', { kind: 'failed', thrown });
  }

  function giveUp(requestId: number, reason: string, answer: DirectAnswer): void {
    const row = waiting.get(requestId);
    if (row === undefined) return;
    // A transport that cannot send has already reported its loss.
    transport.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason } }).catch(ignore);
    // A cancelled request is never answered: its stream would stay open, or be resumed again and again.
    row.stop?.abort();
    settled(requestId, answer);
  }

  function reportProgress(params: unknown): boolean {
    const given = params as JsonObject | undefined;
    const row = waiting.get(Number(given?.progressToken));
    if (row === undefined) return false;
    const { progress, total, message } = given ?? {};
    if (typeof progress !== 'number') return true;
    row.onProgress?.(
      cleanProgress({
        progress,
        ...(typeof total === 'number' ? { total } : {}),
        ...(typeof message === 'string' ? { message } : {}),
      }),
    );
    return true;
  }

  return {
    receive(message, extra, next) {
      if ('method' in message) {
        if (message.method === 'notifications/progress' && reportProgress(message.params)) return;
      } else if (waiting.has(Number(message.id))) {
        settled(Number(message.id), answerOf(message));
        return;
      }
      next(message, extra);
    },
    call({ tool, args, id: call, onProgress, traceparent }, settle) {
      last += 1;
      const id = last;
      const meta = {
        ...(traceparent === undefined ? {} : { traceparent }),
        ...(onProgress === undefined ? {} : { progressToken: id }),
      };
      const hasMeta = traceparent !== undefined || onProgress !== undefined;
      const params = hasMeta ? { name: tool, arguments: args, _meta: meta } : { name: tool, arguments: args };
      const stop = transport.hasPerRequestStream === true ? new AbortController() : undefined;
      const open = calls.begin(call, timeoutMs, () => tooLate(id), stop?.signal);
      waiting.set(id, { settle, onProgress, open, stop });
      open
        .run(() =>
          transport.send({ jsonrpc: '2.0', id, method: 'tools/call', params } as JSONRPCMessage, {
            // Over HTTP, proxies before the server read the trace from this header.
            ...(traceparent === undefined ? {} : { headers: { traceparent } }),
            onRequestStreamEnd: () => {
              const { code, message } = streamEnd(isCut(id));
              settled(id, { kind: 'failed', thrown: new ProtocolError(code, message) });
            },
          }),
        )
        .catch((thrown: unknown) => settled(id, { kind: 'failed', thrown }));
      return () => giveUp(id, 'the caller cancelled it', { kind: 'cancelled' });
    },
    closed() {
      const thrown = new SdkError(SdkErrorCode.ConnectionClosed, 'Connection closed');
      for (const [id, { stop }] of [...waiting]) {
        stop?.abort();
        settled(id, { kind: 'failed', thrown });
      }
    },
  };
}

/** A progress message is shown to a person. */
export function cleanProgress({ message, ...rest }: Progress): Progress {
  return message === undefined ? rest : { ...rest, message: untrustedWords(message) };
}

/** The blocks of the content are checked where the result is shaped. */
function answerOf(message: object): DirectAnswer {
  const { result, error } = message as { readonly result?: Json; readonly error?: Json };
  if (isJsonObject(error)) {
    const { code, message: words, data } = error;
    const thrown = ProtocolError.fromError(Number(code), typeof words === 'string' ? words : '', data);
    return { kind: 'failed', thrown };
  }
  if (isJsonObject(result) && (result.content === undefined || Array.isArray(result.content))) {
    if (result.structuredContent !== null) return { kind: 'result', result };
    // In this era it is an object, if there is one; a client of `mcp serve` would refuse the complete result.
    const { structuredContent: _, ...rest } = result;
    return { kind: 'result', result: rest };
  }
  const words = 'Invalid result for tools/call: content is no list of blocks';
  return { kind: 'failed', thrown: new SdkError(SdkErrorCode.InvalidResult, words) };
}
