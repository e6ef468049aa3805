/**
 * The `fetch` of one server, with its own certificates, headers, environment proxies and connections. Configured headers
 * and the client certificate go to the server's own origin only, because the SDK uses the same fetch for authorization
 * servers. It follows redirects itself, so that neither leaves with one.
 * @see TLS-1, TLS-2 and OAU-3 in docs/specification.md
 */

import type { LookupFunction } from 'node:net';
import { Agent, type Dispatcher, type RequestInit as UndiciInit, fetch as undiciFetch } from 'undici';
import { percentDecoded } from '../../machines/base/percent-decoded.ts';
import type { HttpPlan } from '../../machines/mcp/server-settings.ts';
import { plainChallenge } from '../../machines/oauth/plain-answer.ts';
import { proxyRefusal } from '../connection-cause.ts';
import { noTimeouts, proxyAgent } from '../proxy-agent.ts';
import { unlessAborted } from '../stop-signal.ts';
import { boundBody } from './bounded-body.ts';
import { ConnectError, LongHeaderFailure, settingError } from './connect-errors.ts';
import { type ProxyEnv, proxyFor } from './env-proxy.ts';
import { crossesOrigin, type RedirectableRequest, redirectOf, withoutCredentials } from './follow-redirect.ts';
import type { PageBounds } from './page-bounds.ts';
import { HopFailure } from './private-hop.ts';
import { relayAbort } from './relay-abort.ts';
import type { ServerTls } from './tls-files.ts';
import type { TurnShare } from './turn-share.ts';

export interface ServerFetchSettings {
  readonly server: string;
  readonly plan: Pick<HttpPlan, 'url' | 'headers'> & Partial<Pick<HttpPlan, 'crossOriginRedirects'>>;
  readonly tls: ServerTls;
  readonly env: ProxyEnv;
  readonly version: string;
  /** Limit of an answer, or of one event of a stream. */
  readonly maxBodyBytes?: number;
  /** Limits of the answers with pages of listings. */
  readonly pages?: PageBounds;
  /** The server's share of each turn, which its event streams use. */
  readonly share?: TurnShare;
  /** Restricts where requests may go; unrestricted if left out. */
  readonly reach?: Reach;
}

export interface Reach {
  /**
   * Rejects with a HopFailure if a request may not go there, and with the resolver's error if a name is unknown.
   * @param trusted the request began at the entry's own origin and has not left it
   */
  check(url: URL, proxied: boolean, trusted?: boolean): Promise<void>;
  readonly lookup: LookupFunction;
}

export interface ServerFetch {
  fetch(input: string | URL, init?: RequestInit): Promise<Response>;
  /** The last redirect target outside the origin of its request; no credentials were sent there. */
  ledTo(): string | undefined;
  /** The Retry-After header of the last answer. */
  retryAfter(): string | undefined;
  /** Aborts open requests and resolves when every connection is closed. */
  close(): Promise<void>;
}

const defaultMaxBodyBytes = 64 * 1_048_576;
const bodyAway =
  'would take the request to another origin and is not followed; put that address in url, or set cross_origin_redirects: true';
const maxRedirects = 5;
/** Servers and proxies take less in all; many reset the connection, which would not show whether the tool ran. */
const maxArgumentLength = 65_536;

/** Throws a ConnectError for a header that HTTP does not allow. */
export function createServerFetch(settings: ServerFetchSettings): ServerFetch {
  const { server, plan, tls, env, version, maxBodyBytes = defaultMaxBodyBytes, reach, share, pages } = settings;
  const own = new URL(plan.url);
  const configured = configuredHeaders(server, plan, own);
  const dispatchers = new Map<string, Dispatcher>();
  let closed = false;
  let led: string | undefined;
  let retryAfter: string | undefined;

  const dispatcherFor = (url: URL, trusted: boolean): Dispatcher => {
    const proxy = proxyFor(url, env);
    const key = `${trusted} ${proxy?.href ?? ''}`;
    const known = dispatchers.get(key);
    if (known !== undefined) return known;
    const connect = { secureContext: trusted ? tls.own : tls.other, rejectUnauthorized: tls.verify };
    const made =
      proxy === undefined
        ? new Agent({ ...noTimeouts, connect: reach === undefined ? connect : { ...connect, lookup: reach.lookup } })
        : proxyAgent(proxy, { request: connect, proxy: { ...connect, secureContext: tls.other } });
    dispatchers.set(key, made);
    return made;
  };

  const fetch: ServerFetch['fetch'] = async (input, init = {}) => {
    const page = pages?.of(init);
    // Answered like a server without resumable streams, which ends the request.
    if (page === 'over') return new Response(null, { status: 405 });
    const relay = init.signal ? relayAbort(init.signal) : undefined;
    const ended = (): void => relay?.end();
    try {
      const answer = await boundBody(await follow(input, init, relay?.signal), {
        maxBytes: maxBodyBytes,
        ...page,
        ended,
        ...(share === undefined ? {} : { share }),
      });
      return withPlainChallenge(answer);
    } catch (thrown) {
      ended();
      throw thrown;
    }
  };

  const redirectError = (what: string) =>
    new ConnectError({ kind: 'redirect', message: `mcp server "${server}": its redirect to ${what}` });

  /** Returns the answer after the last redirect. */
  const follow = async (input: string | URL, init: RequestInit, signal: AbortSignal | undefined): Promise<Response> => {
    let request: RedirectableRequest = {
      url: new URL(input),
      method: (init.method ?? 'GET').toUpperCase(),
      body: init.body ?? null,
    };
    const headers = new Headers(init.headers);
    for (const [name, { length }] of headers)
      if (length > maxArgumentLength && name.startsWith('mcp-param-'))
        throw new LongHeaderFailure(
          `was not sent: an argument travels in the header ${name}, with ${length} of at most ${maxArgumentLength} characters`,
        );
    let trusted = request.url.origin === own.origin;
    let shown = '';
    for (let followed = 0; ; followed += 1) {
      if (closed) throw new Error(`mcp server "${server}": its connections are closed`);
      const { url, method, body } = request;
      url.username = url.password = '';
      const sent = new Headers(headers);
      if (trusted) for (const [name, value] of configured) if (!sent.has(name)) sent.set(name, value);
      if (!sent.has('user-agent')) sent.set('user-agent', `AgentGateway-Agent/${version}`);
      const checked = reach?.check(url, proxyFor(url, env) !== undefined, trusted).catch((thrown: unknown) => {
        if (followed === 0 || !(thrown instanceof HopFailure)) throw thrown;
        throw redirectError(`${shown} is not followed: ${thrown.message}`);
      });
      // A resolver takes no signal.
      if (checked !== undefined) await unlessAborted(checked, signal);
      const dispatcher = dispatcherFor(url, trusted);
      const outgoing = { method, body, headers: sent, signal: signal ?? null, redirect: 'manual', dispatcher };
      const answer = (await undiciFetch(url, outgoing as UndiciInit).catch((thrown: unknown) => {
        throw proxyFor(url, env) === undefined ? thrown : namingProxy(thrown);
      })) as Response;

      const next = init.redirect === 'manual' ? undefined : redirectOf(request, headers, answer);
      retryAfter = answer.headers.get('retry-after') ?? undefined;
      if (next === undefined) return answer;
      await answer.body?.cancel();
      const refusal =
        init.redirect === 'error'
          ? 'is not allowed here; check url'
          : followed === maxRedirects
            ? `is number ${maxRedirects + 1} and is not followed; check url`
            : (next.refusal ?? (carriesBodyAway(request, next.request) ? bodyAway : undefined));
      if (refusal !== undefined) throw redirectError(`${next.shown} ${refusal}`);
      if (crossesOrigin(url, next.request.url)) {
        // Permanently: a redirect back to the own origin has a path that the other origin chose.
        trusted = false;
        led = next.shown;
        withoutCredentials(headers, configured);
      }
      request = next.request;
      shown = next.shown;
      if (request.body === null)
        for (const name of [...headers.keys()]) if (name.startsWith('content-')) headers.delete(name);
    }
  };

  /** The body of a call is meant for the server of the entry only (TLS-2). */
  const carriesBodyAway = (from: RedirectableRequest, to: RedirectableRequest): boolean =>
    plan.crossOriginRedirects !== true && to.body !== null && crossesOrigin(from.url, to.url);

  return {
    fetch,
    ledTo: () => led,
    retryAfter: () => retryAfter,
    close: async () => {
      closed = true;
      await Promise.all([...dispatchers.values()].map((dispatcher) => dispatcher.destroy()));
    },
  };
}

/** Behind a proxy only the proxy is looked up and connected to, and its address alone could be taken for the server's. */
function namingProxy(thrown: unknown): unknown {
  const refusal = proxyRefusal(thrown);
  // The code says that nothing was sent. undici's own error is an abort, which would be taken for one of ours.
  if (refusal !== undefined) return Object.assign(new Error(refusal), { code: 'ECONNREFUSED' });
  for (let error: unknown = thrown, depth = 0; error instanceof Error && depth < 8; error = error.cause, depth += 1) {
    const { code, message, syscall } = error as NodeJS.ErrnoException;
    if (error instanceof AggregateError || syscall === 'connect' || syscall === 'getaddrinfo')
      error.message = `${message || code} (the proxy of the environment)`;
  }
  return thrown;
}

function withPlainChallenge(answer: Response): Response {
  const given = answer.headers.get('www-authenticate') ?? '';
  const challenge = plainChallenge(given);
  if (challenge === given) return answer;
  const { body, status, statusText } = answer;
  const headers = new Headers(answer.headers);
  headers.set('www-authenticate', challenge);
  return new Response(body, { headers, status, statusText });
}

/** Includes the user name and password of the URL, which are not part of a request line. */
function configuredHeaders(server: string, { headers }: ServerFetchSettings['plan'], own: URL): Headers {
  const configured = new Headers();
  if (own.username !== '' || own.password !== '') {
    const pair = `${percentDecoded(own.username)}:${percentDecoded(own.password)}`;
    configured.set('authorization', `Basic ${Buffer.from(pair).toString('base64')}`);
  }
  for (const [name, value] of Object.entries(headers)) {
    try {
      configured.set(name, value);
    } catch {
      // The error of the runtime quotes the value.
      const what = `header ${JSON.stringify(name)} has a name or a value that HTTP does not allow`;
      throw settingError(`mcp server "${server}": ${what}; check headers`, 'header-invalid');
    }
  }
  return configured;
}
