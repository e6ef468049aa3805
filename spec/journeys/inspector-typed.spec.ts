/** The inspector's page in a real browser, where what a person has typed or chosen could be lost, or be covered. */

import t, { type Test } from 'tap';
import { answerFor, axeFindings, calls, goTo, holdAnswer, linkOf, refusal } from '../support/browser.ts';
import { startDaemon } from '../support/daemon.ts';
import { eventually } from '../support/mcp/gateway.ts';
import { config, configOf, killed, opened, openedEvent, options, sendReview } from '../support/page-scene.ts';
import { deferred } from '../support/turns.ts';

/** An event whose payload was changed in the sheet that replays it. */
async function typedReplay(t: Test) {
  const { gateway, page } = await openedEvent(t);
  await page.keyboard.press('e');
  const payload = page.getByRole('dialog').getByRole('textbox', { name: 'Payload' });
  await payload.fill('{"action":"opened","typed":true}');
  return { gateway, page, payload };
}

t.test('INS-2 · what was typed stays when the event behind it cannot be read again', options, async (t) => {
  const { gateway, page, payload } = await typedReplay(t);
  await answerFor(page, { 'events.open': refusal('the database restarts') });

  await sendReview(gateway, 'two');

  await page.getByText('the database restarts').waitFor();
  t.match(await payload.inputValue(), /"typed":true/);
  t.equal(await page.getByRole('heading', { level: 2, name: 'reviews' }).count(), 1);
});

t.test('INS-2 · what was typed is there again once the same person has signed in', options, async (t) => {
  const { gateway, page, payload } = await typedReplay(t);
  await gateway.control.call('inspect.endSessions', {});
  await page.getByRole('heading', { name: 'Your session has ended.' }).waitFor();
  t.equal(await payload.isVisible(), false, 'it is not seen meanwhile');
  t.same(await axeFindings(page), []);
  // Neither a key nor Back leads away from it.
  for (const key of ['Escape', 'Escape', 'g', 'o']) await page.keyboard.press(key);
  await page.evaluate('history.back()');

  const other = await page.context().newPage();
  await other.goto(await linkOf(gateway));

  await payload.waitFor();
  t.match(await payload.inputValue(), /"typed":true/);
  t.equal(await page.getByRole('heading', { name: 'Your session has ended.' }).count(), 0);
  await page.locator('textarea:focus').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('alertdialog', { name: 'Discard the changes?' }).waitFor();
});

t.test('SEC-1 · INS-2 · another person who signs in does not get what was typed', options, async (t) => {
  const { gateway, page, payload } = await typedReplay(t);
  await gateway.control.call('inspect.endSessions', {});
  await page.getByRole('heading', { name: 'Your session has ended.' }).waitFor();

  const other = await page.context().newPage();
  await other.goto(await linkOf(gateway, { as: 'maya' }));

  await page.getByText('maya').first().waitFor();
  t.equal(await payload.count(), 0);
});

t.test(
  'SEC-1 · INS-2 · nor does one whose link was opened in another tab before this one reconnects',
  options,
  async (t) => {
    const { gateway, page, payload } = await typedReplay(t);
    const other = await page.context().newPage();
    await other.goto(await linkOf(gateway, { as: 'maya' }));
    await other.getByText('maya').first().waitFor();
    await killed(gateway);
    const port = Number(new URL(page.url()).port);
    gateway.home.write('config.yaml', JSON.stringify({ ...configOf(port), mcp_servers: {} }));
    await startDaemon(t, gateway.home.path);

    await page.getByText('maya').first().waitFor();
    t.equal(await payload.count(), 0);
  },
);

t.test('INS-2 · the palette does not cover the way to sign in', options, async (t) => {
  const { gateway, page } = await opened(t, {
    ...config,
    platforms: { webhook: { enabled: true, extra: { port: 0 } } },
  });
  await page.getByLabel('Route name').fill('typed');
  await gateway.control.call('inspect.endSessions', {});
  await page.getByText('What you typed is kept in this tab').waitFor();

  await page.keyboard.press('Control+k');

  await page.waitForTimeout(50);
  const isAtTop = `document.elementFromPoint(innerWidth / 2, innerHeight / 2).closest('dialog.out') !== null`;
  t.equal(await page.evaluate(isAtTop), true);
  t.equal(await page.locator('dialog').count(), 1);
});

t.test('INS-2 · Cancel asks before it discards what is typed', options, async (t) => {
  const { page, payload } = await typedReplay(t);
  const question = page.getByRole('alertdialog', { name: 'Discard the changes?' });

  await page.getByRole('button', { name: 'Cancel', exact: true }).click();

  await question.getByRole('button', { name: 'Cancel' }).click();
  t.match(await payload.inputValue(), /"typed":true/);
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await question.getByRole('button', { name: 'Discard the changes' }).click();
  await payload.waitFor({ state: 'detached' });
});

t.test('INS-2 · the browser asks before a tab with something typed in a dialog is closed', options, async (t) => {
  const { page, payload } = await typedReplay(t);
  // A browser asks only where a person has pressed a key.
  await payload.press('End');
  const asked: string[] = [];
  page.on('dialog', (question) => {
    asked.push(question.type());
    void question.accept();
  });

  await page.close({ runBeforeUnload: true });

  await page.waitForEvent('close');
  t.same(asked, ['beforeunload']);
});

t.test('INS-2 · the palette does not lead away from what is typed in a dialog', options, async (t) => {
  const { page } = await typedReplay(t);

  await page.keyboard.press('Control+k');

  await page.waitForTimeout(50);
  t.equal(await page.getByRole('dialog', { name: 'Search or go to' }).count(), 0);
  await page.keyboard.press('Escape');
  await page.getByRole('alertdialog', { name: 'Discard the changes?' }).waitFor();
});

t.test('DUR-2 · INS-2 · no key replays an event while the page asks whether to discard it', options, async (t) => {
  const { page } = await typedReplay(t);
  let asked = 0;
  page.on('request', (request) => {
    if (calls('webhook.replay')(request)) asked += 1;
  });
  await page.keyboard.press('Escape');
  const question = page.getByRole('alertdialog', { name: 'Discard the changes?' });
  await question.waitFor();

  // Not on a button, which Enter would press.
  await page.evaluate('document.activeElement.blur()');
  await page.keyboard.press('Control+Enter');

  await page.waitForTimeout(100);
  t.equal(asked, 0);
  t.equal(await question.count(), 1);
});

t.test('INS-2 · what is chosen in the palette stays chosen when events come', options, async (t) => {
  const { gateway, page } = await opened(t);
  await sendReview(gateway, 'one', { action: 'closed' });
  const letAnswer = await holdAnswer(page, 'events.search');
  await page.keyboard.press('Control+k');
  const palette = page.getByRole('dialog', { name: 'Search or go to' });
  await palette.getByRole('combobox').fill('reviews');
  // The names, which come by themselves too.
  await palette.getByRole('option', { name: /^Route reviews/ }).waitFor();
  await page.keyboard.press('ArrowUp');
  const chosen = palette.getByRole('option', { selected: true });
  t.match(await chosen.innerText(), /Search all events/);

  await letAnswer();

  await palette.getByRole('option', { name: /^Ignored reviews/ }).waitFor();
  t.match(await chosen.innerText(), /Search all events/);
});

t.test('INS-2 · a dialog that is opened while a route is being enabled stays open', options, async (t) => {
  const { gateway, page } = await opened(t);
  await gateway.control.call('webhook.subscribe', { name: 'mine', record: { deliver: 'log', prompt: 'Do {n}' } });
  await gateway.control.call('webhook.disable', { name: 'mine' });
  await goTo(page, '#/routes/default/mine');
  const letAnswer = await holdAnswer(page, 'webhook.enable');
  await page.getByRole('button', { name: 'Enable', exact: true }).click();
  await page.getByRole('button', { name: 'Edit…' }).click();
  const prompt = page.getByRole('dialog').getByLabel('Prompt');
  await prompt.fill('typed');

  await letAnswer();

  await page.getByText('Route enabled.').waitFor();
  await page.waitForTimeout(50);
  t.equal(await prompt.inputValue({ timeout: 1_000 }), 'typed');
});

t.test(
  'INS-2 · a dialog is closed by a click while the daemon is offline, and what needs it is disabled',
  options,
  async (t) => {
    const { gateway, page } = await opened(t);
    await goTo(page, '#/servers');
    await page.getByRole('button', { name: 'Add server' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Add server' });
    await dialog.getByLabel('Command line').fill('node typed.js');

    await killed(gateway);

    await dialog.getByRole('alert').filter({ hasText: 'The daemon does not answer.' }).waitFor();
    t.equal(await dialog.getByRole('button', { name: 'Test' }).isDisabled(), true);
    t.equal(await dialog.getByLabel('Command line').isDisabled(), true);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Discard the changes' }).click();
    await dialog.waitFor({ state: 'detached' });
    t.equal(await page.getByRole('main').getByRole('button', { name: 'Add server' }).first().isDisabled(), true);

    await page.keyboard.press('?');
    const keys = page.getByRole('dialog', { name: 'Keys' });
    t.equal(await keys.getByRole('checkbox').isEnabled(), true);
    t.equal(await keys.getByRole('alert').count(), 0);
  },
);

t.test('INS-4 · Back asks before it discards what is typed in a dialog, and leaves it then', options, async (t) => {
  const { page } = await opened(t);
  await goTo(page, '#/events');
  await goTo(page, '#/servers');
  await page.getByRole('button', { name: 'Add server' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'Add server' });
  const question = page.getByRole('alertdialog');
  await dialog.getByLabel('Command line').fill('notes --all');

  await page.goBack();

  await question.waitFor();
  await question.getByRole('button', { name: 'Cancel' }).click();
  await question.waitFor({ state: 'detached' });
  t.match(page.url(), /#\/servers\?add=command$/);
  t.equal(await dialog.getByLabel('Command line').inputValue(), 'notes --all');
  await page.goBack();
  await question.getByRole('button', { name: 'Discard the changes' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.waitForURL(/#\/servers$/);
  await page.getByRole('button', { name: 'Add server' }).first().click();
  await dialog.waitFor();
  await page.goBack();
  await dialog.waitFor({ state: 'detached' });
  t.equal(await question.count(), 0, 'nothing was typed');
  await page.goBack();
  await page.waitForURL(/#\/events$/);

  await goTo(page, '#/routes');
  await page.getByRole('button', { name: 'New subscription…' }).first().click();
  await page.getByLabel('Name').fill('waits');
  await page.getByLabel('Prompt').fill('Look at {title}');
  const held = deferred<void>();
  await answerFor(page, { 'webhook.subscribe': () => held.promise.then(refusal('not writable')) });
  await page.getByRole('button', { name: 'Create subscription' }).click();
  await page.getByRole('button', { name: 'Create subscription', disabled: true }).waitFor();
  await page.goBack();
  await question.getByText('what was asked for may still be done').waitFor();
  await question.getByRole('button', { name: 'Discard the changes' }).click();
  await page.waitForURL(/#\/events$/);
  t.equal(await page.getByRole('dialog').count(), 0);
  held.resolve();
});

t.test('INS-2 · a long toast leaves the page in sight, and can be closed beside a dialog', options, async (t) => {
  const { page } = await openedEvent(t);
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await answerFor(page, { 'events.curl': refusal('the database restarts '.repeat(400)) });
  await page.getByRole('button', { name: 'Copy as curl' }).click();
  const toast = page.locator('.toast');
  await toast.waitFor();
  const box = await toast.boundingBox();
  t.ok((box?.height ?? 800) < 400, 'of 800');
  const dialog = page.getByRole('dialog');
  for (const open of ['Edit and replay…', 'Compare…']) {
    await page.getByRole('button', { name: open }).click();

    t.same(await dialog.locator('.toast').boundingBox(), box, 'it is where it was');
    await dialog.getByRole('button', { name: 'Close' }).first().click();
    await dialog.waitFor({ state: 'detached' });
    t.same(await toast.boundingBox(), box);
  }
  await page.getByRole('button', { name: 'Compare…' }).click();

  await dialog.locator('.toast').getByRole('button', { name: 'Close' }).click();

  await toast.waitFor({ state: 'detached' });
  t.equal(await dialog.count(), 1);
});

t.test('INS-2 · a dialog ends above a toast that would cover it', options, async (t) => {
  const { page } = await openedEvent(t);
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await answerFor(page, { 'events.curl': refusal('the database restarts, so it cannot be read') });
  await page.getByRole('button', { name: 'Copy as curl' }).click();
  await page.locator('.toast').waitFor();
  const dialog = page.getByRole('dialog');
  const edges = async () => {
    const [box, toast] = await Promise.all([dialog.boundingBox(), dialog.locator('.toast').boundingBox()]);
    return { height: box?.height ?? 0, room: (toast?.y ?? 0) - (box?.y ?? 0) - (box?.height ?? 0) };
  };
  for (const open of ['Edit and replay…', 'Compare…', 'Send test event…']) {
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByRole('button', { name: open }).click();
    await dialog.locator('.toast').waitFor();
    for (const [width, height] of [
      [390, 844],
      [390, 400],
      [320, 256],
    ] as const) {
      await page.setViewportSize({ width, height });
      await eventually(async () => (await edges()).room >= 8 || undefined);
      t.ok((await edges()).height >= height / 3, `${open} ${width} × ${height}`);
    }
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  }
  await page.getByRole('button', { name: 'Compare…' }).click();
  await dialog.locator('.toast').getByRole('button', { name: 'Close' }).click();
  await eventually(async () => (await dialog.boundingBox())?.height === 256 || undefined);
});

t.test('INS-2 · a confirmation has as much room below as above, also with a toast', options, async (t) => {
  const { page } = await openedEvent(t);
  await answerFor(page, { 'events.curl': refusal('the database restarts') });
  await page.getByRole('button', { name: 'Copy as curl' }).click();
  await page.locator('.toast').waitFor();
  await page.keyboard.press('e');
  await page.getByRole('dialog').getByRole('textbox', { name: 'Payload' }).fill('{"typed":true}');

  await page.keyboard.press('Escape');

  const question = page.getByRole('alertdialog');
  await question.locator('.toast').waitFor();
  const room = await page.evaluate(`(() => {
    const box = document.querySelector('[role=alertdialog]');
    const [all, title, buttons] = [box, box.querySelector('h2'), box.querySelector('.btns')].map((one) =>
      one.getBoundingClientRect(),
    );
    return [title.top - all.top, all.bottom - buttons.bottom].map(Math.round);
  })()`);
  t.same(room, [25, 25], 'the padding and the border');
});

t.test(
  'INS-2 · keys are found on a keyboard of another script, and a Latin letter is where it is written',
  options,
  async (t) => {
    const { page } = await opened(t);
    const press = (key: string, code: string, ctrlKey = false) =>
      page.evaluate(`document.activeElement.dispatchEvent(
      new KeyboardEvent('keydown', ${JSON.stringify({ key, code, ctrlKey, bubbles: true, cancelable: true })}))`);
    const palette = page.getByRole('dialog', { name: 'Search or go to' });

    await press('л', 'KeyK', true);
    await palette.waitFor();
    await press('л', 'KeyK', true);
    await palette.waitFor({ state: 'detached' });

    for (const [key, code] of [
      ['п', 'KeyG'],
      ['к', 'KeyR'],
    ] as const)
      await press(key, code);
    await page.waitForURL(/#\/routes$/);
    for (const [key, code] of [
      ['ε', 'KeyE'],
      ['g', 'KeyI'],
      ['s', 'KeyE'],
    ] as const)
      await press(key, code);
    await page.waitForURL(/#\/servers$/);
    // By AltGr, and on a Turkish F keyboard.
    for (const [key, code] of [
      ['€', 'KeyE'],
      ['ą', 'KeyA'],
      ['ü', 'KeyG'],
    ] as const)
      t.equal(await press(key, code), true, `${key} is left alone`);
  },
);
