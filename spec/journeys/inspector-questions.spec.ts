/**
 * The inspector's page in a real browser, where it could mislead a person who answers a question: keys and clicks that would
 * answer another one, arguments that are not shown yet, answers on other pages; and tools that are tried from it.
 */

import type { Locator, Page } from 'playwright-core';
import t, { type Test } from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import {
  type Answer,
  answerFor,
  calls,
  goTo,
  holdAnswer,
  linkOf,
  type OpenPage,
  openBlank,
  openInspector,
  refusal,
} from '../support/browser.ts';
import { controlOf, entryOf, eventually, startGateway, wordsOf } from '../support/mcp/gateway.ts';
import { started } from '../support/mcp/http-peer.ts';
import { config, options } from '../support/page-scene.ts';
import { deferred } from '../support/turns.ts';

/** Moves the page's clock until something is so. */
async function movedUntil(page: Page, holds: () => Promise<boolean>): Promise<void> {
  await eventually(async () => {
    if (await holds()) return true;
    await page.clock.runFor(50);
    return undefined;
  });
}

/** The card of the question whose call has this text as an argument. */
function cardOf(page: Page, text: string): Locator {
  return page.locator('.question').filter({ hasText: `"${text}"` });
}

/** Asks for a rule in place of an answer to one call. */
async function askForRule(page: Page, text: string): Promise<void> {
  await goTo(page, '#/approvals');
  const card = cardOf(page, text);
  await card.getByRole('button', { name: 'Always for this tool…' }).click();
  const always = card.getByRole('button', { name: 'Always approve…' });
  await always.and(page.locator(':not([aria-disabled="true"])')).click();
}

/** The servers of the daemon, of which `peer` is in this state. */
function peerIn(state: string): Answer {
  return async (_, own) =>
    ((await own()) as readonly JsonObject[]).map((row) => (row.name === 'peer' ? { ...row, state } : row));
}

t.test('questions', options, async (t) => {
  const peer = await started(t);
  const gateway = await startGateway(
    t,
    { peer: entryOf(peer, { trust: 'full' }), stranger: entryOf(peer, { trust: 'untrusted' }) },
    { config },
  );
  for (const server of ['peer', 'stranger']) await gateway.reaches(server, 'connected');
  const asks = (text: string) => gateway.call('mcp__stranger__write_note', { text });
  const waiting = async (count: number): Promise<void> => {
    await eventually(async () => (await gateway.approvals()).length === count || undefined);
  };
  /** Asks one question after the other, and opens the page. */
  const openedWith = async <Texts extends readonly string[]>(t: Test, ...texts: Texts) => {
    const answers: ReturnType<typeof asks>[] = [];
    for (const text of texts) {
      answers.push(asks(text));
      await waiting(answers.length);
    }
    const { page } = await openInspector(t, gateway);
    return [page, ...(answers as { [At in keyof Texts]: ReturnType<typeof asks> })] as const;
  };
  const denied = async (t: Test, asked: ReturnType<typeof asks>): Promise<void> => {
    await gateway.answer((await gateway.asked()).id, false);
    t.equal(wordsOf(await asked), '[approval_denied]');
  };

  /** The form of a tool, whose description this is, on a page of its own. */
  const openTool = async (t: Test, about: string, server = 'peer') => {
    const { page } = await openInspector(t, gateway);
    await goTo(page, `#/servers/default/${server}`);
    await page.getByText(about).click();
    return { page, form: page.locator('.tool[open] form') };
  };

  await t.test('TRU-5 · INS-2 · a deadline is counted down by the daemon’s clock', async (t) => {
    const asked = asks('late');
    await waiting(1);
    const { page } = await openBlank(t);
    await page.clock.setSystemTime(Date.now() + 86_400_000);
    await page.goto(await linkOf(gateway));
    await page.goto(`${page.url()}#/approvals`);
    const card = cardOf(page, 'late');
    await card.getByText(/^\d+:\d\d left$/).waitFor();
    await card.getByRole('button', { name: 'Deny' }).click();
    await asked;

    const caller = await controlOf(t, gateway.home);
    const call = caller.call('mcp.call', { name: 'mcp__stranger__write_note', arguments: { text: 'withdrawn' } });
    await cardOf(page, 'withdrawn').getByText(/left$/).waitFor();
    caller.close();
    await call.catch(() => {});
    await page.getByText('No answer is needed: its call has ended.').waitFor();
    await page.goto(`${page.url().split('#')[0]}#/actors?longer=3600000`);
    await page.getByText('None matches').waitFor();
  });

  await t.test('TRU-3 · INS-2 · each question that comes while the page is hidden has a notification', async (t) => {
    const { page } = await openBlank(t);
    await page.addInitScript(`
      globalThis.shown = [];
      globalThis.Notification = class {
        static permission = 'granted';
        constructor(title) {
          shown.push(title);
        }
      };
      Object.defineProperty(document, 'hidden', { get: () => globalThis.isHidden === true });
    `);
    await page.goto(await linkOf(gateway));
    await page.getByText('Live', { exact: true }).first().waitFor();
    await page.evaluate("isHidden = true; document.dispatchEvent(new Event('visibilitychange'))");
    const shown = (count: number): Promise<unknown> =>
      eventually(async () => {
        const titles: readonly string[] = await page.evaluate('shown');
        return titles.length === count ? titles : undefined;
      });

    const first = asks('unseen');
    t.same(await shown(1), ['Approve stranger.write_note?']);
    await gateway.answer((await gateway.asked()).id, false);
    await first;
    const second = asks('unseen too');
    t.same(await shown(2), ['Approve stranger.write_note?', 'Approve stranger.write_note?']);

    await gateway.answer((await gateway.asked()).id, false);
    await second;
  });

  await t.test('INS-2 · J and K focus the questions, where D denies', async (t) => {
    const [page, first, second] = await openedWith(t, 'first by key', 'second by key');
    await goTo(page, '#/approvals');
    const cards = page.locator('.question');
    await cards.nth(1).getByRole('button', { name: 'Deny' }).waitFor();
    const focused = (): Promise<number> =>
      page.evaluate("[...document.querySelectorAll('.question')].indexOf(document.activeElement)");
    await page.keyboard.press('j');
    t.equal(await focused(), 0);
    await page.keyboard.press('j');
    t.equal(await focused(), 1);
    await page.keyboard.press('k');
    t.equal(await focused(), 0);
    await eventually(async () => {
      await page.keyboard.press('d');
      return (await gateway.approvals()).length === 1 || undefined;
    });
    await page.keyboard.press('j');
    // Only now a click would count.
    const deny = page.locator('.question:not(:has-text("Denied")) button[aria-disabled=false]');
    await deny.filter({ hasText: /^Deny$/ }).waitFor();
    for (let times = 0; times < 20; times += 1)
      await page.evaluate(
        `document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'd', repeat: true, bubbles: true }))`,
      );
    await page.waitForTimeout(300);
    t.equal((await gateway.approvals()).length, 1, 'a held key answers nothing more');
    await eventually(async () => {
      await page.keyboard.press('j');
      await page.keyboard.press('d');
      return (await gateway.approvals()).length === 0 || undefined;
    });
    await Promise.all([first, second]);
  });

  await t.test('TRU-3 · INS-2 · the keys of a card do nothing after G, nor while letters are turned off', async (t) => {
    const [page, asked] = await openedWith(t, 'kept');
    await goTo(page, '#/approvals');
    const card = cardOf(page, 'kept');
    // Only now a key would count.
    await card.getByRole('button', { name: 'Approve' }).click({ trial: true });
    await card.focus();

    for (const key of ['g', 'a']) await page.keyboard.press(key);

    await page.waitForTimeout(300);
    t.equal((await gateway.approvals()).length, 1, 'G and A only lead to Approvals');
    await page.keyboard.press('?');
    const sheet = page.getByRole('dialog', { name: 'Keys' });
    await sheet.getByText('Approve the card in focus').waitFor();
    await sheet.getByRole('checkbox').uncheck();
    await page.keyboard.press('Escape');
    await sheet.waitFor({ state: 'detached' });
    await card.focus();
    await page.keyboard.press('d');
    await page.waitForTimeout(300);
    t.equal((await gateway.approvals()).length, 1);
    await denied(t, asked);
  });

  await t.test('INS-2 · the button that approves shows that it has the focus', async (t) => {
    const [page, asked] = await openedWith(t, 'in focus');
    await goTo(page, '#/approvals');
    const approve = cardOf(page, 'in focus').getByRole('button', { name: 'Approve' });
    await approve.waitFor();
    await page.keyboard.press('Tab');
    await approve.focus();
    t.equal(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), 'solid');
    await denied(t, asked);
  });

  await t.test('TRU-3 · no key approves a call whose arguments are not shown yet', async (t) => {
    const [page, asked] = await openedWith(t, 'unshown');
    const letAnswer = await holdAnswer(page, 'approvals.show');
    await goTo(page, '#/approvals');
    await page.locator('.question').focus();

    // Longer than a card that has just appeared takes no answer.
    for (let times = 0; times < 10; times += 1) {
      await page.keyboard.press('a');
      await page.waitForTimeout(100);
    }

    t.equal((await gateway.approvals()).length, 1);
    await letAnswer();
    await page.getByText('"unshown"').waitFor();
    await denied(t, asked);
  });

  await t.test('TRU-3 · the buttons of a card that come late take no click at first', async (t) => {
    const [page, asked] = await openedWith(t, 'late buttons');
    const letAnswer = await holdAnswer(page, 'approvals.show');
    await goTo(page, '#/approvals');
    const approve = page.locator('.question').getByRole('button', { name: 'Approve' });
    await page.locator('.question').waitFor();
    // As long as the card itself takes none.
    await page.waitForTimeout(1_000);
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 1_000);

    await letAnswer();

    await eventually(async () => (await approve.isVisible()) || undefined);
    t.equal(await approve.isEnabled(), false);
    await movedUntil(page, () => approve.isEnabled());
    await denied(t, asked);
  });

  await t.test('TRU-1 · TRU-3 · two clicks at one place answer one question', async (t) => {
    const [page, first, second] = await openedWith(t, 'first', 'second');
    await goTo(page, '#/approvals');
    const approve = (text: string) => cardOf(page, text).getByRole('button', { name: 'Approve' });
    await approve('second').waitFor();
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 5_000);
    await movedUntil(page, () => approve('first').isEnabled());
    const box = await approve('first').boundingBox();
    const answers: string[] = [];
    page.on('request', (request) => {
      if (calls('approvals.answer')(request)) answers.push(request.postData() ?? '');
    });
    const click = () => page.mouse.click((box?.x ?? 0) + 4, (box?.y ?? 0) + 4);

    await click();
    t.match(wordsOf(await first), /^note/);
    await movedUntil(page, () => cardOf(page, 'first').getByText('Approved.').isVisible());
    await click();

    const moved = async (): Promise<boolean> => {
      const now = await approve('second').boundingBox();
      return Math.abs((now?.y ?? 0) - (box?.y ?? 0)) <= 2;
    };
    t.equal(await moved(), false, 'an answered question keeps its place');
    await movedUntil(page, moved);
    // As long as the two clicks of a double one may be apart.
    await page.clock.runFor(500);
    await click();
    t.equal(await approve('second').isEnabled(), false, 'a question that has just moved takes no click');
    t.same((await gateway.approvals()).length, 1);
    t.equal(answers.length, 1);

    await page.clock.runFor(300);
    await click();
    t.match(wordsOf(await second), /^note/, 'it takes one once it has stopped moving');
    // The daemon's answer can be here before what the browser says of its request.
    await eventually(() => answers.length > 1 || undefined);
    t.equal(answers.length, 2);
  });

  await t.test(
    'TRU-1 · a question that is answered elsewhere says so in its place, and no other moves under the pointer',
    async (t) => {
      const first = asks('first');
      await waiting(1);
      const { id } = await gateway.asked();
      const second = asks('second');
      await waiting(2);
      const { page } = await openInspector(t, gateway);
      await goTo(page, '#/approvals');
      const other = cardOf(page, 'second');
      const approve = other.getByRole('button', { name: 'Approve' });
      await approve.click({ trial: true });
      const before = await approve.boundingBox();

      await gateway.answer(id, false);
      t.equal(wordsOf(await first), '[approval_denied]');

      await page.getByText(/^Denied on the command line at /).waitFor();
      t.same(await approve.boundingBox(), before);
      await approve.click();
      t.match(wordsOf(await second), /^note/);
    },
  );

  await t.test('INS-4 · TRU-3 · a question that is answered on another page stays, and says so', async (t) => {
    const asked = asks('two pages');
    await waiting(1);
    const here = await openInspector(t, gateway);
    const there = await openInspector(t, gateway);
    for (const open of [here, there]) await goTo(open.page, '#/approvals');
    const cardAt = ({ page }: OpenPage) => cardOf(page, 'two pages');
    await cardAt(here).getByRole('button', { name: 'Approve' }).waitFor();
    await here.page.clock.install();
    const deny = cardAt(there).getByRole('button', { name: 'Deny' });
    await deny.click({ trial: true });

    await deny.click();

    t.equal(wordsOf(await asked), '[approval_denied]');
    await cardAt(here)
      .getByText(/^Denied on the page at /)
      .waitFor();
    await here.page.clock.runFor(5_000);
    t.equal(await cardAt(here).count(), 1);
  });

  await t.test('TRU-3 · of two answers to one question, the late page shows only the one that counts', async (t) => {
    const asked = asks('two answers');
    await waiting(1);
    const { page } = await openInspector(t, gateway);
    await goTo(page, '#/approvals');
    const card = cardOf(page, 'two answers');
    const deny = card.getByRole('button', { name: 'Deny' });
    await deny.click({ trial: true });
    await answerFor(page, {
      'approvals.answer': async () => void (await gateway.answer((await gateway.asked()).id, true)),
    });

    await deny.click();

    t.equal((await asked).isError, false);
    // Shown once the refusal of the late answer is there too.
    await card.getByText(/^Approved .* at /).waitFor();
    t.notMatch(await card.innerText(), /no approval/);
  });

  await t.test(
    'INS-2 · TRU-3 · after an answer the focus is on the next question, after the last one on the heading',
    async (t) => {
      const [page, ...both] = await openedWith(t, 'first', 'second');
      await goTo(page, '#/approvals');
      const approve = (text: string) => cardOf(page, text).getByRole('button', { name: 'Approve' });
      await approve('second').waitFor();
      await approve('first').click({ trial: true });
      await approve('first').focus();
      await page.keyboard.press('Enter');
      await page.locator('.question:focus').filter({ hasText: '"second"' }).waitFor();
      await approve('second').click({ trial: true });
      await approve('second').focus();
      await page.keyboard.press('Enter');
      await page.locator('h2:focus').getByText('Approvals').waitFor();
      await Promise.all(both);
      t.equal((await gateway.approvals()).length, 0);
      await page.getByText('Nothing waits for you').waitFor();
      t.equal(
        await page.evaluate('document.activeElement.tagName'),
        'H2',
        'also after the answered questions have left',
      );
    },
  );

  await t.test(
    'TRU-3 · SCA-3 · a question names its gateway, and is not said to have ended once that one no longer lists it',
    async (t) => {
      const { page } = await openInspector(t, gateway);
      const row = {
        ...{
          id: 'far1',
          kind: 'tool',
          server: 'far',
          profile: 'default',
          tool: 'mcp__far__act',
          message: '',
          node: 'eu-2',
        },
        asked_at: new Date().toISOString(),
        expires_at: new Date(Date.now() + 3_600_000).toISOString(),
      };
      let rows: readonly object[] = [row];
      const detail = Array.from({ length: 1_000 }, (_, at) => at);
      await answerFor(page, { 'approvals.list': () => rows, 'approvals.show': () => ({ ...row, detail }) });
      await goTo(page, '#/approvals');
      const card = page.getByRole('article', { name: 'Call of far.act' });
      await card.getByText(' by gateway eu-2').waitFor();
      // Each text that is drawn passes by a replacement.
      await page.evaluate(`
        const { replace } = String.prototype;
        globalThis.drawn = 0;
        String.prototype.replace = function (...given) {
          drawn += 1;
          return replace.apply(this, given);
        };
      `);
      await card.getByLabel('Note to the agent').fill('why');
      await page.evaluate('new Promise(requestAnimationFrame)');
      const drawn = await page.evaluate<number>('drawn');
      t.ok(drawn > 0 && drawn < 1_000, `${drawn} texts are drawn again, not those of its arguments`);
      rows = [];

      // Its steps make the page read again.
      const asked = asks('a step');

      await page.getByText(/^Gateway eu-2 no longer lists it: /).waitFor();
      await denied(t, asked);
    },
  );

  await t.test('TRU-3 · INS-2 · a question that could not be read can be read again, and answered', async (t) => {
    const [page, asked] = await openedWith(t, 'unread');
    await answerFor(page, { 'approvals.show': refusal('the database restarts') });
    await goTo(page, '#/approvals');
    const card = page.getByRole('article', { name: 'Call of stranger.write_note' });
    await card.getByText('the database restarts').waitFor();
    await page.unrouteAll({ behavior: 'wait' });

    await card.getByRole('button', { name: 'Try again' }).click();

    await card.getByRole('button', { name: 'Deny' }).and(page.locator(':not([aria-disabled="true"])')).click();
    t.equal(wordsOf(await asked), '[approval_denied]');
  });

  await t.test('TRU-3 · the dialog of a rule closes when its question is answered elsewhere', async (t) => {
    const [page, asked] = await openedWith(t, 'ruled');
    await askForRule(page, 'ruled');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('A rule is written to the entry').waitFor();

    await gateway.answer((await gateway.asked()).id, false);

    await dialog.waitFor({ state: 'detached' });
    t.equal(wordsOf(await asked), '[approval_denied]');
  });

  await t.test('TRU-3 · INS-4 · a rule or a removal that is written but not in force is said to be', async (t) => {
    const [page, asked] = await openedWith(t, 'unruled');
    const why = 'the file has an error';
    await answerFor(page, {
      'approvals.answer': () => ({ answered: 'x', not_in_force: why }),
      'mcp.remove': () => ({ removed: 'peer', not_in_force: why }),
    });
    await askForRule(page, 'unruled');

    await page.getByRole('button', { name: 'Write the rule' }).click();

    await page.getByText(`Approved. The rule is written, but not in force: ${why}`).waitFor();
    await goTo(page, '#/servers/default/peer');
    await page.getByRole('button', { name: 'Remove…' }).click();
    await page.getByRole('button', { name: 'Remove server peer' }).click();
    await page.getByText(`Server peer is removed from config.yaml, but not in force: ${why}`).waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    await denied(t, asked);
  });

  await t.test('INS-2 · an error stays until it is closed, when a question comes too', async (t) => {
    const { page } = await openInspector(t, gateway);
    await goTo(page, '#/config');
    await page.evaluate(
      "navigator.clipboard.writeText = () => Promise.reject(new DOMException('', 'NotAllowedError'))",
    );
    await page.getByRole('button', { name: 'Copy', exact: true }).click();
    const error = page.getByText('The browser did not let the page copy.');
    await error.waitFor();

    const asked = asks('unannounced');
    await page.getByRole('link', { name: /^Approvals 1 waiting/ }).waitFor();

    await page.waitForTimeout(50);
    t.equal(await error.count(), 1);
    const { id } = await gateway.asked();
    await gateway.answer(id, false);
    await asked;
    await goTo(page, `#/approvals/${id}`);
    await page.getByText(/^The question of this link is over\. Denied on the command line at /).waitFor();
  });

  await t.test('INS-2 · the number of actors is announced for each filter, not for each change', async (t) => {
    const { page } = await openInspector(t, gateway);
    await goTo(page, '#/actors');
    const textOf = (role: string) => page.locator(`.listhead ${role}`).textContent();
    await page.reload();
    await eventually(async () => /^[1-9]/.test((await textOf('.grow')) ?? '') || undefined);
    t.match(await textOf('[role=status]'), /^[1-9]/, 'also where the page is opened there');
    await goTo(page, '#/actors?q=call');
    await eventually(async () => (await textOf('.grow'))?.includes(' of ') || undefined);
    const before = await textOf('[role=status]');

    const asked = asks('counted');
    await eventually(async () => (await textOf('.grow')) !== before || undefined);
    t.equal(await textOf('[role=status]'), before);
    await goTo(page, '#/actors?q=stranger');
    await eventually(async () => (await textOf('[role=status]')) === (await textOf('.grow')) || undefined);
    await denied(t, asked);
  });

  await t.test('INS-2 · on a narrow page Back leads the focus to what was opened', async (t) => {
    const { page } = await openInspector(t, gateway);
    await page.setViewportSize({ width: 900, height: 800 });
    await goTo(page, '#/servers/default/peer');
    await page.getByRole('button', { name: 'All servers' }).click();
    await page.locator('a.li:focus').filter({ hasText: 'peer' }).waitFor();
    t.match(page.url(), /#\/servers$/);
  });

  await t.test('INS-2 · a field named as a method of objects has no problem before it is sent', async (t) => {
    const { page } = await openInspector(t, gateway);
    const input_schema = { type: 'object', properties: { constructor: { type: 'string' } } };
    const rows = (own: readonly object[]) => own.map((tool) => ({ ...tool, input_schema }));
    await answerFor(page, { 'mcp.tools': async (_, own) => rows(await own()) });
    await goTo(page, '#/servers/default/peer');

    await page.getByText('Adds two numbers').click();

    const field = page.locator('.tool[open] form').getByLabel('constructor');
    t.equal(await field.getAttribute('aria-invalid'), 'false');
  });

  await t.test('INS-2 · a dialog stays until the outcome of its request, for any number of Escapes', async (t) => {
    const { page } = await openInspector(t, gateway);
    const held = deferred<void>();
    await answerFor(page, { 'mcp.remove': () => held.promise.then(refusal('not writable')) });
    await goTo(page, '#/servers/default/peer');
    await page.getByRole('button', { name: 'Remove…' }).click();
    const dialog = page.getByRole('alertdialog');
    await dialog.getByRole('button', { name: 'Remove server peer' }).click();
    await dialog.getByRole('button', { name: 'Removing…' }).waitFor();

    for (let times = 0; times < 3; times += 1) await page.keyboard.press('Escape');

    held.resolve();
    await dialog.getByText('not writable').waitFor();
    t.equal(await dialog.isVisible(), true);
  });

  await t.test('INS-4 · what is typed for a tool stays when its server begins to fail', async (t) => {
    const { page, form } = await openTool(t, 'Adds two numbers');
    const typed = form.getByLabel('a needed');
    await typed.fill('2');
    await answerFor(page, { 'mcp.list': peerIn('backingOff') });

    await gateway.control.call('mcp.reconnect', { server: 'peer' });

    await page.getByRole('heading', { level: 2, name: /Retrying/ }).waitFor();
    t.equal(await typed.inputValue(), '2');
    await page.unrouteAll({ behavior: 'wait' });
    await gateway.reaches('peer', 'connected');
  });

  await t.test('INS-2 · what a proxy answers for a daemon that is not there replaces nothing', async (t) => {
    const { page, form } = await openTool(t, 'Adds two numbers');
    const typed = form.getByLabel('a needed');
    await typed.fill('2');
    await page.route('**/rpc', (route) =>
      calls('mcp.list')(route.request()) ? route.fulfill({ status: 502, body: 'Bad Gateway' }) : route.continue(),
    );
    const failed = page.waitForResponse((response) => response.status() === 502);

    await gateway.control.call('mcp.reconnect', { server: 'peer' });

    await failed;
    await page.waitForTimeout(100);
    t.equal(await page.getByText('could not be loaded').count(), 0);
    t.equal(await typed.inputValue({ timeout: 1_000 }), '2');
    await page.unrouteAll({ behavior: 'wait' });
    await gateway.reaches('peer', 'connected');
  });

  await t.test('INS-4 · OAU-8 · a server whose changed entry needs a login has a button for it', async (t) => {
    const { page } = await openInspector(t, gateway);
    let isChanged = false;
    await answerFor(page, {
      'mcp.oauthServers': () => (isChanged ? [{ profile: 'default', server: 'peer' }] : []),
      'mcp.list': (params, own) => (isChanged ? peerIn('needsLogin')(params, own) : undefined),
    });
    await goTo(page, '#/servers/default/peer');
    await page.getByText('Adds two numbers').waitFor();

    isChanged = true;
    await gateway.control.call('mcp.reconnect', { server: 'peer' });

    await page.getByText('The server needs a login.').waitFor();
    await page.getByRole('button', { name: 'Log in…' }).waitFor();
    t.pass('it has');
    await page.unrouteAll({ behavior: 'wait' });
    await gateway.reaches('peer', 'connected');
  });

  await t.test('INS-4 · a log that is not followed keeps its lines when a server connects', async (t) => {
    const { page } = await openInspector(t, gateway);
    let reads = 0;
    await answerFor(page, {
      'mcp.logs': () => {
        reads += 1;
        return [`line of read ${reads}`];
      },
    });
    await goTo(page, '#/servers/default/peer/log');
    await page.getByText(/^line of read/).waitFor();
    await page.getByRole('checkbox', { name: 'Follow' }).uncheck();
    // One that was asked for before is shown.
    await page.waitForTimeout(300);
    const before = reads;
    const listed = page.waitForResponse((response) => calls('mcp.list')(response.request()));

    await gateway.control.call('mcp.reconnect', { server: 'peer' });

    await listed;
    // As long as the log may come after the list.
    await page.waitForTimeout(700);
    t.equal(reads, before);
    t.equal(await page.getByText(`line of read ${before}`, { exact: true }).count(), 1);
    await page.unrouteAll({ behavior: 'wait' });
    await gateway.reaches('peer', 'connected');
  });

  await t.test('INS-2 · TRU-3 · the result of a call is there after it was approved in another view', async (t) => {
    const { page, form } = await openTool(t, 'Writes a note', 'stranger');
    await form.getByLabel('text needed').fill('from the page');
    await form.getByRole('button', { name: 'Call' }).click();
    await form.getByRole('link', { name: 'Approvals' }).click();
    const card = cardOf(page, 'from the page');
    await card.getByRole('button', { name: 'Approve' }).click();
    await waiting(0);

    await goTo(page, '#/servers/default/stranger');

    await page.getByRole('region', { name: 'Result' }).getByText(/^note/).waitFor();
    t.pass('it is');
  });

  await t.test('INS-2 · lines that are pasted into a form stay lines', async (t) => {
    const { page, form } = await openTool(t, 'Says the text again');
    await form.getByLabel('text needed').fill('zero ');

    await page.evaluate(`{
      const clipboardData = new DataTransfer();
      clipboardData.setData('text', 'one\\ntwo');
      const pasted = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true });
      const field = document.querySelector('.tool[open] form input');
      field.setSelectionRange(5, 5);
      field.dispatchEvent(pasted);
    }`);

    await form.locator('textarea:focus').waitFor();
    await form.getByRole('button', { name: 'Call' }).click();
    t.equal(await page.getByRole('region', { name: 'Result' }).locator('pre').textContent(), 'zero one\ntwo');
  });

  await t.test('INS-2 · after a call the focus is on its result', async (t) => {
    const { page, form } = await openTool(t, 'Adds two numbers');
    await form.getByLabel('a needed').fill('2');
    await form.getByLabel('b needed').fill('40');
    await page.keyboard.press('Enter');
    await page.locator(':focus').getByRole('region', { name: 'Result' }).getByText('42', { exact: true }).waitFor();
    t.pass('they are');
  });
});
