import { spawn } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { runCli } from '../../support/daemon.ts';
import { makeHome, type TestHome } from '../../support/home.ts';
import { hasTerminal, startTerminal } from '../../support/terminal.ts';

const enter = '\r';
const down = '\u001b[B';
const up = '\u001b[A';
const ctrlC = '\u0003';
const noTerminal = hasTerminal ? false : 'no `script` that runs a command';

/** What is waited for on the screen, and what is typed then. */
type Turn = readonly [question: RegExp, keys: string];

/** Answers each question when it is there, and waits for the end. */
async function converse(
  t: Test,
  words: readonly string[],
  env: Readonly<Record<string, string>>,
  turns: readonly Turn[],
): Promise<{ readonly code: number | null; readonly screen: string }> {
  const terminal = startTerminal(t, words, { NO_COLOR: '1', ...env });
  for (const [question, keys] of turns) {
    await terminal.shows(question);
    terminal.type(keys);
  }
  return { code: await terminal.exited, screen: terminal.shown() };
}

const quiet = 'inspector: {enabled: false} # quiet\n';

/** A port of loopback that a listener of this spec holds, outside of those that the system gives to others meanwhile. */
async function takenPort(t: Test): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    const server = createServer();
    const isOurs = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isOurs) continue;
    t.teardown(() => server.close());
    return port;
  }
}

/** A home whose gateway, should the setup start one, is stopped at the end. */
function startingHome(t: Test): TestHome {
  const home = makeHome(t, { 'config.yaml': quiet });
  t.teardown(() => runCli(['gateway', 'stop'], home.path));
  return home;
}

t.test('CLI-1 · HOME-4 · by flags alone: config, secret, start, and a first event to its end', async (t) => {
  const home = startingHome(t);
  const flags = [
    '--enable',
    '--host',
    '127.0.0.1',
    '--port',
    '0',
    '--secret',
    'generate',
    '--agent-command',
    'sh -c "cat; echo done"',
    '--test',
  ];
  const first = await runCli(['gateway', 'setup', ...flags], home.path);
  t.equal(first.code, 0, first.stderr);
  t.match(
    first.stdout,
    /listens on http[\s\S]*signed, accepted, run and delivered to the log\. The agent said:\s+This is the first event.*done/s,
  );
  t.match(
    readFileSync(`${home.path}/config.yaml`, 'utf8'),
    /^inspector: \{enabled: false\} # quiet\n[\s\S]*runner: command\n {2}command:/,
  );
  t.equal(statSync(`${home.path}/.env`).mode & 0o777, 0o600);
  t.match((await runCli(['webhook', 'list'], home.path)).stdout, /No routes/, 'the test’s own route is gone');

  const again = await runCli(['gateway', 'setup', '--agent-command', 'false', '--test'], home.path);
  t.equal(again.code, 1, 'the gateway that runs reads the change');
  t.match(again.stderr, /the first event did not go through: it ended as failed: .*agent doctor/);
});

t.test('CLI-1 · a secret can come from the input, so that no list of processes shows it', async (t) => {
  const home = makeHome(t, { 'config.yaml': quiet });
  const main = new URL('../../../cli/main.js', import.meta.url).pathname;
  const words = [
    'gateway',
    'setup',
    '--secret',
    '-',
    '--model-provider',
    'anthropic',
    '--model-url',
    'https://m.example',
    '--model-name',
    'm',
    '--model-key',
    '-',
  ];
  const code = await new Promise((resolve) => {
    const child = spawn(process.execPath, [main, ...words], {
      env: { ...process.env, AGENT_HOME: home.path },
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    child.stdin.end('first-line-secret\nsecond-line-key\n');
    child.once('exit', resolve);
  });
  t.equal(code, 0);
  t.equal(
    readFileSync(`${home.path}/.env`, 'utf8'),
    'WEBHOOK_SECRET=first-line-secret\nAGENT_MODEL_KEY=second-line-key\n',
  );
  t.match(readFileSync(`${home.path}/config.yaml`, 'utf8'), /runner: model[\s\S]*api_key: \$\{AGENT_MODEL_KEY\}/);
  t.equal((await runCli(['gateway', 'setup', '--secret', '-'], home.path)).code, 2, 'no line, no secret');
  t.equal((await runCli(['gateway', 'setup', '--agent-command', 'x "y'], home.path)).code, 2);
});

t.test('CLI-1 · ADP-1 · the port that a variable sets is proposed', { skip: noTerminal }, async (t) => {
  const home = makeHome(t, { 'config.yaml': quiet, '.env': 'WEBHOOK_PORT=0\n' });
  const { code, screen } = await converse(t, ['gateway', 'setup'], { AGENT_HOME: home.path }, [
    [/Receive webhooks\?/, enter],
    [/Who may reach it\?/, enter],
    [/Port/, enter],
    [/Name of a route/, enter],
    [/What runs the agent\?/, enter],
    [/Write it\?/, ctrlC],
  ]);
  t.equal(code, 130);
  t.match(screen, /webhooks +on, at 127\.0\.0\.1:0\b/);
});

t.test('CLI-1 · the questions on a terminal: answered, refused, left', { skip: noTerminal }, async (t) => {
  const home = startingHome(t);
  home.write(
    'config.yaml',
    `${quiet}mcp_servers: {files: {command: x, enabled: false}, notes: {command: x, enabled: false}}\n`,
  );
  const answered = await converse(t, ['gateway', 'setup'], { AGENT_HOME: home.path }, [
    [/Receive webhooks\?/, enter],
    [/Who may reach it\?/, enter],
    [/Port/, `\u0015999999${enter}`],
    [/whole number from 0 to 65535/, `\u00150${enter}`],
    [/Name of a route/, `Bad Name${enter}`],
    [/lower-case letters, digits/, `\u0015github${enter}`],
    [/Secret by which its sender signs/, `${down}${enter}`],
    [/Secret\n/, `changeme${enter}`],
    [/It is a word that everybody tries first/, `\u0015typed-by-the-person${enter}`],
    [/Servers whose tools its runs may use/, `${down} ${enter}`],
    [/What runs the agent\?/, `${down}${enter}`],
    [/Its command/, `cat${enter}`],
    [/Write it\?/, enter],
    [/send a first event\?/, enter],
  ]);
  t.equal(answered.code, 0, answered.screen);
  t.match(answered.screen, /webhooks +on, at 127\.0\.0\.1:0[\s\S]*agent +command: cat[\s\S]*delivered to the log/);
  t.match(
    readFileSync(`${home.path}/config.yaml`, 'utf8'),
    /^inspector: \{enabled: false\} # quiet\n[\s\S]*port: 0\n[\s\S]*toolsets:\n +- agent-webhook\n +- mcp-notes\n[\s\S]*command:\n {4}- cat\n/,
  );
  t.equal(readFileSync(`${home.path}/.env`, 'utf8'), 'WEBHOOK_SECRET_GITHUB=typed-by-the-person\n');
  t.notMatch(answered.screen, /typed-by-the-person|changeme/);

  const before = readFileSync(`${home.path}/config.yaml`, 'utf8');
  const left = await converse(t, ['gateway', 'setup'], { AGENT_HOME: home.path }, [
    [/Receive webhooks\?/, enter],
    [/Who may reach it\?/, enter],
    [/Port/, enter],
    [/Name of a route/, ctrlC],
  ]);
  t.equal(left.code, 130);
  t.match(left.screen, /Cancelled\. Nothing was written\./);
  const refused = await converse(t, ['gateway', 'setup'], { AGENT_HOME: home.path }, [
    [/Receive webhooks\?/, `${down}${enter}`],
    [/What runs the agent\?/, enter],
    [/Its command/, enter],
    [/Write it\?/, `${down}${enter}`],
  ]);
  t.equal(refused.code, 4, refused.screen);
  t.equal(readFileSync(`${home.path}/config.yaml`, 'utf8'), before);
});

t.test('CLI-1 · another provider is offered with its own address and models', { skip: noTerminal }, async (t) => {
  const model = '{provider: openai-compatible, base_url: "http://127.0.0.1:9/v1", name: small}';
  const home = makeHome(t, { 'config.yaml': `${quiet}agent: {runner: model, model: ${model}}\n` });
  const kept = await converse(t, ['gateway', 'setup'], { AGENT_HOME: home.path }, [
    [/Receive webhooks\?/, `${down}${enter}`],
    [/What runs the agent\?/, enter],
    [/Which interface has the model\?/, enter],
    [/Base URL[\s\S]*127\.0\.0\.1:9/, enter],
    [/Name of the model[\s\S]*small/, enter],
    [/API key/, enter],
    [/Write it\?/, `${down}${enter}`],
  ]);
  t.equal(kept.code, 4, kept.screen);
  const changed = await converse(t, ['gateway', 'setup'], { AGENT_HOME: home.path }, [
    [/Receive webhooks\?/, `${down}${enter}`],
    [/What runs the agent\?/, enter],
    [/Which interface has the model\?/, `${up}${enter}`],
    [/Base URL/, enter],
    [/Name of the model/, `claude${enter}`],
    [/API key/, enter],
    [/Write it\?/, enter],
  ]);
  t.equal(changed.code, 0, changed.screen);
  t.match(parse(readFileSync(`${home.path}/config.yaml`, 'utf8')).agent.model, {
    provider: 'anthropic',
    base_url: 'https://api.anthropic.com',
    name: 'claude',
  });
});

t.test(
  'CLI-6 · Ctrl-C in the live tree and at a question of an import is cancelled',
  { skip: noTerminal },
  async (t) => {
    const home = startingHome(t);
    home.write('.cursor/mcp.json', '{"mcpServers": {"files": {"command": "x"}}}');
    const env = { AGENT_HOME: home.path, HOME: home.path };
    const imported = await converse(t, ['mcp', 'import'], env, [[/Which of them\?/, ctrlC]]);
    t.equal(imported.code, 130, imported.screen);
    t.match(imported.screen, /Cancelled\. Nothing was written\./);
    t.equal((await runCli(['gateway'], home.path)).code, 0);
    const left = await converse(t, ['inspect'], env, [[/supervisor/, ctrlC]]);
    t.equal(left.code, 130);
    t.match(left.screen, /Cancelled\.\n/);
    t.equal((await converse(t, ['inspect'], env, [[/supervisor/, 'q']])).code, 0);
  },
);

t.test('CLI-1 · ports that another program has are not written', { skip: noTerminal }, async (t) => {
  const home = startingHome(t);
  home.write('config.yaml', 'agent: {runner: echo}\n');
  const [taken, page] = await Promise.all([takenPort(t), takenPort(t)]);
  home.write('config.yaml', `agent: {runner: echo}\ninspector: {port: ${page}}\n`);
  const run = await converse(t, ['gateway', 'setup'], { AGENT_HOME: home.path }, [
    [/Receive webhooks\?/, enter],
    [/Who may reach it\?/, enter],
    [/Port/, `\u0015${taken}${enter}`],
    // The question comes after the word, and what is typed before it is lost.
    [/cannot be had: another program has it[\s\S]*Port/, enter],
    [/Name of a route/, enter],
    [/inspector page's 127\.0\.0\.1:\d+ cannot be had[\s\S]*Port of the inspector page/, enter],
    [/What runs the agent\?/, enter],
    [/Write it\?/, enter],
    [/send a first event\?/, enter],
  ]);
  t.equal(run.code, 0, run.screen);
  t.match(run.screen, /delivered to the log/);
  const { platforms, inspector } = parse(readFileSync(`${home.path}/config.yaml`, 'utf8'));
  for (const [chosen, port] of [
    [platforms.webhook.extra.port, taken],
    [inspector.port, page],
  ] as const) {
    t.ok(chosen > port && chosen <= port + 100, `${chosen} is free near ${port}`);
  }
});

t.test('CLI-1 · a start that fails says why in lines for people', async (t) => {
  const port = await takenPort(t);
  const home = makeHome(t, { 'config.yaml': quiet });
  const flags = ['--enable', '--host', '127.0.0.1', '--port', String(port), '--secret', 'generate', '--start'];
  const run = await runCli(['gateway', 'setup', ...flags], home.path);
  t.equal(run.code, 1);
  t.match(
    run.stderr,
    /did not start[\s\S]*\n {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ error .*[\s\S]*`agent doctor` looks for the cause/,
  );
  t.match(run.stderr, String(port));
  t.notMatch(run.stderr, /\{"/, 'no JSON');
});

t.test('CLI-5 · servers of other programs are chosen and confirmed on a terminal', { skip: noTerminal }, async (t) => {
  const user = makeHome(t, {
    '.cursor/mcp.json':
      '{"mcpServers": {"one": {"command": "a"}, "two": {"command": "b", "env": {"K": "${env:ASKED_KEY}"}}}}',
  });
  const home = makeHome(t, { 'config.yaml': quiet });
  const run = await converse(t, ['mcp', 'import', '--from', 'cursor'], { AGENT_HOME: home.path, HOME: user.path }, [
    [/Which of them\?/, ` ${enter}`],
    [/Add two\?/, enter],
    [/ASKED_KEY: it is read/, `typed-key${enter}`],
  ]);
  t.equal(run.code, 0, run.screen);
  t.match(
    readFileSync(`${home.path}/config.yaml`, 'utf8'),
    `${quiet}mcp_servers:\n  two:\n    command: b\n    env:\n      K: \${ASKED_KEY}\n`,
  );
  t.equal(readFileSync(`${home.path}/.env`, 'utf8'), 'ASKED_KEY=typed-key\n');
  t.notMatch(run.screen, 'typed-key');
});
