/** A person talks to a model in the terminal: through a pipe, in a real terminal, and on the socket itself. */

import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import { askCli, type CliResult, type Daemon, main, runCli, startDaemon } from '../support/daemon.ts';
import { makeHome, type TestHome } from '../support/home.ts';
import { controlOf } from '../support/mcp/gateway.ts';
import { type AskedModel, type ModelReply, type ModelServer, startModelServer } from '../support/model-server.ts';
import { collected, until } from '../support/processes.ts';
import { postSigned } from '../support/sign.ts';
import { hasTerminal, startTerminal } from '../support/terminal.ts';
import { inAllOnly } from '../support/tier.ts';
import { webhookConfig, secret as webhookSecret } from '../support/webhook-home.ts';

const files = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-filesystem/dist/index.js'));
const secret = 'sk-0123456789abcdefghijkl';
const folder = join(process.cwd(), 'dist', 'spec');

interface Scene {
  readonly home: TestHome;
  readonly server: ModelServer;
  readonly daemon: Daemon;
}

/** A daemon whose model answers by what was said last. */
async function scene(t: Test, provider = 'openai-compatible'): Promise<Scene> {
  const server = await startModelServer(t, replyTo);
  const home = makeHome(t);
  home.write(
    'config.yaml',
    webhookConfig('        gh: {prompt: make, toolsets: [mcp-locked]}', {
      more: `agent:
  runner: model
  model: {provider: ${provider}, base_url: "${server.url}", name: usual}
mcp_servers:
  files: {command: ${process.execPath}, args: ["${files}", "${process.cwd()}"]}
  locked: {command: ${process.execPath}, args: ["${files}", "${process.cwd()}"], trust: untrusted, tools: {include: [create_directory]}}
`,
    }),
  );
  const daemon = await startDaemon(t, home.path);
  return { home, server, daemon };
}

function replyTo({ body }: AskedModel): ModelReply {
  const last = (body.messages as readonly JsonObject[]).at(-1) ?? {};
  const text = JSON.stringify(last.content);
  if (last.role === 'tool' || text.includes('tool_result'))
    return { kind: 'says', text: `It says ${secret} and more.` };
  if (text.includes('read'))
    return calls('mcp__files__read_text_file', { path: join(process.cwd(), 'package.json'), head: 2 });
  if (text.includes('make')) return calls('mcp__locked__create_directory', { path: folder });
  if (text.includes('ask')) return calls('clarify', { question: 'Which color?', choices: ['red', 'blue'] });
  if (text.includes('slow')) return { kind: 'silent', text: 'I begin ' };
  if (text.includes('bad')) return { kind: 'status', status: 401 };
  // With a mark for the endpoint's cache, the text is in a block.
  const [, said = ''] = /"text":"([^"]*)"/.exec(text) ?? [];
  return { kind: 'says', text: `You said \u001b[31m${said || String(last.content)}` };
}

function calls(name: string, args: JsonObject): ModelReply {
  return { kind: 'says', text: 'Let me see. ', calls: [{ name, args: JSON.stringify(args) }] };
}

/** Runs a chat on a pipe that says everything at once. */
function pipe(home: string, said: string): Promise<CliResult> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [main, 'chat'], { env: { ...process.env, AGENT_HOME: home } });
    const result = { stdout: '', stderr: '' };
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      result.stdout += chunk;
    });
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      result.stderr += chunk;
    });
    child.once('close', (code) => resolve({ code, ...result }));
    child.stdin.end(said);
  });
}

for (const provider of ['openai-compatible', 'anthropic'] as const) {
  const when = { skip: provider === 'anthropic' && inAllOnly };
  t.test(`CLI-4 · DIS-3 · a pipe gets the answers, and what was called beside them, ${provider}`, when, async (t) => {
    const { home, server } = await scene(t, provider);

    const { code, stdout, stderr } = await pipe(home.path, 'hello\n\nplease read\n');

    t.equal(code, 0);
    t.match(
      stdout,
      'You said \uFFFD[31mhello\nLet me see. \nIt says [redacted] and more.\n',
      'and nothing moves the cursor',
    );
    t.match(stderr, /→ mcp__files__read_text_file \{"path".*\n {2}✓ \d+ characters\n/);
    const turns = server.asked.at(-1)?.body.messages as readonly JsonObject[];
    t.match(JSON.stringify(turns), /hello.*You said.*please read.*agent-gateway/s, 'the conversation goes along');
    const failed = await pipe(home.path, 'bad\n');
    t.match(failed, { code: 1, stderr: /agent: the model endpoint answered HTTP 401; check agent\.model\.api_key/ });
  });
}

t.test(
  'CLI-4 · CLI-6 · TRU-3 · SEC-7 · in a terminal: questions, commands, pastes, Ctrl-C, history',
  { skip: !hasTerminal && 'no script' },
  async (t) => {
    const { home, server } = await scene(t);
    await until(async () => {
      const rows = JSON.parse((await askCli(['mcp', 'list', '--json'], home.path)).stdout) as readonly JsonObject[];
      return rows.length === 2 && rows.every(({ state }) => state === 'connected');
    });
    const chat = startTerminal(t, ['chat'], { AGENT_HOME: home.path });
    await chat.shows(/usual, 18 tools\. \/help/);

    chat.type('make it\r');
    await chat.shows(/locked wants a yes[\s\S]*"path"[\s\S]*\n *locked says: “Create[\s\S]*”[\s›]*allow it\? \[y\/n\]/);
    chat.type('perhaps\r');
    await chat.shows(/allow it\? \[y\/n\]/);
    chat.type('n\r');
    await chat.shows(/✗ .*was denied[\s\S]*2 steps · 20\+10 tokens/);

    chat.type('make it\r');
    await chat.shows(/allow it\?/);
    chat.type('y\r');
    await chat.shows(/✓ \d+ characters[\s\S]*2 steps/);
    t.ok(existsSync(folder));

    chat.type('ask me\r');
    await chat.shows(/agent says: “the chat asks: Which color\?”[\s\S]*2\. “blue”[\s\S]*“Answer”/);
    chat.type('2\r');
    await chat.shows(/2 steps/);
    t.match(JSON.stringify(server.asked.at(-1)?.body.messages), /"content":"blue"/);

    chat.type('slow\r');
    await chat.shows(/I begin/);
    chat.type('\u0003');
    await chat.shows(/stopping; once more to leave[\s\S]*\(cancelled\)/);

    chat.type('/tols\r');
    await chat.shows(/there is no command \/tols; did you mean \/tools\?/);
    chat.type('/tools\r');
    await chat.shows(/mcp__locked__create_directory/);
    chat.type('/approve\r');
    await chat.shows(/nothing waits for a yes/);
    chat.type('/approve a99\r');
    await chat.shows(/no approval "a99" waits/);
    chat.type('/help\r');
    await chat.shows(/\/reload-mcp {2,}Read the configuration/);
    chat.type('/reload-mcp\r');
    await chat.shows(/read again[\s\S]*files +connected +14[\s\S]*locked/);
    chat.type('/new\r');
    await chat.shows(/new conversation/);
    chat.type('two \\\rlines\r');
    await chat.shows(/You said.*two[\s\S]*1 step/);
    const last = server.asked.at(-1)?.body.messages as readonly JsonObject[];
    t.same(last.slice(1), [{ role: 'user', content: 'two \nlines' }], 'the conversation began anew');

    chat.type('/new\r');
    await chat.shows(/new conversation/);
    t.ok(chat.marksPastes(), 'else the terminal sends a paste as lines that are typed');
    chat.type('\u001b[200~a trace:\r  at one\r  at two\u001b[201~ why?\r');
    await chat.shows(/You said[\s\S]*1 step/);
    const pasted = server.asked.at(-1)?.body.messages as readonly JsonObject[];
    t.same(pasted.slice(1), [{ role: 'user', content: 'a trace:\n  at one\n  at two why?' }], 'a paste is one message');

    const before = server.asked.length;
    chat.type('slow\r');
    await chat.shows(/I begin/);
    chat.type('typed ahead\r');
    chat.type('\u0003');
    await chat.shows(/\(cancelled\)/);
    chat.type('\u001b[200~let\rgo\u001b[201~\u0003');
    chat.type('/new\r');
    await chat.shows(/new conversation/);
    t.equal(server.asked.length, before + 1, 'Ctrl-C drops what was typed ahead, and a paste that no Enter ended');

    chat.type('typed and let go\u001b[D\u001b[D\u0003');
    chat.type('\u0003');
    t.equal(await chat.exited, 0, 'the whole line is cleared, though the cursor stood within it');
    t.notOk(chat.marksPastes(), 'the shell has its terminal back as it was');
    const history = join(home.path, 'state', 'chat-history');
    t.match(readFileSync(history, 'utf8'), /^slow\na trace: {3}at one {3}at two why\?\ntwo {2}lines\nslow\nask me\n/);
    t.equal(statSync(history).mode & 0o777, 0o600);

    const again = startTerminal(t, ['chat'], { AGENT_HOME: home.path, NO_COLOR: '1' });
    await again.shows(/usual, 18 tools/);
    again.type('slow\r');
    await again.shows(/I begin/);
    again.type('\u0003\u0003');
    t.equal(await again.exited, 0, 'the second one leaves');
  },
);

t.test(
  'CLI-4 · HOME-3 · two chats at once keep the input of both',
  { skip: hasTerminal ? inAllOnly : 'no script' },
  async (t) => {
    const { home } = await scene(t);
    const chats = [0, 1].map(() => startTerminal(t, ['chat'], { AGENT_HOME: home.path }));
    for (const [index, chat] of chats.entries()) {
      await chat.shows(/usual, \d+ tools?\. \/help/);
      chat.type(`number ${index}\r`);
      await chat.shows(/1 step/);
    }
    for (const chat of chats) {
      chat.type('\u0003');
      t.equal(await chat.exited, 0);
    }
    t.equal(readFileSync(join(home.path, 'state', 'chat-history'), 'utf8'), 'number 1\nnumber 0\n');
  },
);

t.test('CLI-4 · CLI-2 · without a model, a gateway or a profile it says what to do', async (t) => {
  const home = makeHome(t, { 'config.yaml': webhookConfig('        gh: {prompt: go}') });
  const off = await pipe(home.path, 'hello\n');
  t.match(off, { code: 3, stderr: /is not running; start it with `agent gateway`/ });
  await startDaemon(t, home.path);
  t.match(await pipe(home.path, 'hello\n'), {
    code: 4,
    stdout: '',
    stderr: /^agent: profile "default" has no model to talk to; set agent\.model .*\[chat-no-model\]\n$/,
  });
  t.match(await runCli(['chat', '--profile', 'nobody'], home.path), {
    code: 1,
    stderr: /set gateway\.multiplex_profiles: true and make profiles\/nobody \[profile-unknown\]/,
  });
});

t.test('CLI-3 · CLI-4 · INS-1 · a session is a machine that ends with its connection', async (t) => {
  const { home, server } = await scene(t);
  const control = await controlOf(t, home);
  const heard: JsonObject[] = [];
  control.onNotification((method, event) => {
    if (method === 'chat.event') heard.push(event);
  });
  const opened = (await control.call('chat.open')) as JsonObject;
  const session = String(opened.session);
  t.match(opened, { profile: 'default', provider: 'openai-compatible', model: 'usual' });

  const turn = control.call('chat.say', { session, text: 'slow' });
  await until(() => heard.length > 0);
  await t.rejects(control.call('chat.say', { session, text: 'more' }), { code: 'chat-busy' });
  await t.rejects(control.call('chat.new', { session }), { code: 'chat-busy' });
  const tree = await askCli(['inspect', 'tree'], home.path);
  t.match(tree.stdout, /chats\/\S+ +answering/);
  t.same(await control.call('chat.cancel', { session }), { cancelling: true });
  t.same(await turn, { outcome: 'cancelled' });
  t.same(await control.call('chat.cancel', { session }), { cancelling: false });
  await t.rejects(control.call('chat.say', { session, text: '' }), { code: 'params-missing' });
  await t.rejects(control.call('chat.say', { session: 'other', text: 'x' }), { code: 'chat-unknown' });

  const asked = server.asked.length;
  void control.call('chat.say', { session, text: 'slow again' }).catch(() => {});
  await until(() => server.asked.length > asked);
  control.close();
  await until(async () => !(await askCli(['inspect', 'tree'], home.path)).stdout.includes('chatSession'));
});

/** A chat whose input and output are pipes. */
function pipedChat(t: Test, home: string) {
  const child = spawn(process.execPath, [main, 'chat'], { env: { ...process.env, AGENT_HOME: home } });
  const said = collected(child.stderr);
  child.stdout.resume();
  const exited = new Promise((resolve) => child.once('close', resolve));
  t.teardown(() => child.kill('SIGKILL'));
  return { child, exited, stderr: said };
}

t.test(
  'CLI-4 · TRU-3 · the question of a run is none of a chat that waits for the same tool',
  { skip: inAllOnly },
  async (t) => {
    const { home, daemon } = await scene(t);
    const control = await controlOf(t, home);
    const { child, exited, stderr } = pipedChat(t, home.path);
    const rows = async (method: string) => (await control.call(method)) as readonly JsonObject[];
    await until(async () => (await rows('mcp.list')).every(({ state }) => state === 'connected'));

    child.stdin.write('make it\n');
    await until(() => stderr().includes('waits for a yes'));
    await postSigned(`${daemon.url}/webhooks/gh`, {}, { secret: webhookSecret });
    await until(async () => (await rows('approvals.list')).length === 2);
    const [own, other] = await rows('approvals.list');
    t.equal(own?.run, undefined);
    t.ok(other?.run, 'the second one is of the run');
    for (const id of [other?.id, own?.id]) await control.call('approvals.answer', { id: String(id), grant: false });
    child.stdin.end();
    t.equal(await exited, 0);

    t.same(stderr().match(/\S+ waits for a yes/g), [`${String(own?.id)} waits for a yes`]);
    t.match(
      stderr(),
      /waits for a yes: mcp__locked__create_directory of locked: \{"path":"/,
      'its arguments are shown',
    );
  },
);

t.test('CLI-4 · TRU-3 · a pipe shows the command that answers a form', async (t) => {
  const { home } = await scene(t);
  const { child, exited, stderr } = pipedChat(t, home.path);

  child.stdin.write('ask\n');
  await until(() => stderr().includes('waits for an answer'));
  const [, command = ''] = /waits for an answer: clarify of agent; agent (.*) <json>/.exec(stderr()) ?? [];
  const answered = await askCli([...command.split(' '), '{"answer": "blue"}'], home.path);
  t.equal(answered.code, 0, answered.stderr);
  child.stdin.end();
  t.equal(await exited, 0);
});

t.test('CLI-4 · CON-2 · a gateway that stops ends the session and says so', async (t) => {
  const { home, server, daemon } = await scene(t);
  const { child, exited, stderr } = pipedChat(t, home.path);
  child.stdin.write('slow\n');
  await until(() => server.asked.length === 1);
  t.equal(await daemon.kill('SIGTERM'), 0);
  t.equal(await exited, 1);
  t.match(stderr(), /the gateway closed/);
});
