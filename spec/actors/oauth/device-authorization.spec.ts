import t, { type Test } from 'tap';
import { PrivateHopFailure } from '../../../actors/mcp/private-hop.ts';
import { pollForTokens, requestDeviceCode } from '../../../actors/oauth/device-authorization.ts';
import { createOauthFetch } from '../../../actors/oauth/oauth-fetch.ts';
import type { TokenEndpoint } from '../../../actors/oauth/token-request.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import { lentTime } from '../../support/lent-time.ts';
import {
  html,
  oauthError,
  paths,
  type ScriptedServer,
  silence,
  startScriptedServer,
} from '../../support/oauth/scripted-server.ts';

const challenge = { 'www-authenticate': 'Basic realm="as"' };
const times = { intervalMs: 5_000, nowMs: 1_700_000_000_000 };

async function stage(t: Test, change: Partial<TokenEndpoint> = {}) {
  const authority = await startScriptedServer(t);
  const endpoint: TokenEndpoint = {
    ...{ authorizationServerUrl: authority.issuer, issuer: authority.issuer },
    metadata: authority.metadata() as JsonObject,
    resource: 'https://mcp.example/mcp',
    url: 'https://mcp.example/mcp',
    client: { clientId: 'c' },
    oauth: createOauthFetch({ fetch, version: '1', userAgent: 'Fleet/7' }),
    ...change,
  };
  return { authority, endpoint };
}

const usualDevice = (authority: ScriptedServer, change: object) =>
  authority.on(paths.device, (seen) => ({ json: { ...(authority.usual(seen) as { json: object }).json, ...change } }));

t.test('DEV-1 · DEV-3 · a code is asked for with scope and resource, by the product’s agent', async (t) => {
  const { authority, endpoint } = await stage(t);

  const answer = await requestDeviceCode(endpoint, 'mcp:tools offline_access');

  t.match(answer, {
    kind: 'issued',
    code: {
      userCode: /^WDJB-/,
      verificationUri: `${authority.origin}/activate`,
      expiresInMs: 600_000,
      intervalMs: 1_000,
    },
  });
  const [seen] = authority.at(paths.device);
  t.same(Object.fromEntries(seen?.form ?? []), {
    ...{ client_id: 'c', scope: 'mcp:tools offline_access', resource: 'https://mcp.example/mcp' },
  });
  t.equal(seen?.headers['user-agent'], 'AgentGateway-Agent/1');
});

t.test('DEV-4 · five seconds where no interval is named, a second at least', async (t) => {
  const { authority, endpoint } = await stage(t);
  for (const [interval, intervalMs] of [
    [undefined, 5_000],
    [0.001, 1_000],
    [0, 5_000],
    [7, 7_000],
    ['7', 7_000],
  ] as const) {
    usualDevice(authority, { interval });
    t.match(await requestDeviceCode(endpoint, undefined), { code: { intervalMs } }, String(interval));
  }
});

t.test('DEV-5 · a code that does not come is a reason in words', async (t) => {
  const time = lentTime(t);
  const { authority, endpoint } = await stage(t);
  const rows: readonly (readonly [string, Parameters<ScriptedServer['on']>[1], RegExp])[] = [
    ['refused', oauthError('invalid_scope', 400, 'no such scope'), /gave no device code: no such scope/],
    ['the client', oauthError('invalid_client', 401), /gave no device code: /],
    [
      'the client, with a challenge',
      { status: 401, json: { error: 'invalid_client', error_description: 'wrong secret' }, headers: challenge },
      /gave no device code: wrong secret$/,
    ],
    ['an error of status 200', oauthError('device_flow_disabled', 200), /gave no device code: device_flow_disabled$/],
    ['a page', html, /gave no device code: /],
    ['nothing in it', { json: {} }, /gave no device code: /],
    [
      'no life',
      (seen) => ({ json: { ...(authority.usual(seen) as { json: object }).json, expires_in: 'long' } }),
      /gave no device code: /,
    ],
    ['a reset', { kind: 'reset' }, /gave no device code: /],
    ['silence', silence(time), /gave no device code: /],
  ];
  for (const [what, answer, why] of rows) {
    authority.on(paths.device, answer);
    t.match(await requestDeviceCode(endpoint, undefined), { kind: 'failed', why }, what);
  }
  authority.on(paths.device, oauthError('invalid_scope', 400, 'no such scope'));
  t.match(await requestDeviceCode(endpoint, undefined), { errorCode: 'invalid_scope' });
});

t.test('DEV-4 · each poll has its verdict, and its agent', async (t) => {
  const time = lentTime(t);
  const { authority, endpoint } = await stage(t);
  const issued = await requestDeviceCode(endpoint, undefined);
  const code = issued.kind === 'issued' ? issued.code.deviceCode : '';
  const rows: readonly (readonly [string, Parameters<ScriptedServer['on']>[1], object])[] = [
    ['pending', undefined, { kind: 'wait', intervalMs: 5_000 }],
    ['slow_down', oauthError('slow_down'), { kind: 'wait', intervalMs: 10_000 }],
    ['a reset', { kind: 'reset' }, { kind: 'wait', intervalMs: 10_000 }],
    ['silence', silence(time), { kind: 'wait', intervalMs: 10_000 }],
    ['502', { kind: 'text', status: 502, text: 'x', type: 'text/html' }, { kind: 'wait', intervalMs: 10_000 }],
    ['503 and JSON', oauthError('maintenance', 503), { kind: 'wait', intervalMs: 10_000 }],
    ['a rate limit', { kind: 'text', status: 429, text: 'x' }, { kind: 'wait', intervalMs: 10_000 }],
    ['a rate limit in JSON', oauthError('too_many_requests', 429), { kind: 'wait', intervalMs: 10_000 }],
    ['pending, as GitHub says it', oauthError('authorization_pending', 200), { kind: 'wait', intervalMs: 5_000 }],
    ['slow_down, as GitHub says it', oauthError('slow_down', 200), { kind: 'wait', intervalMs: 10_000 }],
    ['slow_down by a rate limit', oauthError('slow_down', 429), { kind: 'wait', intervalMs: 10_000 }],
    ...(
      [
        [503, '30', { onceMs: 30_000 }],
        [429, '3', { onceMs: 3_000 }],
        [503, '3600', { onceMs: 60_000 }],
        [429, 'soon', {}],
      ] as const
    ).map(
      ([status, wait, once]) =>
        [
          `${status}, which asks for ${wait} s`,
          { status, json: { error: 'maintenance' }, headers: { 'retry-after': wait } },
          { kind: 'wait', intervalMs: 10_000, ...once },
        ] as const,
    ),
    ['denied', oauthError('access_denied'), { kind: 'stop', why: /denied/ }],
    ['expired', oauthError('expired_token'), { kind: 'stop', why: /expired/ }],
    ['invalid_client', oauthError('invalid_client', 401), { kind: 'stop', why: /invalid_client/ }],
    [
      'invalid_client, with a challenge',
      { status: 401, json: { error: 'invalid_client' }, headers: challenge },
      { kind: 'stop', why: /the device login: invalid_client$/ },
    ],
    [
      'a grant that the client may not use',
      oauthError('unauthorized_client', 400, 'allow device codes for the client'),
      { kind: 'stop', why: /the device login: unauthorized_client \(allow device codes for the client\)$/ },
    ],
    ['a page', html, { kind: 'stop', why: /something else/ }],
    ['no token', { json: {} }, { kind: 'stop', why: /something else/ }],
    ['404', { kind: 'text', status: 404, text: 'x' }, { kind: 'stop', why: /something else/ }],
  ];
  for (const [what, answer, verdict] of rows) {
    authority.on(paths.token, answer);
    t.match(await pollForTokens(endpoint, code, times), verdict, what);
  }
  for (const { headers } of authority.at(paths.token)) t.equal(headers['user-agent'], 'Fleet/7');

  authority.on(paths.token, undefined);
  authority.approve();
  t.match(await pollForTokens(endpoint, code, times), {
    kind: 'approved',
    record: {
      issuer: authority.issuer,
      clientId: 'c',
      url: 'https://mcp.example/mcp',
      expiresAtMs: times.nowMs + 3_600_000,
    },
  });
  t.equal(authority.at(paths.token).at(-1)?.form.get('resource'), 'https://mcp.example/mcp');
});

t.test('DEV-4 · a code and tokens are read as large providers write them', async (t) => {
  const { authority, endpoint } = await stage(t);
  usualDevice(authority, { verification_uri: undefined, verification_url: `${authority.origin}/google` });
  const issued = await requestDeviceCode(endpoint, undefined);
  t.match(issued, { kind: 'issued', code: { verificationUri: `${authority.origin}/google` } });
  authority.on(paths.token, {
    json: { access_token: 'at', expires_in: null, refresh_token: null, scope: ['a', 'b'], id_token: 'of.another.use' },
  });
  const { record } = (await pollForTokens(endpoint, 'a-code', times)) as { record?: object };
  t.same(record, {
    accessToken: 'at',
    scope: 'a b',
    issuer: authority.issuer,
    clientId: 'c',
    url: 'https://mcp.example/mcp',
  });
});

t.test('DEV-3 · a secret is shown by the method that was configured, else by one that the server takes', async (t) => {
  const client = { clientId: 'c', clientSecret: 'a-secret-of-it' };
  const posts = { token_endpoint_auth_methods_supported: ['client_secret_post'] };
  for (const [change, posted] of [
    [{ client }, false],
    [{ client: { ...client, authMethod: 'client_secret_post' } }, true],
    [{ client: { ...client, authMethod: 'client_secret_basic' }, posts }, false],
    [{ client, posts }, true],
  ] as const) {
    const { authority, endpoint } = await stage(t, { client: change.client });
    const metadata = authority.metadata('posts' in change ? change.posts : {}) as JsonObject;
    await requestDeviceCode({ ...endpoint, metadata }, undefined);
    const [seen] = authority.at(paths.device);
    t.equal(seen?.form.get('client_secret'), posted ? 'a-secret-of-it' : null, JSON.stringify(change));
    const header = `Basic ${btoa('c:a-secret-of-it')}`;
    t.equal(seen?.headers.authorization, posted ? undefined : header, 'hyphens as they are');
  }
  const none = await stage(t, { client: { ...client, authMethod: 'none' } });
  await requestDeviceCode(none.endpoint, undefined);
  t.notMatch(JSON.stringify(none.authority.at(paths.device)[0]?.headers), 'authorization');
});

t.test('DEV-3 · a description that is no text is passed over', async (t) => {
  const { authority, endpoint } = await stage(t);
  authority.on(paths.device, { status: 400, json: { error: 'access_denied', error_description: [7] } });
  t.match(await requestDeviceCode(endpoint, undefined), { why: /access_denied/ });
});

t.test('OBS-1 · neither the code nor a secret comes back in words', async (t) => {
  const client = { clientId: 'c', clientSecret: 'a-secret-of-it', authMethod: 'client_secret_post' };
  const { authority, endpoint } = await stage(t, { client });
  const code = 'the-device-code-itself';
  const echoes = [
    ({ text }: { readonly text: string }) => oauthError('invalid_grant', 400, text),
    ({ form }: { readonly form: URLSearchParams }) => oauthError(String(form.get('device_code')), 400),
    ({ text }: { readonly text: string }) => ({ kind: 'text', status: 400, text, type: 'text/html' }) as const,
  ];
  for (const echo of echoes) {
    authority.on(paths.token, echo);
    authority.on(paths.device, echo);
    const said = JSON.stringify([await pollForTokens(endpoint, code, times), await requestDeviceCode(endpoint, 's')]);
    t.notMatch(said, code);
    t.notMatch(said, 'a-secret-of-it');
  }
});

t.test('DEV-1 · plain HTTP is for the loopback alone', async (t) => {
  const { endpoint } = await stage(t);
  const issuer = 'http://as.example';
  const metadata = { issuer, token_endpoint: `${issuer}/token`, device_authorization_endpoint: `${issuer}/device` };
  const elsewhere = { ...endpoint, authorizationServerUrl: issuer, issuer, metadata };
  t.match(await requestDeviceCode(elsewhere, undefined), { kind: 'failed', why: /https|insecure|HTTP/i });

  // A name below localhost is this machine, whether or not a resolver here knows it.
  const { authorizationServerUrl: here } = endpoint;
  const named = (address: string): string => address.replace('127.0.0.1', 'as.localhost');
  const local = {
    ...endpoint,
    authorizationServerUrl: named(here),
    metadata: JSON.parse(JSON.stringify(endpoint.metadata).replaceAll('127.0.0.1', 'as.localhost')) as JsonObject,
    oauth: createOauthFetch({
      fetch: (to, init) => fetch(String(to).replace('as.localhost', '127.0.0.1'), init),
      version: '1',
      userAgent: undefined,
    }),
  };
  t.match(await requestDeviceCode(local, undefined), { kind: 'issued' });
});

t.test('DEV-5 · SEC-5 · no person approves a login whose tokens cannot be requested', async (t) => {
  const { authority, endpoint } = await stage(t);
  const metadata = authority.metadata({ token_endpoint: 'http://as.example/token' }) as JsonObject;
  t.match(await requestDeviceCode({ ...endpoint, metadata }, undefined), {
    kind: 'failed',
    why: /the token endpoint is not served over https \(http:\/\/as\.example\)/,
  });
  t.same(authority.at(paths.device), []);

  const refusing = () => Promise.reject(new PrivateHopFailure('10.0.0.5 is inside'));
  const oauth = createOauthFetch({ fetch: refusing, version: '1', userAgent: undefined });
  t.match(await pollForTokens({ ...endpoint, oauth }, 'device-code', times), {
    kind: 'stop',
    why: 'the token endpoint: 10.0.0.5 is inside [leads-inside]',
  });
});

t.test('DEV-4 · a person is sent to a page of the web or nowhere', async (t) => {
  const { authority, endpoint } = await stage(t);
  for (const uri of ['javascript:alert(1)', 'file:///etc/passwd', 'activate']) {
    usualDevice(authority, { verification_uri: uri });
    const answer = await requestDeviceCode(endpoint, undefined);
    t.match(answer, { kind: 'failed', why: /the address where the code is to be entered is no web address$/ }, uri);
    usualDevice(authority, { verification_uri_complete: uri });
    const other = await requestDeviceCode(endpoint, undefined);
    if (other.kind !== 'issued') return t.fail(other.why);
    t.equal(other.code.verificationUriComplete, undefined, uri);
    t.equal(other.code.verificationUri, `${authority.origin}/activate`);
  }
  const metadata = authority.metadata({ device_authorization_endpoint: 'http://as.example/device' }) as JsonObject;
  t.match(await requestDeviceCode({ ...endpoint, metadata }, undefined), {
    kind: 'failed',
    why: /device endpoint is not/,
  });
});
