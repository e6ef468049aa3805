/**
 * A signed event becomes a run of a model that uses a tool of a real server, and its answer is delivered: the real daemon,
 * a local endpoint of either kind, the reference file server.
 */

import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import { askCli, type Daemon, runCli, startDaemon } from '../support/daemon.ts';
import { makeHome, type TestHome } from '../support/home.ts';
import { child } from '../support/mcp/gateway.ts';
import { type ModelReply, type ModelServer, startModelServer } from '../support/model-server.ts';
import { hasEnded, numbersIn, until } from '../support/processes.ts';
import { serve } from '../support/run-program.ts';
import { postSigned } from '../support/sign.ts';
import { inAllOnly } from '../support/tier.ts';
import { cliJson, secret, webhookConfig } from '../support/webhook-home.ts';

const files = fileURLToPath(new URL('../servers/filesystem.js', import.meta.url));
const key = 'sk-model-key-of-the-journey';

interface Wanted {
  readonly provider?: string;
  readonly trust?: string;
  readonly routes?: string;
  readonly agent?: string;
}

function makeModelHome(t: Test, server: ModelServer, wanted: Wanted = {}): TestHome {
  const { provider = 'openai-compatible', trust = 'full', routes = '', agent = '' } = wanted;
  const home = makeHome(t, { '.env': `MODEL_KEY=${key}\n` });
  const prices = '{input_per_million: 1000, output_per_million: 2000}';
  const model = `{provider: ${provider}, base_url: "${server.url}", api_key: "\${MODEL_KEY}", name: usual, max_steps: 3, prices: ${prices}}`;
  home.write(
    'config.yaml',
    webhookConfig(`        gh: {prompt: "Look at {n}", toolsets: [agent-webhook, mcp]}\n${routes}`, {
      more: `agent:
  runner: model
  model: ${model}
  ${agent}
mcp_servers:
  files: {command: ${process.execPath}, args: ["${files}", "${process.cwd()}"], trust: ${trust}}
`,
    }),
  );
  return home;
}

/** The server reads in the folder that the daemon was started in. */
const readPackage = {
  kind: 'says',
  text: 'I look.',
  calls: [
    {
      name: 'mcp__files__read_text_file',
      args: JSON.stringify({ path: join(process.cwd(), 'package.json'), head: 2 }),
    },
  ],
} as const satisfies ModelReply;

async function send(daemon: Daemon, payload: JsonObject, route = 'gh'): Promise<void> {
  const answer = await postSigned(`${daemon.url}/webhooks/${route}`, payload, { secret });
  if (answer.status !== 202) throw new Error(`the event was answered ${answer.status}`);
}

async function runs(home: string): Promise<readonly JsonObject[]> {
  return (await cliJson(home, 'runs', 'list')) as readonly JsonObject[];
}

/** Resolves once its first server is connected. */
const connected = (home: string): Promise<void> =>
  until(async () => ((await cliJson(home, 'mcp', 'list')) as JsonObject[])[0]?.state === 'connected');

/** The newest run once its status is as wanted. */
async function runThatIs(home: string, status: string): Promise<JsonObject> {
  let found: JsonObject | undefined;
  await until(async () => {
    [found] = await runs(home);
    return found?.status === status;
  });
  return (await cliJson(home, 'runs', 'show', String(found?.id), '--transcript')) as JsonObject;
}

for (const provider of ['openai-compatible', 'anthropic'] as const) {
  t.test(`DIS-3 · CON-3 · CON-4 · an event is answered with a tool’s help, ${provider}`, async (t) => {
    const server = await startModelServer(t, [readPackage, { kind: 'says', text: 'It is the gateway.' }]);
    const home = makeModelHome(t, server, { provider });
    const daemon = await startDaemon(t, home.path);

    await send(daemon, { n: 7 });

    const run = await runThatIs(home.path, 'delivered');
    t.match(run, {
      response: 'It is the gateway.',
      attempt: 1,
      steps: 2,
      input_tokens: 20,
      cached_tokens: 8,
      output_tokens: 10,
      cost: provider === 'anthropic' ? 0.0328 : 0.04,
      delivery: { target: 'log', text: 'It is the gateway.' },
    });
    t.match(run.transcript, [
      { kind: 'prompt', text: 'Look at 7' },
      { kind: 'answer', text: 'I look.', input_tokens: 10 },
      { kind: 'call', tool: 'mcp__files__read_text_file', arguments: /package\.json/ },
      { kind: 'result', text: /agent-gateway/, is_error: false },
      { kind: 'answer', text: 'It is the gateway.' },
    ]);
    const offered = JSON.stringify(server.asked[0]?.body.tools);
    for (const name of ['web_extract', 'vision_analyze', 'clarify', 'mcp__files__read_text_file'])
      t.match(offered, `"${name}"`);
    t.notMatch(offered, '"web_search"', 'without an endpoint there is no search');
    t.equal(server.asked[0]?.headers[provider === 'anthropic' ? 'x-api-key' : 'authorization']?.includes(key), true);
    t.notMatch(JSON.stringify([run, daemon.log]), key);
    const shown = await askCli(['runs', 'show', String(run.id), '--transcript'], home.path);
    t.match(shown.stdout, /2 steps, 20 tokens in, 8 of them from the cache, and 10 out, cost 0\.0/);
    t.match(shown.stdout, /call mcp__files__read_text_file\n +\{"path"/);
  });
}

t.test('DIS-3 · CLI-5 · the transcript shows each result below its call, whichever came first', async (t) => {
  const calls = [...readPackage.calls, { name: 'nope', args: '{}' }];
  const server = await startModelServer(t, [
    { ...readPackage, calls },
    { ...readPackage, calls },
    { kind: 'says', text: 'Done.' },
  ]);
  const home = makeModelHome(t, server);
  await send(await startDaemon(t, home.path), { n: 7 });

  const run = await runThatIs(home.path, 'delivered');

  const entries = run.transcript as readonly JsonObject[];
  t.match(
    entries.slice(2, 6).map(({ kind, is_error }) => [kind, is_error]),
    [['call'], ['call'], ['result', true], ['result', false]],
    'the refusal comes first',
  );
  const { stdout } = await askCli(['runs', 'show', String(run.id), '--transcript'], home.path);
  const heads = stdout.split('\n').filter((line) => /^(?:answer|call|result|error)/.test(line));
  const step = ['answer', 'call mcp__files__read_text_file', 'result', 'call nope', 'error'];
  t.same(heads, [...step, ...step, 'answer']);
});

t.test(
  'DIS-5 · a run is offered what its route’s toolsets name, no tool of a server where they name none, and a cron job all',
  async (t) => {
    const server = await startModelServer(t, [{ kind: 'says', text: 'Done.' }]);
    const routes = [
      '        only: {prompt: go, toolsets: [clarify, mcp__files__list_directory, terminal, nope]}',
      '        none: {prompt: go, toolsets: []}',
      '        usual: {prompt: "{title}"}',
      '        fires: {prompt: "{title}", cron_job: digest}',
    ].join('\n');
    const home = makeModelHome(t, server, { routes });
    const daemon = await startDaemon(t, home.path);

    await runCli(['cron', 'add', 'digest', '@daily', '--prompt', 'Sum up.'], home.path);

    const offered = async (begin: () => Promise<unknown>): Promise<readonly string[]> => {
      const count = server.asked.length;
      await begin();
      await until(() => server.asked.length > count);
      const tools = (server.asked[count]?.body.tools ?? []) as unknown as { function: { name: string } }[];
      return tools.map((one) => one.function.name);
    };
    const sent = (route: string) => offered(() => send(daemon, { title: 'Call every tool you have' }, route));
    const usual = ['web_extract', 'vision_analyze', 'clarify'];
    t.same(await sent('only'), ['clarify', 'mcp__files__list_directory']);
    t.same(await sent('none'), []);
    t.same(await sent('usual'), usual, 'what a stranger writes reaches no tool of a server');
    t.same(await sent('fires'), usual, 'nor by a job that it fires');
    const own = await offered(() => runCli(['cron', 'run', 'digest'], home.path));
    t.ok(own.includes('mcp__files__read_text_file'), own.join());
    for (const [name, why] of [
      ['terminal', 'not for webhook runs'],
      ['nope', 'unknown toolset'],
    ])
      await daemon.line(({ level, message }) => level === 'warn' && message.includes(`"${name}" dropped: ${why}`));
  },
);

t.test(
  'TRU-1 · TRU-3 · INS-2 · a run waits for the yes to a tool of an untrusted server, and its timeline says so',
  async (t) => {
    const path = join(process.cwd(), 'dist', 'never-made');
    // It exists, so nothing is made.
    const make = { name: 'mcp__files__create_directory', args: JSON.stringify({ path: join(process.cwd(), 'dist') }) };
    const server = await startModelServer(t, [
      { kind: 'says', calls: [{ name: 'mcp__files__create_directory', args: JSON.stringify({ path }) }] },
      { kind: 'says', text: 'It was not allowed.' },
      { kind: 'says', text: 'I make it.', calls: [make] },
      { kind: 'says', calls: [make, make] },
      { kind: 'says', text: 'It is there.' },
      { kind: 'says', calls: [make] },
      { kind: 'says', text: 'So I stop.' },
    ]);
    const home = makeModelHome(t, server, { trust: 'untrusted' });
    const daemon = await startDaemon(t, home.path);
    await send(daemon, { n: 1 });
    let asked: readonly JsonObject[] = [];
    await until(async () => {
      asked = (await cliJson(home.path, 'approvals', 'list')) as readonly JsonObject[];
      return asked.length === 1;
    });

    const { id, run: waiting } = asked[0] ?? {};
    t.match(await cliJson(home.path, 'inspect', 'why', String(waiting)), {
      verdict: 'Accepted: its run waits for your yes to mcp__files__create_directory.',
      cure: new RegExp(`^\`agent approvals approve ${String(id)}\` lets it run`),
      phases: [
        { kind: 'request' },
        { kind: 'run' },
        { kind: 'call', state: 'approving', steps: [{ state: 'approving', result: 'waiting', rule: 'TRU-1' }] },
      ],
    });

    for (const words of [
      ['runs', 'list'],
      ['webhook', 'deliveries'],
      ['runs', 'show', String(waiting)],
      ['webhook', 'deliveries', String(waiting)],
    ]) {
      const { stdout } = await askCli(words, home.path);
      t.match(stdout, /waiting for you/, words.join(' '));
      t.match(stdout, `agent approvals show ${String(id)}`, 'and how it goes on');
    }
    t.match(await runs(home.path), [{ status: 'running', question: id }]);

    await askCli(['approvals', 'deny', String(id)], home.path);

    const run = await runThatIs(home.path, 'delivered');
    t.match(run.transcript, [
      {},
      {},
      { kind: 'call' },
      { kind: 'result', text: /was denied \[approval_denied\]/, is_error: true },
    ]);

    // A yes for its run: the further calls of that run ask nobody, and the next run asks again.
    const question = async (): Promise<string> => {
      await until(async () => {
        asked = (await cliJson(home.path, 'approvals', 'list')) as readonly JsonObject[];
        return asked.length === 1;
      });
      return String(asked[0]?.id);
    };
    await send(daemon, { n: 2, sender: { login: 'lena-k' } });
    const second = await question();
    t.match(await cliJson(home.path, 'approvals', 'show', second), {
      said: 'I make it.',
      prompt: /2/,
      asked_by: { agent: /^openai-compatible/, event: 'push', person: 'lena-k' },
    });
    t.match(await askCli(['approvals', 'approve', second, '--for-run'], home.path), { stdout: /for its run/ });
    await until(() => server.asked.length === 5);
    t.match(await runThatIs(home.path, 'delivered'), { response: 'It is there.' });
    t.same(await cliJson(home.path, 'approvals', 'list'), []);

    await send(daemon, { n: 3 });
    await askCli(['approvals', 'deny', await question(), '--note', 'not on Fridays'], home.path);
    await until(() => server.asked.length === 7);
    t.match((await runThatIs(home.path, 'delivered')).transcript, [
      {},
      {},
      {},
      { kind: 'result', text: /was denied: not on Fridays \[approval_denied\]/ },
    ]);
  },
);

t.test('TRU-5 · the clock of a run stands still while a person is asked, and its questions end with it', async (t) => {
  const path = join(process.cwd(), 'dist', 'never-made');
  const ask: ModelReply = {
    kind: 'says',
    calls: [{ name: 'mcp__files__create_directory', args: JSON.stringify({ path }) }],
  };
  const server = await startModelServer(t, [
    ask,
    { kind: 'says', text: 'It was not allowed.' },
    ask,
    { kind: 'silent' },
  ]);
  const home = makeModelHome(t, server, { trust: 'untrusted', agent: 'timeout_seconds: 60' });
  const daemon = await startDaemon(t, home.path, {}, { timePasses: true });
  await connected(home.path);
  const question = async (): Promise<string> => {
    let asked: readonly JsonObject[] = [];
    await until(async () => {
      asked = (await cliJson(home.path, 'approvals', 'list')) as readonly JsonObject[];
      return asked.length === 1;
    });
    return String(asked[0]?.id);
  };
  await send(daemon, { n: 1 });
  const first = await question();
  // Far beyond the run's own minute, and within the five minutes that the question shows.
  await daemon.pass(240_000);
  t.match(await runs(home.path), [{ status: 'running', question: first }]);
  await askCli(['approvals', 'deny', first], home.path);
  t.match(await runThatIs(home.path, 'delivered'), { response: 'It was not allowed.' });

  await send(daemon, { n: 2 });
  await askCli(['approvals', 'deny', await question()], home.path);
  // The model has the answer and says nothing: from here on the clock runs again.
  await until(() => server.asked.length === 4);
  await daemon.pass(60_000);
  t.match(await runThatIs(home.path, 'failed'), { reason: /took longer than 60 s/ });
});

t.test('DIS-3 · CLI-5 · a run is cancelled while it runs and while it waits, and nothing is delivered', async (t) => {
  const server = await startModelServer(t, [readPackage, { kind: 'silent' }]);
  const home = makeModelHome(t, server, { agent: 'concurrency: 1' });
  const daemon = await startDaemon(t, home.path);
  await send(daemon, { n: 1 });
  await until(() => server.asked.length === 2);
  await send(daemon, { n: 2 });
  await send(daemon, { n: 3 });
  let ids: readonly string[] = [];
  await until(async () => {
    ids = (await runs(home.path)).map(({ id }) => String(id));
    return ids.length === 3;
  });

  const waiting = await askCli(['runs', 'cancel', String(ids[0])], home.path);
  const others = await askCli(['runs', 'cancel', '--all', '--status', 'queued'], home.path);
  const running = await askCli(['runs', 'cancel', String(ids[2])], home.path);
  const again = await askCli(['runs', 'cancel', String(ids[2])], home.path);
  const unknown = await askCli(['runs', 'cancel', 'nothing'], home.path);

  t.same([waiting.code, waiting.stdout], [0, `Cancelled ${ids[0]}.\n`]);
  t.same([others.code, others.stdout], [0, 'Cancelled 1 run.\n']);
  t.same([running.code, running.stdout], [0, `Cancelled ${ids[2]}.\n`]);
  t.match(again, { code: 1, stderr: /is cancelled and cannot be cancelled any more \[run-over\]/ });
  t.match(unknown, { code: 1, stderr: /\[run-unknown\]/ });
  for (const id of ids) {
    const run = (await cliJson(home.path, 'runs', 'show', id, '--transcript')) as JsonObject;
    t.match(run, { status: 'cancelled', reason: 'cancelled by the command line', response: null, ended_at: /T/ });
    t.equal(run.delivery, undefined);
  }
  const run = (await cliJson(home.path, 'runs', 'show', String(ids[2]), '--transcript')) as JsonObject;
  t.match(run, { steps: 2, input_tokens: 10 });
  t.match(
    await cliJson(home.path, 'runs', 'list', '--status', 'cancelled'),
    ids.map((id) => ({ id })),
  );
  // The place is free again.
  const before = server.asked.length;
  await send(daemon, { n: 3 });
  await until(() => server.asked.length > before);
});

t.test('DIS-3 · PRF-2 · a program of the command runner is cancelled with all it began', async (t) => {
  const home = makeHome(t, {
    'config.yaml': webhookConfig('        gh: {prompt: go}', {
      more: 'agent: {runner: command, command: [sh, -c, "echo $$ >>pids; sleep 600 & echo $! >>pids; wait"]}\n',
    }),
  });
  const daemon = await startDaemon(t, home.path);
  await send(daemon, {});
  await until(() => numbersIn(join(home.path, 'pids')).length === 2);
  const [run] = await runs(home.path);

  t.match(await askCli(['runs', 'cancel', String(run?.id)], home.path), { code: 0 });

  await until(() => numbersIn(join(home.path, 'pids')).every(hasEnded));
  t.match(await runs(home.path), [{ status: 'cancelled' }]);
});

t.test('DUR-1 · DIS-3 · a run that a kill cut off in mid-answer runs once more, with the tools there', async (t) => {
  const server = await startModelServer(t, (_, index) =>
    index === 0
      ? { kind: 'silent', text: 'Half an ans' }
      : index === 1
        ? readPackage
        : { kind: 'says', text: 'Whole.' },
  );
  const home = makeModelHome(t, server);
  const first = await startDaemon(t, home.path);
  await send(first, { n: 1 });
  await until(() => server.asked.length === 1);

  await first.kill('SIGKILL');
  await startDaemon(t, home.path);

  const run = await runThatIs(home.path, 'delivered');
  t.match(run, { attempt: 2, response: 'Whole.' });
  t.match(run.transcript, [{}, {}, {}, { kind: 'result', text: /agent-gateway/, is_error: false }, {}]);
});

t.test('CON-3 · DIS-3 · a program calls a supervised tool through the file that AGENT_MCP_CONFIG names', async (t) => {
  const program = `${serve}
const { tools, content } = await serve('mcp__files__list_allowed_directories', {});
process.stdout.write(tools.join() + ' ' + JSON.stringify(content));
`;
  const home = makeHome(t, {
    'scripts/program.mjs': program,
    'config.yaml': webhookConfig('        gh: {prompt: go, toolsets: [mcp__files__list_allowed_directories]}', {
      more: `agent: {runner: command, command: [node, scripts/program.mjs]}
mcp_servers:
  files: {command: ${process.execPath}, args: ["${files}", "${process.cwd()}"]}
`,
    }),
  });
  const daemon = await startDaemon(t, home.path);
  await connected(home.path);

  await send(daemon, {});

  const run = await runThatIs(home.path, 'delivered');
  t.match(run.response, /^mcp__files__list_allowed_directories \[\{"type":"text","text":"Allowed directories/);
  const { phases } = (await cliJson(home.path, 'inspect', 'why', String(run.delivery_id))) as {
    phases: readonly JsonObject[];
  };
  t.equal(phases.filter(({ kind }) => kind === 'call').length, 1, 'the call is shown with its run');
});

t.test(
  'DUR-1 · an attempt that a crash cuts off before the model has the prompt does not count',
  { skip: inAllOnly },
  async (t) => {
    const server = await startModelServer(t, [{ kind: 'says', text: 'At last.' }]);
    const home = makeModelHome(t, server, { agent: 'on_interrupted: report' });
    const config = readFileSync(`${home.path}/config.yaml`, 'utf8');
    // The run waits for a server that is on its way.
    const slow = child(t, ['silent']).entry;
    home.write('config.yaml', config.replace(/files: .*/, `slow: ${JSON.stringify(slow)}`));
    const first = await startDaemon(t, home.path);
    await send(first, { n: 1 });
    await runThatIs(home.path, 'running');
    await first.kill('SIGKILL');
    t.same(server.asked, [], 'the model has seen nothing');

    home.write('config.yaml', config);
    await startDaemon(t, home.path);

    t.match(await runThatIs(home.path, 'delivered'), { attempt: 1, response: 'At last.' });
  },
);

t.test('DIS-3 · DUR-1 · a run that begins when another version has been installed waits for the restart', async (t) => {
  const server = await startModelServer(t, [{ kind: 'says', text: 'At last.' }]);
  const home = makeModelHome(t, server);
  const program = t.testdir();
  for (const file of [
    'package.json',
    'dist/cli/main.js',
    ...readdirSync('dist/bundle').map((name) => `dist/bundle/${name}`),
  ]) {
    if (!file.endsWith('.js') && !file.endsWith('.json')) continue;
    mkdirSync(dirname(join(program, file)), { recursive: true });
    linkSync(file, join(program, file));
  }
  const first = await startDaemon(t, home.path, {}, { entry: join(program, 'dist/cli/main.js') });
  rmSync(join(program, 'dist/bundle'), { recursive: true });

  await send(first, { n: 1 });
  await first.line(({ message }) => /cannot be started; they wait .*stop it and start it again/.test(String(message)));
  t.match(await runThatIs(home.path, 'queued'), { attempt: 0 });
  t.equal(await first.kill('SIGTERM'), 0);
  await startDaemon(t, home.path);

  t.match(await runThatIs(home.path, 'delivered'), { attempt: 1, response: 'At last.' });
});
