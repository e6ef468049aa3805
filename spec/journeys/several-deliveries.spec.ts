/** A response with several deliveries: each goes its own way, and the event shows what they come to together. */

import t from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import { sources } from '../../machines/config/sources.ts';
import { signEvent } from '../../machines/webhook/sign-event.ts';
import { askCli } from '../support/daemon.ts';
import { mattermostApi } from '../support/platforms/mattermost.ts';
import { slackError } from '../support/platforms/slack.ts';
import { chat, openHome } from '../support/two-platforms.ts';

const channel = mattermostApi.chat ?? '';
const toSlack = { to: 'slack', extra: { chat_id: chat } };
const toMattermost = { to: 'mattermost', extra: { chat_id: channel } };

t.test(
  'SRC-1 · DIS-2 · IDM-2 · Linear is answered before its event is delivered, and sends a failed one again',
  async (t) => {
    const it = await openHome(t);
    const secret = 'lin_wh_0f1e2d3c4b5a69788796a5b4c3d2e1f0';
    const deliver = { deliver: 'mattermost', deliver_extra: { chat_id: channel }, deliver_only: true };
    it.configure({ mentions: { source: 'linear', secret, prompt: '{data.title}', ...deliver } });
    const daemon = await it.start();
    const send = async (id: string): Promise<readonly [number, unknown]> => {
      const path = '/webhooks/mentions';
      const payload = { type: 'Issue', data: { title: `text of ${id}` } };
      const use = { name: 'linear', secret };
      const unsealed = { payload, id, path, nowMs: Date.now() };
      const { headers, body } = signEvent(sources.linear.schemes[0], use, unsealed, sources.linear);
      const response = await fetch(`${daemon.url}${path}`, { method: 'POST', headers, body });
      return [response.status, await response.json()];
    };

    it.mattermost.scripts.push('hang');
    t.match(await send('Ev1'), [200, { status: 'accepted', delivery_id: 'Ev1' }], 'with the status that Linear wants');
    t.match(await send('Ev1'), [200, { status: 'duplicate' }]);
    t.same(it.sent(it.mattermost), [], 'nothing has arrived');
    it.mattermost.release();
    await it.event('Ev1', 'delivered');
    t.same(it.sent(it.mattermost), ['text of Ev1']);

    it.mattermost.scripts.push({ status: 404, json: { id: 'x', message: 'no such channel' } });
    t.match(await send('Ev2'), [200, { status: 'accepted' }]);
    await it.event('Ev2', 'failed');
    t.match(await it.reaches('Ev2', 'deadLettered'), { target: 'mattermost' });
    await askCli(['deliveries', 'drop', 'Ev2'], it.home.path);
    t.match(await send('Ev2'), [200, { status: 'accepted' }], 'the id of a dropped delivery is free');
    await it.event('Ev2', 'delivered');
  },
);

t.test('DLV-7 · each entry whose condition holds is a delivery with a text of its own', async (t) => {
  const it = await openHome(t);
  it.configure({
    ci: {
      prompt: '{n}',
      deliver: [
        { ...toSlack, text: 'Of {n}: {response}' },
        { ...toMattermost, when: [{ field: 'n', contains: 'urgent' }] },
      ],
    },
    direct: { prompt: 'said {n}', deliver: [toSlack, { ...toMattermost, text: '> {response}' }], deliver_only: true },
  });
  const daemon = await it.start();

  t.equal((await it.post(daemon, 'ci', 'answer {response}', 'one')).status, 202);
  await it.event('one', 'delivered');
  t.same(it.sent(it.slack), ['Of answer {response}: Fine.'], 'what was filled in is not read again');
  const only = await askCli(['inspect', 'why', 'one'], it.home.path);
  t.match(only.stdout, /its response to slack\s/, 'where its condition holds');
  await it.post(daemon, 'ci', 'answer, urgent', 'two');
  await it.event('two', 'delivered');
  t.same(it.sent(it.mattermost), ['Fine.']);

  it.slack.scripts.push(slackError('channel_not_found'));
  await it.post(daemon, 'ci', 'answer, urgent', 'three');
  const event = await it.event('three', 'partial');
  t.match(event, { reason: /^1 of 2 delivered; slack: / });
  const why = await askCli(['inspect', 'why', 'three'], it.home.path);
  t.match(why.stdout, 'an agent run, its response to slack and mattermost');
  t.match(why.stdout, /Delivered to mattermost\. Not delivered to slack/);
  t.match(why.stdout, /→ Invite the bot there [\s\S]*agent deliveries retry \S+[\s\S]*agent events replay \S+/);
  t.match(await it.json<JsonObject>('runs', 'show', 'latest'), {
    status: 'partial',
    deliveries: [{ target: 'slack' }, { target: 'mattermost' }],
  });
  t.match((await askCli(['runs', 'show', 'latest'], it.home.path)).stdout, /slack[\s\S]*mattermost/);

  t.match((await askCli(['deliveries', 'retry', 'three'], it.home.path)).stdout, /slack/);
  await it.event('three', 'delivered');
  t.equal(it.sent(it.mattermost).length, 2, 'what has arrived is not sent again');
  t.equal(it.sent(it.slack).at(-1), 'Of answer, urgent: Fine.');

  const lost = { status: 404, json: { id: 'x', message: 'no such channel' } };
  it.slack.scripts.push(slackError('channel_not_found'));
  it.mattermost.scripts.push(lost);
  await it.post(daemon, 'ci', 'answer, urgent', 'both');
  await it.event('both', 'failed');
  const retried = await askCli(['deliveries', 'retry', 'both'], it.home.path);
  t.equal(retried.stdout, 'Trying 2 dead letters again.\n');
  await it.event('both', 'delivered');

  t.match((await it.post(daemon, 'direct', 'x', 'four')).body, { status: 'accepted' });
  await it.event('four', 'delivered');
  t.equal(it.sent(it.slack).at(-1), 'said x');
  t.equal(it.sent(it.mattermost).at(-1), '> said x');
  t.match(
    (await askCli(['webhook', 'show', 'ci'], it.home.path)).stdout,
    /slack[\s\S]*text "Of[\s\S]*mattermost[\s\S]*when /,
  );
});

t.test(
  'DLV-7 · DUR-1 · IDM-2 · kill -9 between two deliveries of a response loses none and repeats none',
  async (t) => {
    const it = await openHome(t);
    it.configure({ ci: { prompt: '{n}', deliver: [toSlack, toMattermost] } });
    const first = await it.start();
    // Mattermost knows a text again; one that is lost on the way there is sent again.
    it.mattermost.scripts.push('hang');
    const begun = it.mattermost.arrival();
    await it.post(first, 'ci', 'answer', 'one');
    await begun;
    // The kill is to come between the two, not into that to Slack, whose outcome would be unknown.
    await it.reaches('one', 'delivered');
    await it.event('one', 'delivering');
    await first.kill('SIGKILL');
    it.mattermost.release();

    const second = await it.start();
    await it.event('one', 'delivered');
    t.same([it.sent(it.slack), it.sent(it.mattermost)], [['Fine.'], ['Fine.']]);

    it.slack.scripts.push(slackError('channel_not_found'));
    it.mattermost.scripts.push({ status: 404, json: { id: 'x', message: 'no such channel' } });
    await it.post(second, 'ci', 'answer', 'two');
    await it.event('two', 'failed');
    const drop = (row: { readonly id: string }) => askCli(['deliveries', 'drop', row.id], it.home.path);
    await drop(await it.reaches('two', 'deadLettered'));
    t.match((await it.post(second, 'ci', 'answer', 'two')).body, { status: 'duplicate' }, 'one may still be sent');
    await drop(await it.reaches('two', 'deadLettered'));
    t.match((await it.post(second, 'ci', 'answer', 'two')).body, { status: 'accepted' }, 'both were given up');
  },
);
