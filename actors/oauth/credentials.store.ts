/**
 * The credentials of a profile's servers in `mcp-tokens/`: tokens, registration, metadata, demanded scopes and the mark of
 * a refused document, each file 0600 and replaced atomically. An unreadable file counts as missing, is reported, and is never
 * overwritten by reading. Renewed tokens that cannot be written are kept in memory, because the previous refresh token is
 * spent.
 * @see OAU-2, OAU-4 and HOME-3 in docs/specification.md
 */

import { chmodSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { causeOf } from '../../machines/base/fault.ts';
import { isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import { parseObject } from '../../machines/base/read-json.ts';
import type { StoredClient } from '../../machines/oauth/client-identity.ts';
import { demandedScope } from '../../machines/oauth/scope.ts';
import { formatTokenRecord, readTokenRecord, type TokenRecord } from '../../machines/oauth/token-record.ts';
import { type Documents, unread } from '../documents.ts';
import { privateFile } from '../files.ts';
import type { Logger } from '../ports.ts';
import { safeName } from '../safe-name.ts';

/** What a login discovered, kept for refreshing. */
export interface StoredServer {
  readonly issuer: string;
  readonly authorizationServerUrl: string;
  /** The authorization server's metadata; empty if it has none. */
  readonly metadata: JsonObject;
  /** The resource indicator (RFC 8707). */
  readonly resource?: string;
}

const trialBytes = 16_384;

export interface NewCredentials {
  readonly tokens: TokenRecord;
  readonly server: StoredServer;
  /** A registration made for this login. */
  readonly client?: StoredClient;
}

export interface Credentials {
  tokens(server: string): TokenRecord | undefined;
  client(server: string): StoredClient | undefined;
  server(server: string): StoredServer | undefined;
  documentRefused(server: string): boolean;
  /** Whether the tokens are in a database that has not answered yet: then it is not known whether there are any. */
  isUnread(server: string): boolean;
  /** What is wrong with the stored credentials, or why they could not be renewed; undefined if no problem is known. */
  problem(server: string): string | undefined;
  /** The fix for credentials that cannot be written, for messages. */
  writeCure(server: string): string;
  /**
   * Replaces all credentials of a server, or none if they cannot all be written. The tokens are written last, so that
   * they never exist without the rest.
   */
  save(server: string, credentials: NewCredentials): Promise<void>;
  /** Replaces the tokens. Rejects if they cannot be written; they are used anyway while this process runs. */
  saveTokens(server: string, tokens: TokenRecord): Promise<void>;
  /** Writes tokens that could not be written before, unless newer ones exist. Rejects if they still cannot be written. */
  storeUnwritten(): Promise<void>;
  /** Deletes all credentials of a server; false if it had no tokens. */
  forget(server: string): Promise<boolean>;
  /** Records that the authorization server refused a renewal; a login clears it. */
  noteRefusal(server: string, why: string): void;
  refuseDocument(server: string, why: string): Promise<void>;
  clearRefusal(server: string): Promise<void>;
  /**
   * A login used the stored registration, or it or its tokens were refused: until it has led to tokens, the next login
   * makes a new one.
   */
  doubtClient(server: string): void;
  clientDoubted(server: string): boolean;
  /** Rejects if credentials could not be written now, before a login spends a code for them. */
  tryWriting(server: string): Promise<void>;
  /**
   * Adds a scope that the server at the URL demanded; logins request it too until one succeeds. Null replaces all of them
   * with an empty scope: the authorization server refused the scope of a login. Never rejects: what cannot be written is
   * kept in memory.
   */
  demandScope(server: string, url: string, scope: string | null): Promise<void>;
  /** Empty after a refusal, until a scope is demanded or a login succeeds. */
  demandedScope(server: string, url: string): string | undefined;
  /** Does work while no other process refreshes or logs in to the same server. Rejects if the lock is not obtained. */
  locked<Value>(server: string, work: () => Promise<Value>): Promise<Value>;
}

export function tokensPathOf(folder: string, server: string): string {
  return join(folder, `${safeName(server)}.json`);
}

/** @param log receives one warning per file that other users could read */
export function createCredentials(folder: string, documents: Documents, log?: Logger): Credentials {
  const path = (server: string, ending: string): string => join(folder, `${safeName(server)}${ending}`);
  const tokensPath = (server: string): string => tokensPathOf(folder, server);

  /** Demanded scopes that are not written yet. */
  const demanded = new Map<string, { readonly url: string; readonly scope: string }>();
  const refusals = new Map<string, string>();
  const doubted = new Set<string>();
  /** Tokens that could not be written, and the stamp of the file that they replace. */
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
    return parseObject(read(file, hears) ?? '');
  }

  function tokensOf(server: string): TokenRecord | undefined {
    const kept = unwritten.get(server);
    // If the file has changed since, it has newer tokens.
    if (kept !== undefined && kept.over === documents.at(tokensPath(server)).stamp()) return kept.tokens;
    const text = read(tokensPath(server), log);
    return text === undefined ? undefined : readTokenRecord(text);
  }

  /**
   * The object of a file beside the tokens, or the one before it if that is theirs: a login that was killed while it replaced
   * the files has left the tokens of the one before.
   */
  function besideTokens(server: string, ending: '.meta' | '.client', hears?: Logger): JsonObject | undefined {
    const found = readObject(path(server, ending), hears);
    const tokens = tokensOf(server);
    const isTheirs = (one: JsonObject): boolean =>
      ending === '.meta' ? one.issuer === tokens?.issuer : one.client_id === tokens?.clientId;
    if (found === undefined || isTheirs(found) || !isJsonObject(found.before)) return found;
    return isTheirs(found.before) ? found.before : found;
  }

  /** The text that replaces the object of a file, with that object while there are tokens. */
  function replacing(server: string, ending: '.meta' | '.client', next: Record<string, unknown>): string {
    const earlier = tokensOf(server) === undefined ? undefined : besideTokens(server, ending);
    return toText(earlier === undefined ? next : { ...next, before: { ...earlier, before: undefined } });
  }

  function serverOf(server: string): StoredServer | undefined {
    const found = besideTokens(server, '.meta');
    if (typeof found?.issuer !== 'string' || typeof found.authorization_server_url !== 'string') return undefined;
    return {
      issuer: found.issuer,
      authorizationServerUrl: found.authorization_server_url,
      metadata: isJsonObject(found.metadata) ? found.metadata : {},
      ...(typeof found.resource === 'string' ? { resource: found.resource } : {}),
    };
  }

  function demandedOf(server: string, url: string): string | undefined {
    const kept = demanded.get(server);
    return kept === undefined ? writtenScope(server, url) : scopeAt(kept, url);
  }

  function writtenScope(server: string, url: string): string | undefined {
    return scopeAt(readObject(path(server, '.scope')), url);
  }

  return {
    tokens: tokensOf,
    client(server) {
      const found = besideTokens(server, '.client', log) ?? {};
      const typed = clientMembers.filter(([, { key, type }]) => typeof found[key] === type);
      const client: Partial<StoredClient> = Object.fromEntries(typed.map(([member, { key }]) => [member, found[key]]));
      const { issuer, clientId } = client;
      return issuer === undefined || clientId === undefined ? undefined : { ...client, issuer, clientId };
    },
    server: serverOf,
    documentRefused: (server) => read(path(server, '.cimd-off')) !== undefined,
    isUnread: (server) => documents.at(tokensPath(server)).stamp() === unread,
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
    writeCure: (server) => documents.at(tokensPath(server)).writeCure,
    async save(server, { tokens, server: meta, client }) {
      const { issuer, authorizationServerUrl, metadata, resource } = meta;
      const plain = { issuer, authorization_server_url: authorizationServerUrl, resource, metadata };
      const registered = client === undefined ? undefined : replacing(server, '.client', plainClient(client));
      const files = [
        { path: path(server, '.meta'), text: replacing(server, '.meta', plain) },
        ...(registered === undefined ? [] : [{ path: path(server, '.client'), text: registered }]),
        { path: path(server, '.scope'), text: undefined },
        { path: tokensPath(server), text: formatTokenRecord(tokens) },
      ];
      await documents.write(files);
      demanded.delete(server);
      refusals.delete(server);
      doubted.delete(server);
      unwritten.delete(server);
    },
    async saveTokens(server, tokens) {
      try {
        await documents.write([{ path: tokensPath(server), text: formatTokenRecord(tokens) }]);
        unwritten.delete(server);
      } catch (thrown) {
        unwritten.set(server, { tokens, over: documents.at(tokensPath(server)).stamp() });
        throw thrown;
      }
    },
    async storeUnwritten() {
      const stored = [...unwritten.keys()].map((server) => {
        const path = tokensPath(server);
        return documents.locked(path, async () => {
          // A renewal that had the lock may have spent these tokens and left newer ones, or written them.
          const waiting = unwritten.get(server);
          if (waiting === undefined) return;
          const { tokens, over } = waiting;
          if (documents.at(path).stamp() === over) await documents.write([{ path, text: formatTokenRecord(tokens) }]);
          unwritten.delete(server);
        });
      });
      await Promise.allSettled(stored);
      await Promise.all(stored);
    },
    forget: (server) =>
      documents.locked(tokensPath(server), async () => {
        const hadTokens = unwritten.has(server) || documents.at(tokensPath(server)).stamp() !== undefined;
        // The tokens first, so that they never exist without the rest.
        const endings = ['.json', '.client', '.meta', '.scope', '.cimd-off'];
        await documents.write(endings.map((ending) => ({ path: path(server, ending), text: undefined })));
        for (const kept of [demanded, refusals, unwritten, doubted]) kept.delete(server);
        return hadTokens;
      }),
    noteRefusal: (server, why) => void refusals.set(server, why),
    refuseDocument: (server, why) => documents.write([{ path: path(server, '.cimd-off'), text: `${why}\n` }]),
    clearRefusal: (server) => documents.write([{ path: path(server, '.cimd-off'), text: undefined }]),
    doubtClient: (server) => void doubted.add(server),
    clientDoubted: (server) => doubted.has(server),
    async tryWriting(server) {
      const trial = path(server, '.trial');
      // As large as credentials are: a full disk still accepts an empty file.
      await documents.write([{ path: trial, text: ' '.repeat(trialBytes) }]);
      await documents.write([{ path: trial, text: undefined }]);
    },
    async demandScope(server, url, scope) {
      const before = demandedOf(server, url);
      const wider = scope === null ? '' : (demandedScope(before, scope) ?? before);
      if (wider === undefined || wider === before) return;
      const mine = { url, scope: wider };
      demanded.set(server, mine);
      const write = async (): Promise<void> => {
        // Another process may have added a scope since.
        const merged = scope === null ? '' : (demandedScope(writtenScope(server, url), wider) ?? '');
        await documents.write([{ path: path(server, '.scope'), text: toText({ url, scope: merged }) }]);
        if (demanded.get(server) === mine) demanded.delete(server);
      };
      await documents.locked(tokensPath(server), write).catch(() => {});
    },
    demandedScope: demandedOf,
    locked: (server, work) => documents.locked(tokensPath(server), work),
  };
}

function scopeAt(found: JsonObject | undefined, url: string): string | undefined {
  return found?.url === url && typeof found.scope === 'string' ? found.scope : undefined;
}

/** The keys of a registration in its file. */
const clientKeys: Readonly<Record<keyof StoredClient, { readonly key: string; readonly type: 'string' | 'number' }>> = {
  issuer: { key: 'issuer', type: 'string' },
  clientId: { key: 'client_id', type: 'string' },
  clientSecret: { key: 'client_secret', type: 'string' },
  secretExpiresAtMs: { key: 'secret_expires_at_ms', type: 'number' },
  authMethod: { key: 'token_endpoint_auth_method', type: 'string' },
  redirectUri: { key: 'redirect_uri', type: 'string' },
  clientName: { key: 'client_name', type: 'string' },
  scope: { key: 'scope', type: 'string' },
};
const clientMembers = Object.entries(clientKeys) as [keyof StoredClient, { key: string; type: string }][];

function plainClient(client: StoredClient): Record<string, unknown> {
  return Object.fromEntries(clientMembers.map(([member, { key }]) => [key, client[member]]));
}

function toText(value: Record<string, unknown>): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** A file from a backup or an editor may be readable by other users. What they have already read cannot be undone. */
function tighten(path: string, log: Logger): void {
  const { mode } = statSync(path);
  if ((mode & 0o077) === 0) return;
  const shown = (mode & 0o777).toString(8).padStart(4, '0');
  const found = `${path}: others could read it (mode ${shown})`;
  try {
    chmodSync(path, privateFile);
    log.warnOnce(`open/${path}`, `${found}; it is private now`);
  } catch (thrown) {
    // On a disk that cannot be changed the credentials remain usable.
    log.warnOnce(`open/${path}`, `${found} and it cannot be made private (${causeOf(thrown)}); run chmod 600 on it`);
  }
}
