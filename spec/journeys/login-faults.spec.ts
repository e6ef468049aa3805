/** What goes wrong in a browser login, and where its secrets do not go: a real daemon and an authorization server that misbehaves. */

import { existsSync } from 'node:fs';
import t, { type Test } from 'tap';
import { controlOf, eventually, wordsOf } from '../support/mcp/gateway.ts';
import { createBrowser } from '../support/oauth/browser.ts';
import { loginByControl } from '../support/oauth/control-login.ts';
import { shownUrl } from '../support/oauth/login-cli.ts';
import { pinnedTurn } from '../support/oauth/ports.ts';
import {
  oauthError,
  paths,
  redirectTo,
  type ScriptedServer,
  startScriptedServer,
} from '../support/oauth/scripted-server.ts';
import { follow, type OauthStage, oauthStage } from '../support/oauth/stage.ts';

await pinnedTurn();

const scripted = async (t: Test, oauth?: Readonly<Record<string, unknown>>): Promise<OauthStage<ScriptedServer>> =>
  oauthStage(t, await startScriptedServer(t), oauth);

t.test('OAU-8 · OAU-1 · what goes wrong ends the login with its reason and leaves the old credentials', async (t) => {
  const { authority, home, login, file, gateway, peer, standing } = await scripted(t);
  t.match(await login().ended, { code: 0 });
  await gateway.reaches('hub', 'connected');
  const old = standing();
  const reset = (): void => {
    for (const path of [...Object.values(paths), `/.well-known/openid-configuration`]) authority.on(path, undefined);
    peer.name(authority.issuer);
  };
  const redirecting = (params: Record<string, string>) => (seen: { query: URLSearchParams }) => ({
    kind: 'redirect' as const,
    to: redirectTo(seen.query.get('redirect_uri') ?? '', { state: seen.query.get('state') ?? '', ...params }),
  });
  const other = await startScriptedServer(t);
  const iss = authority.issuer;
  const rows: readonly (readonly [string, () => void, RegExp])[] = [
    [
      'metadata 500',
      () => authority.on(paths.metadata, { status: 500, json: {} }),
      /Could not read authorization-server metadata \(500 from /,
    ],
    [
      'no metadata and no registration at the usual place',
      () => {
        authority.on(paths.metadata, { status: 404, json: {} });
        authority.on(paths.register, { status: 404, json: {} });
      },
      /Could not read authorization-server metadata \(404 from [^;]+; 404 from [^)]+\): Registration failed: 404/,
    ],
    [
      'registration refused',
      () => authority.on(paths.register, oauthError('invalid_client_metadata', 403)),
      /: Registration failed: 403 \(invalid_client_metadata\); set oauth\.client_id/,
    ],
    [
      'the person says no',
      () => authority.on(paths.authorize, redirecting({ error: 'access_denied', error_description: 'not today', iss })),
      /refused: access_denied \(not today\)/,
    ],
    [
      'an error of another issuer',
      () =>
        authority.on(
          paths.authorize,
          redirecting({ error: 'access_denied', error_description: 'phish', iss: other.issuer }),
        ),
      /another issuer/,
    ],
    [
      'a code that is not good',
      () => authority.on(paths.authorize, redirecting({ code: 'played-before', iss })),
      /invalid_grant/,
    ],
    ['the token endpoint breaks off', () => authority.on(paths.token, { kind: 'reset' }), /token endpoint/],
  ];
  for (const [name, arrange, expected] of rows) {
    reset();
    arrange();
    const running = await loginByControl(t, home, 'hub', {}, follow);
    const ended = await running.ended;
    running.cancel();
    t.match(ended, expected, name);
    t.match(ended, /\[login-stopped\]$/, name);
    if (name === 'an error of another issuer') t.notMatch(ended, /phish/, 'a stranger is not quoted');
    t.same(standing(), old, `${name}: what is stored is untouched`);
  }
  reset();
  t.match(await gateway.server('hub'), { state: 'connected' }, 'and the connection stood all the while');
  t.match(await login().ended, { code: 0 });
  t.notSame(standing(), old);
  t.equal(wordsOf(await gateway.call('mcp__hub__echo', { text: 'still' })), 'still');
  t.ok(existsSync(file('.client')));
});

t.test('OBS-1 · no token, code, secret or state in a log line, the inspector, an error or an answer', async (t) => {
  const { authority, gateway, login, browser, home } = await scripted(t, {
    client_id: 'c',
    client_secret: 'the-secret-of-this-client',
  });
  const events: string[] = [];
  const watcher = await controlOf(t, home);
  watcher.onNotification((_, params) => events.push(JSON.stringify(params)));
  for (const method of ['inspect.watch', 'inspect.subscribe', 'inspect.follow'])
    await watcher.call(method).catch(() => {});
  t.match(await login().ended, { code: 0 });
  await gateway.reaches('hub', 'connected');
  await gateway.call('mcp__hub__echo', { text: 'x' });
  // An authorization server that quotes what it refuses.
  authority.on(paths.token, (seen) => oauthError('invalid_grant', 400, `bad ${[...seen.form.values()].join(' ')}`));
  const refusedExchange = await login().ended;
  t.match(refusedExchange.stderr, /\[redacted\]/);
  authority.expireTokens();
  const refused = await gateway.call('mcp__hub__echo', { text: 'x' });
  t.match(refused.error, { code: 'needs_login' });
  const row = await gateway.reaches('hub', 'needsLogin');
  authority.on(paths.token, (seen) => ({
    kind: 'text',
    status: 400,
    text: `<pre>${seen.text}</pre>`,
    type: 'text/html',
  }));
  const page = await login().ended;

  const states = browser.opened().map((url) => new URL(url).searchParams.get('state') ?? '');
  const tree = (await gateway.cli('inspect', 'tree', '--json')).stdout;
  const everything = [
    JSON.stringify(gateway.daemon.log),
    events.join('\n'),
    tree,
    JSON.stringify([refused, row, await gateway.list(), await gateway.logs('hub')]),
    // The URL that the login shows is for its person alone; the rest of what is printed is looked at.
    ...[refusedExchange, page].map(({ stdout, stderr }) => stderr + stdout.replace(/^ {2}https?:\S+$/gm, '')),
  ];
  const planted = [...authority.secrets, ...states, 'the-secret-of-this-client'].filter((each) => each.length > 8);
  t.ok(planted.length > 8);
  for (const [index, text] of everything.entries()) {
    for (const secret of planted) t.notOk(text.includes(secret), `place ${index}: ${secret}`);
  }
  t.ok(events.length > 0, 'the inspector told something');
});

t.test('OBS-1 · OAU-1 · no token is so long that the gateway could not keep it out of the log', async (t) => {
  const { authority, gateway, home } = await scripted(t);
  const [access, refresh] = ['/access'.repeat(9_000), '/refresh'.repeat(8_000)];
  const logIn = async (tokens: Readonly<Record<string, string>>): Promise<string> => {
    authority.on(paths.token, { json: { token_type: 'Bearer', ...tokens } });
    const running = await loginByControl(t, home, 'hub', {}, follow);
    const ended = await running.ended;
    running.cancel();
    return ended;
  };

  t.equal(await logIn({ access_token: access, refresh_token: refresh }), 'loggedIn');
  t.match(await logIn({ access_token: 'x'.repeat(65_537) }), /without an access token that a header can carry/);
  authority.on(paths.metadata, { status: 500, json: {} });
  t.match(await logIn({}), /500 from/, 'and the gateway still runs');
  const written = JSON.stringify(gateway.daemon.log);
  for (const token of [access, refresh]) t.notOk(written.includes(token.slice(0, 100)));
});

t.test('OAU-1 · OAU-7 · no size of metadata or of an address ends the gateway or the command', async (t) => {
  const { authority, home, login, peer } = await scripted(t);
  const logIn = async (name: string, count: number): Promise<string> => {
    const body = JSON.stringify({ resource: peer.url, authorization_servers: Array(count).fill(name) });
    const when = ({ path }: { readonly path: string }) => path.startsWith('/.well-known/oauth-protected-resource');
    peer.spoil({ kind: 'answer', status: 200, contentType: 'application/json', body, when });
    const running = await loginByControl(t, home, 'hub', {}, follow);
    const ended = await running.ended;
    running.cancel();
    return ended;
  };

  const wrong = await logIn('a', 200_000);
  t.match(wrong, /with no valid authorization_servers\.0, .* and 992 more from/);
  t.ok(wrong.length < 2_000, `${wrong.length} characters`);
  t.match(await logIn(authority.issuer, 60_000), /cannot be read: its answer has more than 1048576 bytes/);

  peer.name(authority.issuer);
  const long = `${authority.issuer}${paths.authorize}?${'a'.repeat(200_000)}`;
  authority.on(paths.metadata, { json: authority.metadata({ authorization_endpoint: long }) });
  const running = login();
  await running.shows(/Waiting for 5 minutes/);
  running.interrupt();
  t.match(await running.ended, { code: 130 }, 'longer than an argument may be, so no browser is started');
});

t.test('OAU-1 · OAU-8 · a code counts once: a replay of it gets nothing', async (t) => {
  const { login, authority, standing } = await scripted(t);
  const running = login('--no-browser');
  const page = await createBrowser().visit(await running.shows(shownUrl), (at) => at.includes('/callback?'));
  running.type(page.url);
  t.match(await running.ended, { code: 0 });
  const stored = standing();
  // In the end nobody listens for it any more.
  await eventually(() =>
    fetch(page.url).then(
      () => undefined,
      () => true,
    ),
  );

  const again = login('--no-browser');
  const url = new URL(await again.shows(shownUrl));
  again.type(page.url);
  await again.shows(/no login to "hub" waits for this/);
  const old = new URL(page.url).searchParams;
  old.set('state', url.searchParams.get('state') ?? '');
  again.type(`${url.searchParams.get('redirect_uri')}?${old}`);

  t.match(await again.ended, { code: 1, stderr: /invalid_grant.*\[login-stopped\]/ });
  t.same(standing(), stored);
  t.equal(authority.at(paths.token).length, 2);
});

t.test('OAU-8 · a gateway that ends ends the login, and the command says so', async (t) => {
  const { gateway, login, standing } = await scripted(t);
  const running = login('--no-browser');
  await running.shows(shownUrl);
  gateway.daemon.kill('SIGTERM');
  const { code, stderr } = await running.ended;
  t.equal(code, 1);
  t.match(stderr, /^agent: hub: the gateway stops \[login-stopped\]/);
  t.equal(await gateway.daemon.exited, 0);
  t.same(standing(), {});
});

t.test('OAU-1 · TLS-2 · the headers of the entry do not go to the authorization server', async (t) => {
  const headers = { 'x-api-key': 'a-key-of-the-server' };
  const stage = await oauthStage(t, await startScriptedServer(t), {}, { entry: { headers } });
  t.match(await stage.login().ended, { code: 0 });
  await stage.gateway.reaches('hub', 'connected');
  stage.authority.expireTokens();
  t.equal(wordsOf(await stage.gateway.call('mcp__hub__echo', { text: 'x' })), 'x');
  t.ok(stage.peer.requests.some((seen) => seen.headers['x-api-key'] !== undefined));
  for (const { path, headers: sent } of stage.authority.seen) t.equal(sent['x-api-key'], undefined, path);
});
