/**
 * The steps that browser and device logins share: discovery, the client, storing the tokens. OAuth code is loaded by the
 * step that needs it, because most daemons never run a login.
 * @see OAU-1 and OAU-4 in docs/specification.md
 */

import type { Credentials } from '../../actors/oauth/credentials.store.ts';
import type { Discovery, DiscoveryVerdict } from '../../actors/oauth/discover.ts';
import { recordFor } from '../../actors/oauth/renewal.ts';
import type { TokenEndpoint } from '../../actors/oauth/token-request.ts';
import type { Logger } from '../../actors/ports.ts';
import { causeOf } from '../../machines/base/fault.ts';
import { untrustedWords } from '../../machines/mcp/untrusted-words.ts';
import { type Identity, misledWords } from '../../machines/oauth/client-identity.ts';
import { aboutServer } from '../../machines/oauth/login-hint.ts';
import type { LoginEnd, LoginInput, StepFailure, StepVerdict } from '../../machines/oauth/login-step.ts';
import { loginScope, scopeCure, withheldScope } from '../../machines/oauth/scope.ts';
import type { LiveLogin, Logins } from './logins.ts';

export interface LoginPorts {
  readonly logins: Logins;
  readonly credentials: (profile: string) => Credentials;
  readonly nowMs: () => number;
  readonly log: Logger;
}

/** The login was cancelled during one of its steps. */
export const loginIsGone = { kind: 'failed', why: 'the login is gone' } as const;
export const stepDone: StepVerdict = { kind: 'done' };

type Look = (url: LiveLogin['url'], oauth: LiveLogin['oauth']) => Promise<DiscoveryVerdict>;

/**
 * Checks that credentials can be stored, then discovers the authorization server and the scope to request. Fails if the
 * configured client belongs to another authorization server.
 * @param load loads the discovery of the grant's endpoints
 */
export async function discover(
  { logins, credentials }: LoginPorts,
  { id, profile, server }: LoginInput,
  load: () => Promise<Look>,
): Promise<StepVerdict> {
  const row = logins.get(id);
  if (row === undefined) return loginIsGone;
  const known = credentials(profile);
  try {
    await known.tryWriting(server);
  } catch (thrown) {
    const what = `no login is begun, for its credentials could not be stored: ${causeOf(thrown)}`;
    return { kind: 'failed', why: aboutServer(server, `${what}; ${known.writeCure(server)}`) };
  }
  const look = await load();
  const verdict = await look(row.url, row.oauth);
  if (verdict.kind === 'failed') return { kind: 'failed', why: aboutServer(server, verdict.why) };
  const before = recordFor({ server, url: row.url, credentials: known });
  const misled = misledWords(row.settings, verdict.discovery.issuer, before);
  if (misled !== undefined) return { kind: 'failed', why: aboutServer(server, misled) };
  row.discovery = withScope(verdict.discovery, row, known, server);
  return stepDone;
}

const invalidScope = 'invalid_scope';

/** After `invalid_scope`, the reason names the fix. */
export function withCure<Failure extends StepFailure>(row: LiveLogin, failure: Failure): Failure {
  if (failure.errorCode !== invalidScope || row.scopeCure === undefined) return failure;
  return { ...failure, why: `${failure.why}; ${row.scopeCure}` };
}

/** After `invalid_scope`, the next login requests neither the granted nor the demanded scope. */
export function noteScopeRefusal(
  { logins, credentials }: Pick<LoginPorts, 'logins' | 'credentials'>,
  { id, profile, server, errorCode }: LoginInput & LoginEnd,
): void {
  const row = logins.get(id);
  if (row !== undefined && errorCode === invalidScope) void credentials(profile).demandScope(server, row.url, null);
}

function withScope(discovery: Discovery, row: LiveLogin, credentials: Credentials, server: string): Discovery {
  const { url, settings } = row;
  const before = recordFor({ server, url, credentials });
  const granted = before?.issuer === discovery.issuer ? before.scope : undefined;
  const demanded = credentials.demandedScope(server, url);
  const { scope: discovered, metadata } = discovery;
  const sources = { configured: settings.scope, discovered, metadata, granted, demanded };
  const scope = loginScope(sources);
  row.scopeCure = scopeCure(sources, scope);
  return scope === undefined ? discovery : { ...discovery, scope };
}

/** The client of an identity; registers one if there is none. */
export async function clientFor(identity: Identity, row: LiveLogin) {
  switch (identity.kind) {
    case 'configured':
    case 'document':
    case 'stored':
      return { kind: 'client', identity: identity.kind, client: identity.client } as const;
    case 'none':
      return { kind: 'failed', why: identity.why } as const;
    case 'register': {
      if (row.discovery === undefined) return loginIsGone;
      const { registerOauthClient } = await import('../../actors/oauth/register-client.ts');
      const verdict = await registerOauthClient({
        settings: row.settings,
        discovery: row.discovery,
        oauth: row.oauth,
        ...(row.redirectUri === undefined ? {} : { redirectUri: row.redirectUri }),
      });
      if (verdict.kind === 'failed') return verdict;
      row.registration = verdict.client;
      return { kind: 'client', identity: 'registered', client: verdict.client } as const;
    }
  }
}

/** Stores the tokens, the server and a new client of the login in one write. */
export async function storeCredentials(
  { logins, credentials }: LoginPorts,
  { id, profile, server }: LoginInput,
): Promise<StepVerdict> {
  const row = logins.get(id);
  if (row?.tokens === undefined || row.discovery === undefined) return loginIsGone;
  const { tokens, discovery, registration } = row;
  const { issuer, authorizationServerUrl, metadata, resource } = discovery;
  const known = credentials(profile);
  const withheld = withheldScope(known.demandedScope(server, row.url), tokens.scope);
  try {
    await known.locked(server, () =>
      known.save(server, {
        // An answer without a scope grants the requested one (RFC 6749 §5.1).
        tokens: { ...(discovery.scope === undefined ? {} : { scope: discovery.scope }), ...tokens },
        server: { issuer, authorizationServerUrl, metadata, ...(resource === undefined ? {} : { resource }) },
        ...(registration === undefined ? {} : { client: registration }),
      }),
    );
    if (withheld !== undefined) {
      const what = `the authorization server did not grant the scope ${JSON.stringify(untrustedWords(withheld))}`;
      const cure = 'ask its operator to permit it to this client and user';
      const message = `${what}, which the server demands, so calls that need it may still fail; ${cure}`;
      row.report({ kind: 'warning', code: 'scope-not-granted', message });
    }
    return stepDone;
  } catch (thrown) {
    return {
      kind: 'failed',
      why: aboutServer(server, `the credentials cannot be stored: ${causeOf(thrown)}; ${known.writeCure(server)}`),
    };
  }
}

/** The token endpoint with the login's client; undefined before the client is known. */
export function endpointOf({ discovery, client, oauth, url }: LiveLogin): TokenEndpoint | undefined {
  if (discovery === undefined || client === undefined) return undefined;
  const { authorizationServerUrl, metadata, issuer, resource } = discovery;
  const asked = { authorizationServerUrl, metadata, issuer, client, url, oauth };
  return resource === undefined ? asked : { ...asked, resource };
}
