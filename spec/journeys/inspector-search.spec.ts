/**
 * The inspector's page in a real browser, where its events could mislead a person: a search that has not looked everywhere,
 * numbers that count twice, a payload that is not shown in full. The page's clock stands still unless a spec moves it.
 */

import t from 'tap';
import {
  answerFor,
  axeFindings,
  calls,
  goTo,
  holdAnswer,
  linkOf,
  openContext,
  openInspector,
} from '../support/browser.ts';
import { eventually, startGateway } from '../support/mcp/gateway.ts';
import { startModelServer } from '../support/model-server.ts';
import { changedBy, configOf, opened, openedEvent, options, sendReview } from '../support/page-scene.ts';

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

t.test('INS-4 · a live search that takes long lists what is found later than the first answer', options, async (t) => {
  const { gateway, page } = await opened(t);
  await sendReview(gateway, 'one');
  await goTo(page, '#/overview');
  let asked = 0;
  await answerFor(page, {
    'events.search': ({ limit, q }, own) => {
      if (limit !== 100 || q !== 'one') return undefined;
      asked += 1;
      return asked === 1
        ? changedBy({ rows: [], cursor: 'z', counted_from: new Date().toISOString() })({}, own)
        : undefined;
    },
  });

  await goTo(page, '#/events?q=one');

  await page.locator('.ev:has([title="one"])').waitFor();
  t.equal(asked, 2);
});

t.test('INS-4 · news from before a live search are not shown over what it finds later', options, async (t) => {
  const { gateway, page } = await opened(t);
  await goTo(page, '#/overview');
  let asked = 0;
  await answerFor(page, {
    'events.search': ({ limit }, own) => {
      if (limit !== 100) return undefined;
      asked += 1;
      return changedBy(asked === 1 ? { cursor: 'z', counted_from: new Date().toISOString() } : { total: 77 })({}, own);
    },
  });
  const { rows: _, ...counts } = await gateway.control.ask('events.search', { range: '1h', limit: 0 });
  await page.route('**/rpc', (route) => {
    if (!calls('events.follow')(route.request())) return route.fallback();
    const { id } = route.request().postDataJSON();
    const lines = [
      { id, result: {} },
      { method: 'events.news', params: { ...counts, rows: [], total: 5 } },
    ];
    return route.fulfill({ body: lines.map((line) => `${JSON.stringify({ jsonrpc: '2.0', ...line })}\n`).join('') });
  });

  await goTo(page, '#/events');

  await page
    .locator('.ends')
    .getByText(/^77 events, /)
    .waitFor();
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

t.test('INS-4 · an opened event shows its complete id, and copies it', options, async (t) => {
  const { gateway, context, page } = await opened(t);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const id = '6f1c2f4e-7a51-4d0e-9a53-b1f0a3c2d9e8';
  await sendReview(gateway, id);
  await goTo(page, `#/events/${id}`);

  await page.locator('.headline').getByText(id, { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Copy id' }).click();

  await page.getByText('Copied', { exact: true }).waitFor();
  t.equal(await page.evaluate('navigator.clipboard.readText()'), id);
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

t.test(
  'INS-4 · SEC-7 · a name in Hebrew or Arabic stays before its value, and words in their order',
  options,
  async (t) => {
    const { gateway, page } = await opened(t, configOf(0, '{title}'));
    await sendReview(gateway, 'rtl', { action: 'opened', הסכום: 5, המוטב: 'משה', title: 'ראשון **שני** שלישי' });
    await goTo(page, '#/events/rtl');
    const body = page.getByRole('group', { name: 'Body' });
    const edgesOf = async (text: string): Promise<readonly [left: number, right: number]> => {
      const { x, width } = (await body.getByText(text, { exact: true }).boundingBox()) ?? { x: 0, width: 0 };
      return [Math.round(x), Math.round(x + width)];
    };

    for (const [name, value] of [
      ['"הסכום":', '5'],
      ['"המוטב":', '"משה"'],
    ] as const)
      t.ok((await edgesOf(name))[1] <= (await edgesOf(value))[0], name);
    const response = page.getByRole('group', { name: 'Response of the agent' });
    const lefts = await response.locator('p > *').evaluateAll((all) => all.map((one) => one.getBoundingClientRect().x));
    t.same(
      lefts,
      lefts.toSorted((one, other) => other - one),
      'from the right to the left',
    );
    t.equal(lefts.length, 3);
  },
);

t.test(
  'INS-2 · a complete time is in the language of the page, and distinguishes the two hours of a clock set back',
  options,
  async (t) => {
    const gateway = await startGateway(t, {}, { config: configOf() });
    await sendReview(gateway, 'one');
    // Thai browsers count the years of Buddha, Persian ones those of the sun.
    const context = await openContext(t, { locale: 'th-TH', timezoneId: 'Europe/Berlin' });
    const page = await context.newPage();
    await page.goto(await linkOf(gateway));
    await answerFor(page, {
      'events.search': async (_, own) => {
        const found = (await own()) as { readonly rows: readonly object[] };
        const rows = ['01:30', '00:30'].map((time) => ({
          ...found.rows[0],
          ...{ key: time, delivery_id: time, received_at: `2026-10-25T${time}:00.000Z` },
        }));
        return { ...found, rows };
      },
    });

    await goTo(page, '#/events?range=7d');

    const times = page.locator('.ev:not(.headrow) .at2');
    await times.nth(1).waitFor();
    t.strictSame(await times.evaluateAll((all) => all.map((one) => one.getAttribute('title'))), [
      '25 Oct 2026, 02:30:00 CET (Europe/Berlin)',
      '25 Oct 2026, 02:30:00 CEST (Europe/Berlin)',
    ]);
  },
);

t.test(
  'INS-2 · how much a search or a filter leaves is announced, and not each event that comes',
  options,
  async (t) => {
    const { gateway, page } = await opened(t);
    await sendReview(gateway, 'one');
    await goTo(page, '#/events');
    const said = (words: string) => page.locator('#main').getByRole('status').filter({ hasText: words });
    await said('1 event').waitFor();
    await page.getByRole('combobox', { name: 'Search events' }).fill('nowhere');
    await said('0 events').waitFor();
    await page.getByRole('combobox', { name: 'Search events' }).fill('');
    await said('1 event').waitFor();

    await sendReview(gateway, 'two');

    await page.locator('.ends').getByText('2 events, ').waitFor();
    t.equal(await said('2 events').count(), 0);
    await goTo(page, '#/routes');
    await page.getByRole('searchbox', { name: 'Filter routes' }).fill('nowhere');
    await said('0 of 1 route').waitFor();
  },
);

t.test('INS-2 · a long row of the audit log is read to its end, by a pointer and with a finger', options, async (t) => {
  const gateway = await startGateway(t, {}, { config: configOf() });
  const key = `slack/${'a-reason-of-the-platform/'.repeat(9)}end`;
  const row = { at: new Date().toISOString(), who: 'owner', from: 'page', what: 'dropped deliveries', on: { key } };
  for (const hasTouch of [false, true]) {
    const context = await openContext(t, { viewport: { width: 820, height: 1_180 }, hasTouch, isMobile: hasTouch });
    const page = await context.newPage();
    await answerFor(page, { 'audit.list': () => [row] });
    await page.goto(await linkOf(gateway));
    await goTo(page, '#/audit');
    const words = page.getByText('end', { exact: false }).and(page.locator('td span.muted'));
    await words.waitFor();

    const isCut = await words.locator('xpath=..').evaluate((cell) => cell.scrollWidth > cell.clientWidth);

    t.equal(isCut, !hasTouch);
    t.equal(await words.getAttribute('title'), `key: ${key}`);
  }
});

t.test(
  'INS-4 · the row of an event shows the first words of a response that begins as JSON or code',
  options,
  async (t) => {
    const { gateway, page } = await opened(t, configOf(0, '```json\n[\n  "{title}"\n]\n```'));
    for (const title of ['repaired', '—']) await sendReview(gateway, `id-${title.length}`, { action: 'opened', title });

    await goTo(page, '#/events');

    const said = page.locator('.ev:not(.headrow) .said');
    await said.getByText('"repaired"', { exact: true }).waitFor();
    t.equal(await said.first().textContent(), '```json', 'the first line where none has words');
  },
);
