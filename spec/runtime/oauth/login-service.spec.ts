import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { normaliseServerEntry } from '../../../machines/config/server-entry.ts';
import { readServerSettings, type ServerSettings } from '../../../machines/mcp/server-settings.ts';
import type { LoginInput } from '../../../machines/oauth/login-step.ts';
import { createLoginService, type LoginRequest } from '../../../runtime/oauth/login-service.ts';
import { createLogins } from '../../../runtime/oauth/logins.ts';
import { tokenStore } from '../../support/oauth/token-store.ts';
import { fakePool } from '../../support/pools.ts';

const url = 'https://mcp.example/mcp';

function stage(t: Test, entries: Readonly<Record<string, JsonObject>>) {
  const browser = fakePool<LoginInput>();
  const device = fakePool<LoginInput>();
  const { credentials, folder } = tokenStore(t);
  const changed: string[] = [];
  const logins = createLogins({ browser: browser.handle, device: device.handle });
  const service = createLoginService({
    logins,
    credentials: () => credentials,
    settings: (_, server): ServerSettings | undefined => {
      const entry = entries[server];
      return entry === undefined ? undefined : readServerSettings(normaliseServerEntry(server, entry));
    },
    changed: (_, server) => void changed.push(server),
    env: {},
    version: '0',
  });
  const login = (server: string, change: Partial<LoginRequest> = {}) =>
    service.login({
      ...{ profile: 'default', server, startedFrom: 'terminal', report: () => {} },
      signal: new AbortController().signal,
      ...change,
    });
  return { service, login, logins, credentials, folder, changed, browser, device };
}

t.test('OAU-1 · DEV-5 · what cannot log in so is refused before anything is begun', async (t) => {
  const { login, browser, device } = stage(t, {
    stdio: { command: 'x' },
    plain: { url },
    device: { url, auth: 'oauth', oauth: { flow: 'device' } },
    hub: { url, auth: 'oauth' },
  });
  const page = { startedFrom: 'page' } as const;
  t.match(await login('nobody'), { kind: 'refused', code: 'server-unknown' });
  t.match(await login('stdio'), { kind: 'refused', code: 'login-not-oauth' });
  t.match(await login('plain'), { kind: 'refused', code: 'login-not-oauth' });
  t.match(await login('device', page), {
    code: 'login-terminal-only',
    message: /`agent mcp login device --flow device`/,
  });
  t.match(await login('hub', { ...page, flow: 'device' }), { code: 'login-terminal-only' });
  t.same([...browser.spawned, ...device.spawned], []);
});

t.test('DEV-1 · the flow is the one that is asked for, else the entry’s', async (t) => {
  const { login, browser, device, logins } = stage(t, {
    device: { url, auth: 'oauth', oauth: { flow: 'device' } },
    hub: { url, auth: 'oauth' },
  });
  const run = async (server: string, change: Partial<LoginRequest>): Promise<void> => {
    const before = browser.spawned.length + device.spawned.length;
    const ended = login(server, change);
    while (browser.spawned.length + device.spawned.length === before)
      await new Promise((resolve) => setImmediate(resolve));
    logins.ended(server, { kind: 'loggedIn' });
    browser.end(server);
    device.end(server);
    t.same(await ended, { kind: 'loggedIn' });
  };
  await run('hub', {});
  await run('device', { flow: 'browser' });
  await run('device', { flow: 'browser', startedFrom: 'page' });
  t.equal(browser.spawned.length, 3);
  t.equal(device.spawned.length, 0);
  await run('device', {});
  await run('hub', { flow: 'device' });
  t.equal(device.spawned.length, 2);
});

t.test('OAU-4 · a login forgets a refused document; one made again, or beside another, does not', async (t) => {
  const { login, logins, credentials, browser } = stage(t, { hub: { url, auth: 'oauth' } });
  const begun = async (change: Partial<LoginRequest>): Promise<boolean> => {
    await credentials.refuseDocument('hub', 'because');
    const before = browser.spawned.length;
    const ended = login('hub', change);
    while (browser.spawned.length === before) await new Promise((resolve) => setImmediate(resolve));
    const refused = credentials.documentRefused('hub');
    logins.ended('hub', { kind: 'loggedIn' });
    browser.end('hub');
    await ended;
    return refused;
  };
  t.equal(await begun({}), false);
  t.equal(await begun({ again: true }), true);

  const first = login('hub');
  while (browser.spawned.length < 3) await new Promise((resolve) => setImmediate(resolve));
  await credentials.refuseDocument('hub', 'found out by the one under way');
  t.match(await login('hub'), { kind: 'refused', code: 'login-under-way' });
  t.ok(credentials.documentRefused('hub'));
  logins.ended('hub', { kind: 'stopped', why: 'x' });
  await first;
});

t.test('OAU-8 · a logout is of what is stored or configured, and not beside a login', async (t) => {
  const { service, login, logins, credentials, folder, changed, browser } = stage(t, { hub: { url, auth: 'oauth' } });
  const logout = (server: string) => service.logout('default', server);
  await credentials.saveTokens('gone', { accessToken: 'a', issuer: 'https://as.example', clientId: 'c' } as never);
  t.match(await logout('nobody'), { kind: 'refused', code: 'server-unknown' });
  t.same(await logout('hub'), { kind: 'loggedOut', wasLoggedIn: false });
  t.same(changed, []);
  t.same(await logout('gone'), { kind: 'loggedOut', wasLoggedIn: true });
  t.same(changed, ['gone']);
  mkdirSync(join(folder, 'stuck.client'));
  t.match(await logout('stuck'), { kind: 'stopped', why: /^the login cannot be deleted: .*; .*disk/ });
  t.same(changed, ['gone', 'stuck'], 'its tokens may be gone');
  const ended = login('hub');
  while (browser.spawned.length === 0) await new Promise((resolve) => setImmediate(resolve));
  t.match(await logout('hub'), { kind: 'refused', code: 'login-under-way' });
  logins.ended('hub', { kind: 'loggedIn' });
  await ended;
});

t.test('TLS-1 · a certificate that is not there ends the login with its own error', async (t) => {
  const { login, logins } = stage(t, { hub: { url, auth: 'oauth', client_cert: '/nowhere/cert.pem' } });
  t.match(await login('hub'), { kind: 'stopped', why: /client_cert.*cert\.pem/ });
  t.notOk(logins.isUnderWay('default', 'hub'));
});

t.test('OAU-8 · what is pasted must be an address, and of the login that waits', async (t) => {
  const { service, login, logins, browser } = stage(t, { hub: { url, auth: 'oauth' } });
  t.notOk(service.paste('default', 'hub', 'http://127.0.0.1/callback?state=s'));
  const ended = login('hub');
  while (browser.spawned.length === 0) await new Promise((resolve) => setImmediate(resolve));
  const row = logins.get('hub');
  if (row !== undefined) row.paste = (query) => query === 'code=c&state=s';
  t.notOk(service.paste('default', 'hub', 'code=c&state=s'));
  t.ok(service.paste('default', 'hub', ' http://127.0.0.1/callback?code=c&state=s '));
  logins.ended('hub', { kind: 'loggedIn' });
  await ended;
});
