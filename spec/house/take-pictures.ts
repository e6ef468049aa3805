/**
 * Takes the documentation's pictures of the inspector's page, in a real browser over a real daemon: each view, light and
 * dark, wide and narrow, into the folder that is named; without one, those that the documentation shows into `docs/images`.
 * @see INS-2 in docs/specification.md
 */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { goTo, openInspector } from '../support/browser.ts';
import { startScene } from './picture-scene.ts';

const [, , folder = 'docs/images'] = process.argv;
const all = folder !== 'docs/images';

/** Each with its place, what is there once it is drawn, and the picture of the documentation that it is. */
const views = [
  ['overview', '#/overview', 'main .panel table', 'inspector-overview'],
  ['first-steps', '#/overview/first-steps', 'main .panel', ''],
  ['actors', '#/actors', '.it', ''],
  ['statechart', '#/actors/connections/notes', '.box.active', 'inspector-actors'],
  ['events', '#/events', '.ev:not(.headrow)', ''],
  ['event', '#/events/issues-7439', 'main .headline', 'inspector-event'],
  ['event-waits', '#/events/{release}', 'main .headline', 'inspector-waits'],
  ['failures', '#/failures', 'main h1', ''],
  ['routes', '#/routes', 'main h1', ''],
  ['route', '#/routes/default/issues', 'main h2', ''],
  ['servers', '#/servers', 'main h1', ''],
  ['server', '#/servers/default/notes', 'main h2', 'inspector-servers'],
  ['server-calls', '#/servers/default/notes/calls', 'main h2', ''],
  ['server-settings', '#/servers/default/notes/settings', 'main h2', ''],
  ['server-chart', '#/servers/default/notes/chart', '.box.active', ''],
  ['server-login', '#/servers/default/hub', 'main .verdict', ''],
  ['server-broken', '#/servers/default/calendar', 'main h2', ''],
  ['add-server', '#/servers?add=1', 'dialog[open]', ''],
  ['approvals', '#/approvals', 'main button', 'inspector-approvals'],
  ['schedules', '#/schedules/default/digest', 'main h1', ''],
  ['targets', '#/targets', 'main h1', ''],
  ['config', '#/config', 'main h1', ''],
  ['audit', '#/audit', 'main table', ''],
] as const;

/** The documentation shows these dark too. */
const bothSchemes: readonly string[] = ['inspector-actors', 'inspector-overview'];

t.setTimeout(600_000);
t.test('the pictures', async (t) => {
  const gateway = await startScene(t);
  mkdirSync(folder, { recursive: true });
  const rows = (await gateway.control.call('webhook.deliveries', { limit: 50 })) as unknown as {
    route: string;
    delivery_id: string;
  }[];
  const release = rows.find(({ route }) => route === 'releases')?.delivery_id ?? '';
  for (const scheme of ['light', 'dark'] as const) {
    for (const width of all ? [1440, 390] : [1440]) {
      const { page, context } = await openInspector(t, gateway, { scheme, calm: true });
      await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
      for (const [name, hash, ready, documented] of views) {
        if (!all && (documented === '' || (scheme === 'dark' && !bothSchemes.includes(documented)))) continue;
        await goTo(page, hash.replace('{release}', release));
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
      await context.close();
    }
  }
});
