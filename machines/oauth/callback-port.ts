/**
 * Decides on which loopback port a browser login's redirect is awaited: one of the five in the client metadata document, the
 * one in the entry, that of a registration, or any free one. Binds nothing.
 * @see OAU-6 in docs/specification.md
 */

import { isLoopback } from '../base/loopback.ts';
import type { OauthSettings } from './oauth-settings.ts';

/** State of earlier logins to the server. */
interface ServerBefore {
  /** Whether client metadata documents are supported, from its cached metadata; undefined if it was never reached. */
  readonly documents: boolean | undefined;
  /** The server has refused the document, which must not be used. */
  readonly documentRefused?: boolean;
  /** A client registration of an earlier login is stored. */
  readonly registered: boolean;
  /** Its redirect URI, if this login can use it again. */
  readonly registeredUri?: string | undefined;
}

export type CallbackPlan =
  /** The first free one: of the document's ports, or the registration's port. If all are busy: any port. */
  | { readonly kind: 'pinned'; readonly ports: readonly number[] }
  | { readonly kind: 'fixed'; readonly port: number }
  /** Any free port. */
  | { readonly kind: 'random' };

export const pinnedPorts: readonly number[] = [27_890, 27_891, 27_892, 27_893, 27_894];

export function planCallback(
  settings: OauthSettings,
  before: ServerBefore,
  startedFrom: 'terminal' | 'page',
): CallbackPlan {
  if (settings.redirectPort !== undefined) return { kind: 'fixed', port: settings.redirectPort };
  const uriPort = settings.redirectUri === undefined ? undefined : portOf(settings.redirectUri);
  if (uriPort !== undefined) return { kind: 'fixed', port: uriPort };
  const isOwnClient =
    settings.clientId !== undefined ||
    settings.clientSecret !== undefined ||
    settings.clientName !== undefined ||
    settings.tokenEndpointAuthMethod !== undefined ||
    settings.redirectUri !== undefined;
  // A registration that replaced a refused document does not prevent using the document when it is allowed again.
  const standsIn = before.registered && !mayShow(settings, before);
  if (isOwnClient || standsIn || startedFrom === 'page' || before.documents === false || !settings.cimd) {
    return settings.clientId === undefined && settings.redirectUri === undefined
      ? again(before.registeredUri)
      : { kind: 'random' };
  }
  return { kind: 'pinned', ports: pinnedPorts };
}

/**
 * The port of a registration, if it is free, because servers compare complete redirect URIs. The five ports are left to the
 * logins that need them.
 */
function again(registeredUri: string | undefined): CallbackPlan {
  const port = registeredUri === undefined ? undefined : portOf(registeredUri);
  return port === undefined || pinnedPorts.includes(port) ? { kind: 'random' } : { kind: 'pinned', ports: [port] };
}

function mayShow(settings: OauthSettings, { documents, documentRefused }: ServerBefore): boolean {
  return documents === true && !documentRefused && settings.clientMetadataUrl !== undefined;
}

/** The redirect URI for a bound port; a configured one is unchanged. */
export function redirectUriOf(settings: OauthSettings, port: number): string {
  return settings.redirectUri ?? `http://127.0.0.1:${port}/callback`;
}

/** Where the redirect is awaited: at the loopback address in the configured redirect URI, such as `[::1]`, else the usual one. */
export function callbackHost({ redirectUri }: OauthSettings): string {
  const host = redirectUri === undefined ? '' : new URL(redirectUri).hostname.replace(/^\[|\]$/g, '');
  return isLoopback(host) && !host.endsWith('localhost') ? host : '127.0.0.1';
}

function portOf(uri: string): number | undefined {
  const port = URL.canParse(uri) ? Number(new URL(uri).port) : 0;
  return port > 0 ? port : undefined;
}
