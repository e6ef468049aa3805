import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import t from 'tap';
import {
  answerFor,
  axeFindings,
  calls,
  clippedParts,
  goTo,
  holdAnswer,
  linkOf,
  openInspector,
  options,
  refusal,
} from '../support/browser.ts';
import { makeHome } from '../support/home.ts';
import { commandOf, eventually, type Gateway, startGateway, wordsOf } from '../support/mcp/gateway.ts';
import { stdioPeer } from '../support/mcp/stdio-peer.ts';

const secret = 'hunter2-of-the-servers-spec';

const peer = commandOf(stdioPeer()) as { readonly command: string; readonly args: readonly string[] };
const line = [peer.command, ...peer.args].join(' ');
/** Writes the secret that it was given to its standard error, and ends. */
const broken = `${peer.command} -e "console.error('no browser found; token ' + process.env.REPORTS_TOKEN); process.exit(3)"`;

const config = `# The gateway of this spec.
inspector: { port: 0 }
agent: { runner: echo }
mcp_servers:
  # Keep me first.
  kept: { command: ${peer.command}, args: [ -e, 'process.exit(4)' ] } # and me
`;

const textOf = ({ home }: Gateway, file = 'config.yaml'): string => readFileSync(join(home.path, file), 'utf8');

/** Everything that the daemon answered to the page. */
function heard(page: Page): readonly string[] {
  const texts: string[] = [];
  page.on('response', (response) => {
    response.text().then(
      (text) => texts.push(text),
      () => {},
    );
  });
  return texts;
}

t.test('INS-4 · a server is added, edited, switched and removed on the page', options, async (t) => {
  const home = makeHome(t);
  const gateway = await startGateway(t, {}, { config: { inspector: { port: 0 } }, home, timePasses: true });
  home.write('config.yaml', config);
  await gateway.control.call('gateway.reload');
  const { page, complaints, context } = await openInspector(t, gateway);
  const answers = heard(page);
  await goTo(page, '#/servers');
  const dialog = page.getByRole('dialog');

  await t.test('CLI-5 · a failed test shows the last words of the command, and nothing is written', async (t) => {
    await page.getByRole('button', { name: 'Add server' }).click();
    await dialog.getByRole('button', { name: 'Test' }).click();
    await dialog.getByText('Type the command that starts the server.').waitFor();
    await dialog.getByLabel('Command line').fill(broken);
    await dialog.getByLabel('Name', { exact: true }).fill('kept');
    await dialog.getByRole('button', { name: 'Add variable' }).click();
    await dialog.getByLabel('Name of variable 1').fill('REPORTS_TOKEN');
    await dialog.getByLabel('Value of REPORTS_TOKEN').fill(secret);

    await dialog.getByRole('button', { name: 'Test' }).click();

    await dialog.getByText('an mcp server is named "kept" already').waitFor();
    t.equal(await dialog.getByLabel('Name', { exact: true }).getAttribute('aria-invalid'), 'true', 'at its field');
    await dialog.getByLabel('Name', { exact: true }).fill('reports');
    await dialog.getByRole('button', { name: 'Test' }).click();
    await dialog.getByText('Not connected').waitFor();
    const result = await dialog.getByRole('region', { name: 'Test result' }).innerText();
    t.match(result, /exited with code 3/);
    t.match(result, /no browser found; token \[redacted\]/);
    await dialog.getByRole('button', { name: 'Add anyway, disabled' }).waitFor();
    await dialog.getByRole('button', { name: 'URL' }).click();
    await dialog.getByRole('button', { name: 'Add server' }).waitFor();
    t.equal(await dialog.getByText('Not connected').count(), 0, 'the test was of something else');
    await dialog.getByRole('button', { name: 'Command', exact: true }).click();
    await dialog.getByRole('button', { name: 'Add anyway, disabled' }).waitFor();
    t.same(await axeFindings(page), []);
    t.equal(textOf(gateway), config);
    t.notMatch(await gateway.list(), [{ name: 'reports' }]);
  });

  await t.test('HOME-4 · the tested server is added, its secret in .env and the comments kept', async (t) => {
    await dialog.getByLabel('Command line').fill(line);
    await dialog.getByRole('button', { name: 'Test' }).click();
    await dialog.getByText('Connected in').waitFor();
    await dialog.getByRole('button', { name: /^Show \d+ more tools$/ }).click();
    const tagOf = (tool: string) => dialog.getByRole('row').filter({ has: page.getByText(tool, { exact: true }) });
    t.match(await tagOf('add').innerText(), /read only/);
    t.match(await tagOf('write_note').innerText(), /asks first/);
    await dialog.getByLabel('Offer write_note').uncheck();

    const letAnswer = await holdAnswer(page, 'mcp.add');
    await dialog.getByRole('button', { name: 'Add server' }).click();
    await dialog.getByRole('button', { name: 'Adding…' }).waitFor();
    await page.keyboard.press('Escape');
    t.ok(await dialog.getByRole('button', { name: 'Cancel' }).isDisabled(), 'the sheet stays while it is written');
    await letAnswer();

    await page.getByRole('heading', { name: 'reports' }).waitFor();
    await gateway.reaches('reports', 'connected');
    for (const one of config.split('\n').filter(Boolean)) t.ok(textOf(gateway).includes(one), one);
    t.match(textOf(gateway), /REPORTS_TOKEN: \$\{REPORTS_TOKEN\}/);
    t.match(textOf(gateway), /trust: untrusted/);
    t.equal(textOf(gateway, '.env'), `REPORTS_TOKEN=${secret}\n`);
    t.notOk(
      (await gateway.tools('reports')).some(({ tool }) => tool === 'write_note'),
      'it is not offered',
    );
    t.equal(wordsOf(await gateway.call('mcp__reports__add', { a: 2, b: 40 })), '42');
    await page.getByRole('tab', { name: 'Calls' }).click();
    await page.getByRole('row').filter({ hasText: 'add' }).filter({ hasText: 'Result' }).waitFor();
  });

  await t.test('LIF-1 · a failing server opens on its log, with the exit code and the command', async (t) => {
    await gateway.reaches('kept', 'backingOff', 'parked');
    await page.getByRole('link', { name: /^kept/ }).click();
    await page.getByText('The command ended before it answered: it exited with code 4').first().waitFor();
    await page.getByRole('tab', { name: 'Log', selected: true }).waitFor();
    await page.getByText('Exit code').waitFor();
    t.match(
      await page.getByRole('tabpanel').innerText(),
      /gateway: mcp server "kept": command ended[\s\S]*Command[\s\S]*process\.exit\(4\)[\s\S]*Directory[\s\S]*Exit code\s*4/,
    );
    t.same(await axeFindings(page), []);
    await page.setViewportSize({ width: 390, height: 800 });
    t.same(await clippedParts(page), []);
    const [line, drawn] = (await page.evaluate(
      "(({ clientHeight, scrollHeight }) => [clientHeight, scrollHeight])(document.querySelector('.ll'))",
    )) as [number, number];
    t.equal(drawn, line, 'no line of the log lies over the next');
    const [width, filled] = (await page.evaluate(
      "(({ clientWidth, scrollWidth }) => [clientWidth, scrollWidth])(document.querySelector('.loglines'))",
    )) as [number, number];
    t.equal(filled, width, 'the lines wrap');
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  await t.test('HOME-4 · an edit changes the keys that were changed; a switch and its undoing too', async (t) => {
    await page.getByRole('button', { name: 'Edit…' }).click();
    await dialog.getByLabel('Command line').fill(line);
    await dialog.getByRole('button', { name: 'Save changes' }).click();
    await dialog.waitFor({ state: 'detached' });
    await gateway.reaches('kept', 'connected');
    t.match(textOf(gateway), /# Keep me first\.\n {2}kept: \{.*\} # and me\n/);

    await page.getByRole('button', { name: 'Disable', exact: true }).click();
    await gateway.reaches('kept', 'disabled');
    await page.getByRole('button', { name: 'Enable', exact: true }).click();
    await gateway.reaches('kept', 'connected');
    t.match(textOf(gateway), /# and me\n/);

    await page.getByRole('tab', { name: 'Settings' }).click();
    await gateway.control.call('mcp.edit', { server: 'kept', changes: { timeout: 77 } });
    await page.getByRole('group', { name: 'Entry of the server' }).getByText('"timeout": 77').waitFor();

    await page.getByRole('button', { name: 'Edit…' }).click();
    const command = page.getByRole('dialog').getByLabel('Command line');
    await command.fill('node typed.js');
    await answerFor(page, { 'mcp.show': refusal('not readable') });
    const read = page.waitForResponse((response) => calls('mcp.show')(response.request()));
    await gateway.control.call('mcp.reconnect', { server: 'kept' });
    await read;
    await page.waitForTimeout(50);
    t.equal(await command.inputValue(), 'node typed.js', 'what is typed stays when the entry cannot be read');
    await page.unrouteAll({ behavior: 'wait' });
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Discard the changes' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  await t.test('INS-4 · a server is removed after a question that says what remains', async (t) => {
    await page.getByRole('link', { name: /^reports/ }).click();
    await page.getByRole('heading', { name: 'reports' }).waitFor();
    await page.getByRole('button', { name: 'Remove…' }).click();
    const question = page.getByRole('alertdialog');
    await question.getByText('REPORTS_TOKEN remains in .env').waitFor();
    t.equal(await page.locator(':focus').innerText(), 'Cancel');
    await question.getByRole('button', { name: 'Remove server reports' }).click();
    await question.waitFor({ state: 'detached' });
    await eventually(async () => (await gateway.server('reports')) === undefined);
    t.notMatch(textOf(gateway), /reports/);
    t.match(textOf(gateway), /# Keep me first\./);
  });

  await t.test('CFG-3 · the page shows the source with a finding at its line, and what stays in force', async (t) => {
    const before = textOf(gateway);
    const literal = 'literal-token-of-the-servers-spec';
    home.write(
      'config.yaml',
      `${before}  other: { url: 'https://x.example/', headers: { X-Team: ${literal} } }\nagnt: {}\n`,
    );
    await t.rejects(gateway.control.call('gateway.reload'));
    await goTo(page, '#/config');
    await page.getByText('The file has 1 error, so the configuration of').waitFor();
    const source = page.getByRole('group', { name: 'Source' });
    t.match(await source.innerText(), /agnt[\s\S]*unknown key "agnt"; did you mean "agent"/);
    t.notMatch(await page.locator('main').innerText(), new RegExp(literal));
    await page.evaluate('globalThis.shown = 0; Element.prototype.scrollIntoView = () => { shown += 1; }');
    await page.getByRole('button', { name: 'Go to error' }).click();
    await page.waitForURL(/line=/);
    await page.waitForTimeout(50);
    const shown = Number(await page.evaluate('shown'));
    await page.getByRole('button', { name: 'Go to error' }).click();
    t.equal(await page.evaluate('shown'), shown + 1, 'the line is shown again');
    await page.getByRole('button', { name: 'Difference' }).click();
    await page.getByRole('group', { name: 'From in force to on disk' }).getByText('agnt').waitFor();
    t.same(await axeFindings(page), []);
    await page.setViewportSize({ width: 390, height: 800 });
    t.same(await clippedParts(page), []);
    await page.setViewportSize({ width: 1280, height: 800 });
    // What is missing at the end of the file is found on a line after its last one.
    home.write('config.yaml', `${before}agnt: [\n`);
    await page.getByRole('button', { name: 'On disk' }).click();
    await source.getByText(/^not YAML: /).waitFor();
    await page.getByText('Shown once the file can be read.').waitFor();
    await page.getByRole('button', { name: 'Go to error' }).click();
    await source.locator('.at').waitFor();
    home.write('config.yaml', before);
    await gateway.control.call('gateway.reload');
    await page.getByText('In force since').waitFor();
    const changes = page.getByRole('list', { name: 'Last changes of the configuration' }).getByRole('listitem');
    await changes.filter({ hasText: 'Server reports added' }).waitFor();
    await changes.filter({ hasText: /Refused: .*unknown key "agnt"/ }).waitFor();
    const fits = await changes.first().evaluate((one) => {
      one.querySelector('div')?.replaceChildren('x'.repeat(200));
      return one.scrollWidth <= one.clientWidth;
    });
    t.ok(fits, 'a long name is broken');
    t.notMatch(answers.join('\n'), new RegExp(literal), 'no answer has it');
  });

  await t.test('SEC-1 · what starts a program needs a fresh link', async (t) => {
    await gateway.daemon.pass(600_000);
    await goTo(page, '#/servers?add=command');
    await dialog.getByLabel('Command line').fill(line);
    await dialog.getByLabel('Name', { exact: true }).fill('late');
    await dialog.getByRole('button', { name: 'Add server' }).click();
    await dialog.getByRole('alert').filter({ hasText: 'agent inspect --web' }).waitFor();
    t.equal(await gateway.server('late'), undefined);
    const other = await context.newPage();
    await other.goto(await linkOf(gateway));
    await other.getByText('Live', { exact: true }).waitFor();
    await dialog.getByRole('button', { name: 'Add server' }).click();
    await page.getByRole('heading', { name: 'late' }).waitFor();
    await gateway.reaches('late', 'connected');
  });

  t.notMatch(answers.join('\n'), new RegExp(secret), 'no answer has the secret');
  t.notMatch(textOf(gateway), new RegExp(secret));
  t.notMatch(JSON.stringify(gateway.daemon.log), new RegExp(secret), 'nor does the log');
  t.same(
    complaints.filter((one) => !/401 \(Unauthorized\)/.test(one)),
    [],
    'but that the second link ended the first session',
  );
});

t.test('INS-2 · J and K focus the servers, and Enter opens one, whose many tools have a filter', options, async (t) => {
  const off = { command: 'none', enabled: false };
  const gateway = await startGateway(t, { one: off, two: off }, { config: { inspector: { port: 0 } } });
  const { page } = await openInspector(t, gateway);
  await goTo(page, '#/servers');
  await page.getByRole('link', { name: /^two/ }).waitFor();

  for (const key of ['j', 'j', 'k', 'j']) await page.keyboard.press(key);

  t.match(await page.evaluate('document.activeElement.innerText'), /^two/);
  t.match(page.url(), /#\/servers$/);
  const toolOf = (tool: string) => ({ ...{ name: tool, tool, description: '', available: true }, input_schema: {} });
  const list = (length: number) =>
    answerFor(page, { 'mcp.tools': () => Array.from({ length }, (_, at) => toolOf(`tool_${at}`)) });
  await list(300);
  await page.keyboard.press('Enter');
  await page.waitForURL(/#\/servers\/default\/two$/);

  await page.getByRole('searchbox', { name: 'Filter tools' }).fill('TOOL_29');

  await page.getByText('11 of 300 tools').waitFor();
  t.equal(await page.locator('.tool:visible').count(), 11);
  await list(20);
  await page.getByRole('button', { name: 'Enable', exact: true }).click();
  await page.getByText('0 of 20 tools').waitFor();
  await page.getByRole('searchbox', { name: 'Filter tools' }).fill('');
  await page.locator('.tool:visible').nth(19).waitFor();
});
