/**
 * The inspector's page in a real browser, where it writes into a home: first steps, links, servers that are added or imported.
 */

import { readFileSync } from 'node:fs';
import t from 'tap';
import type { Json, JsonObject } from '../../machines/base/json.ts';
import { answerFor, calls, goTo, holdAnswer, openInspector } from '../support/browser.ts';
import { makeHome } from '../support/home.ts';
import { startGateway } from '../support/mcp/gateway.ts';
import { config, opened, options } from '../support/page-scene.ts';
import { deferred } from '../support/turns.ts';

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

t.test('INS-4 · SEC-1 · a block of a server’s page is pasted, read and added', options, async (t) => {
  const { gateway, page } = await opened(t, config);
  await goTo(page, '#/servers?add=import');
  const dialog = page.getByRole('dialog');
  const field = dialog.getByLabel('Paste a block');
  const read = dialog.getByRole('button', { name: 'Read block' });
  await field.fill('{"mcpServers": {');
  await read.click();
  await dialog.getByText(/^the block: /).waitFor();
  await field.fill(JSON.stringify({ mcpServers: { gh: { command: 'gh-mcp', env: { NOTES_TOKEN: 'ghp_s3cret' } } } }));
  await read.click();
  await dialog.getByText('Into .env: NOTES_TOKEN.').waitFor();
  await dialog.getByRole('checkbox').check();

  await dialog.getByRole('button', { name: 'Add 1 server' }).click();

  await page.getByText('Added gh.').waitFor();
  t.match(readFileSync(`${gateway.home.path}/.env`, 'utf8'), /^NOTES_TOKEN=ghp_s3cret$/m);
  t.notMatch(readFileSync(`${gateway.home.path}/config.yaml`, 'utf8'), /s3cret/);
});

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

t.test(
  'INS-4 · the first steps lead to the event of the sample, and say for whom the address is',
  options,
  async (t) => {
    const listener = { enabled: true, extra: { host: '0.0.0.0', port: 0 } };
    const { page } = await opened(t, { ...config, platforms: { webhook: listener } });

    // The address that is shown begins with 127.0.0.1.
    await page.getByText('Other computers in your network need the name or address of this one').waitFor();
    await page.getByRole('button', { name: 'Create route and send a sample' }).click();
    await page.locator('.toast').getByRole('button', { name: 'Show' }).click();

    await page.getByRole('heading', { level: 2, name: 'github' }).waitFor();
    t.match(await page.locator('.pane .verdict').innerText(), /./);
  },
);
