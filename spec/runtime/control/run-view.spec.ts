import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import type { CommandHost } from '../../../runtime/control/command.ts';
import { commands } from '../../../runtime/control/commands.ts';
import { commandsOfRun } from '../../../runtime/control/run-socket.ts';

/** Every method of the control socket: what becomes of it in a run. One that is not here is refused and fails the spec. */
const inRun: Readonly<Record<'allowed' | 'refused', readonly string[]>> = {
  allowed: [
    'mcp.call',
    'mcp.getPrompt',
    'mcp.instructions',
    'mcp.prompts',
    'mcp.readResource',
    'mcp.resourceTemplates',
    'mcp.resources',
    'mcp.tools',
    'mcp.watch',
    'runs.show',
  ],
  refused: [
    'audit.list',
    ...['answer', 'answered', 'list', 'show', 'watch'].map((name) => `approvals.${name}`),
    ...['cancel', 'new', 'open', 'say', 'tools'].map((name) => `chat.${name}`),
    ...['check', 'hints', 'schema', 'show', 'source'].map((name) => `config.${name}`),
    ...['add', 'list', 'pause', 'remove', 'resume', 'run', 'show'].map((name) => `cron.${name}`),
    ...['confirm', 'drop', 'list', 'progress', 'retry', 'show', 'targets'].map((name) => `deliveries.${name}`),
    ...['curl', 'follow', 'open', 'search'].map((name) => `events.${name}`),
    ...['groups', 'list'].map((name) => `failures.${name}`),
    ...['database', 'migrate', 'nodes', 'reload', 'status', 'stop'].map((name) => `gateway.${name}`),
    'journal.copy',
    ...['chart', 'endSessions', 'follow', 'link', 'show', 'tree', 'watch', 'why'].map((name) => `inspect.${name}`),
    ...['add', 'read'].map((name) => `link.${name}`),
    ...['list', 'login', 'loginPaste', 'logs', 'oauthServers', 'reconnect', 'test'].map((name) => `mcp.${name}`),
    ...['add', 'calls', 'disable', 'edit', 'enable', 'import', 'importable', 'remove', 'show'].map(
      (name) => `mcp.${name}`,
    ),
    ...['read', 'watch'].map((name) => `overview.${name}`),
    ...['agent', 'read', 'target', 'webhooks'].map((name) => `setup.${name}`),
    ...['cancel', 'list'].map((name) => `runs.${name}`),
    ...['disable', 'edit', 'enable'].map((name) => `webhook.${name}`),
    ...['deliveries', 'delivery', 'doctor', 'list', 'remove', 'replay', 'samples', 'show', 'subscribe', 'test'].map(
      (name) => `webhook.${name}`,
    ),
  ],
};

const bounds = { runId: 'r1', profile: 'work', toolsets: ['web_search', 'mcp-docs'], traceparent: '00-trace' };
const tools = ['docs', 'vault'].map((server) => ({ server, name: `mcp__${server}__read` }));

function hostOf() {
  const calls: JsonObject[] = [];
  const mcp = {
    serves: () => true,
    standing: (_: string, server: string) => (server === 'spare' ? 'unknown' : 'enabled'),
    list: () => ['docs', 'vault'].map((name) => ({ name, profile: 'work' })),
    tools: (profile: string) => (profile === 'work' ? tools : []),
    call: async ({ signal: _, onProgress: __, onWaiting: ___, ...call }: JsonObject) => {
      calls.push(call);
      return { kind: 'result', result: {} };
    },
  };
  const run = (id: string): JsonObject => ({ id });
  const host = { source: { home: '/home', env: {} }, daemon: { mcp, run } } as unknown as CommandHost;
  const ask = async (method: string, params: JsonObject = {}, of = bounds) =>
    commandsOfRun(of)(method)?.(host, params, { notify: () => {}, onEnd: () => () => {} });
  return { ask, calls };
}

t.test('SEC-4 · CLI-3 · of every method it is said whether a run may use it, and no other is open', async (t) => {
  const { ask } = hostOf();
  t.same([...commands.keys()].sort(), [...inRun.allowed, ...inRun.refused].sort());
  for (const method of inRun.refused) {
    await t.rejects(ask(method, { id: 'r1', profile: 'work' }), {
      code: 'run-refused',
      message: `a run may not use ${method}; it has the tools of its toolsets and \`agent runs show r1\`, and a person does the rest outside of it`,
    });
  }
  t.equal(commandsOfRun(bounds)('no.such'), undefined);
});

t.test('SEC-4 · PRF-2 · TRU-1 · profile, toolsets, run and caller are those of the run', async (t) => {
  const { ask, calls } = hostOf();
  const call = { name: 'mcp__docs__read', arguments: { a: 1 } };
  const made = { profile: 'work', name: call.name, args: { a: 1 }, caller: 'run', run: 'r1', traceparent: undefined };

  await ask('mcp.call', call);
  await ask('mcp.call', { ...call, caller: 'page', run: 'r2', traceparent: 'x', lent: ['mcp-*'], profile: 'work' });
  t.match(calls, [made, made]);

  for (const params of [{ profile: 'default' }, { profile: 1 }, { profile: null }])
    await t.rejects(ask('mcp.call', { ...call, ...params }), { code: 'run-refused', message: /is of profile "work"/ });
  for (const toolsets of [
    'mcp-*',
    'mcp-docs,mcp-vault',
    'mcp-nosuch',
    'mcp__vault__read',
    'mcp__n*',
    ['mcp-docs'],
    1,
    null,
  ])
    await t.rejects(ask('mcp.call', { ...call, toolsets }), {
      code: 'run-refused',
      message: /may not widen .*mcp-docs/,
    });
  t.equal(calls.length, 2);
});

t.test('SEC-4 · DIS-5 · a run has the tools that its toolsets and those that it asks for have both', async (t) => {
  const { ask, calls } = hostOf();
  const names = async (params: JsonObject, toolsets: readonly string[] = bounds.toolsets) =>
    ((await ask('mcp.tools', params, { ...bounds, toolsets: [...toolsets] })) as readonly JsonObject[]).map(
      ({ name }) => name,
    );
  t.same(await names({}), ['mcp__docs__read']);
  t.same(await names({ toolsets: '' }), ['mcp__docs__read']);
  t.same(await names({ toolsets: 'mcp__docs__*' }), ['mcp__docs__read']);
  t.same(await names({ toolsets: 'none' }), []);
  t.same(await names({}, []), []);
  t.same(await names({}, ['web_search']), []);
  t.same(await names({}, ['mcp-*']), ['mcp__docs__read', 'mcp__vault__read']);
  for (const params of [{}, { lent: ['mcp-*'] }]) await ask('mcp.call', { name: 'mcp__vault__read', ...params });
  t.same(
    calls.map(({ allows }) => tools.filter(allows as never)),
    [tools.slice(0, 1), tools.slice(0, 1)],
    'a call carries what its run is lent',
  );
});

t.test('SEC-4 · a server that a run is not lent is an unknown one to it', async (t) => {
  const { ask } = hostOf();
  t.equal(((await ask('mcp.tools', { server: 'docs' })) as readonly JsonObject[]).length, 1);
  for (const server of ['vault', 'spare', 'vaults'])
    await t.rejects(ask('mcp.tools', { server }), {
      code: 'server-unknown',
      message: `no mcp server is named "${server}"; \`agent mcp tools\` lists them`,
    });
});

t.test('SEC-4 · a run sees itself and no other', async (t) => {
  const { ask } = hostOf();
  t.same(await ask('runs.show', { id: 'r1' }), { id: 'r1' });
  for (const params of [{}, { id: 'r2' }, { id: ['r1'] }])
    await t.rejects(ask('runs.show', params), { code: 'run-refused', message: /its own is "r1"/ });
});
