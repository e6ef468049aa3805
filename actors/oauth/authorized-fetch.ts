/**
 * Adds a server's access token to requests, renews it before it expires or when the server refuses it, and repeats the
 * refused request once. Concurrent requests share one renewal.
 * @see OAU-1 and OAU-8 in docs/specification.md
 */

import type { FetchLike } from '@modelcontextprotocol/client';
import { aboutServer } from '../../machines/oauth/login-hint.ts';
import type { OauthSettings } from '../../machines/oauth/oauth-settings.ts';
import { chooseToken, isValid } from '../../machines/oauth/token-record.ts';
import { writableCure } from '../files.ts';
import { type Renewal, type RenewalSettings, recordFor, renewTokens } from './renewal.ts';

/** The last renewed token of an entry, if the server refused it too: it refuses what a further renewal would get. */
const refusedAnew = new WeakMap<OauthSettings, string>();

export function createAuthorizedFetch(options: RenewalSettings): (fetch: FetchLike) => FetchLike {
  const { server, url: serverUrl, settings, credentials, nowMs } = options;
  const own = new URL(serverUrl);

  return (fetch) => {
    /** The token to send. Undefined if there is none: the request is sent without it, and the server decides. */
    const current = async (): Promise<string | undefined> => {
      const record = recordFor(options);
      const use = chooseToken(record, nowMs());
      if (use.kind === 'use') return use.accessToken;
      // The lock is obtained once the tokens are read; those that are still valid are returned as they are.
      if (use.kind === 'login' && !credentials.isUnread(server)) return undefined;
      const renewal = await renewTokens(options, undefined);
      // It was renewed early, so it may be valid still.
      if (renewal.kind === 'unreachable' && isValid(record, nowMs())) return record.accessToken;
      return tokenOf(renewal, options);
    };

    return async (url, init) => {
      const target = new URL(String(url));
      // With SSE the server chooses the URL for posted messages.
      if (target.origin !== own.origin) return fetch(url, init);
      const sent = await current();
      const answer = await fetch(url, withToken(init, sent));
      const isRefusedAnew = sent !== undefined && refusedAnew.get(settings) === sent;
      if (isRefusedAnew && answer.status !== 401) refusedAnew.delete(settings);
      if (answer.status !== 401 || sent === undefined) return answer;
      const now = recordFor(options)?.accessToken;
      if (isRefusedAnew && now === sent) return answer;
      // Another request renewed it while this one was open.
      const fresh = now !== undefined && now !== sent ? now : await tokenOf(await renewTokens(options, sent), options);
      if (fresh === undefined) return answer;
      await answer.body?.cancel();
      const again = await fetch(url, withToken(init, fresh));
      if (again.status === 401) refusedAnew.set(settings, fresh);
      return again;
    };
  };
}

/** An unreachable token endpoint is a temporary problem: the connection is retried, without a login. */
async function tokenOf(renewal: Renewal, options: RenewalSettings): Promise<string | undefined> {
  if (renewal.kind === 'unreachable') {
    const what = `its access token cannot be renewed now: ${renewal.why}`;
    // Imported on demand, because it loads the protocol's client, which a daemon without connections does not need.
    const { ConnectError } = await import('../mcp/connect-errors.ts');
    const moved = renewal.isOdd ? '; if its addresses have changed, log in again, which reads them anew' : '';
    const authority = `see that its authorization server ${recordFor(options)?.issuer ?? ''} answers${moved}`;
    const cure = renewal.disk === true ? writableCure : (renewal.cure ?? authority);
    throw new ConnectError({ kind: 'token', message: aboutServer(options.server, `${what}; ${cure}`) });
  }
  return renewal.kind === 'renewed' ? renewal.accessToken : undefined;
}

function withToken(init: RequestInit | undefined, token: string | undefined): RequestInit {
  if (token === undefined) return init ?? {};
  const headers = new Headers(init?.headers);
  headers.set('authorization', `Bearer ${token}`);
  return { ...init, headers };
}
