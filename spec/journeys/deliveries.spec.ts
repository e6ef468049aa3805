/**
 * From a signed event to a message on a platform, and everything that may lie between: a platform that asks to wait, that
 * is dead, that answers nothing; credentials that are refused; a daemon that is killed.
 */

import { createServer } from 'node:net';
import t, { type Test } from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import { hasty, openDelivering, type Sending } from '../support/delivering.ts';
import { listenOn } from '../support/http-listener.ts';
import { eventually } from '../support/mcp/gateway.ts';
import { discordError } from '../support/platforms/discord.ts';
import { type FakePlatform, startPlatform } from '../support/platforms/fake-platform.ts';
import { mattermostApi } from '../support/platforms/mattermost.ts';
import { slackApi, slackError } from '../support/platforms/slack.ts';
import { smtpPassword, smtpUser, startSmtp } from '../support/platforms/smtp-server.ts';
import { inAllOnly } from '../support/tier.ts';

const texts = ({ world }: FakePlatform): string[] => world.messages.map(({ text }) => text);
/** Sends a direct event, and hangs up once something has happened. */
async function hangUp(
  t: Test,
  post: (signal: AbortSignal) => Promise<unknown>,
  until: () => Promise<unknown>,
): Promise<void> {
  const leaving = new AbortController();
  const left = post(leaving.signal);
  await until();
  leaving.abort();
  await t.rejects(left);
}
const limited = (seconds: number) => ({ status: 429, json: { message: 'slow', retry_after: seconds, global: false } });

t.test(
  'DLV-1 · DLV-2 · DLV-5 · a signed event becomes a message at its place, by either name of the platform',
  async (t) => {
    const it = await openDelivering(t);
    it.configure({ slack: { home_channel: slackApi.chat ?? '' } });
    const daemon = await it.start();
    t.match(await it.target('slack', 'connected'), { account: 'ops' });

    t.equal((await it.post(daemon, 'slack', '1')).status, 202);
    t.equal((await it.post(daemon, 'discord', '2')).status, 202);
    t.equal((await it.post(daemon, 'home', '3')).status, 202);
    t.equal((await it.post(daemon, 'aliased', '4')).status, 202);

    t.match(await it.reaches('1', 'delivered'), { target: 'slack', attempts: 1 });
    t.match(await it.reaches('2', 'delivered'), { target: 'discord', attempts: 1 });
    t.match(await it.reaches('3', 'delivered'), { chat_id: slackApi.chat }, 'the home channel, by name');
    t.match(await it.reaches('4', 'delivered'), { target: 'team_chat_a' }, 'as the route has it');
    t.same(texts(it.slack).sort(), ['Build 1 is green.', 'Build 3 is green.', 'Build 4 is green.']);
    t.same(texts(it.discord), ['Build 2 is green.']);
    const tree = JSON.stringify(await it.json('inspect', 'tree'));
    t.match(tree, /"id":"platforms\/slack","machine":"platformConnection","state":"connected"/);
    t.match(await it.json<JsonObject>('deliveries', 'show', '1'), { record: { text: 'Build 1 is green.' } });
    t.match(await it.json<unknown>('webhook', 'deliveries', '2'), { status: 'delivered', delivery: { attempts: 1 } });
  },
);

t.test('DLV-1 · a mail goes out through the gateway’s own transport', async (t) => {
  const it = await openDelivering(t);
  const server = await startSmtp(t);
  const account = { username: smtpUser, password: smtpPassword, from: smtpUser };
  it.configure({ others: { email: { enabled: true, host: '127.0.0.1', port: server.port, ...account } } });
  const daemon = await it.start();
  t.match(await it.target('email', 'connected'), { target: 'email' });

  await it.post(daemon, 'mail', '1');

  t.match(await it.reaches('1', 'delivered'), { target: 'email', attempts: 1 });
  t.match(server.mails, [/Subject: Build 1 is green\./]);
});

t.test('DLV-1 · DLV-4 · a mail server that cannot encrypt now is reported as that, with the cure', async (t) => {
  const it = await openDelivering(t);
  const server = await startSmtp(t);
  server.script = { step: 'STARTTLS', reply: '454 4.7.0 PROVIDER-WORDS' };
  const account = { username: smtpUser, password: smtpPassword, from: smtpUser };
  it.configure({ others: { email: { enabled: true, host: '127.0.0.1', port: server.port, ...account } } });
  const daemon = await it.start();
  const why = /offers no encryption now \(SMTP 454 at STARTTLS\).*port and secure.*checked again automatically/;

  t.match(await it.target('email', 'failed'), { error: why });
  await it.post(daemon, 'mail', '1');

  t.match(await it.reaches('1', 'waitingToRetry'), { reason: /offers no encryption now/ });
  const rows = await it.json<readonly JsonObject[]>('doctor', '--offline');
  t.match(
    rows.find(({ code }) => code === 'target-unreachable'),
    { place: 'email', what: why },
  );
  server.script = { step: 'AUTH', reply: '535 5.7.8 PROVIDER-WORDS' };
  await it.cli('deliveries', 'retry', '1');
  t.match(await it.reaches('1', 'deadLettered'), { reason: /does not accept the credentials/ });
});

const smallMemory = { entry: new URL('../support/small-memory.js', import.meta.url).pathname, timePasses: true };

t.test('DIS-3 · DLV-4 · texts that a platform does not take hold up none to another, however many wait', async (t) => {
  const it = await openDelivering(t);
  const daemon = await it.start({}, smallMemory);
  await it.target('slack', 'connected');
  it.slack.scripts.push('hang');
  const begun = it.slack.arrival();
  for (const id of ['1', '2', '3', '4', '5', '6']) await it.post(daemon, 'slack', id);
  await begun;

  await it.post(daemon, 'discord', 'other');

  await it.reaches('other', 'delivered');
  t.match(await it.json<unknown>('webhook', 'deliveries', '6'), { status: 'accepted' }, 'waits on disk');
});

t.test('DLV-4 · a platform that asks to wait is obeyed, and then has the message once', async (t) => {
  const it = await openDelivering(t);
  const daemon = await it.start();
  it.discord.scripts.push(limited(0.05), limited(0.05));

  await it.post(daemon, 'discord', '1');

  t.match(await it.reaches('1', 'delivered'), { attempts: 3 });
  t.same(texts(it.discord), ['Build 1 is green.']);
  it.slack.scripts.push({ status: 429, json: { ok: false, error: 'ratelimited' }, headers: { 'retry-after': '3600' } });
  await it.post(daemon, 'slack', '2');
  const waiting = await it.reaches('2', 'waitingToRetry');
  t.ok(Date.parse(waiting.next_try_at ?? '') - Date.now() > 3_500_000, 'an hour is an hour');
  t.match(await it.json<unknown>('webhook', 'deliveries', '2'), { status: 'delivering' });
  await it.post(daemon, 'slack', '3');
  await it.reaches('3', 'queued');
  const [behind] = (await it.json<readonly Sending[]>('deliveries', 'list')).filter((row) => row.delivery_id === '3');
  t.match(behind, { reason: /asks for fewer messages/, paused_until: /^20/ });
  t.match((await it.cli('inspect', 'why', '3')).stdout, /asks for a pause.*deliveries retry \S+` lets it go/s);
  t.match((await it.cli('deliveries', 'drop', '2')).stdout, /^Dropped/);
  await it.reaches('2', 'dropped');
  t.match((await it.cli('deliveries', 'drop', '3')).stdout, /^Dropped/);
  t.same(texts(it.slack), []);
});

t.test(
  'DLV-4 · CLI-2 · what a dead platform could not take becomes a dead letter, and arrives when it is put back',
  async (t) => {
    const it = await openDelivering(t);
    it.configure({ slack: { retries: hasty } });
    const port = Number(new URL(it.slack.base).port);
    const daemon = await it.start();
    await it.target('slack', 'connected');
    await it.slack.close();

    await it.post(daemon, 'slack', '1');

    const dead = await it.reaches('1', 'deadLettered');
    t.match(dead, { attempts: 3, reason: /^slack: .*was not reached.*ECONNREFUSED/ });
    t.match(await it.json<unknown>('webhook', 'deliveries', '1'), { status: 'failed', reason: /ECONNREFUSED/ });
    t.match((await it.cli('deliveries', 'list', '--status', 'deadLettered')).stdout, /dead lettered +slack/);
    const alive = await startPlatform(t, slackApi, port);
    t.match((await it.cli('deliveries', 'retry', dead.id)).stdout, /^Trying/);

    await it.reaches('1', 'delivered');
    t.same(texts(alive), ['Build 1 is green.']);
    t.match(await it.json<unknown>('webhook', 'deliveries', '1'), { status: 'delivered' });
    const shown = (await it.cli('deliveries', 'show', '1')).stdout;
    t.match(shown, /^\S+ {2}delivered\n {2}Target +slack\n {2}Chat +C\w+\n {2}Route +slack\n/);
    t.match(shown, / {2}Queued +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, \d+s ago\n {2}Tries +4\n/);
    t.match(shown, /\nText\n {2}Build 1 is green\.\n$/);
    const run = (await it.cli('runs', 'show', dead.id)).stdout;
    t.match(run, / {2}delivered\n {2}Route +slack\n {2}Event +\S+, delivery 1\n/);
    t.match(run, / {2}Delivery +slack, C\w+: delivered as [\d.]+, 4 tries\n/);
    t.match(run, /\nPrompt\n {2}Build 1 is green\.\n\nResponse\n {2}Build 1 is green\.\n$/);
    t.notMatch(`${shown}${run}`, /queuedAtMs|deliveryId|_/, 'words, not keys');
    const again = await it.cli('deliveries', 'retry', '1');
    t.match([again.code, again.stderr], [1, /has arrived already.*\[delivery-settled\]/s]);
    t.equal((await it.cli('deliveries', 'retry')).code, 2);
    t.match((await it.cli('deliveries', 'show', 'nothing')).stderr, /\[delivery-unknown\]/);
  },
);

t.test(
  'DLV-2 · DLV-4 · credentials that are refused say so with the cure; new ones let the dead letters arrive',
  async (t) => {
    const it = await openDelivering(t);
    it.configure({ slack: { ...slackApi.wrongOptions } });
    const daemon = await it.start();
    const failed = await it.target('slack', 'failed');
    t.match(failed.error, /does not accept the credentials.*correct platforms\.slack.*agent gateway reload/);
    const untouched = await it.target('discord', 'connected');

    await it.post(daemon, 'slack', '1');
    await it.post(daemon, 'telegram', '2');

    t.match(await it.reaches('1', 'deadLettered'), { reason: /"slack" is not connected: .*platforms\.slack/ });
    t.match(await it.reaches('2', 'deadLettered'), {
      reason: /"telegram" is not enabled; set platforms\.telegram\.enabled/,
    });
    t.equal(it.slack.requests.filter((request) => slackApi.sends(request)).length, 0, 'nothing was sent');
    it.configure();
    await it.cli('gateway', 'reload');
    await it.target('slack', 'connected');
    t.equal((await it.target('discord', 'connected')).since, untouched.since, 'the other one is not touched');
    t.match((await it.cli('deliveries', 'retry', '--all', '--target', 'slack')).stdout, /Trying 1 dead letter/);
    await it.reaches('1', 'delivered');
    t.match((await it.cli('deliveries', 'drop', '--all', '--since', '2100-01-01')).stdout, /Dropped 0 dead letters/);
    t.match((await it.cli('deliveries', 'drop', '--all', '--since', '1h')).stdout, /Dropped 1 dead letter/);
    await it.reaches('2', 'dropped');
    t.notMatch(JSON.stringify(daemon.log), /sec-/, 'no credential in the log');
  },
);

t.test(
  'CFG-3 · DLV-2 · a target whose entry cannot be used is failed with its finding, and stops nothing else',
  async (t) => {
    const it = await openDelivering(t);
    it.configure({ others: { telegram: { enabled: true }, sms: { enabled: false } } });
    const daemon = await it.start();

    t.match(await it.target('telegram', 'failed'), { error: /config\.yaml:1: target "telegram" lacks token/ });
    t.ok(await it.target('sms', 'disabled'));
    await it.post(daemon, 'telegram', '1');
    t.match(await it.reaches('1', 'deadLettered'), { reason: /"telegram" cannot be used: config\.yaml:1/ });
    t.equal((await it.cli('config', 'check')).code, 1);
  },
);

t.test('DUR-1 · DLV-4 · what waits for its next try survives kill -9, and a stop does not wait for it', async (t) => {
  const it = await openDelivering(t);
  it.configure({ slack: { retries: { ...hasty, base_seconds: 3_600, longest_seconds: 3_600 } } });
  const first = await it.start();
  await it.target('slack', 'connected');
  it.slack.scripts.push({ status: 503, text: 'busy' });
  await it.post(first, 'slack', '1');
  const { next_try_at } = await it.reaches('1', 'waitingToRetry');
  await first.kill('SIGKILL');

  const second = await it.start();
  t.match(await it.reaches('1', 'waitingToRetry'), { next_try_at, attempts: 1 }, 'the same due time');
  t.equal(await second.kill('SIGTERM'), 0);
  t.notOk(second.log.some(({ message }) => message.startsWith('drain: time is over')));

  await it.start();
  t.match((await it.cli('deliveries', 'retry', '1')).stdout, /^Trying/);
  t.match(await it.reaches('1', 'delivered'), { attempts: 2 });
  t.same(texts(it.slack), ['Build 1 is green.']);
});

t.test('DUR-1 · a sending that kill -9 cut off goes again only where the platform knows it', async (t) => {
  const it = await openDelivering(t);
  const first = await it.start();
  await it.target('slack', 'connected');
  await it.target('discord', 'connected');
  const begun = [it.slack, it.discord].map((platform) => {
    platform.scripts.push('hang');
    return platform.arrival();
  });
  await it.post(first, 'slack', '1');
  await it.post(first, 'discord', '2');
  await Promise.all(begun);
  await first.kill('SIGKILL');

  await it.start();

  t.match(await it.reaches('1', 'unknown'), { reason: /cut off while sending/ });
  t.match(await it.reaches('2', 'delivered'), { attempts: 2 });
  t.same([texts(it.slack), texts(it.discord)], [[], ['Build 2 is green.']]);
  t.match(await it.json<unknown>('webhook', 'deliveries', '1'), { status: 'unknown' });
  const refused = await it.cli('deliveries', 'retry', '1');
  t.match([refused.code, refused.stderr], [1, /may have arrived.*--force.*\[delivery-unsure\]/s]);
  await it.cli('deliveries', 'retry', '1', '--force');
  await it.reaches('1', 'delivered');
  t.same(texts(it.slack), ['Build 1 is green.']);
});

t.test('DUR-1 · a request that went out and was lost is not sent again', async (t) => {
  const it = await openDelivering(t);
  const daemon = await it.start();
  it.slack.scripts.push('takenThenReset');

  await it.post(daemon, 'slack', '1');
  await it.post(daemon, 'slack', '2');

  t.match(await it.reaches('1', 'unknown'), { attempts: 1, reason: /the request was sent/ });
  await it.reaches('2', 'delivered');
  t.same(texts(it.slack), ['Build 1 is green.', 'Build 2 is green.'], 'once each, in order');
});

t.test('DIS-2 · a direct delivery answers 200 or 502, in its time, and its cause stays in the log', async (t) => {
  const it = await openDelivering(t);
  it.configure({ slack: { timeout_seconds: 20 }, discord: { retries: hasty } });
  const daemon = await it.start({}, { timePasses: true });
  const delivered = await it.post(daemon, 'directSlack', '1');
  t.same(
    [delivered.status, delivered.body],
    [200, { status: 'delivered', route: 'directSlack', target: 'slack', delivery_id: '1' }],
  );

  it.slack.scripts.push(slackError('channel_not_found'), 'hang');
  const failed = { status: 502, body: { error: 'Delivery failed' } };
  t.match(await it.post(daemon, 'directSlack', '2'), failed);
  const arrived = it.slack.arrival();
  const hanging = it.post(daemon, 'directSlack', '3');
  await arrived;
  await daemon.pass(20_000);
  t.match(await hanging, failed);
  t.match(await it.reaches('2', 'failed'), { reason: /channel_not_found/ });
  t.match(await it.reaches('3', 'unknown'), { reason: /no answer within 20 s/ });
  t.equal((await it.post(daemon, 'directSlack', '2')).status, 200, 'its id is free again');

  it.discord.scripts.push(discordError(503, 130000), limited(0.05));
  t.equal((await it.post(daemon, 'directDiscord', '4')).status, 200, 'it is tried again while its sender waits');

  it.discord.scripts.push(limited(10), limited(600));
  const direct = (id: string) => (signal: AbortSignal) => it.post(daemon, 'directDiscord', id, signal);
  await hangUp(t, direct('5'), () => it.reaches('5', 'waitingToRetry'));
  await daemon.line(({ reason }) => /the sender hung up/.test(String(reason)));
  const again = it.discord.arrival();
  await daemon.pass(11_000);
  await again;
  await it.reaches('5', 'waitingToRetry');
  await daemon.pass(601_000);
  t.match(await it.reaches('5', 'delivered'), { attempts: 3 }, 'like the response of a run');
  t.match(await it.post(daemon, 'directDiscord', '5'), { status: 200, body: { status: 'duplicate' } });

  it.discord.scripts.push(limited(10));
  await hangUp(t, direct('7'), () => it.reaches('7', 'waitingToRetry'));
  await eventually(async () => (await it.post(daemon, 'directDiscord', '7')).body.status === 'duplicate');
  t.equal((await it.cli('deliveries', 'drop', '7')).code, 0);
  t.match(
    (await it.post(daemon, 'directDiscord', '7')).body,
    { status: 'delivered' },
    'IDM-2: dropped, it frees its id',
  );

  it.discord.scripts.push(limited(600));
  t.equal((await it.post(daemon, 'directDiscord', '6')).status, 502, 'nobody waits ten minutes');
});

t.test('DIS-2 · DLV-4 · one whose sender has hung up keeps its turn in its chat', { skip: inAllOnly }, async (t) => {
  const it = await openDelivering(t);
  const daemon = await it.start({}, { timePasses: true });
  await it.target('slack', 'connected');
  it.slack.scripts.push(
    ...['10', '600'].map((seconds) => ({
      status: 429,
      json: { ok: false, error: 'ratelimited' },
      headers: { 'retry-after': seconds },
    })),
  );
  const first = it.post(daemon, 'directSlack', '1');
  await it.reaches('1', 'waitingToRetry');
  await hangUp(
    t,
    (signal) => it.post(daemon, 'directSlack', '2', signal),
    () => it.reaches('2', 'queued'),
  );
  await daemon.line(({ reason }) => /the sender hung up/.test(String(reason)));
  await it.post(daemon, 'slack', '3');
  await it.reaches('3', 'queued');

  await daemon.pass(11_000);
  t.equal((await first).status, 502);
  await daemon.pass(601_000);
  for (const id of ['2', '3']) t.match(await it.reaches(id, 'delivered'), { attempts: 1 });
  t.same(texts(it.slack), ['Build 2 is green.', 'Build 3 is green.']);
});

t.test(
  'DIS-2 · DUR-1 · one whose sender has hung up survives kill -9, in its turn or while it is sent',
  { skip: inAllOnly },
  async (t) => {
    const it = await openDelivering(t);
    it.configure({ discord: { concurrency: 1 } });
    const first = await it.start();
    await it.target('discord', 'connected');
    it.discord.scripts.push('hang');
    const arrived = it.discord.arrival();
    for (const id of ['1', '2']) {
      await hangUp(
        t,
        (signal) => it.post(first, 'directDiscord', id, signal),
        () => (id === '1' ? arrived : it.reaches(id, 'queued')),
      );
      await eventually(async () => (await it.post(first, 'directDiscord', id)).body.status === 'duplicate');
    }

    await first.kill('SIGKILL');
    await it.start();
    for (const id of ['1', '2']) t.match(await it.reaches(id, 'delivered'), { attempts: id === '1' ? 2 : 1 });
    t.same(texts(it.discord), ['Build 1 is green.', 'Build 2 is green.'], 'once each, in order');
  },
);

for (const [signal, seen, when] of [
  ['SIGKILL', 'no answer', {}],
  ['SIGTERM', 503, { skip: inAllOnly }],
] as const)
  t.test(
    `DIS-2 · DUR-1 · IDM-2 · one whose sender waits at ${signal} goes on without it, in its order`,
    when,
    async (t) => {
      const it = await openDelivering(t);
      it.configure({ gateway: { drain_timeout_seconds: 1 } });
      const first = await it.start();
      const post = (id: string) =>
        it.post(first, 'directSlack', id).then(
          ({ status }) => status,
          () => 'no answer',
        );
      await it.target('slack', 'connected');
      it.slack.scripts.push({
        status: 429,
        json: { ok: false, error: 'ratelimited' },
        headers: { 'retry-after': '28' },
      });
      const answers = [post('1')];
      await it.reaches('1', 'waitingToRetry');
      answers.push(post('2'));
      await it.reaches('2', 'queued');
      // Answered once it is on disk, and so is, before it, that "2" was not sent.
      await it.post(first, 'discord', '3');

      first.kill(signal);
      t.same(await Promise.all(answers), [seen, seen]);
      await first.exited;
      const second = await it.start({}, { timePasses: true });
      await it.reaches('1', 'waitingToRetry');
      await second.pass(29_000);

      for (const id of ['1', '2']) {
        await it.reaches(id, 'delivered');
        t.match(await it.post(second, 'directSlack', id), { status: 200, body: { status: 'duplicate' } });
      }
      t.same(texts(it.slack), ['Build 1 is green.', 'Build 2 is green.'], 'once each, in order');
    },
  );

t.test('DUR-1 · what waits for a silent platform to be checked was not sent, and goes after kill -9', async (t) => {
  const it = await openDelivering(t);
  const port = await listenOn(t, createServer());
  it.configure({ slack: { api_base: `http://127.0.0.1:${port}`, timeout_seconds: 60 } });
  const first = await it.start();
  await it.post(first, 'slack', '1');
  t.match(await it.reaches('1', 'queued'), { attempts: 0 });

  await first.kill('SIGKILL');
  it.configure();
  await it.start();

  t.match(await it.reaches('1', 'delivered'), { attempts: 1 });
  t.equal(it.slack.world.messages.length, 1);
});

t.test('CLI-2 · DLV-2 · the list of targets ends with the whole cure of each that failed', async (t) => {
  const it = await openDelivering(t);
  it.configure({ slack: slackApi.wrongOptions });
  await it.start();
  const { error = '' } = await it.target('slack', 'failed');

  const { stdout } = await it.cli('deliveries', 'targets');

  t.match(error, /correct platforms\.slack/);
  t.ok(stdout.endsWith(`\n\n${error}\n`), stdout);
  t.equal((await it.cli('runs', 'list')).stdout, 'No runs.\n');
});

/** A text is on its way to a platform that asks for no gap: whatever is not parked would be sent right after it. */
async function withOneUnderWay(t: Test) {
  const it = await openDelivering(t);
  const board = await startPlatform(t, mattermostApi);
  it.configure({ others: { mattermost: { enabled: true, api_base: board.base, ...mattermostApi.options } } });
  const first = await it.start();
  await it.target('mattermost', 'connected');
  board.scripts.push('hang');
  const arrival = board.arrival();
  await it.post(first, 'mattermost', '1');
  await arrival;
  return { it, board, first };
}

t.test(
  'CON-2 · DUR-1 · a stop ends what is being sent, and leaves the queue behind it to the next start',
  async (t) => {
    const { it, board, first } = await withOneUnderWay(t);
    await it.post(first, 'mattermost', '2');
    await it.post(first, 'mattermost', '3');
    await it.reaches('3', 'queued');

    first.kill('SIGTERM');
    await first.line(({ message }) => message.includes('SIGTERM'));
    board.release();

    t.equal(await first.exited, 0);
    t.same(texts(board), ['Build 1 is green.']);
    await it.start();
    for (const id of ['2', '3']) t.match(await it.reaches(id, 'delivered'), { attempts: 1 });
    t.same(texts(board), ['Build 1 is green.', 'Build 2 is green.', 'Build 3 is green.']);
  },
);

t.test(
  'CON-2 · DLV-4 · a stop lets no direct text past those before it in its chat',
  { skip: inAllOnly },
  async (t) => {
    const { it, board, first } = await withOneUnderWay(t);
    await it.post(first, 'mattermost', '2');
    await it.reaches('2', 'queued');
    const direct = it.post(first, 'directMattermost', '3');
    await it.reaches('3', 'queued');
    await it.post(first, 'mattermost', '4');
    await it.reaches('4', 'queued');

    first.kill('SIGTERM');
    await first.line(({ message }) => message.includes('SIGTERM'));
    board.release();

    t.equal((await direct).status, 200);
    t.equal(await first.exited, 0);
    t.same(texts(board), ['Build 1 is green.', 'Build 2 is green.', 'Build 3 is green.']);
    await it.start();
    t.match(await it.reaches('4', 'delivered'), { attempts: 1 });
  },
);

t.test('DLV-4 · the texts of a chat arrive in their order, also where one is tried again', async (t) => {
  const it = await openDelivering(t);
  it.configure({ slack: { retries: { ...hasty, base_seconds: 1 } } });
  const daemon = await it.start();
  await it.target('slack', 'connected');
  const busy = { status: 503, text: 'busy' };
  const slow = { status: 429, json: { ok: false, error: 'ratelimited' }, headers: { 'retry-after': '1' } };
  it.slack.scripts.push(busy, slow);

  for (const id of ['1', '2', '3']) await it.post(daemon, 'slack', id);
  for (const id of ['1', '2', '3']) await it.reaches(id, 'delivered');

  t.match(await it.reaches('1', 'delivered'), { attempts: 3 });
  t.same(
    texts(it.slack),
    ['1', '2', '3'].map((id) => `Build ${id} is green.`),
  );
});
