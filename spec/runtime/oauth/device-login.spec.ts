import t from 'tap';
import { eventually } from '../../support/mcp/gateway.ts';
import { loginStage } from '../../support/oauth/login-stage.ts';
import { oauthError, paths } from '../../support/oauth/scripted-server.ts';

t.test(
  'DEV-1 · DEV-4 · a device login reports its code, asks at its interval, and stores what is approved',
  async (t) => {
    const { authority, begin, clock, credentials, inState } = await loginStage(t);
    const login = begin('device', { timeout: 120 });
    t.match(await login.code(), {
      kind: 'code',
      verification_uri: `${authority.issuer}/activate`,
      verification_uri_complete: /user_code=WDJB/,
      user_code: /^WDJB-/,
      expires_in_seconds: 120,
    });
    await inState('device', 'waiting');
    t.equal(authority.at(paths.token).length, 0, 'nobody is asked before the interval is over');
    clock.increment(1_000);
    await eventually(async () => authority.at(paths.token).length === 1 || undefined);
    await inState('device', 'waiting');
    authority.approve();
    clock.increment(1_000);

    t.same(await login.outcome, { kind: 'loggedIn' });
    t.ok(authority.accepts(credentials.tokens('hub')?.accessToken ?? ''));
    t.match(credentials.client('hub'), { issuer: authority.issuer });
    t.equal(credentials.client('hub')?.redirectUri, undefined);
  },
);

t.test('DEV-4 · a device login that is denied stops with what the authorization server said', async (t) => {
  const { authority, begin, clock, credentials, inState } = await loginStage(t);
  const login = begin('device');
  await inState('device', 'waiting');
  authority.on(paths.token, oauthError('access_denied'));
  clock.increment(1_000);
  t.match(await login.outcome, { kind: 'stopped', why: /denied/ });
  t.equal(credentials.tokens('hub'), undefined);

  authority.on(paths.device, oauthError('invalid_scope'));
  t.match(await begin('device').outcome, { kind: 'stopped', why: /invalid_scope/ });
});
