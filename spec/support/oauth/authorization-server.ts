/**
 * A real authorization server, `oidc-provider`, that lets everybody in: browser logins with PKCE and `iss`, dynamic
 * registration, client metadata documents, device logins, refresh tokens that rotate, resource indicators.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import Provider from 'oidc-provider';
import type { Test } from 'tap';
import { createBrowser } from './browser.ts';
import { type ListeningServer, listen } from './http.ts';

export interface AuthorizationServerOptions {
  /** Clients that are known beforehand, in the provider's own form. */
  readonly clients?: readonly object[];
  readonly accessTokenSeconds?: number;
  /** Client metadata documents by their URL. */
  readonly documents?: ReadonlyMap<string, object>;
  /** `always`: documents are refused at the authorization endpoint; `token`: only at the token endpoint. */
  refusesDocuments?: 'always' | 'token';
}

export interface AuthorizationServer extends ListeningServer {
  readonly issuer: string;
  accepts(token: string): boolean;
  /** Takes back every access token that is out; their refresh tokens stay good. */
  expireTokens(): void;
  /** Enters a user code and says yes, or no. */
  enterCode(userCode: string, answer?: 'approve' | 'deny'): Promise<void>;
  refuseDocuments(how: 'always' | 'token' | undefined): void;
}

export const paths = { token: '/token', register: '/reg', device: '/device/auth', authorize: '/auth' } as const;

const scopes = ['openid', 'offline_access', 'mcp:tools'];

export async function startAuthorizationServer(
  t: Pick<Test, 'teardown'>,
  options: AuthorizationServerOptions = {},
): Promise<AuthorizationServer> {
  const { clients = [], accessTokenSeconds = 3_600, documents = new Map() } = options;
  let { refusesDocuments } = options;
  const live = new Set<string>();
  let denies = false;

  const server = await listen(t, (origin) => {
    const provider = quietly(
      () =>
        new Provider(origin, {
          clients,
          scopes,
          pkce: { required: () => true },
          rotateRefreshToken: true,
          issueRefreshToken: () => true,
          cookies: { keys: ['spec'] },
          ttl: ttlOf(accessTokenSeconds),
          findAccount: (_: unknown, sub: string) => ({ accountId: sub, claims: () => ({ sub }) }),
          interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
          fetch: (url: string | URL) => documentAt(documents, String(url)),
          features: {
            devInteractions: { enabled: false },
            registration: { enabled: true },
            deviceFlow: { enabled: true },
            clientIdMetadataDocument: {
              enabled: true,
              ack: 'draft-02',
              allowFetch: () => refusesDocuments !== 'always',
              allowClient: (ctx: { oidc: { route: string } }) =>
                refusesDocuments === undefined || (refusesDocuments === 'token' && ctx.oidc.route !== 'token'),
            },
            resourceIndicators: {
              enabled: true,
              useGrantedResource: () => true,
              getResourceServerInfo: (_: unknown, resource: string) => ({
                scope: scopes.join(' '),
                audience: resource,
                accessTokenFormat: 'opaque',
                accessTokenTTL: accessTokenSeconds,
              }),
            },
          },
        }),
    );
    provider.on('access_token.saved', ({ jti }: { jti: string }) => void live.add(jti));
    const callback = provider.callback();
    return async (seen, req, res) => {
      if (seen.path.startsWith('/interaction/')) return answerInteraction(provider, req, res, denies);
      // The body has been read; the provider takes it from here.
      Object.assign(req, { body: seen.text === '' ? undefined : bodyOf(seen.text, req) });
      quietly(() => callback(req, res));
    };
  });

  return {
    ...server,
    issuer: server.origin,
    accepts: (token) => live.has(token),
    expireTokens: () => live.clear(),
    async enterCode(userCode, answer = 'approve') {
      denies = answer === 'deny';
      const browser = createBrowser();
      const page = await browser.visit(`${server.origin}/device?user_code=${encodeURIComponent(userCode)}`);
      const confirmed = await browser.submit(page, { user_code: userCode, confirm: 'yes' });
      denies = false;
      if (confirmed.status >= 500) throw new Error(`the code was not taken: ${confirmed.status} ${confirmed.body}`);
    },
    refuseDocuments: (how) => {
      refusesDocuments = how;
    },
  };
}

async function answerInteraction(
  provider: Provider,
  req: IncomingMessage,
  res: ServerResponse,
  denies: boolean,
): Promise<void> {
  const { params } = await provider.interactionDetails(req, res);
  if (denies) {
    const result = { error: 'access_denied', error_description: 'the person said no' };
    return provider.interactionFinished(req, res, result, { mergeWithLastSubmission: false });
  }
  const accountId = 'somebody';
  const grant = new provider.Grant({ accountId, clientId: params.client_id ?? '' });
  grant.addOIDCScope(scopes.join(' '));
  if (params.resource !== undefined) grant.addResourceScope(params.resource, scopes.join(' '));
  const result = { login: { accountId }, consent: { grantId: await grant.save() } };
  await provider.interactionFinished(req, res, result, { mergeWithLastSubmission: true });
}

function bodyOf(text: string, req: IncomingMessage): unknown {
  return req.headers['content-type']?.startsWith('application/json') === true
    ? JSON.parse(text)
    : Object.fromEntries(new URLSearchParams(text));
}

function documentAt(documents: ReadonlyMap<string, object>, url: string): Response {
  const document = documents.get(url);
  return document === undefined
    ? new Response('Not Found', { status: 404 })
    : new Response(JSON.stringify(document), { headers: { 'content-type': 'application/json' } });
}

function ttlOf(accessTokenSeconds: number): Record<string, number> {
  const hour = 3_600;
  return {
    AccessToken: accessTokenSeconds,
    ...{ AuthorizationCode: 60, DeviceCode: 600, Grant: hour, Interaction: hour, Session: hour },
    ...{ IdToken: hour, RefreshToken: hour },
  };
}

/** The provider informs the world what Node and what settings it would like; the specs know. */
function quietly<Value>(work: () => Value): Value {
  const { info, warn } = console;
  console.info = console.warn = () => {};
  try {
    return work();
  } finally {
    console.info = info;
    console.warn = warn;
  }
}

/** The document that a client publishes at its URL, with the redirects that the product uses. */
export function documentFor(url: string): object {
  const ports = [27_890, 27_891, 27_892, 27_893, 27_894];
  return {
    client_id: url,
    client_name: 'Agent Gateway',
    client_uri: 'https://agent.test',
    redirect_uris: ports.flatMap((port) => [`http://127.0.0.1:${port}/callback`, `http://localhost:${port}/callback`]),
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: 'native',
    scope: scopes.join(' '),
  };
}
