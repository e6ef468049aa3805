/** The real servers behind an HTTP peer: Streamable HTTP with sessions, HTTP with SSE, and the modern handler. */

import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { createMcpHandler } from '@modelcontextprotocol/server';
import type { PeerWork } from './catalogue.ts';
import { sessionGone } from './faults.ts';
import { makeLegacyServer } from './legacy-server.ts';
import { type ModernOptions, makeModernServer } from './modern-server.ts';

export type PeerKind = 'http' | 'sse' | 'modern' | 'dual';

export interface BackendOptions extends ModernOptions {
  readonly kind: PeerKind;
  /** Answers a request by one JSON body where the transport could stream. */
  readonly json?: boolean;
}

export interface Backend {
  /** The path that a client is given. */
  readonly path: string;
  readonly sessions: number;
  /** Answers a request; undefined where the server writes to `res` itself. */
  handle(request: Request, body: unknown, res: ServerResponse): Promise<Response | undefined>;
  /** Ends every session and its streams; a client that names one is answered with the status from then on. */
  forget(status: 400 | 404): Promise<void>;
  toolsChanged(): Promise<void>;
}

/** Makes the server of a kind. */
export function makeBackend(work: PeerWork, options: BackendOptions): Backend {
  switch (options.kind) {
    case 'http':
      return streamableBackend(work, options);
    case 'sse':
      return sseBackend(work, options);
    case 'modern':
    case 'dual':
      return modernBackend(work, options);
    default:
      return options.kind satisfies never;
  }
}

interface Session<Transport> {
  readonly server: ReturnType<typeof makeLegacyServer>;
  readonly transport: Transport;
}

function streamableBackend(work: PeerWork, { instructions, json = false }: BackendOptions): Backend {
  const sessions = new Map<string, Session<WebStandardStreamableHTTPServerTransport>>();
  let unknownSession: 400 | 404 = 404;
  return {
    path: '/mcp',
    get sessions() {
      return sessions.size;
    },
    handle: async (request, body) => {
      const id = request.headers.get('mcp-session-id');
      const known = sessions.get(id ?? '');
      if (known !== undefined) return known.transport.handleRequest(request, { parsedBody: body });
      if (!['POST', 'GET', 'DELETE'].includes(request.method))
        return new Response(null, { status: 405, headers: { allow: 'POST, GET, DELETE' } });
      if (id !== null) return sessionUnknown(unknownSession);
      if (!isInitialize(body)) return sessionUnknown(400);
      const server = makeLegacyServer(work, instructions);
      const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        enableJsonResponse: json,
        onsessioninitialized: (session) => void sessions.set(session, { server, transport }),
        onsessionclosed: (session) => void sessions.delete(session),
      });
      await server.connect(transport);
      return transport.handleRequest(request, { parsedBody: body });
    },
    forget: async (status) => {
      unknownSession = status;
      await endAll(sessions);
    },
    ...announcing(sessions),
  };
}

function sseBackend(work: PeerWork, { instructions }: BackendOptions): Backend {
  const sessions = new Map<string, Session<SSEServerTransport>>();
  let unknownSession: 400 | 404 = 404;
  return {
    path: '/sse',
    get sessions() {
      return sessions.size;
    },
    handle: async (request, body, res) => {
      const { pathname, searchParams } = new URL(request.url);
      if (request.method === 'GET' && pathname === '/sse') {
        const server = makeLegacyServer(work, instructions);
        const transport = new SSEServerTransport('/messages', res);
        sessions.set(transport.sessionId, { server, transport });
        res.once('close', () => sessions.delete(transport.sessionId));
        await server.connect(transport);
        return undefined;
      }
      if (request.method !== 'POST' || pathname !== '/messages') return new Response('Not Found', { status: 404 });
      const session = sessions.get(searchParams.get('sessionId') ?? '');
      if (session === undefined) return sessionUnknown(unknownSession);
      await session.transport.handleMessage(body, { requestInfo: { headers: Object.fromEntries(request.headers) } });
      return new Response('Accepted', { status: 202 });
    },
    forget: async (status) => {
      unknownSession = status;
      await endAll(sessions);
    },
    ...announcing(sessions),
  };
}

function modernBackend(work: PeerWork, options: BackendOptions): Backend {
  const make = () =>
    createMcpHandler(() => makeModernServer(work, options), {
      legacy: options.kind === 'modern' ? 'reject' : 'stateless',
      responseMode: options.json === true ? 'json' : 'auto',
    });
  let handler = make();
  return {
    path: '/mcp',
    sessions: 0,
    handle: (request, body) => handler.fetch(request, { parsedBody: body }),
    forget: async () => {
      await handler.close();
      handler = make();
    },
    toolsChanged: async () => handler.notify.toolsChanged(),
  };
}

function announcing(sessions: ReadonlyMap<string, Session<unknown>>): Pick<Backend, 'toolsChanged'> {
  return {
    toolsChanged: async () => {
      for (const { server } of sessions.values()) await server.sendToolListChanged();
    },
  };
}

async function endAll(sessions: Map<string, Session<unknown>>): Promise<void> {
  const ended = [...sessions.values()];
  sessions.clear();
  for (const { server } of ended) await server.close();
}

function isInitialize(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'method' in body && body.method === 'initialize';
}

/** What servers say in the wild: the SDK's own transport with 404, the reference server-everything with 400. */
function sessionUnknown(status: 400 | 404): Response {
  const { body, contentType } =
    status === 404
      ? sessionGone(404, -32001, 'Session not found')
      : sessionGone(400, -32000, 'Bad Request: No valid session ID provided');
  return new Response(body ?? null, { status, headers: { 'content-type': contentType ?? 'application/json' } });
}
