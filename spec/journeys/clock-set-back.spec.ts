/** The wall clock is set back, of a daemon at work or between two: nothing waits for the length of the jump. */

import t from 'tap';
import { shiftClock, shifted } from '../support/cron-home.ts';
import { startDaemon } from '../support/daemon.ts';
import { openDelivering } from '../support/delivering.ts';
import { makeHome } from '../support/home.ts';
import { until } from '../support/processes.ts';
import { postSigned } from '../support/sign.ts';
import { cliJson, secret, webhookConfig } from '../support/webhook-home.ts';

const dayMs = 86_400_000;

t.test('DLV-4 · DIS-2 · DUR-1 · a clock that is set back by an hour holds no delivery up', async (t) => {
  const it = await openDelivering(t);
  shiftClock(it.home, 0);
  const daemon = await it.start(shifted(it.home));
  await it.target('slack', 'connected');
  await it.post(daemon, 'slack', '1');
  await it.reaches('1', 'delivered');

  shiftClock(it.home, -3_600_000);

  t.equal((await it.post(daemon, 'slack', '2')).status, 202);
  t.match(await it.reaches('2', 'delivered'), { attempts: 1 });
  t.match(await it.post(daemon, 'directSlack', '3'), { status: 200, body: { status: 'delivered' } });
  t.same(
    it.slack.world.messages.map(({ text }) => text),
    ['Build 1 is green.', 'Build 2 is green.', 'Build 3 is green.'],
  );
});

t.test(
  'COA-3 · DUR-1 · a batch waits no longer than it was to wait when the clock was set back before a start',
  async (t) => {
    const home = makeHome(t);
    home.write(
      'config.yaml',
      webhookConfig('        co: {prompt: "{n}", coalesce: {key: id, window_seconds: 20, max_wait_seconds: 60}}\n'),
    );
    shiftClock(home, 0);
    const first = await startDaemon(t, home.path, shifted(home));
    t.equal((await postSigned(`${first.url}/webhooks/co`, { id: 1, n: 'one' }, { secret })).status, 202);
    await first.kill('SIGKILL');
    shiftClock(home, -dayMs);

    const next = await startDaemon(t, home.path, shifted(home), { timePasses: true });
    const burst = async (): Promise<number | undefined> =>
      ((await cliJson(home.path, 'gateway', 'status')) as { actors: Record<string, number> }).actors.coalescingGroup;
    await until(async () => (await burst()) === 1);
    await next.pass(19_000);
    t.equal(await burst(), 1, 'it gathers for its window');
    await next.pass(1_000);

    t.match(await next.line(({ message }) => message.startsWith('response: ')), { message: 'response: one' });
  },
);

t.test('DLV-4 · DUR-1 · a delivery is tried again in time when the clock was set back before a start', async (t) => {
  const it = await openDelivering(t);
  it.configure({ slack: { retries: { base_seconds: 600 } } });
  it.slack.scripts.push({ status: 503 });
  shiftClock(it.home, 0);
  const first = await it.start(shifted(it.home));
  await it.target('slack', 'connected');
  await it.post(first, 'slack', '1');
  await it.reaches('1', 'waitingToRetry');
  await first.kill('SIGKILL');
  shiftClock(it.home, -dayMs);

  const next = await it.start(shifted(it.home), { timePasses: true });
  await it.target('slack', 'connected');
  await next.pass(600_000);

  t.match(await it.reaches('1', 'delivered'), { attempts: 2 });
});

t.test(
  'DLV-4 · DUR-1 · texts of a chat keep their order over a start when the clock was set back between them',
  async (t) => {
    const it = await openDelivering(t);
    it.configure({ slack: { retries: { base_seconds: 300 } } });
    it.slack.scripts.push({ status: 503 });
    shiftClock(it.home, 0);
    const first = await it.start(shifted(it.home));
    await it.target('slack', 'connected');
    await it.post(first, 'slack', '1');
    await it.reaches('1', 'waitingToRetry');
    await it.post(first, 'slack', '2');
    await it.reaches('2', 'queued');
    shiftClock(it.home, -3_600_000);
    await it.post(first, 'slack', '3');
    await it.reaches('3', 'queued');
    await first.kill('SIGKILL');

    const next = await it.start(shifted(it.home), { timePasses: true });
    await it.target('slack', 'connected');
    await it.post(next, 'slack', '4');
    await it.reaches('4', 'queued');
    await next.pass(300_000);

    for (const id of ['1', '2', '3', '4']) await next.passUntil(it.reaches(id, 'delivered'));
    t.same(
      it.slack.world.messages.map(({ text }) => text),
      ['1', '2', '3', '4'].map((id) => `Build ${id} is green.`),
    );
  },
);
