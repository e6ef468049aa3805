/**
 * The front on uWebSockets.js. The native request is dead when the handler returns, so the head is copied first; chunks are
 * valid in their callback only, so each is copied too; answers are corked.
 *
 * The library parses before us and offers no hook there. What it does not take although it must is why `auto` does not choose
 * it; docs/decisions/0006 lists that and every other difference, and the conformance suite pins each down.
 */

import type { HttpRequest, HttpResponse, us_listen_socket } from 'uWebSockets.js';
import { STATUS_CODES } from 'node:http';
import { Roster } from '../../machines/base/roster.ts';
import { HeaderTable } from '../../machines/webhook/kept-headers.ts';
import { BodyReader } from './body-reader.ts';
import { connectionLimit } from './connections.ts';
import type {
  BodyOutcome,
  Exchange,
  ExchangeHandler,
  Front,
  FrontSettings,
  OpenFront,
  Reply,
  RequestHead,
} from './front.ts';
import { loadUws } from './native.ts';
import { badRequest, cannotBind, expectsBody, refusalOf } from './refusals.ts';
import { senderOf } from './sender.ts';

const statusLines: readonly string[] = Array.from(
  { length: 600 },
  (_, code) => `${code} ${STATUS_CODES[code] ?? 'Unknown'}`,
);
/** LIBUS_LISTEN_EXCLUSIVE_PORT: a second daemon on the same port fails instead of sharing it. */
const exclusivePort = 1;
/** The native `listen` takes options beside a host; its types know only one of the two at a time. */
interface ListensExclusively {
  listen(host: string, port: number, options: number, listening: (socket: us_listen_socket | false) => void): unknown;
}
interface Configurable {
  _cfg(word: 'silent'): void;
}
/** Exchanges that no answer has left yet, the search for slow bodies among them, and the bound of connections. */
interface Open {
  readonly exchanges: Roster<UwsExchange, true>;
  watch(): void;
  /** A connection has opened or closed; returns false where there are too many. */
  count(change: number): boolean;
  /** Returns whether its sender may have one more exchange under way. */
  begin(exchange: UwsExchange): boolean;
  end(exchange: UwsExchange): void;
  /** Whether a connection to a sender with a share is closed for others when it has its answer. */
  isCrowded(): boolean;
}
/**
 * Of the connections, in parts of one. The library does not report which connection has closed, so those of a sender cannot
 * be counted. Its requests under way can, and a connection on which it asks again can be closed with the answer. Requests that
 * begin while fewer connections than the first part are open are not counted, to spare their addresses; with the share that
 * makes half.
 */
const uncounted = 0.25;
const senderShare = 0.25;
const crowdedFrom = 0.5;
const noBytes = Buffer.alloc(0);
/** How often slow bodies are looked for. */
const sweepMs = 250;

/** Opens the front; rejects where the binary cannot load or the address cannot be bound. */
export const openUwsFront: OpenFront = async (settings, handle) => {
  const uws = loadUws();
  const open = createOpen(settings.bodyTimeoutMs, settings.maxConnections ?? connectionLimit('webhooks'));
  // Without its name in each answer; its types leave the word for that out.
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
  return frontOf(settings, uws.us_socket_local_port(socket), async (graceMs) => {
    uws.us_listen_socket_close(socket);
    await drained(open, graceMs);
    app.close();
  });
};

function frontOf(settings: FrontSettings, port: number, close: Front['close']): Front {
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
  // RFC 9112 §6.3: a message with two different lengths must not be believed.
  const refusal = conflict ? badRequest : refusalOf(head);
  if (refusal === undefined) handle(exchange);
  else exchange.reply(refusal);
}

/** A native block for each body would be freed by the collector only; small ones lie together in a shared one. */
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

/** A class, because one is made per request and the engine lays its fields out once. */
class UwsExchange implements Exchange {
  readonly head: RequestHead;
  /** Whose share it is a part of; undefined where it is not counted. */
  sender: string | undefined = undefined;
  readonly #res: HttpResponse;
  readonly #open: Open;
  #body: BodyReader | undefined;
  #over = false;

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
    // Where such a head came in pieces, the library never says that nothing follows.
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
      // The library still reads what follows the last chunk, and may refuse it; then nobody hears our answer.
      if (this.head.contentLength === undefined) setImmediate(() => body.end());
      else body.end();
    });
  }

  reply(reply: Reply): void {
    if (this.#over) return;
    this.#over = true;
    this.#open.end(this);
    const unread = this.#body === undefined ? expectsBody(this.head) : !this.#body.isWhole;
    const closes = unread || asksToClose(this.head) || (this.sender !== undefined && this.#open.isCrowded());
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
    // The library calls back no more, and the body must not hold its memory.
    this.#body?.abort();
  }

  /**
   * Told the length of a body that does not follow, the library takes the answer for unfinished: it closes nothing, and
   * the next request would end the connection without an answer. So the length is a header like others. The library closes
   * by itself where the client asks for that in one word; where only we want it closed, it must be told a length, and is
   * told 0.
   */
  #endWithoutBody(length: number, closes: boolean): void {
    if (closes && this.head.headers.connection?.toLowerCase() !== 'close') this.#res.endWithoutBody(0, true);
    else this.#res.writeHeader('content-length', String(length)).endWithoutBody();
  }

  /** The client left; whoever reads the body hears of it, an answer goes nowhere. */
  abort(): void {
    if (!this.#over) this.#open.end(this);
    this.#over = true;
    this.#body?.abort();
  }

  /** Ends an exchange whose body comes too slowly. */
  cut(nowMs: number, timeoutMs: number): void {
    if (this.#body?.settled === false && nowMs - this.#body.spanBeganAtMs > timeoutMs) this.#res.close();
  }
}

/** The library knows the plain word alone; it may stand in a list. */
function asksToClose({ headers: { connection } }: RequestHead): boolean {
  return connection !== undefined && connection !== 'keep-alive' && /(?:^|,)\s*close\s*(?:,|$)/i.test(connection);
}

/** A length that cannot be read counts: the library refuses it once the handler has returned. */
function mayHaveBody({ headers }: RequestHead): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

/** Looks for slow bodies while any is waited for; a front at rest has no timer. */
function createOpen(timeoutMs: number, limit: number): Open {
  let connections = 0;
  const busy = new Map<string, number>();
  const exchanges: Open['exchanges'] = new Roster();
  let watching = false;
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
    begin(exchange) {
      const sender = connections > limit * uncounted ? senderOf(exchange.address ?? '') : undefined;
      const count = sender === undefined ? 0 : (busy.get(sender) ?? 0);
      if (count >= Math.max(1, limit * senderShare)) return false;
      if (sender !== undefined) busy.set(sender, count + 1);
      exchange.sender = sender;
      exchanges.set(exchange, true);
      return true;
    },
    end(exchange) {
      // One that was refused has never begun.
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
