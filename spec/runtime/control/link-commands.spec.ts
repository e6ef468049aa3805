import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import type { JsonObject } from '../../../machines/base/json.ts';
import type { Command } from '../../../runtime/control/command.ts';
import type { ImportableServer } from '../../../runtime/control/contract/servers.ts';
import { serverCommands } from '../../../runtime/control/server-commands.ts';

const linkTo = (name: string, config: JsonObject): string =>
  `agent://mcp/install?name=${name}&config=${Buffer.from(JSON.stringify(config)).toString('base64url')}`;

const docs = linkTo('docs', { url: 'https://mcp.example.com/mcp' });

function homeOf(t: Test, config: string, profiles: Readonly<Record<string, Readonly<Record<string, string>>>> = {}) {
  const home = t.testdir({ 'config.yaml': config, profiles });
  const table = new Map<string, Command>(Object.entries(serverCommands));
  const peer = { notify: () => {}, onEnd: () => () => {} };
  return {
    config: () => readFileSync(join(home, 'config.yaml'), 'utf8'),
    secrets: () => readFileSync(join(home, '.env'), 'utf8'),
    run: async (name: string, params: JsonObject) =>
      table.get(name)?.({ source: { home, env: {} } }, params, peer) ?? t.fail(`no command ${name}`),
  };
}

t.test('LNK-3 · reading a link shows its name, its kind and its whole config, and writes nothing', async (t) => {
  const home = homeOf(t, 'mcp_servers:\n  notes: {command: mine}\n');
  const before = home.config();

  const url = await home.run('link.read', { url: docs });
  const command = await home.run('link.read', { url: linkTo('notes', { command: 'npx', args: ['-y', 'x'] }) });

  const profiles = ['default'];
  const lowers = ['trust: its tools run without asking you.'];
  t.same(url, {
    name: 'docs',
    kind: 'url',
    config: { url: 'https://mcp.example.com/mcp' },
    lowers,
    taken: false,
    profiles,
  });
  t.same(command, {
    name: 'notes',
    kind: 'command',
    config: { command: 'npx', args: ['-y', 'x'] },
    lowers,
    taken: true,
    profiles,
  });
  t.equal(home.config(), before);
});

t.test(
  'LNK-3 · PRF-1 · reading a link names the profiles that are served, and whether its name is free in one',
  async (t) => {
    const home = homeOf(t, 'gateway: {multiplex_profiles: true}\n', {
      work: { 'config.yaml': 'mcp_servers:\n  docs: {command: mine}\n' },
    });
    const rows = [
      [{ url: docs }, false],
      [{ url: docs, profile: 'work' }, true],
    ] as const;
    for (const [params, taken] of rows)
      t.match(await home.run('link.read', params), { taken, profiles: ['default', 'work'] });
    t.same(await home.run('link.add', { url: docs, name: 'docs2', profile: 'work' }), {
      added: 'docs2',
      profile: 'work',
    });
    t.notMatch(home.config(), /docs2/, 'the other profile is left alone');
  },
);

t.test('LNK-1 · a link that breaks a rule is refused with the code of the rule', async (t) => {
  const home = homeOf(t, '');
  await t.rejects(home.run('link.read', { url: 'https://example.com' }), { code: 'link-form' });
  await t.rejects(home.run('link.add', { url: linkTo('docs', {}) }), { code: 'link-no-server' });
});

t.test('LNK-2 · adds under the name that was confirmed, and never over an existing one', async (t) => {
  const home = homeOf(t, 'mcp_servers:\n  docs: {command: mine}\n');
  const before = home.config();

  await t.rejects(home.run('link.add', { url: docs, name: 'docs' }), { code: 'link-name', message: /exists already/ });
  await t.rejects(home.run('link.add', { url: docs, name: '../x' }), { code: 'link-name', message: /1 to 64 letters/ });
  t.equal(home.config(), before);

  t.same(await home.run('link.add', { url: docs, name: 'docs2' }), { added: 'docs2', profile: 'default' });
  t.match(home.config(), /docs: \{ ?command: mine ?\}/);
  t.match(home.config(), /docs2:\n {4}url: https:\/\/mcp\.example\.com\/mcp/);
});

t.test('LNK-2 · a link of a free name can be added under another one', async (t) => {
  const home = homeOf(t, '');
  t.same(await home.run('link.add', { url: docs, name: 'manuals' }), { added: 'manuals', profile: 'default' });
  t.notMatch(home.config(), /docs:/);
});

t.test(
  'SEC-2 · reading a link names the guards that it lowers; one that refers to a variable is refused',
  async (t) => {
    const home = homeOf(t, '');
    const entry = { url: 'https://hub.example/mcp', trust: 'untrusted', ssl_verify: false };
    t.match(await home.run('link.read', { url: linkTo('hub', entry) }), { lowers: [/^ssl_verify: /] });
    t.match(await home.run('link.read', { url: docs }), { lowers: [/^trust: /] });
    const taking = linkTo('hub', { ...entry, headers: { Authorization: 'Bearer ${GITHUB_TOKEN}' } });
    for (const method of ['link.read', 'link.add'])
      await t.rejects(
        home.run(method, { url: taking }),
        { message: /refers to "GITHUB_TOKEN".*agent mcp add/ },
        method,
      );
    t.notMatch(home.config(), /hub/);
  },
);

t.test('INS-4 · SEC-2 · a block that is pasted is read alone, and its secrets go to .env', async (t) => {
  const home = homeOf(t, '{}\n');
  const block = `"mcpServers": {
    "docs": { "url": "https://mcp.example.com/mcp", "headers": { "Authorization": "Bearer \${DOCS_TOKEN}" } },
    "gh": { "command": "gh-mcp", "env": { "NOTES_TOKEN": "ghp_s3cret" } },
  }`;

  const rows = (await home.run('mcp.importable', { block })) as unknown as readonly ImportableServer[];
  const added = await home.run('mcp.import', { names: ['gh', 'other'], block });

  t.same(
    rows.map(({ name, file, standing }) => [name, file, standing]),
    [
      ['docs', '', 'new'],
      ['gh', '', 'new'],
    ],
  );
  t.match(rows[0]?.notes, ['It sends $DOCS_TOKEN to “https://mcp.example.com”.']);
  t.notMatch(JSON.stringify(rows), /s3cret/);
  t.same(added, { added: ['gh'], failed: [{ name: 'other', why: 'it is not there any more' }] });
  t.match(parse(home.config()), { mcp_servers: { gh: { command: 'gh-mcp', env: { NOTES_TOKEN: '${NOTES_TOKEN}' } } } });
  t.notMatch(home.config(), /s3cret|docs/);
  const lacking = { code: 'params-missing', message: /^the block: it has no object mcpServers/ };
  await t.rejects(home.run('mcp.importable', { block: '{}' }), lacking);
  await t.rejects(home.run('mcp.import', { names: ['gh'], block: '{"mcpServers"' }), { code: 'params-missing' });
});

t.test(
  'CLI-5 · HOME-4 · SEC-1 · servers are imported together, and each that cannot be is named with the reason',
  async (t) => {
    const home = homeOf(t, '# mine\nmcp_servers:\n  old: {command: mine} # kept\n');
    const using = (variable: string, value: string) => ({
      entry: { command: 'x', env: { [variable]: `\${${variable}}` } },
      variables: { [variable]: value },
    });
    const servers = [
      { name: 'one', ...using('A_TOKEN', 'first') },
      { name: 'old', ...using('B_TOKEN', 'unwritten') },
      { name: 'two', ...using('A_TOKEN', 'second') },
      { name: 'bad', entry: { command: 'x', timeout: -1 }, variables: {} },
      { name: 'off', entry: { command: '${workspaceFolder}/x', enabled: false }, variables: {} },
      { name: 'on', entry: { command: '${workspaceFolder}/x' }, variables: {} },
      { name: 'gateway', ...using('NODE_OPTIONS', '--require ./x.js') },
      { name: 'others', entry: { command: 'x' }, variables: { 'C\nPATH': './x' } },
    ];
    const names = servers.map(({ name }) => name);
    const before = home.config();

    const dry = await home.run('mcp.import', { names, servers, dry: true });

    t.equal(home.config(), before);
    const done = await home.run('mcp.import', { names, servers });
    t.same(done, dry, 'a dry run finds the same');
    t.match(done, {
      added: ['one', 'off'],
      failed: [
        { name: 'old', why: /named "old" already/ },
        { name: 'two', why: /^A_TOKEN was set in \.env meanwhile/ },
        { name: 'bad', why: /timeout/ },
        { name: 'on', why: /workspace/ },
        { name: 'gateway', why: /^NODE_OPTIONS is not read by this entry, or by the gateway too/ },
        { name: 'others', why: /set it in \.env yourself$/ },
      ],
    });
    t.equal(home.secrets(), 'A_TOKEN=first\n');
    t.ok(home.config().startsWith(`${before}  one:\n    command: x\n    env:\n      A_TOKEN: \${A_TOKEN}\n  off:\n`));
  },
);

t.test('OAU-8 · CLI-5 · SCA-2 · a removed server’s login that a database keeps is said to be left', async (t) => {
  for (const stamp of ['1', undefined]) {
    const home = t.testdir({
      [`${stamp}`]: { 'config.yaml': 'mcp_servers:\n  docs: {url: "https://docs.example/mcp"}\n' },
    });
    const documents = {
      at: (path: string) => ({ stamp: () => (path.endsWith('/mcp-tokens/docs.json') ? stamp : '2') }),
    };
    const host = { source: { home: join(home, `${stamp}`), env: {} }, inForce: () => ({ home: { documents } }) };
    const removed = await serverCommands['mcp.remove'](host as never, { server: 'docs' });
    t.equal(removed.login_left, stamp === undefined ? undefined : true);
  }
});
