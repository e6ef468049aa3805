/**
 * The front on node:http, which serves wherever the other one does not. The same promises, kept with the standard library's
 * own limits for heads and idle connections.
 *
 * A connection's requests may be pipelined, and what follows them may be no HTTP at all. So the front knows which answers
 * each connection still owes: those are written, nothing else is, and what follows a close is not looked at.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { HeaderTable } from '../../machines/webhook/kept-headers.ts';
import { BodyReader } from './body-reader.ts';
import { boundConnections, connectionLimit } from './connections.ts';
import type { BodyOutcome, Exchange, OpenFront, Reply, RequestHead } from './front.ts';
import { createLingering, lingerLimits } from './lingering.ts';
import { badRequest, cannotBind, expectsBody, maxHeaderBytes, refusalOf } from './refusals.ts';

const headTimeoutMs = 10_000;
/** How often slow heads are looked for. */
const checkEveryMs = 1_000;
const keepAliveTimeoutMs = 65_000;

/** Opens the front; rejects where the address cannot be bound. */
export const openNodeFront: OpenFront = async (settings, handle) => {
  const headersTimeout = settings.headTimeoutMs ?? headTimeoutMs;
  const server = createServer({
    maxHeaderSize: maxHeaderBytes,
    insecureHTTPParser: false,
    headersTimeout,
    connectionsCheckingInterval: Math.min(checkEveryMs, headersTimeout),
    keepAliveTimeout: keepAliveTimeoutMs,
    // The least rate of a body is watched per exchange.
    requestTimeout: 0,
  });
  // Past a number of its own, the library would leave headers out without a word; the size of a head bounds them.
  server.maxHeadersCount = 0;
  const connections: Connections = new Map();
  const { used, answered } = boundConnections(server, {
    limit: settings.maxConnections ?? connectionLimit('webhooks'),
    isBusy: (socket) => (connections.get(socket)?.due.size ?? 0) > 0,
  });
  const listen =
    (awaitsContinue: boolean) =>
    (request: IncomingMessage, response: ServerResponse): void => {
      const { socket } = request;
      used(socket);
      const connection = connectionOf(connections, socket);
      // What follows a close must not be processed (RFC 9112 §9.6): its answer could not leave.
      if (connection.closes) return;
      const isClosing = (): boolean => !server.listening;
      const options = { connection, bodyTimeoutMs: settings.bodyTimeoutMs, awaitsContinue, isClosing, answered };
      const exchange = new NodeExchange(request, response, options);
      if (!response.shouldKeepAlive) connection.closes = true;
      const refusal = versionRefusal(request) ?? refusalOf(exchange.head);
      if (refusal === undefined) handle(exchange);
      else exchange.reply(refusal);
    };
  const linger = createLingering(lingerLimits);
  server.on('connection', (socket: Socket) => {
    connectionOf(connections, socket);
    // The library too ends a connection by it, once the last answer is written.
    socket.destroySoon = () => linger(socket);
  });
  server.on('request', listen(false));
  // Answered by the handler, which may refuse before the client sends its body.
  server.on('checkContinue', listen(true));
  // An expectation that nobody knows asks for nothing (RFC 9110 §10.1.1); the server would refuse it by itself.
  server.on('checkExpectation', listen(false));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) =>
    endBroken(error, socket, connectionOf(connections, socket)),
  );

  await new Promise<void>((resolve, reject) => {
    // Stays: a connection that cannot be accepted for want of descriptors is an error event too.
    server.on('error', (error) => reject(cannotBind(settings, error.message)));
    server.listen({ host: settings.host, port: settings.port, exclusive: true }, resolve);
  });
  let closing: Promise<void> | undefined;
  return {
    kind: 'node',
    host: settings.host,
    port: (server.address() as AddressInfo).port,
    close(graceMs) {
      closing ??= closeServer(server, connections, graceMs);
      return closing;
    },
  };
};

/** What one connection owes its client. */
interface Connection {
  /** In the order in which they came; an exchange is gone once its answer is written. */
  readonly due: Set<NodeExchange>;
  /** Whether no further request is taken: somebody said close, or what came is no HTTP. */
  closes: boolean;
}

type Connections = Map<Socket, Connection>;

function connectionOf(connections: Connections, socket: Socket): Connection {
  const known = connections.get(socket);
  if (known !== undefined) return known;
  const connection = { due: new Set<NodeExchange>(), closes: false };
  connections.set(socket, connection);
  socket.once('close', () => connections.delete(socket));
  return connection;
}

/** The library takes a request line without a version, and any major one; RFC 9112 §6.1 calls a coding in 1.0 faulty. */
function versionRefusal({ httpVersion, headers }: IncomingMessage): Reply | undefined {
  if (!httpVersion.startsWith('1.')) return { status: 505, body: JSON.stringify({ error: 'HTTP/1.1 is spoken here' }) };
  return httpVersion === '1.0' && headers['transfer-encoding'] !== undefined ? badRequest : undefined;
}

function headOf(request: IncomingMessage): RequestHead {
  const target = originForm(request.url ?? '/');
  const query = target.indexOf('?');
  const declared = request.headers['content-length'];
  return {
    method: request.method ?? 'GET',
    path: query < 0 ? target : target.slice(0, query),
    query: query < 0 ? undefined : target.slice(query + 1),
    headers: joinedHeaders(request),
    ...(declared === undefined ? {} : { contentLength: Number(declared) }),
  };
}

/** A target may name scheme and host as well (RFC 9112 §3.2.2), which tell nothing here. */
function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const path = target.replace(/^https?:\/\/[^/?#]*/i, '');
  return path.startsWith('/') || path === target ? path : `/${path}`;
}

interface ExchangeOptions {
  readonly connection: Connection;
  readonly bodyTimeoutMs: number;
  readonly awaitsContinue: boolean;
  /** Whether the front takes no further connection: each that stands ends with its last answer. */
  readonly isClosing: () => boolean;
  /** An answer has left the connection. */
  readonly answered: (socket: Socket) => void;
}

class NodeExchange implements Exchange {
  readonly head: RequestHead;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #options: ExchangeOptions;
  #body: BodyReader | undefined;
  /** Whether the connection ends with this answer. */
  #isLast = false;

  constructor(request: IncomingMessage, response: ServerResponse, options: ExchangeOptions) {
    this.#request = request;
    this.#response = response;
    this.head = headOf(request);
    this.#options = options;
    const { connection, isClosing, answered } = options;
    const { due } = connection;
    due.add(this);
    response.on('error', () => {});
    response.once('close', () => due.delete(this));
    response.once('finish', () => {
      due.delete(this);
      answered(request.socket);
      if (this.#isLast || (isClosing() && due.size === 0)) request.socket.destroySoon();
    });
  }

  /** Whether all of the request has come. */
  get isWhole(): boolean {
    return this.#request.complete;
  }

  get isAnswered(): boolean {
    return this.#response.headersSent;
  }

  endsConnection(): void {
    this.#isLast = true;
  }

  get address(): string | undefined {
    return this.#request.socket.remoteAddress;
  }

  readBody(maxBytes: number, settled: (outcome: BodyOutcome) => void, mayKeep?: (bytes: number) => boolean): void {
    if ((this.head.contentLength ?? 0) > maxBytes) {
      settled({ kind: 'tooLarge' });
      return;
    }
    const { connection, bodyTimeoutMs, awaitsContinue } = this.#options;
    const request = this.#request;
    const settle = (outcome: BodyOutcome): void => {
      clearTimeout(timer);
      settled(outcome);
    };
    const body = new BodyReader(this.head.contentLength || maxBytes, settle, mayKeep);
    this.#body = body;
    const timer = setTimeout(() => {
      // Those who asked before get their answers; the body is given up, and nothing is taken behind it.
      if (awaitsLast(connection)) body.abort();
      else request.destroy();
    }, bodyTimeoutMs);
    request.on('data', (chunk: Buffer) => {
      if (body.add(chunk)) timer.refresh();
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
    const { connection, isClosing } = this.#options;
    const isLastDue = isClosing() && [...connection.due].at(-1) === this;
    if (isLastDue || (!this.isWhole && expectsBody(this.head))) {
      connection.closes = true;
      this.endsConnection();
    }
    response.writeHead(reply.status, {
      'content-type': reply.contentType ?? 'application/json',
      'content-length': Buffer.byteLength(reply.body),
      ...reply.headers,
      ...(this.#isLast ? { connection: 'close' } : {}),
    });
    response.end(this.head.method === 'HEAD' ? undefined : reply.body);
    // The library reports nothing of a request once it is answered, and the body must not hold its memory.
    this.#body?.abort();
  }
}

/** Node keeps the first of some repeated headers; joining the raw ones treats all alike. */
function joinedHeaders(request: IncomingMessage): Record<string, string> {
  const joined: Record<string, string> = new HeaderTable();
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

/**
 * Takes nothing more on a connection, which ends with the last answer that is due to a whole request; returns whether there
 * is one.
 */
function awaitsLast(connection: Connection): boolean {
  connection.closes = true;
  const last = [...connection.due].findLast(({ isWhole }) => isWhole);
  last?.endsConnection();
  return last !== undefined;
}

/**
 * Ends a connection on which something came that is no HTTP, or came too slowly. Requests that were whole before it get their
 * answers, the last of which ends the connection; where none is due and none said close, it is answered itself.
 */
function endBroken(error: NodeJS.ErrnoException, socket: Socket, connection: Connection): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { due, closes } = connection;
  if (awaitsLast(connection)) return;
  if (closes && [...due].every(({ isAnswered }) => isAnswered)) {
    socket.destroySoon();
    return;
  }
  const status = statuses[error.code ?? ''] ?? '400 Bad Request';
  const { body } = badRequest;
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  );
  socket.destroySoon();
}

/** What is under way is answered; a connection that owes nothing ends at once, also one that has never said a word. */
async function closeServer(server: Server, connections: Connections, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // A socket that is no longer writable lingers, for its last answer to arrive.
  for (const [socket, { due }] of connections) if (due.size === 0 && socket.writable) socket.destroy();
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(timer);
}
