/**
 * Decides the client of a login: the configured one, a metadata document if the authorization server supports it, the
 * registration of an earlier login, or a new registration. Sends nothing.
 * @see OAU-4 and DEV-3 in docs/specification.md
 */

import type { JsonObject } from '../base/json.ts';
import { untrustedWords } from '../mcp/untrusted-words.ts';
import { documentRedirects } from './metadata-document.ts';
import type { OauthSettings } from './oauth-settings.ts';
import type { TokenRecord } from './token-record.ts';

export interface OauthClient {
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly authMethod?: string;
}

/** A stored registration, bound to its issuer. */
export interface StoredClient extends OauthClient {
  readonly issuer: string;
  /** Unix milliseconds; absent if its secret does not expire. */
  readonly secretExpiresAtMs?: number;
  /** Absent if it was registered for the device grant. */
  readonly redirectUri?: string;
  /** The values sent with its registration, if any. */
  readonly clientName?: string;
  readonly scope?: string;
}

export type Identity =
  | { readonly kind: 'configured'; readonly client: OauthClient }
  | { readonly kind: 'document'; readonly client: OauthClient }
  | { readonly kind: 'stored'; readonly client: StoredClient }
  | { readonly kind: 'register' }
  | { readonly kind: 'none'; readonly why: string };

export interface IdentityQuestion {
  readonly settings: OauthSettings;
  /** The authorization server's metadata. */
  readonly metadata: JsonObject;
  readonly issuer: string;
  /** Never another issuer's client, whose ids mean something else. */
  readonly stored: StoredClient | undefined;
  /** The server has refused the document before. */
  readonly documentRefused: boolean;
  readonly redirectUri: string;
  /** The scope that the login requests. */
  readonly scope: string | undefined;
}

export function chooseIdentity(question: IdentityQuestion): Identity {
  const { settings, metadata, stored, documentRefused, redirectUri } = question;
  const configured = configuredClient(settings);
  if (configured !== undefined) return { kind: 'configured', client: configured };
  const takesDocuments = metadata.client_id_metadata_document_supported === true && settings.cimd && !documentRefused;
  const document: Identity | undefined =
    takesDocuments && settings.clientMetadataUrl !== undefined
      ? { kind: 'document', client: { clientId: settings.clientMetadataUrl } }
      : undefined;
  if (document !== undefined && isDeclared(redirectUri)) return document;
  // A device grant client has no redirect, and many servers compare the complete redirect URI, including the port.
  if (stored?.redirectUri === redirectUri && isGoodFor(stored, question)) return { kind: 'stored', client: stored };
  const registered = registerable(metadata);
  // A server that follows RFC 8252 §7.3 accepts any loopback port: better than no login.
  return registered.kind === 'none' && document !== undefined ? document : registered;
}

/** Whether a registration equals the one that would be made now: another name, method or scope needs another client. */
export function isGoodFor(
  { issuer, clientName, authMethod, scope }: StoredClient,
  question: Pick<IdentityQuestion, 'settings' | 'issuer' | 'scope'>,
): boolean {
  const { settings } = question;
  const registered = new Set(scope?.split(' '));
  return (
    issuer === question.issuer &&
    clientName === settings.clientName &&
    (settings.tokenEndpointAuthMethod === undefined || settings.tokenEndpointAuthMethod === authMethod) &&
    (question.scope ?? '').split(' ').every((word) => word === '' || registered.has(word))
  );
}

/** A device login never uses a document, and needs no redirect. */
export function chooseDeviceIdentity(settings: OauthSettings, metadata: JsonObject): Identity {
  const configured = configuredClient(settings);
  return configured === undefined ? registerable(metadata) : { kind: 'configured', client: configured };
}

/**
 * Why a configured client is not used at an authorization server: another one has issued the entry's tokens to it. The MCP
 * server chooses the authorization server, so it could otherwise collect the client's secret and its codes.
 */
export function misledWords(
  { clientId }: Pick<OauthSettings, 'clientId'>,
  issuer: string,
  before: Pick<TokenRecord, 'clientId' | 'issuer'> | undefined,
): string | undefined {
  if (clientId === undefined || before?.clientId !== clientId || isSame(before.issuer, issuer)) return undefined;
  const named = untrustedWords(issuer);
  const what = `it names the authorization server ${named}, and oauth.client_id is of ${before.issuer}`;
  const cure = 'set the client_id of the new one, or rename the entry if the client is registered there too';
  return `${what}, so no login is begun; ${cure}`;
}

/** Without metadata the issuer is an address, whose slash at the end later metadata may lack. */
function isSame(one: string, other: string): boolean {
  const bare = (issuer: string): string => issuer.replace(/\/$/, '');
  return bare(one) === bare(other);
}

/** The client of the entry; undefined if it names none. */
export function configuredClient(settings: OauthSettings): OauthClient | undefined {
  if (settings.clientId === undefined) return undefined;
  return {
    clientId: settings.clientId,
    ...(settings.clientSecret === undefined ? {} : { clientSecret: settings.clientSecret }),
    ...(settings.tokenEndpointAuthMethod === undefined ? {} : { authMethod: settings.tokenEndpointAuthMethod }),
  };
}

function registerable(metadata: JsonObject): Identity {
  // Servers before RFC 8414 have no metadata; registration is tried at the default endpoint.
  if (Object.keys(metadata).length === 0 || typeof metadata.registration_endpoint === 'string') {
    return { kind: 'register' };
  }
  return {
    kind: 'none',
    why: 'the authorization server neither registers clients nor takes metadata documents; set oauth.client_id',
  };
}

function isDeclared(redirectUri: string): boolean {
  return documentRedirects.includes(redirectUri);
}
