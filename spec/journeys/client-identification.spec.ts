/** Which client a browser login is made by, and at which port its redirect comes in: a real daemon, every case. */

import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import { makeHome } from '../support/home.ts';
import { freePort } from '../support/http-listener.ts';
import { eventually, type ServerEntries, startGateway } from '../support/mcp/gateway.ts';
import {
  type AuthorizationServer,
  documentFor,
  paths as oidc,
  startAuthorizationServer,
} from '../support/oauth/authorization-server.ts';
import { createBrowser } from '../support/oauth/browser.ts';
import { loginByControl } from '../support/oauth/control-login.ts';
import { shownUrl } from '../support/oauth/login-cli.ts';
import { free, hold, pinned, pinnedTurn, portOf } from '../support/oauth/ports.ts';
import { startProtectedServer } from '../support/oauth/protected-server.ts';
import { paths, type ScriptedServer, startScriptedServer } from '../support/oauth/scripted-server.ts';
import { type OauthStage, oauthStage } from '../support/oauth/stage.ts';

await pinnedTurn();

const documentUrl = 'https://agent.test/client.json';

const real = async (t: Test, oauth?: Readonly<Record<string, unknown>>): Promise<OauthStage<AuthorizationServer>> =>
  oauthStage(
    t,
    await startAuthorizationServer(t, { documents: new Map([[documentUrl, documentFor(documentUrl)]]) }),
    oauth,
  );

const scripted = async (t: Test, oauth?: Readonly<Record<string, unknown>>): Promise<OauthStage<ScriptedServer>> =>
  oauthStage(t, await startScriptedServer(t), oauth);

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
    await gateway.daemon.line(({ level, message }) => level === 'warn' && /registering instead/.test(message));
    const ids = browser.opened().map((url) => new URL(url).searchParams.get('client_id'));
    t.equal(ids[1], documentUrl);
    t.not(ids[2], documentUrl);

    authority.refuseDocuments(undefined);
    t.match(await login().ended, { code: 0 });
    t.notOk(existsSync(file('.cimd-off')), 'a login that a person asks for forgets the refusal');
  },
);

t.test(
  'OAU-4 · OAU-7 · refused at the authorization endpoint: no redirect comes, and the old credentials stand',
  async (t) => {
    const { authority, login, logIn, standing, gateway } = await real(t, { client_metadata_url: documentUrl });
    t.equal(await (await logIn()).ended, 'loggedIn');
    await gateway.reaches('hub', 'connected');
    const stored = standing();
    authority.refuseDocuments('always');

    const running = login('--no-browser');
    const page = await createBrowser().visit(await running.shows(shownUrl));

    t.equal(new URL(page.url).origin, authority.issuer, 'the browser stays there');
    t.match(page, { status: 400, body: /invalid_client/ });
    t.same(authority.at(oidc.register), [], 'nothing informs the client: only the time-out will');
    running.interrupt();
    t.match(await running.ended, { code: 130 });
    t.same(standing(), stored);
    t.notOk(existsSync(join(gateway.home.path, 'mcp-tokens', 'hub.cimd-off')));
    t.match(await gateway.server('hub'), { state: 'connected' });
  },
);

t.test('OAU-4 · a registration is used again with its port, but not after a login that it led nowhere', async (t) => {
  const { authority, login, browser, standing } = await scripted(t, { client_name: 'Fleet' });
  t.match(await login().ended, { code: 0 });
  t.match(await login().ended, { code: 0 });
  t.equal(authority.at(paths.register).length, 1);
  const [first, second] = browser.opened().map(portOf);
  t.equal(second, first);

  const stored = standing();
  const stopped = login('--no-browser');
  await stopped.shows(shownUrl);
  stopped.interrupt();
  t.match(await stopped.ended, { code: 130 });
  t.same(standing(), stored);
  t.equal(authority.at(paths.register).length, 1);
  t.match(await login().ended, { code: 0 });
  t.equal(authority.at(paths.register).length, 2, 'the browser may have shown an unknown client');
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
