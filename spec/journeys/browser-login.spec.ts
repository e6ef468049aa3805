/** Browser logins through a real daemon and the real command line, against a real authorization server and a scripted one. */

import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import { runCli } from '../support/daemon.ts';
import { makeHome, type TestHome } from '../support/home.ts';
import {
  controlOf,
  eventually,
  type Gateway,
  type ServerEntries,
  startGateway,
  wordsOf,
} from '../support/mcp/gateway.ts';
import {
  type AuthorizationServer,
  documentFor,
  paths as oidc,
  startAuthorizationServer,
} from '../support/oauth/authorization-server.ts';
import { createBrowser } from '../support/oauth/browser.ts';
import { loginByControl } from '../support/oauth/control-login.ts';
import { installBrowser, type RunningCli, type SpecBrowser, shownUrl, startCli } from '../support/oauth/login-cli.ts';
import { type ProtectedServer, startProtectedServer } from '../support/oauth/protected-server.ts';
import {
  html,
  oauthError,
  paths,
  redirectTo,
  type ScriptedServer,
  startScriptedServer,
} from '../support/oauth/scripted-server.ts';

t.setTimeout(110_000);

const pinned = [27_890, 27_891, 27_892, 27_893, 27_894];
const documentUrl = 'https://agent.test/client.json';

interface Stage<Server> {
  readonly home: TestHome;
  readonly gateway: Gateway;
  readonly authority: Server;
  readonly peer: ProtectedServer;
  readonly browser: SpecBrowser;
  login(...more: readonly string[]): RunningCli;
  file(ending: string): string;
}

async function stageWith<Server extends AuthorizationServer | ScriptedServer>(
  t: Test,
  authority: Server,
  oauth: Readonly<Record<string, unknown>> = {},
): Promise<Stage<Server>> {
  const peer = await startProtectedServer(t, {
    authorizationServers: [authority.issuer],
    accepts: authority.accepts,
    scopes: ['mcp:tools'],
  });
  const home = makeHome(t);
  const browser = installBrowser(home);
  const gateway = await startGateway(t, { hub: { url: peer.url, auth: 'oauth', oauth } }, { home });
  return {
    ...{ home, gateway, authority, peer, browser },
    login: (...more) => startCli(t, home, ['mcp', 'login', 'hub', ...more], browser.env),
    file: (ending) => join(home.path, 'mcp-tokens', `hub${ending}`),
  };
}

const scripted = async (t: Test, oauth?: Readonly<Record<string, unknown>>): Promise<Stage<ScriptedServer>> =>
  stageWith(t, await startScriptedServer(t), oauth);
const real = async (t: Test, oauth?: Readonly<Record<string, unknown>>): Promise<Stage<AuthorizationServer>> =>
  stageWith(
    t,
    await startAuthorizationServer(t, { documents: new Map([[documentUrl, documentFor(documentUrl)]]) }),
    oauth,
  );

/** The redirect port that an authorization request names. */
function portOf(url: string | undefined): number {
  return Number(new URL(new URL(url ?? '').searchParams.get('redirect_uri') ?? '').port);
}

t.test('OAU-1 · OAU-2 · OAU-8 · a browser login with a real authorization server', async (t) => {
  const { gateway, authority, peer, browser, login, file } = await real(t);
  const before = await gateway.reaches('hub', 'needsLogin');
  t.match(before.error, 'run `agent mcp login hub`');
  t.same(browser.opened(), [], 'a connection opens nothing');

  const result = await login().ended;

  t.match(result, { code: 0, stdout: /Logged in to hub\./, stderr: '' });
  await gateway.reaches('hub', 'connected');
  t.equal(wordsOf(await gateway.call('mcp__hub__echo', { text: 'in' })), 'in');
  const [opened] = browser.opened();
  t.ok(pinned.includes(portOf(opened)), 'a server that was never reached gets a pinned port');
  const asked = new URL(opened ?? '').searchParams;
  t.match(Object.fromEntries(asked), { code_challenge_method: 'S256', resource: peer.url, response_type: 'code' });
  t.ok((asked.get('state') ?? '').length >= 43);
  const [exchange] = authority.at(oidc.token);
  t.equal(exchange?.form.get('resource'), peer.url);
  t.ok((exchange?.form.get('code_verifier') ?? '').length >= 43);
  for (const ending of ['.json', '.meta', '.client']) t.equal(statSync(file(ending)).mode & 0o777, 0o600, ending);
  t.equal(statSync(join(file(''), '..')).mode & 0o777, 0o700);
  const stored = JSON.parse(readFileSync(file('.json'), 'utf8'));
  t.match(stored, { issuer: authority.issuer, url: peer.url });
  t.ok(stored.expires_at_ms > Date.now());
  t.equal((await runCli(['mcp', 'list'], gateway.home.path)).stdout.includes('connected'), true);
});

t.test('OAU-8 · --no-browser prints the URL, and the redirect is pasted back', async (t) => {
  const { gateway, login, browser } = await real(t);
  const running = login('--no-browser');
  const url = await running.shows(shownUrl);

  running.type('this is no address');
  await running.shows(/\[?no login to "hub" waits for this/);
  running.type('http://127.0.0.1:1/callback?code=stolen&state=of-another-login');
  await running.shows(/waits for this[\s\S]*waits for this/);
  const page = await createBrowser().visit(url, (at) => at.startsWith('http://127.0.0.1') && at.includes('/callback?'));
  running.type(page.url);

  t.match(await running.ended, { code: 0, stdout: /Logged in to hub/ });
  t.same(browser.opened(), []);
  await gateway.reaches('hub', 'connected');
});

t.test('OAU-8 · Ctrl-C cancels: exit 1, the port is let go, nothing is written', async (t) => {
  const { gateway, login, file } = await scripted(t);
  const running = login('--no-browser');
  const port = portOf(await running.shows(shownUrl));

  running.interrupt();

  const result = await running.ended;
  t.match(result, { code: 1, stderr: /the login was cancelled/ });
  await eventually(() => free(port).then((isFree) => (isFree ? true : undefined)));
  t.notOk(existsSync(file('.json')));
  t.match(await gateway.server('hub'), { state: 'needsLogin' });
  t.match(await login().ended, { code: 0 }, 'and it can be begun again');
});

t.test('OAU-8 · one login of a server at a time; usage and refusals have their codes', async (t) => {
  const { home, login, gateway } = await scripted(t);
  const first = login('--no-browser');
  await first.shows(shownUrl);

  t.match(await login().ended, { code: 1, stderr: /\[login-under-way\]/ });
  t.match(await runCli(['mcp', 'login', 'nobody'], home.path), { code: 1, stderr: /\[server-unknown\]/ });
  t.match(await runCli(['mcp', 'login', 'hub', '--flow', 'magic'], home.path), { code: 1, stderr: /\[login-flow\]/ });
  t.match(await runCli(['mcp', 'login'], home.path), { code: 2 });
  t.match(await runCli(['mcp', 'reauth'], home.path), { code: 2 });
  t.match(await runCli(['mcp', 'login', 'hub'], makeHome(t).path), { code: 3 });
  gateway.configure({ plain: { url: 'http://127.0.0.1:9/mcp' } });
  await gateway.cli('mcp', 'reload');
  await gateway.reaches('plain', 'backingOff', 'connecting', 'parked', 'failed');
  t.match(await runCli(['mcp', 'login', 'plain'], home.path), { code: 1, stderr: /\[login-not-oauth\]/ });
});

t.test('OAU-8 · OAU-1 · what goes wrong ends the login with its reason and leaves the old credentials', async (t) => {
  const { authority, home, login, file, gateway, peer } = await scripted(t);
  t.match(await login().ended, { code: 0 });
  await gateway.reaches('hub', 'connected');
  const standing = (): string[] =>
    readdirSync(join(home.path, 'mcp-tokens')).map((name) => readFileSync(join(home.path, 'mcp-tokens', name), 'utf8'));
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
    ['metadata that is a page', () => authority.on(paths.metadata, html), /\(200 with text\/html from /],
    [
      'no metadata and no registration at the usual place',
      () => {
        authority.on(paths.metadata, { status: 404, json: {} });
        authority.on(paths.register, { status: 404, json: {} });
      },
      /Could not read authorization-server metadata \(404 from [^;]+; 404 from [^)]+\): Registration failed: 404/,
    ],
    [
      'metadata of another issuer',
      () => authority.on(paths.metadata, { json: authority.metadata({ issuer: other.issuer }) }),
      /issuer/i,
    ],
    [
      'no PKCE',
      () => authority.on(paths.metadata, { json: authority.metadata({ code_challenge_methods_supported: undefined }) }),
      /PKCE/,
    ],
    [
      'plain PKCE only',
      () => authority.on(paths.metadata, { json: authority.metadata({ code_challenge_methods_supported: ['plain'] }) }),
      /PKCE/,
    ],
    [
      'no way to become a client',
      () => authority.on(paths.metadata, { json: authority.metadata({ registration_endpoint: undefined }) }),
      /set oauth\.client_id/,
    ],
    [
      'registration refused',
      () => authority.on(paths.register, oauthError('invalid_client_metadata', 403)),
      /: Registration failed: 403; set oauth\.client_id/,
    ],
    [
      'registration without a client',
      () => authority.on(paths.register, { status: 201, json: {} }),
      /Registration failed/,
    ],
    [
      'an endpoint that is no web address',
      () =>
        authority.on(paths.metadata, { json: authority.metadata({ authorization_endpoint: 'file:///etc/passwd' }) }),
      /no web address/,
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
      'another issuer',
      () => authority.on(paths.authorize, redirecting({ code: 'x', iss: other.issuer })),
      /another issuer/,
    ],
    [
      'no issuer where one is promised',
      () => authority.on(paths.authorize, redirecting({ code: 'x' })),
      /lacks the issuer/,
    ],
    [
      'neither code nor error',
      () => authority.on(paths.authorize, redirecting({ iss })),
      /neither a code nor an error/,
    ],
    [
      'a code that is not good',
      () => authority.on(paths.authorize, redirecting({ code: 'played-before', iss })),
      /invalid_grant/,
    ],
    [
      'the client is refused',
      () => authority.on(paths.token, oauthError('invalid_client', 401)),
      /refused: .*invalid_client/,
    ],
    ['the token endpoint answers a page', () => authority.on(paths.token, html), /no JSON/],
    [
      'the token endpoint fails',
      () => authority.on(paths.token, { kind: 'text', status: 502, text: '<h1>Bad gateway</h1>', type: 'text/html' }),
      /502/,
    ],
    ['the token endpoint breaks off', () => authority.on(paths.token, { kind: 'reset' }), /token endpoint/],
    ['an answer without a token', () => authority.on(paths.token, { json: { token_type: 'Bearer' } }), /token/],
    [
      'a token endpoint without TLS elsewhere',
      () => authority.on(paths.metadata, { json: authority.metadata({ token_endpoint: 'http://as.example/token' }) }),
      /token/i,
    ],
  ];
  for (const [name, arrange, expected] of rows) {
    reset();
    arrange();
    const running = await loginByControl(
      t,
      home,
      'hub',
      {},
      ({ url }) =>
        void createBrowser()
          .visit(String(url))
          .catch(() => {}),
    );
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

t.test('OAU-8 · a redirect with another state is turned away and the login goes on', async (t) => {
  const { login } = await scripted(t);
  const running = login('--no-browser');
  const url = await running.shows(shownUrl);
  const callback = new URL(url).searchParams.get('redirect_uri') ?? '';

  for (const query of ['?code=x&state=guess', '?code=x', '', '?error=access_denied&state=']) {
    t.equal((await fetch(`${callback}${query}`)).status, 400, query);
  }
  t.equal((await fetch(callback.replace('/callback', '/favicon.ico'))).status, 404);
  t.equal((await fetch(`${callback}?state=${new URL(url).searchParams.get('state')}`, { method: 'POST' })).status, 400);
  const page = await createBrowser().visit(url);

  t.match(page, { status: 200, body: /close this window/ });
  t.match(await running.ended, { code: 0 });
});

t.test('OAU-3 · OAU-4 · DEV-3 · who asks what: agents of requests, and the identity that is shown', async (t) => {
  const configured = await scripted(t, {
    client_id: 'known-client',
    client_secret: 'known-secret-of-the-client',
    token_endpoint_auth_method: 'client_secret_post',
    user_agent: 'Fleet/7',
  });
  t.match(await configured.login().ended, { code: 0 });
  const { seen } = configured.authority;
  t.same(configured.authority.at(paths.register), [], 'a configured client is not registered');
  t.match(Object.fromEntries(configured.authority.at(paths.token)[0]?.form ?? []), {
    client_id: 'known-client',
    client_secret: 'known-secret-of-the-client',
  });
  const agents = (path: string): unknown[] =>
    seen.filter((one) => one.path === path).map(({ headers }) => headers['user-agent']);
  t.same(new Set(agents(paths.token)), new Set(['Fleet/7']));
  t.match(agents(paths.metadata)[0], /^AgentGateway-Agent\/\d/);
  for (const { headers } of configured.peer.requests) t.match(headers['user-agent'], /^AgentGateway-Agent\//);

  for (const user_agent of ['', null]) {
    const plain = await scripted(t, { user_agent, client_name: 'My fleet' });
    t.match(await plain.login().ended, { code: 0 });
    t.match(plain.authority.at(paths.token)[0]?.headers['user-agent'], /^AgentGateway-Agent\//);
    const [registration] = plain.authority.at(paths.register);
    t.match(registration?.headers['user-agent'], /^AgentGateway-Agent\//);
    t.match(JSON.parse(registration?.text ?? ''), {
      client_name: 'My fleet',
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    });
    t.notOk(pinned.includes(portOf(plain.browser.opened()[0])), 'a name of its own has a random port');
  }
});

t.test(
  'OAU-4 · a metadata document is shown where it is taken; refused at the token endpoint, the client registers',
  async (t) => {
    const { authority, browser, login, file, gateway } = await real(t, { client_metadata_url: documentUrl });

    t.match(await login().ended, { code: 0 });
    t.equal(new URL(browser.opened()[0] ?? '').searchParams.get('client_id'), documentUrl);
    t.same(authority.at(oidc.register), []);
    t.notOk(existsSync(file('.client')));
    await gateway.reaches('hub', 'connected');

    authority.refuseDocuments('token');
    const second = await login().ended;
    t.match(second, { code: 0 }, 'one command, two trips of the browser');
    t.equal(authority.at(oidc.register).length, 1);
    t.match(readFileSync(file('.cimd-off'), 'utf8'), documentUrl);
    t.equal(statSync(file('.cimd-off')).mode & 0o777, 0o600);
    t.ok(gateway.daemon.log.some(({ level, message }) => level === 'warn' && /registering instead/.test(message)));
    const ids = browser.opened().map((url) => new URL(url).searchParams.get('client_id'));
    t.equal(ids[1], documentUrl);
    t.not(ids[2], documentUrl);

    authority.refuseDocuments(undefined);
    t.match(await login().ended, { code: 0 });
    t.notOk(existsSync(file('.cimd-off')), 'a login that a person asks for forgets the refusal');
  },
);

t.test('OAU-4 · cimd: false registers, and no document registers too', async (t) => {
  for (const oauth of [{ client_metadata_url: documentUrl, cimd: false }, {}]) {
    const { authority, login } = await real(t, oauth);
    t.match(await login().ended, { code: 0 }, JSON.stringify(oauth));
    t.equal(authority.at(oidc.register).length, 1);
  }
});

t.test('OAU-6 · callback ports, every case', async (t) => {
  const authority = await startScriptedServer(t);
  const peer = await startProtectedServer(t, { authorizationServers: [authority.issuer], accepts: authority.accepts });
  const own = await freePort();
  const home = makeHome(t);
  const isPinned = (port: number): boolean => pinned.includes(port);
  const isOther = (port: number): boolean => !isPinned(port);
  const cases: Readonly<Record<string, readonly [Readonly<Record<string, unknown>>, (port: number) => boolean]>> = {
    'never-reached': [{}, isPinned],
    'with-a-document': [{ client_metadata_url: documentUrl }, isPinned],
    'client-id': [{ client_id: 'c' }, isOther],
    'client-secret': [{ client_id: 'c', client_secret: 'secret' }, isOther],
    'client-name': [{ client_name: 'n' }, isOther],
    'auth-method': [{ token_endpoint_auth_method: 'none' }, isOther],
    'cimd-off': [{ cimd: false }, isOther],
    'redirect-port': [{ redirect_port: own }, (port) => port === own],
    'redirect-uri': [{ redirect_uri: `http://localhost:${own}/cb` }, (port) => port === own],
  };
  const names = ['before', 'busy', 'last', ...Object.keys(cases)];
  await startGateway(
    t,
    Object.fromEntries(names.map((name) => [name, { url: peer.url, auth: 'oauth', oauth: cases[name]?.[0] ?? {} }])),
    { home },
  );
  const portFor = async (name: string, more: JsonObject = {}): Promise<number> => {
    const running = await loginByControl(t, home, name, more);
    const port = portOf(String((await running.progress).url));
    t.notOk(await free(port), `${name}: ${port} is held until the redirect arrives`);
    running.cancel();
    await eventually(async () => ((await free(port)) ? true : undefined));
    return port;
  };
  for (const [name, [, fits]] of Object.entries(cases)) {
    const port = await portFor(name);
    t.ok(fits(port), `${name}: ${port}`);
  }

  const file = (ending: string): string => join(home.path, 'mcp-tokens', `before${ending}`);
  const meta = (supported: boolean): void =>
    writeFileSync(
      file('.meta'),
      JSON.stringify({
        issuer: authority.issuer,
        authorization_server_url: authority.issuer,
        metadata: { client_id_metadata_document_supported: supported },
      }),
    );
  t.ok(isPinned(await portFor('before')));
  t.notOk(isPinned(await portFor('before', { from: 'page' })), 'begun from the page');
  const first = await loginByControl(t, home, 'before', {}, ({ url }) => void createBrowser().visit(String(url)));
  t.equal(await first.ended, 'loggedIn');
  t.ok(existsSync(file('.client')));
  t.notOk(isPinned(await portFor('before')), 'a registration on disk');
  writeFileSync(file('.client'), '{}');
  meta(false);
  t.notOk(isPinned(await portFor('before')), 'reached before, and takes no documents');
  meta(true);
  t.ok(isPinned(await portFor('before')), 'reached before, and takes documents');

  // Another program may have one of them; then it is busy without us.
  const holders = new Map<number, () => void>();
  for (const port of pinned) holders.set(port, await hold(port).catch(() => () => {}));
  t.notOk(isPinned(await portFor('busy')), 'all five busy');
  holders.get(27_893)?.();
  t.equal(await portFor('last'), 27_893, 'the one that is free');
  for (const release of holders.values()) release();

  const release = await hold(own);
  const refused = await loginByControl(t, home, 'redirect-port');
  t.match(await refused.ended, new RegExp(`callback port ${own} cannot be bound.*oauth.redirect_port`));
  release();
});

t.test('OAU-6 · OAU-8 · ten servers log in at once: ten ports, ten logins', async (t) => {
  const authority = await startScriptedServer(t);
  const names = Array.from({ length: 10 }, (_, index) => `s${index}`);
  const entries: Record<string, Record<string, unknown>> = {};
  for (const name of names) {
    const peer = await startProtectedServer(t, {
      authorizationServers: [authority.issuer],
      accepts: authority.accepts,
    });
    entries[name] = { url: peer.url, auth: 'oauth' };
  }
  const gateway = await startGateway(t, entries as ServerEntries);
  const browser = createBrowser();

  const logins = await Promise.all(names.map((name) => loginByControl(t, gateway.home, name)));
  const urls = await Promise.all(logins.map(async ({ progress }) => String((await progress).url)));
  const ports = urls.map(portOf);
  t.equal(new Set(ports).size, 10, 'no port twice');
  const fromFive = ports.filter((port) => pinned.includes(port)).length;
  t.ok(fromFive > 0 && fromFive <= 5, `${fromFive} of the five`);
  await Promise.all(urls.map((url) => browser.visit(url)));

  for (const { ended } of logins) t.equal(await ended, 'loggedIn');
  for (const name of names) await gateway.reaches(name, 'connected');
});

t.test('OAU-8 · reauth --all logs in one at a time, goes on after a failure, and sums up', async (t) => {
  const authority = await startScriptedServer(t);
  const bad = await startScriptedServer(t);
  bad.on(paths.authorize, (seen) => ({
    kind: 'redirect',
    to: redirectTo(seen.query.get('redirect_uri') ?? '', {
      state: seen.query.get('state') ?? '',
      error: 'access_denied',
      iss: bad.issuer,
    }),
  }));
  const entries: Record<string, Record<string, unknown>> = {};
  for (const [name, server] of [
    ['a', authority],
    ['b', bad],
    ['c', authority],
    ['off', authority],
  ] as const) {
    const peer = await startProtectedServer(t, { authorizationServers: [server.issuer], accepts: server.accepts });
    entries[name] = { url: peer.url, auth: 'oauth', ...(name === 'off' ? { enabled: false } : {}) };
  }
  entries.plain = { command: 'surely-no-such-command' };
  const home = makeHome(t);
  const browser = installBrowser(home);
  const gateway = await startGateway(t, entries as ServerEntries, { home });

  const result = await startCli(t, home, ['mcp', 'reauth', '--all'], browser.env).ended;

  t.equal(result.code, 1);
  t.match(result.stdout, /Logged in to a\.[\s\S]*Logged in to c\.[\s\S]*2 of 3 logged in; failed: b/);
  t.match(result.stderr, /access_denied/);
  t.equal(browser.opened().length, 3);
  await gateway.reaches('a', 'connected');
  await gateway.reaches('c', 'connected');
  t.match(await gateway.server('b'), { state: 'needsLogin' });

  const interrupted = startCli(t, home, ['mcp', 'reauth', '--all', '--no-browser'], browser.env);
  await interrupted.shows(shownUrl);
  interrupted.interrupt();
  const { code, stdout } = await interrupted.ended;
  t.equal(code, 1);
  t.match(stdout, /0 of 3 logged in/);
  t.equal(stdout.match(/in your browser/g)?.length, 1, 'Ctrl-C ends all of them');
});

t.test('OAU-9 · each profile has its own login and its own tokens', async (t) => {
  const authority = await startScriptedServer(t);
  const peer = await startProtectedServer(t, { authorizationServers: [authority.issuer], accepts: authority.accepts });
  const hub = { hub: { url: peer.url, auth: 'oauth' } };
  const home = makeHome(t, { 'profiles/work/config.yaml': JSON.stringify({ mcp_servers: hub }) });
  const browser = installBrowser(home);
  const gateway = await startGateway(t, hub, { home, config: { gateway: { multiplex_profiles: true } } });
  const rows = async (): Promise<Record<string, string>> =>
    Object.fromEntries(
      ((await gateway.control.call('mcp.list')) as unknown as { profile: string; state: string; error?: string }[]).map(
        ({ profile, state, error }) => [profile, `${state} ${error ?? ''}`],
      ),
    );
  await eventually(async () => /needsLogin/.test((await rows()).work ?? '') || undefined);
  t.match((await rows()).work, 'run `agent mcp login hub --profile work`');

  t.match(await startCli(t, home, ['mcp', 'login', 'hub', '--profile', 'work'], browser.env).ended, { code: 0 });

  await eventually(async () => /^connected/.test((await rows()).work ?? '') || undefined);
  t.match((await rows()).default, /^needsLogin/);
  t.ok(existsSync(join(home.path, 'profiles/work/mcp-tokens/hub.json')));
  t.notOk(existsSync(join(home.path, 'mcp-tokens/hub.json')));
});

t.test('OAU-2 · a name that is no file name is encoded', async (t) => {
  const authority = await startScriptedServer(t);
  const peer = await startProtectedServer(t, { authorizationServers: [authority.issuer], accepts: authority.accepts });
  const home = makeHome(t);
  const browser = installBrowser(home);
  const name = '../../evil name';
  const gateway = await startGateway(t, { [name]: { url: peer.url, auth: 'oauth' } }, { home });
  const row = await gateway.reaches(name, 'needsLogin');
  t.match(row.error, "agent mcp login '../../evil name'");

  t.match(await startCli(t, home, ['mcp', 'login', name], browser.env).ended, { code: 0 });

  await gateway.reaches(name, 'connected');
  t.match(readdirSync(join(home.path, 'mcp-tokens')).sort(), [/^%2E\.%2F.*\.client$/, /\.json$/, /\.meta$/]);
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

async function free(port: number): Promise<boolean> {
  try {
    (await hold(port))();
    return true;
  } catch {
    return false;
  }
}

/** Binds a port; resolves with what lets go of it. */
function hold(port: number): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(() => void server.close()));
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
