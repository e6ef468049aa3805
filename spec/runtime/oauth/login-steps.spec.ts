import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { createBrowser } from '../../support/oauth/browser.ts';
import { loginStage } from '../../support/oauth/login-stage.ts';
import { oauthError, paths, redirectTo } from '../../support/oauth/scripted-server.ts';

t.test('OAU-1 · after a call was refused for its scope, everything there was and that is asked for', async (t) => {
  const { authority, begin, credentials, serverUrl } = await loginStage(t);
  const scopes = async (login: ReturnType<typeof begin>): Promise<string[]> =>
    (new URL(await login.url()).searchParams.get('scope') ?? '').split(' ').sort();
  const first = begin();
  t.same(await scopes(first), ['mcp:tools', 'offline_access']);
  await createBrowser().visit(await first.url());
  await first.outcome;

  await credentials.demandScope('hub', serverUrl, 'files:write');

  const login = begin();
  t.same(await scopes(login), ['files:write', 'mcp:tools', 'offline_access']);
  login.cancel();
  await login.outcome;
  const device = begin('device');
  await device.code();
  t.match(authority.at(paths.device)[0]?.form.get('scope'), /files:write/);
  device.cancel();
  await device.outcome;
});

t.test(
  'DEV-3 · OAU-3 · OAU-1 · a scope of the entry is registered and asked for, with what a call demanded since',
  async (t) => {
    const { authority, begin, credentials, serverUrl } = await loginStage(t);
    const asked = async (): Promise<readonly unknown[]> => {
      const device = begin('device', { scope: 'mcp:tools files:read' });
      await device.code();
      device.cancel();
      await device.outcome;
      const registered = JSON.parse(authority.at(paths.register).at(-1)?.text ?? '{}') as JsonObject;
      return [authority.at(paths.device).at(-1)?.form.get('scope'), registered.scope];
    };
    const own = 'mcp:tools files:read offline_access';
    t.same(await asked(), [own, own]);

    await credentials.demandScope('hub', serverUrl, 'files:write');

    t.same(await asked(), [`${own} files:write`, `${own} files:write`]);
    const browser = begin('browser', { scope: 'files:read' });
    const { searchParams } = new URL(await browser.url());
    t.equal(searchParams.get('scope'), 'files:read offline_access files:write', 'in both flows');
    browser.cancel();
    await browser.outcome;
  },
);

t.test(
  'OAU-3 · OAU-1 · a later login keeps the scope granted by the same authorization server, unless the entry narrows it',
  async (t) => {
    const { begin, credentials, serverUrl } = await loginStage(t);
    const scope = async (entry: JsonObject = {}): Promise<string | null> => {
      const login = begin('browser', entry);
      const { searchParams } = new URL(await login.url());
      login.cancel();
      await login.outcome;
      return searchParams.get('scope');
    };
    const narrow = { scope: 'files:read' };
    await credentials.demandScope('hub', serverUrl, 'files:write');
    const stepUp = begin('browser', narrow);
    await createBrowser().visit(await stepUp.url());
    await stepUp.outcome;
    t.equal(await scope(narrow), 'files:read offline_access');

    const tokens = credentials.tokens('hub');
    if (tokens === undefined) return t.fail('no tokens');
    await credentials.saveTokens('hub', { ...tokens, scope: 'files:write' });
    t.equal(await scope(narrow), 'files:read offline_access');
    t.equal(await scope(), 'mcp:tools offline_access files:write');
    await credentials.demandScope('hub', serverUrl, 'files:admin');
    t.equal(
      await scope(narrow),
      'files:read offline_access files:write files:admin',
      'a step-up keeps what was granted',
    );
    await credentials.demandScope('hub', serverUrl, null);
    t.equal(await scope(narrow), 'files:read', 'after a refusal');
    t.equal(await scope(), 'mcp:tools offline_access');
    await credentials.demandScope('hub', serverUrl, 'files:admin');
    await credentials.saveTokens('hub', { ...tokens, issuer: 'https://other.example' });
    t.equal(await scope(narrow), 'files:read offline_access files:admin');
  },
);

t.test('OAU-1 · OAU-3 · a scope of the entry is requested with offline access where the server has it', async (t) => {
  const { authority, begin, credentials, serverUrl } = await loginStage(t);
  const scope = async (): Promise<string | null> => {
    const login = begin('browser', { scope: 'files:read' });
    const { searchParams } = new URL(await login.url());
    login.cancel();
    await login.outcome;
    return searchParams.get('scope');
  };
  t.equal(await scope(), 'files:read offline_access');
  await credentials.demandScope('hub', serverUrl, null);
  t.equal(await scope(), 'files:read', 'not after invalid_scope');
  await credentials.demandScope('hub', serverUrl, 'files:write');
  t.equal(await scope(), 'files:read offline_access files:write');
  authority.on(paths.metadata, { json: authority.metadata({ scopes_supported: ['files:read'] }) });
  t.equal(await scope(), 'files:read files:write');
});

t.test('OAU-1 · the login after invalid_scope requests only the scope of the server, in both flows', async (t) => {
  const { authority, begin, clock, credentials, inState, serverUrl } = await loginStage(t);
  const granted = async (): Promise<void> => {
    const tokens = { accessToken: 'at', scope: 'retired', issuer: authority.issuer, clientId: 'c', url: serverUrl };
    const { issuer } = authority;
    const server = { issuer, authorizationServerUrl: issuer, metadata: {} };
    await credentials.save('hub', { tokens, server });
  };
  const next = async (): Promise<string | null> => {
    const login = begin();
    const { searchParams } = new URL(await login.url());
    login.cancel();
    await login.outcome;
    return searchParams.get('scope');
  };
  const own = 'mcp:tools offline_access';
  const cure = /; begin again: the next login requests only the scope that the server names; set oauth\.scope/;
  const stopped = { kind: 'stopped', why: cure };

  await granted();
  authority.on(paths.authorize, ({ query }) => ({
    kind: 'redirect',
    to: redirectTo(query.get('redirect_uri') ?? '', {
      error: 'invalid_scope',
      state: query.get('state') ?? '',
      iss: authority.issuer,
    }),
  }));
  const refused = begin();
  await createBrowser().visit(await refused.url());
  t.match(await refused.outcome, stopped, 'by the redirect');
  t.equal(await next(), own);
  authority.on(paths.authorize, undefined);

  await granted();
  t.equal(await next(), `${own} retired`);
  authority.on(paths.token, oauthError('invalid_scope'));
  const exchanged = begin();
  await createBrowser().visit(await exchanged.url());
  t.match(await exchanged.outcome, stopped, 'by the token endpoint');
  t.equal(await next(), own);

  await granted();
  const polled = begin('device');
  await inState('device', 'waiting');
  clock.increment(1_000);
  t.match(await polled.outcome, stopped, 'by a poll');
  t.equal(await next(), own);

  await granted();
  authority.on(paths.device, oauthError('invalid_scope', 400, 'no such thing'));
  t.match(await begin('device').outcome, stopped, 'instead of a code');
  t.equal(await next(), own);

  await granted();
  authority.on(paths.device, oauthError('invalid_request', 400, 'not an invalid_scope'));
  t.match(await begin('device').outcome, { kind: 'stopped', why: /not an invalid_scope$/ });
  t.equal(await next(), `${own} retired`, 'a description is no code');
});

t.test('OAU-1 · OAU-4 · the login after a registration whose scope is refused requests less', async (t) => {
  const { authority, begin, credentials, serverUrl } = await loginStage(t);
  authority.on(paths.register, (seen) => {
    if (seen.text.includes('admin'))
      return oauthError('invalid_client_metadata', 400, 'Requested scopes are not valid: admin');
    return seen.text.includes('"scope"') ? authority.usual(seen) : oauthError('invalid_client_metadata');
  });
  for (const flow of ['browser', 'device'] as const) {
    await credentials.demandScope('hub', serverUrl, 'admin');
    t.match(await begin(flow).outcome, {
      kind: 'stopped',
      why: /Registration failed: 400 .*not valid: admin\).*; begin again: the next login requests only the scope/,
    });
    const next = begin();
    t.equal(new URL(await next.url()).searchParams.get('scope'), 'mcp:tools offline_access', flow);
    next.cancel();
    await next.outcome;
  }
});

t.test('OAU-4 · a configured client is not taken to another authorization server that the server names', async (t) => {
  const { authority, begin, credentials, serverUrl } = await loginStage(t);
  const { issuer } = authority;
  const mine = { client_id: 'mine', client_secret: 'hunter2hunter2' };
  const issuedBy = async (by: string): Promise<void> => {
    const tokens = { accessToken: 'at', issuer: by, clientId: 'mine', url: serverUrl };
    const server = { issuer: by, authorizationServerUrl: by, metadata: {} };
    await credentials.save('hub', { tokens, server });
  };
  await issuedBy('https://honest.example');
  for (const flow of ['browser', 'device'] as const) {
    const login = begin(flow, mine);
    t.same(await login.outcome, {
      kind: 'stopped',
      why: `mcp server "hub": it names the authorization server ${issuer}, and oauth.client_id is of https://honest.example, so no login is begun; set the client_id of the new one, or rename the entry if the client is registered there too`,
    });
    t.same(login.told, [], 'no page is opened, which could fetch a code of the honest one');
  }
  t.same([...authority.at(paths.token), ...authority.at(paths.device)], []);

  const other = begin('browser', { ...mine, client_id: 'another' });
  t.match(await other.url(), /client_id=another/);
  other.cancel();
  await other.outcome;
  for (const by of [issuer, `${issuer}/`]) {
    await issuedBy(by);
    const same = begin('browser', mine);
    t.match(await same.url(), /client_id=mine/, by);
    same.cancel();
    await same.outcome;
  }
});

t.test('OAU-8 · tokens that the disk does not take end the login with that', async (t) => {
  const { begin } = await loginStage(t, (credentials) => ({
    ...credentials,
    save: () => Promise.reject(new Error('no room')),
  }));
  const login = begin();
  await createBrowser().visit(await login.url());
  t.match(await login.outcome, {
    kind: 'stopped',
    why: 'mcp server "hub": the credentials cannot be stored: no room',
  });
});

t.test('OAU-8 · SCA-3 · credentials that a database does not take have its remedy, not that of a disk', async (t) => {
  const cure = 'see that the database answers';
  const away = () => Promise.reject(new Error('connect ECONNREFUSED'));
  for (const step of ['tryWriting', 'save'] as const) {
    const { begin } = await loginStage(t, (credentials) => ({ ...credentials, [step]: away, writeCure: () => cure }));
    const login = begin();
    if (step === 'save') await createBrowser().visit(await login.url());
    t.match(await login.outcome, { kind: 'stopped', why: `stored: connect ECONNREFUSED; ${cure}` }, step);
  }
});
