/**
 * Puts a server's access token on requests to it, has it renewed before it ends or when the server refuses it, and sends
 * the refused request once more. Whoever comes second takes what the first brought home.
 * @see OAU-1 and OAU-8 in docs/specification.md
 */

import type { FetchLike } from '@modelcontextprotocol/client';
import { aboutServer } from '../../machines/oauth/login-hint.ts';
import { chooseToken } from '../../machines/oauth/token-record.ts';
import { writableCure } from '../files.ts';
import { type Renewal, type RenewalSettings, recordFor, renewTokens } from './renewal.ts';

export function createAuthorizedFetch(options: RenewalSettings): (fetch: FetchLike) => FetchLike {
  const { server, url: serverUrl, nowMs } = options;
  const own = new URL(serverUrl);

  return (fetch) => {
    /** The token to send; undefined: none, and the server will say what it thinks of that. */
    const current = async (): Promise<string | undefined> => {
      const use = chooseToken(recordFor(options), nowMs());
      if (use.kind === 'use') return use.accessToken;
      return use.kind === 'refresh' ? await tokenOf(await renewTokens(options, undefined), server) : undefined;
    };

    return async (url, init) => {
      const target = new URL(String(url));
      // With SSE the server names another path of its own for what is posted.
      if (target.origin !== own.origin) return fetch(url, init);
      const sent = await current();
      const answer = await fetch(url, withToken(init, sent));
      if (answer.status !== 401 || sent === undefined) return answer;
      const now = recordFor(options)?.accessToken;
      // Another request has renewed it while this one was on its way.
      const fresh = now !== undefined && now !== sent ? now : await tokenOf(await renewTokens(options, sent), server);
      if (fresh === undefined) return answer;
      await answer.body?.cancel();
      return fetch(url, withToken(init, fresh));
    };
  };
}

/** A token endpoint that is not reached is trouble of the network: it is tried again, and nobody logs in. */
async function tokenOf(renewal: Renewal, server: string): Promise<string | undefined> {
  if (renewal.kind === 'unreachable') {
    const what = `its access token cannot be renewed now: ${renewal.why}`;
    // Beside the protocol's client, which a daemon without connections never loads.
    const { StoreFailure } = await import('../mcp/connect-errors.ts');
    throw renewal.disk === true
      ? new StoreFailure(aboutServer(server, `${what}; ${writableCure}`))
      : new Error(aboutServer(server, what));
  }
  return renewal.kind === 'renewed' ? renewal.accessToken : undefined;
}

function withToken(init: RequestInit | undefined, token: string | undefined): RequestInit {
  if (token === undefined) return init ?? {};
  const headers = new Headers(init?.headers);
  headers.set('authorization', `Bearer ${token}`);
  return { ...init, headers };
}
