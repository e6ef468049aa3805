/** Routes and Approvals of the inspector's page in a real browser, over a real daemon: what a click changes, and what it asks first. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { valueAt } from '../../machines/config/edit.ts';
import { axeFindings, goTo, holdAnswer, openInspector, options } from '../support/browser.ts';
import { makeHome } from '../support/home.ts';
import { entryOf, eventually, startGateway, wordsOf } from '../support/mcp/gateway.ts';
import { started } from '../support/mcp/http-peer.ts';
import { postSigned } from '../support/sign.ts';
import { webhookSecret } from '../support/webhook-adapter.ts';

t.test('INS-4 · SUB-4 · TRU-3 · routes and approvals on the page', options, async (t) => {
  const peer = await started(t);
  const gateway = await startGateway(
    t,
    { peer: entryOf(peer, { trust: 'untrusted' }) },
    { config: { inspector: { port: 0 }, agent: { runner: 'echo' } } },
  );
  await gateway.reaches('peer', 'connected');
  const send = (secret = webhookSecret, id = String(Math.random())) =>
    postSigned(`${gateway.daemon.url}/webhooks/ping`, { n: 1 }, { secret, id });
  const config = (): string => readFileSync(join(gateway.home.path, 'config.yaml'), 'utf8');
  for (let times = 0; times < 3; times += 1) t.equal((await send()).status, 202);
  t.equal((await send('another-secret-another-secret')).status, 401);
  const { page } = await openInspector(t, gateway);

  await t.test('INS-4 · SRC-5 · a route shows its line, its secret’s origin and its refused requests', async (t) => {
    const [row] = await gateway.control.ask('webhook.list');
    t.match(row, { name: 'ping', mark: 'healthy', last_hour: 4, last_24h: { total: 4, failed: 1 } });
    const shown = await gateway.control.ask('webhook.show', { name: 'ping' });
    t.match(shown, { place: { file: 'config.yaml', line: Number }, secret: { set: true, from: /config\.yaml/ } });
    t.match(JSON.stringify(shown.limits), /requests per minute/);
    t.notMatch(JSON.stringify(shown), webhookSecret);

    await goTo(page, '#/routes');
    await page.getByRole('link', { name: /ping.*Healthy/ }).click();
    await page.getByRole('heading', { name: /^ping/ }).waitFor();
    await page.getByText('config.yaml, line').waitFor();
    await page.getByRole('img', { name: /1 failed or refused/ }).waitFor();
    await page
      .getByRole('region', { name: 'Refused requests' })
      .getByText(/secret|signature/i)
      .first()
      .waitFor();
    t.same(await axeFindings(page), []);
    if (process.env.AGENT_SHOTS !== undefined) await page.screenshot({ path: `${process.env.AGENT_SHOTS}/routes.png` });
  });

  await t.test('INS-2 · a list keeps its filter and its place, and the page itself does not scroll', async (t) => {
    await goTo(page, '#/routes');
    await page.setViewportSize({ width: 1280, height: 130 });
    const list = page.locator('.list .scrolls');
    await list.evaluate((one) => {
      one.scrollTop = 20;
    });
    t.equal(await page.evaluate('document.documentElement.scrollHeight'), 130);
    await page.getByLabel('Filter routes').fill('pin');
    await page.waitForURL(/#\/routes\?q=pin$/);
    await goTo(page, '#/events');
    await page.getByRole('heading', { name: 'Events' }).waitFor();
    await page.goBack();
    await eventually(async () => (await list.evaluate((one) => one.scrollTop)) === 20 || undefined);
    t.equal(await page.getByLabel('Filter routes').inputValue(), 'pin');
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByLabel('Filter routes').fill('');
    await goTo(page, '#/routes/default/ping');
    await page.getByRole('heading', { name: /^ping/ }).waitFor();
  });

  await t.test(
    'SUB-4 · SEC-1 · a test that stops after the checks is answered, and nothing is written or run',
    async (t) => {
      const before = await gateway.control.ask('webhook.deliveries', { limit: 10 });
      await page.getByRole('button', { name: 'Send test event' }).click();
      await page.getByText('HTTP 202').first().waitFor();
      t.equal((await gateway.control.ask('webhook.deliveries', { limit: 10 })).length, before.length);
      t.match(await gateway.cli('webhook', 'test', 'ping', '--checks-only'), { code: 0, stdout: /^HTTP 202/ });

      await page.getByText('Stop after the checks').click();
      await page.getByRole('button', { name: 'Send test event' }).click();
      await eventually(
        async () =>
          (await gateway.control.ask('webhook.deliveries', { limit: 10 })).length === before.length + 1 || undefined,
      );
    },
  );

  await t.test('SUB-4 · an event of its provider alone is tested unsigned, and shown as handed in', async (t) => {
    const secret = '0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0';
    await gateway.control.ask('webhook.subscribe', { name: 'bot', record: { source: 'discord', secret } });
    await goTo(page, '#/routes/default/bot');
    const answer = page.getByText('Only Discord (interactions) can sign this event, so it was handed in');
    await page.getByText('Discord (interactions)', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Send test event' }).click();
    await answer.waitFor();
    t.same(await gateway.control.ask('webhook.deliveries', { route: 'bot' }), []);
    await page.getByText('Stop after the checks').click();
    await page.getByRole('button', { name: 'Send test event' }).click();
    await eventually(async () => {
      const [row] = await gateway.control.ask('webhook.deliveries', { route: 'bot' });
      return row?.reason === 'handed in without its signature by the page' || undefined;
    });
    const [row] = await gateway.control.ask('webhook.deliveries', { route: 'bot' });
    await goTo(page, `#/events/${row?.key}`);
    await page.getByText('Not verified: handed in without its signature by the page').waitFor();
    await goTo(page, '#/routes/default/ping');
    await page.getByRole('heading', { name: /^ping/ }).waitFor();
    await page.getByRole('link', { name: /^bot/ }).waitFor();
    t.match(await gateway.cli('webhook', 'remove', 'bot'), { code: 0 });
    await page.getByRole('link', { name: /^bot/ }).waitFor({ state: 'detached' });
  });

  await t.test('HOME-4 · a route of config.yaml is disabled after a question, and enabled', async (t) => {
    await page.getByRole('button', { name: 'Disable…' }).click();
    const dialog = page.getByRole('alertdialog');
    await dialog.getByText('Its senders get 403').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    t.equal((await send()).status, 202, 'nothing has changed');
    await page.getByRole('button', { name: 'Disable…' }).click();
    await dialog.getByRole('button', { name: 'Disable the route' }).click();
    await page.getByRole('button', { name: 'Enable', exact: true }).waitFor();
    t.equal((await send()).status, 403);
    t.match(config(), /"?enabled"?: false/);
    await page.getByRole('button', { name: 'Enable', exact: true }).click();
    await page.getByRole('button', { name: 'Disable…' }).waitFor();
    t.equal((await send()).status, 202);
  });

  await t.test('DIS-3 · HOME-4 · a route is held after a question, and released, by the keyboard too', async (t) => {
    const before = config();
    await page.getByRole('button', { name: 'Hold…' }).press('Enter');
    const dialog = page.getByRole('alertdialog');
    await dialog.getByText('Its events are accepted and kept').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Hold…' }).press('Enter');
    await dialog.getByRole('button', { name: 'Hold the route' }).press('Enter');
    await page.getByText('the route is held. They begin once you release it.').waitFor();
    t.match(config(), /"?held"?: true/);
    t.equal((await send(webhookSecret, 'd-held')).status, 202);
    const { verdict } = await gateway.control.ask('events.open', { id: 'd-held' });
    t.match(verdict, { text: /^Held: route ping is held\./, place: 'routes/default/ping' });
    await goTo(page, '#/overview');
    await page.getByText('It is held: events are accepted').waitFor();
    await page.getByRole('link', { name: /^Open route/ }).click();
    await page.getByRole('button', { name: 'Release', exact: true }).waitFor();
    t.same(await axeFindings(page), []);
    await page.getByRole('button', { name: 'Release', exact: true }).press('Enter');
    await page.getByRole('button', { name: 'Hold…' }).waitFor();
    t.equal(config(), before);
    await eventually(
      async () => (await gateway.control.ask('events.open', { id: 'd-held' })).ended !== undefined || undefined,
    );
  });

  await t.test('SUB-1 · a subscription is made, edited and removed', async (t) => {
    const subscribed = async () => (await gateway.control.ask('webhook.list')).find(({ name }) => name === 'deploys');
    await page.getByRole('button', { name: 'New subscription…' }).click();
    await page.getByLabel('Name').fill('ping');
    await page.getByLabel('Source').selectOption('Stripe');
    await page.getByText(/^Stripe makes it: .*whsec_.* for http:\S+\/webhooks\/ping$/).waitFor();
    const create = page.getByRole('button', { name: 'Create subscription' });
    t.ok(await create.isDisabled(), 'a secret of Stripe is needed');
    await page.getByLabel('Source').selectOption('Any sender that signs');
    await page.getByLabel('Deliver to').selectOption('Telegram');
    await page.getByLabel('Where at Telegram').fill('42');
    await page.getByLabel('without an agent run').check();
    await create.click();
    await page.getByText('A route of this name exists already').waitFor();
    await page.locator('[aria-label=Name][aria-invalid=true]:focus').fill('deploys');
    await page.getByLabel('Prompt').fill('Deployed {version}');
    await create.click();
    await page.getByText('The secret is shown once').waitFor();
    await page.getByRole('button', { name: 'Copy Secret' }).waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('heading', { name: /^deploys/ }).waitFor();
    const file = (): string => readFileSync(join(gateway.home.path, 'webhook_subscriptions.json'), 'utf8');
    const secret = valueAt(file(), ['deploys', 'secret']);
    t.match(JSON.parse(file()).deploys, { deliver: 'telegram', deliver_extra: { chat_id: '42' }, deliver_only: true });
    await page.getByRole('button', { name: 'Edit…' }).click();
    await page.getByLabel('Event types').fill('deployment, release');
    await page.getByRole('button', { name: 'Save subscription' }).click();
    await eventually(async () => (await subscribed())?.events.length === 2 || undefined);
    t.equal(valueAt(file(), ['deploys', 'secret']), secret, 'its secret stays');
    await page.getByRole('button', { name: 'Edit…' }).click();
    await page.getByLabel('Event types').fill('release');
    await gateway.control.call('webhook.edit', { name: 'deploys', record: { prompt: 'Changed meanwhile' } });
    await page.getByRole('button', { name: 'Save subscription' }).click();
    await eventually(async () => (await subscribed())?.events.length === 1 || undefined);
    t.equal(valueAt(file(), ['deploys', 'prompt']), 'Changed meanwhile', 'what was not changed here stays');
    await page.getByRole('button', { name: 'Edit…' }).click();
    await page.getByLabel('Prompt').fill('Mine');
    await gateway.control.call('webhook.edit', { name: 'deploys', record: { prompt: 'Theirs' } });
    await page.getByText('Prompt is now “Theirs”: it was changed elsewhere while you typed.').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Discard the changes' }).click();
    await page.getByRole('button', { name: 'Edit…' }).click();
    await page.getByLabel('Deliver to').selectOption('Slack');
    await page.getByText('Saving removes the chat_id of Telegram.').waitFor();
    await page.getByLabel('without an agent run').uncheck();
    await page.getByRole('button', { name: 'Save subscription' }).click();
    await eventually(() => valueAt(file(), ['deploys', 'deliver']) === 'slack' || undefined);
    t.equal(JSON.parse(file()).deploys.deliver_only, undefined, 'an agent runs from now on');
    t.equal(JSON.parse(file()).deploys.deliver_extra, undefined, 'a chat of the earlier target is none of this one');
    await gateway.control.call('webhook.edit', {
      name: 'deploys',
      record: { deliver: [{ to: 'log' }], deliver_only: null },
    });
    await page.reload();
    await page.getByRole('button', { name: 'Edit…' }).click();
    t.equal(await page.getByLabel('Deliver to').getAttribute('readonly'), '', 'a list is changed in the file');
    await page.keyboard.press('Escape');
    t.match(await gateway.cli('webhook', 'disable', 'deploys'), { code: 0 });
    t.match(await subscribed(), { enabled: false, mark: 'disabled' });
    await page.getByRole('button', { name: 'Remove…' }).click();
    // A reader who has gone elsewhere before the answer comes is not taken back.
    const letAnswer = await holdAnswer(page, 'webhook.remove');
    await page.getByRole('button', { name: 'Remove the subscription' }).click();
    await eventually(async () => (await subscribed()) === undefined || undefined);
    await goTo(page, '#/approvals');
    await page.getByText('Nothing waits for you').waitFor();
    await letAnswer();
    await page.getByText('Subscription removed.').first().waitFor();
    t.equal(await page.evaluate('location.hash'), '#/approvals');
  });

  await t.test(
    'TRU-3 · SEC-7 · a call is denied with a note, and another is always approved after a question',
    async (t) => {
      const first = gateway.call('mcp__peer__write_note', { text: 'first' });
      const card = page.locator('.question').first();
      await card.getByText('peer says: “Writes a note').waitFor();
      t.same(await axeFindings(page), []);
      if (process.env.AGENT_SHOTS !== undefined)
        await page.screenshot({ path: `${process.env.AGENT_SHOTS}/approvals.png` });
      await card.getByLabel('Note to the agent').fill('not now');
      await card.getByRole('button', { name: 'Deny' }).and(page.locator(':not([aria-disabled="true"])')).click();
      t.match((await first).error?.message, /was denied: not now$/);

      const text = `second${'x'.repeat(300)}`;
      const second = gateway.call('mcp__peer__write_note', { text });
      const next = page.locator('.question').filter({ hasText: text });
      await next.getByRole('button', { name: 'Always for this tool…' }).click();
      await next
        .getByRole('button', { name: 'Always approve…' })
        .and(page.locator(':not([aria-disabled="true"])'))
        .click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('A rule is written to the entry of mcp server peer').waitFor();
      await dialog.getByText('is “second').click();
      t.ok(await dialog.evaluate((one) => one.scrollWidth <= one.clientWidth), 'a long argument is not cut off');
      await dialog.getByRole('button', { name: 'Write the rule' }).click();
      t.match(wordsOf(await second), /^note/);
      t.same(valueAt(config(), ['mcp_servers', 'peer', 'approvals']), [{ tool: 'write_note', arguments: { text } }]);

      const third = gateway.call('mcp__peer__write_note', { text: 'third' });
      await page.locator('.question').filter({ hasText: '"third"' }).waitFor();
      const { id } = await gateway.asked();
      await gateway.answer(id, true);
      t.match(wordsOf(await third), /^note/);
      await page.getByText(/^Approved on the command line at /).waitFor();
      await page.getByRole('button', { name: 'Answered' }).click();
      const denied = page.getByText(/^Denied on this page at .*: not now$/);
      t.match(await denied.getAttribute('title'), /: not now$/, 'a note that is cut off can be read');
      await page.getByText(/^Approved, always for this tool on this page/).waitFor();
    },
  );
});

t.test(
  'PRF-1 · INS-4 · a route counts its own events, not those of its namesake in another profile',
  options,
  async (t) => {
    const home = makeHome(t, {
      'profiles/work/config.yaml': JSON.stringify({
        agent: { runner: 'echo' },
        platforms: { webhook: { extra: { routes: { ping: { prompt: 'Work', on_failure: 'http' }, 'odd name': {} } } } },
      }),
    });
    const config = { inspector: { port: 0 }, agent: { runner: 'echo' }, gateway: { multiplex_profiles: true } };
    const gateway = await startGateway(t, {}, { config, home });
    for (const at of ['webhooks/ping', 'p/work/webhooks/ping', 'p/work/webhooks/ping'])
      t.equal((await postSigned(`${gateway.daemon.url}/${at}`, {}, { secret: webhookSecret })).status, 202);
    const { page, complaints } = await openInspector(t, gateway);
    const events = (words: string) => page.getByRole('img', { name: new RegExp(`^${words} in 24 hours`) });
    await goTo(page, '#/routes/work/ping');
    await events('2 events').waitFor();
    await page.getByText('HTTP', { exact: true }).waitFor();
    await page.getByText('Any sender', { exact: true }).waitFor();
    await goTo(page, '#/routes/default/ping');
    await events('1 event').waitFor();
    await page.getByRole('link', { name: 'Show events' }).click();
    await page
      .locator('.ends')
      .getByText(/^1 event, /)
      .waitFor();
    await goTo(page, '#/routes/odd%20name');
    await page.getByRole('note').getByText('The route has a name that').waitFor();
    await goTo(page, '#/events');
    await page.getByRole('row', { name: 'ping · work' }).first().waitFor();
    t.equal(await page.getByRole('row', { name: 'ping · work' }).count(), 2);
    await goTo(page, '#/events?q=status:ignored route:ping');
    await page.getByRole('button', { name: 'Replay all…' }).waitFor();
    t.same(complaints, []);
  },
);
