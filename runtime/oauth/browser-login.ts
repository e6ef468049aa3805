/**
 * Provides the effects of the browser login chart: the port, the client, the redirect, the exchange of the code for
 * tokens.
 */

import { randomBytes } from 'node:crypto';
import { fromPromise } from 'xstate';
import { listenForRedirect } from '../../actors/oauth/callback-listener.ts';
import type { Credentials } from '../../actors/oauth/credentials.store.ts';
import { lookAtDocument } from '../../actors/oauth/look-at-document.ts';
import { createStopSignal } from '../../actors/stop-signal.ts';
import { causeOf } from '../../machines/base/fault.ts';
import {
  type BrowserLoginContext,
  browserLoginMachine,
  type ExchangeVerdict,
  type IdentifyVerdict,
  redirectTimeoutMs,
} from '../../machines/oauth/browser-login.machine.ts';
import { callbackHost, planCallback, redirectUriOf } from '../../machines/oauth/callback-port.ts';
import { chooseIdentity, isGoodFor, type StoredClient } from '../../machines/oauth/client-identity.ts';
import { aboutServer } from '../../machines/oauth/login-hint.ts';
import type { StepVerdict } from '../../machines/oauth/login-step.ts';
import { readRedirect } from '../../machines/oauth/redirect-answer.ts';
import {
  clientFor,
  discover,
  endpointOf,
  type LoginPorts,
  loginIsGone,
  stepDone,
  storeCredentials,
  withCure,
} from './login-steps.ts';
import type { LiveLogin } from './logins.ts';

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
      storeCredentials: fromPromise<StepVerdict, BrowserLoginContext>(({ input }) => storeCredentials(ports, input)),
    },
    actions: {
      announceUrl: ({ context }) => {
        const row = logins.get(context.id);
        if (row?.authorizationUrl === undefined) return;
        row.report({ kind: 'url', url: row.authorizationUrl, expires_in_seconds: redirectTimeoutMs / 1_000 });
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
      release: ({ context }) => logins.get(context.id)?.listener?.close(),
    },
  });
}

async function bindPort(
  { logins, credentials, nowMs }: LoginPorts,
  context: BrowserLoginContext,
): Promise<StepVerdict> {
  const { id, profile, server, startedFrom } = context;
  const row = logins.get(id);
  if (row === undefined) return loginIsGone;
  const known = credentials(profile);
  const before = known.server(server);
  const documents = before === undefined ? undefined : before.metadata.client_id_metadata_document_supported === true;
  const plan = planCallback(
    row.settings,
    {
      documents,
      documentRefused: known.documentRefused(server),
      registered: known.client(server) !== undefined,
      registeredUri: reusable(known, server, row, nowMs())?.redirectUri,
    },
    startedFrom,
  );
  const { redirectUri } = row.settings;
  if (redirectUri !== undefined && !URL.canParse(redirectUri))
    return { kind: 'failed', why: `mcp server "${server}": oauth.redirect_uri is no address` };
  const path = redirectUri === undefined ? '/callback' : new URL(redirectUri).pathname;
  try {
    const listener = await listenForRedirect(plan, path, callbackHost(row.settings));
    // The login was cancelled meanwhile: nothing else would release the port.
    if (logins.get(id) !== row) {
      listener.close();
      return loginIsGone;
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
  return stepDone;
}

async function identify(
  { logins, credentials, nowMs }: LoginPorts,
  context: BrowserLoginContext,
): Promise<IdentifyVerdict> {
  const { id, profile, server, documentRefused, storedRefused } = context;
  const row = logins.get(id);
  if (row?.discovery === undefined || row.redirectUri === undefined) return loginIsGone;
  const { discovery, settings, redirectUri } = row;
  const known = credentials(profile);
  const identity = chooseIdentity({
    settings,
    metadata: discovery.metadata,
    issuer: discovery.issuer,
    stored: storedRefused ? undefined : reusable(known, server, row, nowMs()),
    documentRefused: documentRefused || known.documentRefused(server),
    redirectUri,
    scope: discovery.scope,
  });
  if (identity.kind === 'stored') known.doubtClient(server);
  const found = await clientFor(identity, row);
  if (found.kind === 'failed') return withCure(row, { ...found, why: aboutServer(server, found.why) });
  const { client } = found;
  row.state = randomBytes(32).toString('base64url');
  const { beginAuthorization } = await import('../../actors/oauth/begin-authorization.ts');
  const begun = await beginAuthorization({ discovery, client, redirectUri, state: row.state });
  if (begun.kind === 'failed') return { kind: 'failed', why: aboutServer(server, begun.why) };
  row.client = client;
  row.codeVerifier = begun.codeVerifier;
  row.authorizationUrl = begun.url;
  const document = found.identity === 'document' ? client.clientId : null;
  if (document !== null) void warnOfDocument(row, document);
  return { kind: 'done', identity: found.identity, document };
}

/**
 * The registration of an earlier login, if this login would register the same client, the last login with it succeeded, and
 * its secret has not expired.
 */
function reusable(
  known: Credentials,
  server: string,
  { settings, discovery }: LiveLogin,
  nowMs: number,
): StoredClient | undefined {
  const stored = known.clientDoubted(server) ? undefined : known.client(server);
  if (stored === undefined || discovery === undefined || (stored.secretExpiresAtMs ?? nowMs + 1) <= nowMs)
    return undefined;
  return isGoodFor(stored, { settings, issuer: discovery.issuer, scope: discovery.scope }) ? stored : undefined;
}

/** Reported while the browser is at the authorization server, which gives no reason when it refuses a document. */
async function warnOfDocument(row: LiveLogin, document: string): Promise<void> {
  for (const { code, message } of await lookAtDocument(document, row.oauth.fetch)) {
    row.report({ kind: 'warning', code, message });
  }
}

/** The redirect arrives at the listener, or a person whose browser is on another machine pastes it. */
async function awaitRedirect(row: LiveLogin | undefined, signal: AbortSignal): Promise<StepVerdict> {
  if (row?.listener === undefined || row.state === undefined || row.discovery === undefined) return loginIsGone;
  const { discovery, state, listener } = row;
  const stop = new AbortController();
  const pasted = new Promise<string>((resolve) => {
    row.paste = (query) => {
      // From another login or an earlier attempt: keep waiting.
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
    if (answer.kind === 'refused') return withCure(row, { ...answer, kind: 'failed' as const });
    row.code = answer.code;
    row.iss = answer.iss;
    return stepDone;
  } finally {
    stop.abort();
    delete row.paste;
  }
}

async function exchange({ logins, nowMs }: LoginPorts, context: BrowserLoginContext): Promise<ExchangeVerdict> {
  const { id, server, identity } = context;
  const row = logins.get(id);
  const endpoint = row && endpointOf(row);
  if (row === undefined || endpoint === undefined || row.code === undefined) return loginIsGone;
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
    return stepDone;
  }
  const isConfigured = answer.kind === 'clientRefused' && identity === 'configured';
  const cure = isConfigured ? '; check oauth.client_id, client_secret and token_endpoint_auth_method' : '';
  const why = aboutServer(server, `${answer.why}${cure}`);
  if (answer.kind === 'clientRefused') return { kind: 'clientRefused', why };
  return withCure(row, { ...answer, kind: 'failed' as const, why });
}
