import t, { type Test } from 'tap';
import {
  type RenewalConnections,
  type RenewalSettings,
  renewalsSettled,
  renewTokens,
} from '../../../actors/oauth/renewal.ts';
import { openServerConnections } from '../../../actors/oauth/server-connections.ts';
import { normaliseServerEntry } from '../../../machines/config/server-entry.ts';
import { readServerSettings } from '../../../machines/mcp/server-settings.ts';
import { readOauthSettings } from '../../../machines/oauth/oauth-settings.ts';
import { listenHttp } from '../../support/http-listener.ts';
import { folder } from '../../support/mcp/gateway.ts';
import { oauthError, paths } from '../../support/oauth/scripted-server.ts';
import { loggedIn, plainConnections } from '../../support/oauth/token-store.ts';
import { makeCertificates } from '../../support/tls.ts';

const url = 'https://mcp.example/mcp';

async function stage(t: Test) {
  const { authority, store, record, issued } = await loggedIn(t, url);
  const options = (change: Partial<RenewalSettings> = {}): RenewalSettings => ({
    ...{ server: 'hub', url, settings: readOauthSettings({}), credentials: store.credentials, version: '1' },
    ...{ open: plainConnections, nowMs: Date.now, log: store.log },
    ...change,
  });
  return { authority, store, record, options, renewals: () => authority.at(paths.token).slice(issued) };
}

/** Holds the answer of the token endpoint back until it is let through; the tokens are given out all the same. */
function held(authority: Awaited<ReturnType<typeof stage>>['authority']) {
  let letThrough = (): void => {};
  let asked = (): void => {};
  const gate = new Promise<void>((resolve) => {
    letThrough = resolve;
  });
  const arrived = new Promise<void>((resolve) => {
    asked = resolve;
  });
  authority.on(paths.token, async (seen) => {
    const answer = authority.usual(seen);
    asked();
    await gate;
    return answer;
  });
  return { arrived, letThrough };
}

t.test('OAU-1 · a renewal has connections of its own, closed when its outcome is stored', async (t) => {
  const { options, store, record } = await stage(t);
  const steps: string[] = [];
  const open = async (): Promise<RenewalConnections> => {
    steps.push('opened');
    return {
      fetch: (to, init) => {
        steps.push('asked');
        return fetch(to, init);
      },
      close: () => {
        steps.push(store.credentials.tokens('hub')?.accessToken === record.accessToken ? 'closed early' : 'closed');
        return Promise.resolve();
      },
    };
  };
  t.match(await renewTokens(options({ open }), record.accessToken), { kind: 'renewed' });
  t.same(steps, ['opened', 'asked', 'closed']);
  t.equal(store.credentials.tokens('hub')?.url, url, 'they are for the address of those before');
});

t.test('OAU-1 · renewed tokens are stored although no request waits for them any more', async (t) => {
  const { options, store, record, authority } = await stage(t);
  const { arrived, letThrough } = held(authority);
  void renewTokens(options(), record.accessToken);
  await arrived;
  const settled = renewalsSettled(store.credentials);
  letThrough();
  await settled;
  t.not(store.credentials.tokens('hub')?.refreshToken, record.refreshToken);
});

t.test('OAU-1 · an entry that was edited meanwhile waits for the tokens, and spends none of its own', async (t) => {
  const { options, record, authority, renewals } = await stage(t);
  const { arrived, letThrough } = held(authority);
  const before = renewTokens(options(), record.accessToken);
  await arrived;
  const after = renewTokens(options(), record.accessToken);
  letThrough();
  t.same(await after, await before);
  t.match(await after, { kind: 'renewed' });
  t.equal(renewals().length, 1);
});

t.test('OAU-1 · the failure of one entry is not that of another', async (t) => {
  const { options, record } = await stage(t);
  let other: ReturnType<typeof renewTokens> | undefined;
  const broken = options({
    open: () => {
      // While the first is under way, and before it has failed.
      other = renewTokens(options(), record.accessToken);
      return Promise.reject(new Error('ssl_verify file not found'));
    },
  });
  t.same(await renewTokens(broken, record.accessToken), { kind: 'unreachable', why: 'ssl_verify file not found' });
  t.match(await other, { kind: 'renewed' });
});

t.test(
  'OAU-1 · a folder that takes no change is the disk’s trouble; a lock that another process holds is not',
  async (t) => {
    const { options, record, store, renewals } = await stage(t);
    const failing = (error: Error): Partial<RenewalSettings> => ({
      credentials: { ...store.credentials, locked: () => Promise.reject(error) },
    });
    const full = Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    t.same(await renewTokens(options(failing(full)), record.accessToken), {
      kind: 'unreachable',
      why: 'the folder of its tokens: no space left',
      disk: true,
    });
    for (const error of [
      new Error('hub.json.lock: held by process 7'),
      Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }),
    ])
      t.same(await renewTokens(options(failing(error)), record.accessToken), {
        kind: 'unreachable',
        why: error.message,
      });
    t.equal(renewals().length, 0, 'nothing is sent without the lock');
  },
);

t.test('OAU-1 · OAU-2 · what cannot be renewed for this server asks for a login, and sends nothing', async (t) => {
  const { options, record, store, renewals } = await stage(t);
  const login = { kind: 'login' } as const;
  const renew = (change: Partial<RenewalSettings> = {}) => renewTokens(options(change), record.accessToken);
  t.match(await renew({ url: `${url}/v2` }), { kind: 'renewed' }, 'of an address below the resource');
  t.same(await renew({ server: 'none' }), login, 'without tokens');
  t.same(await renew({ url: 'https://other.example/mcp' }), login, 'of another address');
  const server = store.credentials.server('hub');
  if (server === undefined) throw new Error('it has logged in');
  await store.credentials.save('hub', { tokens: { ...record, issuer: 'https://other.example' }, server });
  t.same(await renew(), login, 'of another authorization server');
  const { refreshToken: _, ...bare } = record;
  await store.credentials.save('hub', { tokens: bare, server });
  t.same(await renew(), login, 'without a refresh token');
  t.equal(renewals().length, 1);
});

t.test(
  'OAU-4 · a refused client is doubted; only where it is the document, the document is not shown again',
  async (t) => {
    const { options, record, authority, store } = await stage(t);
    const document = 'https://client.example/agent.json';
    const settings = readOauthSettings({ oauth: { client_metadata_url: document } });
    authority.on(paths.token, oauthError('invalid_client', 401));
    for (const [clientId, isRefused] of [
      [record.clientId, false],
      [document, true],
    ] as const) {
      const server = store.credentials.server('hub');
      if (server !== undefined) await store.credentials.save('hub', { tokens: { ...record, clientId }, server });
      t.same(await renewTokens(options({ settings }), record.accessToken), { kind: 'login' });
      t.equal(store.credentials.documentRefused('hub'), isRefused, clientId);
    }
  },
);

t.test('OAU-4 · a client is doubted where its tokens are refused, and not where they only ended', async (t) => {
  const { options, record, authority, store } = await stage(t);
  const { credentials } = store;
  const server = credentials.server('hub');
  if (server === undefined) throw new Error('it has logged in');
  const renew = async (refused?: string) => {
    t.same(await renewTokens(options(), refused), { kind: 'login' });
    return credentials.clientDoubted('hub');
  };
  authority.on(paths.token, oauthError('invalid_grant'));
  t.equal(await renew(record.accessToken), true, 'the refresh token');
  const { refreshToken: _, ...bare } = record;
  await credentials.save('hub', { tokens: bare, server });
  t.equal(await renew(record.accessToken), true, 'the access token, where there is no refresh token');
  await credentials.save('hub', { tokens: { ...bare, expiresAtMs: 1 }, server });
  t.equal(await renew(), false, 'ended');
});

t.test('OAU-3 · a configured client renews with its secret, and another client’s tokens without it', async (t) => {
  const { options, record, store, renewals } = await stage(t);
  const oauth = { client_secret: 'secret-of-the-client', token_endpoint_auth_method: 'client_secret_post' };
  for (const client_id of [record.clientId, 'another']) {
    const settings = readOauthSettings({ oauth: { ...oauth, client_id } });
    await renewTokens(options({ settings }), store.credentials.tokens('hub')?.accessToken);
  }
  t.same(
    renewals().map(({ form }) => form.get('client_secret')),
    ['secret-of-the-client', null],
  );
});

t.test('OAU-8 · an outage that answers JSON requires no login', async (t) => {
  const { options, record, authority, store } = await stage(t);
  const settings = options();
  for (const [status, error] of [
    [500, 'boom'],
    [502, 'Bad Gateway'],
    [503, 'service_unavailable'],
    [429, 'too_many_requests'],
    [408, 'invalid_grant'],
    [400, 'maintenance'],
  ] as const) {
    authority.on(paths.token, oauthError(error, status));
    t.match(await renewTokens(settings, record.accessToken), { kind: 'unreachable' }, `${status} ${error}`);
    t.equal(store.credentials.problem('hub'), undefined, `${status} ${error}`);
  }
  authority.on(paths.token, undefined);
  t.match(await renewTokens(settings, record.accessToken), { kind: 'renewed' }, 'the refresh token is good still');
});

t.test(
  'SEC-5 · a renewal resolves and checks the token endpoint anew, however public it was at the login',
  async (t) => {
    const certificates = makeCertificates(folder(t));
    const tls = { cert: certificates.read(certificates.serverCert), key: certificates.read(certificates.serverKey) };
    const { options, store, record } = await stage(t);
    const heard: string[] = [];
    // On 127.0.0.2 too, so that only the check keeps a request away.
    const { port } = await listenHttp(
      t,
      (_, response) => {
        heard.push(`token ${heard.length}`);
        const tokens = { access_token: `new-${heard.length}`, refresh_token: 'next', token_type: 'Bearer' };
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(tokens));
      },
      { tls, address: '0.0.0.0' },
    );
    const meta = store.credentials.server('hub');
    if (meta === undefined) throw new Error('it has logged in');
    const metadata = { ...meta.metadata, token_endpoint: `https://mcp.test:${port}/token` };
    await store.credentials.save('hub', { tokens: record, server: { ...meta, metadata } });
    const { transport: plan } = readServerSettings(
      normaliseServerEntry('hub', { url, auth: 'oauth', ssl_verify: certificates.ca }),
    );
    if (plan.kind === 'stdio') throw new Error('it has a url');
    /** 127.0.0.1 passes for the public internet until the name of the token endpoint is given to it as one inside. */
    let inside = '';
    const open = () =>
      openServerConnections({
        ...{ server: 'hub', plan, env: {}, userHome: '/nowhere', version: '1' },
        reach: {
          resolve: async (host) => [{ address: host === inside ? '127.0.0.2' : '127.0.0.1', family: 4 }],
          isPublic: (address) => address === '127.0.0.1',
        },
      });

    t.match(await renewTokens(options({ open }), record.accessToken), { kind: 'renewed', accessToken: 'new-1' });
    inside = 'mcp.test';
    t.match(await renewTokens(options({ open }), 'new-1'), { kind: 'unreachable', why: /\[leads-inside\]/ });
    t.same(heard, ['token 0'], 'nothing arrives there');
    inside = '';
    t.match(
      await renewTokens(options({ open }), 'new-1'),
      { kind: 'renewed', accessToken: 'new-2' },
      'it stays logged in',
    );
  },
);
