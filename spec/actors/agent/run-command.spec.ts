import { chmodSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { type CommandRunnerSettings, createCommandRunner } from '../../../actors/agent/run-command.ts';
import type { AgentRunOutcome, AgentRunRequest } from '../../../actors/ports.ts';
import { makeHome } from '../../support/home.ts';
import { numbersIn, until } from '../../support/processes.ts';
import { plainRequest } from '../../support/records.ts';
import { turn } from '../../support/turns.ts';

const request: AgentRunRequest = { ...plainRequest, route: 'deploys' };

function settingsOf(command: readonly string[], cwd: string): CommandRunnerSettings {
  const openSocket = async () => () => {};
  const files = { folder: join(cwd, 'state', 'runs'), program: ['node', 'main.js'] as const, openSocket };
  return { command, cwd, env: { API_KEY: 'k1' }, files };
}

function run(
  script: string,
  cwd: string,
  more: Partial<AgentRunRequest> = {},
  signal?: AbortSignal,
): Promise<AgentRunOutcome> {
  const runner = createCommandRunner(settingsOf(['sh', '-c', script], cwd));
  return runner({ ...request, ...more }, signal ?? new AbortController().signal);
}

t.test('CON-3 · the program runs in the home of its profile with its keys and no other’s', async (t) => {
  const home = makeHome(t, { 'here.txt': 'home' });
  process.env.KEY_OF_THE_DAEMON = 'x';
  t.teardown(() => {
    delete process.env.KEY_OF_THE_DAEMON;
  });
  t.same(await run('cat here.txt; echo " $API_KEY ${KEY_OF_THE_DAEMON-unset} $AGENT_ATTEMPT"', home.path), {
    kind: 'responded',
    response: 'home k1 unset 1',
  });
});

t.test('DIS-3 · the prompt reaches the program whole, whatever is in it, and in no argument', async (t) => {
  const home = makeHome(t);
  const prompt = `$(touch x) \`id\` "'\\ ü\n${'long '.repeat(100_000)}end`;
  t.same(await run('cat', home.path, { prompt }), { kind: 'responded', response: prompt });
});

t.test('CRN-2 · CON-3 · the program gets the model that a job names, where it names one', async (t) => {
  const home = makeHome(t);
  const script = 'echo "${AGENT_MODEL-none}"';
  t.match(await run(script, home.path), { response: 'none' });
  t.match(await run(script, home.path, { model: 'other' }), { response: 'other' });
});

t.test('CON-3 · DIS-3 · no value that a sender chose keeps the program from being started', async (t) => {
  const home = makeHome(t);
  const long = '\u{1F600}'.repeat(250_000);
  const hostile = { deliveryId: 'a\0b', event: long, route: long, runId: `r\0${long}`, traceparent: '\0', model: long };
  const script = 'echo "$AGENT_DELIVERY_ID $AGENT_PROFILE $1"; printf %s "$AGENT_EVENT" | wc -c';
  const command = ['sh', '-c', script, 'sh', '${AGENT_DELIVERY_ID}'];
  const runner = createCommandRunner(settingsOf(command, home.path));
  const outcome = await runner({ ...request, ...hostile }, new AbortController().signal);
  t.match(outcome, { kind: 'responded', response: /^ab default ab\n\s*65536$/ });
});

t.test('DIS-3 · a response is what the program says, without what it prints for a terminal', async (t) => {
  const home = makeHome(t);
  for (const [printed, response] of [
    ['\\357\\273\\277# Title\\n', '# Title'],
    ['\\033[?25l\\033[1;31mred\\033[0m text\\033[K\\n\\033[2K', 'red text'],
    ['one\\033]8;;https://example.org\\033\\\\link\\033]8;;\\033\\\\', 'onelink'],
    ['a [1m] b\\033', 'a [1m] b\u001b'],
  ] as const)
    t.same(await run(`printf '${printed}'`, home.path), { kind: 'responded', response });
});

t.test('DIS-4 · silence is a response', async (t) => {
  t.same(await run('true', makeHome(t).path), { kind: 'responded', response: '' });
});

t.test('DIS-3 · a failed run says why, and shows no half of a secret', async (t) => {
  const home = makeHome(t);
  t.match(await run('exit 3', home.path), { kind: 'failed', reason: /exited with 3$/ });
  // Claude Code prints that its key is refused where its answer would be.
  t.match(await run('echo "Invalid API key · Please run /login"; echo >&2; exit 1', home.path), {
    kind: 'failed',
    reason: /exited with 1: Invalid API key · Please run \/login$/,
  });
  t.match(await run('echo half an answer; echo the reason >&2; exit 1', home.path), {
    kind: 'failed',
    reason: /exited with 1: the reason$/,
  });
  const outcome = await run(
    'printf "key sk-%0480d and more words that fill the line up to its limit" 7 >&2; exit 1',
    home.path,
  );
  t.match(outcome, { kind: 'failed', reason: /exited with 1: ….*its limit$/ });
  t.notMatch(outcome.kind === 'failed' ? outcome.reason : '', /\d{3}/);
  t.match(await run('head -c 10485761 /dev/zero', home.path), { kind: 'failed', reason: /more than 10485760 bytes/ });
  const gone = createCommandRunner({ ...settingsOf(['true'], home.path), cwd: `${home.path}/gone` });
  t.match(await gone(request, new AbortController().signal), {
    kind: 'failed',
    reason: /could not be started.*not a folder/,
  });
  home.write('agent.sh', '#!/bin/sh\r\ncat\r\n');
  chmodSync(`${home.path}/agent.sh`, 0o755);
  const saved = createCommandRunner(settingsOf([`${home.path}/agent.sh`], home.path));
  t.match(await saved(request, new AbortController().signal), { reason: /first line .* ends with a carriage return$/ });
  const none = createCommandRunner(settingsOf([], home.path));
  t.match(await none(request, new AbortController().signal), {
    kind: 'failed',
    reason: /was not found.*; install it, or give its full path$/,
  });
});

t.test('DIS-3 · a run that is stopped ends with everything it began', async (t) => {
  const home = makeHome(t);
  const stopping = new AbortController();
  const outcome = run('echo step 3 of 9; sleep 600 & echo $! >>pids; wait', home.path, {}, stopping.signal);
  await until(() => numbersIn(`${home.path}/pids`).length === 1);
  // What it has printed is read.
  await turn();

  stopping.abort();

  t.match(await outcome, { kind: 'failed', reason: /was stopped/, printed: ': step 3 of 9' });
});

t.test('CON-3 · DIS-3 · a program finds its prompt and the supervised tools in files that go with it', async (t) => {
  const home = makeHome(t);
  const seen = 'stat -c %a "$AGENT_MCP_CONFIG" "$AGENT_PROMPT_FILE"; cat "$AGENT_PROMPT_FILE" "$AGENT_MCP_CONFIG"';
  const outcome = await run(seen, home.path, { prompt: 'Prompt\n' });
  const text = outcome.kind === 'responded' ? outcome.response : '';
  t.match(text, /^600\n600\nPrompt\n\{/);
  const socket = /AGENT_SOCKET": "(.*)"/.exec(text)?.[1] ?? '';
  t.match(socket, /state\/runs\/run-\w+\/agent\.sock$/);
  t.same(JSON.parse(text.slice(text.indexOf('{'))), {
    mcpServers: {
      agent: {
        type: 'stdio',
        command: 'node',
        args: ['main.js', 'mcp', 'serve', '--profile', 'default', '--toolsets', 'none'],
        env: { AGENT_SOCKET: socket },
      },
    },
  });
  t.same(readdirSync(join(home.path, 'state/runs')), []);
  await run('exit 1', home.path);
  t.same(readdirSync(join(home.path, 'state/runs')), [], 'a run that fails leaves none either');
});

t.test('LIM-5 · DUR-3 · a run whose files a full or read-only disk refuses has not begun', async (t) => {
  const home = makeHome(t);
  for (const [code, kind] of [
    ['ENOSPC', 'notBegun'],
    ['EROFS', 'notBegun'],
    ['EMFILE', 'notBegun'],
    ['EACCES', 'failed'],
  ] as const) {
    const settings = settingsOf(['true'], home.path);
    const openSocket = () => Promise.reject(Object.assign(new Error(`${code}: refused`), { code }));
    const runner = createCommandRunner({ ...settings, files: { ...settings.files, openSocket } });
    t.match(await runner(request, new AbortController().signal), { kind, reason: `cannot be written: ${code}` });
  }
  t.same(readdirSync(join(home.path, 'state/runs')), []);
});

t.test('DUR-1 · a program has the prompt in its file no sooner than on its input', async (t) => {
  const home = makeHome(t);
  const handOver = async (): Promise<void> => {
    // Time enough for a program that did not wait.
    await until(() => readdirSync(join(home.path, 'state/runs')).length === 1);
    for (let n = 0; n < 20; n += 1) await run('true', makeHome(t).path);
    home.write('counts', '1');
  };
  const outcome = await run('ls counts; cat "$AGENT_PROMPT_FILE"', home.path, { handOver });
  t.same(outcome, { kind: 'responded', response: 'counts\nhello' });
});

t.test('SEC-4 · CON-3 · the program is lent the socket of its run, which is gone with it, and no home', async (t) => {
  const home = makeHome(t);
  const opened: string[] = [];
  const closed: string[] = [];
  const settings = settingsOf(['sh', '-c', 'echo "$AGENT_SOCKET ${AGENT_HOME-none}"'], home.path);
  const openSocket: typeof settings.files.openSocket = async (path, { profile, toolsets }) => {
    opened.push(`${path} ${profile} ${toolsets.join()}`);
    return () => void closed.push(path);
  };
  const runner = createCommandRunner({ ...settings, files: { ...settings.files, openSocket } });
  const outcome = await runner({ ...request, toolsets: ['mcp-docs'] }, new AbortController().signal);
  const [path = ''] = closed;
  t.same(outcome, { kind: 'responded', response: `${path} none` });
  t.same(opened, [`${path} default mcp-docs`]);
  const failing = createCommandRunner({
    ...settings,
    files: { ...settings.files, openSocket: () => Promise.reject(new Error('no room')) },
  });
  t.match(await failing(request, new AbortController().signal), {
    kind: 'failed',
    reason: /cannot be written: no room/,
  });
  t.same(readdirSync(join(home.path, 'state/runs')), []);
});

t.test(
  'SEC-4 · CON-3 · an id that a sender chose is percent-encoded in a word, and itself in the variable',
  async (t) => {
    const home = makeHome(t);
    const command = [
      'sh',
      '-c',
      'echo "$1 $2 $AGENT_DELIVERY_ID"',
      'sh',
      '${AGENT_DELIVERY_ID}',
      'x=${AGENT_DELIVERY_ID}',
    ];
    const runner = createCommandRunner(settingsOf(command, home.path));
    const outcome = await runner({ ...request, deliveryId: '-a/${AGENT_RUN_ID}' }, new AbortController().signal);
    const word = '%2Da%2F%24%7BAGENT_RUN_ID%7D';
    t.same(outcome, { kind: 'responded', response: `${word} x=${word} -a/\${AGENT_RUN_ID}` });
  },
);

t.test('CON-3 · a word of the command may name what a run has', async (t) => {
  const home = makeHome(t);
  const runner = createCommandRunner(
    settingsOf(['printf', '%s|', '--mcp-config=${AGENT_MCP_CONFIG}', '${AGENT_RUN_ID}', '${OTHER}'], home.path),
  );
  t.match(await runner(request, new AbortController().signal), {
    response: /^--mcp-config=.*state\/runs\/run-\w+\/mcp\.json\|r1\|\$\{OTHER\}\|$/,
  });
});
