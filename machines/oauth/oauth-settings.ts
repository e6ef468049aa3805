/**
 * The `oauth` mapping of a server entry, typed. Holds a secret: never logged, never in a context.
 * @see OAU-3 and OAU-5 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';

export interface OauthSettings {
  readonly flow: 'browser' | 'device';
  /** Bounds the wait for the approval of a device login. */
  readonly timeoutMs: number;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly tokenEndpointAuthMethod?: string;
  /** Sent on the device authorization request. */
  readonly scope?: string;
  readonly clientName?: string;
  readonly redirectUri?: string;
  readonly redirectPort?: number;
  readonly clientMetadataUrl?: string;
  readonly cimd: boolean;
  /** For requests to the token endpoint only. */
  readonly userAgent?: string;
}

const defaultTimeoutMs = 300_000;

/** Reads the mapping of a validated entry; an empty text counts as not given. */
export function readOauthSettings(entry: JsonObject): OauthSettings {
  const oauth = isJsonObject(entry.oauth) ? entry.oauth : {};
  const { timeout, redirect_port: port } = oauth;
  return {
    flow: oauth.flow === 'device' ? 'device' : 'browser',
    timeoutMs: typeof timeout === 'number' ? timeout * 1_000 : defaultTimeoutMs,
    cimd: oauth.cimd !== false,
    ...text('clientId', oauth.client_id),
    ...text('clientSecret', oauth.client_secret),
    ...text('tokenEndpointAuthMethod', oauth.token_endpoint_auth_method),
    ...text('scope', oauth.scope),
    ...text('clientName', oauth.client_name),
    ...text('redirectUri', oauth.redirect_uri),
    ...(typeof port === 'number' ? { redirectPort: port } : {}),
    ...text('clientMetadataUrl', oauth.client_metadata_url),
    ...text('userAgent', oauth.user_agent),
  };
}

function text<Key extends string>(key: Key, value: Json | undefined): { [K in Key]?: string } {
  return typeof value === 'string' && value.trim() !== '' ? ({ [key]: value } as { [K in Key]?: string }) : {};
}
