/**
 * A run that fails notifies the target of `on_failure`, once, whatever cuts the gateway off, and of what was configured
 * when its event was accepted.
 */

import { readFileSync } from 'node:fs';
import t from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import { askCli } from '../support/daemon.ts';
import { eventually } from '../support/mcp/gateway.ts';
import { mattermostApi } from '../support/platforms/mattermost.ts';
import { slackError } from '../support/platforms/slack.ts';
import { postSigned } from '../support/sign.ts';
import { inAllOnly } from '../support/tier.ts';
import { chat, openHome, type Row } from '../support/two-platforms.ts';

t.test(
  'DIS-4 · INS-2 · a failed run notifies its target once; one that answers or is cancelled does not',
  async (t) => {
    const it = await openHome(t);
    const toMattermost = { on_failure: 'mattermost', on_failure_extra: { chat_id: '{n}' } };
    it.configure({
      ci: { prompt: '{n}', on_failure: 'slack' },
      same: { prompt: 'x {n}', deliver: 'slack', deliver_extra: { chat_id: chat }, on_failure: 'team_chat_a' },
      placed: { prompt: 'x', ...toMattermost },
    });
    const daemon = await it.start();

    t.equal((await it.post(daemon, 'ci', 'fail', 'one $(id) <!channel>')).status, 202);
    const row = await eventually(async () => (await it.json<readonly Row[]>('deliveries', 'list')).find(isDelivered));
    const [run] = await it.json<readonly JsonObject[]>('runs', 'list');
    t.match(row, { id: `${run?.id}.failed`, failed_run: run?.id, target: 'slack', chat_id: chat, route: 'ci' });
    const [text = ''] = it.sent(it.slack);
    const [head, reason, cure] = text.split('\n');
    t.match(head, /^Run failed: route "ci", event push, delivery one \$\(id\)/);
    t.match(reason, /^Reason: .*no such build: key \[redacted\]/);
    t.equal(cure, `Timeline and remedy: agent inspect why ${run?.id}`);
    t.notMatch(JSON.stringify(it.slack.requests.map(({ json }) => json)), /<!channel>/, 'as all that goes to Slack');
    const why = await it.json<{ readonly verdict: string; readonly phases: readonly JsonObject[] }>(
      'inspect',
      'why',
      String(run?.id),
    );
    t.match(why.verdict, /Its run failed/);
    t.match(why.phases.at(-1), { kind: 'delivery', title: 'notice of the failed run to slack', state: 'delivered' });
    const shown = await askCli(['runs', 'show', String(run?.id)], it.home.path);
    t.match(shown.stdout, /Notice +slack, .*: delivered/);
    t.match((await askCli(['deliveries', 'show', String(run?.id)], it.home.path)).stdout, /Reports +failed run/);

    await it.post(daemon, 'same', 'fail', '2');
    t.match(await it.reaches('2', 'delivered'), { failed_run: /./, target: 'team_chat_a', chat_id: chat });
    await it.post(daemon, 'placed', mattermostApi.chat ?? '', '3');
    t.match(await it.reaches('3', 'delivered'), { target: 'mattermost', chat_id: mattermostApi.chat });
    await it.post(daemon, 'same', 'answer', '4');
    const wait = (id: string) => askCli(['events', 'show', id, '--wait', '--json'], it.home.path);
    t.match(await wait('4'), { code: 0, stdout: /"status": "delivered"/ }, 'a script waits for the end by one command');
    t.notMatch(await it.reaches('4', 'delivered'), { failed_run: /./ });
    await it.post(daemon, 'ci', 'wait', '5');
    await it.began();
    const waited = wait('5');
    const running = await it.ended('5', 'running');
    await askCli(['runs', 'cancel', running.id], it.home.path);
    await it.ended('5', 'cancelled');
    t.match(await waited, { code: 1, stdout: /"status": "cancelled"/ });
    await it.post(daemon, 'ci', 'fail', '2');
    await eventually(async () => it.sent(it.slack).length === 4 || undefined);

    t.same(
      it.sent(it.slack).map((text) => text.split('\n')[0]),
      [
        head,
        'Run failed: route "same", event push, delivery 2',
        'Fine.',
        'Run failed: route "ci", event push, delivery 2',
      ],
    );
    t.equal(it.sent(it.mattermost).length, 1);
  },
);

const isDelivered = ({ status }: Row): boolean => status === 'delivered';

t.test(
  'DIS-4 · DUR-1 · a notice that waited at kill -9 goes out once, and so does that of a run cut off',
  { skip: inAllOnly },
  async (t) => {
    const it = await openHome(t);
    it.configure(
      {
        ci: { prompt: '{n}', deliver: 'slack', on_failure: 'slack' },
        slow: { prompt: '{n}', on_failure: 'mattermost' },
      },
      { on_interrupted: 'report' },
    );
    const first = await it.start();
    it.slack.scripts.push('hang');
    const begun = it.slack.arrival();
    await it.post(first, 'ci', 'answer', '1');
    await begun;
    await it.post(first, 'ci', 'fail', '2');
    t.match(await it.reaches('2', 'queued'), { failed_run: /./ }, 'behind the text of its chat that hangs');
    await it.post(first, 'slow', 'wait', '3');
    await it.began();
    await first.kill('SIGKILL');

    const second = await it.start();
    await it.reaches('2', 'delivered');
    await it.ended('3', 'interrupted');
    // It has nowhere to go: the target has no home channel.
    t.match(await it.reaches('3', 'deadLettered'), { failed_run: /./, reason: /on_failure_extra/ });
    await second.kill('SIGKILL');

    await it.start();
    const rows = await it.json<readonly Row[]>('deliveries', 'list');
    t.same(
      rows.map(({ delivery_id, status }) => `${delivery_id} ${status}`),
      ['3 deadLettered', '2 delivered', '1 unknown'],
      'a notice that fails leads to no other',
    );
    t.same(it.sent(it.slack).filter((text) => text.startsWith('Run failed')).length, 1);
    const { text } = (await it.json<{ readonly record: { readonly text: string } }>('deliveries', 'show', '3')).record;
    t.match(text, /^Run interrupted: route "slow"[^\n]*\nReason: cut off by a crash in attempt 1\n/);
  },
);

t.test('DIS-4 · DUR-1 · kill -9 as soon as a run has failed neither loses its notice nor sends it twice', async (t) => {
  const it = await openHome(t);
  it.configure({
    ci: { prompt: '{n}', on_failure: 'mattermost', on_failure_extra: { chat_id: mattermostApi.chat ?? '' } },
  });
  const ids = ['1', '2', '3'];
  let daemon = await it.start();
  for (const id of ids) {
    // The last one is at the platform, which knows it again, when the kill comes.
    const begun = id === '3' ? it.mattermost.arrival() : undefined;
    if (begun !== undefined) it.mattermost.scripts.push('hang');
    await it.post(daemon, 'ci', 'fail', id);
    await daemon.line(({ message, delivery_id }) => message === 'run failed' && delivery_id === id);
    await begun;
    await daemon.kill('SIGKILL');
    daemon = await it.start();
    t.match(await it.reaches(id, 'delivered'), { failed_run: /./ });
  }
  it.mattermost.release();
  t.same(
    it.sent(it.mattermost).map((text) => text.split('\n')[0]),
    ids.map((id) => `Run failed: route "ci", event push, delivery ${id}`),
  );
  t.match(
    (await it.json<readonly Row[]>('runs', 'list')).map(({ status }) => status),
    ids.map(() => 'failed'),
  );
});

t.test(
  'DIS-4 · a reload does not change where the notice of an accepted event goes; a replay takes it anew',
  async (t) => {
    const it = await openHome(t);
    it.configure({ ci: { prompt: '{n}', on_failure: 'slack' } });
    const daemon = await it.start();
    await it.post(daemon, 'ci', 'wait', '1');
    await it.began();
    it.configure({
      ci: { prompt: '{n}', on_failure: 'mattermost', on_failure_extra: { chat_id: mattermostApi.chat ?? '' } },
    });
    await askCli(['gateway', 'reload'], it.home.path);
    it.home.write('go', '');
    t.match(await it.reaches('1', 'delivered'), { target: 'slack' });

    await askCli(['webhook', 'replay', '1'], it.home.path);
    await eventually(async () => it.sent(it.mattermost).length === 1 || undefined);
    t.equal(it.sent(it.slack).length, 1);
  },
);

t.test(
  'DIS-4 · SUB-1 · a subscription is notified of its failed runs, and refused with an unknown target',
  async (t) => {
    const it = await openHome(t);
    it.configure({});
    const daemon = await it.start();
    const subscribe = (...more: readonly string[]) =>
      askCli(['webhook', 'subscribe', 'dyn', '--prompt', 'fail', ...more, '--json'], it.home.path);
    t.match(await subscribe('--on-failure', 'slak'), {
      code: 1,
      stderr: /notifies "slak" of failed runs.*did you mean "slack"/,
    });
    t.match(await subscribe('--on-failure', 'sms'), {
      code: 0,
      stdout: /notifies \\"sms\\" of failed runs, which is not enabled/,
    });
    const { code, stdout } = await subscribe('--on-failure', 'slack', '--on-failure-chat-id', chat, '--force');
    t.equal(code, 0);
    const shown = await askCli(['webhook', 'show', 'dyn'], it.home.path);
    t.match(shown.stdout, /On failure +slack, chat_id C0123456789/);

    const { secret: own } = JSON.parse(stdout) as { readonly secret: string };
    const answer = await postSigned(`${daemon.url}/webhooks/dyn`, { n: 1 }, { secret: own, id: '1' });
    t.equal(answer.status, 202);
    t.match(await it.reaches('1', 'delivered'), { target: 'slack', route: 'dyn' });
  },
);

t.test('DIS-4 · CRN-1 · CRN-2 · a cron job has an on_failure of its own, fired by hand or by a webhook', async (t) => {
  const it = await openHome(t);
  it.configure({ fire: { cron_job: 'nightly', prompt: 'x', on_failure: 'mattermost' } });
  const daemon = await it.start();
  it.slack.scripts.push(slackError('channel_not_found'));

  const added = ['cron', 'add', 'nightly', '--prompt', 'fail', '--on-failure', 'slack', '--on-failure-chat-id', chat];
  t.equal((await askCli(added, it.home.path)).code, 0);
  const file = `${it.home.path}/cron/jobs.json`;
  const [job] = (JSON.parse(readFileSync(file, 'utf8')) as { readonly jobs: readonly JsonObject[] }).jobs;
  t.match(job, { on_failure: 'slack', on_failure_extra: { chat_id: chat } });
  t.match(await it.json<JsonObject>('cron', 'show', 'nightly'), { on_failure: 'slack' });
  await askCli(['cron', 'pause', 'nightly'], it.home.path);
  await askCli(['cron', 'resume', 'nightly'], it.home.path);
  await askCli(['cron', 'run', 'nightly'], it.home.path);
  const lost = await eventually(async () =>
    (await it.json<readonly Row[]>('deliveries', 'list')).find(({ status }) => status === 'deadLettered'),
  );
  await askCli(['deliveries', 'retry', lost.id], it.home.path);
  await eventually(async () => it.sent(it.slack).length === 1 || undefined);
  t.match(it.sent(it.slack)[0], /^Run failed: cron job "nightly", event cron\.manual/);

  t.equal((await it.post(daemon, 'fire', '1', 'hook')).status, 202);
  t.match(await it.reaches('hook', 'delivered'), { target: 'slack' });
  t.match(it.sent(it.slack)[1], /^Run failed: route "fire"/);
  t.same(it.sent(it.mattermost), []);
});
