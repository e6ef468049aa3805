/** The inspector's page with more than fits: long lists, and labels that are wider than most. */

import t from 'tap';
import { chromiumPath, goTo, noChromium, openInspector } from '../support/browser.ts';
import { entryOf, eventually, startGateway } from '../support/mcp/gateway.ts';
import { started } from '../support/mcp/http-peer.ts';
import { adapterOf, send } from '../support/webhook-adapter.ts';

const options = chromiumPath === undefined ? { skip: noChromium } : {};

t.test('a page with many routes', options, async (t) => {
  const peer = await started(t);
  const names = Array.from({ length: 60 }, (_, at) => `r${10 + at}`);
  const gateway = await startGateway(
    t,
    { peer: entryOf(peer) },
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
  });

  await t.test(
    'INS-2 · the row of what a link opens is in sight, and the list stays where it is scrolled',
    async (t) => {
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

  t.same(complaints, []);
});
