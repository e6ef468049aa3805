/**
 * Puts a server's access token on requests to it, renews it before it ends or when the server refuses it, and sends the
 * refused request once more. One renewal at a time, in this process and across processes: whoever comes second takes what
 * the first brought home. Never begins a login and never deletes anything.
 * @see OAU-1, OAU-4 and OAU-8 in docs/specification.md
 */

import type { FetchLike } from '@modelcontextprotocol/client';
import { causeOf } from '../../machines/base/fault.ts';
import type { OauthClient } from '../../machines/oauth/client-identity.ts';
import type { OauthSettings } from '../../machines/oauth/oauth-settings.ts';
import { chooseToken, isFor, type TokenRecord } from '../../machines/oauth/token-record.ts';
import type { Logger } from '../ports.ts';
import type { Credentials } from './credentials.store.ts';
import { createOauthFetch } from './oauth-fetch.ts';

export interface AuthorizedFetchSettings {
  readonly server: string;
  readonly url: string;
  readonly settings: OauthSettings;
  readonly credentials: Credentials;
  readonly version: string;
  readonly nowMs: () => number;
  readonly log: Logger;
}

type Renewal =
  | { readonly kind: 'renewed'; readonly accessToken: string }
  /** Only a person can log in again. */
  | { readonly kind: 'login' }
  | { readonly kind: 'unreachable'; readonly why: string };

/** Shorter than anybody waits for the lock that a renewal holds. */
const renewalTimeoutMs = 12_000;

/** Renewals under way, by profile folder and server: shared by every session of this process. */
const underWay = new WeakMap<Credentials, Map<string, Promise<Renewal>>>();

export function createAuthorizedFetch(options: AuthorizedFetchSettings): (fetch: FetchLike) => FetchLike {
  const { server, url: serverUrl, credentials, nowMs } = options;
  const own = new URL(serverUrl);
  const standing = (): TokenRecord | undefined => recordFor(options);

  return (fetch) => {
    const renew = (refused: string | undefined): Promise<Renewal> => {
      const table = underWay.get(credentials) ?? new Map<string, Promise<Renewal>>();
      underWay.set(credentials, table);
      let renewal = table.get(server);
      if (renewal === undefined) {
        renewal = renewOnce(options, fetch, refused).finally(() => table.delete(server));
        table.set(server, renewal);
      }
      return renewal;
    };

    /** The token to send; undefined: none, and the server will say what it thinks of that. */
    const current = async (): Promise<string | undefined> => {
      const use = chooseToken(standing(), nowMs());
      if (use.kind === 'use') return use.accessToken;
      return use.kind === 'refresh' ? tokenOf(await renew(undefined), server) : undefined;
    };

    return async (url, init) => {
      const target = new URL(String(url));
      // With SSE the server names another path of its own for what is posted.
      if (target.origin !== own.origin) return fetch(url, init);
      const sent = await current();
      const answer = await fetch(url, withToken(init, sent));
      if (answer.status !== 401 || sent === undefined) return answer;
      const now = standing()?.accessToken;
      // Another request has renewed it while this one was on its way.
      const fresh = now !== undefined && now !== sent ? now : tokenOf(await renew(sent), server);
      if (fresh === undefined) return answer;
      await answer.body?.cancel();
      return fetch(url, withToken(init, fresh));
    };
  };
}

/**
 * Renews under the lock that every process takes.
 * @param refused the token that the server refused; undefined where it has merely run out
 */
async function renewOnce(
  options: AuthorizedFetchSettings,
  fetch: FetchLike,
  refused: string | undefined,
): Promise<Renewal> {
  try {
    return await options.credentials.locked(options.server, () => renewLocked(options, fetch, refused));
  } catch (thrown) {
    // Without the lock nothing is sent: a refresh token that is spent and not replaced would be lost.
    return { kind: 'unreachable', why: `the folder of its tokens: ${causeOf(thrown)}` };
  }
}

async function renewLocked(
  options: AuthorizedFetchSettings,
  fetch: FetchLike,
  refused: string | undefined,
): Promise<Renewal> {
  const { server, settings, credentials, version, nowMs, log } = options;
  const { refreshTokens } = await import('./token-request.ts');
  const record = recordFor(options);
  const meta = credentials.server(server);
  // Tokens of one authorization server are nothing that another may see.
  if (record === undefined || meta === undefined || meta.issuer !== record.issuer) return { kind: 'login' };
  const use = chooseToken(record, nowMs());
  // Another process was first.
  if (use.kind === 'use' && use.accessToken !== refused) return { kind: 'renewed', accessToken: use.accessToken };
  if (record.refreshToken === undefined) return { kind: 'login' };
  const oauth = createOauthFetch({ fetch, version, userAgent: settings.userAgent, timeoutMs: renewalTimeoutMs });
  const client = clientOf(record, settings, credentials.client(server));
  const answer = await refreshTokens({ ...meta, client, oauth }, record, nowMs());
  switch (answer.kind) {
    case 'tokens':
      await credentials.saveTokens(server, answer.record).catch((thrown: unknown) => {
        const what = `mcp server "${server}": its renewed tokens cannot be written and are lost when the gateway ends`;
        log.log('error', `${what}: ${causeOf(thrown)}`, { server });
      });
      return { kind: 'renewed', accessToken: answer.record.accessToken };
    case 'unreachable':
      return { kind: 'unreachable', why: answer.why };
    case 'clientRefused':
      if (client.clientId === settings.clientMetadataUrl) {
        await credentials.refuseDocument(server, answer.why).catch(() => {});
        log.log('warn', `mcp server "${server}": refuses the client metadata document; the next login registers`, {
          server,
        });
      }
      break;
    case 'refused':
      break;
  }
  credentials.noteRefusal(server, `its tokens cannot be renewed: ${answer.why}`);
  log.log('warn', `mcp server "${server}": its tokens cannot be renewed: ${answer.why}`, { server });
  return { kind: 'login' };
}

/** The tokens that may go to this server: those of a server that once had its name may not. */
function recordFor({ server, url, credentials }: AuthorizedFetchSettings): TokenRecord | undefined {
  const record = credentials.tokens(server);
  return record !== undefined && isFor(record, url) ? record : undefined;
}

/** The client that the tokens were issued to. */
function clientOf(record: TokenRecord, settings: OauthSettings, stored: OauthClient | undefined): OauthClient {
  if (settings.clientId === record.clientId) {
    return {
      clientId: record.clientId,
      ...(settings.clientSecret === undefined ? {} : { clientSecret: settings.clientSecret }),
      ...(settings.tokenEndpointAuthMethod === undefined ? {} : { authMethod: settings.tokenEndpointAuthMethod }),
    };
  }
  return stored?.clientId === record.clientId ? stored : { clientId: record.clientId };
}

/** A token endpoint that is not reached is trouble of the network: it is tried again, and nobody logs in. */
function tokenOf(renewal: Renewal, server: string): string | undefined {
  if (renewal.kind === 'unreachable') {
    throw new Error(`mcp server "${server}": its access token cannot be renewed now: ${renewal.why}`);
  }
  return renewal.kind === 'renewed' ? renewal.accessToken : undefined;
}

function withToken(init: RequestInit | undefined, token: string | undefined): RequestInit {
  if (token === undefined) return init ?? {};
  const headers = new Headers(init?.headers);
  headers.set('authorization', `Bearer ${token}`);
  return { ...init, headers };
}
