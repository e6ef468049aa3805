import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { relative } from 'node:path';
import t from 'tap';
import { homePaths } from '../../machines/config/profile.ts';
import type { GatewayStatus } from '../../runtime/control/contract/gateway.ts';
import { askCli, main, runCli, startBlocked, startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { collected, hasEnded, numbersIn, until } from '../support/processes.ts';
import { postSigned } from '../support/sign.ts';
import { hasTerminal } from '../support/terminal.ts';
import { cliJson, secret, webhookConfig } from '../support/webhook-home.ts';

/** The scripts that a process loaded, as V8 reports them. */
interface Coverage {
  readonly result: readonly { readonly url: string }[];
}

t.test(
  'CON-1 · CLI-2 · help, version, usage errors and a daemon that does not run have their exit codes',
  async (t) => {
    const home = makeHome(t);
    const rows: readonly (readonly [readonly string[], number, RegExp])[] = [
      [[], 0, /Usage: agent <command>/],
      [['--help'], 0, /webhook subscribe <name>/],
      [['webhook', '--help'], 0, /agent webhook <command>/],
      [['webhook', 'subscribe', '--help'], 0, /--deliver-chat-id <id>/],
      [['--version'], 0, /^\d+\.\d+\.\d+/],
      [['--home', home.path, '--version'], 0, /^\d+\.\d+\.\d+/],
      [[`--home=${home.path}`, 'help', 'cron'], 0, /agent cron <command>/],
      [['--hom=/x'], 2, /unknown flag --hom; did you mean --home/],
      [['--home'], 2, /--home needs a <folder>/],
      [['webhok', 'list'], 2, /unknown command "webhok list"; did you mean "webhook list"/],
      [['webhook', 'list', '--jsn'], 2, /unknown flag --jsn; did you mean --json/],
      [['events', '--max', '5'], 2, /unknown flag --max\nUsage: agent events/],
      [['events', '-n', '5'], 2, /unknown flag -n/],
      [['webhook', 'show'], 2, /missing <name>/],
      [['webhook', 'show', 'a', 'b'], 2, /unexpected "b"/],
      [['webhook', 'test', 'x', '--payload'], 2, /--payload needs a <json>/],
      [['cron', 'add', 'x', '@daily', '--grace', 'soon'], 2, /--grace "soon" must be a whole number from 0/],
      [['cron', 'run', 'x'], 3, /not running/],
      [['webhook', 'deliveries'], 3, /not running; start it with `agent gateway`/],
      [['--home', `${home.path}/o'dd`, 'events'], 3, /start it with `agent --home '\S+\/o'\\''dd' gateway`/],
      [['--home', `${home.path}/set`, 'gateway', 'setup', '--runner', 'echo'], 0, /`agent --home \S+\/set gateway`/],
      [['--home', `${home.path}/set`, 'webhook', 'show', 'x'], 1, /; `agent --home \S+\/set webhook list` lists them/],
      [['inspect'], 3, /not running/],
      [['gateway', 'stop'], 3, /is not running\n$/],
      [['gateway', 'setup'], 4, /answer by flags/],
      [['completion', 'tcsh'], 2, /known are bash, zsh, fish/],
    ];
    for (const [words, code, text] of rows) {
      // One word needs the program itself; every-command.spec.ts starts each command as a process.
      const run = words.length < 2 ? runCli : askCli;
      const result = await run(words, home.path);
      t.equal(result.code, code, words.join(' '));
      t.match(result.stdout + result.stderr, text, words.join(' '));
    }
  },
);

t.test('CLI-2 · output that does not fit into its file is an error, not a shorter file', (t) => {
  const file = `${makeHome(t).path}/out`;
  // A limit of the file's size has the effect of a full disk: a part is written, then nothing.
  const words = ['-c', 'ulimit -f 16; exec "$0" "$1" config schema > "$2"', process.execPath, main, file];
  const { status, stderr } = spawnSync('bash', words, { encoding: 'utf8' });
  t.equal(status, 1);
  t.match(stderr, /^agent: the output is incomplete: EFBIG.*make room on its disk/);
  t.ok(statSync(file).size > 0);
  const full = (script: string): ReturnType<typeof spawnSync> =>
    spawnSync('bash', ['-c', script, process.execPath, main], { encoding: 'utf8' });
  const unread = full('exec "$0" "$1" --version > /dev/full');
  t.equal(unread.status, 1);
  t.match(unread.stderr, /^agent: the output is incomplete: ENOSPC/);
  t.equal(full('exec "$0" "$1" nonsense 2> /dev/full').status, 2);
  t.end();
});

t.test('PKG-1 · CLI-2 · a Node.js that is too old is named, before a part of the program fails on it', (t) => {
  const older = 'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "18.19.1" } })';
  const words = ['--import', `data:text/javascript,${encodeURIComponent(older)}`, main];
  const { status, stdout, stderr } = spawnSync(process.execPath, [...words, 'cron', 'list'], { encoding: 'utf8' });
  t.same([status, stdout], [1, '']);
  t.match(stderr, /^agent: this is Node\.js 18\.19\.1; install 20\.19 or newer/);
  const NODE_V8_COVERAGE = t.testdir();
  const env = { ...process.env, NODE_V8_COVERAGE };
  t.equal(spawnSync(process.execPath, [...words, '--version'], { env }).status, 0);
  const [report = ''] = readdirSync(NODE_V8_COVERAGE);
  const { result } = JSON.parse(readFileSync(`${NODE_V8_COVERAGE}/${report}`, 'utf8')) as Coverage;
  const loaded = result.flatMap(({ url }) => (url.startsWith('file:') ? [statSync(new URL(url)).size] : []));
  t.ok(loaded.length > 0 && loaded.every((bytes) => bytes < 10_000), 'no part of the commands is loaded for --version');
  t.end();
});

t.test('CLI-6 · CLI-2 · Ctrl-C ends a command that waits for an answer', async (t) => {
  const home = makeHome(t);
  const asked = createServer();
  const connected = once(asked, 'connection');
  await new Promise<void>((resolve) => asked.listen(homePaths(home.path).socket, resolve));
  t.teardown(() => asked.close());
  const child = spawn(process.execPath, [main, 'webhook', 'deliveries'], {
    env: { ...process.env, AGENT_HOME: home.path },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const said = collected(child.stderr);
  const [socket] = (await connected) as [Socket];
  t.teardown(() => socket.destroy());
  child.kill('SIGINT');
  t.same(await once(child, 'close'), [130, null]);
  t.equal(said(), 'Cancelled.\n');
});

t.test('CLI-6 · CLI-1 · Ctrl-C at a start in the background ends what was started', async (t) => {
  const home = makeHome(t);
  const slow = `if (process.argv.includes('run')) {
  const { writeFileSync } = await import('node:fs');
  process.once('SIGTERM', () => process.exit(writeFileSync('${home.path}/by', 'SIGTERM')));
  writeFileSync('${home.path}/pid', \`\${process.pid}\\n\`);
  await new Promise((resolve) => setTimeout(resolve, 2 ** 31 - 1));
}
`;
  home.write('slow.mjs', slow);
  const child = spawn(process.execPath, [main, 'gateway'], {
    env: { ...process.env, AGENT_HOME: home.path, NODE_OPTIONS: `--import=file://${home.path}/slow.mjs` },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const said = collected(child.stderr);
  await until(() => numbersIn(`${home.path}/pid`).length > 0);
  const [pid = 0] = numbersIn(`${home.path}/pid`);
  t.teardown(() => {
    if (!hasEnded(pid)) process.kill(pid, 'SIGKILL');
  });
  child.kill('SIGINT');
  t.same(await once(child, 'close'), [130, null]);
  t.equal(said(), 'Cancelled.\n');
  await until(() => hasEnded(pid));
  t.equal(readFileSync(`${home.path}/by`, 'utf8'), 'SIGTERM');
});

t.test('CLI-2 · HOME-1 · an empty home is a usage error and leads to no other folder', async (t) => {
  const home = makeHome(t);
  const rows: readonly (readonly [words: readonly string[], home: string, code: number, text: RegExp])[] = [
    [['--home', '', 'cron', 'list'], home.path, 2, /--home must not be empty/],
    [['cron', 'list', '--home='], home.path, 2, /--home must not be empty/],
    [['cron', 'list'], '', 2, /AGENT_HOME is empty/],
    [['gateway', 'run', '--example'], '', 2, /AGENT_HOME is empty/],
    [['--help'], '', 0, /Usage/],
    [['--home', home.path, 'cron', 'list'], '', 0, /No jobs/],
  ];
  for (const [words, given, code, text] of rows) {
    const result = await askCli(words, given);
    t.equal(result.code, code, words.join(' '));
    t.match(result.stdout + result.stderr, text, words.join(' '));
  }
});

t.test('HOME-1 · CLI-2 · a home that cannot be written is said to be that, with its cure', async (t) => {
  const base = makeHome(t, { file: 'where a folder should be' }).path;
  for (const words of [
    ['gateway', 'run'],
    ['gateway'],
    ['gateway', 'setup', '--enable', '--secret', 'a-long-secret-of-it'],
  ]) {
    const { code, stdout, stderr } = await runCli(words, `${base}/file/home`);
    t.equal(code, 1, words.join(' '));
    t.match(
      stdout + stderr,
      new RegExp(`home ${base}/file/home: cannot be written: .*AGENT_HOME to another`),
      words.join(' '),
    );
  }
});

t.test('CLI-1 · a gateway without webhooks says so and how they are enabled', async (t) => {
  const home = makeHome(t, { 'config.yaml': 'agent: { runner: echo }\ninspector: { port: 0 }\n' });
  const started = await runCli(['gateway'], home.path);
  t.match(started.stdout, /webhooks are not enabled: agent gateway setup --enable\n/);
  t.equal(started.stderr, '', 'nor is a page that is still being opened reported as a fault');
  const status = JSON.parse((await runCli(['gateway', 'status', '--json'], home.path)).stdout);
  t.match(status.inspector, { enabled: true, url: /^http/ });
  const { stderr } = await runCli(['webhook', 'test', 'none'], home.path);
  t.match(stderr, /webhooks are not enabled; `agent gateway setup --enable` enables them \[gateway-not-listening\]/);
  t.equal((await runCli(['gateway', 'stop'], home.path)).code, 0);
  t.match(
    readFileSync(`${home.path}/logs/gateway.log`, 'utf8'),
    /webhooks are not enabled: `agent gateway setup --enable`/,
  );
});

t.test('CLI-1 · HOME-2 · who stopped the gateway has its home for himself', async (t) => {
  const home = makeHome(t, { 'config.yaml': 'agent: { runner: echo }\n' });
  // Newer versions of Node write their compile cache as a process ends; this one takes as long.
  const slow = 'process.on("exit", () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300));';
  const env = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(slow)}` };
  for (const round of [1, 2, 3]) {
    const started = await runCli(['gateway'], home.path, env);
    t.equal(started.code, 0, `start ${round}`);
    const pid = Number(/pid (\d+)/.exec(started.stdout)?.[1]);
    t.equal((await runCli(['gateway', 'stop'], home.path)).code, 0);
    t.ok(pid > 0 && hasEnded(pid), 'its process has ended');
    t.ok(existsSync(`${home.path}/state/closed`), 'the store is closed');
    t.notOk(existsSync(homePaths(home.path).lock), 'and the lock is free');
  }
});

t.test('CLI-1 · CON-2 · a restart keeps what waits, and its new process answers before it returns', async (t) => {
  const run = 'agent: {runner: command, command: [sh, -c, "until test -e go; do sleep 0.1; done; echo done"]}';
  const drain = 'gateway: {drain_timeout_seconds: 0}';
  const home = makeHome(t, { 'config.yaml': webhookConfig('        gh: {}\n', { more: `${run}\n${drain}` }) });
  await startBlocked(t, home.path);
  const before = (await cliJson(home.path, 'gateway', 'status')) as unknown as GatewayStatus;
  t.equal((await postSigned(`${before.webhook.url}/webhooks/gh`, {}, { secret, id: 'd1' })).status, 202);

  home.write('config.yaml', 'agent: [\n');
  const refused = await runCli(['gateway', 'restart'], home.path);
  t.equal(refused.code, 1);
  t.match(refused.stderr, /configuration on disk has errors.*config\.yaml:.*; nothing was stopped\n$/s);
  t.match(await cliJson(home.path, 'gateway', 'status'), { pid: before.pid });

  home.write('config.yaml', webhookConfig('        gh: {}\n', { more: `${run}\n${drain}` }));
  const restarted = await runCli(['gateway', 'restart'], home.path);
  t.equal(restarted.code, 0, restarted.stderr);
  t.match(restarted.stdout, /^The gateway has stopped\.\nThe gateway runs \(pid \d+\) and listens on http/);
  const after = (await cliJson(home.path, 'gateway', 'status')) as unknown as GatewayStatus;
  t.not(after.pid, before.pid);
  t.ok(hasEnded(before.pid));
  home.write('go', '');
  await until(async () => /delivered/.test((await askCli(['runs', 'list'], home.path)).stdout));

  t.equal((await runCli(['gateway', 'stop'], home.path)).code, 0);
  t.match((await runCli(['gateway', 'restart'], home.path)).stdout, /^The gateway runs \(pid \d+\)/, 'none ran');
});

t.test('CLI-1 · PKG-1 · a gateway of a service or a terminal is not replaced by one in the background', async (t) => {
  const home = makeHome(t, { 'config.yaml': webhookConfig('        gh: {}\n') });
  const daemon = await startDaemon(t, home.path);
  const { code, stderr } = await runCli(['gateway', 'restart'], home.path);
  t.equal(code, 1);
  t.match(
    stderr,
    /not known to run in the background; .*`systemctl --user restart agent-gateway`, or .*`agent gateway`\n$/,
  );
  t.equal((await postSigned(`${daemon.url}/webhooks/gh`, {}, { secret })).status, 202);
});

t.test('HOME-1 · CON-3 · a relative home is one for all, and the program of a run finds its files', async (t) => {
  const command = 'agent: {runner: command, command: [sh, -c, \'cat "$AGENT_PROMPT_FILE"\']}';
  const config = webhookConfig('        gh: {prompt: "P {n}"}\n', { more: command });
  const home = makeHome(t, { 'config.yaml': config }).path;
  const daemon = await startDaemon(t, relative('.', home));
  t.match(await cliJson(home, 'gateway', 'status'), { home });
  const answer = await postSigned(`${daemon.url}/webhooks/gh`, { n: 1 }, { secret, id: 'd1' });
  t.equal(answer.status, 202);
  await daemon.line(({ message }) => /^run (?:delivered|failed)$/.test(message));
  t.match(await cliJson(home, 'runs', 'show', 'latest'), { status: 'delivered', response: 'P 1' });
});

t.test('CLI-1 · SEC-4 · the program of a run starts a gateway of another home', async (t) => {
  const home = makeHome(t, { 'config.yaml': 'agent: { runner: echo }\n' }).path;
  for (const words of [['gateway'], ['gateway', 'stop']]) {
    const { code, stderr } = await runCli([...words, '--home', home], home, { AGENT_SOCKET: `${home}/of-a-run.sock` });
    t.equal(code, 0, stderr);
  }
});

t.test('SUB-1 · HOME-3 · subscriptions are made, refused and removed without a daemon', async (t) => {
  const home = makeHome(t, {
    'config.yaml': 'platforms: {webhook: {secret: long-enough-secret, routes: {fixed: {}}}}\n',
    'cron/jobs.json': '[{"id":"j","prompt":"p"}]',
  });
  const agent = (...words: string[]) => askCli(words, home.path);
  t.match(
    (await agent('webhook', 'subscribe', 'mine', '--events', 'a, b', '--description', 'text')).stdout,
    /URL +http:\/\/127\.0\.0\.1:8644\/webhooks\/mine\n +Secret +[0-9a-f]{64}/,
  );
  t.equal(statSync(`${home.path}/webhook_subscriptions.json`).mode & 0o777, 0o600);
  const refused: readonly (readonly [readonly string[], RegExp])[] = [
    [['fixed'], /config\.yaml/],
    [['mine'], /subscribed already/],
    [['Bad'], /lower-case/],
    [['x', '--cron-job', 'nope'], /does not exist/],
    [['x', '--deliver', 'fax'], /no target/],
    [['x', '--deliver-only'], /deliver_only/],
    [['x', '--route-profile', 'other'], /not served/],
  ];
  for (const [words, text] of refused) {
    const result = await agent('webhook', 'subscribe', ...words);
    t.equal(result.code, 1, words.join(' '));
    t.match(result.stderr, text, words.join(' '));
  }
  t.equal((await agent('webhook', 'subscribe', 'job', '--cron-job', 'j')).code, 0);
  const made = await agent('webhook', 'subscribe', 'mine', '--force', '--json');
  t.equal(made.code, 0);
  t.match((await agent('webhook', 'list')).stdout, /NAME[\s\S]*fixed[\s\S]*job[\s\S]*mine/);
  const shown = await agent('webhook', 'show', 'mine', '--json');
  t.match(JSON.parse(shown.stdout), { definition: {}, secret: { set: true, from: 'webhook_subscriptions.json' } });
  t.notOk(shown.stdout.includes(JSON.parse(made.stdout).secret), 'where its secret is, never the secret');
  t.equal((await agent('webhook', 'remove', 'fixed')).code, 1);
  t.equal((await agent('webhook', 'remove', 'mine')).code, 0);
});

t.test('CLI-1 · HOME-4 · setup by flags keeps the comments and puts the secret into .env', async (t) => {
  const home = makeHome(t, { 'config.yaml': '# mine\nagent: {} # kept\n', '.env': 'KEEP=1\nWEBHOOK_SECRET=old\n' });
  const result = await runCli(
    ['gateway', 'setup', '--enable', '--host', '127.0.0.1', '--port', '0', '--secret', 'generate'],
    home.path,
  );
  t.equal(result.code, 0, result.stderr);
  t.match(
    readFileSync(`${home.path}/config.yaml`, 'utf8'),
    /^# mine\nagent: \{\} # kept\nplatforms:\n {2}webhook:\n {4}enabled: true\n {4}extra:\n {6}host: 127\.0\.0\.1\n {6}port: 0\n/,
  );
  t.match(readFileSync(`${home.path}/.env`, 'utf8'), /^KEEP=1\nWEBHOOK_SECRET=[0-9a-f]{64}\n$/);
  const starts = await Promise.all([runCli(['gateway'], home.path), runCli(['gateway'], home.path)]);
  for (const { code, stdout, stderr } of starts) {
    t.equal(code, 0, stderr);
    t.match(stdout, /listens on http:\/\/127\.0\.0\.1:\d+|running already/, 'two starts at once lead to one gateway');
  }
  t.match((await runCli(['gateway', 'start'], home.path)).stdout, /running already/);
  t.equal((await runCli(['gateway', 'stop'], home.path)).code, 0);
});

t.test('INS-1 · INS-2 · CLI-5 · CON-4 · the running actors as a tree, one by one, and as a stream', async (t) => {
  const secret = 'inspect-secret-inspect';
  const home = makeHome(t, {
    'config.yaml': `platforms: {webhook: {enabled: true, extra: {host: 127.0.0.1, port: 0, secret: ${secret}, routes: {co: {prompt: p, coalesce: {key: id, window_seconds: 600, max_wait_seconds: 600}}, gh: {prompt: p}}}}}\n`,
  });
  const { url } = await startDaemon(t, home.path);
  await postSigned(`${url}/webhooks/co`, { id: 'x', token: secret }, { secret });

  const tree = JSON.parse((await askCli(['inspect', 'tree', '--json'], home.path)).stdout) as {
    id: string;
    machine: string;
    state: string;
    children: { id: string }[];
  };
  t.match(tree, { id: 'supervisor', machine: 'supervisor', state: 'up.running' });
  t.same(
    tree.children.map(({ id }) => id),
    ['journal', 'servers', 'gateway'],
  );
  const text = (await askCli(['inspect'], home.path)).stdout;
  t.match(text, /groups\/default\/co\/x {2}pending/);
  const group = JSON.parse(
    (await askCli(['inspect', 'show', 'groups/default/co/x', '--json'], home.path)).stdout,
  ) as Record<string, unknown>;
  t.match(group, {
    machine: 'coalescingGroup',
    state: 'pending',
    tags: ['resting', 'underWay'],
    context: { route: 'co' },
  });
  t.ok(Date.parse(String(group.since)) > 0);
  t.match(group.steps, [{ from: 'resuming', to: 'pending' }]);
  const shown = (await askCli(['inspect', 'show', 'groups/default/co/x'], home.path)).stdout;
  t.match(shown, /timers\n.* in \d+[smhd] /, 'a timer that is switched on has its time');
  t.equal((await askCli(['inspect', 'show', 'nobody'], home.path)).code, 1);

  const records: Record<string, unknown>[] = [];
  const socket = connect(`${home.path}/gateway.sock`);
  const ended = new Promise<void>((resolve) => {
    let rest = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const message = JSON.parse(line) as { id?: number; params?: Record<string, unknown> };
        if (message.id === 1) void postSigned(`${url}/webhooks/gh`, {}, { secret, id: 'followed' });
        if (message.params !== undefined) records.push(message.params);
        if (message.params?.machine === 'agentRun' && message.params.to === 'delivered') resolve();
      }
    });
  });
  socket.write('{"jsonrpc":"2.0","id":1,"method":"inspect.follow"}\n');
  await ended;
  socket.destroy();
  const passed = records
    .filter(({ machine, from }) => machine === 'webhookRequest' && from !== undefined)
    .map(({ to }) => to);
  t.same(
    passed,
    [
      'routing',
      'throttling',
      'readingBody',
      'verifying',
      'parsing',
      'matching',
      'rendering',
      'claiming',
      'dispatching',
      'answered',
    ],
    'states passed through without a pause are shown',
  );
  t.notMatch(JSON.stringify([tree, group, records]), new RegExp(secret));
});

t.test('CLI-2 · a terminal that cannot show colours gets none', { skip: !hasTerminal }, (t) => {
  const shown = (env: Readonly<Record<string, string>>): string =>
    spawnSync('script', ['-qec', `'${process.execPath}' '${main}' help events`, '/dev/null'], {
      env: { ...process.env, NO_COLOR: '', ...env },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    }).stdout;
  t.match(shown({ TERM: 'xterm' }), '\u001b[');
  t.notMatch(shown({ TERM: 'dumb' }), '\u001b[');
  t.notMatch(shown({ TERM: 'xterm', NO_COLOR: '1' }), '\u001b[');
  t.end();
});
