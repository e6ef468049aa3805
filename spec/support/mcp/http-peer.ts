/**
 * A real MCP server over HTTP on a port of its own, with faults in front of it and a record of all that came in. Its
 * clients are real ones; nothing here knows the project's code.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';
import { executions, type PeerTool, type PeerWork, peerWork, toolsNamed } from './catalogue.ts';
import { type Behaviour, faultChooser, type SeenRequest, sendAnswer, spoilRequest } from './faults.ts';
import { type BackendOptions, makeBackend, type PeerKind } from './http-backends.ts';

export interface HttpPeerOptions extends Partial<BackendOptions> {
  /** Tools by name or in full; by default the standard ones. */
  readonly tools?: readonly (string | PeerTool)[];
  readonly pageSize?: number;
  /** Speaks TLS; with `ca` and `requestCert`, asks for a client's certificate too. */
  readonly tls?: ServerOptions;
}

export interface HttpPeer {
  readonly kind: PeerKind;
  readonly url: string;
  readonly origin: string;
  /** Every request so far, in order. */
  readonly requests: readonly SeenRequest[];
  readonly work: PeerWork;
  /** How many sessions are open now. */
  readonly sessions: number;
  /** How many TCP connections were ever made. */
  readonly connections: number;
  /** The requests with a JSON-RPC method, or an HTTP method. */
  seen(method: string): readonly SeenRequest[];
  executions(tool: string): number;
  /** Spoils requests from now on; the first behaviour that fits counts. Without any, all is well again. */
  set(...behaviours: readonly Behaviour[]): void;
  setTools(tools: readonly (string | PeerTool)[]): Promise<void>;
  notifyToolsChanged(): Promise<void>;
  /** Lets every waiting call of the tool `slow` answer. */
  releaseSlow(): void;
  /** Forgets every session; who names one is answered 404, or 400. */
  expireSessions(status?: 400 | 404): Promise<void>;
  /** Resets every open stream from server to client, or ends it in order, and nothing else. */
  dropStreams(how?: 'inOrder'): void;
  /** Sends the text on every open stream from server to client. */
  sendOnStreams(text: string): void;
  /** Refuses connections until it is restarted. */
  stop(): Promise<void>;
  /** Listens on the same port again, with no session known. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a peer that ends with the spec. */
export async function started(t: Pick<Test, 'teardown'>, options: HttpPeerOptions = {}): Promise<HttpPeer> {
  const peer = await startHttpPeer(options);
  t.teardown(() => peer.close());
  return peer;
}

/** Starts a peer on a free port of the loopback. */
export async function startHttpPeer(options: HttpPeerOptions = {}): Promise<HttpPeer> {
  const work = peerWork(options.tools && toolsNamed(options.tools), options.pageSize);
  const kind = options.kind ?? 'http';
  const backend = makeBackend(work, { ...options, kind });
  const chooser = faultChooser();
  const requests: SeenRequest[] = [];
  const streams = new Set<ServerResponse>();
  let connections = 0;

  const dropStreams = (how?: 'inOrder'): void => {
    for (const res of streams) how === 'inOrder' ? res.end() : res.socket?.resetAndDestroy();
  };
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const text = await bodyOf(req);
    const seen = seenRequest(req, text);
    requests.push(seen);
    const aborting = new AbortController();
    res.once('finish', () => {
      seen.outcome = 'answered';
    });
    res.once('close', () => {
      streams.delete(res);
      if (seen.outcome === 'open') seen.outcome = 'cut';
      aborting.abort();
    });
    const fault = chooser.choose(seen);
    if (await spoilRequest(fault, res)) return;
    if (req.method === 'GET') streams.add(res);
    // With SSE the answer comes by the stream, and must not come there either.
    else if (kind === 'sse' && fault?.kind === 'reset') dropStreams();
    const response =
      backend.path === new URL(seen.path, origin).pathname || seen.path.startsWith('/messages')
        ? await backend.handle(webRequest(req, text, aborting.signal), seen.body, res)
        : new Response('Not Found', { status: 404 });
    if (response !== undefined) await sendAnswer(response, res, fault);
  };

  const listener = (req: IncomingMessage, res: ServerResponse): void => {
    // A fault or a client that has left breaks what is under way; that is no error of the peer.
    answer(req, res).catch(() => res.destroy());
  };
  const server = options.tls === undefined ? createServer(listener) : createTlsServer(options.tls, listener);
  server.on('connection', () => {
    connections += 1;
  });
  const listen = (port: number) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => {
        server.off('error', reject);
        resolve();
      });
    });
  const stop = async (): Promise<void> => {
    if (server.listening) {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    }
    await backend.forget(404);
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const origin = `${options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;

  return {
    kind,
    url: `${origin}${backend.path}`,
    origin,
    requests,
    work,
    get sessions() {
      return backend.sessions;
    },
    get connections() {
      return connections;
    },
    seen: (method) => requests.filter(({ rpc, httpMethod }) => rpc === method || httpMethod === method),
    executions: (tool) => executions(work, tool),
    set: (...behaviours) => chooser.set(behaviours),
    setTools: async (tools) => {
      work.tools = toolsNamed(tools);
      await backend.toolsChanged();
    },
    notifyToolsChanged: () => backend.toolsChanged(),
    releaseSlow: () => {
      for (const call of work.slow) call.release();
    },
    expireSessions: (status = 404) => backend.forget(status),
    dropStreams,
    sendOnStreams: (text) => {
      for (const res of streams) res.write(text);
    },
    stop,
    restart: async () => {
      await stop();
      // Clients in this process hear of it only now, and would otherwise use a connection that is gone.
      await new Promise((resolve) => setTimeout(resolve, 10));
      await listen(port);
    },
    close: stop,
  };
}

async function bodyOf(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function seenRequest(req: IncomingMessage, text: string): SeenRequest {
  const body = parsed(text);
  const message = (typeof body === 'object' && body !== null ? body : {}) as {
    readonly method?: string;
    readonly params?: { readonly name?: string };
  };
  return {
    httpMethod: req.method ?? '',
    path: req.url ?? '',
    headers: headersOf(req),
    body,
    rpc: message.method,
    tool: message.method === 'tools/call' ? message.params?.name : undefined,
    fault: undefined,
    outcome: 'open',
  };
}

function parsed(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return text;
  }
}

function headersOf(req: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(req.headers).map(([name, value]) => [name, String(value)]));
}

function webRequest(req: IncomingMessage, text: string, signal: AbortSignal): Request {
  return new Request(`http://${req.headers.host}${req.url}`, {
    method: req.method ?? 'GET',
    headers: headersOf(req),
    signal,
    ...(text === '' ? {} : { body: text }),
  });
}
