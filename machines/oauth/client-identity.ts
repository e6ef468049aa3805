/**
 * Decides by which client a login is made: the configured one, a metadata document where the authorization server takes
 * documents, a registration of an earlier login, or a new registration. Sends nothing.
 * @see OAU-4 and DEV-3 in docs/specification.md
 */

import type { JsonObject } from '../base/json.ts';
import { documentRedirects } from './metadata-document.ts';
import type { OauthSettings } from './oauth-settings.ts';

export interface OauthClient {
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly authMethod?: string;
}

/** A registration on disk, bound to the issuer that made it. */
export interface StoredClient extends OauthClient {
  readonly issuer: string;
  /** Absent where it was registered for the device grant. */
  readonly redirectUri?: string;
  /** What it was registered with, where that was said. */
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
  /** Never another issuer's client: its ids mean something else there. */
  readonly stored: StoredClient | undefined;
  /** The server refused the document before. */
  readonly documentRefused: boolean;
  readonly redirectUri: string;
  /** What the login asks for. */
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
  // A client of the device grant has no redirect, and many servers compare a redirect whole, its port too.
  if (stored?.redirectUri === redirectUri && isGoodFor(stored, question)) return { kind: 'stored', client: stored };
  const registered = registerable(metadata);
  // A server that follows RFC 8252 §7.3 takes any port of the loopback: better than no login at all.
  return registered.kind === 'none' && document !== undefined ? document : registered;
}

/** Tells whether a registration is the one that would be made now: another name, method or scope is another client. */
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

/** A device login never shows a document, and needs no redirect. */
export function chooseDeviceIdentity(settings: OauthSettings, metadata: JsonObject): Identity {
  const configured = configuredClient(settings);
  return configured === undefined ? registerable(metadata) : { kind: 'configured', client: configured };
}

function configuredClient(settings: OauthSettings): OauthClient | undefined {
  if (settings.clientId === undefined) return undefined;
  return {
    clientId: settings.clientId,
    ...(settings.clientSecret === undefined ? {} : { clientSecret: settings.clientSecret }),
    ...(settings.tokenEndpointAuthMethod === undefined ? {} : { authMethod: settings.tokenEndpointAuthMethod }),
  };
}

function registerable(metadata: JsonObject): Identity {
  // Servers before RFC 8414 say nothing of themselves; their registration is tried at its usual place.
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
