/**
 * Opens the transport of a server's settings, with its certificates, fetch and log, and fails early if the URL is not an
 * MCP endpoint. Does not speak MCP: the SDK's client starts the transport.
 * @see ERA-3, TLS-1, TLS-2, SEC-5 and LIF-10 in docs/specification.md
 */

import { setTimeout as wait } from 'node:timers/promises';
import {
  type FetchLike,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import type { HttpPlan, ServerSettings } from '../../machines/mcp/server-settings.ts';
import { createPublicReach, type PublicReachPorts } from '../oauth/public-reach.ts';
import type { Logger } from '../ports.ts';
import { lineUp, type PutBefore } from './adapt-transport.ts';
import { ConnectError } from './connect-errors.ts';
import type { ProxyEnv } from './env-proxy.ts';
import { createFloodMeter } from './flood-meter.ts';
import { createServerFetch } from './http-fetch.ts';
import { createPageBounds } from './page-bounds.ts';
import { readPlainAnswers } from './plain-answers.ts';
import { preflight } from './preflight.ts';
import { createStdioTransport } from './stdio-transport.ts';
import { readTlsFiles } from './tls-files.ts';
import { createTurnShare } from './turn-share.ts';

export interface TransportPorts {
  readonly log: Logger;
  /** Receives the standard error of a stdio server's child. */
  readonly onStderr: (chunk: Buffer) => void;
  /** The working directory of a stdio server's child. */
  readonly cwd: string;
  /** The folder that `~` refers to in the paths of certificates. */
  readonly userHome: string;
  /** The environment, which names the proxies. */
  readonly env: ProxyEnv;
  /** The version of this program, for the User-Agent. */
  readonly version: string;
  /** Wraps the server's fetch, to observe its answers. */
  readonly wrapFetch?: (fetch: FetchLike) => FetchLike;
  /** For specs: name resolution, and which addresses are public. */
  readonly reach?: Partial<PublicReachPorts>;
  readonly signal?: AbortSignal;
}

export interface OpenTransport {
  /** Not started yet. */
  readonly transport: Transport;
  /** Closes the transport and everything below it; resolves when nothing of it is left. */
  close(): Promise<void>;
  /** How the child of a stdio server exited by itself; undefined if it has not, or there is none. */
  exitStatus(): number | string | null | undefined;
  /** Whether the server has given a session; for SSE, the address that it names for messages is one. */
  hasSession(): boolean;
  /** The last redirect target outside the server's origin; undefined if there was none. */
  ledTo(): string | undefined;
  /** The Retry-After header of the server's last answer. */
  retryAfter(): string | undefined;
  /** How the child ended, with its last output; for HTTP, why the gateway cut the server off. */
  whyClosed(): string | undefined;
  /** The last output of a child that is no message, secrets redacted; empty if there is none. */
  lastWords(): string;
  /** Whether the answer to a listing was cut off while it was read. */
  isCut(request: string | number): boolean;
  /** The length of the current message, if it is known. */
  messageBytes(): number | undefined;
  /** Adds handlers of its messages, behind the flood meter. */
  readonly putBefore: PutBefore;
  /** Requests the stream of the server's unsolicited messages; rejects if it is refused. Streamable HTTP only. */
  readonly openStream?: () => Promise<void>;
}

const maxGoodbyeMs = 2_000;

/** Throws a ConnectError; a missing command fails only when the transport starts. */
export async function openTransport(settings: ServerSettings, ports: TransportPorts): Promise<OpenTransport> {
  const { name: server, transport: plan } = settings;
  if (plan.kind !== 'stdio') return openHttp(server, plan, ports);
  const { log, onStderr } = ports;
  const transport = createStdioTransport({ server, plan, cwd: plan.cwd ?? ports.cwd, log, onStderr });
  return { ...transport, transport, hasSession: () => false, ledTo: () => undefined, retryAfter: () => undefined };
}

async function openHttp(server: string, plan: HttpPlan, ports: TransportPorts): Promise<OpenTransport> {
  const { env, version, userHome, wrapFetch, signal } = ports;
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
    // It has no token, and some servers redirect such a request to a page of logins.
    const redirect = plan.oauth === null ? 'follow' : 'manual';
    const verdict = await preflight({ url: plan.url, fetch, redirect, ...(signal === undefined ? {} : { signal }) });
    if (verdict.kind === 'notMcp') {
      await connections.close();
      const led = connections.ledTo();
      const answers =
        led === undefined ? verdict.contentType : `${verdict.contentType} from ${led}, where it redirects to`;
      const what = `is not an MCP endpoint: it answers ${answers}`;
      throw new ConnectError(
        { kind: 'notMcp', contentType: answers },
        `mcp server "${server}": ${what}; check url, or set skip_preflight: true`,
      );
    }
  }
  const plainFetch = readPlainAnswers(wrapFetch?.(connections.fetch) ?? connections.fetch);
  let hasPosted = false;
  const transport = createHttpTransport(plan, (url, init) => {
    hasPosted ||= init?.method === 'POST';
    return plainFetch(url, init);
  });
  return {
    transport,
    close: async () => {
      if (transport instanceof StreamableHTTPClientTransport) await endSession(transport);
      await transport.close().catch(() => {});
      await connections.close();
    },
    exitStatus: () => undefined,
    hasSession: () => (transport instanceof SSEClientTransport ? hasPosted : transport.sessionId !== undefined),
    ledTo: connections.ledTo,
    retryAfter: connections.retryAfter,
    whyClosed: () => why,
    lastWords: () => '',
    isCut: pages.isCut,
    messageBytes: () => undefined,
    putBefore: lineUp(transport, meter.watch()),
    // Missed messages are not requested: the lists are read again.
    ...(transport instanceof StreamableHTTPClientTransport ? { openStream: () => transport.resumeStream('') } : {}),
  };
}

/** Servers keep a session until it is terminated. The answer is waited for at most 2 s. */
async function endSession(transport: StreamableHTTPClientTransport): Promise<void> {
  const stop = new AbortController();
  const terminated = transport.terminateSession().catch(() => {});
  await Promise.race([terminated, wait(maxGoodbyeMs, undefined, { signal: stop.signal }).catch(() => {})]);
  stop.abort();
}

function createHttpTransport(
  { kind, url }: HttpPlan,
  fetch: FetchLike,
): SSEClientTransport | StreamableHTTPClientTransport {
  // A URL may contain a name and a password; only the fetch needs them.
  const address = new URL(url);
  address.username = address.password = '';
  // Our fetch follows redirects and drops what must not go along.
  const options = { fetch, redirectPolicy: 'follow' } as const;
  return kind === 'sse'
    ? new SSEClientTransport(address, options)
    : new StreamableHTTPClientTransport(address, options);
}
