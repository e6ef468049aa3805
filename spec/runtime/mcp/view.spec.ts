import { join } from 'node:path';
import t, { type Test } from 'tap';
import { createLineLog } from '../../../actors/line-log.ts';
import type { Json } from '../../../machines/base/json.ts';
import { type BreakerState, closedBreaker } from '../../../machines/mcp/retry-plan.ts';
import { createRegistry } from '../../../runtime/mcp/registry.ts';
import { createMcpView } from '../../../runtime/mcp/view.ts';
import { createRedactor } from '../../../runtime/observe/redact.ts';
import { makeHome } from '../../support/home.ts';
import { invisibleWords } from '../../support/mcp/odd-tools.ts';
import { settingsOf } from '../../support/mcp/open-session.ts';
import { fakePool } from '../../support/pools.ts';

interface Connection {
  readonly server: string;
  readonly profile?: string;
  readonly state: string;
  readonly why?: string;
  readonly retryMs?: number;
  readonly breaker?: BreakerState;
}

const log = { log: () => {}, warnOnce: () => {} };

function stage(t: Test, rows: readonly Connection[], approvals: object = {}) {
  const pool = fakePool<Connection>(
    ({ server, profile = 'default', state, why = null, retryMs = 0, breaker = closedBreaker }) => ({
      value: state,
      since: 1_000,
      context: {
        server,
        profile,
        transport: 'stdio',
        era: state === 'connected' ? 'legacy' : null,
        tools: 2,
        why,
        retryMs,
        breaker,
      },
    }),
  );
  for (const row of rows)
    pool.handle().spawn(row.profile === undefined ? row.server : `${row.server}@${row.profile}`, row as never);
  const registry = createRegistry(log);
  const names = [...new Set(rows.map(({ server }) => server))];
  registry.configure(names.map((name) => settingsOf({ command: 'x' }, name)));
  const folder = join(makeHome(t).path, 'logs');
  const redactor = createRedactor();
  redactor.learn('hunter2-hunter2');
  const view = createMcpView(
    {
      calls: { start: () => Promise.resolve({ kind: 'fault', fault: { code: 'cancelled', message: '' } }) },
      approvals,
      reconcile: {
        settings: (_: string, name: string) =>
          names.includes(name)
            ? settingsOf(name === 'nowhere' ? {} : { command: 'x', enabled: name !== 'off' }, name)
            : undefined,
        keys: () => [...names].reverse(),
      },
      connections: pool.handle,
      registry: (profile: string) => (profile === 'default' ? registry : undefined),
      logFolder: () => folder,
    } as never,
    redactor,
    () => 60_000,
    () => ({ count: 0, failed: 0 }),
  );
  return { view, pool, registry, folder };
}

t.test('LIF-1 · CON-4 · each connection is a row with its state, since when and why, secrets redacted', (t) => {
  const { view, pool } = stage(t, [
    { server: 'a', state: 'connected' },
    { server: 'b', state: 'failed', why: 'HTTP 403: token hunter2-hunter2 is not allowed' },
    { server: 'a', profile: 'work', state: 'connected' },
  ]);
  t.same(view.list(), [
    {
      name: 'b',
      profile: 'default',
      state: 'failed',
      transport: 'stdio',
      era: null,
      tools: 2,
      since: '1970-01-01T00:00:01.000Z',
      error: 'HTTP 403: token [redacted] is not allowed',
      failure: { why: 'HTTP 403: token [redacted] is not allowed', http_status: 403 },
    },
    {
      name: 'a',
      profile: 'default',
      state: 'connected',
      transport: 'stdio',
      era: 'legacy',
      tools: 2,
      since: '1970-01-01T00:00:01.000Z',
    },
    {
      name: 'a',
      profile: 'work',
      state: 'connected',
      transport: 'stdio',
      era: 'legacy',
      tools: 2,
      since: '1970-01-01T00:00:01.000Z',
    },
  ]);
  t.same(view.states(), { connected: 2, failed: 1 });
  t.same(
    pool.spawned.map(({ heard }) => heard),
    [[], [], []],
    'looking connects nothing',
  );
  t.end();
});

t.test('LIF-1 · rows keep the order of the configuration, and a state is one of the ten', (t) => {
  const { view } = stage(t, [
    { server: 'old', state: 'stopping' },
    { server: 'nowhere', state: 'failed', why: 'neither command nor url' },
    { server: 'off', state: 'disabled' },
  ]);
  const { view: waiting } = stage(t, [
    { server: 'probed', state: 'needsLogin', why: 'no', retryMs: 300_000 },
    { server: 'needs', state: 'needsLogin', why: 'no' },
  ]);
  t.same(
    waiting.list().map(({ next_at }) => next_at),
    [undefined, '1970-01-01T00:05:01.000Z'],
    'when it is tried next, if at all',
  );
  t.same(
    view.list().map(({ name, state, transport, error }) => [name, state, transport, error]),
    [
      ['off', 'disabled', 'stdio', undefined],
      ['nowhere', 'failed', '', 'neither command nor url'],
      ['old', 'stopped', 'stdio', 'its session is being closed'],
    ],
  );
  t.same(view.states(), { stopped: 1, failed: 1, disabled: 1 });
  t.same(
    ['old', 'off', 'none'].map((name) => view.standing('default', name)),
    ['enabled', 'disabled', 'unknown'],
  );
  t.end();
});

t.test(
  'TRU-3 · SEC-7 · a question shows all arguments of its call, however many, long or deep, secrets redacted',
  (t) => {
    let deep: Json = 'the end';
    for (let level = 0; level < 40; level += 1) deep = [deep];
    const args = {
      files: Array.from({ length: 300 }, (_, at) => `file-${at}`),
      text: `${'x'.repeat(20_000)} rm -rf`,
      deep,
      note: 'with hunter2-hunter2',
    };
    const shown = { id: 'a1', detail: 'as the chart keeps it' };
    const { view } = stage(t, [], {
      show: (id: string) => (id === 'gone' ? undefined : shown),
      callOf: (id: string) => (id === 'form' ? undefined : { args }),
    });
    t.same(view.approval('a1'), { id: 'a1', detail: { ...args, note: 'with [redacted]' } });
    t.equal(view.approval('form'), shown);
    t.equal(view.approval('gone'), undefined);
    t.end();
  },
);

t.test('LIF-8 · a connected server whose calls are refused says so, and until when', (t) => {
  const { view } = stage(t, [
    { server: 'a', state: 'connected', breaker: { kind: 'open', untilMs: 90_000 } },
    { server: 'b', state: 'connected', breaker: { kind: 'open', untilMs: 60_000 } },
  ]);
  const [over, open] = view.list();
  t.match(open?.error, /^mcp server "a": its last calls all failed in transport; calls are tried again in 30 s$/);
  t.equal(over?.error, undefined);
  t.end();
});

t.test(
  'LIF-7 · CON-4 · CLI-5 · tools stay listed, described as their server does; those of a server that a call cannot reach are unavailable',
  (t) => {
    const states = ['connected', 'lazy', 'recycling', 'connecting', 'backingOff', 'parked', 'needsLogin', 'failed'];
    const { view, registry } = stage(
      t,
      states.map((state) => ({ server: state, state })),
    );
    for (const state of states) {
      registry.learn(state, {
        tools: [
          {
            name: `do${invisibleWords}`,
            description: 'x'.repeat(5_000),
            inputSchema: { type: 'object', required: ['a'] },
            annotations: { readOnlyHint: true },
            title: 'Do',
            icons: [{ src: 'https://icons.example/do.png' }],
            _meta: { 'example/kind': 1 },
          },
        ],
        capabilities: {},
      });
    }
    t.same(Object.fromEntries(view.tools('default').map(({ server, available }) => [server, available])), {
      connected: true,
      lazy: true,
      recycling: true,
      connecting: true,
      backingOff: false,
      parked: false,
      needsLogin: false,
      failed: false,
    });
    const [tool] = view.tools('default', 'lazy');
    t.match(tool, {
      server: 'lazy',
      tool: 'do',
      input_schema: { type: 'object', required: ['a'] },
      annotations: { readOnlyHint: true },
      title: 'Do',
      icons: [{ src: 'https://icons.example/do.png' }],
      _meta: { 'example/kind': 1 },
      description: 'x'.repeat(5_000),
    });
    t.equal(view.tools('default', 'lazy').length, 1);
    t.same([view.tools('default', 'none'), view.tools('work')], [[], []]);
    t.end();
  },
);

t.test('CLI-5 · a connection is made anew by its name, in its profile', (t) => {
  const { view, pool } = stage(t, [
    { server: 'a', state: 'parked' },
    { server: 'a', profile: 'work', state: 'parked' },
  ]);
  t.equal(view.reconnect('work', 'a'), true);
  t.equal(view.reconnect('default', 'none'), false);
  t.same(
    pool.spawned.map(({ heard }) => heard),
    [[], [{ type: 'server.connect' }]],
  );
  t.end();
});

t.test('LIF-10 · OBS-1 · a server’s log is read with its secrets redacted', async (t) => {
  const { view, folder } = stage(t, [{ server: 'a', state: 'connected' }]);
  const written = createLineLog({ folder, name: 'a', redact: (line) => line });
  written.write(Buffer.from('one\nsent hunter2-hunter2\n'));
  await written.close();
  t.same(await view.logs('default', 'a', 10), ['one', 'sent [redacted]']);
});

t.test('FLT-4 · who watches the tools hears of each change until it stops', (t) => {
  const { view, registry } = stage(t, [{ server: 'a', state: 'connected' }]);
  let changes = 0;
  const off = view.onListsChanged('default', () => {
    changes += 1;
  });
  registry.learn('a', { tools: [{ name: 'one' }], capabilities: {} });
  off();
  registry.learn('a', { tools: [], capabilities: {} });
  t.equal(changes, 1);
  view.onListsChanged('none', () => {})();
  t.end();
});
