/**
 * Takes the documentation's pictures of the inspector's page, in a real browser over a real daemon: each view, light and
 * dark, wide and narrow, into the folder that is named; without one, those that the documentation shows into `docs/images`.
 * @see INS-2 in docs/specification.md
 */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { goTo, openBrowser, openInspector } from '../support/browser.ts';
import { startScene } from './picture-scene.ts';

const [, , folder = 'docs/images'] = process.argv;
const all = folder !== 'docs/images';

/** Each with its place, what tells that it is drawn, and the picture of the documentation that it is. */
const views = [
  ['actors', '#/actors', '.it', ''],
  ['statechart', '#/actors/connections/notes', '.box.active', 'inspector-actors'],
  ['group', '#/actors?q=shop', '.it', ''],
  ['events', '#/events', '.ev:not(.headrow)', ''],
  ['story', '#/events/issues-7439', '.stair', 'inspector-story'],
  ['story-waits', '#/events/{release}', '.stair', 'inspector-waits'],
  ['servers', '#/servers', '.card', ''],
  ['server', '#/servers/default/notes', '.tool', 'inspector-servers'],
  ['server-long', '#/servers/default/warehouse-of-the-northern-region', '.tool', ''],
  ['add-server', '#/servers?add=1', 'dialog[open]', ''],
  ['approvals', '#/approvals', '.question .btns', 'inspector-approvals'],
  ['schedules', '#/schedules/default/digest', 'article', ''],
  ['targets', '#/targets', '.panel', ''],
] as const;

t.setTimeout(600_000);
t.test('the pictures', async (t) => {
  const browser = await openBrowser(t);
  const gateway = await startScene(t);
  mkdirSync(folder, { recursive: true });
  const rows = (await gateway.control.call('webhook.deliveries', { limit: 50 })) as unknown as {
    route: string;
    delivery_id: string;
  }[];
  const release = rows.find(({ route }) => route === 'releases')?.delivery_id ?? '';
  for (const scheme of ['light', 'dark'] as const) {
    for (const width of all ? [1280, 390] : [1280]) {
      const open = await openInspector(browser, gateway, { scheme, calm: true });
      const { page } = open;
      await page.setViewportSize({ width, height: width === 390 ? 844 : 800 });
      for (const [name, hash, ready, documented] of views) {
        if (!all && (documented === '' || (scheme === 'dark' && documented !== 'inspector-actors'))) continue;
        await goTo(open, hash.replace('{release}', release));
        await page.locator(ready).first().waitFor();
        if (name === 'server')
          await page
            .locator('.tool summary, .tool button')
            .first()
            .click()
            .catch(() => {});
        await page.waitForTimeout(all ? 350 : 700);
        const file = all ? `${name}-${scheme}-${width}` : `${documented}${scheme === 'dark' ? '-dark' : ''}`;
        await page.screenshot({ path: join(folder, `${file}.png`) });
      }
      await open.context.close();
    }
  }
});
