/**
 * What stands in front of a real MCP server over HTTP and spoils its answers: fixed answers, silence, resets, streams
 * that end too soon. Knows HTTP; knows of MCP only how to distinguish a message that answers from one that does not.
 */

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A request as it came in. */
export interface SeenRequest {
  readonly httpMethod: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The JSON body, or the text where it is not JSON. */
  readonly body: unknown;
  /** The JSON-RPC method, where there is one. */
  readonly rpc: string | undefined;
  /** The name of the tool that a tools/call calls. */
  readonly tool: string | undefined;
  /** Which fault was applied. */
  fault: Fault['kind'] | undefined;
  /** Whether the answer was finished, or the client or a fault ended it early. */
  outcome: 'open' | 'answered' | 'cut';
}

/**
 * What can happen to a request. With SSE a post is answered by its stream: `reset` after the head resets that one too,
 * and what ends or holds an answer (`end-stream`, `after-head`) has nothing to act on; see `dropStreams` of the peer.
 */
export type Fault =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly body?: string;
      readonly contentType?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** Answers never: not at all without having asked the server, or no more than the head of its answer. */
  | { readonly kind: 'hang'; readonly at: 'before-head' | 'after-head' }
  /** `before-head`: the server never sees the request. `after-request`: it has executed it, and no byte leaves. */
  | { readonly kind: 'reset'; readonly at: 'before-head' | 'after-request' | 'mid-body' }
  /** The server has executed the request; its stream ends well, but without a response. */
  | { readonly kind: 'end-stream' }
  /** Waits, and then lets the server answer. */
  | { readonly kind: 'delay'; readonly ms: number };

/** A fault, and which requests it hits; by default every one, for ever. */
export type Behaviour = Fault & {
  /** An HTTP method (`GET`) or a JSON-RPC method (`tools/call`). */
  readonly on?: string;
  readonly when?: (seen: SeenRequest) => boolean;
  readonly times?: number;
};

/** The usual answers of servers and proxies, to be spread: `{ ...faults.serverError, on: 'tools/call', times: 1 }`. */
export const faults = {
  unauthorized: { kind: 'answer', status: 401, headers: { 'www-authenticate': 'Bearer' } },
  forbidden: { kind: 'answer', status: 403, body: 'Forbidden', contentType: 'text/plain' },
  notFound: { kind: 'answer', status: 404, body: 'Not Found', contentType: 'text/plain' },
  tooMany: { kind: 'answer', status: 429, headers: { 'retry-after': '2' } },
  serverError: { kind: 'answer', status: 500, body: 'Internal Server Error', contentType: 'text/plain' },
  html: {
    kind: 'answer',
    status: 200,
    body: '<!doctype html><title>Sign in</title>',
    contentType: 'text/html; charset=utf-8',
  },
  sessionGone404: sessionGone(404, -32001, 'Session not found'),
  sessionGone400: sessionGone(400, -32000, 'Bad Request: No valid session ID provided'),
} as const satisfies Record<string, Fault>;

/** Sends the client to another address; 307 keeps method and body. */
export function redirectTo(location: string, status = 307): Fault {
  return { kind: 'answer', status, headers: { location } };
}

/** The answer of a server that does not know a session. */
export function sessionGone(status: 400 | 404, code: number, message: string): Fault & { readonly kind: 'answer' } {
  const body = JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null });
  return { kind: 'answer', status, body, contentType: 'application/json' };
}

/** Chooses the fault for each request, and counts those that are to happen only so often. */
export function faultChooser(): {
  set(behaviours: readonly Behaviour[]): void;
  choose(seen: SeenRequest): Fault | undefined;
} {
  let active: { readonly behaviour: Behaviour; left: number }[] = [];
  return {
    set: (behaviours) => {
      active = behaviours.map((behaviour) => ({ behaviour, left: behaviour.times ?? Number.POSITIVE_INFINITY }));
    },
    choose: (seen) => {
      const found = active.find(({ behaviour, left }) => left > 0 && hits(behaviour, seen));
      if (found === undefined) return undefined;
      found.left -= 1;
      seen.fault = found.behaviour.kind;
      return found.behaviour;
    },
  };
}

/** Applies what needs no server; returns false where the server must be asked. */
export async function spoilRequest(fault: Fault | undefined, res: ServerResponse): Promise<boolean> {
  if (fault?.kind === 'delay') await new Promise((resolve) => setTimeout(resolve, fault.ms));
  if (fault?.kind === 'answer') {
    res.writeHead(fault.status, { ...(fault.contentType && { 'content-type': fault.contentType }), ...fault.headers });
    res.end(fault.body);
    return true;
  }
  if (fault?.kind === 'reset' && fault.at === 'before-head') res.socket?.resetAndDestroy();
  return (fault?.kind === 'hang' || fault?.kind === 'reset') && fault.at === 'before-head';
}

/** Sends the server's answer, spoilt as told. */
export async function sendAnswer(answer: Response, res: ServerResponse, fault: Fault | undefined): Promise<void> {
  const reader = answer.body?.getReader();
  const socket = res.socket;
  res.once('close', () => void reader?.cancel().catch(() => {}));
  const head = Object.fromEntries(answer.headers);
  if (fault?.kind === 'reset' && fault.at === 'after-request') {
    await readToResponse(reader);
    socket?.resetAndDestroy();
    return;
  }
  if (fault?.kind === 'end-stream') {
    await readToResponse(reader);
    res.writeHead(200, { ...head, 'content-type': 'text/event-stream' }).end();
    return;
  }
  res.writeHead(answer.status, head);
  res.flushHeaders();
  if (fault?.kind === 'hang') return;
  if (fault?.kind === 'reset') {
    const body = await readToResponse(reader);
    cutAfter(res, socket, body.subarray(0, Math.ceil(body.length / 2)));
    return;
  }
  await copy(reader, res);
  res.end();
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

async function copy(reader: Reader | undefined, res: ServerResponse): Promise<void> {
  while (reader !== undefined) {
    const { value, done } = await reader.read();
    if (done) return;
    res.write(value);
  }
}

/** Reads until the message that answers the request has come, so that the server has surely executed it. */
async function readToResponse(reader: Reader | undefined): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  while (reader !== undefined) {
    const { value, done } = await reader.read();
    if (done) break;
    chunks.push(value);
    if (/"(result|error)"/.test(Buffer.concat(chunks).toString())) break;
  }
  return Buffer.concat(chunks);
}

function cutAfter(res: ServerResponse, socket: Socket | null, bytes: Buffer): void {
  res.write(bytes, () => socket?.resetAndDestroy());
}

function hits({ on, when }: Behaviour, seen: SeenRequest): boolean {
  return (on === undefined || on === seen.httpMethod || on === seen.rpc) && (when === undefined || when(seen));
}
