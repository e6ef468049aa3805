/**
 * The fetch of OAuth requests: the product's own User-Agent for discovery and registration, the configured one at the token
 * endpoint only, every answer's status kept for the error that may follow, and a time limit.
 * @see OAU-3 and OAU-7 in docs/specification.md
 */

import type { FetchLike } from '@modelcontextprotocol/client';
import type { SeenAnswer } from '../../machines/oauth/discovery-fault.ts';
import { createStopSignal } from '../stop-signal.ts';

export interface OauthFetch {
  /** For discovery and registration. */
  readonly fetch: FetchLike;
  /** For the token endpoint: exchange, refresh, device polling. */
  readonly tokenFetch: FetchLike;
  /** The answers to what looked for metadata, in order. */
  readonly seen: readonly SeenAnswer[];
}

export interface OauthFetchSettings {
  readonly fetch: FetchLike;
  readonly version: string;
  readonly userAgent: string | undefined;
  readonly signal?: AbortSignal;
  /** Of one request. */
  readonly timeoutMs?: number;
}

const requestTimeoutMs = 30_000;

export function createOauthFetch(settings: OauthFetchSettings): OauthFetch {
  const { fetch, version, userAgent, signal, timeoutMs = requestTimeoutMs } = settings;
  const seen: SeenAnswer[] = [];
  const product = `AgentGateway-Agent/${version}`;

  const bounded = (init: RequestInit | undefined, agent: string): RequestInit => {
    const headers = new Headers(init?.headers);
    headers.set('user-agent', agent);
    return { ...init, headers, signal: createStopSignal([signal, init?.signal], timeoutMs).signal };
  };

  return {
    seen,
    async fetch(url, init) {
      const isMetadata = /\/\.well-known\//.test(String(url));
      try {
        const answer = await fetch(url, bounded(init, product));
        if (isMetadata) seen.push({ url: String(url), status: statusOf(answer) });
        return answer;
      } catch (thrown) {
        if (isMetadata) seen.push({ url: String(url), status: 'no answer' });
        throw thrown;
      }
    },
    tokenFetch: (url, init) => fetch(url, bounded(init, userAgent ?? product)),
  };
}

/** A page that answers every address with 200 is no metadata. */
function statusOf(answer: Response): number | string {
  const type = answer.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  return answer.ok && type !== undefined && !/[/+]json$/.test(type) ? `${answer.status} with ${type}` : answer.status;
}
