/**
 * The inspector's page in a real browser, where it could mislead a person: two clicks at one place, keys that would be lost,
 * a search that has not looked everywhere, numbers that count twice, a daemon that is gone. The page's clock stands still
 * unless a spec moves it.
 */

import { readFileSync, renameSync } from 'node:fs';
import type { Locator, Page, Request } from 'playwright-core';
import t, { type Test } from 'tap';
import type { Json, JsonObject } from '../../machines/base/json.ts';
import {
  type Answer,
  answerFor,
  axeFindings,
  calls,
  chromiumPath,
  clippedParts,
  goTo,
  holdAnswer,
  linkOf,
  noChromium,
  type OpenPage,
  openBlank,
  openContext,
  openInspector,
  refusal,
} from '../support/browser.ts';
import { startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import {
  controlOf,
  entryOf,
  eventually,
  type Gateway,
  startGateway,
  webhookSecret,
  wordsOf,
} from '../support/mcp/gateway.ts';
import { started } from '../support/mcp/http-peer.ts';
import { startModelServer } from '../support/model-server.ts';
import { deferred } from '../support/turns.ts';
import { adapterOf, send } from '../support/webhook-adapter.ts';

const options = chromiumPath === undefined ? { skip: noChromium } : {};
const config = { inspector: { port: 0 }, agent: { runner: 'echo' } };

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

/** Answers with the daemon's own result, changed by this. */
function changedBy(change: object): Answer {
  return async (_, own) => ({ ...((await own()) as object), ...change });
}

/** The servers of the daemon, of which `peer` is in this state. */
function peerIn(state: string): Answer {
  return async (_, own) =>
    ((await own()) as readonly JsonObject[]).map((row) => (row.name === 'peer' ? { ...row, state } : row));
}

const at = new Date().toISOString();

/** A delivery to Slack that has failed. */
function failureRow(key: string | number) {
  return {
    ...{ id: `d${key}`, event_key: `e${key}`, route: 'ci', event: 'push', place: 'Slack', status: 'deadLettered' },
    ...{ text: `text ${key}`, attempts: 1, reason: 'slack: no', last_attempt_at: at },
  };
}

/** Groups of failures of Slack; one of one delivery if nothing else is given. */
function failureGroups(
  ...changes: readonly { readonly count?: number; readonly key?: string; readonly title?: string }[]
): Answer {
  const group = {
    ...{ key: 'k', target: 'slack', title: 'Slack: no', advice: 'Do it.', helps: 'afterFix', count: 1 },
    ...{ first: at, last: at, routes: ['ci'], buckets: [] },
  };
  const groups = (changes.length === 0 ? [{}] : changes).map((change) => ({ ...group, ...change }));
  return () => ({ count: groups.reduce((sum, { count }) => sum + count, 0), groups });
}

const slackAlone: Answer = () => [
  { name: 'slack', target: 'slack', title: 'Slack', profile: 'default', state: 'connected', since: at },
];

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
    await page.clock.pauseAt(Date.now() + 60_000);
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
    // The daemon's answer can be here before what the browser tells of its request.
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

  await t.test('TRU-3 · SCA-3 · a question that its gateway no longer lists is not said to have ended', async (t) => {
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
    await answerFor(page, { 'approvals.list': () => rows, 'approvals.show': () => ({ ...row, detail: {} }) });
    await goTo(page, '#/approvals');
    await page.getByRole('article', { name: 'Call of far.act' }).waitFor();
    rows = [];

    // Its steps make the page read again.
    const asked = asks('a step');

    await page.getByText(/^Gateway eu-2 no longer lists it: /).waitFor();
    await denied(t, asked);
  });

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

/** A route whose filter wants an `action`, and the inspector at a port. */
function configOf(port = 0, prompt = 'Review'): JsonObject {
  const routes = { reviews: { filters: [{ field: 'action', equals: 'opened' }], prompt, deliver: 'log' } };
  return { ...config, inspector: { port }, platforms: { webhook: adapterOf(routes, { rate_limit: 10_000 }) } };
}

/** A gateway, and its page. */
async function opened(t: Test, config = configOf()) {
  const gateway = await startGateway(t, {}, { config });
  return { gateway, ...(await openInspector(t, gateway)) };
}

function sendReview(gateway: Gateway, id: string, payload: JsonObject = { action: 'opened' }) {
  return send(gateway, 'reviews', payload, id);
}

/** An event, opened. */
async function openedEvent(t: Test) {
  const { gateway, page } = await opened(t);
  await sendReview(gateway, 'one');
  await goTo(page, '#/events/one');
  await page.getByRole('heading', { level: 2, name: 'reviews' }).waitFor();
  return { gateway, page };
}

/** An event whose payload was changed in the sheet that replays it. */
async function typedReplay(t: Test) {
  const { gateway, page } = await openedEvent(t);
  await page.keyboard.press('e');
  const payload = page.getByRole('dialog').getByRole('textbox', { name: 'Payload' });
  await payload.fill('{"action":"opened","typed":true}');
  return { gateway, page, payload };
}

async function killed({ daemon }: Gateway): Promise<void> {
  daemon.kill('SIGKILL');
  await daemon.exited;
}

/** Lets a page write into the stream that it reads, by `write`; `snapshot` is what it read there before any change. */
const writesStream = `
  const real = fetch;
  globalThis.fetch = async (...asked) => {
    const response = await real(...asked);
    if (asked[0] !== './stream') return response;
    const texts = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const stream = new ReadableStream({
      start(controller) {
        const encoder = new TextEncoder();
        globalThis.snapshot = '';
        globalThis.write = (text) => controller.enqueue(encoder.encode(text));
        const read = async () => {
          for (;;) {
            const { value, done } = await texts.read();
            if (done) return controller.close();
            snapshot += /event: delta|event: vitals/.test(value) ? '' : value;
            write(value);
          }
        };
        void read().catch((error) => controller.error(error));
      },
    });
    return new Response(stream, { status: response.status });
  };
`;

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

t.test('INS-4 · PRF-2 · the first steps set up the profile that the page shows', options, async (t) => {
  const { page } = await opened(t);
  const writes: (readonly [method: string, profile: unknown])[] = [];
  const noted = (method: string, result: Json) => ({
    [method]: ({ profile }: JsonObject) => {
      writes.push([method, profile]);
      return result;
    },
  });
  const github = { name: 'github', title: 'GitHub', page: 'https://github.test', secret: 'x', secret_needed: false };
  const setup = {
    ...{ url: null, webhooks_enabled: true, reachable: true, home: '/home', runner: 'echo' },
    agents: [{ program: 'codex', title: 'Codex', command: ['codex'] }],
    sources: [github],
    targets: [{ name: 'slack', title: 'Slack' }],
    done: { route: false, event: false, agent: false, server: false, target: false },
  };
  await answerFor(page, {
    'setup.read': ({ profile }) => ({ ...setup, profile }) as never,
    ...noted('webhook.subscribe', { url: 'http://127.0.0.1:1/p/work/webhooks/github' }),
    ...noted('setup.agent', {}),
    ...noted('setup.target', {}),
    ...noted('mcp.importable', []),
  });
  await goTo(page, '#/overview/first-steps?profile=work');

  await page.getByText('http://127.0.0.1:8644/p/work/webhooks/github', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Create route only' }).click();
  await page.getByText('Route github created.').waitFor();
  await page.getByText('agent events show latest --route github --profile work', { exact: true }).waitFor();
  await page.getByRole('button', { name: /^Open.*Choose the agent/ }).click();
  await page.getByRole('button', { name: 'Use Codex' }).click();
  await page.getByText('Codex answers events from now on.').waitFor();
  await page.getByRole('button', { name: /^Open.*Connect a tool server/ }).click();
  await page.getByRole('button', { name: /^Open.*Choose where results go/ }).click();
  await page.getByLabel('Bot token').fill('xoxb-of-the-spec');
  await page.getByRole('button', { name: 'Set up Slack' }).click();
  await page.getByText(/^Slack is set up/).waitFor();

  t.same(Object.fromEntries(writes), {
    'webhook.subscribe': 'work',
    'setup.agent': 'work',
    'mcp.importable': 'work',
    'setup.target': 'work',
  });
});

t.test('INS-4 · listed failures stay, with what is selected, while more are read', options, async (t) => {
  const { page } = await opened(t);
  const rows = Array.from({ length: 10 }, (_, index) => failureRow(index));
  const more = deferred<void>();
  await answerFor(page, {
    'failures.groups': failureGroups({ count: 10 }),
    'failures.list': async ({ limit }) => {
      if (Number(limit) > rows.length) await more.promise;
      return { rows: rows.slice(0, Number(limit)) };
    },
  });
  await goTo(page, '#/failures');
  const first = page.getByRole('checkbox', { name: 'Select text 0' });
  await first.click();

  await page.getByRole('button', { name: 'Show 2 more' }).click();

  await page.waitForTimeout(100);
  t.equal(await first.isChecked(), true);
  t.equal(await page.getByText('1 selected').count(), 1);
  more.resolve();
  await page.getByRole('checkbox', { name: 'Select text 9' }).waitFor();
  t.equal(await first.isChecked(), true);
});

t.test('SEC-7 · INS-4 · what a platform or a sender says is quoted in the question of a drop', options, async (t) => {
  const { page } = await opened(t);
  const row = { ...failureRow(0), place: 'Slack #a”? It has arrived.' };
  await answerFor(page, {
    'failures.groups': failureGroups({ title: 'Slack: no”?\u202E All of it has arrived.' }),
    'failures.list': () => ({ rows: [row] }),
  });
  await goTo(page, '#/failures');
  const asked = page.getByRole('alertdialog').getByRole('heading');

  await page.getByRole('button', { name: 'Drop…', exact: true }).click();
  t.equal(await asked.innerText(), 'Drop 1 delivery of “Slack: no"?\\u202e All of it has arrived.”?');
  await page.keyboard.press('Escape');
  await page.getByRole('checkbox', { name: 'Select text' }).click();
  await page.getByRole('button', { name: 'Drop 1…' }).click();
  t.equal(await asked.innerText(), 'Drop 1 delivery of “Slack #a"? It has arrived.”?');
});

t.test('INS-4 · the progress of a retry stays away once it is closed, until the end', options, async (t) => {
  const { page } = await opened(t);
  let polls = 0;
  let isOver = false;
  await answerFor(page, {
    'failures.groups': failureGroups(),
    'failures.list': () => ({ rows: [] }),
    'deliveries.retry': () => ({ done: ['d'], skipped: [] }),
    'deliveries.progress': () => {
      polls += 1;
      return { delivered: isOver ? 1 : 0, failed: 0, retrying: 0, waiting: isOver ? 0 : 1 };
    },
  });
  await goTo(page, '#/failures');
  t.equal(await page.locator('.grp .count').textContent(), '1 delivery');
  await page.getByRole('button', { name: 'Retry', exact: true }).click();
  await page.getByText('Retrying 1… 1 waiting').waitFor();

  await page.getByRole('button', { name: 'Close' }).click();

  const before = polls;
  await eventually(() => polls > before + 1);
  t.equal(await page.getByText(/^Retrying/).count(), 0);
  isOver = true;
  await page.getByText('1 delivered.').waitFor();
});

t.test('INS-4 · the failures of a target are read again while its view is drawn often', options, async (t) => {
  const { gateway, page } = await opened(t);
  let asked = 0;
  await answerFor(page, {
    'deliveries.targets': slackAlone,
    'failures.groups': ({ by }) => {
      if (by === 'target') asked += 1;
    },
  });
  await goTo(page, '#/targets/default/slack');
  await page.getByText('No failed deliveries.').waitFor();
  const before = asked;

  await sendReview(gateway, 'one');

  let drawn = 0;
  await eventually(async () => {
    drawn += 1;
    await goTo(page, `#/targets/default/slack?drawn=${drawn}`);
    return asked > before;
  });
  t.pass('they are');
});

t.test('INS-4 · the failures of a target choose no profile where there is one only', options, async (t) => {
  const { page } = await opened(t);
  await answerFor(page, { 'deliveries.targets': slackAlone, 'failures.groups': failureGroups() });
  await goTo(page, '#/targets/default/slack');

  const link = page.getByRole('link', { name: '1 delivery has not arrived' });

  t.equal(await link.getAttribute('href'), '#/failures/k?by=target');
});

t.test('INS-4 · a server that is changed while it is tested is not added as it was', options, async (t) => {
  const { page } = await opened(t, config);
  const tested = deferred<void>();
  let added = 0;
  await answerFor(page, {
    'mcp.add': ({ dry }) => {
      if (dry !== true) added += 1;
    },
    'mcp.test': () => tested.promise.then(() => ({ ok: true, era: 'legacy', milliseconds: 1, tools: [] })),
  });
  await goTo(page, '#/servers?add=url');
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name', { exact: true }).fill('one');
  await dialog.getByLabel('Address').fill('http://127.0.0.1:9/tested');
  await dialog.getByRole('button', { name: 'Add server', exact: true }).click();
  await dialog.getByRole('button', { name: 'Testing…' }).waitFor();
  await dialog.getByLabel('Address').fill('http://127.0.0.1:9/typed');

  tested.resolve();

  await dialog.getByRole('button', { name: 'Test', exact: true }).waitFor();
  await page.waitForTimeout(100);
  t.equal(added, 0);
  t.equal(await dialog.getByLabel('Address').inputValue(), 'http://127.0.0.1:9/typed');
});

t.test('LNK-2 · the link that was shown is the one that is added', options, async (t) => {
  const { page } = await opened(t, config);
  const entry = Buffer.from(JSON.stringify({ url: 'http://127.0.0.1:9/mcp' })).toString('base64url');
  const linkTo = (name: string): string => `agent://mcp/install?name=${name}&config=${entry}`;
  await goTo(page, '#/servers?add=link');
  const dialog = page.getByRole('dialog');
  const field = dialog.getByLabel('Link', { exact: true });
  await field.fill(linkTo('shown'));
  const letAnswer = await holdAnswer(page, 'link.read');
  await dialog.getByRole('button', { name: 'Read link' }).click();
  await field.fill(linkTo('typed'));
  await letAnswer();
  await dialog.getByText('A link asks to add the MCP server shown:').waitFor();
  const added = page.waitForRequest(calls('link.add'));

  await dialog.getByRole('button', { name: 'Add server', exact: true }).click();

  t.equal(JSON.parse((await added).postData() ?? '{}').params.url, linkTo('shown'));
  await page.getByRole('heading', { level: 2, name: 'shown' }).waitFor();
});

t.test('LNK-3 · INS-4 · the server of a link that is written but not in force is said to be', options, async (t) => {
  const gateway = await startGateway(t, {}, { config });
  const text = readFileSync(`${gateway.home.path}/config.yaml`, 'utf8');
  gateway.home.write('config.yaml', JSON.stringify({ ...JSON.parse(text), agnt: {} }));
  await t.rejects(gateway.control.call('gateway.reload'));
  const { page } = await openInspector(t, gateway);
  const entry = Buffer.from(JSON.stringify({ url: 'http://127.0.0.1:9/mcp' })).toString('base64url');
  await goTo(page, '#/servers?add=link');
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Link', { exact: true }).fill(`agent://mcp/install?name=late&config=${entry}`);
  await dialog.getByRole('button', { name: 'Read link' }).click();

  await dialog.getByRole('button', { name: 'Add server', exact: true }).click();

  await page.getByText(/^late is written, but not in force: /).waitFor();
  t.match(readFileSync(`${gateway.home.path}/config.yaml`, 'utf8'), /late/);
});

t.test('INS-4 · PRF-1 · servers of other programs are imported into the chosen profile', options, async (t) => {
  const home = makeHome(t, { 'profiles/work/config.yaml': '{}' });
  const gateway = await startGateway(t, {}, { config: { ...config, gateway: { multiplex_profiles: true } }, home });
  const { page } = await openInspector(t, gateway);
  const server = {
    ...{ name: 'notes', foreign_name: 'notes', program: 'Claude Code', file: 'f', entry: { command: 'notes' } },
    ...{ variables: [], missing: [], notes: [], standing: 'new' },
  };
  const imported: object[] = [];
  await answerFor(page, {
    'mcp.importable': ({ profile }) => (profile === 'work' ? [server] : []),
    'mcp.import': (params) => {
      imported.push(params);
      return { added: ['notes'], failed: [] };
    },
  });
  await goTo(page, '#/servers?add=import&profile=work');
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('checkbox').check();

  await dialog.getByRole('button', { name: 'Add 1 server' }).click();

  await page.getByText('Added notes.').waitFor();
  t.same(imported, [{ names: ['notes'], profile: 'work' }]);
});

t.test('INS-4 · a list of failures that is longer than the gateway returns says so', options, async (t) => {
  const { page } = await opened(t);
  const rows = Array.from({ length: 1_000 }, (_, index) => failureRow(index));
  await answerFor(page, { 'failures.groups': failureGroups({ count: 1_500 }), 'failures.list': () => ({ rows }) });

  await goTo(page, '#/failures');

  await page.getByText('The newest 1,000 are listed; the buttons of a group act on all of it.').waitFor();
  t.equal(await page.getByRole('button', { name: /^Show .* more$/ }).count(), 0);
});

t.test('INS-4 · a key acts on the group of failures that has the focus', options, async (t) => {
  const { page } = await opened(t);
  await answerFor(page, {
    'failures.groups': failureGroups({ key: 'one', title: 'Slack: one' }, { key: 'other', title: 'Slack: other' }),
    'failures.list': ({ key }) => ({ rows: [failureRow(String(key))] }),
  });
  await goTo(page, '#/failures');
  const boxOf = (key: string) => page.getByRole('checkbox', { name: `Select text ${key}` });
  await boxOf('one').waitFor();
  await page.getByRole('button', { name: 'Show the 1 delivery' }).click();
  await boxOf('other').waitFor();

  await boxOf('one').focus();
  await page.keyboard.press('x');

  await page.getByText('1 selected').waitFor();
  t.same([await boxOf('one').isChecked(), await boxOf('other').isChecked()], [true, false]);
  await page.keyboard.press('?');
  const heading = page.getByRole('dialog').getByRole('heading', { name: 'Failures' });
  await heading.first().waitFor();
  t.equal(await heading.count(), 1);
});

t.test('INS-4 · after midnight the listed events of the day before get their date', options, async (t) => {
  const gateway = await startGateway(t, {}, { config: configOf(), timePasses: true });
  await sendReview(gateway, 'late');
  // A zone in which midnight is less than an hour away.
  const ahead = 23 - new Date().getUTCHours();
  const zone = ahead > 12 ? ahead - 24 : ahead;
  const context = await openContext(t, { timezoneId: `Etc/GMT${zone > 0 ? '-' : '+'}${Math.abs(zone)}` });
  const page = await context.newPage();
  await page.goto(await linkOf(gateway));
  await page.goto(`${page.url()}#/events?range=24h`);
  const received = page.locator('.ev .at2').getByText(/:/);
  await received.waitFor();
  await page.getByRole('img', { name: /^1 event, 0 failed, peak 1 at / }).waitFor();
  await page.locator('.ev .what').getByText('reviews').click();
  t.match(await page.locator('.meta time').first().getAttribute('title'), / \([\w/+-]+\)$/, 'with its zone');
  await page.keyboard.press('Escape');
  t.match(await received.innerText(), /^\d\d:\d\d:\d\d$/);

  await gateway.daemon.pass(3_600_000);

  await page
    .locator('.ev .at2')
    .getByText(/^\d+ \w+ \d\d:\d\d:\d\d$/)
    .waitFor();
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
  await choice.selectOption('two');
  names = ['two', 'three'];
  const listed = page.waitForResponse((response) => calls('webhook.list')(response.request()));
  await page.evaluate('sendSnapshot()');
  await listed;
  await page.waitForTimeout(50);
  const label = "document.querySelector('dialog select').selectedOptions[0].label";
  t.equal(await page.evaluate(label), 'two', 'the chosen route stays chosen');
  await page.unrouteAll({ behavior: 'wait' });
  await page.keyboard.press('Escape');
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
  await page.unrouteAll({ behavior: 'wait' });
  await page.route('**/*.json', (route) => route.abort());
  await page.evaluate("location.hash = '#/actors/journal'");
  await page.getByRole('button', { name: 'Discard the changes' }).click();
  await page.getByText('The chart could not be fetched.').waitFor();
  await page.unrouteAll({ behavior: 'wait' });
  await page.evaluate('sendSnapshot()');
  await page.locator('.box').first().waitFor();
});

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
  await page.unrouteAll({ behavior: 'wait' });
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('No actor lives there any more').waitFor();
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
  first.daemon.kill('SIGTERM');
  await first.daemon.exited;
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

t.test('INS-2 · TRU-3 · a question is counted once, and the waiting ones can be filtered', options, async (t) => {
  const ask = { name: 'clarify', args: JSON.stringify({ question: 'Which one?' }) };
  const model = await startModelServer(t, () => ({ kind: 'says', text: '', calls: [ask] }));
  const agent = {
    runner: 'model',
    model: { provider: 'openai-compatible', base_url: model.url, api_key: 'k', name: 'm' },
  };
  const gateway = await startGateway(t, {}, { config: { ...configOf(), agent } });
  for (const action of ['opened', 'closed']) await sendReview(gateway, action, { action });
  await gateway.asked();
  const { page } = await openInspector(t, gateway);

  await goTo(page, '#/actors');
  await page.getByRole('button', { name: 'Needs you 1' }).waitFor();
  await goTo(page, '#/actors?q=matches-none-of-them');
  await page.getByText(/None of the \d+ living actors is like that/).waitFor();
  t.same(await axeFindings(page), []);
  await goTo(page, '#/events');
  await page.getByRole('grid').getByRole('row').nth(1).waitFor();
  await page.getByRole('combobox', { name: 'Search events' }).fill('status:waiting');

  await page
    .locator('.ends')
    .getByText(/^1 event, /)
    .waitFor();
  await page.locator('.ev:has([title="opened"])').waitFor();
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

t.test(
  'INS-4 · a replay is asked for once, keeps the search, and takes no reader back who has left',
  options,
  async (t) => {
    const { gateway, page } = await opened(t);
    await sendReview(gateway, 'one');
    let asked = 0;
    page.on('request', (request) => {
      if (calls('webhook.replay')(request)) asked += 1;
    });
    const search = '?q=route%3Areviews&range=24h';
    const title = page.getByRole('heading', { level: 2, name: 'reviews' });
    await goTo(page, `#/events/one${search}`);
    await title.waitFor();

    const letAnswer = await holdAnswer(page, 'webhook.replay');
    for (const key of ['r', 'r']) await page.keyboard.press(key);
    await page.getByRole('button', { name: 'Replaying…' }).waitFor();
    await goTo(page, '#/failures');
    await page.getByRole('heading', { level: 1, name: 'Failures' }).waitFor();
    await letAnswer();
    await page.getByText('Replayed: the gateway answered 202.').waitFor();
    t.equal(await page.evaluate('location.hash'), '#/failures');
    t.equal(asked, 1);

    await goTo(page, `#/events/one${search}`);
    await title.waitFor();
    await page.keyboard.press('e');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Payload' }).waitFor();
    await dialog.getByRole('button', { name: 'Replay', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.waitForURL((url) => !url.hash.startsWith('#/events/one'));
    t.match(await page.evaluate('location.hash'), /^#\/events\/[^?]+\?q=route%3Areviews&range=24h$/);
  },
);

t.test('INS-4 · a row that is opened while a search is under way keeps the search', options, async (t) => {
  const { gateway, page } = await opened(t);
  await sendReview(gateway, 'one');
  await goTo(page, '#/events');
  const row = page.locator('.ev:has([title="one"])');
  await row.waitFor();
  const letAnswer = await holdAnswer(page, 'events.search');
  const search = page.getByRole('combobox', { name: 'Search events' });
  await search.fill('route:reviews');
  await search.press('Enter');
  await page.waitForURL(/q=route/);

  await row.click();

  t.match(await page.evaluate('location.hash'), /^#\/events\/[^?]+\?q=route%3Areviews$/);
  await letAnswer();
});

t.test('INS-4 · a search that a network loses is made again while the page is live', options, async (t) => {
  const { gateway, page } = await opened(t);
  await sendReview(gateway, 'one');
  let lost = 0;
  await page.route('**/rpc', (route) => {
    if (lost > 0 || !calls('events.search')(route.request())) return route.continue();
    lost += 1;
    return route.abort('internetdisconnected');
  });

  await goTo(page, '#/events');

  await page.locator('.ev[role=row]').waitFor();
  t.equal(lost, 1);
});

t.test('INS-4 · a range that is chosen just after a search was typed keeps it, and stays', options, async (t) => {
  const { gateway, page } = await opened(t);
  await sendReview(gateway, 'one');
  await goTo(page, '#/events');
  await page.locator('.ev:has([title="one"])').waitFor();

  await page.evaluate(`(async () => {
    const drawn = () => new Promise((done) => setTimeout(done));
    const box = document.getElementById('search-events');
    box.focus();
    box.value = 'route:reviews';
    box.dispatchEvent(new InputEvent('input', { bubbles: true }));
    await drawn();
    const range = [...document.querySelectorAll('.seg button')].find((one) => one.textContent === '24 h');
    range.focus();
    await drawn();
    range.click();
  })()`);

  await page.waitForURL(/q=route/);
  // Longer than the search waits for the next key.
  await page.waitForTimeout(300);
  t.equal(await page.evaluate('location.hash'), '#/events?q=route%3Areviews&range=24h');
});

t.test('INS-4 · a search that takes long is completed while the list is paused', options, async (t) => {
  const { gateway, page } = await opened(t);
  await sendReview(gateway, 'one');
  await goTo(page, '#/events');
  await page.locator('.ev:has([title="one"])').waitFor();
  await page.getByRole('button', { name: 'Live', exact: true }).click();
  await page.getByRole('button', { name: 'Paused' }).waitFor();
  let asked = 0;
  await answerFor(page, {
    'events.search': ({ limit, range }, own) => {
      if (limit !== 100 || range !== '24h') return undefined;
      asked += 1;
      return asked === 1 ? changedBy({ counted_from: new Date().toISOString() })({}, own) : undefined;
    },
  });

  await page.getByRole('button', { name: '24 h', exact: true }).click();

  await eventually(() => asked === 2);
  await page
    .locator('.ends')
    .getByText(/^1 event, /)
    .waitFor();
  t.equal(asked, 2);
});

t.test('INS-4 · a count that has not read all of its range is not given as that of all', options, async (t) => {
  const { page } = await opened(t);
  await answerFor(page, {
    'events.search': ({ limit, range }, own) => {
      const part = { total: range === '7d' ? 3 : 80, counted_from: new Date().toISOString() };
      return limit === 0 ? changedBy(part)({}, own) : undefined;
    },
  });

  await goTo(page, '#/events?q=no-event-has-this');

  await page.getByText(/^Searched between .* The same search finds at least 3 events in the last 7 days\.$/).waitFor();
  t.pass('it is not');
});

t.test('INS-4 · a double click below the bars keeps the range', options, async (t) => {
  const { gateway, page } = await opened(t);
  await sendReview(gateway, 'one');
  await goTo(page, '#/events?range=24h');

  await page.getByRole('button', { name: 'Show as table' }).dblclick();

  await page.getByRole('button', { name: 'Show as chart' }).waitFor();
  t.equal(await page.evaluate('location.hash'), '#/events?range=24h');
  await page.getByRole('button', { name: 'Show as chart' }).click();
  await page.locator('.hist svg').dblclick();
  await page.waitForURL(/#\/events$/);
});

t.test('INS-4 · a payload is copied in full, and a copy that the browser refuses is said to be', options, async (t) => {
  const gateway = await startGateway(t, {}, { config: configOf() });
  const sent = { action: 'opened', text: 'x'.repeat(100_000) };
  await sendReview(gateway, 'long', sent);
  const { page } = await openInspector(t, gateway);
  await goTo(page, '#/events/long');
  await page.evaluate('navigator.clipboard.writeText = async (text) => { globalThis.copied = text; }');

  await page.getByRole('button', { name: 'Copy payload' }).click();
  await page.getByText('Copied', { exact: true }).waitFor();
  t.same(JSON.parse(await page.evaluate('copied')), sent);

  await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new DOMException('', 'NotAllowedError'))");
  await page.keyboard.press('c');
  await page.getByText('The browser did not let the page copy.').waitFor();
});

t.test('INS-2 · INS-4 · a long payload is laid out in sight only, and printed to its end', options, async (t) => {
  const gateway = await startGateway(t, {}, { config: configOf() });
  const sent = { action: 'opened', words: Array.from({ length: 900 }, (_, at) => `${at}${' word'.repeat(30)}`) };
  await sendReview(gateway, 'long', sent);
  const { page } = await openInspector(t, gateway);
  await goTo(page, '#/events/long');

  await page.getByRole('button', { name: /^Show all/ }).click();
  await page.locator('.paper .piece').first().waitFor();

  t.equal(await page.locator('.paper pre').textContent(), JSON.stringify(sent, null, 2));
  const unseen = "getComputedStyle(document.querySelector('.paper .piece:last-child')).contentVisibility";
  t.equal(await page.evaluate(unseen), 'auto');
  const box =
    "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.paper .codebox'))";
  t.ok(Number(await page.evaluate(box)) > 100, 'its lines can be scrolled to their end');
  await page.emulateMedia({ media: 'print' });
  t.equal(await page.evaluate(box), 0, 'on paper they are wrapped');
});

t.test('INS-4 · SEC-7 · what a sender writes is shown in the order in which it is read', options, async (t) => {
  const { gateway, page } = await opened(t, configOf(0, 'Review {title}'));
  await sendReview(gateway, 'turned', { action: 'opened', title: 'safe \u202egnp.live', '\u202eyek': '\u2067x\u2069' });

  await goTo(page, '#/events/turned');
  await page.getByText('"\\u202eyek"').waitFor();
  const row = page.locator('.ev').filter({ hasText: 'reviews' });
  t.match(await row.innerText(), /Review safe \\u202egnp\.live/);
  t.match(await page.getByRole('group', { name: 'Body' }).innerText(), '"\\u2067x\\u2069"');
  t.notMatch(await page.locator('body').innerText(), /[\u202a-\u202e\u2066-\u2069]/);
  t.match(await row.locator('.said').getAttribute('title'), 'Review safe \\u202egnp.live', 'in a tooltip too');
});

t.test('INS-4 · a payload is laid out once, however often its event is read again', options, async (t) => {
  const { gateway, page } = await openedEvent(t);
  await page.evaluate(`{
    const { parse } = JSON;
    globalThis.parsed = 0;
    JSON.parse = (text, ...more) => {
      if (text.startsWith('{"action"')) globalThis.parsed += 1;
      return parse(text, ...more);
    };
  }`);

  await sendReview(gateway, 'two');
  await page.locator('.ev').nth(1).waitFor();

  t.equal(await page.evaluate('parsed'), 0);
});

t.test('INS-4 · DUR-2 · an accepted event with an empty body is not called refused', options, async (t) => {
  const { gateway, page } = await opened(t);
  await sendReview(gateway, 'one');
  await answerFor(page, { 'events.open': changedBy({ payload: { text: '', bytes: 0, whole: true } }) });

  await goTo(page, '#/events/one');

  await page.getByText('The body is empty.').waitFor();
  t.equal(await page.getByText('A refused request').count(), 0);
});

t.test('INS-4 · the sender of an event that is over is not said to wait', options, async (t) => {
  const { gateway, page } = await opened(t);
  await sendReview(gateway, 'one', { action: 'closed' });
  await answerFor(page, { 'events.open': changedBy({ answer: undefined }) });

  await goTo(page, '#/events/one');

  await page.getByText('The answer was not kept.').waitFor();
  t.equal(await page.getByText('The sender waits.').count(), 0);
});

t.test('INS-4 · of a long difference a part is drawn until all of it is asked for', options, async (t) => {
  const gateway = await startGateway(t, {}, { config: configOf() });
  for (const from of [0, 10_000]) {
    const numbers = Array.from({ length: 3_000 }, (_, index) => from + index);
    await sendReview(gateway, `from-${from}`, { numbers });
  }
  const { page } = await openInspector(t, gateway);
  await goTo(page, '#/events/from-10000');
  await page.getByRole('heading', { level: 2, name: 'reviews' }).waitFor();

  await page.keyboard.press('d');

  const all = page.getByRole('dialog').getByRole('button', { name: /^Show all \d,\d+ lines$/ });
  await all.waitFor();
  const drawn = () => page.locator('.diff > div').count();
  t.ok((await drawn()) <= 2_001);
  await all.click();
  await all.waitFor({ state: 'detached' });
  t.ok((await drawn()) > 6_000);
});

t.test('INS-2 · what was typed stays when the event behind it cannot be read again', options, async (t) => {
  const { gateway, page, payload } = await typedReplay(t);
  await answerFor(page, { 'events.open': refusal('the database restarts') });

  await sendReview(gateway, 'two');

  await page.getByText('the database restarts').waitFor();
  t.match(await payload.inputValue(), /"typed":true/);
  t.equal(await page.getByRole('heading', { level: 2, name: 'reviews' }).count(), 1);
});

t.test('INS-2 · Cancel asks before it discards what is typed', options, async (t) => {
  const { page, payload } = await typedReplay(t);
  const question = page.getByRole('alertdialog', { name: 'Discard the changes?' });

  await page.getByRole('button', { name: 'Cancel' }).click();

  await question.getByRole('button', { name: 'Cancel' }).click();
  t.match(await payload.inputValue(), /"typed":true/);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await question.getByRole('button', { name: 'Discard the changes' }).click();
  await payload.waitFor({ state: 'detached' });
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

t.test('INS-4 · what is open in a timeline stays open when a row comes before it', options, async (t) => {
  const { gateway, page } = await opened(t);
  await sendReview(gateway, 'one');
  const start = Date.now();
  const spanOf = (id: string, texts: readonly object[] = []) => {
    return { id, kind: 'call', name: id, tone: 'resting', start, end: start, parts: [], texts };
  };
  const last = spanOf('last', [{ title: 'Result', text: 'what it answered' }]);
  let spans = [spanOf('first'), last];
  await answerFor(page, { 'events.open': (params, own) => changedBy({ spans })(params, own) });
  await goTo(page, '#/events/one');
  const timeline = page.getByRole('region', { name: 'Timeline' });
  await timeline.getByRole('button', { name: /\blast\b/ }).click();
  await timeline.getByText('what it answered').waitFor();

  spans = [spanOf('first'), spanOf('between'), last];
  await sendReview(gateway, 'two');

  await timeline.getByText('between', { exact: true }).waitFor();
  t.equal(await timeline.getByText('what it answered').count(), 1);
});

t.test('INS-2 · what was typed or selected stays when routes or failures cannot be read again', options, async (t) => {
  const { gateway, page } = await opened(t);
  await gateway.control.call('webhook.subscribe', { name: 'mine', record: { deliver: 'log', prompt: 'Do {n}' } });
  let isBroken = false;
  const unlessBroken =
    (answer: Answer = () => undefined): Answer =>
    (params, own) =>
      isBroken ? refusal('the database restarts')() : answer(params, own);
  await answerFor(page, {
    'webhook.list': unlessBroken(),
    'webhook.show': unlessBroken(),
    'failures.groups': unlessBroken(failureGroups()),
    'failures.list': unlessBroken(() => ({ rows: [failureRow(0)] })),
  });
  await goTo(page, '#/routes/default/mine');
  await page.getByRole('button', { name: 'Edit…' }).click();
  const prompt = page.getByRole('dialog').getByLabel('Prompt');
  await prompt.fill('typed');

  isBroken = true;
  await sendReview(gateway, 'one');

  await page.getByText('The routes could not be loaded.').waitFor();
  await page.getByText('Route mine could not be loaded.').waitFor();
  t.equal(await prompt.inputValue(), 'typed');
  isBroken = false;
  await goTo(page, '#/failures');
  await page.getByRole('button', { name: 'Discard the changes' }).click();
  await page.getByRole('checkbox', { name: 'Select text' }).click();
  await page.getByText('1 selected').waitFor();
  isBroken = true;
  await sendReview(gateway, 'two');
  await page.getByText('The failures could not be loaded.').waitFor();
  t.equal(await page.getByText('1 selected').count(), 1);
});

t.test('INS-2 · the rows of the audit log stay while words are typed for them', options, async (t) => {
  const { gateway, page } = await opened(t);
  await gateway.control.call('webhook.subscribe', { name: 'mine', record: { deliver: 'log', prompt: 'Do {n}' } });
  await goTo(page, '#/audit');
  const row = page.getByRole('cell').filter({ hasText: 'subscribed a route' });
  await row.waitFor();
  const letAnswer = await holdAnswer(page, 'audit.list');

  await page.getByRole('searchbox').fill('route');

  await page.waitForURL(/#\/audit\?q=route$/);
  await page.waitForTimeout(50);
  t.equal(await row.count(), 1);
  await letAnswer();
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

t.test('INS-4 · Back does not open the sheet of a new server again', options, async (t) => {
  const { page } = await opened(t);
  await goTo(page, '#/events');
  await goTo(page, '#/servers');
  await page.getByRole('button', { name: 'Add server' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  await page.goBack();
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Add server' }).first().click();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await dialog.waitFor({ state: 'detached' });

  await page.goBack();

  await page.waitForURL(/#\/servers$/);
  t.equal(await dialog.count(), 0);
  await page.goBack();
  await page.waitForURL(/#\/events$/);
});

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

t.test('INS-2 · an opened event has its facts below its name, and its lines of text are even', options, async (t) => {
  const { page } = await openedEvent(t);
  await answerFor(page, { 'events.open': async (_, own) => ({ ...((await own()) as object), run: 'a-run' }) });
  await goTo(page, '#/events');
  await goTo(page, '#/events/one');
  await page.getByRole('button', { name: 'Cancel run…' }).waitFor();
  const edges = (selector: string) =>
    page.evaluate(
      `(({ top, bottom }) => ({ top, bottom }))(document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect())`,
    ) as Promise<{
      readonly top: number;
      readonly bottom: number;
    }>;
  const middle = async (selector: string) => {
    const { top, bottom } = await edges(selector);
    return (top + bottom) / 2;
  };
  for (const width of [800, 1024, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    t.ok((await edges('.headline .meta')).bottom <= (await edges('.headline .btns')).top, `${width} px`);
  }
  t.ok(
    Math.abs(
      (await middle('.panel > header:has(.legend) h2, .panel > header:has(.legend) h3')) -
        (await middle('.panel > header .legend')),
    ) < 1,
  );

  await goTo(page, '#/routes/default/reviews');
  await page.getByText('Set', { exact: true }).waitFor();
  const tops =
    await page.evaluate(`[...document.querySelector('.facts .status').parentElement.childNodes].flatMap((one) => {
    const range = document.createRange();
    range.selectNodeContents(one.querySelector?.('.cut') ?? one);
    return one.textContent.trim() === '' ? [] : range.getBoundingClientRect().bottom;
  })`);
  t.equal(new Set(tops as readonly number[]).size, 1, 'beside a mark');
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
