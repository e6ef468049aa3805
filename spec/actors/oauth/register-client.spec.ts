import t from 'tap';
import { createOauthFetch } from '../../../actors/oauth/oauth-fetch.ts';
import { registerOauthClient } from '../../../actors/oauth/register-client.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import { readOauthSettings } from '../../../machines/oauth/oauth-settings.ts';
import { lentTime } from '../../support/lent-time.ts';
import {
  html,
  oauthError,
  paths,
  type ScriptedServer,
  silence,
  startScriptedServer,
} from '../../support/oauth/scripted-server.ts';

const redirectUri = 'http://127.0.0.1:27890/callback';
const requestTo = (authority: ScriptedServer, oauth: JsonObject = {}) => ({
  settings: readOauthSettings({ oauth }),
  discovery: {
    authorizationServerUrl: authority.issuer,
    issuer: authority.issuer,
    metadata: authority.metadata() as JsonObject,
    scope: 'mcp:tools',
  },
  oauth: createOauthFetch({ fetch, version: '0', userAgent: undefined }),
});
const asked = (authority: ScriptedServer): unknown => JSON.parse(authority.at(paths.register).at(-1)?.text ?? '');

t.test('OAU-4 · DEV-3 · a browser registers its redirect, a device its two grants and none', async (t) => {
  const authority = await startScriptedServer(t);

  const browser = await registerOauthClient({ ...requestTo(authority), redirectUri });

  t.same(asked(authority), {
    client_name: 'Agent Gateway',
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    application_type: 'native',
    scope: 'mcp:tools',
  });
  t.match(browser, { kind: 'registered', client: { issuer: authority.issuer, clientId: /^client-/, redirectUri } });

  const device = await registerOauthClient(requestTo(authority));

  t.match(asked(authority), {
    redirect_uris: [],
    response_types: [],
    grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
    token_endpoint_auth_method: 'none',
  });
  t.notOk(device.kind === 'registered' && 'redirectUri' in device.client);
});

t.test('OAU-3 · the configured name and method are registered', async (t) => {
  const authority = await startScriptedServer(t);
  const oauth = { client_name: 'My fleet', token_endpoint_auth_method: 'client_secret_post' };
  const verdict = await registerOauthClient({ ...requestTo(authority, oauth), redirectUri });
  t.match(asked(authority), oauth);
  t.match(verdict, { client: { clientSecret: /^secret-/, authMethod: 'client_secret_post' } });

  authority.on(paths.register, { status: 201, json: { client_id: 'c', client_secret: 's' } });
  t.match(
    await registerOauthClient({ ...requestTo(authority, oauth), redirectUri }),
    { client: { clientSecret: 's', authMethod: 'client_secret_post' } },
    'a server that does not repeat the method',
  );
});

t.test('OAU-4 · a browser registers a method that the server has, where that is not the usual one', async (t) => {
  const authority = await startScriptedServer(t);
  for (const [listed, method] of [
    [['none'], 'none'],
    [['client_secret_post', 'none'], 'none'],
    [['private_key_jwt', 'client_secret_post'], 'client_secret_post'],
    [['private_key_jwt'], undefined],
    [['none', 'client_secret_basic'], undefined],
    ['none', undefined],
    [undefined, undefined],
  ] as const) {
    const request = requestTo(authority);
    const metadata = authority.metadata({ token_endpoint_auth_methods_supported: listed }) as JsonObject;
    await registerOauthClient({ ...request, discovery: { ...request.discovery, metadata }, redirectUri });
    const { token_endpoint_auth_method: registered } = asked(authority) as JsonObject;
    t.equal(registered, method, JSON.stringify(listed));
  }
});

t.test('OAU-4 · members that are null are as if they were left out', async (t) => {
  const authority = await startScriptedServer(t);
  authority.on(paths.register, {
    status: 201,
    json: { client_id: 'c', client_secret: null, redirect_uris: [redirectUri], logo_uri: '', contacts: null },
  });
  const verdict = await registerOauthClient({ ...requestTo(authority), redirectUri });
  t.match(verdict, { kind: 'registered', client: { clientId: 'c', clientSecret: undefined } });
});

t.test('OAU-4 · DEV-3 · a registration is read without its redirects, whatever else it has', async (t) => {
  const authority = await startScriptedServer(t);
  authority.on(paths.register, {
    status: 201,
    json: {
      client_id: 'c',
      client_secret: 's',
      client_secret_expires_at: '4102444800',
      client_id_issued_at: '1700000000',
      client_uri: 'no address',
    },
  });
  for (const more of [{ redirectUri }, {}]) {
    const verdict = await registerOauthClient({ ...requestTo(authority), ...more });
    t.match(verdict, {
      kind: 'registered',
      client: { clientId: 'c', clientSecret: 's', secretExpiresAtMs: 4_102_444_800_000 },
    });
  }
});

t.test('OAU-4 · where its scope is refused, a client is registered without one, for the same scope', async (t) => {
  const authority = await startScriptedServer(t);
  authority.on(paths.register, (seen) =>
    seen.text.includes('"scope"')
      ? oauthError('invalid_client_metadata', 400, 'scope must only contain supported scope values')
      : authority.usual(seen),
  );
  for (const more of [{ redirectUri }, {}])
    t.match(await registerOauthClient({ ...requestTo(authority), ...more }), {
      kind: 'registered',
      client: { clientId: /^client-/, scope: 'mcp:tools' },
    });
  t.equal(authority.at(paths.register).length, 4);
});

t.test('OAU-7 · a registration that fails says how, and what to do', async (t) => {
  const time = lentTime(t);
  const authority = await startScriptedServer(t);
  const rows: readonly (readonly [string, Parameters<ScriptedServer['on']>[1], RegExp])[] = [
    [
      'refused',
      oauthError('invalid_client_metadata', 400),
      /^Registration failed: 400 \(invalid_client_metadata\); set oauth\.client_id/,
    ],
    [
      'refused with a reason',
      oauthError('invalid_redirect_uri', 400, 'Only https,\n\u001b[1mno loopback'),
      /^Registration failed: 400 \(invalid_redirect_uri: Only https, \[1mno loopback\); set oauth\.client_id/,
    ],
    ['refused with another JSON', { status: 400, json: [] }, /^Registration failed: 400; set oauth\.client_id/],
    [
      'refused with other words',
      { status: 400, json: { error: 7 } },
      /^Registration failed: 400; set oauth\.client_id/,
    ],
    ['not there', { kind: 'text', status: 404, text: 'Not Found' }, /^Registration failed: 404; set oauth\.client_id/],
    ['a page', html, /^Registration failed: /],
    ['no client in it', { status: 201, json: {} }, /^Registration failed: /],
    ['broken off', { kind: 'reset' }, /^Registration failed: /],
    ['no answer', silence(time), /^Registration failed: .*(time|abort)/i],
  ];
  for (const [what, answer, why] of rows) {
    authority.on(paths.register, answer);
    const verdict = await registerOauthClient({ ...requestTo(authority), redirectUri });
    t.match(verdict, { kind: 'failed', why }, what);
  }
});

t.test('OAU-7 · where no metadata was read, the statuses lead', async (t) => {
  const authority = await startScriptedServer(t);
  authority.on(paths.metadata, { status: 503, json: {} });
  authority.on(paths.register, { kind: 'text', status: 404, text: 'Not Found' });
  const request = requestTo(authority);
  await (await request.oauth.fetch(`${authority.origin}${paths.metadata}`)).text();

  const verdict = await registerOauthClient({
    ...request,
    discovery: { ...request.discovery, metadata: {} },
    redirectUri,
  });

  t.match(verdict, {
    kind: 'failed',
    why: `Could not read authorization-server metadata (503 from ${authority.origin}${paths.metadata}): Registration failed: 404`,
  });
});

t.test('OAU-1 · nothing is registered over plain HTTP on another machine', async (t) => {
  const authority = await startScriptedServer(t);
  const { discovery, ...request } = requestTo(authority);
  const metadata = authority.metadata({ registration_endpoint: 'http://as.example/register' }) as JsonObject;
  const verdict = await registerOauthClient({ ...request, discovery: { ...discovery, metadata }, redirectUri });
  t.match(verdict, { kind: 'failed', why: /^the registration endpoint is not served over https/ });
});

t.test('OAU-4 · what a registration was made with is kept, and an answer that is none is said in words', async (t) => {
  const authority = await startScriptedServer(t);
  t.match(await registerOauthClient({ ...requestTo(authority, { client_name: 'Fleet' }), redirectUri }), {
    client: { clientName: 'Fleet', scope: 'mcp:tools' },
  });
  for (const [expiresAt, secretExpiresAtMs] of [
    [7, 7_000],
    [0, undefined],
  ] as const) {
    const answer = { client_id: 'c', client_secret: 's', redirect_uris: [redirectUri] };
    authority.on(paths.register, { status: 201, json: { ...answer, client_secret_expires_at: expiresAt } });
    const verdict = await registerOauthClient({ ...requestTo(authority), redirectUri });
    t.match(verdict, { client: { clientSecret: 's' } });
    t.equal(verdict.kind === 'registered' ? verdict.client.secretExpiresAtMs : verdict.why, secretExpiresAtMs);
  }
  authority.on(paths.register, { status: 201, json: { id: 7 } });
  t.match(await registerOauthClient({ ...requestTo(authority), redirectUri }), {
    kind: 'failed',
    why: /^Registration failed: its answer has no valid (redirect_uris, )?client_id(, redirect_uris)?; set oauth\.client_id/,
  });
});
