/**
 * Fills the holes of the two login charts: discovery, the port, the client, the redirect or the code, the tokens. What
 * speaks OAuth is loaded by the step that needs it: most daemons never see a login.
 */

import { randomBytes } from 'node:crypto';
import { fromPromise } from 'xstate';
import { listenForRedirect } from '../../actors/oauth/callback-listener.ts';
import type { Credentials } from '../../actors/oauth/credentials.store.ts';
import type { Discovery, DiscoveryVerdict } from '../../actors/oauth/discover.ts';
import { lookAtDocument } from '../../actors/oauth/look-at-document.ts';
import type { TokenEndpoint } from '../../actors/oauth/token-request.ts';
import type { Logger } from '../../actors/ports.ts';
import { createStopSignal } from '../../actors/stop-signal.ts';
import { causeOf } from '../../machines/base/fault.ts';
import {
  type BrowserLoginContext,
  browserLoginMachine,
  type ExchangeVerdict,
  type IdentifyVerdict,
  redirectTimeoutMs,
  type StepVerdict,
} from '../../machines/oauth/browser-login.machine.ts';
import { planCallback, redirectUriOf } from '../../machines/oauth/callback-port.ts';
import { chooseDeviceIdentity, chooseIdentity, type Identity } from '../../machines/oauth/client-identity.ts';
import {
  type CodeVerdict,
  type DeviceLoginContext,
  deviceLoginMachine,
  type TokenVerdict,
} from '../../machines/oauth/device-login.machine.ts';
import { readRedirect } from '../../machines/oauth/redirect-answer.ts';
import { widerScope } from '../../machines/oauth/scope.ts';
import type { LiveLogin, Logins } from '../oauth/logins.ts';

export interface LoginPorts {
  readonly logins: Logins;
  readonly credentials: (profile: string) => Credentials;
  readonly nowMs: () => number;
  readonly log: Logger;
}

type Context = BrowserLoginContext | DeviceLoginContext;

const gone: StepVerdict = { kind: 'failed', why: 'the login is gone' };
const done: StepVerdict = { kind: 'done' };

export function wireBrowserLogin(ports: LoginPorts) {
  const { logins, credentials } = ports;
  return browserLoginMachine.provide({
    actors: {
      discover: fromPromise<StepVerdict, BrowserLoginContext>(({ input }) =>
        discover(ports, input, async () => (await import('../../actors/oauth/discover.ts')).discoverForBrowser),
      ),
      bindPort: fromPromise<StepVerdict, BrowserLoginContext>(({ input }) => bindPort(ports, input)),
      identifyClient: fromPromise<IdentifyVerdict, BrowserLoginContext>(({ input }) => identify(ports, input)),
      awaitRedirect: fromPromise<StepVerdict, BrowserLoginContext>(({ input, signal }) =>
        awaitRedirect(logins.get(input.id), signal),
      ),
      exchangeCode: fromPromise<ExchangeVerdict, BrowserLoginContext>(({ input }) => exchange(ports, input)),
      storeCredentials: fromPromise<StepVerdict, BrowserLoginContext>(({ input }) => store(ports, input)),
    },
    actions: {
      announceUrl: ({ context }) => {
        const row = logins.get(context.id);
        if (row?.authorizationUrl === undefined) return;
        row.tell({ kind: 'url', url: row.authorizationUrl, expires_in_seconds: redirectTimeoutMs / 1_000 });
      },
      recordRefusal: ({ context }) => {
        const why = `the authorization server refused ${context.document ?? 'the document'} as a client`;
        ports.log.log('warn', `mcp server "${context.server}": ${why}; registering instead`, {
          server: context.server,
        });
        credentials(context.profile)
          .refuseDocument(context.server, why)
          .catch((thrown: unknown) => {
            const what = `mcp server "${context.server}": that its document was refused cannot be recorded`;
            ports.log.log('error', `${what}: ${causeOf(thrown)}`, { server: context.server });
          });
      },
      letGo: ({ context }) => logins.get(context.id)?.listener?.close(),
    },
  });
}

export function wireDeviceLogin(ports: LoginPorts) {
  const { logins } = ports;
  return deviceLoginMachine.provide({
    actors: {
      discover: fromPromise<StepVerdict, DeviceLoginContext>(({ input }) =>
        discover(ports, input, async () => (await import('../../actors/oauth/discover.ts')).discoverForDevice),
      ),
      identifyClient: fromPromise<StepVerdict, DeviceLoginContext>(({ input }) => identifyDevice(logins.get(input.id))),
      requestCode: fromPromise<CodeVerdict, DeviceLoginContext>(({ input }) => requestCode(logins.get(input.id))),
      pollToken: fromPromise<TokenVerdict, DeviceLoginContext>(({ input }) => poll(ports, input)),
      storeCredentials: fromPromise<StepVerdict, DeviceLoginContext>(({ input }) => store(ports, input)),
    },
    actions: {
      announceCode: ({ context }) => {
        const row = logins.get(context.id);
        if (row?.device === undefined) return;
        const { userCode, verificationUri, verificationUriComplete } = row.device;
        row.tell({
          kind: 'code',
          verification_uri: verificationUri,
          ...(verificationUriComplete === undefined ? {} : { verification_uri_complete: verificationUriComplete }),
          user_code: userCode,
          expires_in_seconds: Math.round(context.patienceMs / 1_000),
        });
      },
      letGo: () => {},
    },
  });
}

async function discover(
  { logins, credentials }: LoginPorts,
  { id, profile, server }: Context,
  load: () => Promise<(url: LiveLogin['url'], oauth: LiveLogin['oauth']) => Promise<DiscoveryVerdict>>,
): Promise<StepVerdict> {
  const row = logins.get(id);
  if (row === undefined) return gone;
  const look = await load();
  const verdict = await look(row.url, row.oauth);
  if (verdict.kind === 'failed') return { kind: 'failed', why: `mcp server "${server}": ${verdict.why}` };
  row.discovery = withDemanded(verdict.discovery, credentials(profile), server);
  return done;
}

/** A call that was refused for its scope makes the next login ask for everything there was, and for that. */
function withDemanded(discovery: Discovery, credentials: Credentials, server: string): Discovery {
  const demanded = credentials.demandedScope(server);
  if (demanded === undefined) return discovery;
  const granted = widerScope(credentials.tokens(server)?.scope, discovery.scope);
  const scope = widerScope(granted, demanded);
  return scope === undefined ? discovery : { ...discovery, scope };
}

async function bindPort({ logins, credentials }: LoginPorts, context: BrowserLoginContext): Promise<StepVerdict> {
  const { id, profile, server, startedFrom } = context;
  const row = logins.get(id);
  if (row === undefined) return gone;
  const known = credentials(profile);
  const before = known.server(server);
  const documents = before === undefined ? undefined : before.metadata.client_id_metadata_document_supported === true;
  const stored = known.client(server);
  const plan = planCallback(row.settings, { documents, registered: stored !== undefined }, startedFrom);
  const { redirectUri } = row.settings;
  if (redirectUri !== undefined && !URL.canParse(redirectUri))
    return { kind: 'failed', why: `mcp server "${server}": oauth.redirect_uri is no address` };
  const path = redirectUri === undefined ? '/callback' : new URL(redirectUri).pathname;
  try {
    const listener = await listenForRedirect(plan, path);
    // Cancelled meanwhile: nobody would ever let go of the port.
    if (logins.get(id) !== row) {
      listener.close();
      return gone;
    }
    row.listener = listener;
  } catch (thrown) {
    const port = plan.kind === 'fixed' ? ` ${plan.port}` : '';
    return {
      kind: 'failed',
      why: `mcp server "${server}": the callback port${port} cannot be bound: ${causeOf(thrown)}; change oauth.redirect_port`,
    };
  }
  row.redirectUri = redirectUriOf(row.settings, row.listener.port);
  return done;
}

async function identify({ logins, credentials }: LoginPorts, context: BrowserLoginContext): Promise<IdentifyVerdict> {
  const { id, profile, server, documentRefused, storedRefused } = context;
  const row = logins.get(id);
  if (row?.discovery === undefined || row.redirectUri === undefined)
    return { kind: 'failed', why: 'the login is gone' };
  const { discovery, settings, redirectUri } = row;
  const known = credentials(profile);
  const identity = chooseIdentity({
    settings,
    metadata: discovery.metadata,
    issuer: discovery.issuer,
    stored: storedRefused ? undefined : known.client(server),
    documentRefused: documentRefused || known.documentRefused(server),
    redirectUri,
  });
  const client = await clientFor(identity, row);
  if (client.kind === 'failed') return { kind: 'failed', why: `mcp server "${server}": ${client.why}` };
  row.state = randomBytes(32).toString('base64url');
  const { beginAuthorization } = await import('../../actors/oauth/begin-authorization.ts');
  const begun = await beginAuthorization({ discovery, client: client.client, redirectUri, state: row.state });
  if (begun.kind === 'failed') return { kind: 'failed', why: `mcp server "${server}": ${begun.why}` };
  row.client = client.client;
  row.codeVerifier = begun.codeVerifier;
  row.authorizationUrl = begun.url;
  if (identity.kind === 'document') void warnOfDocument(row, client.client.clientId);
  const kind = identity.kind === 'register' ? 'registered' : identity.kind;
  if (kind === 'none') return { kind: 'failed', why: `mcp server "${server}": no client` };
  return { kind: 'done', identity: kind, document: kind === 'document' ? client.client.clientId : null };
}

/** Told while the browser is with the authorization server, which says no more of a document than that it refuses it. */
async function warnOfDocument(row: LiveLogin, document: string): Promise<void> {
  for (const { code, message } of await lookAtDocument(document, row.oauth.fetch)) {
    row.tell({ kind: 'warning', code, message });
  }
}

async function identifyDevice(row: LiveLogin | undefined): Promise<StepVerdict> {
  if (row?.discovery === undefined) return gone;
  const client = await clientFor(chooseDeviceIdentity(row.settings, row.discovery.metadata), row);
  if (client.kind === 'failed') return client;
  row.client = client.client;
  return done;
}

/** The client of an identity; registers one where there is none. */
async function clientFor(identity: Identity, row: LiveLogin) {
  switch (identity.kind) {
    case 'configured':
    case 'document':
    case 'stored':
      return { kind: 'client', client: identity.client } as const;
    case 'none':
      return { kind: 'failed', why: identity.why } as const;
    case 'register': {
      if (row.discovery === undefined) return { kind: 'failed', why: 'the login is gone' } as const;
      const { registerOauthClient } = await import('../../actors/oauth/register-client.ts');
      const verdict = await registerOauthClient({
        settings: row.settings,
        discovery: row.discovery,
        oauth: row.oauth,
        ...(row.redirectUri === undefined ? {} : { redirectUri: row.redirectUri }),
      });
      if (verdict.kind === 'failed') return verdict;
      row.registration = verdict.client;
      return { kind: 'client', client: verdict.client } as const;
    }
  }
}

/** The redirect comes to the listener, or is pasted by a person whose browser is on another machine. */
async function awaitRedirect(row: LiveLogin | undefined, signal: AbortSignal): Promise<StepVerdict> {
  if (row?.listener === undefined || row.state === undefined || row.discovery === undefined) return gone;
  const { discovery, state, listener } = row;
  const stop = new AbortController();
  const pasted = new Promise<string>((resolve) => {
    row.paste = (query) => {
      // Of another login, or of an earlier try: this one goes on.
      if (new URLSearchParams(query).get('state') !== state) return false;
      resolve(query);
      return true;
    };
  });
  try {
    const query = await Promise.race([
      listener.redirect(state, createStopSignal([signal, stop.signal]).signal),
      pasted,
    ]);
    const answer = readRedirect(query, {
      state,
      issuer: discovery.issuer,
      issPromised: discovery.metadata.authorization_response_iss_parameter_supported === true,
    });
    if (answer.kind === 'refused') return { kind: 'failed', why: answer.why };
    row.code = answer.code;
    row.iss = answer.iss;
    return done;
  } finally {
    stop.abort();
    delete row.paste;
  }
}

async function exchange({ logins, nowMs }: LoginPorts, context: BrowserLoginContext): Promise<ExchangeVerdict> {
  const { id, server, identity } = context;
  const row = logins.get(id);
  const endpoint = row && endpointOf(row);
  if (row === undefined || endpoint === undefined || row.code === undefined) return gone;
  const grant = {
    code: row.code,
    iss: row.iss,
    codeVerifier: row.codeVerifier ?? '',
    redirectUri: row.redirectUri ?? '',
  };
  const { exchangeForTokens } = await import('../../actors/oauth/token-request.ts');
  const answer = await exchangeForTokens(endpoint, grant, nowMs());
  if (answer.kind === 'tokens') {
    row.tokens = answer.record;
    return done;
  }
  const isConfigured = answer.kind === 'clientRefused' && identity === 'configured';
  const cure = isConfigured ? '; check oauth.client_id, client_secret and token_endpoint_auth_method' : '';
  const why = `mcp server "${server}": ${answer.why}${cure}`;
  return answer.kind === 'clientRefused' ? { kind: 'clientRefused', why } : { kind: 'failed', why };
}

async function requestCode(row: LiveLogin | undefined): Promise<CodeVerdict> {
  const endpoint = row && endpointOf(row);
  if (row === undefined || endpoint === undefined) return { kind: 'failed', why: 'the login is gone' };
  const { requestDeviceCode } = await import('../../actors/oauth/device-authorization.ts');
  const answer = await requestDeviceCode(endpoint, row.settings.scope ?? row.discovery?.scope);
  if (answer.kind === 'failed') return answer;
  row.device = answer.code;
  const { intervalMs, expiresInMs } = answer.code;
  return { kind: 'done', intervalMs, patienceMs: Math.min(expiresInMs, row.settings.timeoutMs) };
}

async function poll({ logins, nowMs }: LoginPorts, { id, intervalMs }: DeviceLoginContext): Promise<TokenVerdict> {
  const row = logins.get(id);
  const endpoint = row && endpointOf(row);
  if (row?.device === undefined || endpoint === undefined) return { kind: 'stop', why: 'the login is gone' };
  const { pollForTokens } = await import('../../actors/oauth/device-authorization.ts');
  const answer = await pollForTokens(endpoint, row.device.deviceCode, { intervalMs, nowMs: nowMs() });
  if (answer.kind !== 'approved') return answer;
  row.tokens = answer.record;
  return { kind: 'approved' };
}

async function store({ logins, credentials }: LoginPorts, { id, profile, server }: Context): Promise<StepVerdict> {
  const row = logins.get(id);
  if (row?.tokens === undefined || row.discovery === undefined) return gone;
  const { tokens, discovery, registration } = row;
  const { issuer, authorizationServerUrl, metadata, resource } = discovery;
  const known = credentials(profile);
  try {
    await known.locked(server, () =>
      known.save(server, {
        tokens,
        server: { issuer, authorizationServerUrl, metadata, ...(resource === undefined ? {} : { resource }) },
        ...(registration === undefined ? {} : { client: registration }),
      }),
    );
    return done;
  } catch (thrown) {
    return { kind: 'failed', why: `mcp server "${server}": the credentials cannot be stored: ${causeOf(thrown)}` };
  }
}

function endpointOf({ discovery, client, oauth, url }: LiveLogin): TokenEndpoint | undefined {
  if (discovery === undefined || client === undefined) return undefined;
  const { authorizationServerUrl, metadata, issuer, resource } = discovery;
  const asked = { authorizationServerUrl, metadata, issuer, client, url, oauth };
  return resource === undefined ? asked : { ...asked, resource };
}
