/** The inspector's page in a real browser, where it shows failed deliveries and what a person does with them. */

import t from 'tap';
import { type Answer, answerFor, calls, clippedParts, goTo, refusal } from '../support/browser.ts';
import { eventually } from '../support/mcp/gateway.ts';
import { opened, options, sendReview } from '../support/page-scene.ts';
import { deferred } from '../support/turns.ts';

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
    'failures.groups': failureGroups({ title: 'Slack: `no`”?\u202E All of it has arrived.' }),
    'failures.list': () => ({ rows: [row] }),
  });
  await goTo(page, '#/failures');
  const asked = page.getByRole('alertdialog').getByRole('heading');
  await page.getByRole('heading', { level: 2 }).locator('code').getByText('no', { exact: true }).waitFor();

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
  let retried: unknown;
  await answerFor(page, {
    'failures.groups': failureGroups(),
    'failures.list': () => ({ rows: [] }),
    'deliveries.retry': ({ since }) => {
      retried = since;
      return { done: ['d'], skipped: [] };
    },
    'deliveries.progress': () => {
      polls += 1;
      return { delivered: isOver ? 1 : 0, failed: 0, retrying: 0, waiting: isOver ? 0 : 1 };
    },
  });
  await goTo(page, '#/failures');
  const asked = page.waitForRequest(
    (request) => calls('failures.list')(request) && /"since"/.test(request.postData() ?? ''),
  );
  await page.getByRole('combobox', { name: 'State' }).selectOption('Last hour');
  const { since } = (await asked).postDataJSON().params;
  t.equal(await page.locator('.grp .count').textContent(), '1 delivery');
  await page.getByRole('button', { name: 'Retry', exact: true }).click();
  await page.getByText('Retrying 1… 1 waiting').waitFor();
  t.equal(retried, since, 'a retry of a group is of those that are listed');

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

t.test(
  'INS-2 · INS-4 · on a phone a failed delivery leads to its event, and is selected with a finger',
  options,
  async (t) => {
    const { page } = await opened(t);
    await answerFor(page, { 'failures.groups': failureGroups(), 'failures.list': () => ({ rows: [failureRow(0)] }) });
    await page.setViewportSize({ width: 390, height: 844 });
    await goTo(page, '#/failures');

    const select = page.getByRole('checkbox', { name: 'Select text 0' });
    const box = await select.boundingBox();

    t.ok((box?.width ?? 0) >= 24 && (box?.height ?? 0) >= 24);
    const isCut = await select.locator('xpath=..').evaluate((cell) => cell.scrollWidth > cell.clientWidth);
    t.notOk(isCut, 'it has room in its cell');
    for (const width of [768, 320]) {
      await page.setViewportSize({ width, height: 844 });
      t.same(await clippedParts(page), [], `nor is a choice of the head, at ${width} px`);
    }
    for (const one of await page.locator('.filter-s select:visible').all()) {
      const [width, needed] = await one.evaluate((select) => {
        const width = select.offsetWidth;
        select.style.minWidth = 'max-content';
        return [width, select.offsetWidth];
      });
      t.equal(width, needed, 'nor are its words');
    }
    await page.getByRole('link', { name: 'ci · push' }).click();
    await page.waitForURL(/#\/events\/e0$/);
  },
);
