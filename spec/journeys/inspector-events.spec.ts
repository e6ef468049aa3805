/** The events of the inspector's page in a real browser, over a real daemon: searched, counted, and never moved under a reader. */

import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import t from 'tap';
import { axeFindings, clippedParts, goTo, openInspector, options } from '../support/browser.ts';
import { eventually, startGateway } from '../support/mcp/gateway.ts';
import { opened, sendReview } from '../support/page-scene.ts';
import { adapterOf, send } from '../support/webhook-adapter.ts';

const route = { prompt: 'Do {title}', deliver: 'log' };
const routes = { reviews: { ...route, filters: [{ field: 'action', equals: 'opened' }] }, deploys: route };
const webhook = adapterOf(routes, { rate_limit: 100_000 });
const config = { inspector: { port: 0 }, agent: { runner: 'echo' }, platforms: { webhook } };

const rowsOf = (page: Page) => page.getByRole('grid', { name: 'Events, newest first' }).getByRole('row');
const search = (page: Page) => page.getByRole('combobox', { name: 'Search events' });
const searchIs = (page: Page, text: string) =>
  eventually(async () => (await search(page).inputValue()) === text || undefined);
const total = (page: Page, words: string) =>
  page
    .locator('.ends')
    .getByText(new RegExp(`^${words}, `))
    .waitFor();

t.test('the events of one daemon', options, async (t) => {
  const gateway = await startGateway(t, {}, { config });
  const { page, complaints } = await openInspector(t, gateway);
  await goTo(page, '#/events');
  await page.getByText('No events in this hour.').waitFor();
  await send(gateway, 'deploys', { title: 'the needle', note: 'checkout_4411' }, 'first');
  for (let at = 0; at < 120; at += 1)
    await send(gateway, 'reviews', { action: 'closed', title: `hay ${at}` }, `hay-${at}`);
  await total(page, '121 events');

  await t.test('INS-4 · the complete history is searched, payloads included, and counted', async (t) => {
    await search(page).fill('CHECKOUT_4411');
    await total(page, '1 event');
    const row = rowsOf(page);
    t.match(await row.innerText(), /Delivered[\s\S]*deploys push[\s\S]*Do the needle[\s\S]*first/);
    await page.waitForURL(/#\/events\?q=CHECKOUT_4411$/);
    const found = await gateway.cli('events', '--search', 'checkout_4411', '--json');
    t.match(JSON.parse(found.stdout), [{ delivery_id: 'first', status: 'delivered' }]);

    await search(page).fill('sta');
    await page.getByRole('option', { name: 'status:', exact: true }).click();
    await page.keyboard.type('deli');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await searchIs(page, 'status:delivered ');
    await total(page, '1 event');
    const chip = (name: string) => page.getByRole('button', { name: new RegExp(`^${name} `) });
    await page.getByRole('button', { name: 'Delivered 1', exact: true, pressed: true }).waitFor();
    // The chips count what the filter by status leaves out too.
    await page.getByRole('button', { name: 'Ignored 120', exact: true, pressed: false }).waitFor();
    await chip('Delivered').click();
    await chip('Ignored').click();
    // A chip writes its filter into the search.
    await searchIs(page, 'status:ignored');
    await total(page, '120 events');
    await page.getByRole('combobox', { name: 'Route' }).selectOption('deploys');
    await searchIs(page, 'route:deploys status:ignored');
    await page.getByText('No event matches').waitFor();
    await page.getByText(/Searched all 121 events between .* and now, payloads included\./).waitFor();
    t.same(await axeFindings(page), []);
    await search(page).fill('rute:deploys');
    await page.getByText('"rute:" is no filter; use one of route:').first().waitFor();
    await search(page).fill('');
    await total(page, '121 events');
    await search(page).pressSequentially('hay ');
    await total(page, '120 events');
    await search(page).pressSequentially('7');
    t.ok(await searchIs(page, 'hay 7'), 'a space stays between two words');
    // A key just after the search has taken what was typed before it.
    await page.evaluate(`{
      const box = document.getElementById('search-events');
      const type = (key) => {
        box.value += key;
        box.dispatchEvent(new InputEvent('input', { bubbles: true }));
      };
      const { replaceState } = history;
      history.replaceState = (...given) => {
        history.replaceState = replaceState;
        replaceState.apply(history, given);
        setTimeout(type, 0, '1');
        setTimeout(type, 60, '5');
      };
      type('1');
    }`);
    await page.waitForURL(/q=hay\+71[15]/);
    t.equal(await search(page).inputValue(), 'hay 7115', 'no key is lost');
    await search(page).fill('');
    await total(page, '121 events');
  });

  await t.test('INS-4 · all that match are exported, also those that the list has not loaded', async (t) => {
    const exported = async (): Promise<readonly { readonly delivery_id: string }[]> => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Export' }).click(),
      ]);
      t.match(download.suggestedFilename(), /^events-.*\.json$/);
      return JSON.parse(readFileSync(await download.path(), 'utf8'));
    };
    const all = await exported();
    t.same([all.length, all[0]?.delivery_id, all.at(-1)?.delivery_id], [121, 'hay-119', 'first']);
    await page.getByText('121 events exported.').waitFor();
    await search(page).fill('CHECKOUT_4411');
    await total(page, '1 event');
    t.match(await exported(), { length: 1, 0: { delivery_id: 'first' } });
    await search(page).fill('');
    await total(page, '121 events');
  });

  await t.test('INS-4 · an export is stopped by its button, and by leaving the events', async (t) => {
    const asked: string[] = [];
    // Only an export asks for no rows first, to learn the range.
    await page.route('**/rpc', (route) => {
      const body = route.request().postData() ?? '';
      if (!/"limit":(?:0|1000)\b/.test(body)) return route.continue();
      asked.push(body);
      return asked.length % 2 === 1 ? route.continue() : undefined;
    });
    const stop = page.getByRole('button', { name: 'Stop export (0)' });
    await page.getByRole('button', { name: 'Export', exact: true }).click();
    await eventually(async () => asked.length === 2 || undefined);
    await stop.click();
    await page.getByText('Export stopped.').waitFor();
    await page.getByRole('button', { name: 'Export', exact: true }).click();
    await eventually(async () => asked.length === 4 || undefined);
    const aborted = page.waitForEvent('requestfailed', (one) => one.postData() === asked[3]);
    await goTo(page, '#/routes');
    t.ok(await aborted, 'the request is aborted');
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await goTo(page, '#/events');
    await total(page, '121 events');
  });

  await t.test('INS-4 · older rows come as they are reached, and a drag over the bars chooses a range', async (t) => {
    const grid = page.getByRole('grid');
    await grid.focus();
    await eventually(async () => {
      await page.keyboard.press('End');
      return (await rowsOf(page).filter({ hasText: 'first' }).count()) === 1 || undefined;
    });
    t.equal(await grid.getAttribute('aria-rowcount'), '121');
    await page.keyboard.press('Home');

    const bars = page.getByRole('img', { name: /^121 events, 0 failed, peak / });
    const { x, y, width } = (await bars.boundingBox()) ?? { x: 0, y: 0, width: 0 };
    await page.mouse.move(x + width * 0.1, y + 20);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.5, y + 20, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/range=\d{4}-\d\d-\d\dT.*\.\./);
    await page.getByText('No events in this range.').waitFor();
    await page.getByRole('button', { name: '1 h', exact: true }).click();
    await total(page, '121 events');
  });

  await t.test(
    'INS-4 · a marked row keeps its place while events come, and nothing unchanged is drawn again',
    async (t) => {
      await page.mouse.move(2, 2);
      for (let at = 0; at < 6; at += 1) await page.keyboard.press('j');
      const placed = `document.querySelector('.ev.at').id + ' ' + document.querySelector('.ev.at').getBoundingClientRect().top`;
      const before = await page.evaluate(placed);
      await page.evaluate(`(() => {
      window.drawn = [];
      new MutationObserver((records) => { for (const { target, type, attributeName } of records) window.drawn.push([type, attributeName, target.className].join(' ')); }).observe(
        document.querySelector('.virtual'), { subtree: true, childList: true, characterData: true, attributes: true });
    })()`);

      for (let at = 0; at < 60; at += 1) await send(gateway, 'deploys', { title: `late ${at}` }, `late-${at}`);
      await page.getByRole('button', { name: '60 new events' }).waitFor();

      t.equal(await page.evaluate(placed), before);
      t.same(await page.evaluate('window.drawn'), [], 'no row was drawn again');
      t.ok(Number(await page.evaluate('document.querySelectorAll("*").length')) <= 1_500);
      t.match(page.url(), /#\/events$/);
      await page.getByRole('button', { name: '60 new events' }).click();
      await rowsOf(page).first().getByText('late 59').waitFor();
      await page.keyboard.press('l');
      await page.getByRole('button', { name: 'Paused' }).waitFor();
      await send(gateway, 'deploys', { title: 'unseen' }, 'unseen');
      await page.keyboard.press('l');
      await rowsOf(page).first().getByTitle('unseen', { exact: true }).waitFor();
    },
  );

  await t.test('INS-4 · an event is opened beside the list by the keyboard, and the search is kept', async (t) => {
    await search(page).fill('late');
    await total(page, '60 events');
    await page.evaluate('document.activeElement.blur()');
    for (const key of ['j', 'ArrowDown', 'Enter']) await page.keyboard.press(key);
    await page.waitForURL(/#\/events\/\w+\?q=late$/);
    await page.locator('.ev.at').getByText('Do late 58').waitFor();
    await page.keyboard.press('j');
    await page.locator('.ev.at').getByText('Do late 57').waitFor();
    await page.keyboard.press('Escape');
    await page.waitForURL(/#\/events\?q=late$/);
    t.ok(await searchIs(page, 'late'), 'the search stays');
  });

  await t.test('INS-2 · Back undoes a chosen outcome, and one new event is counted in the singular', async () => {
    await goTo(page, '#/events');
    await page
      .getByRole('group', { name: 'Outcome' })
      .getByRole('button', { name: /^Delivered/ })
      .click();
    await page.waitForURL(/status%3Adelivered/);
    await page.goBack();
    await page.waitForURL(/#\/events$/);
    // Without its rows there is none that `j` could mark, and without a mark an event joins the list at once.
    await total(page, '182 events');
    await page.evaluate('document.activeElement.blur()');
    await page.keyboard.press('j');
    await page.locator('.ev.at').waitFor();
    await send(gateway, 'deploys', { title: 'alone' }, 'alone');
    await page.getByRole('button', { name: '1 new event', exact: true }).click();
  });

  await t.test('INS-2 · the focus goes with what is opened and closed by keys', async (t) => {
    const focused = (which: string) => page.locator(`${which}:focus`).waitFor();
    for (const [width, opened] of [
      [1280, '.virtual'],
      [900, '#main .back'],
    ] as const) {
      await page.setViewportSize({ width, height: 800 });
      await goTo(page, '#/events');
      await rowsOf(page).first().waitFor();
      await page.evaluate('document.activeElement.blur()');
      for (const key of ['j', 'Enter']) await page.keyboard.press(key);
      await page.waitForURL(/#\/events\/\w+$/);
      await focused(opened);
      await page.getByRole('button', { name: 'Compare…' }).focus();
      await page.keyboard.press('Escape');
      await focused('.virtual');
      await goTo(page, '#/actors');
      await page.getByRole('treeitem').first().waitFor();
      await page.locator('.virtual').focus();
      for (const key of ['ArrowDown', 'ArrowDown', 'Enter']) await page.keyboard.press(key);
      await page.waitForURL(/#\/actors\/./);
      await focused(opened);
    }
    await goTo(page, '#/overview');
    await page.getByRole('link', { name: /^All \d+ routes$/ }).press('Enter');
    await page.getByRole('main', { name: 'Routes' }).and(page.locator(':focus')).waitFor();
    t.match(page.url(), /#\/routes$/);
  });

  await t.test('INS-2 · what a view shows is printed to its end', async (t) => {
    const height = () => page.evaluate('document.documentElement.scrollHeight');
    await goTo(page, '#/overview');
    await page.getByRole('region', { name: 'Targets' }).waitFor();
    t.equal(await height(), 800, 'on the screen a part of it scrolls');
    await page.emulateMedia({ media: 'print' });
    const ends = (await page.getByRole('region', { name: 'Targets' }).boundingBox())?.y ?? 0;
    t.ok(ends > 800 && ends < Number(await height()));
    await goTo(page, '#/events');
    await rowsOf(page).first().waitFor();
    t.ok(((await page.locator('.virtual').boundingBox())?.height ?? 0) > 240);
    await page.emulateMedia({ media: 'screen' });
  });

  await t.test('INS-2 · lines and muted text have more contrast where the system wants it', async (t) => {
    const colours = () =>
      page.evaluate(`((one) => [one.color, one.borderBottomColor, getComputedStyle(document.body).color])(
        getComputedStyle(document.querySelector('.headrow')))`) as Promise<string[]>;
    const [muted, line, text] = await colours();
    t.not(muted, text);
    await page.emulateMedia({ contrast: 'more' });
    t.match(await colours(), [text]);
    t.not((await colours())[1], line);
    await page.emulateMedia({ contrast: null });
  });

  await t.test('INS-2 · the places behind More are reached by keys, also in a low window', async (t) => {
    await goTo(page, '#/events');
    await rowsOf(page).first().click();
    await page.getByRole('button', { name: 'Copy as curl' }).waitFor();
    await page.keyboard.press('c');
    await page.locator('.toast').waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    const places = page.getByRole('navigation', { name: 'Main views' }).getByRole('button', { name: 'More' });
    const more = page.getByRole('complementary', { name: 'More' });
    await places.press('Enter');
    const [menu, toast] = [await more.boundingBox(), await page.locator('.toast').boundingBox()];
    t.ok((toast?.y ?? 0) + (toast?.height ?? 0) < (menu?.y ?? 0), 'a toast covers no place');
    await page.setViewportSize({ width: 320, height: 256 });
    await page.keyboard.press('Tab');
    const first = more.getByRole('link', { name: /^Failures/ }).and(page.locator(':focus'));
    t.ok(((await first.boundingBox())?.y ?? -1) >= 0, 'the first place can be brought into sight');
    await first.press('Enter');
    await page.getByRole('main', { name: 'Failures' }).and(page.locator(':focus')).waitFor();
    await page.locator('.toast').getByRole('button', { name: 'Close' }).click();
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  await t.test('INS-4 · DUR-2 · all of one status are replayed after a question, each once', async (t) => {
    await goTo(page, '#/events?q=status:ignored route:REVIEWS');
    const question = page.getByRole('alertdialog', { name: /^Replay \d+ events\?/ });
    await page.getByRole('button', { name: 'Replay all…' }).press('Enter');
    await question.getByRole('button', { name: 'Cancel' }).and(page.locator(':focus')).press('Enter');
    await page.getByRole('button', { name: 'Replay all…' }).and(page.locator(':focus')).waitFor();
    let asked = '';
    const replayAll = async (): Promise<string> => {
      await page.getByRole('button', { name: 'Replay all…' }).click();
      const yes = question.getByRole('button', { name: /^Replay / });
      asked = await yes.innerText();
      await yes.click();
      await question.waitFor({ state: 'detached' });
      const said = await page.locator('.toast').innerText();
      await page.locator('.toast').getByRole('button', { name: 'Close' }).click();
      return said;
    };
    const [, count] = /^(\d+) events replayed\.$/.exec((await replayAll()).trim()) ?? [];
    t.ok(Number(count) >= 120);
    t.equal(asked, `Replay ${count} events`);
    t.equal(
      (await replayAll()).trim(),
      `${count} events replayed. ${count} events had a replay.`,
      'the replays of them',
    );
    for (const [q, button] of [
      ['status:queued', 'Cancel all…'],
      ['status:retrying route:reviews', 'Retry all…,Drop all…'],
      ['status:delivering', 'Drop all…'],
      ['status:ignored hay', undefined],
      ['status:ignored status:failed', undefined],
      ['', undefined],
    ] as const) {
      await search(page).fill(q);
      const named = page.getByRole('button', { name: /^(?:Replay|Cancel|Retry|Drop) all/ });
      await eventually(async () => (await named.allInnerTexts()).join() === (button ?? '') || undefined);
    }
  });

  await t.test('INS-4 · the events fit a phone and are open to every reader', async (t) => {
    await goTo(page, '#/events');
    await rowsOf(page).first().waitFor();
    t.same(await axeFindings(page), []);
    const reader = await page.context().newCDPSession(page);
    const { nodes } = await reader.send('Accessibility.getFullAXTree');
    const read = nodes.flatMap(({ ignored, name }) => (ignored ? [] : [String(name?.value ?? '')]));
    t.equal(read.filter((name) => /\d events, \d+ failed, peak /.test(name)).length, 1, 'a plot is one sentence');
    t.same(
      read.filter((name) => /^[\d:]+: \d+ events?, \d+ failed$/.test(name)),
      [],
      'and not each of its bars',
    );
    for (const width of [900, 390]) {
      await page.setViewportSize({ width, height: 800 });
      t.same(await clippedParts(page), [], `${width} px`);
    }
    const places = page.getByRole('navigation', { name: 'Main views' }).getByRole('button', { name: 'More' });
    const color = () => page.evaluate("getComputedStyle(document.querySelector('.tabbar button')).color");
    const resting = await color();
    await places.click();
    const more = page.getByRole('complementary', { name: 'More' });
    await more.getByRole('link', { name: 'Failures' }).click();
    await more.waitFor({ state: 'detached' });
    await page.locator('.tabbar button[aria-current=true]').waitFor();
    t.not(await color(), resting, 'the view is one of those behind More');
    for (const leave of [
      () => page.keyboard.press('Escape'),
      () => page.getByRole('heading', { level: 1 }).click(),
      () => goTo(page, '#/audit'),
      () => page.goBack(),
    ]) {
      await places.click();
      await more.waitFor();
      await leave();
      await more.waitFor({ state: 'detached' });
    }
    t.match(page.url(), /#\/failures$/);
    await goTo(page, '#/nodes');
    await page.getByText('This gateway has its journal for itself.').waitFor();
    t.equal(await page.getByText('Postgres journal').count(), 0);
    await goTo(page, '#/servers?add=import');
    const sheet = page.getByRole('dialog', { name: 'Add server' });
    await sheet.waitFor();
    t.equal((await sheet.boundingBox())?.width, 390, 'the width of the phone');
    await sheet.getByRole('button', { name: 'Import or paste', exact: true, pressed: true }).waitFor();
    await sheet.getByLabel('Paste a block').and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Escape');
    await sheet.waitFor({ state: 'detached' });
    await places.click();
    await more.waitFor();
    await page.getByRole('navigation', { name: 'Main views' }).getByRole('link', { name: 'Events' }).click();
    await more.waitFor({ state: 'detached' });
    await page.locator('.tabbar button:not([aria-current])').waitFor();
    t.equal(await color(), resting);
    await places.click();
    await more.waitFor();
    await page.setViewportSize({ width: 844, height: 390 });
    await more.waitFor({ state: 'detached' });
    await page
      .getByRole('group', { name: 'Outcome' })
      .getByRole('button', { name: /^Delivered/ })
      .click();
    await page.waitForURL(/status%3Adelivered/);
    await goTo(page, '#/events');
    await page.setViewportSize({ width: 720, height: 450 });
    t.ok(((await page.locator('.events-list .virtual').boundingBox())?.height ?? 0) >= 240, 'rows have room at 200 %');
    await page.emulateMedia({ forcedColors: 'active' });
    await page.evaluate('document.activeElement.blur()');
    const outline = "getComputedStyle(document.querySelector('.seg [aria-pressed=true]')).outlineStyle";
    t.equal(await page.evaluate(outline), 'solid', 'what is chosen is marked');
    await page.keyboard.press('Control+k');
    await page.locator('.opt.at').waitFor();
    t.equal(await page.evaluate("getComputedStyle(document.querySelector('.opt.at')).outlineStyle"), 'solid');
    await page.keyboard.press('Escape');
    t.same(complaints, []);
  });
});

t.test('INS-4 · a delivery id opens its event and marks its row, not a repetition of it', options, async (t) => {
  const { gateway, page } = await opened(t);
  await sendReview(gateway, 'one');
  await sendReview(gateway, 'two');
  await sendReview(gateway, 'one');

  await goTo(page, '#/events/one');

  await page.getByRole('heading', { level: 2, name: 'reviews' }).waitFor();
  await total(page, '3 events');
  const marked = rowsOf(page).and(page.locator('[aria-selected=true]'));
  await marked.waitFor();
  t.notMatch(await marked.innerText(), /Duplicate/);
  t.match(await page.locator('.pane .verdict').innerText(), /delivered/i);
});
