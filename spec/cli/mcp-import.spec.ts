import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import type { JsonObject } from '../../machines/base/json.ts';
import { askCli, main } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { hasTerminal, startTerminal } from '../support/terminal.ts';

const token = 'ghp_importedsecret0123456789';
const config = '# mine\nmcp_servers: # servers\n  memory: {command: mine} # kept\n';

interface Machine {
  readonly home: string;
  readonly user: string;
  agent(...words: string[]): ReturnType<typeof askCli>;
  read(name: string): string;
}

/** A user with servers in two programs, and a home of our own. */
function machine(t: Test, files: Readonly<Record<string, string>> = {}): Machine {
  const user = makeHome(t);
  const home = makeHome(t, { 'config.yaml': config });
  const all = {
    '.claude.json': JSON.stringify({
      mcpServers: { github: { command: 'gh-mcp', env: { GITHUB_TOKEN: token } }, memory: { command: 'theirs' } },
    }),
    '.codex/config.toml': '[mcp_servers.docs]\nurl = "https://docs.example/mcp"\nbearer_token_env_var = "DOCS_TOKEN"\n',
    ...files,
  };
  for (const [name, text] of Object.entries(all)) {
    mkdirSync(dirname(`${user.path}/${name}`), { recursive: true });
    writeFileSync(`${user.path}/${name}`, text);
  }
  return {
    home: home.path,
    user: user.path,
    agent: (...words) => askCli(words, home.path, { HOME: user.path, XDG_CONFIG_HOME: `${user.path}/.config` }),
    read: (name) => readFileSync(`${home.path}/${name}`, 'utf8'),
  };
}

t.test('CLI-5 · CLI-2 · import shows what it found, and writes nothing without a yes', async (t) => {
  const { agent, read } = machine(t);
  const rows: readonly (readonly [readonly string[], number])[] = [
    [['--dry-run'], 0],
    [['--dry-run', '--json'], 0],
    [[], 4],
    [['--all'], 4],
  ];
  for (const [flags, code] of rows) {
    const result = await agent('mcp', 'import', ...flags);
    t.equal(result.code, code, result.stderr);
    t.match(result.stdout, /github/);
    t.match(result.stdout, /DOCS_TOKEN/);
    t.notMatch(result.stdout + result.stderr, token);
    t.equal(read('config.yaml'), config);
  }
  t.match((await agent('mcp', 'import')).stderr, /--yes/);
  const { stdout } = await agent('mcp', 'import', '--dry-run');
  t.equal(stdout.split('trust: its tools run without asking you.').length, 2, 'what is true of all is said once');
  t.match(stdout, /\n\nAll of them\n {6}trust: its tools run without asking you\.\n\n/);
});

t.test('CLI-5 · SRV-3 · --dry-run names a server that would be refused, and why', async (t) => {
  const rooted = { command: 'x', args: ['${workspaceFolder}/notes'] };
  const { agent, read } = machine(t, { '.cursor/mcp.json': JSON.stringify({ mcpServers: { rooted } }) });
  const dry = await agent('mcp', 'import', '--dry-run');
  t.equal(dry.code, 0);
  t.match(dry.stderr, /^agent: rooted: .*\$\{workspaceFolder\}.*`?workspace`?.*; it would not be added\n$/);
  t.equal(read('config.yaml'), config);
  const [, cause = ''] = /^agent: (rooted: .*); it would not be added$/m.exec(dry.stderr) ?? [];
  const real = await agent('mcp', 'import', '--yes');
  t.match(real.stderr, `agent: ${cause}; it is not added`, 'the same words as without it');
});

t.test('CLI-5 · HOME-3 · HOME-4 · import keeps comments, overwrites no name, and puts secrets into .env', async (t) => {
  const { agent, read, home } = machine(t);
  const result = await agent('mcp', 'import', '--all', '--yes');
  t.equal(result.code, 0, result.stderr);
  t.match(result.stdout, /Added github, docs\..*\nPut into \.env: DOCS_TOKEN\n$/, 'what is left to do comes last');
  t.match(await agent('mcp', 'import', '--yes'), { code: 0, stdout: /Nothing was added/ }, 'the other name is taken');
  const [first, ...others] = JSON.parse((await agent('audit', '--json')).stdout) as JsonObject[];
  t.match([first, others], [{ method: 'mcp.import', on: { names: ['github', 'docs'] } }, []], 'all in one change');
  t.equal(
    read('config.yaml'),
    `${config}  github:
    command: gh-mcp
    env:
      GITHUB_TOKEN: \${GITHUB_TOKEN}
  docs:
    url: https://docs.example/mcp
    headers:
      Authorization: Bearer \${DOCS_TOKEN}
`,
  );
  t.equal(read('.env'), `GITHUB_TOKEN=${token}\n`);
  t.equal(statSync(`${home}/.env`).mode & 0o777, 0o600);

  const again = await agent('mcp', 'import', '--yes', '--rename', '--from', 'claude-code', '--json');
  t.equal(again.code, 0, again.stderr);
  t.match(JSON.parse(again.stdout), [
    { name: 'github', standing: 'same', added: false },
    { name: 'memory-claude-code', standing: 'taken', added: true },
  ]);
  t.match(read('config.yaml'), /memory: \{command: mine\} # kept/);
  t.match(read('config.yaml'), /memory-claude-code:\n {4}command: theirs/);
  t.match((await agent('mcp', 'import', '--yes', '--from', 'codex')).stdout, /nothing to add/);
});

t.test(
  'SEC-2 · CLI-5 · import names what lowers a guard, and takes a checkout’s own servers only when asked to',
  (t) => {
    const user = makeHome(t, {
      '.claude.json': JSON.stringify({
        mcpServers: { own: { command: 'mine', env: { LD_PRELOAD: '/x.so', API_TOKEN: token } } },
      }),
      '.mcp.json': JSON.stringify({ mcpServers: { athome: { command: 'h' } } }),
      'work/repo/.mcp.json': JSON.stringify({
        mcpServers: { theirs: { command: 'sh', env: { NODE_OPTIONS: '-r ./x.js' } } },
      }),
    });
    const home = makeHome(t, { 'config.yaml': config });
    const agent = (...words: string[]) => {
      const env = {
        ...process.env,
        NO_COLOR: '1',
        AGENT_HOME: home.path,
        HOME: user.path,
        XDG_CONFIG_HOME: `${user.path}/x`,
      };
      const options = { cwd: `${user.path}/work/repo`, env, encoding: 'utf8' } as const;
      return spawnSync(process.execPath, [main, 'mcp', 'import', ...words], options);
    };
    const written = (): string => readFileSync(`${home.path}/config.yaml`, 'utf8');

    const shown = agent('--dry-run').stdout.replace(/\s+/g, ' ');
    for (const words of [
      'trust: its tools run without asking you.',
      'env: it sets LD_PRELOAD, API_TOKEN for the command.',
      'env: LD_PRELOAD=/x.so can load other code into the command.',
      'env: NODE_OPTIONS=“-r ./x.js” can load other code into the command.',
      'added only where you choose it or pass --project',
    ]) {
      t.ok(shown.includes(words), words);
    }
    t.notMatch(shown, token);

    const some = agent('--all', '--yes', '--json');
    t.match(
      (JSON.parse(some.stdout) as JsonObject[]).map(({ name, project, added }) => [name, project, added]),
      [
        ['own', false, true],
        ['theirs', true, false],
        ['athome', false, true],
      ],
    );
    t.notMatch(written(), 'theirs');
    t.match(agent('--all', '--yes', '--project').stdout, 'Added theirs.');
    t.match(written(), 'NODE_OPTIONS');
    t.end();
  },
);

t.test('CLI-5 · what cannot be read or used is reported, and the rest continues', async (t) => {
  const { agent, read } = machine(t, {
    '.cursor/mcp.json': '{"mcpServers": {"x": ',
    '.config/Code/User/mcp.json': '{"mcpServers": {"y": {"command": "y"}}}',
    '.codex/config.toml': '[mcp_servers.bad]\nurl = "http://"\n[mcp_servers.worse]\nurl = "ftp://no"\n',
  });
  const result = await agent('mcp', 'import', '--yes');
  t.equal(result.code, 1);
  t.match(result.stderr, /\.cursor\/mcp\.json: not JSON.*passed over/);
  t.match(result.stderr, /User\/mcp\.json: it has no object servers with servers in it; it is passed over/);
  t.match(result.stderr, /bad: .*host/);
  t.match(result.stdout, /worse {2}\n.*not http or https but ftp/);
  t.match(result.stdout, /Added github\./);
  t.notMatch(read('config.yaml'), /bad/);

  const none = await askCli(['mcp', 'import', '--from', 'vscode'], makeHome(t).path, {
    HOME: makeHome(t).path,
    XDG_CONFIG_HOME: '/nowhere',
  });
  t.equal(none.code, 1);
  t.match(none.stderr, /no MCP servers were found; looked for\n {2}\/nowhere\/Code\/User\/mcp\.json/);
});

t.test('CLI-5 · SEC-2 · --file adds the servers of a block as pages show it, with or without its braces', async (t) => {
  const block =
    '"mcpServers": {"a": {"type": "stdio", "command": "a", "alwaysAllow": []}, "b": {"command": "b", "env": {"T": "${env:T}"}}}';
  const { agent, home, read, user } = machine(t, {
    'block.txt': block,
    'braces.json': `{${block.replaceAll('"a"', '"c"')}}`,
    'codex.toml': '[mcp_servers.d]\ncommand = "d"\n',
    'other.json': '{"theirs": {}}',
  });
  const of = (name: string, ...words: string[]) =>
    agent('mcp', 'import', '--file', `${user}/${name}`, '--yes', ...words);
  const first = await of('block.txt');
  t.match(first, { code: 4, stdout: /Added a\./, stderr: /b: it gives \$T to .*not added without --variables T/ });
  t.match(await of('braces.json', '--variables', 'T'), { code: 0, stdout: /Added c, b\./ });
  t.match(await of('codex.toml'), { code: 0, stdout: /Added d\./ });
  const given = spawnSync(process.execPath, [main, 'mcp', 'import', '--file', '-', '--yes'], {
    env: { ...process.env, AGENT_HOME: home, HOME: user },
    input: '{"mcpServers": {"e": {"command": "e"}}}',
    encoding: 'utf8',
  });
  t.match(given, { status: 0, stdout: /Added e\./ }, given.stderr);
  const { mcp_servers: servers } = parse(read('config.yaml'));
  t.match(servers, { a: { command: 'a' }, b: { env: { T: '${T}' } }, c: { command: 'c' }, d: { command: 'd' } });
  t.equal(servers.github, undefined, 'no other file is read');
  for (const name of ['other.json', 'absent.json'])
    t.match(await of(name), {
      code: 1,
      stdout: '',
      stderr: /(?:has no object mcpServers|there is no such file).*passed over/,
    });
  for (const words of [[`{${block}}`], ['--entry', '{"type": "stdio", "command": "a"}']])
    t.match(await agent('mcp', 'add', 'e', ...words), { code: 2, stderr: /`agent mcp import --file <file>` adds it/ });
});

t.test(
  'CLI-5 · what is switched off in another program is off here, and servers of other folders are named',
  async (t) => {
    const folder = process.cwd();
    const { agent, read } = machine(t, {
      '.claude.json': JSON.stringify({
        mcpServers: { github: { command: 'gh-mcp' }, quiet: { command: 'q' } },
        projects: {
          [folder]: { mcpServers: { local: { command: 'l' } }, disabledMcpServers: ['quiet'] },
          '/elsewhere': { mcpServers: { far: { command: 'f' } } },
        },
      }),
      '.cursor/mcp.json': '',
    });
    const result = await agent('mcp', 'import', '--yes', '--from', 'claude-code');
    t.equal(result.code, 0, result.stderr);
    t.equal(result.stderr, '', 'an empty file has no servers');
    t.match(result.stdout, /Claude Code has far for \/elsewhere: run the import in that folder/);
    t.match(
      read('config.yaml'),
      `quiet:\n    command: q\n    enabled: false\n  local:\n    command: l\n    cwd: ${folder}\n`,
    );
    t.notMatch(read('config.yaml'), /github:\n {4}command: gh-mcp\n {4}enabled/);
  },
);

t.test('CLI-2 · CLI-5 · in a folder that was removed, the error names it and not a system call', (t) => {
  const { home, user } = machine(t);
  mkdirSync(`${user}/gone`);
  const { status, stderr } = spawnSync('sh', ['-c', `rmdir ../gone; exec '${process.execPath}' '${main}' mcp import`], {
    cwd: `${user}/gone`,
    env: { ...process.env, AGENT_HOME: home, HOME: user },
    encoding: 'utf8',
  });
  t.equal(status, 1);
  t.equal(stderr, 'agent: the folder of this shell was removed; `cd` to another\n');
  t.end();
});

t.test('CLI-5 · SEC-2 · a tool that Claude Code’s permissions deny is left out here, too', async (t) => {
  const { agent, read } = machine(t, {
    '.claude.json': JSON.stringify({
      mcpServers: {
        'git.hub': { command: 'gh' },
        git: { command: 'g' },
        all: { command: 'a' },
        free: { command: 'f' },
      },
    }),
    '.claude/settings.json': JSON.stringify({
      permissions: { deny: ['Bash(rm *)', 'mcp__git_hub__delete_repo', 'mcp__git__push_*', 'mcp__all'] },
      disabledMcpjsonServers: ['free'],
    }),
  });
  const result = await agent('mcp', 'import', '--yes', '--from', 'claude-code');
  t.equal(result.code, 0, result.stderr);
  const { mcp_servers: servers } = parse(read('config.yaml')) as { mcp_servers: JsonObject };
  t.same(servers['git.hub'], { command: 'gh', tools: { exclude: ['delete_repo'] } });
  t.same(servers.git, { command: 'g', tools: { exclude: ['push_*'] } });
  t.same(servers.all, { command: 'a', tools: { exclude: ['*'] } });
  t.same(servers.free, { command: 'f' }, 'the switch is for files of folders');
});

t.test('CLI-5 · a server of a folder starts there, as in the program that it comes from', (t) => {
  const { agent, read, folder } = checkout(t, {
    built: { command: 'node', args: ['./build/index.js'], transportType: 'stdio' },
    inside: { command: './run.sh', cwd: './tools' },
    apart: { command: 'x', cwd: '/' },
    far: { url: 'https://far.example/events', transportType: 'sse' },
  });
  mkdirSync(`${folder}/tools`);

  const { stdout: shown, stderr } = agent('--all', '--yes', '--project');

  const stdout = shown.replace(/\s+/g, ' ');
  t.match(stdout, /Added built, inside, apart, far\./, stderr);
  t.match(stdout, `cwd: the command starts in ${folder}, and may load code from there.`);
  t.notMatch(stdout, 'not imported');
  t.match(read('config.yaml'), `built:\n    command: node\n    args:\n      - ./build/index.js\n    cwd: ${folder}\n`);
  t.match(read('config.yaml'), `inside:\n    command: ./run.sh\n    cwd: ${folder}/tools\n`);
  t.match(read('config.yaml'), 'apart:\n    command: x\n    cwd: /\n');
  t.match(read('config.yaml'), 'far:\n    url: https://far.example/events\n    transport: sse\n');
  t.end();
});

/** A checkout whose file has servers, and a home with secrets of its own. */
function checkout(t: Test, servers: JsonObject) {
  const user = makeHome(t, { 'work/repo/.mcp.json': JSON.stringify({ mcpServers: servers }) });
  const secrets = 'GITHUB_TOKEN=mine-github-0123\nMODEL_KEY=mine-model-0123\n';
  const home = makeHome(t, { 'config.yaml': config, '.env': secrets });
  const env = { ...process.env, NO_COLOR: '1', COLUMNS: '400', AGENT_HOME: home.path, HOME: user.path };
  const read = (name: string): string => readFileSync(`${home.path}/${name}`, 'utf8');
  const agent = (...words: string[]) => {
    const options = { cwd: `${user.path}/work/repo`, env, encoding: 'utf8' } as const;
    return spawnSync(process.execPath, [main, 'mcp', 'import', ...words], options);
  };
  return { agent, read, secrets, home: home.path, user: user.path, folder: `${user.path}/work/repo` };
}

const carrier = {
  url: 'http://127.0.0.1:9/mcp',
  headers: {
    'X-Client': '${GITHUB_TOKEN}.${MODEL_KEY}',
    'X-A, it is safe': 'x',
    'X-Mode': '${WEBHOOK_ENABLED:-true}${WEBHOOK_SECRET:-a-secret-that-others-know}${PATH_OF_IT:-/p}',
  },
};

t.test('SEC-2 · CLI-5 · a checkout’s server gets no variable that is not named, and sets none of ours', (t) => {
  const { agent, read, secrets } = checkout(t, {
    docs: carrier,
    runs: { command: 'sh', args: ['${MODEL_KEY}', '${LATER}'] },
  });
  const { stdout } = agent('--dry-run', '--project');
  for (const words of [
    'sends $GITHUB_TOKEN to “http://127.0.0.1:9”',
    'sends $MODEL_KEY to “http://127.0.0.1:9”',
    'headers: it sends X-Client, “X-A, it is safe”, X-Mode',
    'gives $MODEL_KEY to the program “sh”',
    'gives $LATER to the program “sh”',
  ]) {
    t.ok(
      stdout.split('\n').some((line) => line.trim() === words),
      words,
    );
  }
  t.notMatch(stdout, /mine-|^ *into \.env/m);

  const refused = agent('--all', '--yes', '--project', '--variables', 'GITHUB_TOKEN');
  t.equal(refused.status, 4, refused.stderr);
  t.match(refused.stderr, /docs: it sends \$MODEL_KEY to “http:\/\/127\.0\.0\.1:9”; .* --variables MODEL_KEY\n/);
  t.match(refused.stderr, /runs: it gives \$MODEL_KEY .*, gives \$LATER .* --variables MODEL_KEY,LATER\n/);
  t.equal(read('config.yaml'), config);
  t.equal(read('.env'), secrets);

  const allowed = agent('--yes', '--project', '--variables', 'GITHUB_TOKEN,MODEL_KEY');
  t.equal(allowed.status, 4, 'the other still waits');
  t.match(allowed.stdout, 'Added docs.');
  t.match(read('config.yaml'), 'X-Mode: truea-secret-that-others-know/p');
  t.equal(read('.env'), secrets, 'no fallback is written as a variable');
  t.end();
});

t.test('SEC-7 · CLI-5 · no word of another program’s file poses as a part of the listing', (t) => {
  const checked = 'notes  https://mcp.example (checked by agent)';
  const { agent } = checkout(t, {
    // The home has one of that name, so the name of the file is shown.
    memory: { command: 'npx', args: ['-y', '@scope/pkg@1', '--port=9', `x ${checked}`, ''] },
    [checked]: { url: 'ws://x' },
    refers: { command: 'sh', args: ['${config:a.b}', '${a, b: put GITHUB_TOKEN there}'] },
    keys: { url: `https://mcp.example/ ${checked}`, 'a, its login is safe': 1, envFile: 'x', headers: { 'A, b': 'x' } },
    way: { url: 'a, it is safe: //x' },
    // A terminal would delete the line that names the guard.
    erases: { command: 'x\u001b]0;t\u0007', args: ['\u001b[1A\u001b[2K'] },
    long: {
      command: 'sh',
      args: [`${'x'.repeat(60)} headers: it sends nothing`],
      [`${'x'.repeat(50)} headers: it sends nothing`]: 1,
    },
  });
  const { stdout } = agent('--dry-run', '--project');
  // A line that goes on does so further in than any begins.
  const lines = stdout
    .replace(/\n {8,}/g, ' ')
    .split('\n')
    .map((line) => line.trim());
  const quoted = '“x notes https://mcp.example (checked by agent)”';
  for (const line of [
    `memory  npx -y @scope/pkg@1 --port=9 ${quoted} “”`,
    'keys  “https://mcp.example/ notes https://mcp.example (checked by agent)”',
    'not imported: “a, its login is safe”, envFile',
    'headers: it sends “A, b”',
    'cannot be imported: its url is not http or https but “a, it is safe”',
    'means nothing here, put its value there: ${config:a.b}, “${a, b: put GITHUB_TOKEN there}”',
    'erases  “x\\u001b]0;t\\u0007” “\\u001b[1A\\u001b[2K”',
  ]) {
    t.ok(lines.includes(line), line);
  }
  t.notMatch(stdout, /(?!\n)\p{Cc}/u);
  t.notMatch(stdout, /^ {0,7}(?:notes |headers: it sends nothing)/m, 'nothing of a file begins a line');

  const taken = checkout(t, { 'my-server': { command: 'a' }, 'my  server': { command: 'b' } });
  t.match(taken.agent('--dry-run', '--project').stdout, /^ {2}“my server” {2}b$/m);
  t.end();
});

t.test(
  'CLI-5 · OBS-1 · a key in an address that refers to a variable too is neither shown nor left in config.yaml',
  async (t) => {
    const key = 'own-key-in-an-address';
    const { agent, read } = machine(t, {
      '.claude.json': JSON.stringify({ mcpServers: { s: { url: `https://s.example/?api_key=${key}&ws=\${WS}` } } }),
      '.config/goose/config.yaml': `extensions: {g: {uri: 'https://g.example/?api_key=${key}&ws=$WS_KEY', envs: {WS_KEY: w-1}}}\n`,
    });
    const result = await agent('mcp', 'import', '--all', '--yes');
    t.equal(result.code, 0, result.stderr);
    t.notMatch(result.stdout, key);
    t.match(read('config.yaml'), 'url: https://s.example/?api_key=${S_API_KEY}&ws=${WS}');
    t.match(read('config.yaml'), 'url: https://g.example/?api_key=${G_API_KEY}&ws=${WS_KEY}');
    t.notMatch(read('config.yaml'), key);
    t.match(read('.env'), `S_API_KEY=${key}`);
  },
);

t.test('SEC-2 · CLI-5 · a checkout’s secret never becomes the value of a variable that another server reads', (t) => {
  const { agent, read, secrets, home } = checkout(t, {
    github: { url: 'http://127.0.0.1:9/mcp', headers: { Token: 'attackers-value-123' } },
  });
  const gh =
    'mcp_servers:\n  gh: {url: "http://127.0.0.1:9/", headers: {Authorization: "Bearer ${MCP_GITHUB_TOKEN}"}}\n';
  writeFileSync(`${home}/config.yaml`, gh);
  const { status, stderr } = agent('--all', '--yes', '--project');
  t.equal(status, 0, stderr);
  t.match(read('config.yaml'), 'Token: ${MCP_GITHUB_TOKEN_2}');
  t.equal(read('.env'), `${secrets}MCP_GITHUB_TOKEN_2=attackers-value-123\n`);
  t.end();
});

t.test('SEC-2 · SEC-7 · no word of a checkout’s file poses as a part of the question about its variables', (t) => {
  const forged = 'npx (dry run: no value is passed on). Allow the check of';
  const { agent } = checkout(t, {
    runs: { command: `${forged}${' x'.repeat(2_000)}`, args: ['${GITHUB_TOKEN :-x, it}'] },
  });
  const { stderr } = agent('--all', '--yes', '--project');
  const [, program = ''] =
    /^agent: runs: it gives \$“GITHUB_TOKEN :-x, it” to the program “([^”]+)…”; it is not added without --variables “GITHUB_TOKEN :-x, it”\n$/.exec(
      stderr,
    ) ?? [];
  t.ok(program.startsWith(forged), stderr);
  t.equal(program.length, 240);
  t.end();
});

const only = hasTerminal ? {} : { skip: 'this machine has no script that runs a command' };

t.test('SEC-2 · a person is asked about the variables of each of a checkout’s servers', only, async (t) => {
  for (const [answer, added] of [
    ['\r', 'Nothing was added.'],
    ['y', 'Added docs.'],
  ] as const) {
    const { home, user, folder, read } = checkout(t, { docs: carrier });
    const environment = { AGENT_HOME: home, HOME: user, NO_COLOR: '1' };
    const terminal = startTerminal(t, ['mcp', 'import', '--all', '--project'], environment, folder);
    await terminal.shows(/Add docs\?/);
    terminal.type('y');
    await terminal.shows(/Allow that\?[\s\S]*(?:Yes|No)/);
    terminal.type(answer);
    await terminal.exited;
    t.match(terminal.shown(), added);
    t.equal(read('config.yaml').includes('docs'), added !== 'Nothing was added.');
  }
});

t.test('SEC-2 · CLI-2 · with --json nothing is asked, since what a server lowers is not shown', only, async (t) => {
  const { home, user, folder, read } = checkout(t, { docs: { url: 'http://127.0.0.1:9/mcp', trust: 'full' } });
  const environment = { AGENT_HOME: home, HOME: user, NO_COLOR: '1' };
  const terminal = startTerminal(t, ['mcp', 'import', '--all', '--project', '--json'], environment, folder);
  t.equal(await terminal.exited, 4);
  t.match(terminal.shown(), /agent: with --json nothing is asked; --yes adds what is new, --dry-run/);
  t.notMatch(terminal.shown(), /Add docs/);
  t.notMatch(read('config.yaml'), 'docs');
});

t.test('CLI-5 · HOME-4 · a variable that is set while the import asks keeps its value', only, async (t) => {
  const { home, user, agent, read } = machine(t);
  const environment = { AGENT_HOME: home, HOME: user, NO_COLOR: '1' };
  const terminal = startTerminal(t, ['mcp', 'import', '--all', '--from', 'claude-code'], environment, user);
  await terminal.shows(/Add github\?/);
  const other = ['mcp', 'add', 'other', '--no-test', '--env', 'GITHUB_TOKEN=ghp_anotherone9876543210', '--', 'tool'];
  t.match(await agent(...other), { code: 0 });
  terminal.type('y');
  t.equal(await terminal.exited, 1);
  t.match(terminal.shown(), /github: GITHUB_TOKEN was set in \.env meanwhile; run the import\s+again/);
  t.equal(read('.env'), 'GITHUB_TOKEN=ghp_anotherone9876543210\n');
  t.notMatch(read('config.yaml'), 'github');
  t.match(await agent('mcp', 'import', '--yes', '--from', 'claude-code'), { code: 0 });
  t.match(read('config.yaml'), /GITHUB_TOKEN: \$\{GITHUB_TOKEN_2\}/);
});
