/** A folder of credentials for specs: a server's tokens of one authorization server, as a login leaves them. */

import type { Test } from 'tap';
import { fileDocuments } from '../../../actors/documents.ts';
import { type Credentials, createCredentials } from '../../../actors/oauth/credentials.store.ts';
import type { RenewalConnections } from '../../../actors/oauth/renewal.ts';
import type { Logger, LogLevel } from '../../../actors/ports.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import type { StoredClient } from '../../../machines/oauth/client-identity.ts';
import type { TokenRecord } from '../../../machines/oauth/token-record.ts';
import { folder } from '../mcp/gateway.ts';
import { paths, type ScriptedServer, startScriptedServer } from './scripted-server.ts';

export interface TokenStore {
  readonly folder: string;
  readonly credentials: Credentials;
  /** What was logged, `level: message`. */
  readonly logged: readonly string[];
  readonly log: Logger;
}

export function tokenStore(t: Test): TokenStore {
  const place = folder(t);
  const logged: string[] = [];
  const once = new Set<string>();
  const log: Logger = {
    log: (level: LogLevel, message) => void logged.push(`${level}: ${message}`),
    warnOnce(key, message) {
      if (!once.has(key)) logged.push(`warn: ${message}`);
      once.add(key);
    },
  };
  return { folder: place, credentials: createCredentials(place, fileDocuments, log), logged, log };
}

/** Registers, and gets a first pair of tokens without a browser: by a device code that is approved at once. */
async function firstTokens(
  authority: ScriptedServer,
  url: string,
): Promise<{ readonly record: TokenRecord; readonly client: StoredClient }> {
  const post = async (path: string, body: string, type: string): Promise<JsonObject> =>
    (await (
      await fetch(`${authority.origin}${path}`, { method: 'POST', headers: { 'content-type': type }, body })
    ).json()) as JsonObject;
  const form = 'application/x-www-form-urlencoded';
  const client = await post('/register', JSON.stringify({ token_endpoint_auth_method: 'none' }), 'application/json');
  const device = await post('/device_authorization', '', form);
  authority.approve();
  const grant = {
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    device_code: String(device.device_code),
  };
  const tokens = await post('/token', new URLSearchParams(grant).toString(), form);
  const owner = { issuer: authority.issuer, clientId: String(client.client_id) };
  return {
    record: {
      accessToken: String(tokens.access_token),
      refreshToken: String(tokens.refresh_token),
      scope: 'mcp:tools',
      url,
      ...owner,
    },
    client: owner,
  };
}

/** A server's first tokens in a folder, as a login leaves them there; `issued` is how often the token endpoint was asked. */
export async function loggedIn(t: Test, url: string, change: Partial<TokenRecord> = {}) {
  const authority = await startScriptedServer(t);
  const store = tokenStore(t);
  const { record, client } = await firstTokens(authority, url);
  const { issuer } = authority;
  const server = { issuer, authorizationServerUrl: issuer, metadata: authority.metadata() as JsonObject };
  await store.credentials.save('hub', { tokens: { ...record, ...change }, server, client });
  return { authority, store, record, client, issued: authority.at(paths.token).length };
}

/** Connections of a renewal, without TLS and proxies. */
export const plainConnections = (): Promise<RenewalConnections> =>
  Promise.resolve({ fetch, close: () => Promise.resolve() });
