import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { printReport, readObject } from '../../cli/commands/mcp.ts';
import { addServer, disableServer, editServer } from '../../cli/commands/mcp-entry.ts';
import { stageCommand } from '../support/command-stage.ts';
import { askCli, type CliResult, main } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { faults } from '../support/mcp/faults.ts';
import { started } from '../support/mcp/http-peer.ts';
import { stdioPeer } from '../support/mcp/stdio-peer.ts';
import { startProtectedServer } from '../support/oauth/protected-server.ts';

const config = `# The servers of this machine.
mcp_servers:
  # Keep me first.
  kept:
    command: kept-server # and me
    args: [ --one ]

# The model.
agent: { runner: echo }
`;

function stage(t: Test, text?: string, env?: string) {
  const home = makeHome(t, {
    ...(text === undefined ? {} : { 'config.yaml': text }),
    ...(env === undefined ? {} : { '.env': env }),
  });
  const path = join(home.path, 'config.yaml');
  return {
    home,
    agent: (...words: string[]): Promise<CliResult> => askCli(words, home.path),
    text: () => readFileSync(path, 'utf8'),
    servers: () => (parse(readFileSync(path, 'utf8')) as { mcp_servers: Record<string, unknown> }).mcp_servers,
    path,
  };
}

t.test('CLI-5 · HOME-4 · `mcp add` connects, shows what it found, and keeps comments and order', async (t) => {
  const peer = stdioPeer();
  const { agent, home, text, servers } = stage(t, config);
  const { code, stdout } = await agent(
    'mcp',
    'add',
    'notes',
    '--env',
    'A=1',
    '--env',
    'B=x=y',
    '--lazy',
    '--untrusted',
    '--',
    peer.command,
    ...peer.args,
  );
  t.equal(code, 0, stdout);
  t.match(stdout, /notes {2}connected in \d+ ms, legacy era, 14 tools/);
  t.match(stdout, /mcp__notes__echo +Says the text again/);
  t.match(stdout, /Added notes/);
  t.same(servers().notes, {
    command: peer.command,
    args: peer.args,
    env: { A: '1', B: 'x=y' },
    lazy: true,
    trust: 'untrusted',
  });
  for (const line of config.split('\n').filter(Boolean)) t.ok(text().includes(line), line);
  t.ok(text().indexOf('kept:') < text().indexOf('notes:'));

  mkdirSync(join(home.path, 'mcp-tokens'));
  writeFileSync(join(home.path, 'mcp-tokens', 'notes.json'), '{}');
  const removed = await agent('mcp', 'remove', 'notes');
  t.equal(removed.code, 0, removed.stderr);
  t.match(removed.stdout, /Its login is left; `agent mcp logout notes` deletes it/);
  t.equal(text(), config, 'as it was');
});

t.test('CLI-5 · headers may be repeated, and what the home keeps secret stays a name in the file', async (t) => {
  const peer = await started(t);
  const { agent, servers } = stage(t, config, 'NOTES_TOKEN=sk-notes-1234567890\n');
  const { code, stdout, stderr } = await agent(
    ...['mcp', 'add', 'notes', '--url', peer.url],
    ...['--header', 'Authorization: Bearer ${NOTES_TOKEN}', '--header', 'X-Team: a: b'],
    ...['--entry', '{"timeout": 5}'],
  );
  t.equal(code, 0, stderr);
  t.match(peer.seen('initialize')[0]?.headers, { authorization: 'Bearer sk-notes-1234567890', 'x-team': 'a: b' });
  t.same(servers().notes, {
    url: peer.url,
    headers: { Authorization: 'Bearer ${NOTES_TOKEN}', 'X-Team': 'a: b' },
    timeout: 5,
  });
  t.notMatch(stdout, /sk-notes/);
});

t.test('CLI-5 · an existing name is refused, and replaced with --force', async (t) => {
  const { agent, text, servers } = stage(t, config);
  const refused = await agent('mcp', 'add', 'kept', '--no-test', '--', 'other');
  t.equal(refused.code, 1);
  t.match(refused.stderr, /an mcp server is named "kept" already; --force replaces it/);
  t.equal(text(), config);
  t.equal(
    (await agent('mcp', 'add', 'kept', '--no-test', '--force', '--json', '--', 'other')).stdout.trim(),
    '{\n  "added": "kept"\n}',
  );
  t.same(servers().kept, { command: 'other' });
  t.match(text(), /# The model\./);
});

t.test('CLI-5 · an unreachable server is not written unless a flag says so', async (t) => {
  const peer = await started(t);
  peer.set({ ...faults.forbidden });
  const { agent, text, servers } = stage(t, config);
  const refused = await agent('mcp', 'add', 'remote', '--url', peer.url);
  t.equal(refused.code, 1);
  t.match(refused.stderr, /mcp server "remote": .*403.*\n.*Nothing was written; --no-test/);
  t.equal(text(), config);
  t.equal((await agent('mcp', 'add', 'remote', '--url', peer.url, '--no-test')).code, 0);
  t.same(servers().remote, { url: peer.url });
});

t.test(
  'CLI-5 · CLI-2 · a reader that leaves, such as `head`, does not keep the entry from being written',
  async (t) => {
    const { home, servers } = stage(t, config);
    const peer = await started(t);
    const child = spawn(process.execPath, [main, 'mcp', 'add', 'remote', '--url', peer.url], {
      env: { ...process.env, AGENT_HOME: home.path },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    child.stdout.destroy();
    t.equal(await new Promise((resolve) => child.once('exit', resolve)), 0);
    t.same(servers().remote, { url: peer.url });
  },
);

t.test(
  'CLI-5 · CFG-2 · a variable that is not set is named beside the failure of a server, or its tools',
  async (t) => {
    const { agent } = stage(t);
    const unset = 'refers to "NOTES_KEY" in env.KEY, which is not set; set NOTES_KEY in .env or in the environment\n';
    const add = ['mcp', 'add', 'notes', '--env', 'KEY=${NOTES_KEY}', '--'];
    const failed = await agent(...add, 'sh', '-c', 'echo bad key >&2; exit 1');
    t.match(failed, {
      code: 1,
      stderr: /it said: bad key; .*; it refers to "NOTES_KEY" in env\.KEY, which is not set; /,
    });
    const peer = stdioPeer();
    const { code, stdout } = await agent(...add, peer.command, ...peer.args);
    t.match({ code, stdout }, { code: 0, stdout: `  ${unset}` });
    t.ok((await agent('mcp', 'test', 'notes')).stdout.includes(`  ${unset}`));
  },
);

t.test('CLI-5 · PRF-1 · a server that is not added makes no profile', async (t) => {
  const { agent, home } = stage(t, config);
  const folder = join(home.path, 'profiles/wrok');
  const gone = await agent('mcp', 'add', 'notes', '--profile', 'wrok', '--', '/no/such/program');
  t.equal(gone.code, 1, gone.stderr);
  t.match(gone.stderr, /cannot be started.*ENOENT.*\nNothing was written/s);
  t.equal(existsSync(folder), false);
  t.equal((await agent('mcp', 'add', 'notes', '--profile', 'wrok', '--no-test', '--', 'x')).code, 0);
  t.equal(existsSync(join(folder, 'config.yaml')), true);
});

t.test('CLI-5 · HOME-1 · the first command of a home, or of a profile, can be the test of a server', async (t) => {
  const peer = stdioPeer();
  const home = join(makeHome(t).path, 'not', 'made');
  for (const words of [[], ['--profile', 'work']]) {
    const { code, stdout, stderr } = await askCli(
      ['mcp', 'add', 'notes', ...words, '--', peer.command, ...peer.args],
      home,
    );
    t.equal(code, 0, stderr);
    t.match(stdout, /notes {2}connected in \d+ ms/);
  }
});

t.test('CLI-5 · CFG-1 · an entry with a finding is not written, connected or not', async (t) => {
  const { agent, text } = stage(t, config);
  const rows: readonly (readonly [readonly string[], number, RegExp])[] = [
    [[], 2, /name what to connect to: a command after `--`, such as .*, or --url$/m],
    [['--url', 'ftp://x/'], 1, /http or https.*\[server-url\]/],
    [['--entry', '{"comand": "x"}'], 1, /unknown key "comand"; did you mean "command"/],
    [['--url', 'http://x/', '--entry', '{"timeout": "soon"}'], 1, /timeout.*must be a number/],
    [['https://x/mcp'], 1, /address as command.*--url \[server-command-address\]/],
    [['--transport', 'http', 'https://x/mcp'], 1, /^agent: [^\n]*address as command[^\n]*\n$/],
    [['--url', 'http://x/', '--', 'x'], 2, /give a command or --url, not both/],
    [['--entry', '[1]'], 2, /--entry must be a JSON object/],
    [['--env', 'NOVALUE', '--', 'x'], 2, /--env takes NAME=VALUE/],
    [['--url', 'http://x/', '--header', 'no colon'], 2, /--header takes "Name: value"/],
  ];
  const results = rows.map(async ([words, code, complaint], index) => {
    // Nothing is connected before the entry is read, so both ways end alike.
    const result = await agent('mcp', 'add', 'odd', ...(index % 2 === 0 ? ['--no-test'] : []), ...words);
    t.equal(result.code, code, words.join(' '));
    t.match(result.stderr, complaint, words.join(' '));
  });
  await Promise.all(results);
  const edited = await agent('mcp', 'edit', 'kept', 'https://x/mcp');
  t.match(edited.stderr, /server-command-address/, 'a change too');
  t.equal(text(), config);
});

t.test('CLI-5 · HOME-3 · a home without a file gets one, private; a profile its own', async (t) => {
  const { agent, home, path, servers } = stage(t);
  t.equal((await agent('mcp', 'add', 'first', '--no-test', '--', 'x')).code, 0);
  t.same(servers(), { first: { command: 'x' } });
  t.equal(statSync(path).mode & 0o777, 0o600);
  t.equal((await agent('mcp', 'add', 'first', '--no-test', '--profile', 'work', '--', 'y')).code, 0);
  t.match(readFileSync(join(home.path, 'profiles/work/config.yaml'), 'utf8'), /command: y/);
  t.same(servers(), { first: { command: 'x' } });
});

t.test('CLI-5 · a file that is no YAML is not touched; a server that is not there is not removed', async (t) => {
  const broken = stage(t, 'mcp_servers: {a: [\n');
  t.equal((await broken.agent('mcp', 'add', 'b', '--no-test', '--', 'x')).code, 1);
  t.equal(broken.text(), 'mcp_servers: {a: [\n');
  const { agent, text } = stage(t, config);
  const refused = await agent('mcp', 'remove', 'none');
  t.equal(refused.code, 1);
  t.match(refused.stderr, /no mcp server is named "none"/);
  t.equal(text(), config);
  const empty = stage(t);
  t.equal((await empty.agent('mcp', 'remove', 'none')).code, 1);
  t.equal(existsSync(empty.path), false);
});

t.test('CLI-5 · HOME-4 · a server that a merge key gives is neither broken nor said to be gone', async (t) => {
  const written = 'x: &x { a: { command: tool } }\nmcp_servers:\n  <<: *x\n';
  const { agent, text, home } = stage(t, written);
  for (const word of ['disable', 'remove']) {
    const refused = await agent('mcp', word, 'a');
    t.equal(refused.code, 1, word);
    t.match(refused.stderr, /merge key .*agent config edit.*\[config-unwritable\]/s, word);
    t.equal(text(), written, word);
  }
  const key = await agent('mcp', 'edit', 'a', '--env', 'API_KEY=k-1234567890123456');
  t.match(key.stderr, /\[config-unwritable\]/);
  t.equal(existsSync(join(home.path, '.env')), false, 'no secret is left in a file without its reference');
});

t.test('CLI-5 · CLI-2 · `mcp test` and `show` need no daemon; the others say that it does not run', async (t) => {
  const peer = stdioPeer();
  const { agent } = stage(t, JSON.stringify({ mcp_servers: { notes: { command: peer.command, args: peer.args } } }));
  const found = await agent('mcp', 'test', 'notes', '--json');
  t.equal(found.code, 0, found.stderr);
  t.match(JSON.parse(found.stdout), { ok: true, era: 'legacy', filtered: 0 });
  t.match(
    (await agent('mcp', 'show', 'notes')).stdout,
    /^notes {2}not running\n {2}From +config\.yaml:1\n.*"command":/s,
  );
  const unknown = await agent('mcp', 'test', 'none');
  t.equal(unknown.code, 1);
  t.match(unknown.stderr, /no mcp server is named "none".*\[server-unknown\]/);
  const rows: readonly (readonly [readonly string[], number])[] = [
    [['mcp', 'list'], 3],
    [['mcp', 'call', 'x'], 3],
    [['mcp', 'serve'], 3],
    [['approvals', '--watch'], 3],
    [['approvals', 'approve', 'a1'], 3],
    [['mcp', 'call', 'x', '[1]'], 2],
    [['approvals', 'approve', 'a1', '--values', '1'], 2],
  ];
  await Promise.all(rows.map(async ([words, code]) => t.equal((await agent(...words)).code, code, words.join(' '))));
});

t.test(
  'CLI-5 · OAU-8 · a server that wants a login was reached: it is written, and the login command is shown',
  async (t) => {
    const peer = await startProtectedServer(t, { authorizationServers: ['https://a.example'], accepts: () => false });
    const { agent, servers } = stage(t, config);
    const added = await agent('mcp', 'add', 'hub', '--url', peer.url);
    t.match(added, { code: 0, stdout: 'Added hub.\nmcp server "hub": needs a login; run `agent mcp login hub`\n' });
    t.same(servers().hub, { url: peer.url, auth: 'oauth' });
    t.match(await agent('mcp', 'test', 'hub'), { code: 4, stderr: /needs a login; run `agent mcp login hub`/ });
    const other = await agent('mcp', 'add', 'open', '--url', peer.url, '--header', 'X-Team: a');
    t.match(other, { code: 1, stderr: /Nothing was written/ });
  },
);

t.test('CLI-2 · CLI-5 · a script is given why a written change is not in force, and exit code 1', async (t) => {
  const written = { profile: 'default', variables: [], unused: [] };
  const why = 'config.yaml has findings';
  for (const [run, args, flags, done] of [
    [addServer, ['notes', 'x'], { 'no-test': true }, { added: 'notes' }],
    [editServer, ['notes', 'x'], {}, { edited: 'notes' }],
  ] as const) {
    const asked = { args, flags: { ...flags, json: true } as const };
    const { context, seen } = stageCommand({ ...asked, answer: { ...written, not_in_force: why } });
    t.equal(await run(context), 1);
    t.same(JSON.parse(seen.printed), { ...done, not_in_force: why });
    const fine = stageCommand({ ...asked, answer: written });
    t.equal(await run(fine.context), 0);
    t.same(JSON.parse(fine.seen.printed), done);
  }
});

t.test('CLI-5 · PRF-1 · the command that enables a server again can be typed as it is shown', async (t) => {
  const answer = { profile: 'work', variables: [], unused: [] };
  const { context, seen } = stageCommand({ args: ['My notes'], flags: { profile: 'work' }, answer });
  t.equal(await disableServer(context), 0);
  t.match(seen.printed, "`agent mcp enable 'My notes' --profile work` undoes it");
});

t.test('CLI-6 · CLI-5 · the tools of a tried server take a line each on a terminal, in any script', (t) => {
  const { context, seen } = stageCommand({ isTerminal: true });
  const tool = { name: 'find', tool: 'find', description: '日'.repeat(100), asks: false, read_only: true };
  printReport(context, 'notes', { ok: true, era: 'legacy', milliseconds: 1, tools: [tool], filtered: 0 });
  t.equal(seen.printed.split('\n')[1], `  find  ${'日'.repeat(55)}…`);
  t.end();
});

t.test('CLI-5 · an id of many digits among typed arguments is that id, not the nearest number', (t) => {
  t.strictSame(readObject('{"id": 1234567890123456789, "n": 2}'), { id: '1234567890123456789', n: 2 });
  for (const text of ['[1]', 'null', '"a"', '{', '']) t.equal(readObject(text), undefined, text);
  t.end();
});
