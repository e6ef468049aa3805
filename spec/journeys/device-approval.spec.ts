/** How a device login waits and what ends it: a real daemon and command line, a real authorization server and scripted ones. */

import t from 'tap';
import { startAuthorizationServer } from '../support/oauth/authorization-server.ts';
import { loginByControl } from '../support/oauth/control-login.ts';
import { html, oauthError, paths, startScriptedServer } from '../support/oauth/scripted-server.ts';
import { deviceStage, pollsOf } from '../support/oauth/stage.ts';

t.test('DEV-4 · denied on the other device: exit 1, and saved credentials are untouched', async (t) => {
  const authority = await startAuthorizationServer(t);
  const { login, tokens, gateway } = await deviceStage(t, authority, { flow: 'device' });
  const first = login();
  await authority.enterCode(await first.shows(/^ {2}([A-Z]{4}-[A-Z]{4})$/m));
  t.match(await gateway.daemon.passUntil(first.ended), { code: 0 });
  const saved = tokens();

  const second = login();
  await authority.enterCode(await second.shows(/^ {2}([A-Z]{4}-[A-Z]{4})$/m), 'deny');

  t.match(await gateway.daemon.passUntil(second.ended), {
    code: 1,
    stderr: /denied on the other device.*\[login-stopped\]/,
  });
  t.equal(tokens(), saved);
  await gateway.reaches('hub', 'connected');
});

t.test('DEV-4 · what stops a device login leaves saved credentials; trouble on the way does not stop it', async (t) => {
  const authority = await startScriptedServer(t);
  const { home, login, tokens, gateway } = await deviceStage(t, authority, { flow: 'device', timeout: 300 });
  /** Says yes when it is first asked: whoever waited for the code to be shown could be later than the time. */
  const approving: Parameters<typeof authority.on>[1] = (seen) => {
    authority.approve();
    return authority.usual(seen);
  };
  authority.on(paths.token, approving);
  t.match(await gateway.daemon.passUntil(login().ended), { code: 0 });
  await gateway.reaches('hub', 'connected');
  const saved = tokens();
  const usual = (path: string): void => authority.on(path, undefined);
  const device = (changes: object) => (seen: Parameters<typeof authority.usual>[0]) => {
    const answer = authority.usual(seen) as { json: object };
    return { json: { ...answer.json, ...changes } };
  };
  const rows: readonly (readonly [what: string, arrange: () => void, expected: RegExp, passMs?: number])[] = [
    ['expired_token', () => authority.on(paths.token, oauthError('expired_token')), /expired before it was entered/],
    ['access_denied', () => authority.on(paths.token, oauthError('access_denied')), /denied on the other device/],
    ['a page with 200', () => authority.on(paths.token, html), /answered something else/],
    ['no token in it', () => authority.on(paths.token, { json: { token_type: 'Bearer' } }), /answered something else/],
    [
      'no code',
      () => authority.on(paths.device, oauthError('invalid_scope', 400, 'no such scope')),
      /gave no device code: no such scope/,
    ],
    [
      'registration refused',
      () => authority.on(paths.register, oauthError('access_denied', 403)),
      /Registration failed: 403/,
    ],
    ['the configured time is over', () => {}, /the login was not approved within 300 s/, 300_000],
    [
      'the life of the code is over',
      () => authority.on(paths.device, device({ expires_in: 60 })),
      /the login was not approved within 60 s/,
      60_000,
    ],
  ];
  for (const [name, arrange, expected, passMs] of rows) {
    for (const path of Object.values(paths)) usual(path);
    arrange();
    const running = await loginByControl(t, home, 'hub');
    if (passMs !== undefined) {
      await running.progress;
      await gateway.daemon.pass(passMs);
    }
    t.match(await gateway.daemon.passUntil(running.ended), expected, name);
    t.equal(tokens(), saved, name);
    running.cancel();
  }
  for (const path of Object.values(paths)) usual(path);

  const cancelled = login();
  await cancelled.shows(/Ctrl-C cancels/);
  cancelled.interrupt();
  t.match(await cancelled.ended, { code: 130, stderr: /cancelled/ });
  const asked = pollsOf(authority).length;
  t.equal(tokens(), saved);

  authority.on(paths.token, approving);
  t.match(await gateway.daemon.passUntil(login().ended), { code: 0 });
  t.not(tokens(), saved);
  t.ok(pollsOf(authority).length > asked);
});
