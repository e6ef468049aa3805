/** The inspector's page with more than fits: long lists, and labels that are wider than most. */

import t from 'tap';
import type { Overview } from '../../runtime/control/contract/overview.ts';
import type { RouteRow } from '../../runtime/control/contract/routes.ts';
import { answerFor, calls, goTo, openInspector, options, refusal } from '../support/browser.ts';
import { entryOf, eventually, startGateway } from '../support/mcp/gateway.ts';
import { started } from '../support/mcp/http-peer.ts';
import { adapterOf, send } from '../support/webhook-adapter.ts';

t.test('a page with many routes', options, async (t) => {
  const peer = await started(t);
  const names = Array.from({ length: 60 }, (_, at) => `r${10 + at}`);
  const away = Array.from({ length: 8 }, (_, at) => [`away${at}`, { command: '/nowhere/at/all' }]);
  const gateway = await startGateway(
    t,
    { peer: entryOf(peer), ...Object.fromEntries(away) },
    {
      config: {
        inspector: { port: 0 },
        agent: { runner: 'echo' },
        platforms: {
          telegram: { enabled: true, api_base: 'http://127.0.0.1:9', token: '1:not-a-real-token' },
          webhook: adapterOf(Object.fromEntries(names.map((name) => [name, { prompt: 'Hello {n}' }]))),
        },
      },
    },
  );
  const { page, complaints } = await openInspector(t, gateway);

  await t.test('INS-4 · a step that is done while the overview is open is no longer left', async () => {
    const left = page.getByText(/^Receive your first event/);
    await left.waitFor();
    await send(gateway, 'r10', { n: 1 }, 'd-first');
    await left.waitFor({ state: 'detached' });
  });

  await t.test('INS-4 · hidden first steps are not read again', async (t) => {
    const { page, context } = await openInspector(t, gateway);
    await context.clock.install();
    await goTo(page, '#/targets');
    await page.getByText('Choose a target').waitFor();
    let reads = 0;
    page.on('request', (request) => {
      if (request.postData()?.includes('setup.read') === true) reads += 1;
    });
    await goTo(page, '#/overview');
    await page.getByText(/first steps? (?:is|are) left/).waitFor();
    await context.clock.fastForward(6_000);
    await eventually(async () => reads >= 2 || undefined);
    const hide = page.getByRole('button', { name: /^Hide/ });
    await hide.click();
    await hide.waitFor({ state: 'detached' });
    // Reads that were due before they were hidden may still be sent.
    let quiet = 0;
    for (let at = 0; quiet < 3 && at < 20; at += 1) {
      const before = reads;
      await context.clock.fastForward(6_000);
      // What the page has asked by then is counted once a later request of it is answered.
      await page.evaluate(() => fetch('/health').then((answer) => answer.text()));
      quiet = reads === before ? quiet + 1 : 0;
    }
    t.equal(quiet, 3);
  });

  await t.test('INS-4 · all that needs a person can be shown', async (t) => {
    const needs = page.getByRole('region', { name: 'Needs attention' }).getByRole('listitem');
    await page.getByRole('button', { name: 'Show all 9' }).click();
    await needs.getByText('Telegram is not connected', { exact: true }).waitFor();
    t.equal(await needs.count(), 9);
    await page.getByRole('button', { name: 'Show fewer' }).click();
    t.equal(await needs.count(), 7);
  });

  await t.test('INS-4 · an overview that holds only the first items says how many more there are', async () => {
    const { page } = await openInspector(t, gateway);
    const overview = (await gateway.control.call('overview.read')) as unknown as Overview;
    const [need] = overview.needs.rows;
    const rows = Array.from({ length: 50 }, (_, at) => ({ ...need, id: `need-${at}` }));
    await page.route('**/rpc', (route) => {
      if (!calls('overview.watch')(route.request())) return route.continue();
      const { id } = route.request().postDataJSON();
      const changed = { method: 'overview.changed', params: { ...overview, needs: { rows, total: 120 } } };
      const lines = [{ id, result: {} }, changed].map((line) => `${JSON.stringify({ jsonrpc: '2.0', ...line })}\n`);
      return route.fulfill({ contentType: 'application/x-ndjson', body: lines.join('') });
    });
    await page.reload();
    const rest = page.getByText('70 more are in their views.');
    await page.getByRole('button', { name: 'Show 50' }).click();
    await rest.waitFor();
    await page.getByRole('button', { name: 'Show fewer' }).click();
    await rest.waitFor({ state: 'detached' });
  });

  await t.test('INS-4 · the state of a target and the labels of a plot have room', async (t) => {
    const state = page.getByRole('table', { name: 'Targets' }).getByRole('cell', { name: 'Not connected' });
    await state.waitFor();
    t.ok(await state.evaluate((one) => one.scrollWidth <= one.clientWidth));
    const label = page.locator('.plot .y').last();
    await label.evaluate((one) => {
      one.textContent = '600 ms';
    });
    const lines = page.locator('.plot svg').last();
    const ends = await lines.evaluate((one) => one.getBoundingClientRect().right);
    t.ok((await label.evaluate((one) => one.getBoundingClientRect().left)) >= ends);
    const cells = page.getByRole('table', { name: 'Routes' }).getByRole('row').nth(1).getByRole('cell');
    const time = cells.last();
    await time.evaluate((one) => {
      one.textContent = '30 Nov 23:57';
    });
    t.ok(await time.evaluate((one) => one.scrollWidth <= one.clientWidth), 'the time of an event of another day');
    const edgeOf = (table: string) =>
      page
        .getByRole('table', { name: table })
        .getByRole('row')
        .nth(1)
        .getByRole('cell')
        .last()
        .evaluate('one => getComputedStyle(one).paddingRight');
    t.equal(await edgeOf('Targets'), await edgeOf('Servers'), 'the last columns end at one line');
  });

  await t.test(
    'INS-2 · the row of what a link opens is in sight, and the list stays where it is scrolled',
    async () => {
      const list = page.locator('.list .scrolls');
      const row = page.getByRole('link', { name: /^r68/ });
      await goTo(page, '#/routes/default/r68');
      await row.waitFor();
      await eventually(async () =>
        row.evaluate((one) => {
          const around = one.closest('.scrolls')?.getBoundingClientRect();
          return (around !== undefined && one.getBoundingClientRect().bottom <= around.bottom) || undefined;
        }),
      );
      await list.evaluate((one) => {
        one.scrollTop = 20;
      });
      // The browser reports a scroll with its next frame.
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
      await goTo(page, '#/targets');
      await page.getByText('Choose a target').waitFor();
      await page.goBack();
      await row.waitFor();
      await eventually(async () => (await list.evaluate((one) => one.scrollTop)) === 20 || undefined);
    },
  );

  await t.test('INS-4 · the log of a server at an address is not called its standard error', async () => {
    await goTo(page, '#/servers/default/peer/log');
    await page.getByText('Messages of the server, newest last, secrets taken out').waitFor();
  });

  await t.test('INS-4 · a filter that is being completed is not called wrong', async () => {
    await goTo(page, '#/events');
    const search = page.getByRole('combobox', { name: 'Search events' });
    const offer = page.getByRole('option', { name: 'status:ignored' });
    // The list may say so too.
    const fault = page.getByRole('status').filter({ hasText: /status is one of/ });
    await search.pressSequentially('status:ig');
    await offer.waitFor();
    await search.press('Escape');
    await fault.waitFor();
    await search.press('n');
    await offer.waitFor();
    await fault.waitFor({ state: 'detached' });
    await search.fill('');
  });

  await t.test('INS-4 · a group of dropped deliveries gives no advice to retry them', async (t) => {
    const at = new Date().toISOString();
    const group = {
      ...{ key: 'k', target: 'slack', title: 'Slack: no', advice: 'Invite the bot.', helps: 'afterFix', count: 1 },
      ...{ first: at, last: at, routes: ['r10'], buckets: [] },
    };
    await answerFor(page, { 'failures.groups': () => ({ count: 1, groups: [group] }), 'failures.list': () => [] });
    await goTo(page, '#/failures');
    await page.getByText('Invite the bot.').waitFor();
    await page.getByRole('combobox', { name: 'State' }).selectOption('Dropped');
    await page
      .getByRole('button', { name: 'Resolve…' })
      .or(page.getByText('Invite the bot.'))
      .waitFor({ state: 'detached' });
    t.match(await page.getByRole('region', { name: 'Slack: no' }).innerText(), /Route r10$/m);
    await page.unrouteAll({ behavior: 'wait' });
    for (const count of [1, 2]) {
      const unsure = { ...group, helps: 'unsure', count };
      await answerFor(page, { 'failures.groups': () => ({ count, groups: [unsure] }), 'failures.list': () => [] });
      await goTo(page, '#/overview');
      await goTo(page, '#/failures');
      await page.getByRole('button', { name: 'Resolve…' }).click();
      await page
        .getByRole('dialog')
        .getByText(count === 1 ? 'Whether it arrived' : 'Whether they arrived')
        .waitFor();
      await page.keyboard.press('Escape');
      await page.unrouteAll({ behavior: 'wait' });
    }
  });

  await t.test('INS-4 · counts that are not complete are continued, with a rest after each answer', async (t) => {
    let asked = 0;
    await answerFor(page, {
      'webhook.list': async (_, own) => {
        asked += 1;
        const rows: readonly RouteRow[] = await own();
        return rows.map((row) => ({ ...row, last_24h: { ...row.last_24h, counted_from: 'now' } }));
      },
    });
    await goTo(page, '#/routes');
    await eventually(() => asked === 2);
    for (let frame = 0; frame < 20; frame += 1) await page.evaluate('new Promise(requestAnimationFrame)');
    t.ok(asked < 20, `${asked} requests in as many frames`);
    await page.unrouteAll({ behavior: 'wait' });
  });

  await t.test('INS-4 · the counts of the daemon stay within their panels', async (t) => {
    await page.setViewportSize({ width: 1120, height: 800 });
    await goTo(page, '#/actors');
    const counts = page.locator('table.counts').first();
    await counts.waitFor();
    t.ok(
      await counts.evaluate((one) => {
        const panel = one.closest('.panel');
        return panel !== null && one.getBoundingClientRect().right <= panel.getBoundingClientRect().right;
      }),
    );
  });

  await t.test('INS-2 · a toast takes the width of a phone before it wraps', async (t) => {
    await page.setViewportSize({ width: 390, height: 844 });
    await goTo(page, '#/events');
    await page.locator('.ev').filter({ hasText: 'r10' }).click();
    await answerFor(page, { 'events.curl': refusal('the database restarts, wait a moment') });
    await page.getByRole('button', { name: 'Copy as curl' }).click();
    const toast = page.locator('.toast');
    await toast.waitFor();
    t.ok(((await toast.boundingBox())?.width ?? 0) > 300);
    await page.unrouteAll({ behavior: 'wait' });
  });

  t.same(complaints, []);
});
