/**
 * Makes the `fetch` of one server: its certificates, its headers, the proxies of the environment, connections of its
 * own. Configured headers and the client certificate go to the server's own origin only, for the SDK asks authorization
 * servers with the same fetch. Follows redirects itself, so that nothing of that leaves with one. Knows nothing of MCP.
 * @see TLS-1, TLS-2 and OAU-3 in docs/specification.md
 */

import type { LookupFunction } from 'node:net';
import { Agent, type Dispatcher, type RequestInit as UndiciInit, fetch as undiciFetch } from 'undici';
import type { HttpPlan } from '../../machines/mcp/server-settings.ts';
import { noTimeouts, proxyAgent } from '../proxy-agent.ts';
import { boundBody } from './bounded-body.ts';
import { RedirectFailure, SettingFailure } from './connect-errors.ts';
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
  /** Of this program. */
  readonly version: string;
  /** Of an answer, or of one event of a stream. */
  readonly maxBodyBytes?: number;
  /** Of the answers with the pages of listings. */
  readonly pages?: PageBounds;
  /** What its event streams may take of each turn. */
  readonly share?: TurnShare;
  /** Where requests may go; left out: wherever they are sent. */
  readonly reach?: Reach;
}

export interface Reach {
  /**
   * Rejects with a HopFailure where a request may not go, and with the resolver's error where a name is unknown.
   * @param trusted the request began at the entry's own origin and has not left it
   */
  check(url: URL, proxied: boolean, trusted?: boolean): Promise<void>;
  readonly lookup: LookupFunction;
}

export interface ServerFetch {
  fetch(input: string | URL, init?: RequestInit): Promise<Response>;
  /** Where a redirect led last that left the origin of its request; none of the credentials went there. */
  ledTo(): string | undefined;
  /** Cuts off what is under way and resolves when every connection is closed. */
  close(): Promise<void>;
}

const defaultMaxBodyBytes = 64 * 1_048_576;
const bodyAway =
  'would take the request to another origin and is not followed; put that address in url, or set cross_origin_redirects: true';
const mostRedirects = 5;

/** Throws a SettingFailure for a header that HTTP does not allow. */
export function createServerFetch(settings: ServerFetchSettings): ServerFetch {
  const { server, plan, tls, env, version, maxBodyBytes = defaultMaxBodyBytes, reach, share, pages } = settings;
  const own = new URL(plan.url);
  const configured = configuredHeaders(server, plan, own);
  const dispatchers = new Map<string, Dispatcher>();
  let closed = false;
  let led: string | undefined;

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
    // As a server answers that resumes nothing: the request ends.
    if (page === 'over') return new Response(null, { status: 405 });
    const relay = init.signal ? relayAbort(init.signal) : undefined;
    const ended = (): void => relay?.end();
    try {
      return await boundBody(await follow(input, init, relay?.signal), {
        maxBytes: maxBodyBytes,
        ...page,
        who: `mcp server "${server}"`,
        ended,
        ...(share === undefined ? {} : { share }),
      });
    } catch (thrown) {
      ended();
      throw thrown;
    }
  };

  /** The answer after the last redirect. */
  const follow = async (input: string | URL, init: RequestInit, signal: AbortSignal | undefined): Promise<Response> => {
    let request: RedirectableRequest = {
      url: new URL(input),
      method: (init.method ?? 'GET').toUpperCase(),
      body: init.body ?? null,
    };
    const headers = new Headers(init.headers);
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
        throw new RedirectFailure(
          `mcp server "${server}": its redirect to ${shown} is not followed: ${thrown.message}`,
        );
      });
      if (checked !== undefined) await unlessAborted(checked, signal);
      const dispatcher = dispatcherFor(url, trusted);
      const outgoing = { method, body, headers: sent, signal: signal ?? null, redirect: 'manual', dispatcher };
      const answer = (await undiciFetch(url, outgoing as UndiciInit)) as Response;

      const next = init.redirect === 'manual' ? undefined : redirectOf(request, headers, answer);
      if (next === undefined) return answer;
      await answer.body?.cancel();
      const refusal =
        init.redirect === 'error'
          ? 'is not allowed here; check url'
          : followed === mostRedirects
            ? `is number ${mostRedirects + 1} and is not followed; check url`
            : (next.refusal ?? (carriesBodyAway(request, next.request) ? bodyAway : undefined));
      if (refusal !== undefined)
        throw new RedirectFailure(`mcp server "${server}": its redirect to ${next.shown} ${refusal}`);
      if (crossesOrigin(url, next.request.url)) {
        // For good: whoever sends a request back here chose its path.
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

  /** What a call says is for the server that the entry names (TLS-2). */
  const carriesBodyAway = (from: RedirectableRequest, to: RedirectableRequest): boolean =>
    plan.crossOriginRedirects !== true && to.body !== null && crossesOrigin(from.url, to.url);

  return {
    fetch,
    ledTo: () => led,
    close: async () => {
      closed = true;
      await Promise.all([...dispatchers.values()].map((dispatcher) => dispatcher.destroy()));
    },
  };
}

/** Whoever gives up waits for no resolver, which takes no signal; what it finds out later is of no use to anybody. */
function unlessAborted<Value>(work: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

/** Also the name and password of the address, which no request line carries. */
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
      // The error of the platform quotes the value.
      const what = `header ${JSON.stringify(name)} has a name or a value that HTTP does not allow`;
      throw new SettingFailure(`mcp server "${server}": ${what}; check headers`, 'header-invalid');
    }
  }
  return configured;
}

/** A percent sign that begins no pair of digits stands for itself. */
function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
