/**
 * The port of the HTTP server: what a library must offer to serve the gateway. A server copies the head while the native
 * request is alive, hands over an exchange, reads the body within the given limit, and writes the one answer. It has no
 * access to routes, signatures and charts.
 *
 * Both servers (`uws.ts`, `node.ts`) pass `spec/conformance/http-server.ts`.
 * @see LIM-1, RTE-3 and CON-2 in docs/specification.md
 */

import type { Reply } from '../../machines/webhook/reply.ts';

/** The head of a request, copied. */
export interface RequestHead {
  /** The method as sent: it is case-sensitive (RFC 9110 §9.1). */
  readonly method: string;
  /** The path as sent, before the question mark, with its percent-encoding. */
  readonly path: string;
  /** The part after the question mark, as sent; absent without one. */
  readonly query?: string | undefined;
  /**
   * Lower-case names; values are the bytes that were sent, as Latin-1 text. A repeated header is joined with ", ". On
   * uWebSockets.js, bytes above 127 at either end of a value are lost, and invalid UTF-8 becomes U+FFFD.
   */
  readonly headers: Readonly<Record<string, string>>;
  /** The declared length in bytes; absent for a chunked or bodiless request. */
  readonly contentLength?: number | undefined;
}

export type BodyOutcome =
  | { readonly kind: 'read'; readonly bytes: Buffer }
  /** The budget has no room for what arrived; reading has stopped. */
  | { readonly kind: 'crowded' }
  /** More than the limit was declared or arrived; reading has stopped. */
  | { readonly kind: 'tooLarge' }
  /** The client left, or sent too little within `bodyTimeoutMs`. No answer can be written. */
  | { readonly kind: 'aborted' };

/** One request in progress. It is live, so it is never in a context: the gateway keeps it in a table by id. */
export interface Exchange {
  readonly head: RequestHead;
  /**
   * The address of the client, or of a proxy in between; absent if no client sent the request, and mostly once the answer is
   * written or the client has left. Costly on a native server.
   */
  readonly address?: string | undefined;
  /**
   * Reads the complete body, up to `maxBytes`; calls back exactly once. Must be called before the handler returns, or not
   * at all. As the body grows, `mayKeep` is called with the additional bytes of memory; false ends the reading.
   */
  readBody(maxBytes: number, settled: (outcome: BodyOutcome) => void, mayKeep?: (bytes: number) => boolean): void;
  /**
   * Calls back once if the client leaves before its answer is written, at once if it has left; absent if no client sent the
   * request.
   */
  whenLeft?(left: () => void): void;
  /**
   * Writes the answer once; later calls, and calls after the client left, do nothing. Closes the connection if the body
   * is unread.
   */
  reply(reply: Reply): void;
}

export type ExchangeHandler = (exchange: Exchange) => void;

export interface HttpServerSettings {
  readonly host: string;
  /** 0 chooses a free port. */
  readonly port: number;
  /** A body of which fewer than 16 KiB arrive within this time ends the exchange, unless it is complete by then. */
  readonly bodyTimeoutMs: number;
  /** The time for a complete head, 10,000 unless given. uWebSockets.js has its own limit of ten seconds. */
  readonly headTimeoutMs?: number;
  /** How many connections may be open; derived from the descriptor limit of the process unless given. */
  readonly maxConnections?: number;
}

export const httpServerNames = { uws: 'uWebSockets.js', node: 'node:http' } as const;

export interface HttpServer {
  readonly kind: 'uws' | 'node';
  /** Why uWebSockets.js is not used, or what it does not take; absent if it was not asked for or is not installed. */
  readonly remark?: string;
  readonly host: string;
  readonly port: number;
  /** Stops accepting at once, lets exchanges in progress finish for up to `graceMs`, then aborts them. */
  close(graceMs: number): Promise<void>;
}

/** Opens an HTTP server; rejects with an Error that names host, port and the fix if the address cannot be bound. */
export type OpenHttpServer = (settings: HttpServerSettings, handle: ExchangeHandler) => Promise<HttpServer>;
