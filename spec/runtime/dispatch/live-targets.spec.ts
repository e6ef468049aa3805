import t from 'tap';
import { createLiveTargets } from '../../../runtime/dispatch/live-targets.ts';
import { freePort } from '../../support/http-listener.ts';
import { openPlatforms } from '../../support/live-platforms.ts';
import { eventually } from '../../support/mcp/gateway.ts';
import { slackError } from '../../support/platforms/slack.ts';

t.test('DLV-2 · what a delivery finds out about the credentials is looked into at once', async (t) => {
  const it = await openPlatforms(t);
  await it.send();
  it.server.scripts.push(slackError('token_revoked'));
  t.match(await it.send(), { outcome: { kind: 'refused', class: 'auth' } });
  await eventually(() => (it.checks() === 2 && it.state('slack') === 'connected') || undefined);
});

t.test(
  'DLV-1 · a platform that is not reached is tried all the same, and a delivery that arrives connects it',
  async (t) => {
    const it = await openPlatforms(t, { api_base: `http://127.0.0.1:${await freePort()}` });
    t.match(await it.send(), { outcome: { kind: 'transient' } });
    t.equal(it.state('slack'), 'failed');
    it.pool().get('slack')?.send({ type: 'platform.delivered' });
    t.equal(it.state('slack'), 'connected');
  },
);

t.test('DLV-1 · a reload touches what changed and nothing else', async (t) => {
  const it = await openPlatforms(t);
  await it.send();
  const discord = { discord: { enabled: false } };
  it.configure({}, discord);
  await it.platforms.reconcile();
  t.equal(it.checks(), 1, 'what did not change is not asked again');
  t.match(it.platforms.rows(), [
    { name: 'slack', state: 'connected', account: 'ops' },
    { name: 'discord', state: 'disabled' },
  ]);

  it.configure({ home_channel: 'C0123456789' }, discord);
  await it.platforms.reconcile();
  await it.send();
  t.equal(it.checks(), 2);
  t.match(it.platforms.rows()[0], { home_channel: 'C0123456789' });

  it.configure({ enabled: false });
  await it.platforms.reconcile();
  t.match(it.platforms.rows(), [{ name: 'slack', state: 'disabled' }]);
  t.match(await it.send(), { outcome: { reason: /"slack" is not enabled; set platforms\.slack\.enabled: true/ } });
});

t.test('INS-1 · a connection whose chart crashes again and again stands as failed until a reload', async (t) => {
  const it = await openPlatforms(t);
  await it.send();
  const crash = (): void => {
    it.pool().clear();
    it.platforms.crashed('slack', new Error('a flaw'));
  };
  for (let crashes = 1; crashes <= 5; crashes += 1) {
    crash();
    await it.platforms.reconcile();
    t.equal(it.state('slack'), undefined, 'a reload does not shorten the wait');
    it.woken.splice(0).at(-1)?.();
    t.equal(it.state('slack'), 'verifying');
  }

  crash();

  t.match(it.platforms.rows(), [
    { name: 'slack', state: 'failed', error: /crashed in the gateway again and again: a flaw;/ },
  ]);
  await it.platforms.reconcile();
  await eventually(() => it.state('slack') === 'connected' || undefined);
});

t.test('DLV-4 · what is said to an entry that was changed meanwhile holds its successor up by nothing', async (t) => {
  const { ports, configure } = await openPlatforms(t);
  const targets = createLiveTargets({ ...ports, pool: () => undefined });
  await targets.reconcile();
  const old = targets.find('default', 'slack');
  configure({ home_channel: 'C0123456789' });
  await targets.reconcile();
  const now = targets.find('default', 'slack');
  if (old === undefined || now === undefined || old === now) throw new Error('two entries are wanted');
  const limited = { kind: 'rateLimited', retryAfterMs: 30_000, reason: 'slow down' } as const;

  targets.learn(old, limited, 0);
  t.equal(now.queue?.pauseNow(), undefined);

  targets.learn(now, limited, 0);
  t.match(now.queue?.pauseNow(), { reason: 'slow down' });
});
