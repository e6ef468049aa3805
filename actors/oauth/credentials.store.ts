/**
 * The credentials of a profile's servers in `mcp-tokens/`: tokens, registration, metadata and the mark of a refused
 * document, each file 0600 and replaced whole. What cannot be read is not there, and is never written over by reading.
 * @see OAU-2, OAU-4 and HOME-3 in docs/specification.md
 */

import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import type { StoredClient } from '../../machines/oauth/client-identity.ts';
import { readTokenRecord, spellTokenRecord, type TokenRecord } from '../../machines/oauth/token-record.ts';
import { ensurePrivateFolder, holdingLock, writeFileAtomic } from '../files.ts';
import { safeName } from '../safe-name.ts';

/** What a login found out, kept for refreshing. */
export interface StoredServer {
  readonly issuer: string;
  readonly authorizationServerUrl: string;
  /** The authorization server's metadata; empty where it has none. */
  readonly metadata: JsonObject;
  /** The resource indicator (RFC 8707). */
  readonly resource?: string;
}

export interface NewCredentials {
  readonly tokens: TokenRecord;
  readonly server: StoredServer;
  /** A registration that was made for this login. */
  readonly client?: StoredClient;
}

export interface Credentials {
  tokens(server: string): TokenRecord | undefined;
  client(server: string): StoredClient | undefined;
  server(server: string): StoredServer | undefined;
  documentRefused(server: string): boolean;
  /** Replaces everything of a server; the tokens last, so that they are never there without what belongs to them. */
  save(server: string, credentials: NewCredentials): Promise<void>;
  saveTokens(server: string, tokens: TokenRecord): Promise<void>;
  refuseDocument(server: string, why: string): Promise<void>;
  clearRefusal(server: string): Promise<void>;
  /** What a call was refused for: the next login asks for it too. Forgotten with the process. */
  demandScope(server: string, scope: string): void;
  demandedScope(server: string): string | undefined;
  /** Does work while no other process refreshes or logs in to the same server. */
  locked<Value>(server: string, work: () => Promise<Value>): Promise<Value>;
}

export function createCredentials(folder: string): Credentials {
  const path = (server: string, ending: string): string => join(folder, `${safeName(server)}${ending}`);
  const tokensPath = (server: string): string => path(server, '.json');

  const demanded = new Map<string, string>();

  async function write(file: string, text: string): Promise<void> {
    await ensurePrivateFolder(folder);
    await writeFileAtomic(file, text);
  }

  return {
    tokens(server) {
      const text = read(tokensPath(server));
      return text === undefined ? undefined : readTokenRecord(text);
    },
    client(server) {
      const found = readObject(path(server, '.client'));
      if (typeof found?.client_id !== 'string' || typeof found.issuer !== 'string') return undefined;
      return {
        issuer: found.issuer,
        clientId: found.client_id,
        ...(typeof found.client_secret === 'string' ? { clientSecret: found.client_secret } : {}),
        ...(typeof found.token_endpoint_auth_method === 'string'
          ? { authMethod: found.token_endpoint_auth_method }
          : {}),
        ...(typeof found.redirect_uri === 'string' ? { redirectUri: found.redirect_uri } : {}),
      };
    },
    server(server) {
      const found = readObject(path(server, '.meta'));
      if (typeof found?.issuer !== 'string' || typeof found.authorization_server_url !== 'string') return undefined;
      return {
        issuer: found.issuer,
        authorizationServerUrl: found.authorization_server_url,
        metadata: isJsonObject(found.metadata) ? found.metadata : {},
        ...(typeof found.resource === 'string' ? { resource: found.resource } : {}),
      };
    },
    documentRefused: (server) => read(path(server, '.cimd-off')) !== undefined,
    async save(server, { tokens, server: meta, client }) {
      const { issuer, authorizationServerUrl, metadata, resource } = meta;
      await write(
        path(server, '.meta'),
        spell({ issuer, authorization_server_url: authorizationServerUrl, resource, metadata }),
      );
      if (client !== undefined) {
        await write(
          path(server, '.client'),
          spell({
            issuer: client.issuer,
            client_id: client.clientId,
            client_secret: client.clientSecret,
            token_endpoint_auth_method: client.authMethod,
            redirect_uri: client.redirectUri,
          }),
        );
      }
      await write(tokensPath(server), spellTokenRecord(tokens));
      demanded.delete(server);
    },
    saveTokens: (server, tokens) => write(tokensPath(server), spellTokenRecord(tokens)),
    refuseDocument: (server, why) => write(path(server, '.cimd-off'), `${why}\n`),
    clearRefusal: (server) => rm(path(server, '.cimd-off'), { force: true }),
    demandScope: (server, scope) => void demanded.set(server, scope),
    demandedScope: (server) => demanded.get(server),
    async locked(server, work) {
      await ensurePrivateFolder(folder);
      return holdingLock(tokensPath(server), work);
    },
  };
}

function spell(value: Record<string, unknown>): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function readObject(path: string): JsonObject | undefined {
  const text = read(path);
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
