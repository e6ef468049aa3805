/**
 * The inspector's page over real platforms and runs of a model: texts that did not arrive are sent again or given up, a
 * run's question is answered, its timeline holds what was said; and the timeline is the same after a restart.
 */

import t from 'tap';
import type { Timeline } from '../../runtime/control/contract/wire.ts';
import { goTo, openInspector, options } from '../support/browser.ts';
import { startDaemon } from '../support/daemon.ts';
import { hasty } from '../support/delivering.ts';
import { makeHome } from '../support/home.ts';
import { controlOf, eventually, startGateway } from '../support/mcp/gateway.ts';
import { startModelServer } from '../support/model-server.ts';
import { startPlatform } from '../support/platforms/fake-platform.ts';
import { slackApi, slackError } from '../support/platforms/slack.ts';
import { adapterOf, send } from '../support/webhook-adapter.ts';

t.test('one daemon that delivers and asks', options, async (t) => {
  const slack = await startPlatform(t, slackApi);
  const model = await startModelServer(t, [
    {
      kind: 'says',
      text: 'I must ask.',
      calls: [{ name: 'clarify', args: JSON.stringify({ question: 'Which region?', choices: ['eu', 'us'] }) }],
    },
    { kind: 'says', text: 'Deployed.' },
  ]);
  const place = { deliver: 'slack', deliver_extra: { chat_id: slackApi.chat ?? '' } };
  const config = {
    inspector: { port: 0 },
    agent: { runner: 'model', model: { provider: 'openai-compatible', base_url: model.url, api_key: 'k', name: 'm' } },
    platforms: {
      slack: { enabled: true, api_base: slack.base, ...slackApi.options, retries: { ...hasty, max_attempts: 1 } },
      webhook: adapterOf({
        alerts: { prompt: 'Alert {n}', deliver_only: true, ...place },
        // Its sender waits for none of several targets.
        notes: { prompt: 'Note {n}', deliver_only: true, deliver: [{ to: 'slack', extra: place.deliver_extra }] },
        deploys: { prompt: 'Deploy {n}', ...place },
      }),
    },
  };
  const jobs = {
    jobs: [{ id: 'off', name: 'off', schedule: '0 7 * * *', prompt: 'Look', deliver: 'log', enabled: false }],
  };
  const home = makeHome(t, { 'cron/jobs.json': JSON.stringify(jobs) });
  const gateway = await startGateway(t, {}, { config, home });
  const sent = (route: string, id: string) => send(gateway, route, { n: id }, id);
  await eventually(async () =>
    JSON.stringify(await gateway.control.call('deliveries.targets')).includes('"connected"'),
  );

  await t.test('DLV-4 · INS-2 · a delivery in doubt is sent again only after a confirmation', async (t) => {
    slack.scripts.push('takenThenReset');
    await sent('alerts', 'unsure');
    const { page } = await openInspector(t, gateway);
    await goTo(page, '#/events/unsure');
    const deliveries = page.getByRole('region', { name: 'Deliveries and attempts' });
    const resolve = deliveries.getByRole('button', { name: /^Resolve / });
    const question = page.getByRole('dialog', { name: 'Resolve 1 delivery' });
    await resolve.waitFor();
    const taken = slack.world.messages.length;

    await resolve.click();
    await question.getByText('Whether it arrived is not known.').waitFor();
    await question.getByRole('button', { name: 'Cancel' }).click();
    t.equal(slack.world.messages.length, taken, 'a no sends nothing');
    await resolve.click();
    await question.getByRole('button', { name: 'Retry' }).click();

    const delivered = page.getByText(/^Delivered to Slack/).first();
    await delivered.waitFor();
    t.equal(slack.world.messages.length, taken + 1);

    slack.scripts.push('takenThenReset');
    await sent('alerts', 'arrived');
    await goTo(page, '#/events/arrived');
    await resolve.click();
    await question.getByRole('button', { name: 'It arrived' }).click();
    await delivered.waitFor();
    slack.scripts.push('takenThenReset');
    await sent('alerts', 'meanwhile');
    await goTo(page, '#/events/meanwhile');
    await resolve.click();
    await gateway.control.ask('deliveries.retry', { id: 'meanwhile', force: true });
    await delivered.waitFor();
    // A question outlasts what changes meanwhile.
    await question.getByRole('button', { name: 'Cancel' }).click();
  });

  await t.test('DLV-4 · INS-2 · a text that did not arrive is put back, another dropped', async (t) => {
    slack.scripts.push({ status: 500, text: 'x' }, slackError('is_archived'));
    for (const id of ['lost', 'dropped']) await sent('notes', id);
    const { page } = await openInspector(t, gateway);
    const needs = page.getByRole('region', { name: 'Needs attention' });

    await needs.getByRole('link', { name: /: 1 delivery failed: Slack: the channel is archived/ }).click();
    await page.getByText('1 delivery in 1 group').waitFor();
    await page.getByRole('cell', { name: 'Note dropped', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Drop…' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Drop 1 delivery' }).click();
    await page.getByRole('cell', { name: 'Note lost', exact: true }).waitFor();
    await goTo(page, '#/targets');
    await page.getByRole('link', { name: /Slack Connected .*ops/ }).click();
    await page.getByRole('link', { name: '1 delivery has not arrived' }).click();
    await page.getByRole('region', { name: 'Slack', exact: true }).getByRole('button', { name: 'Retry' }).click();

    await page.getByText(/^No failed deliveries/).waitFor();
    await page.goBack();
    await page.getByText(/^No failed deliveries/).waitFor();
    await eventually(() => slack.world.messages.some(({ text }) => text === 'Note lost'));
    t.notOk(slack.world.messages.some(({ text }) => text === 'Note dropped'));
  });

  await t.test(
    'TRU-3 · DIS-5 · INS-2 · a run’s question is answered, and its timeline holds what was said',
    async (t) => {
      await sent('deploys', 'asks');
      const { page } = await openInspector(t, gateway);
      await goTo(page, '#/approvals');
      const question = page.getByRole('article', { name: 'Question of a run' });
      await question.getByText(/route "deploys" asks: Which region/).waitFor();
      t.equal(await question.getByRole('link', { name: 'agent' }).count(), 0, 'no server asked');

      const waiting = (await gateway.control.call('inspect.why', { id: 'asks' })) as unknown as Timeline;
      t.equal(waiting.verdict, 'Accepted: its run waits for your answer.');
      t.match(waiting.cure, /`agent approvals approve a[a-z]+\d+ --values/);
      await question.getByRole('link', { name: 'the event that waits for it' }).click();
      await page.getByText('Waiting for your answer to a question.').waitFor();
      await page.getByRole('link', { name: 'Answer it' }).click();

      await question.getByLabel(/Answer/).selectOption('“eu”');
      await question.getByRole('button', { name: 'Send' }).click();

      await goTo(page, '#/events/asks');
      await page
        .getByText(/^Delivered to Slack/)
        .first()
        .waitFor();
      t.match(await page.getByRole('region', { name: 'Timeline' }).innerText(), /clarify[\s\S]*Slack/);
      t.match(await page.getByRole('region', { name: 'Response' }).innerText(), /Deployed\./);
    },
  );

  await t.test('CRN-1 · INS-2 · a disabled job can be resumed', async (t) => {
    const { page } = await openInspector(t, gateway);
    const job = page.getByRole('article', { name: 'Schedule off' });
    await goTo(page, '#/schedules/default/off');
    await job.getByText('Disabled', { exact: true }).waitFor();

    await job.getByRole('button', { name: 'Resume' }).click();

    await job.getByText('Scheduled', { exact: true }).waitFor();
    t.equal(await job.getByRole('button', { name: 'Pause' }).count(), 1);
  });

  await t.test('DUR-2 · INS-2 · a timeline is the same after a restart', async (t) => {
    const told = async (control: typeof gateway.control) => {
      const { verdict, phases } = (await control.call('inspect.why', { id: 'asks' })) as unknown as Timeline;
      // Calls of tools are remembered until the daemon ends; the run's transcript has them for good.
      const kept = phases.filter(({ kind }) => kind !== 'call');
      return {
        verdict,
        phases: kept.map(({ kind, state, steps }) => ({ kind, state, steps: steps.map(wordsOf) })),
      };
    };
    const before = await told(gateway.control);
    await gateway.daemon.kill('SIGTERM');

    await startDaemon(t, home.path);

    t.same(await told(await controlOf(t, home)), before);
    t.match(JSON.stringify(before), /genuine by.*clarify.*Deployed\./);
  });
});

/** A step without its time, which is that of the steps while they are remembered. */
function wordsOf({ at: _, ...step }: Timeline['phases'][number]['steps'][number]): object {
  return step;
}
