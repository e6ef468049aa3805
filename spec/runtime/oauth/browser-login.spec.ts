import { networkInterfaces } from 'node:os';
import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { freePort } from '../../support/http-listener.ts';
import { eventually } from '../../support/mcp/gateway.ts';
import { createBrowser } from '../../support/oauth/browser.ts';
import { document, loginStage } from '../../support/oauth/login-stage.ts';
import { free, hold, portOf } from '../../support/oauth/ports.ts';
import { oauthError, paths } from '../../support/oauth/scripted-server.ts';

/** Where a browser that is known to the authorization server would be sent. */
const redirectOf = async (url: string): Promise<string> => {
  const { url: end } = await createBrowser().visit(url, (at) => at.startsWith('http://127.0.0.1') && /code=/.test(at));
  return new URL(end).search.slice(1);
};

t.test('OAU-1 · OAU-6 · OAU-8 · a browser login registers, waits on its port, and stores the tokens', async (t) => {
  const { authority, begin, credentials, serverUrl } = await loginStage(t);
  const login = begin();
  const url = await login.url();
  t.match(login.told, [{ kind: 'url', expires_in_seconds: 300 }]);
  t.notOk(await free(portOf(url)), 'the port is held');
  t.equal(credentials.tokens('hub'), undefined, 'nothing is stored before the exchange');

  await createBrowser().visit(url);

  t.same(await login.outcome, { kind: 'loggedIn' });
  const tokens = credentials.tokens('hub');
  t.ok(authority.accepts(tokens?.accessToken ?? ''));
  t.match(tokens, { issuer: authority.issuer, url: serverUrl, scope: 'mcp:tools' });
  const clientId = new URL(url).searchParams.get('client_id');
  t.match(credentials.client('hub'), { issuer: authority.issuer, clientId, redirectUri: /\/callback$/ });
  t.match(credentials.server('hub'), { issuer: authority.issuer, metadata: { issuer: authority.issuer } });
  // And let go of.
  await eventually(async () => (await free(portOf(url))) || undefined);
});

t.test('OAU-8 · a pasted redirect ends the login that it belongs to, and no other', async (t) => {
  const { begin, credentials, logins } = await loginStage(t);
  t.notOk(logins.paste('default', 'hub', 'code=c&state=s'), 'none waits');
  const login = begin();
  const query = await redirectOf(await login.url());
  t.notOk(logins.paste('default', 'hub', query.replace(/state=[^&]+/, 'state=another')));
  t.ok(logins.paste('default', 'hub', query));
  t.same(await login.outcome, { kind: 'loggedIn' });
  t.ok(credentials.tokens('hub'));

  const refused = begin();
  const state = new URL(await refused.url()).searchParams.get('state');
  const { issuer } = credentials.server('hub') ?? {};
  t.ok(logins.paste('default', 'hub', new URLSearchParams({ state, iss: issuer, error: 'no' } as never).toString()));
  t.match(await refused.outcome, { kind: 'stopped', why: /the authorization server refused: no/ });
});

t.test('OAU-8 · a cancelled login lets go of its port and leaves the old credentials', async (t) => {
  const { begin, clock, credentials } = await loginStage(t);
  const first = begin();
  await createBrowser().visit(await first.url());
  await first.outcome;
  const before = credentials.tokens('hub');
  for (const end of ['cancel', 'patience'] as const) {
    const login = begin();
    const url = await login.url();
    if (end === 'cancel') login.cancel();
    else clock.increment(300_000);
    t.match(await login.outcome, { kind: 'stopped', why: /was cancelled|within 5 minutes/ }, end);
    await eventually(async () => (await free(portOf(url))) || undefined);
    t.same(credentials.tokens('hub'), before, end);
  }
});

t.test('OAU-6 · a redirect to the loopback address of IPv6 arrives', async (t) => {
  const { begin } = await loginStage(t);
  const hasIpv6 = Object.values(networkInterfaces()).some((each) => each?.some(({ address }) => address === '::1'));
  const host = hasIpv6 ? '[::1]' : '127.0.0.1';
  const login = begin('browser', { redirect_uri: `http://${host}:${await freePort()}/callback` });
  await createBrowser().visit(await login.url());
  t.same(await login.outcome, { kind: 'loggedIn' });
});

t.test('OAU-6 · OAU-1 · what cannot begin says what to change', async (t) => {
  const port = await freePort();
  const release = await hold(port);
  t.teardown(release);
  const { authority, begin } = await loginStage(t);
  const rows: readonly (readonly [JsonObject, RegExp])[] = [
    [{ redirect_port: port }, /"hub": the callback port \d+ cannot be bound: .*; change oauth\.redirect_port$/],
    [{ redirect_uri: 'no address' }, /"hub": oauth\.redirect_uri is no address$/],
  ];
  for (const [entry, why] of rows) t.match(await begin('browser', entry).outcome, { kind: 'stopped', why });
  authority.on(paths.register, { status: 403, json: { error: 'invalid_client_metadata' } });
  for (const flow of ['browser', 'device'] as const)
    t.match(await begin(flow).outcome, { kind: 'stopped', why: /Registration failed: 403/ }, flow);
  authority.on(paths.metadata, { status: 500, json: {} });
  for (const flow of ['browser', 'device'] as const)
    t.match(await begin(flow).outcome, { kind: 'stopped', why: /^mcp server "hub": .*metadata/ }, flow);
});

t.test('OAU-4 · a registration that is none any more is made anew', async (t) => {
  const { authority, begin, credentials } = await loginStage(t);
  const entry = { redirect_port: await freePort() };
  const first = begin('browser', entry);
  await createBrowser().visit(await first.url());
  t.same(await first.outcome, { kind: 'loggedIn' });
  const old = credentials.client('hub')?.clientId;

  const login = begin('browser', entry);
  const url = await login.url();
  t.equal(new URL(url).searchParams.get('client_id'), old, 'it is used while it stands');
  authority.on(paths.token, oauthError('invalid_client', 401));
  const visited = createBrowser().visit(url);
  const again = await login.url(1);
  await visited;
  authority.on(paths.token, undefined);
  t.not(new URL(again).searchParams.get('client_id'), old);
  await createBrowser().visit(again);

  t.same(await login.outcome, { kind: 'loggedIn' });
  t.equal(credentials.client('hub')?.clientId, new URL(again).searchParams.get('client_id'));
});

t.test('OAU-4 · a registration whose secret has expired is made anew before a person logs in', async (t) => {
  const { begin, credentials } = await loginStage(t);
  const entry = { redirect_port: await freePort() };
  const first = begin('browser', entry);
  await createBrowser().visit(await first.url());
  t.same(await first.outcome, { kind: 'loggedIn' });
  const [tokens, server, client] = [credentials.tokens('hub'), credentials.server('hub'), credentials.client('hub')];
  if (tokens === undefined || server === undefined || client === undefined) return;
  for (const [secretExpiresAtMs, isUsed] of [
    [1_001, true],
    [1_000, false],
  ] as const) {
    await credentials.save('hub', { tokens, server, client: { ...client, secretExpiresAtMs } });
    const login = begin('browser', entry);
    const { searchParams } = new URL(await login.url());
    t.equal(searchParams.get('client_id') === client.clientId, isUsed, String(secretExpiresAtMs));
    login.cancel();
    await login.outcome;
  }
});

t.test(
  'OAU-4 · OAU-5 · a document that is refused is remembered, and what may be wrong with it was logged',
  async (t) => {
    const { authority, begin, credentials, logged } = await loginStage(t);
    authority.on(paths.metadata, {
      json: authority.metadata({ client_id_metadata_document_supported: true, registration_endpoint: undefined }),
    });
    const login = begin('browser', { client_metadata_url: document });
    const url = await login.url();
    t.equal(new URL(url).searchParams.get('client_id'), document);
    const warning = await eventually(async () => login.told.find(({ kind }) => kind === 'warning'));
    t.match(warning, { message: new RegExp(document) });
    authority.on(paths.token, oauthError('invalid_client', 401));

    await createBrowser().visit(url);

    t.match(await login.outcome, { kind: 'stopped', why: /neither registers clients nor takes metadata documents/ });
    await eventually(async () => credentials.documentRefused('hub') || undefined);
    t.match(logged, [/^warn: mcp server "hub": the authorization server refused https:\/\/document\.invalid/]);
  },
);

t.test('OAU-1 · a configured client that is refused is not replaced by another', async (t) => {
  const { authority, begin } = await loginStage(t);
  authority.on(paths.token, oauthError('invalid_client', 401));
  const login = begin('browser', { client_id: 'mine', client_secret: 'hunter2hunter2' });
  const url = await login.url();
  t.equal(new URL(url).searchParams.get('client_id'), 'mine');
  await createBrowser().visit(url);
  const outcome = await login.outcome;
  t.match(outcome, { kind: 'stopped', why: /; check oauth\.client_id, client_secret and token_endpoint_auth_method$/ });
  t.notMatch(JSON.stringify(outcome), /hunter2/);
  t.equal(login.urls().length, 1);
});
