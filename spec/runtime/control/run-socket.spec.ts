import { chmodSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import t, { type Test } from 'tap';
import { writeRunFiles } from '../../../actors/agent/run-files.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import { socketIn } from '../../../machines/config/profile.ts';
import { connectControl } from '../../../runtime/control/client.ts';
import type { CommandHost } from '../../../runtime/control/command.ts';
import { commands } from '../../../runtime/control/commands.ts';
import { commandsOfRun, openRunSocket } from '../../../runtime/control/run-socket.ts';
import { makeHome } from '../../support/home.ts';
import { until } from '../../support/processes.ts';

const bounds = { runId: 'r1', profile: 'work', toolsets: [] };

function open(t: Test, path: string, daemon?: CommandHost['daemon']) {
  return openRunSocket(path, bounds, {
    host: { source: { home: dirname(path), env: {} }, ...(daemon === undefined ? {} : { daemon }) },
    log: { log: (_, message) => t.fail(message), warnOnce: () => {} },
    redact: (text) => text.replaceAll('hunter2', '[redacted]'),
  });
}

t.test('SEC-4 · CLI-3 · the socket of a run is private, refuses what is not for runs, and ends with it', async (t) => {
  const home = makeHome(t);
  const path = socketIn(home.path, 'agent.sock');
  const before = process.umask(0);
  t.teardown(() => process.umask(before));
  const closing = await Promise.all([open(t, path), open(t, `${home.path}/other.sock`)]);
  t.equal(process.umask(0), 0, 'sockets that are made at once leave the umask as it was');
  t.equal(statSync(path).mode & 0o777, 0o600);
  const client = await connectControl(path);
  const ask = async (method: string, params: JsonObject = {}) => void (await client?.call(method, params));
  await t.rejects(ask('gateway.stop'), { code: 'run-refused' });
  await t.rejects(ask('runs.show', { id: 'hunter2' }), { message: /"\[redacted\]"/ });
  await t.rejects(ask('no.such'), { message: /no method "no\.such"/ });

  for (const close of closing) close();

  await client?.closed;
  t.notOk(existsSync(path));
  t.equal(await connectControl(path), undefined);
});

t.test(
  'SEC-4 · of the connections of a run 64 are served, further ones refused, and those beyond 256 closed',
  async (t) => {
    const home = makeHome(t);
    const path = socketIn(home.path, 'agent.sock');
    t.teardown(await open(t, path));
    const clients = await Promise.all(Array.from({ length: 65 }, () => connectControl(path)));
    t.teardown(() => {
      for (const client of clients) client?.close();
    });
    const outcomes = await Promise.all(
      clients.map((client) => client?.call('gateway.stop').catch(({ message }) => message)),
    );
    t.equal(outcomes.filter((message) => /may not use gateway\.stop/.test(message)).length, 64);
    t.match(outcomes, { 64: 'a run has at most 64 connections at once; close one first' });
    await clients[64]?.closed;
    clients[0]?.close();
    await clients[0]?.closed;
    await until(async () => {
      const next = await connectControl(path);
      const message = await next?.call('gateway.stop').catch((thrown: Error) => thrown.message);
      next?.close();
      return /may not use/.test(String(message));
    });

    const silent = Array.from({ length: 200 }, () => connect(path));
    t.teardown(() => {
      for (const socket of silent) socket.destroy();
    });
    let ended = 0;
    for (const socket of silent) {
      socket.on('error', () => {});
      socket.on('close', () => {
        ended += 1;
      });
      socket.resume();
    }
    await until(() => ended >= 200 - (256 - 63));
  },
);

t.test('SEC-4 · the connections of a run share the memory for unanswered requests', async (t) => {
  const home = makeHome(t);
  const path = socketIn(home.path, 'agent.sock');
  const waiting: (() => void)[] = [];
  const resources = () => new Promise((resolve) => waiting.push(() => resolve([])));
  const close = await open(t, path, { mcp: { serves: () => true, offers: { resources } } } as never);
  const [first, second] = [connect(path), connect(path)];
  t.teardown(() => {
    first.destroy();
    second.destroy();
    close();
  });
  let answers = 0;
  for (const socket of [first, second]) {
    socket.on('data', (bytes) => {
      answers += bytes.toString().split('\n').length - 1;
    });
  }
  const request = (more: object) =>
    `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'mcp.resources', params: more })}\n`;
  for (let n = 0; n < 5; n += 1) first.write(request({ pad: 'x'.repeat(7_000_000) }));
  await until(() => waiting.length === 5);
  second.write(request({}));
  const other = makeHome(t);
  const closeOther = await open(t, socketIn(other.path, 'agent.sock'));
  t.teardown(closeOther);
  const client = await connectControl(socketIn(other.path, 'agent.sock'));
  t.teardown(() => client?.close());
  for (let n = 0; n < 20; n += 1) await t.rejects(async () => void (await client?.call('no.such')));
  t.equal(waiting.length, 5, 'other runs are answered meanwhile');

  waiting[0]?.();

  await until(() => waiting.length === 6);
  for (const release of waiting) release();
  await until(() => answers === 6);
});

t.test(
  'SEC-4 · HOME-3 · the files and sockets of runs that begin at once are private, each in its folder',
  async (t) => {
    const home = makeHome(t);
    const before = process.umask(0);
    t.teardown(() => process.umask(before));
    const settings = {
      folder: `${home.path}/state/runs`,
      program: ['node', 'main.js'] as const,
      openSocket: (path: string) => open(t, path),
    };
    const run = { ...bounds, profile: 'work', prompt: 'Do it' };
    // A mode that is set for the whole process shows in what another run makes at that time.
    const setsOfUmask: unknown[] = [];
    const { umask } = process;
    process.umask = ((mask?: number) => {
      if (mask !== undefined) setsOfUmask.push(mask);
      return mask === undefined ? umask() : umask(mask);
    }) as typeof process.umask;
    t.teardown(() => {
      process.umask = umask;
    });
    const counts = new Map<string, number>();
    // In queues, so that the folder of one run is made while the socket of another is.
    const queue = async (): Promise<void> => {
      for (let n = 0; n < 50; n += 1) {
        const { prompt, mcpConfig, socket, remove } = await writeRunFiles(settings, run);
        const modes = [dirname(prompt), prompt, mcpConfig, socket].map((path) =>
          (statSync(path).mode & 0o777).toString(8),
        );
        counts.set(modes.join(), (counts.get(modes.join()) ?? 0) + 1);
        await remove();
      }
    };
    await Promise.all(Array.from({ length: 20 }, queue));
    t.same(Object.fromEntries(counts), { '700,600,600,600': 1000 });
    t.same(setsOfUmask, []);
  },
);

t.test(
  'SEC-4 · HOME-3 · in a deep home it has a private folder of its own, and none that others may write',
  async (t) => {
    const home = makeHome(t);
    const path = socketIn(`${home.path}/${'deep/'.repeat(30)}`, 'agent.sock', home.path);
    const close = await open(t, path);
    t.equal(statSync(dirname(path)).mode & 0o777, 0o700);
    close();
    t.notOk(existsSync(dirname(path)));
    mkdirSync(dirname(path));
    chmodSync(dirname(path), 0o777);
    await t.rejects(open(t, path), { code: 'socket-foreign' });
  },
);

/** What a run may use. */
const ofRun = [
  ...[
    'call',
    'getPrompt',
    'gateways',
    'instructions',
    'prompts',
    'readResource',
    'resourceTemplates',
    'resources',
    'tools',
    'watch',
  ].map((name) => `mcp.${name}`),
  'runs.show',
];

const limits = { runId: 'r1', profile: 'work', toolsets: ['web_search', 'mcp-docs'], traceparent: '00-trace' };
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
  const ask = async (method: string, params: JsonObject = {}, of = limits) =>
    commandsOfRun(of)(method)?.(host, params, { notify: () => {}, onEnd: () => () => {} });
  return { ask, calls };
}

t.test('SEC-4 · CLI-3 · a run may use these methods, and no other', async (t) => {
  const { ask } = hostOf();
  for (const method of commands.keys()) {
    if (ofRun.includes(method)) continue;
    await t.rejects(ask(method, { id: 'r1', profile: 'work' }), {
      code: 'run-refused',
      message: `a run may not use ${method}; it has the tools of its toolsets and \`agent runs show r1\`, and a person does the rest outside of it`,
    });
  }
  t.equal(commandsOfRun(limits)('no.such'), undefined);
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
  const names = async (params: JsonObject, toolsets: readonly string[] = limits.toolsets) =>
    ((await ask('mcp.tools', params, { ...limits, toolsets: [...toolsets] })) as readonly JsonObject[]).map(
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
