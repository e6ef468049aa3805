import t, { type Test } from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import type { ListName } from '../../../machines/mcp/offers.ts';
import { approvalCommands } from '../../../runtime/control/approval-commands.ts';
import type { Command, CommandHost } from '../../../runtime/control/command.ts';
import type { ApprovalRow } from '../../../runtime/control/contract/approvals.ts';
import type { Refusal } from '../../../runtime/control/contract/refusal.ts';
import { mcpCommands } from '../../../runtime/control/mcp-commands.ts';
import type { DaemonView } from '../../../runtime/control/view.ts';
import type { CallRequest } from '../../../runtime/mcp/calls.ts';
import type { McpView } from '../../../runtime/mcp/view.ts';
import type { LoginRequest, LoginVerdict } from '../../../runtime/oauth/login-service.ts';
import { makeHome } from '../../support/home.ts';
import { listenHttp } from '../../support/http-listener.ts';
import { commandOf } from '../../support/mcp/gateway.ts';
import { stdioPeer } from '../../support/mcp/stdio-peer.ts';

const tools = [
  { name: 'mcp__notes__read', server: 'notes' },
  { name: 'mcp__notes__write', server: 'notes' },
  { name: 'mcp__files__read', server: 'files' },
];
const table = { ...mcpCommands, ...approvalCommands };
const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;

/** The commands over a view that writes down what it is asked, and a peer that writes down what it is told. */
function stage(t: Test, view: Partial<McpView> = {}) {
  const asked: unknown[] = [];
  const told: unknown[] = [];
  const ends = new Set<() => void>();
  const mcp = {
    serves: (profile: string) => profile !== 'none',
    tools: (profile: string, server?: string) => {
      asked.push(['tools', profile, server]);
      return tools.filter((tool) => server === undefined || tool.server === server);
    },
    standing: (_: string, server: string) =>
      server.startsWith('gone') ? 'unknown' : server === 'off' ? 'disabled' : 'enabled',
    askedCall: () => undefined,
    onAnswered: () => () => {},
    logins: { login: () => t.fail('no login is wanted'), paste: () => false } as never,
    ...view,
  } as McpView;
  const home = makeHome(t, {
    'config.yaml': JSON.stringify({
      gateway: { multiplex_profiles: true },
      mcp_servers: { peer: commandOf(stdioPeer()), odd: { command: 'x', url: 'https://x.example' } },
    }),
    'profiles/work/config.yaml': '{}',
  });
  const source = { home: home.path, env: {} };
  const host: CommandHost = { source, daemon: { mcp } as DaemonView };
  const peer = {
    notify: (method: string, params: unknown) => void told.push([method, params]),
    onEnd(end: () => void) {
      ends.add(end);
      return () => void ends.delete(end);
    },
  };
  const run = async (name: string, params: JsonObject = {}, from: CommandHost = host): Promise<unknown> => {
    const command = new Map<string, Command>(Object.entries(table)).get(name);
    return command === undefined ? t.fail(`no command ${name}`) : command(from, params, peer);
  };
  const leave = (): void => {
    for (const end of ends) end();
  };
  return { asked, told, run, leave, host, alone: { source } satisfies CommandHost };
}

const codeOf = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    () => 'none',
    ({ code }: Refusal) => code,
  );

t.test('CLI-3 · PRF-1 · what is missing and who is not served is said by name', async (t) => {
  const { run } = stage(t);
  for (const [name, missing] of [
    ['mcp.call', 'name'],
    ['mcp.reconnect', 'server'],
    ['mcp.logs', 'server'],
    ['mcp.login', 'server'],
    ['mcp.loginPaste', 'server'],
    ['mcp.test', 'server'],
    ['approvals.show', 'id'],
    ['approvals.answer', 'id'],
  ] as const)
    await t.rejects(run(name), { code: 'params-missing', message: `the parameter "${missing}" is missing` }, name);
  for (const name of [
    'mcp.tools',
    'mcp.call',
    'mcp.reconnect',
    'mcp.logs',
    'mcp.watch',
    'mcp.login',
    'mcp.loginPaste',
  ]) {
    const params = { server: 'notes', name: 'x', url: 'x' };
    t.equal(await codeOf(run(name, { ...params, profile: 'none' })), 'profile-unknown', name);
    t.equal(await codeOf(run(name, { ...params, profile: '../x' })), 'profile-name', name);
  }
});

t.test('CON-4 · CLI-5 · a caller that is bound to toolsets sees and calls those alone', async (t) => {
  const called: CallRequest[] = [];
  const { run, asked } = stage(t, {
    call: (request) => {
      called.push(request);
      return Promise.resolve({ kind: 'fault', fault: { code: 'cancelled', message: '' } });
    },
    onListsChanged: () => () => {},
    list: () => [{ name: 'files', profile: 'default' }] as never,
  });
  const nope = 'mcp-files,web,mcp-nope,mcp-n*';
  t.same(await run('mcp.watch', { toolsets: nope }), { watching: 'default', unknown_toolsets: ['mcp-nope'] });
  t.same(await run('mcp.watch', { toolsets: nope, lent: ['mcp-files'] }), { watching: 'default' }, 'no word to a run');
  const namesOf = async (params: JsonObject): Promise<unknown> =>
    ((await run('mcp.tools', params)) as readonly JsonObject[]).map(({ name }) => name);
  t.same(await namesOf({}), ['mcp__notes__read', 'mcp__notes__write', 'mcp__files__read']);
  t.same(await namesOf({ server: 'files', profile: 'work' }), ['mcp__files__read']);
  t.same(asked.at(-1), ['tools', 'work', 'files']);
  t.same(await namesOf({ toolsets: 'mcp-files,mcp__notes__w*' }), ['mcp__notes__write', 'mcp__files__read']);

  const toolsets = 'mcp-files';
  const name = 'mcp__files__read';
  for (const params of [{ name, toolsets }, { name, toolsets, lent: ['mcp-notes'] }, { name }])
    await run('mcp.call', params);
  t.same(
    called.map(({ allows }) => allows && tools.filter(allows).map((tool) => tool.name)),
    [['mcp__files__read'], [], undefined],
    'a call carries what its caller may use',
  );
});

t.test(
  'LIF-13 · a call carries who asks, its run and its trace, reports its progress, and ends with who asked',
  async (t) => {
    const called: CallRequest[] = [];
    const result = { content: [], isError: false };
    let answer = (): void => {};
    const { run, told, leave } = stage(t, {
      call: (request) => {
        called.push(request);
        request.onProgress?.({ progress: 1, total: 2 } as never);
        return new Promise((resolve) => {
          answer = () => resolve({ kind: 'result', result } as never);
        });
      },
    });
    const params = { name: 'mcp__notes__read', arguments: { path: 'a' }, caller: 'mcp serve', run: 'r1', traceparent };
    const first = run('mcp.call', { ...params, profile: 'work' });
    t.match(called[0], { profile: 'work', args: { path: 'a' }, caller: 'mcp serve', run: 'r1', traceparent });
    t.same(told, [['mcp.progress', { progress: 1, total: 2 }]]);
    answer();
    t.same(await first, result);
    leave();
    t.notOk(called[0]?.signal?.aborted, 'what has answered is not ended any more, and nothing of it is kept');

    const second = run('mcp.call', {
      name: 'mcp__notes__read',
      arguments: 'no object',
      traceparent: 'no trace',
      run: '',
    });
    leave();
    t.ok(called[1]?.signal?.aborted, 'a caller that is gone waits for nothing');
    answer();
    await second;
    t.match(called[1], { profile: 'default', args: {}, caller: 'cli' });
    t.notOk('run' in (called[1] ?? {}) || 'traceparent' in (called[1] ?? {}), 'what is none is left out');
  },
);

t.test(
  'LIF-1 · CON-4 · connections are made anew and logs are read within bounds, of servers that there are',
  async (t) => {
    const read: unknown[] = [];
    const rows = [{ name: 'notes' }, { name: 'gone-2', profile: 'work' }];
    const { run } = stage(t, {
      list: () => rows as never,
      callsOf: ({ name }) => (name === 'notes' ? { count: 3, failed: 1, median_ms: 340 } : { count: 0, failed: 0 }),
      oauthServers: () => [{ profile: 'default', server: 'hub' }],
      reconnect: (_, server) => server === 'notes',
      logs: (...asked) => {
        read.push(asked);
        return Promise.resolve(['\u001b[33mone\u001b[0m']);
      },
    });
    t.same(await run('mcp.list'), [{ name: 'notes', calls: 3, median_ms: 340 }, rows[1]]);
    t.same(await run('mcp.oauthServers'), [{ profile: 'default', server: 'hub' }]);
    t.same(await run('mcp.reconnect', { server: 'notes' }), { reconnecting: 'notes' });
    await t.rejects(run('mcp.reconnect', { server: 'gone' }), {
      code: 'server-unknown',
      message: /"gone"; `agent mcp list`/,
    });
    await t.rejects(run('mcp.logs', { server: 'gone-2' }), { message: /"gone-2"; it is one of profile "work"$/ });
    for (const method of ['mcp.tools', 'mcp.logs'])
      await t.rejects(run(method, { server: 'gone' }), { code: 'server-unknown' }, method);
    await t.rejects(run('mcp.reconnect', { server: 'off' }), {
      code: 'server-disabled',
      message: /`agent mcp enable off`/,
    });
    await t.rejects(run('mcp.reconnect', { server: 'off', profile: 'work' }), {
      message: /`agent mcp enable off --profile work`/,
    });
    for (const lines of ['many', 0, 7, 1e9]) t.same(await run('mcp.logs', { server: 'notes', lines }), ['one']);
    t.same(
      read,
      [100, 1, 7, 1e9].map((lines) => ['default', 'notes', lines]),
    );
  },
);

t.test('CON-4 · TRU-3 · who watches tools or questions hears of them until it leaves', async (t) => {
  const left: string[] = [];
  let changed = (_: readonly ListName[]): void => {};
  let asked = (_: ApprovalRow): void => {};
  const { run, told, leave } = stage(t, {
    onListsChanged: (_, listener) => {
      changed = listener;
      return () => void left.push('tools');
    },
    onAsked: (listener) => {
      asked = listener;
      return () => void left.push('questions');
    },
    approvals: () => [{ id: 'a1' } as never],
  });
  t.same(await run('mcp.watch'), { watching: 'default' });
  t.same(await run('approvals.watch'), { pending: [{ id: 'a1' }] });
  changed(['tools', 'prompts']);
  asked({ id: 'a2' } as ApprovalRow);
  t.same(told, [
    ['mcp.toolsChanged', {}],
    ['mcp.promptsChanged', {}],
    ['approvals.asked', { id: 'a2' }],
  ]);
  leave();
  t.same(left, ['tools', 'questions']);
});

t.test(
  'OAU-8 · DEV-1 · DEV-5 · a login reports its progress and its end, and is cancelled by who began it',
  async (t) => {
    const begun: LoginRequest[] = [];
    let verdict: LoginVerdict = { kind: 'loggedIn' };
    const { run, told, leave } = stage(t, {
      logins: {
        login: (request) => {
          begun.push(request);
          request.report({ kind: 'url', url: 'https://login.example', expires_in_seconds: 300 });
          return Promise.resolve(verdict);
        },
        logout: async (_, server) =>
          server === 'hub' ? { kind: 'loggedOut', wasLoggedIn: true } : { kind: 'stopped', why: 'the disk is full' },
        paste: (profile, server, text) => profile === 'work' && server === 'hub' && text === 'http://127.0.0.1/?code=c',
      },
    });
    t.same(await run('mcp.login', { server: 'hub' }), { logged_in: 'hub' });
    t.match(begun[0], { profile: 'default', server: 'hub', startedFrom: 'terminal', again: false });
    t.notOk('flow' in (begun[0] ?? {}), 'the entry decides');
    t.match(told, [['mcp.loginProgress', { kind: 'url', url: 'https://login.example' }]]);
    const second = run('mcp.login', { server: 'hub', flow: 'device', from: 'page', again: true, profile: 'work' });
    t.match(begun[1], { profile: 'work', flow: 'device', startedFrom: 'page', again: true });
    leave();
    t.ok(begun[1]?.signal.aborted);
    t.notOk(begun[0]?.signal.aborted, 'one that is over is left alone');
    await second;

    await t.rejects(run('mcp.login', { server: 'hub', flow: 'fax' }), { code: 'login-flow', message: /not "fax"/ });
    t.equal(begun.length, 2);
    verdict = { kind: 'stopped', why: 'nobody came' };
    await t.rejects(run('mcp.login', { server: 'hub' }), { code: 'login-stopped', message: 'nobody came' });
    verdict = { kind: 'refused', code: 'login-under-way', message: 'wait' };
    await t.rejects(run('mcp.login', { server: 'hub' }), { code: 'login-under-way', message: 'wait' });

    t.same(await run('mcp.logout', { server: 'hub' }), { logged_out: 'hub', was_logged_in: true });
    const full = { code: 'login-stopped', message: 'the disk is full' };
    await t.rejects(run('mcp.logout', { server: 'disk' }), full);
    const pasted = { server: 'hub', url: 'http://127.0.0.1/?code=c' };
    t.same(await run('mcp.loginPaste', { ...pasted, profile: 'work' }), { taken: 'hub' });
    await t.rejects(run('mcp.loginPaste', pasted), { code: 'login-paste', message: /no login to "hub" waits/ });
  },
);

t.test('TRU-3 · SRV-1 · questions are shown and answered; what is none, or does not fit, is refused', async (t) => {
  const answers: unknown[] = [];
  const { run } = stage(t, {
    approvals: () => [{ id: 'a1' } as never],
    approval: (id) => (id === 'a1' ? ({ id, detail: {} } as never) : undefined),
    answer: (id, grant, by, values) => {
      answers.push([id, grant, by, values]);
      if (id !== 'a1') return { kind: 'unknown' };
      return values?.name === 5 ? { kind: 'refused', reason: 'name must be a text' } : { kind: 'taken' };
    },
  });
  t.same(await run('approvals.list'), [{ id: 'a1' }]);
  t.same(await run('approvals.show', { id: 'a1' }), { id: 'a1', detail: {} });
  await t.rejects(run('approvals.show', { id: 'a9' }), { code: 'approval-unknown', message: /"a9" waits/ });
  t.same(await run('approvals.answer', { id: 'a1', grant: true, values: { name: 'Ada' }, by: 'page' }), {
    answered: 'a1',
  });
  t.same(await run('approvals.answer', { id: 'a1', grant: 'yes', values: [] }), { answered: 'a1' });
  t.same(
    answers,
    [
      ['a1', true, 'page', { name: 'Ada' }],
      ['a1', false, 'cli', undefined],
    ],
    'only `true` is a yes',
  );
  await t.rejects(run('approvals.answer', { id: 'a9' }), { code: 'approval-unknown' });
  await t.rejects(run('approvals.answer', { id: 'a1', grant: true, values: { name: 5 } }), {
    code: 'approval-values',
    message: 'approval a1: name must be a text; give the values anew',
  });
});

t.test('CLI-2 · TRU-3 · values for the question of a call are refused: its arguments stay as they are', async (t) => {
  const { run } = stage(t, {
    approval: () => ({ id: 'a1', kind: 'tool' }) as never,
    answer: () => ({ kind: 'taken' }),
  });
  const answer = (more: JsonObject) => run('approvals.answer', { id: 'a1', grant: true, ...more });
  await t.rejects(answer({ values: { path: '/' } }), { code: 'approval-values', message: /is for a call/ });
  t.same(await answer({ values: {} }), { answered: 'a1' });
});

t.test(
  'CLI-5 · a server is tested apart from the daemon: a configured one, or an entry that is only read',
  async (t) => {
    const { run, alone } = stage(t);
    const test = (params: JsonObject): Promise<unknown> => run('mcp.test', params, alone);
    t.match(await test({ server: 'peer' }), { ok: true, tools: [{ name: /^mcp__peer__/ }] });
    t.same(await test({ server: 'peer', connect: false }), { ok: true });
    t.same(await test({ server: 'new', entry: { command: '/nowhere/at/all' }, connect: false }), { ok: true });
    t.match(await test({ server: 'new', entry: { command: '/nowhere/at/all' } }), { ok: false, error: /"new"/ });

    await t.rejects(test({ server: 'gone' }), { code: 'server-unknown', message: /`agent config show mcp_servers`/ });
    await t.rejects(test({ server: 'per' }), { code: 'server-unknown', message: /did you mean "peer"\?$/ });
    await t.rejects(test({ server: 'peer', profile: 'work' }), { message: /; it is one of profile "default"$/ });
    await t.rejects(test({ server: 'peer', profile: 'none' }), { code: 'profile-unknown' });
    await t.rejects(test({ server: 'odd' }), { code: 'server-entry' });
    await t.rejects(test({ server: 'new', entry: { command: 'x', url: 'https://x.example' } }), /url|command/);
  },
);

t.test('OBS-1 · OAU-2 · the report on a test hides the token that it was made with', async (t) => {
  const { url: origin } = await listenHttp(t, (request, response) => {
    response.writeHead(500).end(`no such token: ${request.headers.authorization?.slice('Bearer '.length)}`);
  });
  const url = `${origin}/mcp`;
  const home = makeHome(t, {
    'config.yaml': JSON.stringify({ mcp_servers: { hub: { url, auth: 'oauth' } } }),
    'mcp-tokens/hub.json': JSON.stringify({
      ...{ access_token: 'a-planted-access-token', expires_at: Date.now() + 3_600_000, issuer: origin },
      ...{ client_id: 'client', url },
    }),
  });
  const { run } = stage(t);
  const report = await run('mcp.test', { server: 'hub' }, { source: { home: home.path, env: {} } });
  t.match(report, { ok: false, error: /no such token: \[redacted\]/ });
});

t.test('CLI-6 · a question is shown by the letters of its id or `latest`, never by a part of its number', async (t) => {
  const open = ['abcdf12'];
  const { run } = stage(t, {
    approvals: () => open.map((id) => ({ id })) as never,
    approval: (id) => (open.includes(id) ? ({ id, detail: {} } as never) : undefined),
    answer: (id) => (open.includes(id) ? { kind: 'taken' } : { kind: 'unknown' }),
  });
  for (const id of ['abcd', 'abcdf', 'latest', 'abcdf12'])
    t.match(await run('approvals.show', { id }), { id: 'abcdf12' }, id);
  for (const id of ['abc', 'abcdf1', 'abcdg'])
    await t.rejects(run('approvals.show', { id }), { code: 'approval-unknown' }, id);
  for (const id of ['abcdf', 'abcdf1', 'latest'])
    await t.rejects(run('approvals.answer', { id, grant: true }), { code: 'approval-unknown' }, `${id} answers none`);
  open.push('abcdf13');
  t.match(await run('approvals.show', { id: 'latest' }), { id: 'abcdf13' });
  await t.rejects(run('approvals.show', { id: 'abcd' }), { code: 'id-ambiguous', message: /abcdf12\n {2}abcdf13/ });
});

t.test('CLI-6 · SCA-3 · `latest` and the letters of an id are of the questions of all gateways', async (t) => {
  const here = { id: 'abcdf12', asked_at: '2026-06-01T09:00:00.000Z' };
  const there = { id: 'abcdg3', asked_at: '2026-06-01T09:00:01.000Z' };
  const { run, host } = stage(t, {
    approvals: () => [here] as never,
    approval: (id) => (id === here.id ? (here as never) : undefined),
  });
  const asked: unknown[] = [];
  const nodes = {
    askQuestionsOfOthers: async () => [there],
    routed: async (request: unknown, _: unknown, own: () => Promise<unknown>) => {
      asked.push(request);
      return own().catch(() => there);
    },
  };
  const from = { ...host, nodes } as unknown as CommandHost;
  t.match(await run('approvals.show', { id: 'latest' }, from), there);
  t.match(await run('approvals.show', { id: 'abcdg' }, from), there);
  t.match(await run('approvals.show', { id: 'abcdf' }, from), here);
  t.same(asked, Array(2).fill({ method: 'approvals.show', params: { id: there.id } }));
  await t.rejects(run('approvals.show', { id: 'abcd' }, from), { code: 'id-ambiguous' });
});
