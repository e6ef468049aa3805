/**
 * The `oauth` mapping of a server entry, typed. Contains a secret: never logged, never in a context.
 * @see OAU-3 and OAU-5 in docs/specification.md
 */

import { defined, type JsonObject } from '../base/json.ts';
import { declared } from '../config/declared.ts';
import { serverEntrySchema } from '../config/server-entry.ts';

export interface OauthSettings {
  readonly flow: 'browser' | 'device';
  /** Limits the wait for the approval of a device login. */
  readonly timeoutMs: number;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly tokenEndpointAuthMethod?: string;
  /** Sent in the device authorization request. */
  readonly scope?: string;
  readonly clientName?: string;
  readonly redirectUri?: string;
  readonly redirectPort?: number;
  readonly clientMetadataUrl?: string;
  readonly cimd: boolean;
  /** Only for requests to the token endpoint. */
  readonly userAgent?: string;
}

/** Reads the mapping of a validated entry; an empty string counts as absent. */
export function readOauthSettings(entry: { readonly oauth?: JsonObject | null }): OauthSettings {
  const oauth = declared(serverEntrySchema.properties.oauth, entry.oauth ?? {});
  return defined({
    flow: oauth.flow,
    timeoutMs: oauth.timeout * 1_000,
    cimd: oauth.cimd,
    clientId: text(oauth.client_id),
    clientSecret: text(oauth.client_secret),
    tokenEndpointAuthMethod: text(oauth.token_endpoint_auth_method),
    scope: text(oauth.scope),
    clientName: text(oauth.client_name),
    redirectUri: text(oauth.redirect_uri),
    redirectPort: oauth.redirect_port,
    clientMetadataUrl: text(oauth.client_metadata_url),
    userAgent: text(oauth.user_agent),
  });
}

function text(value: string | null | undefined): string | undefined {
  return value === null || value?.trim() === '' ? undefined : value;
}
