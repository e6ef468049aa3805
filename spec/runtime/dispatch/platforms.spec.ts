import t from 'tap';
import type { DeliveryRecord } from '../../../machines/webhook/record.ts';
import { createPlatforms } from '../../../runtime/dispatch/platforms.ts';
import { never } from '../../conformance/target.ts';
import { openPlatforms, slackRecord } from '../../support/live-platforms.ts';
import { eventually } from '../../support/mcp/gateway.ts';
import { httpApi } from '../../support/platforms/described.ts';
import { discordApi } from '../../support/platforms/discord.ts';
import { startPlatform } from '../../support/platforms/fake-platform.ts';
import { slackApi, slackError } from '../../support/platforms/slack.ts';

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

t.test('SCA-1 · CLI-2 · what the leader lacks names it, since the other gateways may have it', async (t) => {
  const it = await openPlatforms(t);
  Object.assign(it.ports, { node: () => 'eu-2' });
  for (const [more, reason] of [
    [{ target: 'telegram' }, /^target "telegram" is not enabled; set .* credentials \(at gateway "eu-2", which sends/],
    [
      { profile: 'gone' },
      /^profile "gone" is not configured any more \(at gateway "eu-2", which sends the deliveries\)$/,
    ],
  ] as const)
    t.match(await it.send(more), { outcome: { kind: 'refused', reason } });
});

t.test('DUR-1 · DLV-2 · no place is given before the first check has ended, and none to who has left', async (t) => {
  const it = await openPlatforms(t);
  const record = slackRecord('d');
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
    const it = await openPlatforms(t, slackApi.wrongOptions);
    for (let times = 0; times < 3; times += 1) {
      t.match(await it.send(), {
        outcome: {
          kind: 'refused',
          class: 'auth',
          reason: /^target "slack" is not connected: slack: .*correct platforms\.slack/,
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

t.test('DUR-1 · DLV-4 · a text that may have arrived is sent only while its platform still knows it', async (t) => {
  const it = await openPlatforms(t);
  const server = await startPlatform(t, discordApi);
  it.configure({}, { discord: { enabled: true, api_base: server.base, ...discordApi.options } });
  await it.platforms.reconcile();
  const nowMs = it.ports.nowMs();
  const again = (unsureSinceMs: number) =>
    it.send({ target: 'discord', extra: { chat_id: discordApi.chat ?? '' }, unsureSinceMs });
  const posts = () => server.requests.filter(({ method }) => method === 'POST').length;

  // However long it waited for its next try, for its place, or while no gateway ran.
  for (const since of [nowMs - 120_000, nowMs - 3_600_000, nowMs + 1])
    t.match(await again(since), { outcome: { kind: 'refused', reason: /earlier try may have arrived/ } });
  t.equal(posts(), 0);

  t.match(await again(nowMs - 119_999), { outcome: { kind: 'delivered' } });
  t.equal(posts(), 1);
});

t.test('DLV-4 · a platform that asks to wait holds the others back as well', async (t) => {
  const it = await openPlatforms(t);
  it.server.scripts.push({ status: 429, json: { ok: false, error: 'ratelimited' }, headers: { 'retry-after': '30' } });
  t.match(await it.send(), { outcome: { kind: 'rateLimited', retryAfterMs: 30_000 } });
  const record = slackRecord('d', { extra: {} });
  const ask = () => it.ask('d', { extra: {} });
  const leave = ask();
  t.same(it.granted, []);
  leave();
  it.configure({}, { discord: { enabled: false } });
  await it.platforms.reconcile();
  ask()();
  t.same(it.granted, [], 'a reload that does not touch it forgets no pause');
  t.match(it.platforms.rows()[0], { paused_until: /^1970-01-01T/, pause_reason: /asks for fewer messages/ });
  t.match(it.platforms.pauseOf(record), { untilMs: 2_000_000 - it.clock.ms + 30_000 });
  t.equal(it.platforms.pauseOf({ ...record, status: 'sending' }), undefined, 'what is on its way waits for none');
  t.equal(it.platforms.pauseOf({ ...record, status: 'deadLettered' }), undefined, 'nor what is over');
  it.clock.ms += 30_000;
  ask();
  t.same(it.granted, ['d']);
});

t.test('DLV-4 · who waits keeps its place in the queue when the entry of its target changes', async (t) => {
  const it = await openPlatforms(t, { messages_per_minute: 1 });
  await it.send();
  const leave = [it.ask('first'), it.ask('second')];
  it.server.scripts.push({ status: 429, json: { ok: false, error: 'ratelimited' }, headers: { 'retry-after': '900' } });
  await it.send();
  it.platforms.release(slackRecord('d'));
  it.configure({ messages_per_minute: 60_000, timeout_seconds: 300 });
  await it.platforms.reconcile();
  leave.push(it.ask('third'));
  await it.send({ target: 'slack' });

  for (const [index, name] of ['first', 'second', 'third'].entries()) {
    it.pass(1_001);
    await eventually(() => it.granted.length > index || undefined);
    t.same(it.granted.slice(index), [name], 'one at a time, in their order, at the new pace');
    leave[index]?.();
  }
  t.equal(it.platforms.rows()[0]?.paused_until, undefined, 'what was asked of the earlier entry is found anew');
});

t.test('DLV-2 · DLV-4 · a new home channel takes what waits one at a time, with its own texts', async (t) => {
  const it = await openPlatforms(t, { home_channel: slackApi.chat });
  await it.send();
  const { granted } = it;
  const ask = (name: string) => it.ask(name, { extra: {} });
  const pass = () => it.pass(60_000);
  pass();
  const first = ask('first');
  const second = ask('second');
  it.configure({ home_channel: 'C0987654321' });
  await it.platforms.reconcile();
  await eventually(() => it.state('slack') === 'connected' || undefined);
  const third = ask('third');
  t.same(granted, ['first', 'third']);

  first();
  pass();
  t.same(granted, ['first', 'third'], 'the turn of the earlier chat is none in the new one');
  third();
  pass();
  t.same(granted, ['first', 'third', 'second']);
  second();
  ask('fourth');
  pass();
  t.equal(granted.at(-1), 'fourth');
});

t.test('DLV-4 · texts behind a half-sent one are not held up by it once their target is removed', async (t) => {
  const it = await openPlatforms(t);
  await it.send();
  it.clock.ms += 60_000;
  it.platforms.hold(slackRecord('first', { sent: { pieces: 1, of: 2 } }));
  it.ask('second');
  it.respell('discord');
  await it.platforms.reconcile();
  t.same(it.granted, []);

  it.platforms.release(slackRecord('first'));

  t.same(it.granted, ['second'], 'so that it fails too, with the reason');
});

t.test('DLV-4 · who retries has one go in spite of a pause, and what arrives then ends it', async (t) => {
  const it = await openPlatforms(t);
  it.server.scripts.push({ status: 429, json: { ok: false, error: 'ratelimited' }, headers: { 'retry-after': '900' } });
  await it.send();
  it.platforms.check('default', 'slack');
  for (const chat of ['C1', 'C2']) it.ask(chat, { extra: { chat_id: chat } });
  t.same(it.granted, ['C1']);
  it.clock.ms += 1;

  await it.send();

  t.same(it.granted, ['C1', 'C2']);
  t.equal(it.platforms.rows()[0]?.paused_until, undefined);
});

t.test('DLV-4 · no text comes into the middle of another that waits for its next try', async (t) => {
  const it = await openPlatforms(t);
  const { ask, granted } = it;
  const first = slackRecord('first', { text: 'x'.repeat(4_001) });
  await it.send();
  it.clock.ms += 60_000;
  const leave = ask('first');
  ask('second');
  it.server.scripts.push(undefined as never, slackError('internal_error'));
  const sending = it.send(first);
  await eventually(() => it.server.world.messages.length === 2 || undefined);
  it.pass(60_000);
  t.match(await sending, { outcome: { partly: { pieces: 1, of: 2 } } });

  leave();
  it.clock.ms += 60_000;
  ask('third');
  t.same(granted, ['first']);
  ask('first')();
  t.same(granted, ['first', 'first']);
  it.platforms.release(first);
  it.pass(60_000);
  t.same(granted, ['first', 'first', 'second']);
});

t.test('CON-2 · DUR-1 · the end of a drain begins no further piece of a text, unless a sender waits', async (t) => {
  const it = await openPlatforms(t);
  await it.send();
  const ending = new AbortController();
  const platforms = createPlatforms({ ...it.ports, ending: ending.signal });
  await platforms.reconcile();
  const send = async (more: object, messages: number) => {
    const record = slackRecord('d', { text: 'x'.repeat(4_001), ...more });
    // The second piece waits for the pace of its chat.
    platforms.ask(record, () => {})();
    const sending = platforms.send(record, never);
    await eventually(() => it.server.world.messages.length === messages || undefined);
    return { sending };
  };

  const cut = await send({}, 2);
  ending.abort();
  t.match(await cut.sending, { outcome: { kind: 'transient', partly: { pieces: 1, of: 2 } } });

  const awaited = await send({ answerByMs: 9_000_000 }, 3);
  it.pass(60_000);
  t.match(await awaited.sending, { outcome: { kind: 'delivered' } });
});

t.test(
  'DLV-2 · DUR-1 · a text that has begun to arrive goes on at its place, whatever the home channel is now',
  async (t) => {
    const old = slackApi.chat ?? '';
    const it = await openPlatforms(t, { home_channel: old });
    const first = await it.send({ extra: {} });
    t.match(first, { outcome: { kind: 'delivered' }, chat: old });
    it.configure({ home_channel: 'C0NEW' });
    await it.platforms.reconcile();
    const at = (more: Partial<DeliveryRecord>) => it.platforms.placeOf(slackRecord('d', more));

    t.equal(at({ extra: {}, chat: old }), 'C0NEW', 'nothing has arrived: a mended home channel is obeyed');
    t.equal(at({ extra: {}, chat: old, unsureSinceMs: 1 }), old);
    t.equal(at({ extra: {}, chat: old, status: 'sending' }), old, 'a crash may have cut it off');
    const text = 'x'.repeat(4_001);
    t.match(await it.send({ extra: {}, text, chat: old, sent: { pieces: 1, of: 2 } }), {
      outcome: { kind: 'delivered' },
      chat: old,
    });
    t.same(
      it.server.world.messages.map(({ place }) => place),
      [slackApi.chat, slackApi.chat],
    );
  },
);

t.test('DLV-6 · SCA-2 · a report whose run a database does not give yet is sent once it does', async (t) => {
  const it = await openPlatforms(t);
  const server = await startPlatform(t, httpApi);
  it.configure({}, { http: { enabled: true, ...httpApi.options, url: `${server.base}/reports?tenant=acme` } });
  let asked = 0;
  const runOf = async (): Promise<undefined> => {
    asked += 1;
    if (asked > 1) return;
    it.clock.ms += 600_000;
    throw new Error('the database starts');
  };
  Object.assign(it.ports, { runOf });
  await it.platforms.reconcile();
  t.match(await it.send({ target: 'http', runKey: 'r1', queuedAtMs: 0, extra: {} }), {
    outcome: { kind: 'delivered' },
  });
  t.equal(asked, 2);
  const signedAt = server.requests.map(({ headers }) => headers['webhook-timestamp']);
  t.same(
    signedAt,
    [String(Math.floor(it.clock.ms / 1_000))],
    'signed when it is sent, so that no receiver finds it too old',
  );
});

t.test('DLV-4 · DLV-6 · a report that is tried again holds up those of its event alone', async (t) => {
  const it = await openPlatforms(t);
  const server = await startPlatform(t, httpApi);
  it.configure({}, { http: { enabled: true, ...httpApi.options, url: server.base } });
  await it.platforms.reconcile();
  const record = (runKey: string, eventKey: string) => slackRecord(eventKey, { target: 'http', runKey, extra: {} });
  it.platforms.hold(record('r1', 'e1'));
  const granted: string[] = [];
  for (const [run, event] of [
    ['r2', 'e1'],
    ['r3', 'e2'],
  ] as const)
    it.platforms.ask(record(run, event), () => void granted.push(run));
  await eventually(() => granted.length > 0 || undefined);
  t.same(granted, ['r3']);
  t.match(it.platforms.pauseOf(record('r2', 'e1')), { behind: 'r1' });
});

t.test('CON-2 · DUR-1 · who has a turn and waits for the check is left to the next start, too', async (t) => {
  const it = await openPlatforms(t);
  const { granted } = it;
  it.ask('parked', { extra: { chat_id: 'parked' } });
  it.ask('awaited', { extra: { chat_id: 'awaited' }, answerByMs: 5 });
  t.equal(it.state('slack'), 'verifying');

  it.platforms.park();

  await eventually(() => granted.includes('awaited') || undefined);
  t.same(granted, ['awaited']);
});

t.test('DUR-1 · a target that is renamed to an alias is waited for under its new name', async (t) => {
  const it = await openPlatforms(t);
  await it.send();
  const { granted } = it;
  const leave = it.ask('first');
  it.ask('second');
  it.respell('team_chat_a');
  await it.platforms.reconcile();
  t.equal(it.state('team_chat_a'), 'verifying');
  leave();
  it.pass(60_000);
  t.same(granted, ['first']);
  await eventually(() => it.state('team_chat_a') === 'connected' || undefined);
  await eventually(() => granted.includes('second') || undefined);
});

t.test('DLV-4 · later texts of a chat wait for the one that is tried again, as long as the entry says', async (t) => {
  const it = await openPlatforms(t, { order_hold_seconds: 60 });
  await it.send();
  const { ask, granted, pass } = it;
  pass(1_000);
  const leave = ask('first');
  ask('second');
  it.server.scripts.push({ status: 503, text: 'busy' });
  t.match(await it.send(slackRecord('first')), { outcome: { kind: 'transient' } });
  leave();

  const waiting = slackRecord('second');
  const untilMs = it.ports.nowMs() + 60_000;
  t.match(it.platforms.pauseOf(waiting), { behind: 'first', untilMs, reason: /^delivery first of the same chat/ });
  t.equal(it.platforms.pauseOf(slackRecord('first', { status: 'waitingToRetry' })), undefined, 'it waits for no other');
  pass(59_999);
  t.same(granted, ['first']);
  pass(1);
  t.equal(it.platforms.pauseOf(waiting), undefined);
  t.same(granted, ['first', 'second']);

  // After a restart: half of its time is over, also of one that has arrived in part and may find no room in memory.
  for (const [more, where] of [
    [{}, undefined],
    [{ sent: { pieces: 1, of: 2 } }, 'onDisk'],
  ] as const) {
    const other = await openPlatforms(t, { order_hold_seconds: 60 });
    other.platforms.hold(slackRecord('first', { failedSinceMs: other.ports.nowMs() - 30_000, ...more }), where);
    await other.send();
    other.ask('second');
    other.pass(29_999);
    t.same(other.granted, []);
    other.pass(1);
    t.same(other.granted, ['second']);
  }
});

t.test(
  'DIS-2 · DLV-4 · a direct delivery is answered at once where the platform’s pause outlasts its sender',
  async (t) => {
    const it = await openPlatforms(t);
    await it.send();
    const missed: string[] = [];
    const direct = (name: string, waitsMs: number) =>
      it.platforms.ask(
        slackRecord(name, { answerByMs: it.ports.nowMs() + waitsMs }),
        () => missed.push(`${name} granted`),
        (reason) => missed.push(`${name} ${reason}`) > 0,
      );
    it.clock.ms += 60_000;
    it.ask('a');
    // It waits behind the first one when the pause begins.
    direct('early', 30_000);
    it.server.scripts.push({
      status: 429,
      json: { ok: false, error: 'ratelimited' },
      headers: { 'retry-after': '60' },
    });
    await it.send({ eventKey: 'limited' });
    t.match(missed, [/^early slack: the platform asks for fewer messages .*; not before 60 s$/]);

    direct('late', 30_000);
    t.match(missed[1], /^late slack: .*; not before 60 s$/);
    direct('patient', 90_000);
    t.equal(missed.length, 2);
  },
);

t.test('DIS-2 · DLV-4 · an arrival looks at none of the direct deliveries that wait', async (t) => {
  const it = await openPlatforms(t);
  await it.send();
  it.clock.ms += 60_000;
  it.ask('a');
  const record = slackRecord('waits', { answerByMs: it.ports.nowMs() + 30_000 });
  let looks = 0;
  it.platforms.ask(
    {
      ...record,
      get target() {
        looks += 1;
        return record.target;
      },
    },
    () => {},
    () => true,
  );
  looks = 0;
  t.match(await it.send({ eventKey: 'arrives' }), { outcome: { kind: 'delivered' } });
  t.equal(looks, 0, 'with thousands of them, each arrival would look at all');
});

t.test(
  'DLV-2 · DUR-1 · the log alone delivers within the gateway, and never what may have been delivered',
  async (t) => {
    const it = await openPlatforms(t);
    const record = slackRecord('d', { target: 'log', extra: {} });
    t.ok(it.platforms.isWithin('default', 'log'));
    t.match(it.platforms.sendWithin(record), {
      outcome: { kind: 'delivered' },
      startedAtMs: it.ports.nowMs(),
      deduplicatesForMs: Number.POSITIVE_INFINITY,
    });
    for (const other of [{ profile: 'gone' }, { target: 'slack' }, { target: 'telegram' }, { unsureSinceMs: 1 }])
      t.equal(it.platforms.sendWithin({ ...record, ...other }), undefined, JSON.stringify(other));
  },
);
