/** Device logins through a real daemon and the real command line, against a real authorization server and scripted ones. */

import t, { type Test } from 'tap';
import { runCli } from '../support/daemon.ts';
import { controlOf, eventually, wordsOf } from '../support/mcp/gateway.ts';
import {
  type AuthorizationServer,
  paths as oidc,
  startAuthorizationServer,
} from '../support/oauth/authorization-server.ts';
import { loginByControl } from '../support/oauth/control-login.ts';
import { startCli } from '../support/oauth/login-cli.ts';
import { html, oauthError, paths, type ScriptedServer, startScriptedServer } from '../support/oauth/scripted-server.ts';
import { oauthStage } from '../support/oauth/stage.ts';

t.setTimeout(110_000);

const grant = 'urn:ietf:params:oauth:grant-type:device_code';

/** The usual stage, and what a device login must leave alone. */
async function stageWith(
  t: Test,
  authority: AuthorizationServer | ScriptedServer,
  oauth: Readonly<Record<string, unknown>> = {},
  authorizationServers: readonly string[] = [authority.issuer],
) {
  const stage = await oauthStage(t, authority, oauth, { authorizationServers });
  return { ...stage, opened: stage.browser.opened, tokens: () => stage.standing()['hub.json'] };
}

const polls = (authority: ScriptedServer) =>
  authority.at(paths.token).filter(({ form }) => form.get('grant_type') === grant);

t.test('DEV-1 · DEV-3 · DEV-4 · a device login with a real authorization server', async (t) => {
  const authority = await startAuthorizationServer(t);
  const { gateway, login, opened, peer } = await stageWith(t, authority, {
    client_metadata_url: 'https://agent.test/client.json',
  });
  const running = login('--flow', 'device');
  const url = await running.shows(/^Open (http\S+) on any device/m);
  const code = await running.shows(/^ {2}([A-Z]{4}-[A-Z]{4})$/m);
  t.equal(new URL(url).origin, authority.issuer);

  await authority.enterCode(code);

  t.match(await running.ended, { code: 0, stdout: /Logged in to hub\./ });
  t.same(opened(), [], 'no browser');
  await gateway.reaches('hub', 'connected');
  t.equal(wordsOf(await gateway.call('mcp__hub__echo', { text: 'in' })), 'in');
  const [registration] = authority.at(oidc.register);
  const asked = JSON.parse(registration?.text ?? '') as Record<string, unknown>;
  t.same(asked.grant_types, [grant, 'refresh_token']);
  t.same(asked.redirect_uris, []);
  const [device] = authority.at(oidc.device);
  t.match(Object.fromEntries(device?.form ?? []), { scope: /mcp:tools/, resource: peer.url });
  t.not(device?.form.get('client_id'), 'https://agent.test/client.json', 'the document is not used');

  authority.expireTokens();
  t.equal(wordsOf(await gateway.call('mcp__hub__echo', { text: 'renewed' })), 'renewed', 'its refresh token is good');
});

t.test('DEV-4 · denied on the other device: exit 1, and saved credentials are untouched', async (t) => {
  const authority = await startAuthorizationServer(t);
  const { login, tokens, gateway } = await stageWith(t, authority, { flow: 'device' });
  const first = login();
  await authority.enterCode(await first.shows(/^ {2}([A-Z]{4}-[A-Z]{4})$/m));
  t.match(await first.ended, { code: 0 });
  const saved = tokens();

  const second = login();
  await authority.enterCode(await second.shows(/^ {2}([A-Z]{4}-[A-Z]{4})$/m), 'deny');

  t.match(await second.ended, { code: 1, stderr: /denied on the other device.*\[login-stopped\]/ });
  t.equal(tokens(), saved);
  t.match(await gateway.server('hub'), { state: 'connected' });
});

t.test('DEV-1 · DEV-3 · OAU-3 · oauth.flow, a configured client, its scope and its agent', async (t) => {
  const authority = await startScriptedServer(t);
  const { home, login, gateway } = await stageWith(t, authority, {
    flow: 'device',
    client_id: 'known',
    client_secret: 'known-secret-of-the-device',
    scope: 'mcp:tools offline_access',
    user_agent: 'Fleet/7',
  });
  const running = login();
  await running.shows(/Ctrl-C cancels/);
  await eventually(() => polls(authority).length > 0 || undefined);
  authority.approve();

  const { stdout, code } = await running.ended;
  t.equal(code, 0);
  t.match(stdout, /Open http\S+\/activate on any device and enter the code:\n\n {2}WDJB-\d+\n/);
  t.match(stdout, /Or open http\S+\/activate\?user_code=WDJB/);
  t.match(stdout, /Waiting; the code is good for 300 s\. Ctrl-C cancels\./, 'oauth.timeout is the shorter bound');
  await gateway.reaches('hub', 'connected');
  t.same(authority.at(paths.register), []);
  const [device] = authority.at(paths.device);
  t.equal(device?.form.get('scope'), 'mcp:tools offline_access');
  t.match(device?.headers['user-agent'], /^AgentGateway-Agent\//);
  for (const { headers } of polls(authority)) {
    t.equal(headers['user-agent'], 'Fleet/7');
    t.match(headers.authorization, /^Basic /);
  }

  const again = startCli(t, home, ['mcp', 'reauth', '--all']);
  await again.shows(/Ctrl-C cancels/);
  authority.approve();
  t.match(await again.ended, { code: 0 }, 'reauth takes the flow of the entry');
});

t.test('DEV-2 · the first authorization server whose issuer matches and that offers the grant', async (t) => {
  const [gone, mismatched, without, unlisted, page, good, later] = await Promise.all(
    Array.from({ length: 7 }, () => startScriptedServer(t)),
  );
  if (!(gone && mismatched && without && unlisted && page && good && later)) return;
  gone.on(paths.metadata, { status: 404, json: {} });
  mismatched.on(paths.metadata, { json: mismatched.metadata({ issuer: good.issuer }) });
  without.on(paths.metadata, { json: without.metadata({ device_authorization_endpoint: undefined }) });
  unlisted.on(paths.metadata, { json: unlisted.metadata({ grant_types_supported: ['authorization_code'] }) });
  page.on(paths.metadata, html);
  const all = [gone, mismatched, without, unlisted, page, good, later].map(({ issuer }) => issuer);
  const { login, gateway, home, peer } = await stageWith(t, good, {}, all);

  const running = login('--flow', 'device');
  await running.shows(/Ctrl-C cancels/);
  good.approve();
  t.match(await running.ended, { code: 0 });
  await gateway.reaches('hub', 'connected');
  t.same(later.seen, [], 'nobody after it is asked');
  for (const each of [gone, mismatched, without, unlisted, page]) t.same(each.at(paths.device), []);

  peer.name(...all.slice(0, 5));
  const refused = await runCli(['mcp', 'login', 'hub', '--flow', 'device'], home.path);
  t.equal(refused.code, 1);
  for (const reason of [
    `${gone.issuer} has no metadata`,
    mismatched.issuer,
    `${without.issuer} has no device_authorization_endpoint`,
    `${unlisted.issuer} does not list the device_code grant`,
    `${page.issuer}: its metadata is no JSON`,
  ]) {
    t.match(refused.stderr, reason);
  }
  t.match(refused.stderr, '--flow browser', 'what to do instead is said');
  t.equal(refused.stdout.includes('in your browser'), false, 'and is not done');
});

t.test('DEV-4 · what stops a device login leaves saved credentials; trouble on the way does not stop it', async (t) => {
  const authority = await startScriptedServer(t);
  const { home, login, tokens, gateway } = await stageWith(t, authority, { flow: 'device', timeout: 2 });
  const first = login();
  await first.shows(/Ctrl-C cancels/);
  authority.approve();
  t.match(await first.ended, { code: 0 });
  await gateway.reaches('hub', 'connected');
  const saved = tokens();
  const usual = (path: string): void => authority.on(path, undefined);
  const device = (changes: object) => (seen: Parameters<typeof authority.usual>[0]) => {
    const answer = authority.usual(seen) as { json: object };
    return { json: { ...answer.json, ...changes } };
  };
  const rows: readonly (readonly [string, () => void, RegExp])[] = [
    ['expired_token', () => authority.on(paths.token, oauthError('expired_token')), /expired before it was entered/],
    ['access_denied', () => authority.on(paths.token, oauthError('access_denied')), /denied on the other device/],
    ['invalid_client', () => authority.on(paths.token, oauthError('invalid_client', 401)), /invalid_client/],
    ['unauthorized_client', () => authority.on(paths.token, oauthError('unauthorized_client')), /unauthorized_client/],
    ['a page with 200', () => authority.on(paths.token, html), /answered something else/],
    ['no token in it', () => authority.on(paths.token, { json: { token_type: 'Bearer' } }), /answered something else/],
    [
      'no code',
      () => authority.on(paths.device, oauthError('invalid_scope', 400, 'no such scope')),
      /gave no device code: no such scope/,
    ],
    ['no code but a page', () => authority.on(paths.device, html), /gave no device code/],
    [
      'registration refused',
      () => authority.on(paths.register, oauthError('access_denied', 403)),
      /Registration failed: 403/,
    ],
    ['the configured time is over', () => {}, /nobody approved the login within 2 s/],
    [
      'the life of the code is over',
      () => authority.on(paths.device, device({ expires_in: 1 })),
      /nobody approved the login within 1 s/,
    ],
  ];
  for (const [name, arrange, expected] of rows) {
    for (const path of Object.values(paths)) usual(path);
    arrange();
    const running = await loginByControl(t, home, 'hub');
    t.match(await running.ended, expected, name);
    t.equal(tokens(), saved, name);
    running.cancel();
  }
  for (const path of Object.values(paths)) usual(path);

  const cancelled = login();
  await cancelled.shows(/Ctrl-C cancels/);
  cancelled.interrupt();
  t.match(await cancelled.ended, { code: 1, stderr: /cancelled/ });
  const asked = polls(authority).length;
  t.equal(tokens(), saved);

  const again = login();
  await again.shows(/Ctrl-C cancels/);
  authority.approve();
  t.match(await again.ended, { code: 0 });
  t.not(tokens(), saved);
  t.ok(polls(authority).length > asked);
});

t.test('DEV-4 · pending, slow_down, a proxy in the way and a broken connection keep it waiting', async (t) => {
  const authority = await startScriptedServer(t);
  const { gateway, login } = await stageWith(t, authority, { flow: 'device' });
  const script = [
    oauthError('authorization_pending'),
    { kind: 'text', status: 502, text: '<h1>Bad gateway</h1>', type: 'text/html' } as const,
    undefined,
  ];
  authority.on(paths.token, (seen) => {
    const next = script.shift();
    if (next === undefined) authority.approve();
    return next ?? authority.usual(seen);
  });

  t.match(await login().ended, { code: 0 });

  t.equal(polls(authority).length, 3);
  await gateway.reaches('hub', 'connected');
});

t.test('DEV-5 · neither the page nor a background reconnect begins a device login', async (t) => {
  const authority = await startScriptedServer(t);
  const { gateway, home, opened, peer, login } = await stageWith(t, authority, { flow: 'device' });
  await gateway.reaches('hub', 'needsLogin');

  const page = await loginByControl(t, home, 'hub', { from: 'page' });
  t.match(await page.ended, /begun from a terminal: `agent mcp login hub --flow device` \[login-terminal-only\]/);
  const chosen = await loginByControl(t, home, 'hub', { from: 'page', flow: 'device' });
  t.match(await chosen.ended, /\[login-terminal-only\]/);
  for (let times = 0; times < 3; times += 1) {
    const before = peer.requests.length;
    await gateway.cli('mcp', 'reload', 'hub');
    await eventually(() => peer.requests.length > before || undefined);
    await gateway.reaches('hub', 'needsLogin');
  }
  t.match(
    (await gateway.call('mcp__hub__echo', { text: 'x' })).error?.code,
    /unknown_tool|server_unavailable|needs_login/,
  );
  t.same(authority.seen, [], 'the authorization server heard nothing');
  t.same(opened(), []);

  const running = login();
  await running.shows(/Ctrl-C cancels/);
  authority.approve();
  t.match(await running.ended, { code: 0 });
  await gateway.reaches('hub', 'connected');
  authority.expireTokens();
  authority.revokeGrants();
  const devices = authority.at(paths.device).length;
  t.match((await gateway.call('mcp__hub__echo', { text: 'x' })).error, { code: 'needs_login' });
  t.match(await gateway.reaches('hub', 'needsLogin'), { error: /cannot be renewed.*run `agent mcp login hub`/ });
  t.equal(authority.at(paths.device).length, devices, 'a grant that is gone begins nothing either');
});

t.test('DEV-1 · a device registration is never used for a browser login', async (t) => {
  const authority = await startScriptedServer(t);
  const { home, login, gateway } = await stageWith(t, authority);
  const running = login('--flow', 'device');
  await running.shows(/Ctrl-C cancels/);
  authority.approve();
  t.match(await running.ended, { code: 0 });

  t.match(await login().ended, { code: 0 });

  const registrations = authority.at(paths.register).map(({ text }) => JSON.parse(text) as { redirect_uris: string[] });
  t.same(
    registrations.map(({ redirect_uris: uris }) => uris.length),
    [0, 1],
  );
  await gateway.reaches('hub', 'connected');
  const control = await controlOf(t, home);
  t.same(await control.call('mcp.oauthServers'), [{ profile: 'default', server: 'hub' }]);
});
