/** Browser logins through a real daemon and the real command line, against a real authorization server and a scripted one. */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { askCli } from '../support/daemon.ts';
import { makeHome, type TestHome } from '../support/home.ts';
import { eventually, type ServerEntries, startGateway, wordsOf } from '../support/mcp/gateway.ts';
import {
  type AuthorizationServer,
  paths as oidc,
  startAuthorizationServer,
} from '../support/oauth/authorization-server.ts';
import { createBrowser } from '../support/oauth/browser.ts';
import { installBrowser, shownUrl, startCli } from '../support/oauth/login-cli.ts';
import { free, pinned, pinnedTurn, portOf } from '../support/oauth/ports.ts';
import { startProtectedServer } from '../support/oauth/protected-server.ts';
import { paths, redirectTo, type ScriptedServer, startScriptedServer } from '../support/oauth/scripted-server.ts';
import { type OauthStage, oauthStage } from '../support/oauth/stage.ts';

await pinnedTurn();

const noDesktop = process.platform === 'linux' ? false : 'elsewhere the program that opens a browser has another name';

const real = async (t: Test): Promise<OauthStage<AuthorizationServer>> =>
  oauthStage(t, await startAuthorizationServer(t));

const scripted = async (t: Test, oauth?: Readonly<Record<string, unknown>>): Promise<OauthStage<ScriptedServer>> =>
  oauthStage(t, await startScriptedServer(t), oauth);

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
  t.equal((await askCli(['mcp', 'list'], gateway.home.path)).stdout.includes('connected'), true);
});

t.test('OAU-8 · SEC-1 · the list of processes does not show the address of a login', { skip: noDesktop }, async (t) => {
  const { home } = await real(t);
  const { desk, env, opened } = installDesktop(home);
  const running = startCli(t, home, ['mcp', 'login', 'hub'], env);
  const url = await running.shows(shownUrl);

  const words = await opened();

  t.match(words, /^file:\/\/\/\S+\.html$/, 'with its state, another user could answer the login');
  const file = fileURLToPath(words);
  t.same(
    [file, dirname(file)].map((path) => statSync(path).mode & 0o777),
    [0o600, 0o700],
  );
  t.ok(readFileSync(file, 'utf8').includes(`0; url=${url.replaceAll('&', '&amp;')}"`));
  await createBrowser().visit(url);
  t.match(await running.ended, { code: 0, stdout: /Logged in to hub/ });
  t.same(readdirSync(desk), [], 'the file is removed again');
});

t.test('OAU-8 · a signal cancels a login whose address the desktop was given', { skip: noDesktop }, async (t) => {
  const { home } = await real(t);
  const { desk, env, opened } = installDesktop(home);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const running = startCli(t, home, ['mcp', 'login', 'hub'], env);
    await opened();
    running.interrupt(signal);
    t.match(await running.ended, { code: 130, stderr: /the login was cancelled \[login-stopped\]/ }, signal);
    t.same(readdirSync(desk), [], signal);
  }
});

/** A desktop whose program for addresses writes down what it is given, and an empty folder as the user's home. */
function installDesktop(home: TestHome) {
  const [bin, desk, seen] = ['bin', 'desk', 'seen'].map((name) => join(home.path, name)) as [string, string, string];
  for (const folder of [bin, desk]) mkdirSync(folder);
  const script = `#!/bin/sh\necho "$*" > ${seen}.new && mv ${seen}.new ${seen}\n`;
  writeFileSync(join(bin, 'xdg-open'), script, { mode: 0o700 });
  const places = { PATH: `${bin}:${process.env.PATH}`, HOME: desk, DISPLAY: ':0' };
  return {
    desk,
    env: { ...places, SSH_CONNECTION: undefined, SSH_TTY: undefined },
    /** Resolves with what it was given, once. */
    async opened(): Promise<string> {
      const words = await eventually(() => (existsSync(seen) ? readFileSync(seen, 'utf8') : undefined));
      rmSync(seen);
      return words.trim();
    },
  };
}

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

t.test('OAU-8 · Ctrl-C cancels: exit 130, the port is let go, nothing is written', async (t) => {
  const { gateway, login, file } = await scripted(t);
  const running = login('--no-browser');
  const port = portOf(await running.shows(shownUrl));

  running.interrupt();

  const result = await running.ended;
  t.match(result, { code: 130, stderr: /the login was cancelled/ });
  await eventually(() => free(port).then((isFree) => (isFree ? true : undefined)));
  t.notOk(existsSync(file('.json')));
  await gateway.reaches('hub', 'needsLogin');
  t.match(await login().ended, { code: 0 }, 'and it can be begun again');
});

t.test('OAU-8 · one login of a server at a time; usage and refusals have their codes', async (t) => {
  const { home, login, gateway } = await scripted(t);
  const first = login('--no-browser');
  await first.shows(shownUrl);

  t.match(await login().ended, { code: 1, stderr: /\[login-under-way\]/ });
  t.match(await askCli(['mcp', 'login', 'nobody'], home.path), { code: 1, stderr: /\[server-unknown\]/ });
  t.match(await askCli(['mcp', 'login', 'hub', '--flow', 'magic'], home.path), {
    code: 2,
    stderr: /none of browser, device/,
  });
  t.match(await askCli(['mcp', 'login'], home.path), { code: 2 });
  t.match(await askCli(['mcp', 'reauth'], home.path), { code: 2 });
  t.match(await askCli(['mcp', 'login', 'hub'], makeHome(t).path), { code: 3 });
  gateway.configure({ plain: { url: 'http://127.0.0.1:9/mcp' } });
  await gateway.cli('mcp', 'reload');
  await gateway.reaches('plain', 'backingOff', 'connecting', 'parked', 'failed');
  t.match(await askCli(['mcp', 'login', 'plain'], home.path), { code: 1, stderr: /\[login-not-oauth\]/ });
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
  await gateway.reaches('b', 'needsLogin');

  const interrupted = startCli(t, home, ['mcp', 'reauth', '--all', '--no-browser'], browser.env);
  await interrupted.shows(shownUrl);
  interrupted.interrupt();
  const { code, stdout } = await interrupted.ended;
  t.equal(code, 130);
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
  await eventually(async () => /^needsLogin/.test((await rows()).default ?? '') || undefined);
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

  t.match(await askCli(['mcp', 'logout', name], home.path), { code: 0, stdout: /^Logged out of / });

  await gateway.reaches(name, 'needsLogin');
  t.same(readdirSync(join(home.path, 'mcp-tokens')), []);
  t.match(await askCli(['mcp', 'logout', name], home.path), { code: 0, stdout: /^There was no login to / });
});
