/**
 * An opened event and the failures, through the control socket and in a real browser, over a real daemon that delivers to a
 * platform on loopback.
 */

import { writeFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import type { OpenedEvent } from '../../runtime/control/contract/event-wire.ts';
import type { Method, Params, Result } from '../../runtime/control/contract.ts';
import { answerFor, axeFindings, clippedParts, goTo, openInspector, options } from '../support/browser.ts';
import { eventually, type Gateway, startGateway } from '../support/mcp/gateway.ts';
import { type FakePlatform, startPlatform } from '../support/platforms/fake-platform.ts';
import { slackApi, slackError } from '../support/platforms/slack.ts';
import { postSigned } from '../support/sign.ts';
import { inAllOnly } from '../support/tier.ts';
import { adapterOf, send, webhookSecret } from '../support/webhook-adapter.ts';

function configOf({ base }: FakePlatform): JsonObject {
  const slack = { deliver: 'slack', deliver_extra: { chat_id: slackApi.chat ?? '' } };
  return {
    inspector: { port: 0 },
    agent: { runner: 'echo' },
    platforms: {
      slack: {
        enabled: true,
        api_base: base,
        ...slackApi.options,
        retries: { max_attempts: 3, base_seconds: 0.05, longest_seconds: 0.2 },
      },
      webhook: adapterOf({
        reviews: { filters: [{ field: 'action', equals: 'opened' }], prompt: 'Review {title}', ...slack },
        deploys: {
          prompt: '{text}',
          deliver_only: true,
          deliver: [{ to: 'slack', extra: { chat_id: slackApi.chat ?? '' } }],
        },
        batches: { coalesce: { key: 'environment', window_seconds: 300 }, prompt: 'Deployed', deliver: 'log' },
      }),
    },
  };
}

interface Stage {
  readonly gateway: Gateway;
  readonly slack: FakePlatform;
  ask<M extends Method>(method: M, params: Params<M>): Promise<Result<M>>;
  send(route: string, payload: JsonObject, id: string): Promise<unknown>;
  /** Resolves with the opened event once it has ended. */
  ended(id: string): Promise<Result<'events.open'>>;
}

async function stage(t: Test): Promise<Stage> {
  const slack = await startPlatform(t, slackApi);
  const gateway = await startGateway(t, {}, { config: configOf(slack) });
  const ask: Stage['ask'] = async (method, params) =>
    (await gateway.control.call(method, params as JsonObject)) as never;
  return {
    gateway,
    slack,
    ask,
    send: (route, payload, id) => send(gateway, route, payload, id),
    ended: (id) =>
      eventually(async () => {
        const opened = await ask('events.open', { id }).catch(() => undefined);
        return opened?.ended === undefined ? undefined : opened;
      }),
  };
}

t.test('INS-4 · an event that is gone says for how many hours events are kept, if those are not days', async (t) => {
  const gateway = await startGateway(t, {}, { config: { gateway: { history: { max_age_hours: 12 } } } });
  const asked = gateway.control.call('events.open', { id: 'no-such' });
  await t.rejects(asked, { message: /no longer in the history \(kept 12 hours\)/ });
});

t.test('an event opened, through the control socket', async (t) => {
  const { gateway, slack, ask, send, ended } = await stage(t);

  await t.test(
    'INS-4 · DLV-4 · DUR-2 · each attempt is kept with its time and the answer of the platform',
    async (t) => {
      slack.scripts.push(slackError('service_unavailable'));
      await send('reviews', { action: 'opened', title: 'the login page' }, 'd-two');

      const event = await ended('d-two');

      t.match(event.verdict, {
        tone: 'resting',
        text: `Delivered to Slack ${slackApi.chat}.`,
        detail: /attempt 2 arrived/,
      });
      const [delivery] = event.deliveries;
      t.match(
        delivery?.attempts.map(({ number, tone, answer }) => [number, tone, answer]),
        [
          [2, 'resting', /accepted as message/],
          [1, 'failed', /failed|unavailable/],
        ],
      );
      t.ok(delivery?.attempts.every(({ ms }) => typeof ms === 'number'));
      const spans = event.spans.map(({ kind, parts }) => [kind, parts.map(({ how }) => how)]);
      t.same(spans, [
        ['request', ['work']],
        ['run', ['work']],
        ['delivery', ['failed', 'pause', 'work']],
      ]);
      t.match(event.answer, { status: 202, body: /"status":"accepted"/ });
      t.equal(event.response, event.prompt, 'the runner is the echo');
      t.match(event.payload, { text: /"title":"the login page"/, whole: true });
      t.ok(event.checks.every(({ result }) => result === 'passed'));
    },
  );

  await t.test('INS-4 · the check that decides is the last one, with its reason', async (t) => {
    await send('reviews', { action: 'closed' }, 'd-closed');

    const event = await ended('d-closed');

    t.match(event.verdict, {
      tone: 'ended',
      text: /Ignored: a filter does not hold: action equals "opened" saw "closed"/,
      detail: 'Change `filters` of the route if it should have passed.',
      place: 'routes/default/reviews',
    });
    t.match(event.checks.at(-1), {
      name: 'event type and filters',
      result: 'notMatched',
      detail: /^action .* saw "closed"/,
    });
    t.same(event.answer, { status: 200, body: '{"status":"ignored","reason":"filter","route":"reviews"}' });
  });

  await t.test('INS-4 · SRC-5 · a refused signature is explained once', async (t) => {
    const url = `${gateway.daemon.url}/webhooks/reviews`;
    await postSigned(url, {}, { secret: 'another-secret-another-secret', id: 'd-forged' });

    t.match((await ended('d-forged')).verdict, {
      text: 'Refused: the signature is not genuine.',
      detail: /^The signature does not match\. No usual change of the body .* the secret is another one/,
    });
  });

  await t.test('INS-4 · a batch has a tick for each event that joined, and continues', async (t) => {
    for (const id of ['b1', 'b2', 'b3']) await send('batches', { environment: 'prod' }, id);

    const event = await ask('events.open', { id: 'b3' });

    t.equal(event.ended, undefined);
    t.match(event.verdict, { tone: 'working', text: /^Batching: 3 events joined/ });
    const batch = event.spans.find(({ kind }) => kind === 'batch');
    t.match(batch, { note: '3 events joined', parts: [{ how: 'window' }] });
  });

  await t.test(
    'DUR-2 · an edited dry replay goes through the rules, sends nothing and keeps its response',
    async (t) => {
      const before = slack.world.messages.length;
      const payload = '{"action":"opened","title":"edited"}';

      const answer = await ask('webhook.replay', { id: 'd-closed', payload, dry: true });
      const event = await ended(answer.key);

      t.equal(answer.status, 202);
      t.match(event, { edited: true, dry: true, response: 'Review edited', status: 'delivered', deliveries: [] });
      t.match(event.verdict.text, /Nothing was sent/);
      t.equal(slack.world.messages.length, before);
      t.match((await ask('events.open', { id: 'd-closed' })).replays, [{ key: answer.key, edited: true, dry: true }]);
      const still = await ask('webhook.replay', { id: 'd-two', payload: '{"action":"closed"}' });
      t.match([still.status, still.body], [200, /"reason":"filter"/], 'the filters of the route apply');
      t.match(await ask('events.open', { id: still.key }), { replayOf: /./, edited: true, status: 'ignored' });
      t.equal((await ask('webhook.replay', { id: 'd-two', payload: 'no json' })).status, 400);
    },
  );

  await t.test('DUR-2 · CLI-6 · the command replays a file, dry, and prints the response', async (t) => {
    const file = `${gateway.home.path}/changed.json`;
    writeFileSync(file, '{"action":"opened","title":"from a file"}');

    const said = await gateway.cli('events', 'replay', 'd-two', '--payload', file, '--dry');

    t.equal(said.code, 0, said.stderr);
    t.match(said.stdout, /HTTP 202[\s\S]*Review from a file/);
    const both = await gateway.cli('events', 'replay', 'd-two', '--payload', file, '--edit');
    t.match([both.code, both.stderr], [2, /use one of them/]);
    const absent = await gateway.cli('events', 'replay', 'd-two', '--payload', `${file}.no`);
    t.match([absent.code, absent.stderr], [1, /cannot be read \(ENOENT\)/]);
  });

  await t.test(
    'SIG-1 · the printed curl command is signed in the shell and accepted, and holds no secret',
    async (t) => {
      const { curl } = await ask('events.curl', { id: 'd-two' });

      t.notMatch(curl, webhookSecret);
      const { execFile } = await import('node:child_process');
      const printed = await new Promise<string>((resolve) => {
        execFile('/bin/sh', ['-c', curl], { env: { ...process.env, SECRET: webhookSecret } }, (_, stdout, stderr) =>
          resolve(`${stdout}${stderr}`),
        );
      });
      t.match(printed, /"status":"accepted"/);
      await ended(/"delivery_id":"([^"]+)"/.exec(printed)?.[1] ?? '');
    },
  );

  await t.test('INS-4 · the payload of a replay is a text', async (t) => {
    await t.rejects(ask('webhook.replay', { id: 'd-two', payload: { a: 1 } as never }), {
      message: /must be a text/,
    });
  });

  await t.test(
    'INS-4 · DLV-4 · failures are grouped, listed, retried, dropped with a reason and confirmed',
    async (t) => {
      for (const n of [1, 2, 3]) {
        slack.scripts.push(slackError('channel_not_found'));
        await send('deploys', { text: `web 4.18.${n} is live` }, `f${n}`);
        const { verdict } = await ended(`f${n}`);
        t.match(verdict.detail, /^Invite the bot there and retry/, 'the event says what to do too');
      }
      slack.scripts.push('takenThenReset');
      await send('deploys', { text: 'was it sent?' }, 'f-unsure');
      await ended('f-unsure');

      const { count, groups } = await ask('failures.groups', {});
      t.equal(count, 4);
      t.match(groups, [
        { title: /^Slack/, helps: 'afterFix', count: 3, routes: ['deploys'] },
        { title: /^Slack/, helps: 'unsure', count: 1 },
      ]);
      t.equal(
        groups[0]?.buckets.reduce((sum, one) => sum + one, 0),
        3,
      );
      t.match((await ask('failures.groups', { by: 'target' })).groups, [{ title: 'Slack', count: 4 }]);
      const [gone, unsure] = groups.map(({ key }) => key);
      const page = await ask('failures.list', { key: gone ?? '', limit: 2 });
      t.match(
        page.rows.map(({ text, attempts }) => [text, attempts]),
        [
          ['web 4.18.3 is live', 1],
          ['web 4.18.2 is live', 1],
        ],
      );
      const rest = await ask('failures.list', { key: gone ?? '', limit: 2, cursor: page.next ?? '' });
      t.match(
        rest.rows.map(({ text }) => text),
        ['web 4.18.1 is live'],
      );
      const ids = page.rows.map(({ id }) => id);

      const retried = await ask('deliveries.retry', { ids: [...ids, 'no-such'] });
      t.match(retried, { done: ids, skipped: [{ id: 'no-such', why: /is in the history/ }] });
      await eventually(async () => {
        const progress = await ask('deliveries.progress', { ids });
        return progress.delivered === 2 ? progress : undefined;
      });
      t.match(await ask('deliveries.drop', { key: gone ?? '', reason: 'Announced by hand' }), { done: { length: 1 } });
      t.match((await ask('failures.list', { state: 'dropped' })).rows, [
        { note: 'Announced by hand', status: 'dropped' },
      ]);
      t.match(await ask('deliveries.retry', { key: unsure ?? '' }), {
        done: [],
        skipped: [{ why: /may have arrived/ }],
      });
      t.match(await ask('deliveries.confirm', { key: unsure ?? '', reason: 'seen in the channel' }), {
        done: { length: 1 },
        skipped: [],
      });
      t.match(await ask('events.open', { id: 'f-unsure' }), {
        status: 'delivered',
        verdict: { tone: 'resting' },
        deliveries: [{ note: 'seen in the channel', attempts: [{ tone: 'failed' }] }],
      });
      t.equal((await ask('failures.groups', {})).count, 0);
      await t.rejects(ask('failures.groups', { by: 'colour' as never }), { message: /must be cause, target, route/ });
      await t.rejects(ask('deliveries.retry', { ids: 'all' as never }), { message: /list of ids/ });
    },
  );
});

t.test('an event opened, in the browser', inAllOnly ? { skip: inAllOnly } : options, async (t) => {
  const { gateway, slack, ask, send, ended } = await stage(t);
  slack.scripts.push(slackError('service_unavailable'));
  await send('reviews', { action: 'opened', title: 'the login page' }, 'd-page');
  const opened = await ended('d-page');
  const { page, complaints } = await openInspector(t, gateway);

  await t.test('INS-4 · the outcome comes first; payload, timeline, attempts and folded checks follow', async (t) => {
    await goTo(page, `#/events/${opened.key}`);
    await page.getByText(`Delivered to Slack ${slackApi.chat}.`).first().waitFor();

    await page.getByRole('group', { name: 'Body' }).getByText('"the login page"').waitFor();
    await page.getByText('attempt 2', { exact: false }).first().waitFor();
    const heads = await page
      .locator('.papers > .panel > header')
      .evaluateAll((all) => all.map((one) => one.clientHeight));
    t.same(heads, [39, 39], 'the heads of both panels have one line');
    const checks = page.getByRole('button', { name: /10 checks passed|11 checks passed/ });
    t.equal(await checks.getAttribute('aria-expanded'), 'false');
    await page.getByRole('button', { name: 'HTTP answer' }).click();
    await page.getByText('HTTP 202').waitFor();
    t.same(await axeFindings(page), []);
    t.same(await clippedParts(page), []);
    const spacing = '* { letter-spacing: 0.12em !important; word-spacing: 0.16em !important }';
    await page.evaluate(
      `document.adoptedStyleSheets = [new CSSStyleSheet()]; document.adoptedStyleSheets[0].replaceSync('${spacing}')`,
    );
    t.same(await clippedParts(page), [], 'also with the letters further apart');
    await page.evaluate('document.adoptedStyleSheets = []');
    await page.setViewportSize({ width: 1101, height: 800 });
    t.same(await clippedParts(page), [], 'beside the list too');
    await page.setViewportSize({ width: 390, height: 844 });
    const scrolling = 'one => getComputedStyle(one).overflowY';
    t.same(await page.evaluate(`[...document.querySelectorAll('.paper, .paper > .codebox')].map(${scrolling})`), [
      'visible',
      'visible',
      'visible',
      'visible',
    ]);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.emulateMedia({ forcedColors: 'active' });
    const groundOf = (which: string) =>
      page.evaluate(`getComputedStyle(document.querySelector('${which}')).backgroundColor`);
    t.not(await groundOf('.barx.ok'), await groundOf('body'), 'the bars are seen in the colours of the browser too');
    await page.emulateMedia({ forcedColors: 'none' });
  });

  await t.test(
    'DUR-2 · INS-2 · a replay that sends a second message asks first; an edited one is shown here only',
    async (t) => {
      await page.keyboard.press('r');
      const question = page.getByRole('alertdialog', { name: 'Replay this event?' });
      await question.getByText(/gets a second message/).waitFor();
      await question.getByRole('button', { name: 'Cancel' }).click();

      await page.keyboard.press('e');
      const sheet = page.getByRole('dialog', { name: 'Edit and replay' });
      const payload = sheet.getByRole('textbox', { name: 'Payload' });
      await page.locator('textarea[aria-label=Payload]:focus').waitFor();
      const text = await payload.inputValue();
      await page.keyboard.press('Escape');
      await sheet.waitFor({ state: 'detached' });
      await page.keyboard.press('e');
      await payload.fill(text.replace('the login page', 'the start page'));
      const discard = page.getByRole('alertdialog', { name: 'Discard the changes?' });
      for (const leave of [() => page.keyboard.press('Escape'), () => sheet.getByLabel('Close').click()]) {
        await leave();
        await discard.waitFor();
        t.equal(await page.evaluate('document.activeElement.textContent'), 'Cancel');
        await page.keyboard.press('Escape');
        await discard.waitFor({ state: 'detached' });
      }
      t.match(await payload.inputValue(), /the start page/, 'typed text is discarded only after a question');
      await sheet.getByRole('button', { name: 'Difference' }).click();
      await sheet.getByText('1 line changed').waitFor();
      t.ok(await sheet.getByRole('radio', { name: /This page only/ }).isChecked());
      await sheet.getByRole('button', { name: 'Replay edited event' }).click();

      await page
        .getByText(/Nothing was sent/)
        .first()
        .waitFor();
      await page.getByRole('group', { name: 'Response of the agent' }).getByText('Review the start page').waitFor();
      t.equal(slack.world.messages.length, 1);
    },
  );

  await t.test('INS-4 · the buttons of several dead letters stay in their panel', async (t) => {
    await answerFor(page, {
      'events.open': async (_, own) => {
        const event = (await own()) as OpenedEvent;
        const places = [7, 8, 9].map((nth) => `GitHub acme/website-of-the-shop#12${nth}`);
        const deliveries = places.map((place) => ({
          ...event.deliveries[0],
          id: place,
          place,
          status: 'deadLettered',
        }));
        return { ...event, deliveries };
      },
    });
    await goTo(page, '#/events');
    await goTo(page, `#/events/${opened.key}`);
    const panel = page.getByRole('region', { name: 'Deliveries and attempts' });
    const retries = panel.getByRole('button', { name: /^Retry GitHub/ });
    await retries.nth(2).waitFor();
    const last = await retries.nth(2).evaluate((one) => one.getBoundingClientRect().right);
    t.ok(last <= (await panel.evaluate((one) => one.getBoundingClientRect().right)));
    await page.unrouteAll({ behavior: 'wait' });
  });

  await t.test('INS-4 · an event that is gone says how long events are kept', async () => {
    await goTo(page, '#/events/no-such-event');
    await page.getByText('This event is no longer in the history (kept 7 days).').waitFor();
  });

  await t.test('INS-4 · DLV-4 · failures are dropped only after a question, and a retry is followed', async (t) => {
    for (const n of [1, 2, 3]) {
      slack.scripts.push(slackError('channel_not_found'));
      await send('deploys', { text: `web 4.18.${n} is live` }, `p${n}`);
      await ended(`p${n}`);
    }
    await goTo(page, '#/failures');
    await page.getByRole('heading', { name: /^Slack/ }).waitFor();
    await page.getByText('3 deliveries in 1 group').waitFor();
    await page.getByRole('checkbox', { name: 'Select web 4.18.3 is live' }).focus();
    await page.keyboard.press('x');
    await page.keyboard.press('j');
    await page.keyboard.press('Shift+X');
    await page.getByText('2 selected').waitFor();
    t.same(await axeFindings(page), []);
    t.same(await clippedParts(page), []);

    await page.getByRole('button', { name: 'Drop 2…' }).click();
    const question = page.getByRole('alertdialog');
    await question.waitFor();
    t.equal(await page.evaluate('document.activeElement.textContent'), 'Cancel');
    await question.getByRole('textbox').fill('Announced by hand');
    await question.getByRole('button', { name: 'Drop 2 deliveries' }).click();
    await page.getByText('1 delivery in 1 group').waitFor();
    t.match((await ask('failures.list', { state: 'dropped' })).rows, [{ note: 'Announced by hand' }, {}]);
    const why = 'target "slack" is not enabled';
    await answerFor(page, { 'deliveries.retry': () => ({ done: [], skipped: [{ id: 'x', why }] }) });
    await page.getByRole('button', { name: 'Retry', exact: true }).click();
    await page.getByText(`Not retried: ${why}`).waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    await page.getByRole('button', { name: 'Retry', exact: true }).click();

    await page.getByText('1 delivered.').waitFor();
    await page.getByText(/^No failed deliveries/).waitFor();
    t.same(complaints, []);
  });
});
