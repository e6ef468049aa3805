/**
 * Renews a server's tokens: under the lock shared by all processes, over its own connections, and until the outcome is
 * stored. It continues even if the session or the caller ends meanwhile, because a refresh token that was sent is spent.
 * Never begins a login and never deletes anything.
 * @see OAU-1, OAU-4 and OAU-8 in docs/specification.md
 */

import { causeOf } from '../../machines/base/fault.ts';
import { getOrMake } from '../../machines/base/get-or-make.ts';
import { configuredClient, type OauthClient } from '../../machines/oauth/client-identity.ts';
import type { OauthSettings } from '../../machines/oauth/oauth-settings.ts';
import { chooseToken, isFor, type TokenRecord } from '../../machines/oauth/token-record.ts';
import { writableCure } from '../files.ts';
import type { ServerFetch } from '../mcp/http-fetch.ts';
import type { Logger } from '../ports.ts';
import type { Credentials, StoredServer } from './credentials.store.ts';
import { createOauthFetch } from './oauth-fetch.ts';

export type RenewalConnections = Pick<ServerFetch, 'fetch' | 'close'>;

export interface RenewalSettings {
  readonly server: string;
  readonly url: string;
  readonly settings: OauthSettings;
  readonly credentials: Credentials;
  /** Opens connections for one renewal, which the end of a session does not close. */
  readonly open: () => Promise<RenewalConnections>;
  readonly version: string;
  readonly nowMs: () => number;
  readonly log: Logger;
}

export type Renewal =
  | { readonly kind: 'renewed'; readonly accessToken: string }
  /** A person must log in again. */
  | { readonly kind: 'login' }
  /**
   * @property disk the cause is the disk, not the network
   * @property isOdd something else answers at the address of the token endpoint
   * @property cure the fix of the database that has the tokens, if that is the cause
   */
  | {
      readonly kind: 'unreachable';
      readonly why: string;
      readonly disk?: true;
      readonly isOdd?: boolean;
      readonly cure?: string;
    };

/** Shorter than the wait for the lock that a renewal holds. */
const renewalTimeoutMs = 12_000;

/** Errors caused by a file's owner, permissions or disk space; others are not the disk's. */
const diskCodes: ReadonlySet<string> = new Set(
  'EACCES EPERM EROFS ENOSPC EDQUOT EIO ENOENT ENOTDIR EISDIR EEXIST ELOOP ENAMETOOLONG'.split(' '),
);

/**
 * Running renewals, by profile folder and entry, shared by all sessions of this process with the same settings. Sessions
 * with other settings wait for the lock and then find the new tokens.
 */
const underWay = new WeakMap<Credentials, Map<OauthSettings, Promise<Renewal>>>();

/** Until when a busy authorization server asked to be left alone, by entry, and its answer. */
const rests = new WeakMap<OauthSettings, { readonly untilMs: number; readonly why: string }>();
/** The longest time for which such a request is followed. */
const maxRestMs = 60_000;

/**
 * Concurrent callers share one renewal. Never rejects.
 * @param refused the token that the server refused; undefined if it has only expired
 */
export function renewTokens(options: RenewalSettings, refused: string | undefined): Promise<Renewal> {
  const { credentials, settings } = options;
  const table = getOrMake(underWay, credentials, () => new Map());
  return getOrMake(table, settings, () => renewOnce(options, refused).finally(() => table.delete(settings)));
}

/** Resolves when no renewal with these credentials is running: a process that ends earlier loses its result. */
export async function renewalsSettled(credentials: Credentials): Promise<void> {
  await Promise.all(underWay.get(credentials)?.values() ?? []);
}

/** The tokens that may be sent to this server, and not those of a server that had its name before. */
export function recordFor({
  server,
  url,
  credentials,
}: Pick<RenewalSettings, 'server' | 'url' | 'credentials'>): TokenRecord | undefined {
  const record = credentials.tokens(server);
  // Called for every request, so the resource is read from disk only if the URL has changed.
  if (record === undefined || record.url === url) return record;
  return isFor(record, url, credentials.server(server)?.resource) ? record : undefined;
}

async function renewOnce(options: RenewalSettings, refused: string | undefined): Promise<Renewal> {
  try {
    return await options.credentials.locked(options.server, () => renewLocked(options, refused));
  } catch (thrown) {
    // Nothing is sent without the lock: a refresh token that is spent and not replaced would be lost.
    const why = causeOf(thrown);
    const cure = options.credentials.writeCure(options.server);
    if (cure !== writableCure) return { kind: 'unreachable', why, cure };
    // Another process releases the lock in time, but a folder that is not writable needs a person.
    if (!diskCodes.has(String((thrown as NodeJS.ErrnoException).code))) return { kind: 'unreachable', why };
    return { kind: 'unreachable', why: `the folder of its tokens: ${why}`, disk: true };
  }
}

async function renewLocked(options: RenewalSettings, refused: string | undefined): Promise<Renewal> {
  const { server, credentials, nowMs, open } = options;
  const record = recordFor(options);
  const meta = credentials.server(server);
  // Tokens of one authorization server must not be sent to another.
  if (record === undefined || meta === undefined || meta.issuer !== record.issuer) return { kind: 'login' };
  const use = chooseToken(record, nowMs());
  // Another process has already renewed them.
  if (use.kind === 'use' && use.accessToken !== refused) return { kind: 'renewed', accessToken: use.accessToken };
  if (record.refreshToken === undefined) {
    if (refused !== undefined) credentials.doubtClient(server);
    return { kind: 'login' };
  }
  const rest = rests.get(options.settings);
  const leftMs = (rest?.untilMs ?? 0) - nowMs();
  // A clock that was set back must not prolong this time.
  if (rest !== undefined && leftMs > 0 && leftMs <= maxRestMs) return { kind: 'unreachable', why: rest.why };
  let connections: RenewalConnections;
  try {
    connections = await open();
  } catch (thrown) {
    return { kind: 'unreachable', why: causeOf(thrown) };
  }
  try {
    return await ask(options, { record, meta }, connections.fetch);
  } finally {
    // The request has ended, so the caller need not wait for the connections to close.
    void connections.close();
  }
}

async function ask(
  options: RenewalSettings,
  { record, meta }: { readonly record: TokenRecord; readonly meta: StoredServer },
  fetch: ServerFetch['fetch'],
): Promise<Renewal> {
  const { server, settings, credentials, version, nowMs, log } = options;
  const { refreshTokens } = await import('./token-request.ts');
  const oauth = createOauthFetch({
    fetch: fetch as never,
    version,
    userAgent: settings.userAgent,
    url: options.url,
    timeoutMs: renewalTimeoutMs,
  });
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
      if (answer.waitMs !== undefined)
        rests.set(settings, { untilMs: nowMs() + Math.min(answer.waitMs, maxRestMs), why: answer.why });
      return { kind: 'unreachable', why: answer.why, isOdd: answer.isOdd === true };
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
  // Servers that have lost their registrations often refuse the refresh token first, and the client only in the browser.
  credentials.doubtClient(server);
  credentials.noteRefusal(server, `its tokens cannot be renewed: ${answer.why}`);
  log.log('warn', `mcp server "${server}": its tokens cannot be renewed: ${answer.why}`, { server });
  return { kind: 'login' };
}

function clientOf(record: TokenRecord, settings: OauthSettings, stored: OauthClient | undefined): OauthClient {
  const configured = configuredClient(settings);
  if (configured?.clientId === record.clientId) return configured;
  return stored?.clientId === record.clientId ? stored : { clientId: record.clientId };
}
