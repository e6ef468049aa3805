import t, { type Test } from 'tap';
import { loadHome } from '../../actors/config/load-config.ts';
import { compile } from '../../machines/base/compile.ts';
import type { PlatformInput } from '../../machines/dispatch/platform-connection.machine.ts';
import type { DeliveryRecord } from '../../machines/webhook/record.ts';
import { createPlatforms, type Platforms } from '../../runtime/platforms.ts';
import { wirePlatform } from '../../runtime/wiring/platform.ts';
import { never } from '../conformance/target.ts';
import { makeHome } from '../support/home.ts';
import { eventually } from '../support/mcp/gateway.ts';
import { freePort } from '../support/oauth/ports.ts';
import { startPlatform } from '../support/platforms/fake-platform.ts';
import { slackError, teamChatA } from '../support/platforms/team-chat-a.ts';
import { startWard } from '../support/wards.ts';

/** The live targets of a home, over a real ward and a platform on loopback. */
async function openPlatforms(t: Test, slack: object = {}) {
  const server = await startPlatform(teamChatA);
  t.teardown(() => server.close());
  const home = makeHome(t);
  const configure = (entry: object, more: object = {}): void => {
    const base = { enabled: true, api_base: server.base, ...teamChatA.options, ...entry };
    home.write('config.yaml', JSON.stringify({ platforms: { slack: base, ...more } }));
    loaded = loadHome({ home: home.path, env: {} });
  };
  let loaded = loadHome({ home: home.path, env: {} });
  configure(slack);
  const clock = { ms: 1_000_000 };
  const log = { log: () => {}, warnOnce: () => {} };
  const ward = startWard<PlatformInput>(t, compile(wirePlatform({ platforms: () => platforms, log })), {
    onDone: (key) => platforms.ended(key),
  });
  const platforms: Platforms = createPlatforms({
    home: () => loaded,
    ward,
    owner: { log, ports: { now: () => clock.ms, wait: () => Promise.resolve(), random: () => 1 } },
    wake: () => () => {},
    nowMs: () => clock.ms,
    random: () => 0,
    log,
  });
  await platforms.reconcile();
  const send = (more: Partial<DeliveryRecord> = {}) =>
    platforms.send(
      {
        target: 'slack',
        deliveryId: 'd',
        profile: 'default',
        text: 'hello',
        extra: { chat_id: teamChatA.chat ?? '' },
        ...more,
      } as DeliveryRecord,
      never,
    );
  const checks = () => server.requests.filter(({ path }) => path === '/auth.test').length;
  const state = (key: string) => ward().get(key)?.getSnapshot().value;
  return { server, platforms, configure, clock, send, checks, state, ward };
}

t.test('DLV-2 · a delivery waits for the first check, and goes when it is good', async (t) => {
  const it = await openPlatforms(t);
  t.match(await it.send(), { outcome: { kind: 'delivered' }, deduplicatesForMs: 0, policy: { attempts: 15 } });
  t.same(
    it.server.requests.map(({ path }) => path),
    ['/auth.test', '/chat.postMessage'],
  );
  t.match(await it.send({ profile: 'gone' }), { outcome: { reason: /profile "gone" is not configured any more/ } });
  t.match(await it.send({ target: 'telegram' }), { outcome: { reason: /"telegram" is not enabled/ } });
  t.match(await it.send({ target: 'log' }), {
    outcome: { kind: 'delivered' },
    deduplicatesForMs: Number.POSITIVE_INFINITY,
  });
});

t.test('DUR-1 · DLV-2 · no place is given before the first check has ended, and none to who has left', async (t) => {
  const it = await openPlatforms(t);
  const record = { target: 'slack', profile: 'default', extra: {} } as unknown as DeliveryRecord;
  const granted: string[] = [];
  const first = it.platforms.ask(record, () => void granted.push(`first, ${it.state('slack')}`));
  t.equal(it.state('slack'), 'verifying');
  t.same(granted, [], 'nothing is marked as sent while nothing can be');
  first();
  it.clock.ms += 60_000;
  it.platforms.ask(record, () => void granted.push(`second, ${it.state('slack')}`));

  await eventually(() => granted.length > 0 || undefined);

  t.same(granted, ['second, connected']);
});

t.test(
  'DLV-2 · where the credentials are refused nothing is sent, and a delivery makes it look again once a minute',
  async (t) => {
    const it = await openPlatforms(t, teamChatA.wrongOptions);
    for (let times = 0; times < 3; times += 1) {
      t.match(await it.send(), {
        outcome: {
          kind: 'refused',
          class: 'auth',
          reason: /^target "slack" is not connected: slack: .*mend platforms\.slack/,
        },
      });
    }
    t.equal(it.checks(), 1);
    it.clock.ms += 60_000;
    await it.send();
    t.equal(it.checks(), 2);
    it.platforms.check('default', 'slack');
    await eventually(() => it.checks() === 3 || undefined);
    t.notOk(it.server.requests.some(({ path }) => path === '/chat.postMessage'));
  },
);

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
    it.ward().get('slack')?.send({ type: 'platform.delivered' });
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
    { name: 'slack', target: 'team_chat_a', state: 'connected', account: 'ops' },
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

t.test('DLV-4 · a platform that asks to wait holds the others back as well', async (t) => {
  const it = await openPlatforms(t);
  it.server.scripts.push({ status: 429, json: { ok: false, error: 'ratelimited' }, headers: { 'retry-after': '30' } });
  t.match(await it.send(), { outcome: { kind: 'rateLimited', retryAfterMs: 30_000 } });
  let granted = 0;
  const record = { target: 'team_chat_a', profile: 'default', extra: {} } as unknown as DeliveryRecord;
  const leave = it.platforms.ask(record, () => {
    granted += 1;
  });
  t.equal(granted, 0);
  leave();
  it.configure({}, { discord: { enabled: false } });
  await it.platforms.reconcile();
  it.platforms.ask(record, () => {
    granted += 1;
  })();
  t.equal(granted, 0, 'a reload that does not touch it forgets no pause');
  it.clock.ms += 30_000;
  it.platforms.ask(record, () => {
    granted += 1;
  });
  t.equal(granted, 1);
});

t.test(
  'DLV-2 · DUR-1 · a text that has begun to arrive goes on at its place, whatever the home channel is now',
  async (t) => {
    const old = teamChatA.chat ?? '';
    const it = await openPlatforms(t, { home_channel: old });
    const first = await it.send({ extra: {} });
    t.match(first, { outcome: { kind: 'delivered' }, chat: old });
    it.configure({ home_channel: 'C0NEW' });
    await it.platforms.reconcile();
    const at = (more: object) =>
      it.platforms.placeOf({ target: 'slack', profile: 'default', ...more } as DeliveryRecord);

    t.equal(at({ extra: {}, chat: old }), 'C0NEW', 'nothing has arrived: a mended home channel is obeyed');
    t.equal(at({ extra: {}, chat: old, unsureSinceMs: 1 }), old);
    const text = 'x'.repeat(4_001);
    t.match(await it.send({ extra: {}, text, chat: old, sent: { pieces: 1, of: 2 } }), {
      outcome: { kind: 'delivered' },
      chat: old,
    });
    t.same(
      it.server.world.messages.map(({ place }) => place),
      [teamChatA.place, teamChatA.place],
    );
  },
);
