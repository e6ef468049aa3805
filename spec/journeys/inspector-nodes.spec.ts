/** The Nodes view of the inspector's page in a real browser, over two real daemons on a Postgres of their own. */

import t from 'tap';
import { axeFindings, calls, clippedParts, goTo, options as inBrowser, openInspector } from '../support/browser.ts';
import { makeHome } from '../support/home.ts';
import { entryOf, eventually, startGateway } from '../support/mcp/gateway.ts';
import { started } from '../support/mcp/http-peer.ts';
import { startPostgres, withoutPostgres } from '../support/postgres.ts';
import { postSigned } from '../support/sign.ts';
import { adapterOf, send, webhookSecret } from '../support/webhook-adapter.ts';

const routes = {
  ping: { prompt: 'x', deliver: 'log' },
  builds: { prompt: 'x', deliver: 'log', coalesce: { key: 'branch', window_seconds: 300 } },
};
const options = { skip: withoutPostgres, ...inBrowser };

t.test(
  'SCA-3 · INS-2 · the page lists the gateways of the database, and shows the actors of another',
  options,
  async (t) => {
    const postgres = await startPostgres(t);
    const url = await postgres.url();
    const peer = await started(t);
    const [first, second] = await Promise.all(
      ['eu-1', 'eu-2'].map((node) =>
        startGateway(t, node === 'eu-2' ? { peer: entryOf(peer, { trust: 'untrusted' }) } : {}, {
          config: {
            inspector: { port: 0 },
            gateway: { journal: 'postgres', node, postgres: { url: '${DATABASE_URL}' } },
            platforms: { webhook: adapterOf(routes) },
          },
          home: makeHome(t, { '.env': `DATABASE_URL='${url}'\n` }),
        }),
      ),
    );
    if (first === undefined || second === undefined) return;
    for (let n = 0; n < 3; n += 1) await send(second, 'ping', { n }, `p${n}`);
    await eventually(async () => (await first.control.ask('gateway.nodes')).some(({ leader }) => leader));
    const { page } = await openInspector(t, first);

    await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Nodes' }).waitFor();
    await page.getByText('2 nodes').waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('n');
    await page.getByRole('heading', { name: 'Nodes' }).waitFor();
    const rowOf = (node: string) => page.getByRole('row', { name: new RegExp(`^${node}\\b`) });
    await rowOf('eu-1')
      .getByText(/^Serving · this page/)
      .waitFor();
    await rowOf('eu-2')
      .getByText(/^Serving/)
      .waitFor();
    await page.getByText(/leader/).waitFor();
    await page.getByRole('img', { name: 'Requests to the routes of eu-2: 3 in the last hour' }).waitFor();
    await page.getByRole('img', { name: 'Requests to the routes of eu-1: 0 in the last hour' }).waitFor();
    t.same(await axeFindings(page), []);
    for (const width of [390, 320]) {
      await page.setViewportSize({ width, height: 844 });
      t.same(await clippedParts(page), [], `at ${width} px`);
    }
    await page.setViewportSize({ width: 1440, height: 900 });

    await t.test('SCA-3 · the actors of another gateway are shown as that gateway answers', async (t) => {
      await rowOf('eu-2').getByRole('link', { name: 'eu-2' }).click();
      const tree = page.getByRole('tree', { name: 'Living actors of eu-2' });
      await tree
        .getByRole('treeitem', { name: /journal/ })
        .first()
        .click();
      await page.getByRole('region', { name: 'Actor journal' }).getByText('Machine journal').waitFor();
      t.same(await axeFindings(page), []);
      await page.getByRole('combobox', { name: 'Gateway' }).selectOption('This gateway');
      await page.getByRole('tree', { name: 'Living actors', exact: true }).waitFor();
    });

    await t.test('INS-4 · SCA-3 · events name the gateway that took them, and are found by it', async (t) => {
      await send(first, 'ping', { n: 9 }, 'own');
      await postSigned(`${first.daemon.url}/webhooks/ping`, { n: 9 }, { secret: 'wrong', id: 'refused' });
      await goTo(page, '#/events');
      const nodeOf = (id: string) => page.getByRole('row', { name: new RegExp(`\\b${id}\\b`) }).getByText(/^eu-\d$/);
      t.same([await nodeOf('p0').textContent(), await nodeOf('own').textContent()], ['eu-2', 'eu-1']);
      t.equal(await nodeOf('refused').textContent(), 'eu-1');
      await page.getByRole('combobox', { name: 'Search events' }).fill('node:');
      await page.getByRole('option', { name: 'node:eu-2' }).click();
      await page.waitForURL(/node%3Aeu-2/);
      await nodeOf('own').waitFor({ state: 'detached' });
      t.same(await axeFindings(page), []);
      await nodeOf('p0').click();
      await page.getByText('Node eu-2', { exact: true }).waitFor();
      const rows = await first.control.ask('webhook.deliveries', {});
      t.same(rows.find(({ delivery_id: id }) => id === 'own')?.node, 'eu-1');
    });

    await t.test(
      'INS-2 · TRU-3 · a question at another gateway is counted, needs a person here, and is answered',
      async (t) => {
        await goTo(page, '#/overview');
        const call = second.call('mcp__peer__write_note', { text: 'x' });
        await page.getByRole('link', { name: /^Approvals 1 waiting/ }).waitFor();
        await eventually(async () => (await page.title()).startsWith('(1) '));
        const needs = page.getByRole('region', { name: 'Needs attention' });
        await needs.getByText(/^Approve .*peer/).waitFor();
        await needs.getByRole('link', { name: /^Review/ }).click();
        await page.getByRole('button', { name: 'Approve', exact: true }).first().click();
        t.match(await call, { isError: false });
        await page.getByRole('link', { name: /^Approvals$/ }).waitFor();

        // Also one that comes, and is answered, while the questions are open.
        await page.getByText('Nothing waits for you').waitFor();
        const next = second.call('mcp__peer__write_note', { text: 'next' });
        await page.locator('.question').filter({ hasText: '"next"' }).waitFor();
        await second.answer((await second.asked()).id, false);
        await next;
        await page.getByText(/^Denied on the command line at /).waitFor();
      },
    );

    await t.test('SCA-3 · the shared journal is shown with its database and what a commit takes', async (t) => {
      await goTo(page, '#/nodes');
      const journal = page.getByRole('region', { name: 'Shared journal' });
      for (const fact of [
        /^PostgreSQL \d+\.\d+, /,
        / median · .* at the 95th/,
        /^\d+ of 200$/,
        'synchronous_commit on',
      ])
        await journal.getByText(fact).waitFor();
      await journal.getByText('Healthy').waitFor();
      t.same(await axeFindings(page), []);
      await page.setViewportSize({ width: 320, height: 844 });
      t.same(await clippedParts(page), []);
      await page.setViewportSize({ width: 1440, height: 900 });
    });

    await t.test('SCA-2 · SCA-3 · a gateway that is killed leaves the list, and the page says so', async (t) => {
      await goTo(page, '#/nodes');
      await rowOf('eu-2')
        .getByText(/^Serving/)
        .waitFor();
      const underWay = new Set<unknown>();
      let max = 0;
      page.on('requestfinished', (request) => underWay.delete(request));
      page.on('request', (request) => {
        if (!calls('gateway.nodes')(request)) return;
        underWay.add(request);
        max = Math.max(max, underWay.size);
      });
      second.daemon.kill('SIGSTOP');
      await rowOf('eu-2')
        .getByText(/^No answer for/)
        .waitFor();
      t.equal(max, 1, 'no question is asked while another is under way');
      second.daemon.kill('SIGCONT');
      await rowOf('eu-2')
        .getByText(/^Serving/)
        .waitFor();
      t.equal(await page.getByText('No work of a gateway that ended.').count(), 1);
      const batch = { secret: webhookSecret, id: 'batched' };
      await postSigned(`${second.daemon.url}/webhooks/builds`, { branch: 'main' }, batch);
      second.daemon.kill('SIGKILL');
      await page.getByText(/^eu-2 is gone since .*lost\.$/).waitFor();
      await rowOf('eu-1')
        .getByText(/leader/)
        .waitFor();
      await page.getByRole('button', { name: 'Dismiss' }).click();
      t.equal(await rowOf('eu-2').count(), 0);
      const taken = page.getByRole('table', { name: 'Recovered work' });
      await taken.getByRole('row', { name: /^Batch of builds eu-2 → eu-1 \d/ }).waitFor();
      t.match((await first.control.ask('gateway.status', {})).recovered, [
        { kind: 'batch', from: 'eu-2', profile: 'default', route: 'builds' },
      ]);
      t.same(await axeFindings(page), []);
      await page.setViewportSize({ width: 320, height: 844 });
      t.same(await clippedParts(page), []);
      await taken.getByRole('link', { name: 'Batch of builds' }).click();
      await page.getByRole('heading', { name: /builds/ }).waitFor();
    });
  },
);

t.test('SCA-3 · INS-2 · a gateway with a journal of its own has no Nodes', options, async (t) => {
  const gateway = await startGateway(t, {}, { config: { inspector: { port: 0 } } });
  await t.rejects(gateway.control.ask('gateway.database'), { code: 'journal-local' });
  const { page } = await openInspector(t, gateway);
  const views = page.getByRole('navigation', { name: 'Views' });
  await views.getByRole('link', { name: 'Actors' }).waitFor();
  t.equal(await views.getByRole('link', { name: 'Nodes' }).count(), 0);
  await goTo(page, '#/nodes');
  await page.getByText('This gateway has its journal for itself.').waitFor();
});
