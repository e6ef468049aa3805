import { join } from 'node:path';
import t, { type Test } from 'tap';
import { createServerLog } from '../../../actors/mcp/server-log.ts';
import { createRegistry } from '../../../runtime/mcp/registry.ts';
import { createMcpView } from '../../../runtime/mcp/view.ts';
import { createRedactor } from '../../../runtime/redact.ts';
import { makeHome } from '../../support/home.ts';
import { invisibleWords } from '../../support/mcp/odd-tools.ts';
import { settingsOf } from '../../support/mcp/open-session.ts';
import { fakeWard } from '../../support/wards.ts';

interface Connection {
  readonly server: string;
  readonly profile?: string;
  readonly state: string;
  readonly why?: string;
}

const log = { log: () => {}, warnOnce: () => {} };

function stage(t: Test, rows: readonly Connection[]) {
  const ward = fakeWard<Connection>(({ server, profile = 'default', state, why = null }) => ({
    value: state,
    since: 1_000,
    context: { server, profile, transport: 'stdio', era: state === 'connected' ? 'legacy' : null, tools: 2, why },
  }));
  for (const row of rows)
    ward.handle().spawn(row.profile === undefined ? row.server : `${row.server}@${row.profile}`, row as never);
  const registry = createRegistry(log);
  const names = [...new Set(rows.map(({ server }) => server))];
  registry.configure(names.map((name) => settingsOf({ command: 'x' }, name)));
  const folder = join(makeHome(t).path, 'logs');
  const redactor = createRedactor();
  redactor.learn('hunter2-hunter2');
  const view = createMcpView(
    {
      calls: { start: () => Promise.resolve({ kind: 'fault', fault: { code: 'cancelled', message: '' } }) },
      approvals: {},
      reconcile: { settings: (_: string, name: string) => (names.includes(name) ? {} : undefined) },
      connections: ward.handle,
      registry: (profile: string) => (profile === 'default' ? registry : undefined),
      logFolder: () => folder,
    } as never,
    redactor,
  );
  return { view, ward, registry, folder };
}

t.test('LIF-1 · CON-4 · each connection is a row with its state, since when and why, secrets redacted', (t) => {
  const { view, ward } = stage(t, [
    { server: 'a', state: 'connected' },
    { server: 'b', state: 'failed', why: 'HTTP 403: token hunter2-hunter2 is not allowed' },
    { server: 'a', profile: 'work', state: 'connected' },
  ]);
  t.same(view.list(), [
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
      name: 'b',
      profile: 'default',
      state: 'failed',
      transport: 'stdio',
      era: null,
      tools: 2,
      since: '1970-01-01T00:00:01.000Z',
      error: 'HTTP 403: token [redacted] is not allowed',
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
    ward.spawned.map(({ heard }) => heard),
    [[], [], []],
    'looking connects nothing',
  );
  t.end();
});

t.test('LIF-7 · CON-4 · tools stay listed; those of a server that a call cannot reach are unavailable', (t) => {
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
  });
  t.ok(String(tool?.description).length <= 2_001);
  t.equal(view.tools('default', 'lazy').length, 1);
  t.same([view.tools('default', 'none'), view.tools('work')], [[], []]);
  t.end();
});

t.test('CLI-5 · a connection is made anew by its name, in its profile', (t) => {
  const { view, ward } = stage(t, [
    { server: 'a', state: 'parked' },
    { server: 'a', profile: 'work', state: 'parked' },
  ]);
  t.equal(view.reconnect('work', 'a'), true);
  t.equal(view.reconnect('default', 'none'), false);
  t.same(
    ward.spawned.map(({ heard }) => heard),
    [[], [{ type: 'server.connect' }]],
  );
  t.end();
});

t.test(
  'LIF-10 · OBS-1 · a server’s log is read with its secrets redacted, and only of a server that is configured',
  async (t) => {
    const { view, folder } = stage(t, [{ server: 'a', state: 'connected' }]);
    const written = createServerLog({ folder, server: 'a' });
    written.write(Buffer.from('one\nsent hunter2-hunter2\n'));
    await written.close();
    t.same(await view.logs('default', 'a', 10), ['one', 'sent [redacted]']);
    await t.rejects(view.logs('default', '../a', 10), { message: /no mcp server is named "\.\.\/a"/ });
  },
);

t.test('FLT-4 · who watches the tools hears of each change until it stops', (t) => {
  const { view, registry } = stage(t, [{ server: 'a', state: 'connected' }]);
  let changes = 0;
  const off = view.onToolsChanged('default', () => {
    changes += 1;
  });
  registry.learn('a', { tools: [{ name: 'one' }], capabilities: {} });
  off();
  registry.learn('a', { tools: [], capabilities: {} });
  t.equal(changes, 1);
  view.onToolsChanged('none', () => {})();
  t.end();
});
