/** The inspector's page in a real browser, where its tree of actors could mislead a person. */

import t from 'tap';
import { answerFor, goTo, linkOf, openBlank, openContext } from '../support/browser.ts';
import { eventually, startGateway } from '../support/mcp/gateway.ts';
import { config, opened, options, writesStream } from '../support/page-scene.ts';

t.test('INS-4 · the tree of actors stays where a person has scrolled it', options, async (t) => {
  const gateway = await startGateway(t, {}, { config });
  const { page } = await openBlank(t);
  await page.addInitScript(`${writesStream}
    globalThis.begin = (...ids) => {
      const row = { parent: 'journal', machine: 'thing', state: 'waiting', since: Date.now(), tags: ['resting'] };
      const delta = { at: Date.now(), changed: ids.map((id) => ({ ...row, id })), gone: [], steps: [], skipped: 0 };
      write('event: delta\\ndata: ' + JSON.stringify(delta) + '\\n\\n');
    };
  `);
  await page.goto(await linkOf(gateway));
  await page.getByText('Live', { exact: true }).first().waitFor();
  await page.setViewportSize({ width: 1280, height: 400 });
  await goTo(page, '#/actors');
  const tree = page.getByRole('tree', { name: 'Living actors' });
  await tree.getByRole('treeitem', { name: /journal/ }).waitFor();
  await page.evaluate('begin(...Array.from({ length: 12 }, (_, at) => `early-${at}`))');
  await tree.getByRole('treeitem', { name: /^early-11/ }).waitFor();
  await tree.focus();
  await page.keyboard.press('End');
  await page.waitForURL(/#\/actors\/.+/);
  const scrolled = () => tree.evaluate((one) => one.scrollTop);
  await eventually(async () => (await scrolled()) > 1);
  await tree.evaluate((one) => {
    one.scrollTop = 1;
  });

  await page.evaluate("begin('late')");

  await tree.getByRole('treeitem', { name: /^late/ }).waitFor();
  t.equal(await scrolled(), 1);
});

t.test('INS-1 · INS-2 · a living actor that is not streamed is not said to have ended', options, async (t) => {
  const { page } = await opened(t, config);
  const details = {
    ...{ id: 'connections/far', parent: 'connections', machine: 'serverConnection', state: 'connected', tags: [] },
    ...{ since: Date.now(), description: '', rule: '', context: {}, timers: [], steps: [], events: [], children: [] },
  };
  await page.route('**/actor/**', (route) => route.fulfill({ json: details }));

  await goTo(page, '#/actors/connections/far');

  await page.getByRole('heading', { level: 2, name: 'connections / far' }).waitFor();
  t.equal(await page.getByText('has ended').count(), 0);
});

t.test('INS-2 · an actor that cannot be read is not said to have ended', options, async (t) => {
  const { page } = await opened(t, config);
  await page.route('**/actor/**', (route) => route.fulfill({ status: 500, body: 'internal error' }));

  await goTo(page, '#/actors/connections/none');

  await page.getByText('The actor could not be loaded.').waitFor();
  t.equal(await page.getByText('has ended').count(), 0);
  // While it still fails: the page also reads the actor again by itself, and the button goes with the failure.
  await Promise.all([page.waitForRequest('**/actor/**'), page.getByRole('button', { name: 'Try again' }).click()]);
  await page.unrouteAll({ behavior: 'wait' });
  await page.getByText('No actor lives there any more').waitFor();
});

t.test('INS-2 · SCA-3 · the tree of another gateway is folded and unfolded by keys too', options, async (t) => {
  const { page } = await opened(t, config);
  const since = new Date().toISOString();
  const nodeOf = (id: string, children: readonly object[] = []) => {
    return { id, machine: 'thing', state: 'waiting', since, children };
  };
  await answerFor(page, { 'inspect.tree': () => nodeOf('supervisor', [nodeOf('below')]) });
  await goTo(page, '#/actors?node=other');
  const tree = page.getByRole('tree', { name: 'Living actors of other' });
  const below = tree.getByRole('treeitem', { name: /^below/ });
  await below.waitFor();
  await tree.focus();
  await page.keyboard.press('Home');

  await page.keyboard.press('ArrowLeft');

  await below.waitFor({ state: 'detached' });
  await page.keyboard.press('ArrowRight');
  await below.waitFor();
  t.match(await page.evaluate('location.hash'), /^#\/actors\/supervisor\?node=other$/);
});

t.test('INS-2 · a chart is moved, and its words are read, with a finger', options, async (t) => {
  const gateway = await startGateway(t, {}, { config });
  const context = await openContext(t, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  const page = await context.newPage();
  await page.goto(await linkOf(gateway));
  await goTo(page, '#/actors/gateway');
  const chart = page.getByRole('group', { name: /^Chart of gateway/ });
  const drawn = chart.locator('svg > g');
  const placed = async () =>
    (/translate\((\S+) (\S+)\)/.exec((await drawn.getAttribute('transform')) ?? '') ?? []).slice(1);
  await drawn.waitFor();
  const { x, y } = (await chart.boundingBox()) ?? { x: 0, y: 0 };
  const fingers = await context.newCDPSession(page);
  const drag = async (dx: number, dy: number) => {
    const from = { x: x + 60, y: y + 40 };
    await fingers.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [from] });
    for (const part of [0.25, 0.5, 0.75, 1]) {
      const at = { x: from.x + dx * part, y: from.y + dy * part };
      await fingers.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: [at] });
    }
    await fingers.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
  };
  const fitted = await placed();

  await drag(0, -100);

  t.strictSame(await placed(), fitted, 'fitted, the page scrolls');
  await page
    .locator('.main .body, .main .pane')
    .first()
    .evaluate((one) => one.scrollTo(0, 0));
  await page.getByRole('button', { name: 'Larger' }).tap();
  const larger = await placed();
  await drag(0, 100);
  const moved = await placed();
  t.equal(Math.round(Number(moved[1]) - Number(larger[1])), 100);
  const words = chart.locator('.edge-words');
  await chart.locator('.arrow .lab').first().tap();
  await words.waitFor();
  await chart.locator('.box').first().tap();
  await words.waitFor({ state: 'detached' });
  t.match(
    String(await page.evaluate("getComputedStyle(document.querySelector('.sheet-of-chart')).touchAction")),
    /pinch-zoom/,
    'two fingers enlarge the page',
  );
});
