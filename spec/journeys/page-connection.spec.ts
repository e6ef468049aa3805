/** The connection of the inspector's page in a real browser: refused because there are too many, or cut within an answer. */

import t from 'tap';
import { chromiumPath, linkOf, noChromium, openBlank } from '../support/browser.ts';
import { openPage } from '../support/inspector.ts';
import { startGateway } from '../support/mcp/gateway.ts';

const options = chromiumPath === undefined ? { skip: noChromium } : {};
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
  t.equal(await page.getByText('does not answer').count(), 0);

  streams[0]?.close();
  await page.getByText('Live', { exact: true }).first().waitFor();
  t.equal(await banner.count(), 0);
});
