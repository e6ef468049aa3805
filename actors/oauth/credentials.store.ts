/**
 * The credentials of a profile's servers in `mcp-tokens/`: tokens, registration, metadata and the mark of a refused
 * document, each file 0600 and replaced whole. What cannot be read is not there, is said to be so, and is never written
 * over by reading. A renewal that the disk does not take is kept in memory: its predecessor is already spent.
 * @see OAU-2, OAU-4 and HOME-3 in docs/specification.md
 */

import { chmodSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { causeOf } from '../../machines/base/fault.ts';
import { isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import type { StoredClient } from '../../machines/oauth/client-identity.ts';
import { readTokenRecord, spellTokenRecord, type TokenRecord } from '../../machines/oauth/token-record.ts';
import type { Documents } from '../documents.ts';
import { privateFile } from '../files.ts';
import type { Logger } from '../ports.ts';
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

const trialBytes = 16_384;

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
  /** What is wrong with what is stored, or why it could not be renewed; undefined where nothing is known to be. */
  problem(server: string): string | undefined;
  /**
   * Replaces everything of a server, or nothing where the disk does not take it all; the tokens last, so that they are never
   * there without what belongs to them.
   */
  save(server: string, credentials: NewCredentials): Promise<void>;
  /** Replaces the tokens. Rejects where they cannot be written; they count all the same while this process lives. */
  saveTokens(server: string, tokens: TokenRecord): Promise<void>;
  /** Writes the tokens that could not be written, unless newer ones have been. Rejects where they still cannot be. */
  storeUnwritten(): Promise<void>;
  /** The authorization server said no to a renewal; a login forgets it. */
  noteRefusal(server: string, why: string): void;
  refuseDocument(server: string, why: string): Promise<void>;
  clearRefusal(server: string): Promise<void>;
  /** A registration was shown, or refused: until it has led to tokens, the next login makes a new one. */
  doubtClient(server: string): void;
  clientDoubted(server: string): boolean;
  /** Rejects where credentials could not be written: a code that is spent for them would be lost. */
  tryWriting(server: string): Promise<void>;
  /** What a call was refused for: the next login asks for it too. Forgotten with the process. */
  demandScope(server: string, scope: string): void;
  demandedScope(server: string): string | undefined;
  /** Does work while no other process refreshes or logs in to the same server. Rejects where that cannot be kept from them. */
  locked<Value>(server: string, work: () => Promise<Value>): Promise<Value>;
}

/** The path of a server's tokens in the folder of a profile's credentials. */
export function tokensPathOf(folder: string, server: string): string {
  return join(folder, `${safeName(server)}.json`);
}

/** @param log hears, once a file, of one that others could read */
export function createCredentials(folder: string, documents: Documents, log?: Logger): Credentials {
  const path = (server: string, ending: string): string => join(folder, `${safeName(server)}${ending}`);
  const tokensPath = (server: string): string => tokensPathOf(folder, server);

  const demanded = new Map<string, string>();
  const refusals = new Map<string, string>();
  const doubted = new Set<string>();
  /** Tokens that could not be written, and the state of the file that they belong over. */
  const unwritten = new Map<string, { readonly tokens: TokenRecord; readonly over: string | undefined }>();

  function read(file: string, hears?: Logger): string | undefined {
    try {
      if (hears !== undefined && !documents.isShared) tighten(file, hears);
      return documents.at(file).text();
    } catch {
      return undefined;
    }
  }

  function readObject(file: string, hears?: Logger): JsonObject | undefined {
    try {
      const value: unknown = JSON.parse(read(file, hears) ?? '');
      return isJsonObject(value) ? value : undefined;
    } catch {
      return undefined;
    }
  }

  function tokensOf(server: string): TokenRecord | undefined {
    const kept = unwritten.get(server);
    // Whoever wrote the file since has newer ones.
    if (kept !== undefined && kept.over === documents.at(tokensPath(server)).stamp()) return kept.tokens;
    const text = read(tokensPath(server), log);
    return text === undefined ? undefined : readTokenRecord(text);
  }

  function serverOf(server: string): StoredServer | undefined {
    const found = readObject(path(server, '.meta'));
    if (typeof found?.issuer !== 'string' || typeof found.authorization_server_url !== 'string') return undefined;
    return {
      issuer: found.issuer,
      authorizationServerUrl: found.authorization_server_url,
      metadata: isJsonObject(found.metadata) ? found.metadata : {},
      ...(typeof found.resource === 'string' ? { resource: found.resource } : {}),
    };
  }

  return {
    tokens: tokensOf,
    client(server) {
      const found = readObject(path(server, '.client'), log);
      if (typeof found?.client_id !== 'string' || typeof found.issuer !== 'string') return undefined;
      return {
        issuer: found.issuer,
        clientId: found.client_id,
        ...(typeof found.client_secret === 'string' ? { clientSecret: found.client_secret } : {}),
        ...(typeof found.token_endpoint_auth_method === 'string'
          ? { authMethod: found.token_endpoint_auth_method }
          : {}),
        ...(typeof found.redirect_uri === 'string' ? { redirectUri: found.redirect_uri } : {}),
        ...(typeof found.client_name === 'string' ? { clientName: found.client_name } : {}),
        ...(typeof found.scope === 'string' ? { scope: found.scope } : {}),
      };
    },
    server: serverOf,
    documentRefused: (server) => read(path(server, '.cimd-off')) !== undefined,
    problem(server) {
      const document = documents.at(tokensPath(server));
      const { place } = document;
      if (document.stamp() === undefined) return undefined;
      try {
        document.text();
      } catch (thrown) {
        return `its token file ${place} cannot be read (${(thrown as NodeJS.ErrnoException).code ?? causeOf(thrown)})`;
      }
      const tokens = tokensOf(server);
      if (tokens === undefined) return `its token file ${place} is damaged`;
      const meta = serverOf(server);
      if (meta === undefined && tokens.refreshToken !== undefined)
        return `${documents.at(path(server, '.meta')).place} is missing or damaged`;
      if (meta !== undefined && meta.issuer !== tokens.issuer) {
        return `its tokens are of another authorization server (${tokens.issuer}) than the one it uses (${meta.issuer})`;
      }
      return refusals.get(server);
    },
    async save(server, { tokens, server: meta, client }) {
      const { issuer, authorizationServerUrl, metadata, resource } = meta;
      const files = [
        {
          path: path(server, '.meta'),
          text: spell({ issuer, authorization_server_url: authorizationServerUrl, resource, metadata }),
        },
        ...(client === undefined ? [] : [{ path: path(server, '.client'), text: spellClient(client) }]),
        { path: tokensPath(server), text: spellTokenRecord(tokens) },
      ];
      await documents.write(files);
      demanded.delete(server);
      refusals.delete(server);
      doubted.delete(server);
      unwritten.delete(server);
    },
    async saveTokens(server, tokens) {
      try {
        await documents.write([{ path: tokensPath(server), text: spellTokenRecord(tokens) }]);
        unwritten.delete(server);
      } catch (thrown) {
        unwritten.set(server, { tokens, over: documents.at(tokensPath(server)).stamp() });
        throw thrown;
      }
    },
    async storeUnwritten() {
      for (const [server, { tokens, over }] of unwritten) {
        const path = tokensPath(server);
        await documents.locked(path, async () => {
          if (documents.at(path).stamp() === over) await documents.write([{ path, text: spellTokenRecord(tokens) }]);
          unwritten.delete(server);
        });
      }
    },
    noteRefusal: (server, why) => void refusals.set(server, why),
    refuseDocument: (server, why) => documents.write([{ path: path(server, '.cimd-off'), text: `${why}\n` }]),
    clearRefusal: (server) => documents.write([{ path: path(server, '.cimd-off'), text: undefined }]),
    doubtClient: (server) => void doubted.add(server),
    clientDoubted: (server) => doubted.has(server),
    async tryWriting(server) {
      const trial = path(server, '.trial');
      // As much as credentials are: a full disk still takes an empty file.
      await documents.write([{ path: trial, text: ' '.repeat(trialBytes) }]);
      await documents.write([{ path: trial, text: undefined }]);
    },
    demandScope: (server, scope) => void demanded.set(server, scope),
    demandedScope: (server) => demanded.get(server),
    locked: (server, work) => documents.locked(tokensPath(server), work),
  };
}

function spellClient(client: StoredClient): string {
  const { issuer, clientId, clientSecret, authMethod, redirectUri, clientName, scope } = client;
  return spell({
    issuer,
    client_id: clientId,
    client_secret: clientSecret,
    token_endpoint_auth_method: authMethod,
    redirect_uri: redirectUri,
    client_name: clientName,
    scope,
  });
}

function spell(value: Record<string, unknown>): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** A file that came from a backup or an editor may be open to others; what they have read already cannot be helped. */
function tighten(path: string, log: Logger): void {
  const { mode } = statSync(path);
  if ((mode & 0o077) === 0) return;
  const shown = (mode & 0o777).toString(8).padStart(4, '0');
  const found = `${path}: others could read it (mode ${shown})`;
  try {
    chmodSync(path, privateFile);
    log.warnOnce(`open/${path}`, `${found}; it is private now`);
  } catch (thrown) {
    // On a disk that takes no change the credentials are as good as before.
    log.warnOnce(`open/${path}`, `${found} and it cannot be made private (${causeOf(thrown)}); run chmod 600 on it`);
  }
}
