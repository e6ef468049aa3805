/** The overview and the first steps: over the control socket and in a real browser, with real daemons. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { connectControl } from '../../runtime/control/client.ts';
import type { Overview } from '../../runtime/control/contract/overview.ts';
import { onlyReads } from '../../runtime/control/methods.ts';
import {
  answerFor,
  axeFindings,
  clippedParts,
  goTo,
  linkOf,
  type OpenPage,
  openInspector,
  options,
} from '../support/browser.ts';
import { makeHome } from '../support/home.ts';
import { listenHttp } from '../support/http-listener.ts';
import { entryOf, eventually, startGateway } from '../support/mcp/gateway.ts';
import { started } from '../support/mcp/http-peer.ts';
import { startPlatform } from '../support/platforms/fake-platform.ts';
import { slackApi } from '../support/platforms/slack.ts';
import { postSigned } from '../support/sign.ts';
import { isEachTier } from '../support/tier.ts';
import { adapterOf, send, webhookSecret } from '../support/webhook-adapter.ts';

/** Slack does not know the channel. */
const toUnknown = { deliver: 'slack', deliver_extra: { chat_id: slackApi.unknown?.chat ?? '' } };
const job = { id: 'off', name: 'off', schedule: '0 7 * * *', prompt: 'Look', deliver: 'log', enabled: false };
t.test('one daemon with work, a failing server, a failed delivery and an approval', async (t) => {
  const slack = await startPlatform(t, slackApi);
  const config = {
    inspector: { port: 0 },
    agent: { runner: 'echo', concurrency: 4 },
    platforms: {
      slack: { enabled: true, api_base: slack.base, ...slackApi.options },
      webhook: adapterOf({
        reviews: { filters: [{ field: 'action', equals: 'opened' }], prompt: 'Review', deliver: 'log' },
        builds: { coalesce: { key: 'branch', window_seconds: 300 }, prompt: 'Built', deliver: 'log' },
        deploys: { prompt: 'Deployed {n}', ...toUnknown },
        held: { prompt: 'Not now', deliver: 'log', concurrency: 0 },
        quiet: { prompt: 'Nothing yet', deliver: 'log', concurrency: 0, enabled: false },
      }),
    },
  };
  const peer = await started(t);
  const gateway = await startGateway(
    t,
    { broken: { command: '/nowhere/server' }, peer: entryOf(peer, { trust: 'untrusted' }) },
    { config, home: makeHome(t, { 'cron/jobs.json': JSON.stringify({ jobs: [job] }) }) },
  );
  await gateway.reaches('peer', 'connected');
  await gateway.reaches('broken', 'failed', 'parked');
  await send(gateway, 'reviews', { action: 'opened' }, 'd-run');
  await send(gateway, 'reviews', { action: 'closed' }, 'd-ignored');
  await send(gateway, 'builds', { branch: 'main' }, 'd-batch');
  for (const n of [1, 2]) await send(gateway, 'deploys', { n }, `d-deploy-${n}`);
  const called = gateway.call('mcp__peer__write_note', { text: 'hello' });
  const question = await gateway.asked();
  const read = async (range?: string): Promise<Overview> =>
    (await gateway.control.call('overview.read', range === undefined ? {} : { range })) as unknown as Overview;
  const settled = await eventually(async () => {
    const overview = await read();
    const { delivered, failed } = overview.events.counts;
    return delivered === 1 && failed === 2 ? overview : undefined;
  });

  await t.test(
    'INS-4 · the overview says what needs a person, and counts events, work, routes, servers and targets',
    (t) => {
      t.match(settled.needs, {
        total: 4,
        rows: [
          { title: 'Approve peer.write_note', action: { place: `approvals/${question.id}` } },
          { title: '2 deliveries failed: Slack does not know the place to deliver to (HTTP 200 channel_not_found)' },
          { title: 'Server broken is failing', action: { label: 'Open log' } },
          { title: 'No run of route held begins', action: { place: 'routes/default/held' } },
        ],
      });
      t.match(settled.events, {
        total: 5,
        counts: { delivered: 1, ignored: 1, open: 1, failed: 2 },
        bucket_ms: 60_000,
      });
      t.match(settled.events.buckets, { length: 60 });
      t.match(settled.open, { running: 0, slots: 4, batching: 1, retrying: 0, queued: 0 });
      t.same(
        settled.routes.rows.map(({ name, health, events, failed }) => [name, health, events, failed]),
        [
          ['deploys', 'failing', 2, 2],
          ['held', 'waiting', 0, 0],
          ['builds', 'healthy', 1, 0],
          ['quiet', 'off', 0, 0],
          ['reviews', 'healthy', 2, 0],
        ],
      );
      t.same(
        settled.servers.rows.map(({ name, health }) => [name, health]),
        [
          ['broken', 'failing'],
          ['peer', 'healthy'],
        ],
      );
      t.match(settled.targets, { rows: [{ title: 'Slack', health: 'failing', sent: 0, failed: 2, open: 2 }] });
      t.equal(JSON.stringify(settled).includes(String(slackApi.options.token)), false, 'no secret is in it');
      t.end();
    },
  );

  await t.test(
    'INS-4 · each range has at most 60 spans, and another one is refused with those that there are',
    async (t) => {
      for (const range of ['15m', '24h', '7d']) {
        const { events } = await read(range);
        t.ok(events.buckets.length <= 60);
        t.equal(events.total, 5, range);
      }
      await t.rejects(read('1y'), { message: /range is one of 15m, 1h, 24h, 7d/ });
    },
  );

  await t.test('INS-4 · a watcher gets the overview at once, then when it has changed', async (t) => {
    const watcher = await connectControl(join(gateway.home.path, 'gateway.sock'));
    if (watcher === undefined) throw new Error('no daemon');
    const seen: Overview[] = [];
    watcher.on('overview.changed', (overview) => seen.push(overview));
    t.same(await watcher.call('overview.watch', { range: '15m' }), { watching: '15m' });
    await eventually(async () => seen.length > 0 || undefined);
    t.equal(seen[0]?.needs.total, 4);

    await gateway.answer(question.id, true);
    await called;

    await eventually(async () => seen.at(-1)?.needs.total === 3 || undefined);
    await eventually(
      async () => seen.at(-1)?.servers.rows.find(({ name }) => name === 'peer')?.calls === 1 || undefined,
    );
    watcher.close();
  });

  await t.test('INS-4 · the page shows it, leads to what resolves it, and fits a phone', options, async (t) => {
    const { page, complaints } = await openInspector(t, gateway);
    const needs = page.getByRole('region', { name: 'Needs attention' });
    await needs.getByText('Server broken is failing', { exact: true }).waitFor();
    await page.getByRole('img', { name: /^5 events in the last hour, 2 failed/ }).waitFor();
    const routes = page.getByRole('table', { name: 'Routes' });
    t.match(await routes.getByRole('row').nth(1).innerText(), /deploys[\s\S]*100 %/);

    await send(gateway, 'deploys', { n: 3 }, 'd-deploy-3');

    await needs
      .getByText(/^3 deliveries failed/)
      .first()
      .waitFor();
    await page.getByRole('button', { name: '24 h' }).click();
    await page.waitForURL(/#\/overview\?range=24h/);
    await page.getByRole('img', { name: /^6 events in the last 24 hours/ }).waitFor();
    await page.getByRole('button', { name: 'Show as table: Delivered, Ignored, Open, Failed', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Show as table: median, 95th percentile', exact: true }).waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    t.same(await clippedParts(page), []);
    t.same(await axeFindings(page), []);
    await needs.getByRole('link', { name: /^Open log/ }).click();
    await page.waitForURL(/#\/servers\/default\/broken/);
    await goTo(page, '#/events?q=status:open');
    await page.getByRole('button', { name: 'Cancel all…' }).click();
    // Its batch has no run yet.
    await page.getByRole('alertdialog', { name: 'Cancel the batches of 1 event?' }).waitFor();
    await page.keyboard.press('Escape');
    t.same(complaints, []);
  });

  await t.test(
    'SEC-1 · INS-2 · a session that only reads sees every view and nothing that acts',
    options,
    async (t) => {
      await gateway.control.call('webhook.subscribe', { name: 'mine', record: { deliver: 'log' } });
      const calling = gateway.call('mcp__peer__write_note', { text: 'the text of the question' });
      const waiting = await gateway.asked();
      const owner = await openInspector(t, gateway);
      const reader = await openInspector(t, gateway, { link: { as: 'maya', read_only: true } });
      const { page } = reader;
      const asked = new Set<string>();
      page.on('request', (request) => {
        const { method } = JSON.parse(request.postData() ?? '{}') as { readonly method?: string };
        if (method !== undefined) asked.add(method);
      });
      const press = async (...keys: readonly string[]): Promise<void> => {
        for (const key of keys) await page.keyboard.press(key);
      };

      for (const [hash, ready, acts] of viewsAndActs) {
        for (const { page } of [owner, reader]) {
          await goTo(page, hash);
          await page.getByText(ready).first().waitFor();
          await (await page.locator('main summary').all())[0]?.click();
        }
        await eventually(
          async () =>
            (await controlsOf(owner)).filter((name) => acts.includes(name)).length >= acts.length || undefined,
        );
        const shown = [...(await controlsOf(reader)), ...(await offersOf(reader))];
        t.same(
          shown.filter((name) => !onlyReading.test(name)),
          [],
          hash,
        );
        if (!isEachTier) t.same(await axeFindings(reader.page), [], hash);
      }

      await goTo(reader.page, '#/events/d-deploy-1');
      await page.getByText('Deliveries and attempts').waitFor();
      await press('r', 'e', 'd');
      // A dialog has the keys for itself, so this one would not be open if an earlier key had opened another.
      await page.getByRole('dialog', { name: 'Compare' }).waitFor();
      await press('Escape');
      await goTo(reader.page, '#/failures');
      await page.getByRole('table').waitFor();
      await press('j', 'x', 'r', 'Backspace', '?');
      const sheet = page.getByRole('dialog', { name: 'Keys' });
      t.match(await sheet.innerText(), /Next delivery/);
      t.notMatch(await sheet.innerText(), /Select|Retry|Drop/);
      await press('Escape');
      await goTo(reader.page, `#/approvals/${waiting.id}`);
      await page.locator('.question:focus').getByText('This session may only read, so it cannot answer.').waitFor();
      // What was drawn later takes a click, so this one would take a key.
      await goTo(owner.page, `#/approvals/${waiting.id}`);
      await owner.page.getByRole('button', { name: 'Approve' }).click({ trial: true });
      await press('a', 'd', '?');
      await sheet.waitFor();

      t.equal((await gateway.approvals()).length, 1);
      t.same(
        [...asked].filter((method) => !onlyReads(method)),
        [],
      );
      t.same(reader.complaints, []);
      await gateway.answer(waiting.id, false);
      await calling;
    },
  );

  await t.test('INS-4 · DIS-3 · a route and its event that waits say that its runs are held', async (t) => {
    await send(gateway, 'held', {}, 'd-held');
    const { verdict } = await gateway.control.ask('events.open', { id: 'd-held' });
    t.match(verdict, { text: /^Held: the concurrency of route held is 0\./, place: 'routes/default/held' });
    const routes = await gateway.control.ask('webhook.list');
    t.match(
      routes.find(({ name }) => name === 'held'),
      { mark: 'held', held: 'concurrency' },
    );
    t.match(
      routes.find(({ name }) => name === 'quiet'),
      { mark: 'disabled', held: undefined },
      'a disabled one accepts no events',
    );
  });
});

const ofServer = ['Add server', 'Disable', 'Edit…', 'Import…', 'Remove…'];

/** Each view, what is drawn last of it, and what only the owner can press or fill in there. */
const viewsAndActs: readonly (readonly [hash: string, ready: string, acts: readonly string[]])[] = [
  ['#/overview', 'All 2 servers', []],
  ['#/overview/first-steps', 'What happens to an event', ['Not now : Choose the agent']],
  ['#/events', 'The history begins', ['Send test event…']],
  [
    '#/events/d-deploy-1',
    'Deliveries and attempts',
    ['Drop… Slack C0000000000', 'Edit and replay…', 'Replay', 'Retry Slack C0000000000'],
  ],
  ['#/failures', 'Last attempt', ['Drop…', 'Retry all', 'Select Deployed 1', 'Select all']],
  ['#/approvals', 'the text of the question', ['Approve', 'Deny', 'Only this call']],
  ['#/approvals?show=answered', 'the last 1', []],
  [
    '#/routes/default/mine',
    'None since the gateway started.',
    ['Disable…', 'Edit…', 'Hold…', 'New subscription…', 'Remove…'],
  ],
  ['#/routes/default/quiet', 'Nothing yet', ['Enable', 'Hold…', 'Sample', 'Send test event']],
  ['#/servers/default/peer', 'Writes a note', [...ofServer, 'Call', 'Reconnect']],
  ['#/servers/default/broken', 'Inherited', [...ofServer, 'Edit command…', 'Try again now']],
  ['#/servers?add=command', 'Choose a server', ['Command line', 'Test']],
  ['#/targets/default/slack', '3 deliveries have not arrived', []],
  ['#/schedules/default/off', 'None yet.', ['Edit…', 'Resume', 'Run now']],
  ['#/actors/connections/peer', 'Events received', []],
  ['#/config', 'No findings.', []],
  ['#/audit', 'subscribed a route', []],
];

/** Names of what changes nothing. A new control is one of these, or a session that only reads does not have it. */
const onlyReading = new RegExp(
  `^(?:${[
    ...['Overview', 'Events', 'Failures', 'Approvals', 'Routes', 'Servers', 'Targets', 'Schedules', 'Actors', 'Config'],
    ...[
      'Audit',
      'Search.*',
      'Filter .*',
      'More filters',
      'Show .*',
      'Hide .*',
      'Fold the sidebar',
      'Skip to the content',
    ],
    ...[
      '15 min',
      '1 h',
      '24 h',
      '7 d',
      'All',
      'Custom',
      'Live',
      'Route',
      '(?:Open|Delivered|Failed|Refused|Unconfirmed|Ignored|Duplicate|Needs you|Retrying|Working) \\d+',
      'By \\w+',
      'Not grouped',
    ],
    ...[
      'Open',
      'State',
      'Waiting',
      'Answered',
      'Body',
      'Headers',
      'Prompt',
      'Agent',
      'HTTP answer',
      'Copy.*',
      'Follow',
    ],
    ...[
      'Compare…',
      'Download.*',
      'Export',
      '\\d+ checks passed .*',
      'Slack .* m?s',
      'Template .*',
      'Notify me in this browser',
    ],
    ...['On disk', 'In force', 'Difference', 'Check again', 'Fit', 'Larger', 'Smaller', '\\d+ %.*', '.* to .*: .*'],
  ].join('|')})$`,
);

/** The names of what can be pressed and filled in. */
async function controlsOf({ page }: OpenPage): Promise<readonly string[]> {
  const roles = /\b(?:button|checkbox|combobox|radio|searchbox|spinbutton|textbox)(?: "((?:[^"\\]|\\.)*)")?/g;
  return [...(await page.locator('body').ariaSnapshot()).matchAll(roles)].map(([, name = '']) => name);
}

/** What the palette offers. */
async function offersOf({ page }: OpenPage): Promise<readonly string[]> {
  await page.keyboard.press('Control+k');
  const palette = page.getByRole('dialog', { name: 'Search or go to' });
  await palette.getByRole('option').first().waitFor();
  const offers = await palette.locator('[role=option] .cut').allInnerTexts();
  await page.keyboard.press('Escape');
  await palette.waitFor({ state: 'detached' });
  return offers;
}

t.test(
  'INS-4 · PRF-2 · a chosen profile shows its own rows alone in each view, and every link keeps it',
  options,
  async (t) => {
    const slack = await startPlatform(t, slackApi);
    const platforms = { slack: { enabled: true, api_base: slack.base, ...slackApi.options } };
    const route = { prompt: 'Report {n}', ...toUnknown };
    const jobsOf = (name: string) => JSON.stringify({ jobs: [{ ...job, id: name, name }] });
    const work = {
      agent: { runner: 'echo' },
      mcp_servers: { notes: { command: '/nowhere/notes' } },
      platforms,
    };
    const peer = await started(t);
    const gateway = await startGateway(
      t,
      { files: { command: '/nowhere/files' }, peer: entryOf(peer, { trust: 'untrusted' }) },
      {
        config: {
          inspector: { port: 0 },
          gateway: { multiplex_profiles: true },
          agent: { runner: 'echo' },
          platforms: {
            ...platforms,
            webhook: adapterOf({ home: route, office: { ...route, profile: 'work' } }),
          },
        },
        home: makeHome(t, {
          'cron/jobs.json': jobsOf('evening'),
          'profiles/work/config.yaml': JSON.stringify(work),
          'profiles/work/cron/jobs.json': jobsOf('morning'),
        }),
      },
    );
    for (const server of ['files', 'notes']) await gateway.reaches(server, 'failed', 'parked');
    await gateway.reaches('peer', 'connected');
    for (const n of [1, 2]) await send(gateway, 'home', { n }, `d-home-${n}`);
    await postSigned(
      `${gateway.daemon.url}/p/work/webhooks/office`,
      { n: 3 },
      { secret: webhookSecret, id: 'd-office' },
    );
    const read = async (profile: string): Promise<Overview> =>
      (await gateway.control.call('overview.read', { profile })) as unknown as Overview;
    const both = await eventually(async () => {
      const found = [await read('default'), await read('work')];
      return found.every(
        ({ needs, events: { total, counts } }) => needs.total === 2 && total > 0 && counts.failed === total,
      )
        ? found
        : undefined;
    });
    t.match(both, [
      {
        needs: { rows: [{ title: /^2 deliveries failed/ }, { title: 'Server files is failing' }] },
        events: { total: 2 },
        routes: { total: 1, rows: [{ name: 'home', failed: 2 }] },
        servers: { total: 2, rows: [{ name: 'files' }, { name: 'peer' }] },
        targets: { total: 1, rows: [{ open: 2 }] },
      },
      {
        needs: { rows: [{ title: /^1 delivery failed/ }, { title: 'Server notes of profile work is failing' }] },
        events: { total: 1 },
        routes: { total: 1, rows: [{ name: 'office', failed: 1 }] },
        servers: { total: 1, rows: [{ name: 'notes' }] },
        targets: { total: 1, rows: [{ open: 1 }] },
      },
    ]);
    t.match(
      await gateway.control.call('overview.read', {}),
      {
        targets: {
          rows: [
            { profile: 'default', open: 2 },
            { profile: 'work', open: 1 },
          ],
        },
      },
      'the same target of two profiles shows the failures of each',
    );

    const calling = gateway.call('mcp__peer__write_note', { text: 'hello' });
    const question = await gateway.asked();

    const { page, complaints } = await openInspector(t, gateway);
    const choice = page.getByRole('complementary').getByRole('combobox', { name: 'Profile' });
    const views = page.getByRole('navigation', { name: 'Views' });
    const waiting = views.getByRole('link', { name: /^Approvals 1 waiting/ });
    await waiting.waitFor();
    await choice.selectOption('default');
    await page.waitForURL(/#\/overview\?profile=default$/);
    await waiting.waitFor();
    await goTo(page, '#/targets/work/slack');
    const notArrived = page.getByRole('link', { name: '1 delivery has not arrived' });
    t.match(await notArrived.getAttribute('href'), /\?profile=work&by=target$/);
    await notArrived.click();
    await page.getByText('1 delivery in 1 group').waitFor();
    await goTo(page, '#/overview');
    await choice.selectOption('work');
    await page.waitForURL(/#\/overview\?profile=work$/);
    await waiting.waitFor({ state: 'detached' });
    await page.getByRole('img', { name: /^1 event in the last hour/ }).waitFor();
    const routes = page.getByRole('table', { name: 'Routes' });
    t.equal(await routes.getByRole('row').count(), 2);
    const name = routes.getByRole('link', { name: 'office' });
    t.ok(await name.evaluate((link) => link.scrollWidth <= link.clientWidth), 'the name of a route is not cut');
    t.same(await axeFindings(page), []);

    const rows = [
      ['Events', 'd-office', 'd-home-1'],
      ['Failures', '1 delivery in 1 group', '2 deliveries'],
      ['Routes', 'office', 'home'],
      ['Servers', 'notes', 'files'],
      ['Schedules', 'morning', 'evening'],
      ['Approvals', '0 waiting', 'peer'],
    ] as const;
    for (const [view, own, other] of rows) {
      await views.getByRole('link', { name: view }).click();
      await page.waitForURL(new RegExp(`#/${view.toLowerCase()}\\?profile=work$`));
      const main = page.getByRole('main');
      await main.getByText(own).first().waitFor();
      t.equal(await main.getByText(other).count(), 0, `${view} shows nothing of another profile`);
    }
    await gateway.answer(question.id, false);
    await calling;
    await views.getByRole('link', { name: /^Failures 1 open failure/ }).click();
    await page.getByRole('button', { name: 'Drop…' }).click();
    await page.getByRole('button', { name: 'Drop 1 delivery' }).click();
    await page.getByText(/^No failed deliveries/).waitFor();
    t.equal((await read('default')).needs.total, 2, 'the same failure of another profile is not dropped');

    await goTo(page, '#/servers/default/files?profile=work');
    await page.getByRole('heading', { name: 'files' }).waitFor();
    t.equal(
      await page.getByRole('region', { name: 'Servers', exact: true }).getByRole('link', { name: 'files' }).count(),
      0,
      'not in the list',
    );
    await page.getByRole('button', { name: 'Add server' }).click();
    t.equal(await page.getByRole('dialog').getByLabel('Profile').inputValue(), 'work');
    await page.keyboard.press('Escape');
    await goTo(page, '#/schedules');
    await page.getByRole('button', { name: 'New schedule…' }).click();
    await page.getByLabel('Name').fill('noon');
    t.equal(await page.getByRole('dialog').getByLabel('Profile').inputValue(), 'default');
    await page.getByRole('dialog').getByLabel('Profile').selectOption('work');
    await page.getByRole('button', { name: 'Create schedule' }).click();
    await page.waitForURL(/#\/schedules\/work\/\w+$/);
    await goTo(page, '#/routes');
    await page.getByRole('button', { name: 'New subscription…' }).click();
    t.equal(await page.getByRole('dialog').getByLabel('Profile').inputValue(), 'default');
    await page.keyboard.press('Escape');
    await goTo(page, '#/config?profile=work');
    const file = page.getByRole('combobox', { name: 'Profile of the file' });
    await file.selectOption('default');
    await page.waitForURL(/file=default/);
    await page.setViewportSize({ width: 320, height: 700 });
    t.ok(((await file.boundingBox())?.width ?? 0) > 60, 'on a narrow screen the chosen profile can be read');
    t.same(await clippedParts(page), []);
    await page.setViewportSize({ width: 1280, height: 800 });
    await views.getByRole('link', { name: 'Events' }).click();
    await page.waitForURL(/#\/events\?profile=work$/);
    await page.evaluate(`localStorage.setItem('agent.place', '#/failures?profile=work')`);
    await page.goto(await linkOf(gateway));
    await page.getByText('No failed deliveries wait for you.').waitFor();
    t.equal(
      await page.getByRole('link', { name: '1 event' }).getAttribute('href'),
      '#/events?profile=work&q=status%3Afailed&range=24h',
      'events that failed are not left out',
    );
    t.match(
      await views.getByRole('link', { name: 'Routes' }).getAttribute('href'),
      /profile=work/,
      'a new session keeps it',
    );
    await goTo(page, '#/overview?profile=none');
    await page.getByText(/profile "none" is not served/).waitFor();
    await goTo(page, '#/failures?profile=work');
    await page.keyboard.press('Control+k');
    const words = page.getByRole('dialog').getByRole('combobox');
    await words.fill('server notes');
    await page.getByRole('option', { name: /^Server notes \(work\)\s*failing$/ }).waitFor();
    const searched = page.waitForRequest((request) =>
      /"q":"(?=[^"]*home)[^"]*profile:work/.test(request.postData() ?? ''),
    );
    await words.fill('home');
    await searched;
    await page.keyboard.press('Escape');

    await page.setViewportSize({ width: 390, height: 844 });
    t.same(await clippedParts(page), []);
    await page.getByRole('button', { name: 'Only of profile work: show all' }).click();
    await page.waitForURL(/#\/failures$/);
    await page.getByRole('button', { name: 'Hide the 2 deliveries' }).waitFor();
    await page.getByRole('button', { name: 'More' }).click();
    await choice.selectOption('default');
    await page.waitForURL(/#\/failures\?profile=default$/);
    t.same(await axeFindings(page), []);
    t.same(complaints, []);
  },
);

t.test('INS-4 · a home without a route begins with five steps, which write what they say', options, async (t) => {
  const claude = {
    mcpServers: { notes: { command: '/nowhere/notes', env: { NOTES_TOKEN: 'a-token-of-notes-1234' } } },
  };
  const home = makeHome(t, { 'user/.claude.json': JSON.stringify(claude) });
  home.write('bin/codex', '#!/bin/sh\ncat\n', 0o700);
  const listener = { enabled: true, extra: { host: '127.0.0.1', port: 0 } };
  const gateway = await startGateway(
    t,
    {},
    {
      config: { inspector: { port: 0 }, platforms: { webhook: listener } },
      home,
      env: { HOME: join(home.path, 'user'), PATH: `${join(home.path, 'bin')}:${process.env.PATH}` },
    },
  );
  home.write(
    'config.yaml',
    `# mine\ninspector: {port: 0}\nplatforms:\n  webhook: ${JSON.stringify(listener)} # here\n`,
  );
  const configText = (): string => readFileSync(join(home.path, 'config.yaml'), 'utf8');
  const { page } = await openInspector(t, gateway);
  const button = (name: string | RegExp) => page.getByRole('button', { name });
  await page.getByText('Your gateway is running').waitFor();

  await page.getByText(/Four steps are left/).waitFor();
  t.same(await axeFindings(page), []);
  await answerFor(page, { 'webhook.test': () => ({ status: 429, body: 'Rate limit exceeded' }) });
  await button('Create route and send a sample').click();
  await page.getByText('The sample was answered 429: Rate limit exceeded').waitFor();
  await page.unrouteAll({ behavior: 'wait' });
  await button('Send a sample').click();

  await button('Copy Signing secret, shown this once').waitFor();
  await page.getByText('The sample was accepted.').waitFor();
  const { events } = (await gateway.control.call('overview.read')) as unknown as Overview;
  t.equal(events.total, 1);
  await button('Continue').click();

  await button('Use Codex').click();

  await page.getByText('Codex answers events from now on.').waitFor();
  t.match(configText(), /^# mine\n[\s\S]*# here\n/);
  t.match(configText(), /runner: command[\s\S]*codex/);
  await button('Continue').click();

  await page.getByText('from Claude Code').waitFor();
  await button('Import 1').click();

  await page.getByText('1 server added.').waitFor();
  t.match(configText(), /notes:[\s\S]*command: \/nowhere\/notes/);
  t.notMatch(configText(), /a-token-of-notes/, 'its secret goes into .env');
  await button('Continue').click();
  await page.getByLabel('Bot token').fill('xoxb-of-the-spec');
  await page.setViewportSize({ width: 390, height: 844 });
  t.same(await clippedParts(page), []);
  await button(/^Not now/).click();

  await page.getByText('Nothing is left to set up.').waitFor();
  await page.getByRole('link', { name: 'Go to the overview' }).click();
  await page.getByText('1 first step is left').waitFor();
  await page.getByRole('link', { name: /^Show the first steps/ }).click();
  await button(/^Undo/).click();
  await page.getByLabel('Bot token').fill('xoxb-of-the-spec');
  await button('Set up Slack').click();

  await page.getByText(/^Slack is set up/).waitFor();
  t.match(readFileSync(join(home.path, '.env'), 'utf8'), /SLACK_TOKEN=xoxb-of-the-spec/);
  t.match(configText(), /^# mine\n/);
  t.match(configText(), /token: \$\{SLACK_TOKEN\}/);
  await goTo(page, '#/overview');
  await page.getByRole('heading', { name: 'In progress' }).waitFor();
  t.equal(await page.getByText(/first step.* left/).count(), 0);
});

t.test('INS-4 · deliveries that wait for their target are in progress', options, async (t) => {
  const silent = await listenHttp(t, () => {});
  const config = {
    inspector: { port: 0 },
    agent: { runner: 'echo' },
    platforms: {
      http: { enabled: true, url: silent.url, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', concurrency: 1 },
      webhook: adapterOf({ reports: { prompt: 'Report {n}', deliver: 'http' } }),
    },
  };
  const gateway = await startGateway(t, {}, { config, timePasses: true });
  for (const n of [1, 2, 3]) await send(gateway, 'reports', { n }, `d-report-${n}`);
  await eventually(async () => {
    const { open } = (await gateway.control.call('overview.read', {})) as unknown as Overview;
    return open.delivering === 3 || undefined;
  });
  const { page } = await openInspector(t, gateway);
  const delivering = page.getByRole('row', { name: 'Delivering 3' }).getByRole('link');
  t.match(await delivering.getAttribute('href'), /range=all$/, 'also those that wait for hours');
  await delivering.click();
  await page
    .locator('.ends')
    .getByText(/^3 events, /)
    .waitFor();
});
