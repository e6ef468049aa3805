/**
 * The HTTP server on uWebSockets.js. The native request is invalid once the handler returns, so the head is copied first;
 * chunks are valid in their callback only, so each is copied too; answers are corked.
 *
 * The library parses before this code runs and offers no hook for that. `auto` does not choose it if it rejects what a
 * server must accept. docs/decisions/0006 lists all differences, and the conformance suite covers each.
 */

import type { HttpRequest, HttpResponse, us_listen_socket } from 'uWebSockets.js';
import { STATUS_CODES } from 'node:http';
import { ChurnMap } from '../../machines/base/churn-map.ts';
import { HeaderTable } from '../../machines/webhook/kept-headers.ts';
import type { Reply } from '../../machines/webhook/reply.ts';
import { BodyReader } from './body-reader.ts';
import { connectionLimit } from './connections.ts';
import type {
  BodyOutcome,
  Exchange,
  ExchangeHandler,
  HttpServer,
  HttpServerSettings,
  OpenHttpServer,
  RequestHead,
} from './http-server.ts';
import { loadUws } from './native.ts';
import { badRequest, cannotBind, expectsBody, refusalOf } from './refusals.ts';
import { senderOf } from './sender.ts';

const statusLines: readonly string[] = Array.from(
  { length: 600 },
  (_, code) => `${code} ${STATUS_CODES[code] ?? 'Unknown'}`,
);
/** LIBUS_LISTEN_EXCLUSIVE_PORT: a second daemon on the same port fails instead of sharing it. */
const exclusivePort = 1;
/** The native `listen` accepts options beside a host; its types allow only one of the two. */
interface ListensExclusively {
  listen(host: string, port: number, options: number, listening: (socket: us_listen_socket | false) => void): unknown;
}
interface Configurable {
  _cfg(word: 'silent'): void;
}
/** The unanswered exchanges, the search for slow bodies among them, and the bound of connections. */
interface Open {
  readonly exchanges: ChurnMap<UwsExchange, true>;
  watch(): void;
  /** Records that a connection opened or closed; returns false if there are too many. */
  count(change: number): boolean;
  /** Returns whether its sender may have one more exchange in progress. */
  begin(exchange: UwsExchange): boolean;
  end(exchange: UwsExchange): void;
  /** Whether more than `maxPerTurn` requests were taken in this turn of the event loop. */
  isFlooded(): boolean;
  /** Whether a connection of a counted sender is closed after its answer, to make room for others. */
  isCrowded(): boolean;
}
/**
 * Fractions of the connection limit. The library does not report which connection has closed, so a sender's connections
 * cannot be counted. Its requests in progress can, and a connection that sends another request can be closed with the
 * answer. Requests that begin while fewer connections than `uncounted` are open are not counted, which saves reading
 * their addresses; together with `senderShare` that makes half.
 */
const uncounted = 0.25;
const senderShare = 0.25;
const crowdedFrom = 0.5;
/**
 * From this number of requests in one turn of the event loop on, those of all connections, answers wait for the next turn.
 * The library reads on as long as a connection sends, so one that pipelines requests which are answered at once would keep all
 * others waiting; it closes one that sends a request while an answer is pending.
 */
const maxPerTurn = 100;
const noBytes = Buffer.alloc(0);
/** How often slow bodies are searched for. */
const sweepMs = 250;

/** Opens the HTTP server; rejects if the binary cannot load or the address cannot be bound. */
export const openUwsServer: OpenHttpServer = async (settings, handle) => {
  const uws = loadUws();
  const open = createOpen(settings.bodyTimeoutMs, settings.maxConnections ?? connectionLimit('webhooks'));
  // Omits the library's name in answers; its types lack this option.
  (uws as unknown as Configurable)._cfg('silent');
  const app = uws.App();
  const count = (res: HttpResponse, change: unknown): void => {
    if (!open.count(Number(change))) res.close();
  };
  app.filter(count);
  app.any('/*', (res, req) => accept(res, req, open, handle));

  const socket = await new Promise<us_listen_socket | false>((resolve) => {
    // Its types have no form of `listen` with options.
    (app as unknown as ListensExclusively).listen(settings.host, settings.port, exclusivePort, resolve);
  });
  if (socket === false) {
    app.close();
    throw cannotBind(settings, 'the address is in use, not of this host, or not permitted');
  }
  return httpServerOf(settings, uws.us_socket_local_port(socket), async (graceMs) => {
    uws.us_listen_socket_close(socket);
    await drained(open, graceMs);
    app.close();
  });
};

function httpServerOf(settings: HttpServerSettings, port: number, close: HttpServer['close']): HttpServer {
  let closing: Promise<void> | undefined;
  return {
    kind: 'uws',
    host: settings.host,
    port,
    close(graceMs) {
      closing ??= close(graceMs);
      return closing;
    },
  };
}

function accept(res: HttpResponse, req: HttpRequest, open: Open, handle: ExchangeHandler): void {
  const headers: Record<string, string> = new HeaderTable();
  let conflict = false;
  req.forEach((name, given) => {
    const value = asSent(given);
    const standing = headers[name];
    if (standing === undefined) headers[name] = value;
    else if (name === 'content-length') conflict ||= standing !== value;
    else headers[name] = `${standing}, ${value}`;
  });
  const declared = headers['content-length'];
  const chunked = headers['transfer-encoding'] !== undefined;
  const head: RequestHead = {
    method: req.getCaseSensitiveMethod(),
    path: req.getUrl(),
    query: req.getQuery() || undefined,
    headers,
    contentLength: declared === undefined || chunked ? undefined : Number(declared),
  };
  const exchange = new UwsExchange(res, head, open);
  res.onAborted(() => exchange.abort());
  if (!open.begin(exchange)) {
    res.close();
    return;
  }
  // RFC 9112 §6.3: a message with two different lengths must be rejected.
  const refusal = conflict ? badRequest : refusalOf(head);
  if (refusal === undefined) handle(exchange);
  else exchange.reply(refusal, true);
}

/** Only the collector would free a native block per body; small copies share a pooled block. */
function copied(chunk: ArrayBuffer): Buffer {
  const copy = Buffer.allocUnsafe(chunk.byteLength);
  copy.set(new Uint8Array(chunk));
  return copy;
}

/** The library decodes values as UTF-8; the port promises their bytes as Latin-1 text. */
function asSent(value: string): string {
  for (let at = 0; at < value.length; at += 1) {
    if (value.charCodeAt(at) > 127) return Buffer.from(value, 'utf8').toString('latin1');
  }
  return value;
}

/** A class, because one is created per request and the engine lays out its fields once. */
class UwsExchange implements Exchange {
  readonly head: RequestHead;
  /** The sender whose share it counts towards; undefined if it is not counted. */
  sender: string | undefined = undefined;
  readonly #res: HttpResponse;
  readonly #open: Open;
  #body: BodyReader | undefined;
  #over = false;
  #isReplied = false;
  #hasLeft = false;
  #waiting: (() => void)[] | undefined;

  constructor(res: HttpResponse, head: RequestHead, open: Open) {
    this.#res = res;
    this.head = head;
    this.#open = open;
  }

  get address(): string | undefined {
    return this.#over ? undefined : Buffer.from(this.#res.getRemoteAddressAsText()).toString('latin1');
  }

  readBody(maxBytes: number, settled: (outcome: BodyOutcome) => void, mayKeep?: (bytes: number) => boolean): void {
    if (this.#over) {
      settled({ kind: 'aborted' });
      return;
    }
    if ((this.head.contentLength ?? 0) > maxBytes) {
      settled({ kind: 'tooLarge' });
      return;
    }
    // If such a head arrived in pieces, the library never signals the end of the body.
    if (this.head.contentLength === 0 || !mayHaveBody(this.head)) {
      settled({ kind: 'read', bytes: noBytes });
      return;
    }
    const body = new BodyReader(this.head.contentLength || maxBytes, settled, mayKeep);
    this.#body = body;
    this.#open.watch();
    this.#res.onData((chunk, isLast) => {
      if (body.settled) return;
      if (chunk.byteLength > 0) body.add(copied(chunk));
      if (!isLast) return;
      // The library still reads what follows the last chunk, and may refuse it; then our answer would not be sent.
      if (this.head.contentLength === undefined) setImmediate(() => body.end());
      else body.end();
    });
  }

  /** @param isLast whether what follows must not be read as a request, because the two sides may disagree where it begins */
  reply(reply: Reply, isLast = false): void {
    if (this.#isReplied) return;
    this.#isReplied = true;
    const unread = this.#body === undefined ? expectsBody(this.head) : !this.#body.isWhole;
    const closes = isLast || unread || asksToClose(this.head) || (this.sender !== undefined && this.#open.isCrowded());
    // The library calls back no more once it is answered, and the body must be released.
    this.#body?.abort();
    if (this.#open.isFlooded()) setImmediate(() => this.#answer(reply, closes));
    else this.#answer(reply, closes);
  }

  #answer(reply: Reply, closes: boolean): void {
    if (this.#over) return;
    this.#over = true;
    this.#open.end(this);
    const res = this.#res;
    res.cork(() => {
      res.writeStatus(statusLines[reply.status] ?? String(reply.status));
      res.writeHeader('content-type', reply.contentType ?? 'application/json');
      if (reply.headers !== undefined) {
        for (const name in reply.headers) res.writeHeader(name, reply.headers[name] ?? '');
      }
      if (this.head.method === 'HEAD') this.#endWithoutBody(Buffer.byteLength(reply.body), closes);
      else res.end(reply.body, closes);
    });
  }

  /**
   * With the length of a body that is not sent, the library considers the answer unfinished: it closes nothing, and the
   * next request would end the connection without an answer. So the length is written as a plain header. The library
   * closes by itself if the client sends `connection: close`; if only this side closes, the call needs a length, and gets
   * 0.
   */
  #endWithoutBody(length: number, closes: boolean): void {
    if (closes && this.head.headers.connection?.toLowerCase() !== 'close') this.#res.endWithoutBody(0, true);
    else this.#res.writeHeader('content-length', String(length)).endWithoutBody();
  }

  whenLeft(left: () => void): void {
    if (this.#hasLeft) {
      left();
      return;
    }
    this.#waiting ??= [];
    this.#waiting.push(left);
  }

  /** The client left: the body's reader and who waits for that are notified, and an answer is dropped. */
  abort(): void {
    if (!this.#over) {
      this.#open.end(this);
      this.#over = true;
      this.#hasLeft = true;
      for (const left of this.#waiting ?? []) left();
    }
    this.#body?.abort();
  }

  /** Ends an exchange whose body arrives too slowly. */
  cut(nowMs: number, timeoutMs: number): void {
    if (this.#body?.settled === false && nowMs - this.#body.spanBeganAtMs > timeoutMs) this.#res.close();
  }
}

/** The library recognizes only the plain word; it may be in a list. */
function asksToClose({ headers: { connection } }: RequestHead): boolean {
  return connection !== undefined && connection !== 'keep-alive' && /(?:^|,)\s*close\s*(?:,|$)/i.test(connection);
}

/** An invalid length counts: the library refuses it once the handler has returned. */
function mayHaveBody({ headers }: RequestHead): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

/** Searches for slow bodies while exchanges are open; an idle server has no timer. */
function createOpen(timeoutMs: number, limit: number): Open {
  let connections = 0;
  const busy = new Map<string, number>();
  const exchanges: Open['exchanges'] = new ChurnMap();
  let watching = false;
  let taken = 0;
  const sweep = (): void => {
    const nowMs = performance.now();
    exchanges.each((exchange) => exchange.cut(nowMs, timeoutMs));
    if (exchanges.size === 0) watching = false;
    else setTimeout(sweep, sweepMs).unref();
  };
  return {
    exchanges,
    count(change) {
      connections += change;
      return change < 0 || connections <= limit;
    },
    isFlooded: () => taken > maxPerTurn,
    begin(exchange) {
      if (taken === 0) {
        setImmediate(() => {
          taken = 0;
        });
      }
      taken += 1;
      const sender = connections > limit * uncounted ? senderOf(exchange.address ?? '') : undefined;
      const count = sender === undefined ? 0 : (busy.get(sender) ?? 0);
      if (count >= Math.max(1, limit * senderShare)) return false;
      if (sender !== undefined) busy.set(sender, count + 1);
      exchange.sender = sender;
      exchanges.set(exchange, true);
      return true;
    },
    end(exchange) {
      // A refused exchange was never counted.
      if (!exchanges.delete(exchange) || exchange.sender === undefined) return;
      const count = (busy.get(exchange.sender) ?? 0) - 1;
      if (count > 0) busy.set(exchange.sender, count);
      else busy.delete(exchange.sender);
    },
    isCrowded: () => connections > limit * crowdedFrom,
    watch() {
      if (watching) return;
      watching = true;
      setTimeout(sweep, sweepMs).unref();
    },
  };
}

/** Resolves when every exchange is answered, or the grace is over. */
function drained(open: Open, graceMs: number): Promise<void> {
  const deadlineMs = performance.now() + graceMs;
  return new Promise((resolve) => {
    const look = (): void => {
      if (open.exchanges.size === 0 || performance.now() >= deadlineMs) resolve();
      else setTimeout(look, 5);
    };
    look();
  });
}
