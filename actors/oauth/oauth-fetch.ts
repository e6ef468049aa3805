/**
 * The fetch of OAuth requests: the product's own User-Agent for discovery and registration, the configured one at the
 * token endpoint only, https outside the loopback, a time limit, and the status of each metadata answer for error
 * messages.
 * @see OAU-3 and OAU-7 in docs/specification.md
 */

import { setMaxListeners } from 'node:events';
import type { FetchLike } from '@modelcontextprotocol/client';
import { type SeenAnswer, withoutQuery } from '../../machines/oauth/discovery-fault.ts';
import { insecureWords, isSecureEndpoint } from '../../machines/oauth/secure-endpoint.ts';
import { HopFailure } from '../mcp/private-hop.ts';
import { createStopSignal } from '../stop-signal.ts';

export interface OauthFetch {
  /** For discovery and registration. */
  readonly fetch: FetchLike;
  /** For the token endpoint: exchange, refresh, device polling. */
  readonly tokenFetch: FetchLike;
  /** The answers to metadata requests, in order. */
  readonly seen: readonly SeenAnswer[];
  /** Adds that the metadata of a place is none that can be used, as in `metadata with no valid resource`. */
  noteUnusable(url: string, what: string): void;
}

interface OauthFetchSettings {
  readonly fetch: FetchLike;
  readonly version: string;
  readonly userAgent: string | undefined;
  /** The server's own URL, whose scheme is not checked; every other address must be https or on the loopback. */
  readonly url?: string;
  readonly signal?: AbortSignal;
  /** Limit per request. */
  readonly timeoutMs?: number;
}

const requestTimeoutMs = 30_000;

export function createOauthFetch(settings: OauthFetchSettings): OauthFetch {
  const { fetch, version, userAgent, signal, timeoutMs = requestTimeoutMs } = settings;
  const own = settings.url === undefined ? undefined : new URL(settings.url).origin;
  const seen: SeenAnswer[] = [];
  const product = `AgentGateway-Agent/${version}`;
  // Each request listens until its time limit, which also bounds its body. Node would report the polls of a device
  // login as a leak.
  if (signal !== undefined) setMaxListeners(0, signal);

  const ask = async (url: string | URL, init: RequestInit | undefined, agent: string): Promise<Response> => {
    const headers = new Headers(init?.headers);
    headers.set('user-agent', agent);
    const stop = createStopSignal([signal, init?.signal], timeoutMs);
    try {
      return await fetch(url, { ...init, headers, signal: stop.signal });
    } catch (thrown) {
      if (!stop.isTimeOver()) throw thrown;
      throw new DOMException(`${withoutQuery(String(url))} did not answer in time`, 'TimeoutError');
    }
  };

  return {
    seen,
    noteUnusable: (url, what) => void seen.push({ url, status: what }),
    async fetch(url, init) {
      const asked = String(url);
      const isMetadata = /\/\.well-known\//.test(asked);
      try {
        if (!isSecureEndpoint(asked) && new URL(asked).origin !== own)
          throw new HopFailure(insecureWords('an address that the server leads to', asked));
        const answer = await ask(url, init, product);
        if (isMetadata) seen.push({ url: asked, status: statusOf(answer) });
        return answer;
      } catch (thrown) {
        if (isMetadata) seen.push({ url: asked, ...whyNone(thrown) });
        throw thrown;
      }
    },
    async tokenFetch(url, init) {
      if (!isSecureEndpoint(String(url))) throw new Error(insecureWords('the token endpoint', String(url)));
      return ask(url, init, userAgent ?? product);
    },
  };
}

/** The reason of a refusal is kept, because a login continues without the metadata of a resource. */
function whyNone(thrown: unknown): Omit<SeenAnswer, 'url'> {
  return thrown instanceof HopFailure ? { status: 'no request', refusal: thrown.message } : { status: 'no answer' };
}

/** A page that answers every address with 200 is not metadata, so its type is noted. */
function statusOf(answer: Response): number | string {
  const type = answer.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  return answer.ok && type !== undefined && !/[/+]json$/.test(type) ? `${answer.status} with ${type}` : answer.status;
}
