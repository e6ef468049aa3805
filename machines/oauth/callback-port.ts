/**
 * Decides on which loopback port the redirect of a browser login is awaited: one of five that the client metadata
 * document declares, one that the entry names, the one of a registration, or any free one. Binds nothing.
 * @see OAU-6 in docs/specification.md
 */

import type { OauthSettings } from './oauth-settings.ts';

/** What is known of the server from an earlier login. */
export interface ServerBefore {
  /** Its cached metadata says whether client metadata documents are supported; undefined where it was never reached. */
  readonly documents: boolean | undefined;
  /** The server refused the document, and it is not to be shown. */
  readonly documentRefused?: boolean;
  /** A client registration of an earlier login is on disk. */
  readonly registered: boolean;
  /** Its redirect URI, where this login can use it again. */
  readonly registeredUri?: string | undefined;
}

export type CallbackPlan =
  /** The first of these that is free: those of the document, or that of a registration. All busy: any port. */
  | { readonly kind: 'pinned'; readonly ports: readonly number[] }
  | { readonly kind: 'fixed'; readonly port: number }
  /** Any free one. */
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
  // What stands in for a document that was refused does not keep it from being shown when it may be shown again.
  const standsIn = before.registered && !mayShow(settings, before);
  if (isOwnClient || standsIn || startedFrom === 'page' || before.documents === false || !settings.cimd) {
    return settings.clientId === undefined && settings.redirectUri === undefined
      ? again(before.registeredUri)
      : { kind: 'random' };
  }
  return { kind: 'pinned', ports: pinnedPorts };
}

/**
 * The port that a registration was made with, where it is free: servers compare redirects whole. The five are left to the
 * flows that need them.
 */
function again(registeredUri: string | undefined): CallbackPlan {
  const port = registeredUri === undefined ? undefined : portOf(registeredUri);
  return port === undefined || pinnedPorts.includes(port) ? { kind: 'random' } : { kind: 'pinned', ports: [port] };
}

function mayShow(settings: OauthSettings, { documents, documentRefused }: ServerBefore): boolean {
  return documents === true && !documentRefused && settings.clientMetadataUrl !== undefined;
}

/** The redirect URI for a bound port; a configured one stands as it is. */
export function redirectUriOf(settings: OauthSettings, port: number): string {
  return settings.redirectUri ?? `http://127.0.0.1:${port}/callback`;
}

function portOf(uri: string): number | undefined {
  const port = URL.canParse(uri) ? Number(new URL(uri).port) : 0;
  return port > 0 ? port : undefined;
}
