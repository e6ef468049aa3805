import { createHash } from 'node:crypto';
import t from 'tap';
import { createOauthFetch } from '../../../actors/oauth/oauth-fetch.ts';
import {
  exchangeForTokens,
  type Grant,
  refreshTokens,
  type TokenEndpoint,
} from '../../../actors/oauth/token-request.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import type { OauthClient } from '../../../machines/oauth/client-identity.ts';
import type { TokenRecord } from '../../../machines/oauth/token-record.ts';
import { lentTime } from '../../support/lent-time.ts';
import {
  html,
  oauthError,
  paths,
  type ScriptedServer,
  silence,
  startScriptedServer,
} from '../../support/oauth/scripted-server.ts';

const nowMs = 1_700_000_000_000;
const redirectUri = 'http://127.0.0.1:27890/callback';
const verifier = 'v'.repeat(43);

const endpointOf = (authority: ScriptedServer, change: Partial<TokenEndpoint> = {}): TokenEndpoint => ({
  authorizationServerUrl: authority.issuer,
  issuer: authority.issuer,
  metadata: authority.metadata() as JsonObject,
  resource: 'https://mcp.example/mcp',
  client: { clientId: 'c' },
  url: 'https://mcp.example/mcp',
  oauth: createOauthFetch({ fetch, version: '0', userAgent: undefined }),
  ...change,
});

/** A code as a browser brings it. */
async function codeOf(authority: ScriptedServer): Promise<string> {
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const asked = new URLSearchParams({
    redirect_uri: redirectUri,
    state: 'st',
    client_id: 'c',
    code_challenge: challenge,
  });
  const answer = await fetch(`${authority.origin}${paths.authorize}?${asked}`, { redirect: 'manual' });
  return new URL(answer.headers.get('location') ?? '').searchParams.get('code') ?? '';
}
const grantOf = (authority: ScriptedServer, code: string, codeVerifier = verifier): Grant => ({
  ...{ code, codeVerifier, redirectUri },
  iss: authority.issuer,
});
const before = (authority: ScriptedServer, refreshToken: string): TokenRecord => ({
  ...{ accessToken: 'an-old-access-token', refreshToken, scope: 'mcp:tools' },
  ...{ issuer: authority.issuer, clientId: 'c', url: 'https://mcp.example/mcp' },
});

t.test('OAU-1 · a code is exchanged with its verifier and the resource, once', async (t) => {
  const authority = await startScriptedServer(t);
  const code = await codeOf(authority);
  const endpoint = endpointOf(authority);

  const answer = await exchangeForTokens(endpoint, grantOf(authority, code), nowMs);

  t.match(answer, {
    kind: 'tokens',
    record: { issuer: authority.issuer, clientId: 'c', url: 'https://mcp.example/mcp', expiresAtMs: nowMs + 3_600_000 },
  });
  const { form } = authority.at(paths.token)[0] ?? {};
  t.same(Object.fromEntries(form ?? []), {
    ...{ grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: redirectUri, client_id: 'c' },
    resource: 'https://mcp.example/mcp',
  });
  t.match(
    await exchangeForTokens(endpoint, grantOf(authority, code), nowMs),
    { kind: 'refused', why: /invalid_grant/ },
    'a replay',
  );
  const other = await exchangeForTokens(endpoint, grantOf(authority, await codeOf(authority), 'w'.repeat(43)), nowMs);
  t.match(other, { kind: 'refused', why: /invalid_grant/ }, 'another verifier');
});

t.test('OAU-1 · tokens, and an error, may be encoded as a form', async (t) => {
  const authority = await startScriptedServer(t);
  const form = 'application/x-www-form-urlencoded; charset=utf-8';
  const endpoint = endpointOf(authority);
  const answers = (text: string, status: number) =>
    authority.on(paths.token, { kind: 'text', status, text, type: form });
  answers('access_token=an%2Faccess&expires_in=3600&refresh_token=a%3Drefresh&scope=a+b&token_type=bearer', 200);

  t.match(await exchangeForTokens(endpoint, grantOf(authority, 'a-code'), nowMs), {
    kind: 'tokens',
    record: { accessToken: 'an/access', refreshToken: 'a=refresh', scope: 'a b', expiresAtMs: nowMs + 3_600_000 },
  });
  answers('error=invalid_grant&error_description=it+is+spent', 400);
  t.match(await refreshTokens(endpoint, before(authority, 'a=refresh'), nowMs), {
    kind: 'refused',
    why: /it is spent/,
    errorCode: 'invalid_grant',
  });
});

t.test('OAU-3 · OAU-4 · a client authenticates by its own method, whatever the metadata lists', async (t) => {
  const authority = await startScriptedServer(t);
  const [basic, post] = ['client_secret_basic', 'client_secret_post'];
  const client = { clientId: 'c', clientSecret: 'secret-of-c' };
  const rows: readonly (readonly [OauthClient, readonly string[], 'header' | 'form' | 'none'])[] = [
    [{ ...client, authMethod: post }, [basic], 'form'],
    [{ ...client, authMethod: basic }, [post], 'header'],
    [{ ...client, authMethod: 'none' }, [basic], 'none'],
    [{ clientId: 'c', authMethod: basic }, [basic], 'none'],
    [{ clientId: 'c', authMethod: basic }, [], 'none'],
    [{ ...client, authMethod: 'private_key_jwt' }, [post], 'form'],
    [client, [post], 'form'],
    [client, [basic, post], 'header'],
  ];
  for (const [own, listed, expected] of rows) {
    const metadata = authority.metadata({ token_endpoint_auth_methods_supported: listed }) as JsonObject;
    await refreshTokens(endpointOf(authority, { client: own, metadata }), before(authority, 'spent'), nowMs);
    const { form, headers } = authority.at(paths.token).at(-1) ?? {};
    const isInForm = form?.get('client_secret') === 'secret-of-c';
    const shown = headers?.authorization === undefined ? (isInForm ? 'form' : 'none') : 'header';
    t.equal(shown, expected, JSON.stringify([own, listed]));
  }
  t.equal(authority.at(paths.token).length, rows.length, 'each was asked');
});

t.test(
  'OAU-4 · a header encodes the client and its secret, so that no character of either ends it early',
  async (t) => {
    const authority = await startScriptedServer(t);
    for (const [clientId, clientSecret, pair] of [
      ['urn:app', 'a b/+é%', 'urn%3Aapp:a%20b/%2B%C3%A9%25'],
      ['0b@c', 'abc8Q~Xyz/==', '0b@c:abc8Q~Xyz/=='],
      ['0b-1c.2_d', 's-1.e_t', '0b-1c.2_d:s-1.e_t'],
    ] as const) {
      const client = { clientId, clientSecret };
      await refreshTokens(endpointOf(authority, { client }), before(authority, 'a-refresh-token'), nowMs);
      const [, shown = ''] = String(authority.at(paths.token).at(-1)?.headers.authorization).split(' ');
      t.equal(Buffer.from(shown, 'base64').toString(), pair);
    }
  },
);

t.test('OAU-1 · a refresh token is shown once, with the resource, and what is not replaced is kept', async (t) => {
  const authority = await startScriptedServer(t);
  const first = await exchangeForTokens(endpointOf(authority), grantOf(authority, await codeOf(authority)), nowMs);
  const refreshToken = (first.kind === 'tokens' && first.record.refreshToken) || '';

  const answer = await refreshTokens(endpointOf(authority), before(authority, refreshToken), nowMs);

  t.match(answer, { kind: 'tokens', record: { refreshToken: /^refresh-/, scope: 'mcp:tools' } });
  t.not(answer.kind === 'tokens' && answer.record.refreshToken, refreshToken);
  t.equal(authority.at(paths.token).at(-1)?.form.get('resource'), 'https://mcp.example/mcp');
  const again = await refreshTokens(endpointOf(authority), before(authority, refreshToken), nowMs);
  t.match(again, { kind: 'refused', why: /invalid_grant: spent|spent/ });
});

t.test(
  'OAU-4 · OAU-1 · OAU-8 · only words of the standards refuse, and only invalid_client is about the client',
  async (t) => {
    const time = lentTime(t);
    const authority = await startScriptedServer(t);
    const rows: readonly (readonly [string, Parameters<ScriptedServer['on']>[1], string, RegExp])[] = [
      ['invalid_client', oauthError('invalid_client', 401), 'clientRefused', /invalid_client/],
      ['unauthorized_client', oauthError('unauthorized_client'), 'refused', /unauthorized_client/],
      ['invalid_grant', oauthError('invalid_grant'), 'refused', /invalid_grant/],
      ['invalid_target', oauthError('invalid_target'), 'refused', /invalid_target/],
      ['403 and the right word', oauthError('invalid_grant', 403), 'refused', /invalid_grant/],
      ['200 and a provider’s word', oauthError('bad_refresh_token', 200), 'refused', /bad_refresh_token/],
      ['no token', { json: { token_type: 'Bearer' } }, 'unreachable', /its answer has no valid access_token$/],
      ['a list', { json: [] }, 'unreachable', /token endpoint: its answer is no JSON object$/],
      [
        'a token with a line feed',
        { json: { access_token: 'abc\nhalf-of-it', token_type: 'Bearer' } },
        'unreachable',
        /without an access token that a header can carry$/,
      ],
      ['500 and JSON', oauthError('boom', 500), 'unreachable', /answered HTTP 500: boom/],
      ['429 and JSON', oauthError('invalid_grant', 429), 'unreachable', /answered HTTP 429/],
      ['an unknown word', oauthError('maintenance'), 'unreachable', /answered HTTP 400: maintenance/],
      ['503', oauthError('temporarily_unavailable', 503), 'unreachable', /temporarily_unavailable/],
      ['500', oauthError('server_error', 500), 'unreachable', /server_error/],
      ['a page', html, 'unreachable', /no JSON/],
      ['502 and a page', { kind: 'text', status: 502, text: '<h1>x</h1>', type: 'text/html' }, 'unreachable', /502/],
      ['a reset', { kind: 'reset' }, 'unreachable', /token endpoint/],
      ['silence', silence(time), 'unreachable', /token endpoint.*(time|abort)/i],
    ];
    for (const [what, answer, kind, why] of rows) {
      authority.on(paths.token, answer);
      const answers = [
        await exchangeForTokens(endpointOf(authority), grantOf(authority, 'a-code-of-a-browser'), nowMs),
        await refreshTokens(endpointOf(authority), before(authority, 'a-refresh-token'), nowMs),
      ];
      for (const each of answers) {
        if (kind !== '') t.equal(each.kind, kind, what);
        t.not(each.kind, 'tokens', what);
        t.match(each.kind === 'tokens' ? '' : each.why, why, what);
      }
    }
  },
);

t.test('OBS-1 · what an authorization server quotes of the request is taken out', async (t) => {
  const authority = await startScriptedServer(t);
  const client = { clientId: 'c', clientSecret: 'a-secret-of-the-client', authMethod: 'client_secret_post' };
  const quote = ({ text }: { readonly text: string }) => oauthError('invalid_grant', 400, `bad ${text}`);
  authority.on(paths.token, quote);
  const answers = [
    await exchangeForTokens(endpointOf(authority, { client }), grantOf(authority, 'a-code-of-a-browser'), nowMs),
    await refreshTokens(endpointOf(authority, { client }), before(authority, 'a-refresh/token+x'), nowMs),
  ];
  for (const answer of answers) {
    const text = JSON.stringify(answer);
    t.match(text, '[redacted]');
    for (const secret of [
      'a-code-of-a-browser',
      verifier,
      client.clientSecret,
      'a-refresh/token+x',
      'a-refresh%2Ftoken%2Bx',
    ])
      t.notOk(text.includes(secret), secret);
  }
});

t.test('OBS-1 · the basic form of a client’s secret is taken out', async (t) => {
  const authority = await startScriptedServer(t);
  const client = { clientId: 'c', clientSecret: 'a-secret/of the-client', authMethod: 'client_secret_basic' };
  authority.on(paths.token, ({ headers }) => oauthError('invalid_client', 401, `bad ${headers.authorization}`));
  const answer = await refreshTokens(endpointOf(authority, { client }), before(authority, 'a-refresh-token'), nowMs);
  t.match(answer, { kind: 'clientRefused', why: /bad Basic \[redacted\]/ });
  t.notMatch(JSON.stringify(answer), /Basic [A-Za-z0-9+/]{6}/);
});

t.test('OAU-1 · no secret goes over plain HTTP to another machine', async (t) => {
  const authority = await startScriptedServer(t);
  const metadata = authority.metadata({ token_endpoint: 'http://as.example/token' }) as JsonObject;
  const answer = await refreshTokens(endpointOf(authority, { metadata }), before(authority, 'rt-rt-rt'), nowMs);
  t.not(answer.kind, 'tokens');
  t.match(answer.kind === 'tokens' ? '' : answer.why, /https|secure|TLS/i);
});
