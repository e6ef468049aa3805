/**
 * Opens the transport that a server's settings ask for, with its certificates, its fetch and its log in place, and says
 * at once where an address is no MCP endpoint. Speaks no MCP itself: who connects starts the transport.
 * @see ERA-3, TLS-1, TLS-2, SEC-5 and LIF-10 in docs/specification.md
 */

import { setTimeout as wait } from 'node:timers/promises';
import {
  type AuthProvider,
  type FetchLike,
  type OAuthClientProvider,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import type { HttpPlan, ServerSettings } from '../../machines/mcp/server-settings.ts';
import { createPublicReach, type PublicReachPorts } from '../oauth/public-reach.ts';
import type { Logger } from '../ports.ts';
import { NotMcpFailure } from './connect-errors.ts';
import type { ProxyEnv } from './env-proxy.ts';
import { createFloodMeter } from './flood-meter.ts';
import { createServerFetch } from './http-fetch.ts';
import { createPageBounds } from './page-bounds.ts';
import { preflight } from './preflight.ts';
import { createStdioTransport } from './stdio-transport.ts';
import { readTlsFiles } from './tls-files.ts';
import { createTurnShare } from './turn-share.ts';

export interface TransportPorts {
  readonly log: Logger;
  /** Takes what the child of a stdio server writes to its standard error. */
  readonly onStderr: (chunk: Buffer) => void;
  /** Where the child of a stdio server starts. */
  readonly cwd: string;
  /** What `~` stands for in the paths of certificates. */
  readonly userHome: string;
  /** Names the proxies. */
  readonly env: ProxyEnv;
  /** Of this program, for the User-Agent. */
  readonly version: string;
  readonly authProvider?: AuthProvider | OAuthClientProvider;
  /** Wraps the server's fetch, for who must see its answers. */
  readonly wrapFetch?: (fetch: FetchLike) => FetchLike;
  /** Lent by specs: how names are resolved, and which addresses are public. */
  readonly reach?: Partial<PublicReachPorts>;
  /** Ends the preflight. */
  readonly signal?: AbortSignal;
}

export interface OpenTransport {
  /** Not started. */
  readonly transport: Transport;
  /** Closes the transport and everything below it; resolves when nothing of it is left. */
  close(): Promise<void>;
  /** How the child of a stdio server ended by itself; undefined where it has not, or there is none. */
  exitStatus(): number | string | null | undefined;
  /** Where a redirect led last that left the server's origin; undefined where none did. */
  ledTo(): string | undefined;
  /** The end of the child in words, its last words with it; for HTTP, why the gateway cut the server off. */
  whyClosed(): string | undefined;
  /** Whether the answer to a listing was cut off while it was read. */
  isCut(request: string | number): boolean;
  /** The length of the message that is being handed on, where it is known. */
  messageBytes(): number | undefined;
  /** Has the flood meter see each message before whatever was put in front of the client. */
  meterFirst(): void;
  /** Asks for the stream on which a server speaks unasked; rejects where it is refused. Of Streamable HTTP alone. */
  readonly openStream?: () => Promise<void>;
}

const mostGoodbyeMs = 2_000;

/** Throws a SettingFailure or a NotMcpFailure; a command that is not there fails when the transport starts. */
export async function openTransport(settings: ServerSettings, ports: TransportPorts): Promise<OpenTransport> {
  const { name: server, transport: plan } = settings;
  if (plan.kind !== 'stdio') return openHttp(server, plan, ports);
  const { log, onStderr } = ports;
  const transport = createStdioTransport({ server, plan, cwd: plan.cwd ?? ports.cwd, log, onStderr });
  const { close, exitStatus, whyClosed, isCut, messageBytes, meterFirst } = transport;
  return { transport, close, exitStatus, ledTo: () => undefined, whyClosed, isCut, messageBytes, meterFirst };
}

async function openHttp(server: string, plan: HttpPlan, ports: TransportPorts): Promise<OpenTransport> {
  const { env, version, userHome, authProvider, wrapFetch, signal } = ports;
  const tls = await readTlsFiles({ server, plan: plan.tls, userHome });
  let why: string | undefined;
  const meter = createFloodMeter((reason) => {
    why = reason;
    void transport.close().catch(() => {});
  });
  const pages = createPageBounds();
  const share = createTurnShare(meter);
  const reach = createPublicReach(new URL(plan.url), ports.reach);
  const connections = createServerFetch({ server, plan, tls, env, version, pages, share, reach });
  if (plan.kind === 'http' && !plan.skipPreflight) {
    const { fetch } = connections;
    const verdict = await preflight({ url: plan.url, fetch, ...(signal === undefined ? {} : { signal }) });
    if (verdict.kind === 'notMcp') {
      await connections.close();
      const led = connections.ledTo();
      const answers =
        led === undefined ? verdict.contentType : `${verdict.contentType} from ${led}, where it redirects to`;
      const what = `is not an MCP endpoint: it answers ${answers}`;
      throw new NotMcpFailure(`mcp server "${server}": ${what}; check url, or set skip_preflight: true`, answers);
    }
  }
  const transport = createHttpTransport(plan, {
    fetch: wrapFetch?.(connections.fetch) ?? connections.fetch,
    // Ours follows them, and drops what must not go along.
    redirectPolicy: 'follow',
    ...(authProvider === undefined ? {} : { authProvider }),
  });
  const meterFirst = meter.watch(transport);
  return {
    transport,
    close: async () => {
      if (transport instanceof StreamableHTTPClientTransport) await endSession(transport);
      await transport.close().catch(() => {});
      await connections.close();
    },
    exitStatus: () => undefined,
    ledTo: connections.ledTo,
    whyClosed: () => why,
    isCut: pages.isCut,
    messageBytes: () => undefined,
    meterFirst,
    // Of what it said before nothing is asked for again: the lists are read anew.
    ...(transport instanceof StreamableHTTPClientTransport ? { openStream: () => transport.resumeStream('') } : {}),
  };
}

/** A server keeps a session until it is told; one that does not listen is not waited for. */
async function endSession(transport: StreamableHTTPClientTransport): Promise<void> {
  const stop = new AbortController();
  const told = transport.terminateSession().catch(() => {});
  await Promise.race([told, wait(mostGoodbyeMs, undefined, { signal: stop.signal }).catch(() => {})]);
  stop.abort();
}

type HttpOptions = Pick<
  NonNullable<ConstructorParameters<typeof StreamableHTTPClientTransport>[1]>,
  'fetch' | 'redirectPolicy' | 'authProvider'
>;

function createHttpTransport(
  { kind, url }: HttpPlan,
  options: HttpOptions,
): SSEClientTransport | StreamableHTTPClientTransport {
  // An address may carry a name and a password; the fetch has them, and nobody else need.
  const address = new URL(url);
  address.username = address.password = '';
  return kind === 'sse'
    ? new SSEClientTransport(address, options)
    : new StreamableHTTPClientTransport(address, options);
}
