/**
 * The HTTP server on node:http, which is used where uWebSockets.js is not. It fulfils the same contract, with the
 * standard library's own limits for heads and idle connections.
 *
 * A connection's requests may be pipelined and followed by bytes that are not HTTP. So the server tracks the pending
 * answers of each connection: only those are written, and bytes after a close are ignored.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { HeaderTable } from '../../machines/webhook/kept-headers.ts';
import type { Reply } from '../../machines/webhook/reply.ts';
import { BodyReader } from './body-reader.ts';
import { boundConnections, connectionLimit } from './connections.ts';
import type { BodyOutcome, Exchange, OpenHttpServer, RequestHead } from './http-server.ts';
import { createLingering, lingerLimits } from './lingering.ts';
import { badRequest, cannotBind, expectsBody, maxHeaderBytes, refusalOf } from './refusals.ts';

const headTimeoutMs = 10_000;
/** How often slow heads are searched for. */
const checkEveryMs = 1_000;
const keepAliveTimeoutMs = 65_000;
/**
 * How many requests of one connection are taken in one turn of the event loop. The system gives up to 2 MB of them in one
 * turn, which may be 60,000: a few such connections would keep all others waiting for seconds. Senders pipeline few, if any.
 */
const maxPipelined = 100;

/** Opens the HTTP server; rejects if the address cannot be bound. */
export const openNodeServer: OpenHttpServer = async (settings, handle) => {
  const headersTimeout = settings.headTimeoutMs ?? headTimeoutMs;
  const server = createServer({
    maxHeaderSize: maxHeaderBytes,
    insecureHTTPParser: false,
    headersTimeout,
    connectionsCheckingInterval: Math.min(checkEveryMs, headersTimeout),
    keepAliveTimeout: keepAliveTimeoutMs,
    // Each exchange checks the minimum rate of its body.
    requestTimeout: 0,
  });
  // Above its default number the library drops headers silently; the size limit of a head bounds them.
  server.maxHeadersCount = 0;
  const connections: Connections = new Map();
  let turn = 0;
  let isCounted = false;
  /** The number of this turn of the event loop. */
  const turnNow = (): number => {
    if (!isCounted) {
      isCounted = true;
      setImmediate(() => {
        isCounted = false;
        turn += 1;
      });
    }
    return turn;
  };
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
      // A request after a close must not be processed (RFC 9112 §9.6): its answer could not be sent.
      if (connection.closes) return;
      const isClosing = (): boolean => !server.listening;
      const options = { connection, bodyTimeoutMs: settings.bodyTimeoutMs, awaitsContinue, isClosing, answered };
      const exchange = new NodeExchange(request, response, options);
      if (!response.shouldKeepAlive) connection.closes = true;
      connection.taken = connection.turn === turnNow() ? connection.taken + 1 : 1;
      connection.turn = turn;
      if (connection.taken === maxPipelined) {
        connection.closes = true;
        exchange.endsConnection();
        socket.pause();
        stopParsing(socket);
      }
      const refusal = versionRefusal(request) ?? refusalOf(exchange.head);
      if (refusal === undefined) handle(exchange);
      else exchange.reply(refusal);
    };
  const linger = createLingering(lingerLimits);
  server.on('connection', (socket: Socket) => {
    connectionOf(connections, socket);
    // The library also calls this, to end a connection after its last answer.
    socket.destroySoon = () => linger(socket);
  });
  server.on('request', listen(false));
  // The handler answers, and may refuse before the client sends its body.
  server.on('checkContinue', listen(true));
  // An unknown expectation is ignored (RFC 9110 §10.1.1); by default node:http would refuse it.
  server.on('checkExpectation', listen(false));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) =>
    endBroken(error, socket, connectionOf(connections, socket)),
  );

  await new Promise<void>((resolve, reject) => {
    // The listener stays: an accept that fails for lack of descriptors is an error event too.
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

/** The library's parser of a connection, which its types lack. */
interface Parsed {
  readonly parser?: { onIncoming?: () => number } | null;
}

/**
 * Skips what is left of the bytes that were read: 2 ends their parsing, as for an upgrade. It may be thousands of requests,
 * and the library creates objects for each of them and an error for each when the connection ends.
 */
function stopParsing(socket: Socket): void {
  // An undocumented property. Without it, the rest is parsed and ignored.
  const { parser } = socket as unknown as Parsed;
  if (parser) parser.onIncoming = () => 2;
}

interface Connection {
  /** In order of arrival; an exchange is removed once its answer is written. */
  readonly due: Set<NodeExchange>;
  /** Whether no further request is accepted: one side closes the connection, or the input was not HTTP. */
  closes: boolean;
  /** How many requests were taken in which turn of the event loop. */
  taken: number;
  turn: number;
}

type Connections = Map<Socket, Connection>;

function connectionOf(connections: Connections, socket: Socket): Connection {
  const known = connections.get(socket);
  if (known !== undefined) return known;
  const connection = { due: new Set<NodeExchange>(), closes: false, taken: 0, turn: 0 };
  connections.set(socket, connection);
  socket.once('close', () => {
    connections.delete(socket);
    // The library closes no response that waits for an earlier one.
    for (const exchange of connection.due) exchange.left();
  });
  return connection;
}

/**
 * The library accepts a request line without a version, and any major version; RFC 9112 §6.1 calls a coding in 1.0
 * faulty.
 */
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

/** The path and query of a target, which may include scheme and host (RFC 9112 §3.2.2). */
function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const path = target.replace(/^https?:\/\/[^/?#]*/i, '');
  return path.startsWith('/') || path === target ? path : `/${path}`;
}

interface ExchangeOptions {
  readonly connection: Connection;
  readonly bodyTimeoutMs: number;
  readonly awaitsContinue: boolean;
  /** Whether the server accepts no further connection: each open one ends with its last answer. */
  readonly isClosing: () => boolean;
  /** Reports that an answer was sent on the connection. */
  readonly answered: (socket: Socket) => void;
}

class NodeExchange implements Exchange {
  readonly head: RequestHead;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #options: ExchangeOptions;
  #body: BodyReader | undefined;
  #waiting: (() => void)[] | undefined;
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

  /** Whether the complete request has arrived. */
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
      // Earlier requests still get their answers; the body is dropped, and no request after it is accepted.
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

  whenLeft(left: () => void): void {
    if (this.#request.socket.destroyed && !this.isAnswered) {
      left();
      return;
    }
    this.#waiting ??= [];
    this.#waiting.push(left);
  }

  /** The client left: who waits for that is notified. */
  left(): void {
    if (!this.isAnswered) for (const left of this.#waiting ?? []) left();
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
    // The library emits no events for an answered request, and its body must be released.
    this.#body?.abort();
  }
}

/** Node keeps only the first of some repeated headers; joining the raw ones treats all alike. */
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
 * Accepts no further request on a connection, which ends with its last answer to a complete request; returns whether
 * there is one.
 */
function awaitsLast(connection: Connection): boolean {
  connection.closes = true;
  const last = [...connection.due].findLast(({ isWhole }) => isWhole);
  last?.endsConnection();
  return last !== undefined;
}

/**
 * Ends a connection whose input was not HTTP or arrived too slowly. Earlier complete requests get their answers, the last
 * of which ends the connection. If no answer is due and neither side has closed, the error itself is answered.
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

/** Requests in progress are answered; a connection without a pending answer ends at once, even if it never sent a byte. */
async function closeServer(server: Server, connections: Connections, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // A socket that is no longer writable lingers until its last answer arrives.
  for (const [socket, { due }] of connections) if (due.size === 0 && socket.writable) socket.destroy();
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(timer);
}
