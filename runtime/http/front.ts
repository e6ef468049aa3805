/**
 * The HTTP front's port: what a server must offer so that the gateway can stand behind it. A front copies the head while
 * the native request is alive, hands over an exchange, reads the body no further than it is told, and writes the one
 * answer. It knows no route, no signature and no machine.
 *
 * Both fronts (`uws.ts`, `node.ts`) pass `spec/conformance/front.ts`.
 * @see LIM-1, RTE-3 and CON-2 in docs/specification.md
 */

/** The head of a request, copied. */
export interface RequestHead {
  /** The method as sent: its letters' case counts (RFC 9110 §9.1). */
  readonly method: string;
  /** The path as sent, before the question mark, percent-encoding untouched. */
  readonly path: string;
  /** What stands behind the question mark, as sent; absent without one. */
  readonly query?: string | undefined;
  /**
   * Lower-case names; values are the bytes that were sent, as Latin-1 text. A repeated header is joined with ", ". On
   * uWebSockets.js, bytes above 127 at either end of a value are lost and ones that are not UTF-8 come as U+FFFD.
   */
  readonly headers: Readonly<Record<string, string>>;
  /** The declared length in bytes; absent for a chunked or bodiless request. */
  readonly contentLength?: number | undefined;
}

export type BodyOutcome =
  | { readonly kind: 'read'; readonly bytes: Buffer }
  /** There was no room for what came; reading has stopped. */
  | { readonly kind: 'crowded' }
  /** More than the limit was declared or arrived; reading has stopped. */
  | { readonly kind: 'tooLarge' }
  /** The client left, or sent too little in `bodyTimeoutMs`. No answer can be written. */
  | { readonly kind: 'aborted' };

export interface Reply {
  readonly status: number;
  readonly body: string;
  /** `application/json` unless given. */
  readonly contentType?: string;
  /** Beyond Content-Type and Content-Length, which the front writes. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** One request under way. Live, never in a context: the gateway keeps it in a table by id. */
export interface Exchange {
  readonly head: RequestHead;
  /** Of the client, or of the proxy in between; absent where no client sent it. Ask before the handler returns. */
  readonly address?: string | undefined;
  /**
   * Reads the whole body, at most `maxBytes`; calls back exactly once. Call it before the handler returns, or never. As the
   * body grows, `mayKeep` is asked for the bytes of memory that it takes more, and ends the reading where it returns false.
   */
  readBody(maxBytes: number, settled: (outcome: BodyOutcome) => void, mayKeep?: (bytes: number) => boolean): void;
  /** Writes the answer once; later calls, and calls after the client left, do nothing. An unread body closes the connection. */
  reply(reply: Reply): void;
}

export type ExchangeHandler = (exchange: Exchange) => void;

export interface FrontSettings {
  readonly host: string;
  /** 0 chooses a free port. */
  readonly port: number;
  /** A body of which fewer than 16 KiB come within this long ends the exchange, unless it is whole by then. */
  readonly bodyTimeoutMs: number;
  /** A head must be whole within this, 10,000 unless given. uWebSockets.js has ten seconds of its own. */
  readonly headTimeoutMs?: number;
  /** How many connections may be open; by the descriptors of the process unless given. */
  readonly maxConnections?: number;
}

export interface Front {
  readonly kind: 'uws' | 'node';
  readonly host: string;
  readonly port: number;
  /** Stops accepting at once, lets exchanges under way finish for at most `graceMs`, then cuts them. */
  close(graceMs: number): Promise<void>;
}

/** Opens a front; rejects with an Error whose message names host, port and the cure when the address cannot be bound. */
export type OpenFront = (settings: FrontSettings, handle: ExchangeHandler) => Promise<Front>;
