/**
 * Decides on which loopback port the redirect of a browser login is awaited: one of five that the client metadata
 * document declares, one that the entry names, or any free one. Binds nothing.
 * @see OAU-6 in docs/specification.md
 */

import type { OauthSettings } from './oauth-settings.ts';

/** What is known of the server from an earlier login. */
export interface ServerBefore {
  /** Its cached metadata says whether client metadata documents are supported; undefined where it was never reached. */
  readonly documents: boolean | undefined;
  /** A client registration of an earlier login is on disk: its redirect URI is its own. */
  readonly registered: boolean;
}

export type CallbackPlan =
  /** The first of these that is free. All busy: any port. */
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
  if (isOwnClient || before.registered || startedFrom === 'page' || before.documents === false || !settings.cimd) {
    return { kind: 'random' };
  }
  return { kind: 'pinned', ports: pinnedPorts };
}

/** The redirect URI for a bound port; a configured one stands as it is. */
export function redirectUriOf(settings: OauthSettings, port: number): string {
  return settings.redirectUri ?? `http://127.0.0.1:${port}/callback`;
}

function portOf(uri: string): number | undefined {
  const port = URL.canParse(uri) ? Number(new URL(uri).port) : 0;
  return port > 0 ? port : undefined;
}
