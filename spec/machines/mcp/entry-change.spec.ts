import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { editConfig } from '../../../machines/config/edit.ts';
import { type ChangeStart, type EntryRequest, planEntryChange } from '../../../machines/mcp/entry-change.ts';

const config: JsonObject = {
  agent: { model: { api_key: '${MODEL_KEY}' } },
  mcp_servers: {
    hub: { url: 'https://hub.example/', headers: { Authorization: 'Bearer ${HUB_TOKEN}', 'X-Team': 'a' } },
    files: { command: 'files', args: ['--one'], env: { KEY: '${KEY}' } },
    other: { command: 'other', env: { KEY: '${KEY}' } },
    broken: { comand: 'x' },
  },
};

function plan(name: string, request: EntryRequest, more: Partial<ChangeStart> = {}) {
  const secrets = new Map([
    ['HUB_TOKEN', 'old'],
    ['KEY', 'shared'],
  ]);
  return planEntryChange({ name, request, config, secrets, env: {}, takes: 'all', ...more });
}

t.test('HOME-4 · an edit touches the keys that differ, and null takes one out', (t) => {
  const changes = { headers: { 'X-Team': null }, timeout: 60, url: 'https://hub.example/' };
  const planned = plan('hub', { kind: 'edit', changes });
  t.match(planned, {
    kind: 'planned',
    edits: [
      { path: ['mcp_servers', 'hub', 'headers', 'X-Team'], value: undefined },
      { path: ['mcp_servers', 'hub', 'timeout'], value: 60 },
    ],
    variables: [],
    unused: [],
  });
  const text =
    'mcp_servers:\n  hub: # mine\n    url: https://hub.example/\n    headers:\n      X-Team: a # ours\n      X-Other: b\n';
  if (planned.kind !== 'planned') return t.fail();
  t.equal(
    editConfig(text, planned.edits),
    'mcp_servers:\n  hub: # mine\n    url: https://hub.example/\n    headers:\n      X-Other: b\n    timeout: 60\n',
  );
  for (const changes of [{ lazy: null }, { env: { A: null, B: { c: null } } }, { headers: { 'X-Team': 'a' } }])
    t.match(plan('hub', { kind: 'edit', changes }), { kind: 'planned', edits: [] }, JSON.stringify(changes));
  t.end();
});

t.test(
  'CLI-5 · a value goes to a variable of its own: its earlier one is replaced, one that is shared is left',
  (t) => {
    const rows: readonly (readonly [string, JsonObject, readonly object[]])[] = [
      ['hub', { headers: { Authorization: 'Bearer new' } }, [{ variable: 'HUB_TOKEN', value: 'new' }]],
      ['files', { env: { KEY: 'own' } }, [{ variable: 'KEY_2', value: 'own' }]],
      ['files', { env: { KEY: 'shared' } }, []],
      ['files', { env: { PATH: '/bin' } }, [{ variable: 'MCP_FILES_PATH', value: '/bin' }]],
      ['files', { env: { MODEL_KEY: 'x' } }, [{ variable: 'MCP_FILES_MODEL_KEY', value: 'x' }]],
      ['files', { env: { KEY: '${OTHER}' } }, []],
    ];
    for (const [name, changes, variables] of rows) {
      const planned = plan(name, { kind: 'edit', changes });
      t.same(planned.kind === 'planned' && planned.variables, variables, JSON.stringify(changes));
    }
    t.end();
  },
);

t.test('CLI-5 · only what looks secret goes to .env, unless all does', (t) => {
  const entry = { command: 'x', env: { LEVEL: 'debug', API_TOKEN: 'abc' } };
  const some = plan('fresh', { kind: 'add', entry, replaces: false }, { takes: 'secrets' });
  t.match(some, { entry: { env: { LEVEL: 'debug', API_TOKEN: '${API_TOKEN}' } } });
  t.match(plan('fresh', { kind: 'add', entry, replaces: false }), { entry: { env: { LEVEL: '${LEVEL}' } } });
  t.end();
});

t.test('CFG-1 · CFG-6 · a refusal names the field', (t) => {
  const add = (entry: JsonObject): EntryRequest => ({ kind: 'add', entry, replaces: false });
  const rows: readonly (readonly [string, EntryRequest, string, string | undefined])[] = [
    ['hub', add({ command: 'x' }), 'server-exists', 'server'],
    ['a b', add({ command: 'x' }), 'server-name', 'server'],
    ['..', add({ command: 'x' }), 'server-name', 'server'],
    ['fresh', add({ command: 'x', url: 'https://x.example/' }), 'server-two-transports', 'url'],
    ['fresh', add({}), 'server-no-transport', undefined],
    ['fresh', add({ url: 'ftp://x' }), 'server-url', 'url'],
    ['fresh', add({ command: 'x', env: { A: ['b'] } }), 'wrong-type', 'env.A'],
    [
      'hub',
      { kind: 'edit', changes: { headers: { Authorization: 'Bearer ***' } } },
      'server-masked',
      'headers.Authorization',
    ],
    ['none', { kind: 'edit', changes: { lazy: true } }, 'server-unknown', undefined],
    ['none', { kind: 'remove' }, 'server-unknown', undefined],
    ['broken', { kind: 'edit', changes: { lazy: true } }, 'unknown-key', 'comand'],
  ];
  for (const [name, request, code, field] of rows) {
    const refused = plan(name, request);
    t.match(refused, { kind: 'refused', code }, JSON.stringify(request));
    t.equal(refused.kind === 'refused' ? refused.field : '', field, JSON.stringify(request));
  }
  t.equal(plan('broken', { kind: 'edit', changes: { enabled: false } }).kind, 'planned', 'it can be switched off');
  t.end();
});

t.test('INS-4 · a removal names the variables that nothing refers to any more', (t) => {
  t.match(plan('hub', { kind: 'remove' }), { unused: ['HUB_TOKEN'], entry: undefined });
  t.same((plan('files', { kind: 'remove' }) as { unused?: unknown }).unused, [], 'another entry reads it');
  t.end();
});
