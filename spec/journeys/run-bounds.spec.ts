/** A command runner whose program attacks the gateway that runs it: what its socket, its environment and its tools allow. */

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import { homePaths } from '../../machines/config/profile.ts';
import { type ControlClient, connectControl } from '../../runtime/control/client.ts';
import { main, startDaemon } from '../support/daemon.ts';
import { makeHome, type TestHome } from '../support/home.ts';
import { type Child, child, eventually, folder } from '../support/mcp/gateway.ts';
import { serve } from '../support/run-program.ts';
import { postSigned } from '../support/sign.ts';

const secret = 'run-bounds-secret-run-bounds';

/** Helpers of a hostile program: its own command line, raw frames on its socket, and its server of tools. */
const hands = `
import { connect } from 'node:net';
const main = ${JSON.stringify(main)};
const socket = process.env.AGENT_SOCKET ?? process.env.AGENT_HOME + '/gateway.sock';
const cli = (words, onError = () => {}) => new Promise((resolve) => {
  const child = spawn(process.execPath, [main, ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
  const seen = { words: words.join(' '), code: null, out: '', err: '' };
  child.stdout.on('data', (chunk) => { seen.out += chunk; });
  child.stderr.on('data', (chunk) => { seen.err += chunk; onError(seen.err, child); });
  child.once('close', (code) => resolve({ ...seen, code }));
});
const raw = (method, params = {}) => new Promise((resolve) => {
  const peer = connect(socket);
  let text = '';
  peer.on('data', (chunk) => {
    text += chunk;
    const lines = text.split('\\n').slice(0, -1).map((line) => JSON.parse(line));
    const answer = lines.find(({ id }) => id === 1);
    if (answer === undefined) return;
    peer.destroy();
    resolve({ method, result: answer.result, error: answer.error });
  });
  peer.write(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) + '\\n');
});
${serve}`;

interface Stage {
  readonly home: TestHome;
  readonly control: ControlClient;
  readonly vault: Child;
  readonly guarded: Child;
  /** Puts a configuration in force that has more keys under `agent`. */
  reconfigure(more: string): Promise<void>;
  /** Sends one event with this id; resolves with what the program of its run printed, as JSON. */
  run(id: string): Promise<JsonObject>;
}

/** A gateway with two profiles; the runs of `work` are a program whose body is given. */
async function stage(
  t: Test,
  body: string,
  { words = '', more = '', late = {}, lent = 'mcp-notes, mcp-guarded', isAlone = false } = {},
): Promise<Stage> {
  const vault = child(t, [], { trust: 'untrusted' });
  const guarded = child(t, [], { trust: 'untrusted' });
  const notes = child(t, [], { trust: 'full' });
  const spare = child(t, [], { trust: 'full' });
  // Without those that a program does not ask for.
  const others = isAlone ? {} : { guarded: guarded.entry, spare: spare.entry };
  const configOf = (
    keys: string,
  ): string => `agent: {runner: command, command: [node, scripts/program.mjs${words}]${keys}}
platforms:
  slack: {enabled: false, token: "\${SLACK_TOKEN}"}
  webhook: {extra: {secret: "\${HOOK_SECRET}", routes: {jobs: {prompt: p, toolsets: [${lent}]}}}}
mcp_servers:
  notes: ${JSON.stringify({ ...notes.entry, env: { NOTES_KEY: '${env:NOTES_KEY}' } })}
${Object.entries({ ...others, ...late })
  .map(([name, entry]) => `  ${name}: ${JSON.stringify(entry)}`)
  .join('\n')}
`;
  const home = makeHome(t, {
    'config.yaml': `gateway: {multiplex_profiles: true}
inspector: {port: 0}
platforms: {webhook: {enabled: true, extra: {host: 127.0.0.1, port: 0, secret: ${secret}}}}
mcp_servers: ${JSON.stringify(isAlone ? {} : { vault: vault.entry })}
`,
    'profiles/work/config.yaml': configOf(more),
    'profiles/work/.env': `HOOK_SECRET=${secret}\nSLACK_TOKEN=slack-token-of-work\nNOTES_KEY=notes-key-of-work\nOWN_KEY=own\nOTHER_KEY=other\nWEBHOOK_SECRET=${secret}\n`,
    'profiles/work/scripts/program.mjs': `${hands}\n${body}`,
  });
  const daemon = await startDaemon(t, home.path);
  const control = await eventually(() => connectControl(homePaths(home.path).socket));
  t.teardown(() => control.close());
  await eventually(async () => {
    const rows = (await control.call('mcp.list')) as unknown as readonly JsonObject[];
    const first = rows.filter(({ name }) => !Object.hasOwn(late, String(name)));
    return first.length === (isAlone ? 1 : 4) && first.every(({ state }) => state === 'connected');
  });
  return {
    home,
    control,
    vault,
    guarded,
    async reconfigure(keys) {
      home.write('profiles/work/config.yaml', configOf(keys));
      await control.call('gateway.reload');
    },
    async run(id) {
      await postSigned(`${daemon.url}/p/work/webhooks/jobs`, {}, { secret, id });
      const row = await eventually(async () => {
        const rows = (await control.call('runs.list')) as unknown as readonly JsonObject[];
        return rows.find((one) => one.delivery_id === id && /delivered|failed/.test(String(one.status)));
      });
      const { response, reason } = (await control.call('runs.show', { id: String(row.id) })) as JsonObject;
      return JSON.parse(String(response ?? reason)) as JsonObject;
    },
  };
}

interface Tried {
  readonly words?: string;
  readonly method?: string;
  readonly code?: number | null;
  readonly err?: string;
  readonly result?: JsonObject;
  readonly error?: { readonly message: string; readonly data?: { readonly code: string } };
}

t.test('SEC-4 · PRF-2 · TRU-1 · a program reaches nothing of the gateway but the tools of its run', async (t) => {
  const { run, vault, guarded, control, home } = await stage(
    t,
    `
const tried = [];
for (const words of [
  ['mcp', 'call', 'mcp__vault__echo', '{"text":"x"}', '--profile', 'default'],
  ['mcp', 'tools', '--profile', 'default'],
  ['mcp', 'list'],
  ['approvals', 'list'],
  ['gateway', 'status'],
  ['gateway', 'stop'],
  ['gateway', 'reload'],
  ['gateway', 'setup', '--port', '1'],
  ['config', 'check'],
  ['inspect', '--web'],
  ['inspect', '--json'],
  ['cron', 'list'],
  ['webhook', 'list'],
  ['mcp', 'add', 'evil', '--', 'true'],
  ['doctor'],
  ['runs', 'list'],
]) tried.push(await cli(words));
for (const [method, params] of [
  ['mcp.call', { name: 'mcp__vault__echo', arguments: { text: 'x' }, profile: 'default' }],
  ['mcp.call', { name: 'mcp__spare__echo', arguments: { text: 'x' }, toolsets: 'mcp-*' }],
  ['mcp.call', { name: 'mcp__notes__echo', arguments: { text: 'x' }, toolsets: ['mcp-*'] }],
  ['mcp.tools', { toolsets: 'mcp-spare' }],
  ['mcp.tools', { toolsets: 'mcp-nosuch' }],
  ['mcp.tools', { profile: 'default' }],
  ['approvals.answer', { id: 'a1', grant: true }],
  ['gateway.stop', {}],
  ['inspect.link', {}],
  ['link.add', { url: 'agent://mcp/install?name=x' }],
  ['runs.show', { id: 'another' }],
  ['runs.cancel', { id: process.env.AGENT_RUN_ID }],
]) tried.push(await raw(method, params));
let approved;
const guarded = await cli(['mcp', 'call', 'mcp__guarded__write_note', '{"text":"x"}'], (text, child) => {
  const id = / approval (\\w+)/.exec(text)?.[1];
  if (id === undefined || approved !== undefined) return;
  approved = Promise.all([cli(['approvals', 'approve', id]), raw('approvals.answer', { id, grant: true })]).finally(() => child.kill('SIGINT'));
});
console.log(JSON.stringify({
  tried: [...tried, ...(await approved ?? [guarded])],
  guarded,
  beyond: (await raw('mcp.call', { name: 'mcp__spare__echo', arguments: { text: 'x' } })).result,
  own: await cli(['runs', 'show', process.env.AGENT_RUN_ID, '--json']),
  tool: await cli(['mcp', 'call', 'mcp__notes__echo', '{"text":"permitted"}']),
  listed: await cli(['mcp', 'tools']),
  raised: (await raw('mcp.call', { name: 'mcp__notes__echo', arguments: { text: 'own' }, caller: 'page', run: 'another' })).result,
  strange: [await raw('mcp.tools', { server: 'spare' }), await raw('mcp.tools', { server: 'spore' })],
  narrow: (await raw('mcp.tools', { toolsets: 'mcp__notes__echo' })).result.map(({ name }) => name),
  narrowed: (await raw('mcp.call', { name: 'mcp__notes__add', arguments: { a: 1, b: 2 }, toolsets: 'mcp__notes__echo' })).result,
  served: await serve('mcp__notes__echo', { text: 'served' }),
}));
`,
  );

  const seen = (await run('attack')) as unknown as {
    readonly tried: readonly Tried[];
    readonly guarded: Tried;
    readonly [more: string]: unknown;
  };

  for (const one of seen.tried) {
    const name = one.words ?? `${one.method}`;
    if (one.words === undefined) t.equal(one.error?.data?.code, 'run-refused', `${name} ${JSON.stringify(one)}`);
    else {
      t.not(one.code, 0, name);
      t.match(one.err, /\[run-refused\]\n$/, `${name}: ${one.err}`);
    }
  }
  t.equal(seen.tried.length, 30);
  t.equal(guarded.executions('write_note'), 0, 'only a person answers');
  t.equal(vault.executions('echo'), 0);
  t.match(seen.beyond, { error: { code: 'unknown_tool' } });
  t.match(seen.own, { code: 0 });
  t.match(seen.tool, { code: 0, out: 'permitted\n' });
  t.match(seen.listed, { code: 0, out: /mcp__notes__echo/, err: '' });
  t.match(seen.raised, { content: [{ text: 'own' }] });
  const [spare, spore] = seen.strange as readonly Tried[];
  t.equal(spore?.error?.data?.code, 'server-unknown');
  t.equal(spore?.error?.message.replaceAll('spore', 'spare'), spare?.error?.message, 'no answer names another server');
  t.same(seen.narrow, ['mcp__notes__echo']);
  t.match(seen.narrowed, { error: { code: 'unknown_tool' } });
  t.match(seen.served, { content: [{ text: 'served' }] });
  const { tools } = seen.served as { readonly tools: readonly string[] };
  t.ok(tools.length > 2 && tools.every((name) => /^mcp__(notes|guarded)__/.test(name)), tools.join());
  t.notOk(existsSync(`${home.path}/profiles/work/config.yaml.lock`));
  t.same(readdirSync(`${home.path}/state/runs`), [], 'the socket is gone with its run');
  const { phases } = (await control.call('inspect.why', { id: 'attack' })) as unknown as {
    readonly phases: readonly JsonObject[];
  };
  t.ok(phases.filter(({ kind }) => kind === 'call').length >= 4, 'every call is shown with the run');
});

t.test('SEC-4 · HOME-1 · an inherited AGENT_HOME leads around neither the socket nor the toolsets', async (t) => {
  const { run, vault } = await stage(
    t,
    `
const { AGENT_HOME } = process.env;
console.log(JSON.stringify({
  inherited: [
    await cli(['gateway', 'status']),
    await cli(['mcp', 'call', 'mcp__vault__echo', '{"text":"x"}', '--profile', 'default']),
  ],
  served: await serve('mcp__spare__echo', { text: 'x' }, { ...JSON.parse(readFileSync(process.env.AGENT_MCP_CONFIG, 'utf8')).mcpServers.agent.env, AGENT_HOME }),
  servedByTheHome: await serve('mcp__spare__echo', { text: 'x' }, { AGENT_HOME }),
  chosen: await cli(['gateway', 'status', '--home', AGENT_HOME]),
}));
`,
    { more: ', env: [AGENT_HOME]', lent: '"mcp-[n,g]*"' },
  );

  const seen = (await run('inherited')) as unknown as {
    readonly inherited: readonly Tried[];
    readonly served: { readonly tools: readonly string[] };
    readonly servedByTheHome: { readonly tools: readonly string[] };
    readonly chosen: Tried;
  };

  for (const { err } of seen.inherited) t.match(err, /\[run-refused\]\n$/);
  for (const { tools } of [seen.served, seen.servedByTheHome])
    t.ok(tools.length > 2 && tools.every((name) => /^mcp__(notes|guarded)__/.test(name)), tools.join());
  t.match(seen.chosen, { code: 0 }, '--home is what the program itself chose');
  t.equal(vault.executions('echo'), 0);
});

t.test('TRU-3 · a program has 32 questions open, and its further calls are refused at once', async (t) => {
  const { run, guarded, control } = await stage(
    t,
    `
const refused = [];
await new Promise((resolve) => {
  for (let call = 0; call < 40; call += 1)
    void raw('mcp.call', { name: 'mcp__guarded__write_note', arguments: { text: 'x' } }).then(({ result }) => {
      refused.push(result.error.code);
      if (refused.length === 8) resolve();
    });
});
await raw('mcp.tools');
console.log(JSON.stringify({ refused }));
process.exit(0);
`,
  );

  t.same(await run('flood'), { refused: Array(8).fill('too_many_approvals') });
  t.equal(guarded.executions('write_note'), 0);
  t.same(await control.call('approvals.list'), [], 'the questions end with the run');
});

/** The entry of a peer that starts once a file is there. */
function gated({ command, args }: Child['entry'], gate: string): JsonObject {
  const wait = 'until [ -e "$0" ]; do sleep 0.05; done; exec "$@"';
  return { command: 'sh', args: ['-c', wait, gate, String(command), ...(args as string[])], trust: 'full' };
}

t.test('SEC-4 · LIF-7 · a tool that is not lent is refused while its server connects for the first time', async (t) => {
  const place = folder(t);
  const [unlent, lent] = [join(place, 'unlent'), join(place, 'lent')];
  const late = child(t);
  const notesLate = child(t);
  const { run, control } = await stage(
    t,
    `
import { writeFileSync } from 'node:fs';
const call = (name, more = {}) => raw('mcp.call', { name, arguments: { text: 'x' }, ...more });
const early = [
  call('mcp__late__echo'),
  call('mcp__late__no_such'),
  call('mcp__notes_late__echo', { toolsets: 'mcp-guarded' }),
];
const awaited = call('mcp__notes_late__echo');
await raw('mcp.tools');
for (const gate of ${JSON.stringify([unlent, lent])}) writeFileSync(gate, '');
console.log(JSON.stringify({
  early: (await Promise.all(early)).map(({ result }) => result),
  awaited: (await awaited).result,
}));
`,
    {
      late: { late: gated(late.entry, unlent), notes_late: gated(notesLate.entry, lent) },
      lent: 'mcp-notes_late, mcp-guarded',
    },
  );

  const { early, awaited } = await run('early');

  t.match(awaited, { content: [{ text: 'x' }] }, 'one that is lent is waited for');
  t.same(
    early,
    ['mcp__late__echo', 'mcp__late__no_such', 'mcp__notes_late__echo'].map((name) => ({
      error: {
        code: 'unknown_tool',
        message: `no tool is named "${name}" among those that are offered; \`agent mcp tools\` lists them; the toolsets must name any other`,
      },
    })),
  );
  await eventually(async () => {
    const rows = (await control.call('mcp.list')) as unknown as readonly JsonObject[];
    return rows.every(({ state }) => state === 'connected');
  });
  t.same([late.executions('echo'), notesLate.executions('echo')], [0, 1]);
});

t.test(
  'SEC-4 · CON-3 · a program has the words and variables that are its own, and those that agent.env names',
  async (t) => {
    const body = `console.log(JSON.stringify({
  words: process.argv.slice(2),
  variable: process.env.AGENT_DELIVERY_ID,
  names: Object.keys(process.env).sort(),
  own: process.env.OWN_KEY,
}));`;
    const { run, reconfigure } = await stage(t, body, { words: ', "${AGENT_DELIVERY_ID}"', isAlone: true });
    for (const [id, word] of [
      ['--dangerously-skip-permissions', '%2D-dangerously-skip-permissions'],
      ['../../etc/passwd', '..%2F..%2Fetc%2Fpasswd'],
      ['msg_2Lh9-Ab.c', 'msg_2Lh9-Ab.c'],
    ] as const) {
      const { words, variable, names, own } = await run(id);
      t.same({ words, variable, own }, { words: [word], variable: id, own: 'own' }, 'no option and no path');
      t.ok(['OTHER_KEY', 'AGENT_SOCKET'].every((name) => (names as readonly string[]).includes(name)));
      // What platforms, servers and routes refer to.
      for (const name of ['AGENT_HOME', 'SLACK_TOKEN', 'NOTES_KEY', 'HOOK_SECRET', 'WEBHOOK_SECRET'])
        t.notOk((names as readonly string[]).includes(name), name);
    }
    for (const [id, keys, expected] of [
      ['named', ', env: [OWN_KEY, NOTES_KEY]', ['NOTES_KEY', 'OWN_KEY']],
      ['none', ', env: []', []],
    ] as const) {
      await reconfigure(keys);
      const { names } = await run(id);
      t.same(
        (names as readonly string[]).filter((name) => /_KEY$|TOKEN|SECRET/.test(name)),
        expected,
      );
    }
  },
);
