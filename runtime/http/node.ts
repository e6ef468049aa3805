/**
 * The front on node:http, for hosts where the other one's binary cannot load. The same promises, kept with the standard
 * library's own limits for heads and idle connections.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { BodyReader } from './body-reader.ts';
import type { BodyOutcome, Exchange, ExchangeHandler, OpenFront, Reply, RequestHead } from './front.ts';
import { cannotBind, conflictingLength, maxHeaderBytes } from './refusals.ts';

/** The head of a request must be whole within this. */
const headersTimeoutMs = 10_000;
/** A slow but living upload may take its time, but not for ever: so long for all of a request. */
const requestTimeoutMs = 300_000;
/** How often both are looked at. */
const checkEveryMs = 2_000;
const keepAliveTimeoutMs = 65_000;

/** Opens the front; rejects where the address cannot be bound. */
export const openNodeFront: OpenFront = async (settings, handle) => {
  const server = createServer({
    maxHeaderSize: maxHeaderBytes,
    insecureHTTPParser: false,
    connectionsCheckingInterval: checkEveryMs,
  });
  server.headersTimeout = headersTimeoutMs;
  server.keepAliveTimeout = keepAliveTimeoutMs;
  // The body's own stall is watched per exchange.
  server.requestTimeout = requestTimeoutMs;
  const accepting: ExchangeHandler = (exchange) => handle(exchange);
  server.on('request', (request, response) => accept(request, response, settings.bodyTimeoutMs, accepting));
  // Answered by the handler, which may refuse before the client sends its body.
  server.on('checkContinue', (request, response) => accept(request, response, settings.bodyTimeoutMs, accepting, true));
  // An expectation that nobody knows asks for nothing (RFC 9110 §10.1.1); the server would refuse it by itself.
  server.on('checkExpectation', (request, response) => accept(request, response, settings.bodyTimeoutMs, accepting));
  server.on('clientError', answerClientError);

  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(cannotBind(settings, error.message)));
    server.listen({ host: settings.host, port: settings.port, exclusive: true }, resolve);
  });
  let closing: Promise<void> | undefined;
  return {
    kind: 'node',
    host: settings.host,
    port: (server.address() as AddressInfo).port,
    close(graceMs) {
      closing ??= closeServer(server, graceMs);
      return closing;
    },
  };
};

function accept(
  request: IncomingMessage,
  response: ServerResponse,
  bodyTimeoutMs: number,
  handle: ExchangeHandler,
  awaitsContinue = false,
): void {
  const target = originForm(request.url ?? '/');
  const query = target.indexOf('?');
  const declared = request.headers['content-length'];
  const head: RequestHead = {
    method: request.method ?? 'GET',
    path: query < 0 ? target : target.slice(0, query),
    headers: joinedHeaders(request),
    ...(declared === undefined ? {} : { contentLength: Number(declared) }),
  };
  handle(new NodeExchange(request, response, head, { bodyTimeoutMs, awaitsContinue }));
}

/** A target may name scheme and host as well (RFC 9112 §3.2.2), which tell nothing here. */
function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const path = target.replace(/^https?:\/\/[^/?#]*/i, '');
  return path.startsWith('/') || path === target ? path : `/${path}`;
}

class NodeExchange implements Exchange {
  readonly head: RequestHead;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #options: { readonly bodyTimeoutMs: number; readonly awaitsContinue: boolean };

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    head: RequestHead,
    options: { readonly bodyTimeoutMs: number; readonly awaitsContinue: boolean },
  ) {
    this.#request = request;
    this.#response = response;
    this.head = head;
    this.#options = options;
    response.on('error', () => {});
  }

  readBody(maxBytes: number, settled: (outcome: BodyOutcome) => void): void {
    if ((this.head.contentLength ?? 0) > maxBytes) {
      settled({ kind: 'tooLarge' });
      return;
    }
    const { bodyTimeoutMs, awaitsContinue } = this.#options;
    const request = this.#request;
    const body = new BodyReader(maxBytes, (outcome) => {
      clearTimeout(timer);
      settled(outcome);
    });
    const timer = setTimeout(() => request.destroy(), bodyTimeoutMs);
    request.on('data', (chunk: Buffer) => {
      timer.refresh();
      body.add(chunk);
      if (body.settled) request.pause();
    });
    request.on('end', () => body.end());
    request.on('error', () => body.abort());
    request.on('close', () => body.abort());
    if (awaitsContinue) this.#response.writeContinue();
  }

  reply(reply: Reply): void {
    const response = this.#response;
    if (response.headersSent || response.destroyed) return;
    const unread = !this.#request.complete;
    response.writeHead(reply.status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(reply.body),
      ...reply.headers,
      ...(unread ? { connection: 'close' } : {}),
    });
    response.end(this.head.method === 'HEAD' ? undefined : reply.body, () => {
      // What the client still sends is not read; half-closing first lets the answer reach it.
      if (unread) this.#request.socket.destroySoon();
    });
  }
}

/** Node keeps the first of some repeated headers; joining the raw ones treats all alike. */
function joinedHeaders(request: IncomingMessage): Record<string, string> {
  const joined: Record<string, string> = {};
  const raw = request.rawHeaders;
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] ?? '').toLowerCase();
    const value = raw[at + 1] ?? '';
    const standing = joined[name];
    joined[name] = standing === undefined ? value : `${standing}, ${value}`;
  }
  return joined;
}

const statuses: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = statuses[error.code ?? ''] ?? '400 Bad Request';
  const { body } = conflictingLength;
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  );
  // Who goes on sending is not waited for.
  socket.destroySoon();
}

async function closeServer(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(timer);
}
