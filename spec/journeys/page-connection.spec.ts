/** The connection of the inspector's page in a real browser: refused because there are too many, or cut within an answer. */

import t from 'tap';
import { calls, goTo, linkOf, openBlank, openInspector, options } from '../support/browser.ts';
import { openPage } from '../support/inspector.ts';
import { startGateway } from '../support/mcp/gateway.ts';
import { adapterOf, send } from '../support/webhook-adapter.ts';

const config = { inspector: { port: 0 } };

t.test('INS-2 · a page that is one too many says so, and connects once another is closed', options, async (t) => {
  const gateway = await startGateway(t, {}, { config });
  const other = await openPage(t, gateway.home.path);
  const streams = await Promise.all(Array.from({ length: 32 }, () => other.stream()));
  const { page } = await openBlank(t);

  await page.goto(await linkOf(gateway));
  const banner = page.getByRole('alert').filter({ hasText: 'Too many pages of this gateway are open' });
  await banner.waitFor();
  t.equal(await page.getByText('Too many pages', { exact: true }).isVisible(), true);

  await goTo(page, '#/events');
  await page.getByRole('button', { name: 'Paused: too many pages' }).waitFor();
  await page.keyboard.press('?');
  const keys = page.getByRole('dialog', { name: 'Keys' });
  t.equal(await keys.getByRole('checkbox').isEnabled(), true);
  await page.keyboard.press('Escape');
  await keys.waitFor({ state: 'detached' });
  await goTo(page, '#/servers?add=command');
  const sheet = page.getByRole('dialog', { name: 'Add server' });
  await sheet.getByText('Too many pages of this gateway are open, so nothing can be changed here.').waitFor();
  t.equal(await page.getByText('does not answer').count(), 0);
  await page.keyboard.press('Escape');
  await sheet.waitFor({ state: 'detached' });

  streams[0]?.close();
  await page.getByText('Live', { exact: true }).first().waitFor();
  t.equal(await banner.count(), 0);
});

t.test('INS-2 · an answer that is cut off is read again, and of a change it is said', options, async (t) => {
  const routes = { reviews: { prompt: 'Review {n}', deliver: 'log' } };
  const servers = { away: { url: 'http://127.0.0.1:1/mcp' } };
  const gateway = await startGateway(t, servers, { config: { ...config, platforms: { webhook: adapterOf(routes) } } });
  await send(gateway, 'reviews', { n: 1 }, 'first');
  const { page } = await openBlank(t);
  await page.addInitScript(`
    globalThis.cuts = [];
    const real = fetch;
    globalThis.fetch = async (...asked) => {
      const response = await real(...asked);
      const at = cuts.findIndex((cut) => (asked[0] + asked[1]?.body).includes(cut));
      if (at < 0) return response;
      cuts.splice(at, 1);
      const text = await response.text();
      return new Response(new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(text.slice(0, text.length / 2)));
          controller.error(new TypeError('network error'));
        },
      }));
    };
  `);
  await page.goto(await linkOf(gateway));
  await page.getByText('Live', { exact: true }).first().waitFor();

  await page.evaluate('cuts = ["failures.groups"]');
  await goTo(page, '#/failures');
  await page.getByText('No failed deliveries.').waitFor();
  t.same(await page.evaluate('cuts'), []);

  // An actor is read again after a moment anyway, but one that has ended only once.
  await page.evaluate("cuts = ['./actor/', './actor/']");
  await goTo(page, '#/actors/connections/none');
  await page.getByText('No actor lives there any more').waitFor();

  await goTo(page, '#/servers/default/away');
  await page.evaluate('cuts = ["mcp.disable"]');
  await page.getByRole('button', { name: 'Disable', exact: true }).click();
  await page.getByText('look whether it was done before you do it again').waitFor();
  await page.getByRole('button', { name: 'Enable', exact: true }).waitFor();

  await goTo(page, '#/events/first');
  await page.evaluate('cuts = ["webhook.replay"]');
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  await page
    .getByRole('status')
    .getByText('The daemon’s answer did not arrive; look whether it was done before you do it again.', { exact: true })
    .waitFor();

  await goTo(page, '#/events');
  await page.getByRole('button', { name: 'Export', exact: true }).waitFor();
  await page.getByText('first').first().waitFor();
  await page.evaluate('cuts = ["events.search"]');
  await page.getByRole('button', { name: 'Export', exact: true }).click();
  const midway = 'Not exported: the daemon ended the connection before its answer was complete; try again';
  await page.getByText(midway, { exact: true }).waitFor();
});

t.test('INS-2 · a change that was not sent is said to be one that cannot reach the daemon', options, async (t) => {
  const gateway = await startGateway(t, { away: { url: 'http://127.0.0.1:1/mcp' } }, { config });
  const { page } = await openInspector(t, gateway);
  await goTo(page, '#/servers/default/away');
  await page.getByRole('button', { name: 'Disable', exact: true }).waitFor();
  // The page has to verify the daemon again, which does not answer.
  await page.route('**/rpc', (asked) => asked.fulfill({ status: 401 }));
  await page.route('**/hello', (asked) => asked.abort());

  await page.getByRole('button', { name: 'Disable', exact: true }).click();

  await page.getByRole('alert').getByText('the daemon cannot be reached', { exact: true }).waitFor();
});

t.test('INS-2 · what a proxy answers for the daemon is not asked for again at once', options, async (t) => {
  const gateway = await startGateway(t, {}, { config });
  const { page } = await openInspector(t, gateway);
  let asked = 0;
  await page.route('**/rpc', (request) => {
    if (!calls('failures.groups')(request.request())) return request.continue();
    asked += 1;
    return request.fulfill({ status: 502 });
  });

  await goTo(page, '#/failures');

  await page.getByText('the daemon cannot be reached').waitFor();
  t.equal(asked, 1);
});
