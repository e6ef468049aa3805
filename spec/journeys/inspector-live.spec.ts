/**
 * The inspector's page in a real browser while what it reads is late, lost or gone: a stream that ends, an answer that does
 * not come, a daemon that is killed. The page's clock stands still unless a spec moves it.
 */

import { renameSync } from 'node:fs';
import type { Request } from 'playwright-core';
import t from 'tap';
import type { Json } from '../../machines/base/json.ts';
import {
  answerFor,
  axeFindings,
  calls,
  clippedParts,
  goTo,
  holdAnswer,
  linkOf,
  type OpenPage,
  openBlank,
  openInspector,
  refusal,
} from '../support/browser.ts';
import { startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { entryOf, eventually, startGateway } from '../support/mcp/gateway.ts';
import { started } from '../support/mcp/http-peer.ts';
import {
  changedBy,
  config,
  configOf,
  killed,
  opened,
  options,
  sendReview,
  writesStream,
} from '../support/page-scene.ts';
import { deferred } from '../support/turns.ts';
import { adapterOf, send, webhookSecret } from '../support/webhook-adapter.ts';

t.test('INS-2 · SEC-1 · a browser that stores nothing shows the page', options, async (t) => {
  const gateway = await startGateway(t, {}, { config });
  const { page } = await openBlank(t);
  await answerFor(page, { 'setup.read': changedBy({ webhooks_enabled: false }) });
  await page.addInitScript(`
    const refused = { get() { throw new DOMException('The browser stores nothing', 'SecurityError'); } };
    for (const name of ['localStorage', 'indexedDB']) Object.defineProperty(globalThis, name, refused);
  `);

  await page.goto(await linkOf(gateway));

  await page.getByRole('link', { name: /^Show the first steps/ }).click();
  await page.getByRole('button', { name: /^Not now/ }).click();
  await page.getByText(/Three steps are left/).waitFor();

  await page.getByRole('button', { name: /^Undo/ }).click();
  await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new DOMException('', 'NotAllowedError'))");
  await page.getByRole('button', { name: 'Copy Webhook URL' }).click();
  await page.getByText('The browser did not let the page copy.').waitFor();
  const letAnswer = await holdAnswer(page, 'setup.webhooks');
  await page.getByRole('button', { name: 'Create route only' }).click();
  await page.getByRole('button', { name: 'Creating…' }).first().waitFor();
  await goTo(page, '#/audit');
  await letAnswer();
  await page.getByText('Route github created.').waitFor();
  t.match(page.url(), /#\/audit$/, 'a step that takes long takes no reader back who has left');
});

t.test('INS-2 · a page that was too slow for the changes asks again after the snapshot', options, async (t) => {
  const gateway = await startGateway(t, {}, { config: configOf() });
  const { page } = await openBlank(t);
  await page.addInitScript(`${writesStream}
    globalThis.sendSnapshot = (version) => write(snapshot.replace(/(?<="version":")[^"]*/, version ?? '$&'));
  `);
  let asked = 0;
  page.on('request', (request) => {
    if (calls('failures.groups')(request)) asked += 1;
  });
  await page.goto(await linkOf(gateway));
  await page.getByText('Live', { exact: true }).first().waitFor();
  await page.goto(`${page.url()}#/failures`);
  await page.getByText('No failed deliveries.').waitFor();
  await page.waitForTimeout(300);
  const before = asked;

  await page.evaluate('sendSnapshot()');

  await eventually(() => asked > before);
  let names = ['one', 'two'];
  const listOf = () => names.map((name) => ({ name, profile: 'default', deliver: 'log', events: [] }));
  await answerFor(page, { 'webhook.list': listOf });
  await page.evaluate("location.hash = '#/events'");
  await page.getByRole('button', { name: 'Send test event…' }).first().click();
  const choice = page.getByRole('dialog').getByLabel('Route');
  await page.getByRole('dialog').locator('select:focus').waitFor();
  await choice.selectOption('two');
  names = ['two', 'three'];
  const listed = page.waitForResponse((response) => calls('webhook.list')(response.request()));
  await page.evaluate('sendSnapshot()');
  t.same((await listed).request().postDataJSON().params, { brief: true }, 'the history is not read for names');
  await page.waitForTimeout(50);
  const label = "document.querySelector('dialog select').selectedOptions[0].label";
  t.equal(await page.evaluate(label), 'two', 'the chosen route stays chosen');
  await page.keyboard.press('Escape');
  names = [];
  const emptied = page.waitForResponse((response) => calls('webhook.list')(response.request()));
  await page.evaluate('sendSnapshot()');
  await emptied;
  await page.getByRole('button', { name: 'Send test event…' }).first().click();
  await page.getByRole('dialog').getByRole('link', { name: 'Routes' }).click();
  await page.waitForURL(/#\/routes$/);
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.unrouteAll({ behavior: 'wait' });
  const sent = { action: 'opened', key: webhookSecret };
  await sendReview(gateway, 'one', sent);
  await page.goto(`${page.url().split('#')[0]}#/events/one`);
  await page.getByRole('heading', { level: 2, name: 'reviews' }).waitFor();
  await page.keyboard.press('e');
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/^Secrets are shown as \[redacted\]\./).waitFor();
  const payload = dialog.getByRole('textbox', { name: 'Payload' });
  await payload.fill('{"typed":true}');
  const isWhole = (request: Request) => request.postData()?.includes('"whole":true') === true;
  const restarts = refusal('the database restarts');
  await answerFor(page, {
    'events.open': (params) => (params.whole === true ? restarts() : undefined),
  });
  const read = page.waitForResponse((response) => isWhole(response.request()));
  await page.evaluate('sendSnapshot()');
  await read;
  await page.waitForTimeout(50);
  t.equal(await payload.inputValue(), '{"typed":true}', 'what was typed stays');
  await page.evaluate("sendSnapshot('99.0.0')");
  await page.getByRole('note').filter({ hasText: 'The gateway is 99.0.0 now.' }).waitFor();
  await page.evaluate(`write(snapshot.replace('"version":', '"named":'))`);
  await page.getByRole('note').filter({ hasText: 'The gateway has another page now. This one is of an' }).waitFor();
  await page.unrouteAll({ behavior: 'wait' });
  await page.route('**/*.json', (route) => route.abort());
  await page.evaluate("location.hash = '#/actors/journal'");
  await page.getByRole('button', { name: 'Discard the changes' }).click();
  await page.getByText('The chart could not be fetched.').waitFor();
  await page.unrouteAll({ behavior: 'wait' });
  await page.evaluate('sendSnapshot()');
  await page.locator('.box').first().waitFor();
});

t.test('INS-2 · what is opened is shown from its top, or where it was left', options, async (t) => {
  const { page } = await opened(t, config);
  await page.setViewportSize({ width: 1280, height: 130 });
  const pane = page.locator('.pane');
  const openActor = async (id: string): Promise<void> => {
    await goTo(page, `#/actors/${id}`);
    await page.getByRole('heading', { level: 2, name: id }).waitFor();
  };
  await openActor('journal');
  await page.locator('.box').first().waitFor();
  await pane.evaluate((one) => {
    one.scrollTop = 30;
  });
  // The browser reports a scroll with its next frame.
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');

  await openActor('supervisor');

  t.equal(await pane.evaluate((one) => one.scrollTop), 0);
  await openActor('journal');
  await eventually(async () => (await pane.evaluate((one) => one.scrollTop)) === 30);
});

t.test('INS-2 · pages in the background leave the connections to the one that is read', options, async (t) => {
  const gateway = await startGateway(t, {}, { config: configOf() });
  const { page: first, context } = await openBlank(t);
  await context.addInitScript(`
    Object.defineProperty(document, 'hidden', { get: () => globalThis.isHidden === true });
    let listening = 0;
    globalThis.isListening = () => listening > 0;
    const real = fetch;
    globalThis.fetch = async (...asked) => {
      if (asked[0] !== './stream') return real(...asked);
      asked[1].signal.addEventListener('abort', () => { listening -= 1; });
      listening += 1;
      return real(...asked);
    };
  `);
  const hide = async (page: OpenPage['page']): Promise<void> => {
    await page.getByText('Live', { exact: true }).first().waitFor();
    await page.evaluate("isHidden = true; document.dispatchEvent(new Event('visibilitychange'))");
  };
  await first.goto(await linkOf(gateway));
  const pages = [first];
  for (let more = 0; more < 5; more += 1) {
    const page = await context.newPage();
    await eventually(() => pages.at(-1)?.evaluate('isListening()'));
    await hide(pages.at(-1) ?? page);
    await page.goto(first.url());
    pages.push(page);
  }

  const last = await context.newPage();
  await last.goto(`${first.url()}#/failures`);
  await last.getByText('No failed deliveries.').waitFor();

  const listening = async (): Promise<number> =>
    (await Promise.all(pages.slice(0, -1).map((page) => page.evaluate('isListening()')))).filter(Boolean).length;
  await eventually(async () => (await listening()) === 1 || undefined);
  await first.evaluate("isHidden = false; document.dispatchEvent(new Event('visibilitychange'))");
  await eventually(() => first.evaluate('isListening()'));
});

t.test('INS-4 · an overview whose stream has ended is watched again', options, async (t) => {
  const gateway = await startGateway(t, {}, { config: configOf() });
  const { page } = await openBlank(t);
  let asked = 0;
  await page.route('**/rpc', (route) => {
    if (!calls('overview.watch')(route.request())) return route.continue();
    asked += 1;
    if (asked > 1) return route.continue();
    const body = `${JSON.stringify({ jsonrpc: '2.0', id: 1, result: { watching: '1h' } })}\n`;
    return route.fulfill({ contentType: 'application/x-ndjson', body });
  });

  await page.goto(await linkOf(gateway));

  await page.getByText('Nothing needs you.').waitFor();
});

t.test('INS-2 · an answer that is slower than the changes is shown', options, async (t) => {
  const { gateway, page } = await opened(t);
  const [first, later] = [deferred<void>(), deferred<void>()];
  let asked = 0;
  await answerFor(page, {
    'webhook.list': () => {
      asked += 1;
      return (asked === 1 ? first : later).promise;
    },
  });
  await goTo(page, '#/routes');
  await eventually(() => asked === 1);
  await sendReview(gateway, 'one');
  await eventually(() => asked > 1);

  first.resolve();

  await page.getByRole('link', { name: /^reviews/ }).waitFor();
  later.resolve();
});

t.test('INS-2 · a view that waits for an answer does not ask again, but once it is there', options, async (t) => {
  const { gateway, page } = await opened(t);
  const held = deferred<void>();
  const asked = { routes: 0, failures: 0 };
  await answerFor(page, {
    'webhook.list': () => {
      asked.routes += 1;
      return asked.routes === 2 ? held.promise : undefined;
    },
    'failures.groups': () => {
      asked.failures += 1;
    },
  });
  await goTo(page, '#/routes');
  await page.getByRole('link', { name: /^reviews/ }).waitFor();
  await sendReview(gateway, 'first');
  await eventually(() => asked.routes === 2);

  for (const id of ['second', 'third', 'fourth']) {
    const { failures } = asked;
    await sendReview(gateway, id);
    await eventually(() => asked.failures > failures);
  }

  t.equal(asked.routes, 2);
  held.resolve();
  await eventually(() => asked.routes === 3);
});

t.test('INS-2 · a view whose answer was lost on the way asks again after a while', options, async (t) => {
  const { gateway, page } = await opened(t);
  // The page's clock as a whole would also end the stream.
  await page.evaluate(`{
    const wait = setTimeout;
    globalThis.setTimeout = (done, ms, ...more) => wait(done, ms === 30_000 ? 1_000 : ms, ...more);
  }`);
  let asked = 0;
  const lost = deferred<void>();
  await answerFor(page, {
    'webhook.list': () => {
      asked += 1;
      return asked === 2 ? lost.promise : undefined;
    },
  });
  await goTo(page, '#/routes');
  await page.getByRole('link', { name: /^reviews/ }).waitFor();
  await sendReview(gateway, 'first');
  await eventually(() => asked === 2);

  await sendReview(gateway, 'second');

  await eventually(() => asked >= 3);
  lost.resolve();
});

t.test('INS-2 · what was asked before the journal was open is asked again then', options, async (t) => {
  const home = makeHome(t);
  const first = await startGateway(t, {}, { config: configOf(), home });
  await sendReview(first, 'kept');
  await eventually(async () =>
    JSON.stringify(await first.control.call('webhook.deliveries', {})).includes('"status":"delivered"'),
  );
  await first.daemon.kill('SIGTERM');
  const [store, aside] = [`${home.path}/state/data.mdb`, `${home.path}/state/aside.mdb`];
  renameSync(store, aside);
  home.write('state/data.mdb', 'this is no store');
  const second = await startGateway(t, {}, { config: configOf(), home });
  const { page } = await openBlank(t);
  await page.goto(await linkOf(second));
  await page.getByRole('note').filter({ hasText: 'Not ready: journal is' }).waitFor();
  const parts = { listener: { ok: false, state: 'closed', why: '' } };
  await page.route('**/ready', (route) => route.fulfill({ status: 503, json: { ready: false, parts } }));
  await page.getByRole('note').filter({ hasText: 'Not ready: listener is closed.' }).waitFor();
  await page.unrouteAll({ behavior: 'wait' });
  await goTo(page, '#/events/kept');
  await page.getByText('The event could not be loaded.').waitFor();

  renameSync(aside, store);

  await page.getByRole('heading', { level: 2, name: 'reviews' }).waitFor();
});

t.test('INS-2 · while the daemon is offline, opened events, their list and the overview stay', options, async (t) => {
  const routes = { reviews: { prompt: 'Review {n}', deliver: 'log' } };
  const home = await startGateway(t, {}, { config: { ...config, platforms: { webhook: adapterOf(routes) } } });
  for (const id of ['first', 'second']) await sendReview(home, id, { n: 1 });
  const { page } = await openInspector(t, home);
  await page.getByText('Nothing needs you.').waitFor();
  await goTo(page, '#/events/second');
  const rows = page.locator('.ev').filter({ hasText: 'reviews' });
  await rows.nth(1).waitFor();
  const title = page.getByRole('heading', { level: 2, name: 'reviews' });
  await title.waitFor();
  await page.keyboard.press('e');
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: 'Payload' }).waitFor();

  await killed(home);
  await dialog.getByText('The daemon does not answer.').waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('alert').filter({ hasText: 'does not answer' }).waitFor();

  await page.keyboard.press('j');
  t.equal(await rows.count(), 2);
  await page.getByRole('button', { name: 'Paused: offline' }).waitFor();
  t.equal(
    await page.evaluate("getComputedStyle(document.querySelector('.pane .btn.primary:disabled')).opacity"),
    '0.55',
    'a disabled button looks disabled',
  );
  t.match(page.url(), /#\/events\/second$/);
  t.equal(await title.isVisible(), true);
  for (const [hash, words] of [
    ['#/overview', 'Nothing needs you.'],
    ['#/events', 'reviews'],
  ] as const) {
    await goTo(page, hash);
    await page.locator('main').getByText(words).and(page.locator(':visible')).first().waitFor();
    t.equal(await page.getByText('could not be loaded').count(), 0, hash);
  }
  t.equal(await rows.count(), 2);
});

t.test('INS-2 · while the daemon is offline, the times of an event under way stop', options, async (t) => {
  const routes = { deploys: { coalesce: { key: 'n', window_seconds: 600 }, prompt: 'Deployed {n}', deliver: 'log' } };
  const home = await startGateway(t, {}, { config: { ...config, platforms: { webhook: adapterOf(routes) } } });
  await send(home, 'deploys', { n: 1 }, 'gathered');
  const { page } = await openInspector(t, home);
  await goTo(page, '#/events/gathered');
  const took = page.getByRole('listitem').filter({ hasText: 'Batch' }).locator('.took');
  await took.waitFor();

  await killed(home);
  await page.getByRole('alert').filter({ hasText: 'does not answer' }).waitFor();

  const before = await took.innerText();
  await page.waitForTimeout(1_000);
  t.equal(await took.innerText(), before);
});

t.test('INS-2 · a page says that the gateway was updated also after its session has ended', options, async (t) => {
  const gateway = await startGateway(t, {}, { config: configOf() });
  const { page, context } = await openBlank(t);
  await page.addInitScript(`
    const real = fetch;
    globalThis.fetch = async (...asked) => {
      const response = await real(...asked);
      if (asked[0] !== './stream' || !response.ok) return response;
      const renamed = new TransformStream({
        transform: (text, out) => out.enqueue(text.replace(/(?<="version":")[^"]*/, globalThis.version ?? '$&')),
      });
      const texts = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(renamed);
      return new Response(texts.pipeThrough(new TextEncoderStream()));
    };
  `);
  await page.goto(await linkOf(gateway));
  await page.getByText('Live', { exact: true }).first().waitFor();
  await gateway.control.call('inspect.endSessions', {});
  await page.getByText('Your session has ended.').waitFor();
  await page.evaluate("globalThis.version = '99.0.0'");

  const other = await context.newPage();
  await other.goto(await linkOf(gateway));

  await page.getByRole('note').filter({ hasText: 'The gateway is 99.0.0 now.' }).waitFor();
  t.pass('it does');
});

for (const kind of ['js', 'css']) {
  const title = `INS-2 · a page says that the gateway has another build of it, whose ${kind} is another one`;
  t.test(title, options, async (t) => {
    const { gateway: home, page } = await opened(t);
    const port = Number(new URL(page.url()).port);
    // Where a daemon of another build answers, no file of this name is.
    await page.route(`**/assets/*.${kind}`, (asked) => asked.fulfill({ status: 404 }));
    t.equal(await page.getByRole('note').count(), 0);

    await killed(home);
    home.home.write('config.yaml', JSON.stringify({ ...configOf(port), mcp_servers: {} }));
    await startDaemon(t, home.home.path);

    await page.getByRole('note').filter({ hasText: 'The gateway has another page now.' }).waitFor();
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Reload' }).click();
    await page.getByText('Live', { exact: true }).first().waitFor();
    t.equal(await page.getByRole('note').count(), 0);
  });
}

t.test(
  'INS-2 · the time since when the page is offline is that of the daemon, as every other one',
  options,
  async (t) => {
    const gateway = await startGateway(t, {}, { config: configOf() });
    const { page } = await openBlank(t);
    // The clock of the browser's machine is five hours slow.
    await page.addInitScript(`
    const now = Date.now;
    Date.now = () => now() - 5 * 3_600_000;
  `);
    await page.goto(await linkOf(gateway));
    await page.getByText('Live', { exact: true }).first().waitFor();

    await killed(gateway);

    const words = await page.getByRole('alert').filter({ hasText: 'Offline since' }).innerText();
    const [hours = Number.NaN, minutes = 0] = (/(\d+):(\d+):\d+/.exec(words) ?? []).slice(1).map(Number);
    const since = new Date().setHours(hours, minutes);
    const apart = Math.abs(Date.now() - since) % 86_400_000;
    t.ok(Math.min(apart, 86_400_000 - apart) < 3_600_000, words);
  },
);

t.test('SEC-1 · what a session has shown stays away after its end, when the daemon is gone too', options, async (t) => {
  const { gateway: home, page } = await opened(t);
  await page.clock.install();
  await home.control.call('inspect.endSessions', {});
  await page.getByText('Your session has ended.').waitFor();

  await killed(home);

  for (let tries = 0; tries < 2; tries += 1) await page.waitForEvent('requestfailed');
  await page.clock.runFor(6_000);
  t.equal(await page.getByText('Your session has ended.').count(), 1);
  t.equal(await page.getByRole('navigation').count(), 0);
});

t.test('INS-2 · a field has the focus again after an outage, and letters are no keys meanwhile', options, async (t) => {
  const { gateway: home, page } = await opened(t);
  const port = Number(new URL(page.url()).port);
  await goTo(page, '#/actors');
  await page.getByRole('searchbox').fill('journal');
  await page.waitForURL(/#\/actors\?q=journal$/);
  await killed(home);
  const banner = page.getByRole('alert').filter({ hasText: 'The daemon does not answer.' });
  await banner.waitFor();

  for (const key of ['g', 'e']) await page.keyboard.press(key);

  t.match(page.url(), /#\/actors\?q=journal$/);
  home.home.write('config.yaml', JSON.stringify({ ...configOf(port), mcp_servers: {} }));
  await startDaemon(t, home.home.path);
  await banner.waitFor({ state: 'detached' });
  await page.locator('input[type=search]:focus').waitFor();
});

t.test('INS-2 · while the daemon is offline, the content stays and the buttons are disabled', options, async (t) => {
  const peer = await started(t);
  const home = await startGateway(t, { peer: entryOf(peer) }, { config: configOf() });
  await home.reaches('peer', 'connected');
  const { page } = await openInspector(t, home);
  const port = Number(new URL(page.url()).port);
  await goTo(page, '#/servers/default/peer');
  await page.getByText('Adds two numbers').waitFor();

  await killed(home);

  const banner = page.getByRole('alert').filter({ hasText: 'The daemon does not answer.' });
  await banner.waitFor();
  t.match(await page.locator('main').getAttribute('class'), /lost/);
  t.equal(await page.getByText('Adds two numbers').isVisible(), true);
  t.equal(await page.getByRole('link', { name: /^peer/ }).isVisible(), true);
  t.same(await axeFindings(page), []);
  await page.setViewportSize({ width: 390, height: 800 });
  t.same(await clippedParts(page), []);
  await page.setViewportSize({ width: 1280, height: 800 });
  t.equal(
    await page.getByRole('tab', { name: 'Log' }).isDisabled(),
    true,
    'controls that call the daemon are disabled',
  );
  for (const hash of ['#/events', '#/actors', '#/servers']) {
    await goTo(page, hash);
    t.equal(await page.getByRole('alert').filter({ hasText: 'does not answer' }).count(), 1, hash);
  }
  home.home.write('config.yaml', JSON.stringify({ ...configOf(port), mcp_servers: {} }));
  await startDaemon(t, home.home.path);
  await banner.waitFor({ state: 'detached' });
  await page.getByText('No servers yet.').waitFor();
  t.notMatch(await page.locator('main').getAttribute('class'), /lost/);
});

t.test(
  'INS-4 · a route or server that is not configured is said not to be, also a broken record',
  options,
  async (t) => {
    const servers = { away: { url: 'http://127.0.0.1:1/mcp' } };
    const { page } = await openInspector(t, await startGateway(t, servers, { config: configOf() }));
    const broken = { name: 'broken', url: '', events: [], deliver: '', description: '', problem: 'it cannot be read' };
    await answerFor(page, { 'webhook.list': async (_, own) => [...((await own()) as Json[]), broken] });

    await goTo(page, '#/routes//broken');
    await page.getByText('No such route').waitFor();
    await page.getByText('/broken is not configured any more.', { exact: true }).waitFor();
    await goTo(page, '#/servers/default/gone');
    await page.getByText('default/gone is not configured any more.', { exact: true }).waitFor();
    await page.getByRole('region', { name: 'MCP servers' }).waitFor();
  },
);

t.test(
  'INS-4 · an address without a profile opens what has that name, or offers those that have',
  options,
  async (t) => {
    const away = { url: 'http://127.0.0.1:1/mcp', enabled: false };
    const gateway = await startGateway(t, { away, both: away }, { config: configOf() });
    await gateway.control.ask('cron.add', {
      name: 'digest',
      record: { schedule: 'every 1h', prompt: 'Sum up' },
    });
    const { page } = await openInspector(t, gateway);
    await answerFor(page, {
      'mcp.list': async (_, own) => {
        const rows = (await own()) as { readonly name: string }[];
        return [...rows, ...rows.filter(({ name }) => name === 'both').map((row) => ({ ...row, profile: 'work' }))];
      },
    });

    await goTo(page, '#/servers/away');
    await page.getByRole('heading', { level: 2, name: /^away/ }).waitFor();
    t.equal(
      await page
        .locator('.li[aria-current=true]')
        .innerText()
        .then((text) => /^away/.test(text)),
      true,
    );
    await goTo(page, '#/servers/away/settings');
    await page.getByRole('heading', { level: 2, name: /^away/ }).waitFor();
    t.equal(await page.getByRole('tab', { name: 'Settings' }).getAttribute('aria-selected'), 'true');
    await goTo(page, '#/routes/reviews');
    await page.getByRole('heading', { level: 2, name: /^reviews/ }).waitFor();
    await goTo(page, '#/servers/both');
    await page.getByText('2 servers have this name').waitFor();
    await page.locator('main').getByRole('link', { name: 'work', exact: true }).click();
    await page.waitForURL(/#\/servers\/work\/both$/);
    await goTo(page, '#/servers/both?profile=work');
    await page.getByText('profile work').waitFor();
    await goTo(page, '#/schedules/digest');
    await page.getByRole('heading', { level: 2, name: /^digest/ }).waitFor();
  },
);

t.test('INS-4 · an overview that cannot be read again says so, and why', options, async (t) => {
  const { page } = await opened(t);
  await goTo(page, '#/overview');
  await page.getByText('Nothing needs you.').waitFor();
  await page.getByRole('link', { name: 'Show targets' }).waitFor();
  await goTo(page, '#/targets');
  await page.getByText('No targets yet.').waitFor();
  await answerFor(page, { 'overview.watch': refusal('the database restarts') });

  await goTo(page, '#/overview');

  const words = 'The overview could not be loaded. What you see is from before: the daemon closed the connection';
  const alert = page.getByRole('alert').filter({ hasText: words });
  await alert.waitFor();
  t.equal(await page.getByText('Nothing needs you.').count(), 1);
  await page.unrouteAll({ behavior: 'wait' });
  await alert.getByRole('button', { name: 'Try again' }).click();
  await alert.waitFor({ state: 'detached' });
});
