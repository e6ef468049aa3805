/** How a device login is begun and by whom: a real daemon and command line, a real authorization server and scripted ones. */

import t from 'tap';
import { runCli } from '../support/daemon.ts';
import { eventually, wordsOf } from '../support/mcp/gateway.ts';
import { paths as oidc, startAuthorizationServer } from '../support/oauth/authorization-server.ts';
import { loginByControl } from '../support/oauth/control-login.ts';
import { startCli } from '../support/oauth/login-cli.ts';
import { pinnedTurn } from '../support/oauth/ports.ts';
import { html, paths, startScriptedServer } from '../support/oauth/scripted-server.ts';
import { deviceGrant, deviceStage, pollsOf } from '../support/oauth/stage.ts';
import { inAllOnly } from '../support/tier.ts';

await pinnedTurn();

t.test('DEV-1 · DEV-3 · DEV-4 · a device login with a real authorization server', async (t) => {
  const authority = await startAuthorizationServer(t);
  const { gateway, login, opened, peer } = await deviceStage(t, authority, {
    client_metadata_url: 'https://agent.test/client.json',
  });
  const running = login('--flow', 'device');
  const url = await running.shows(/open (http\S+) on any device/);
  const code = await running.shows(/^ {2}([A-Z]{4}-[A-Z]{4})$/m);
  t.equal(new URL(url).origin, authority.issuer);

  await authority.enterCode(code);

  t.match(await gateway.daemon.passUntil(running.ended), { code: 0, stdout: /Logged in to hub\./ });
  t.same(opened(), [], 'no browser');
  await gateway.reaches('hub', 'connected');
  t.equal(wordsOf(await gateway.call('mcp__hub__echo', { text: 'in' })), 'in');
  const [registration] = authority.at(oidc.register);
  const asked = JSON.parse(registration?.text ?? '') as Record<string, unknown>;
  t.same(asked.grant_types, [deviceGrant, 'refresh_token']);
  t.same(asked.redirect_uris, []);
  const [device] = authority.at(oidc.device);
  t.match(Object.fromEntries(device?.form ?? []), { scope: /mcp:tools/, resource: peer.url });
  t.not(device?.form.get('client_id'), 'https://agent.test/client.json', 'the document is not used');

  authority.expireTokens();
  t.equal(wordsOf(await gateway.call('mcp__hub__echo', { text: 'renewed' })), 'renewed', 'its refresh token is good');
});

t.test(
  'DEV-1 · DEV-3 · OAU-3 · oauth.flow, a configured client, its scope and its agent',
  { skip: inAllOnly },
  async (t) => {
    const authority = await startScriptedServer(t);
    const { home, login, gateway } = await deviceStage(t, authority, {
      flow: 'device',
      client_id: 'known',
      client_secret: 'known-secret-of-the-device',
      scope: 'mcp:tools offline_access',
      user_agent: 'Fleet/7',
    });
    const running = login();
    await running.shows(/Ctrl-C cancels/);
    await eventually(() => pollsOf(authority).length > 0 || undefined);
    authority.approve();

    const { stdout, code } = await gateway.daemon.passUntil(running.ended);
    t.equal(code, 0);
    t.match(stdout, /To log in to hub, open http\S+\/activate on any device and enter the code:\n\n {2}WDJB-\d+\n/);
    t.match(stdout, /Or open http\S+\/activate\?user_code=WDJB/);
    t.match(stdout, /Waiting; the code is good for 300 s\. Ctrl-C cancels\./, 'oauth.timeout is the shorter bound');
    await gateway.reaches('hub', 'connected');
    t.same(authority.at(paths.register), []);
    const [device] = authority.at(paths.device);
    t.equal(device?.form.get('scope'), 'mcp:tools offline_access');
    t.match(device?.headers['user-agent'], /^AgentGateway-Agent\//);
    for (const { headers } of pollsOf(authority)) {
      t.equal(headers['user-agent'], 'Fleet/7');
      t.match(headers.authorization, /^Basic /);
    }

    const again = startCli(t, home, ['mcp', 'reauth', '--all']);
    await again.shows(/Ctrl-C cancels/);
    authority.approve();
    t.match(await gateway.daemon.passUntil(again.ended), { code: 0 }, 'reauth takes the flow of the entry');
  },
);

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
  const { login, gateway, home, peer } = await deviceStage(t, good, {}, all);

  const running = login('--flow', 'device');
  await running.shows(/Ctrl-C cancels/);
  good.approve();
  t.match(await gateway.daemon.passUntil(running.ended), { code: 0 });
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

t.test('DEV-5 · neither the page nor a background reconnect begins a device login', async (t) => {
  const authority = await startScriptedServer(t);
  const { gateway, home, opened, peer, login } = await deviceStage(t, authority, { flow: 'device' });
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
  t.match(await gateway.daemon.passUntil(running.ended), { code: 0 });
  await gateway.reaches('hub', 'connected');
  authority.expireTokens();
  authority.revokeGrants();
  const devices = authority.at(paths.device).length;
  t.match((await gateway.call('mcp__hub__echo', { text: 'x' })).error, { code: 'needs_login' });
  t.match(await gateway.reaches('hub', 'needsLogin'), { error: /cannot be renewed.*run `agent mcp login hub`/ });
  t.equal(authority.at(paths.device).length, devices, 'a grant that is gone begins nothing either');
});
