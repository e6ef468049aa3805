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
    ['files', { kind: 'edit', changes: { args: ['-y', 'x@2', '--key=[redacted]'] } }, 'server-masked', 'args.2'],
    ['none', { kind: 'edit', changes: { lazy: true } }, 'server-unknown', undefined],
    ['none', { kind: 'remove' }, 'server-unknown', undefined],
    ['broken', { kind: 'edit', changes: { lazy: true } }, 'unknown-key', 'comand'],
    ['files', { kind: 'edit', changes: { timeot: null } }, 'unknown-key', 'timeot'],
    ['files', { kind: 'edit', changes: { tools: { exclud: null } } }, 'unknown-key', 'tools.exclud'],
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

t.test('CFG-1 · HOME-4 · the entry that results is merged, and only what differs is written', (t) => {
  const path = (...rest: readonly string[]) => ['mcp_servers', 'hub', ...rest];
  const edited = (changes: JsonObject, more: Partial<ChangeStart> = {}) => {
    const planned = plan('hub', { kind: 'edit', changes }, { takes: 'secrets', ...more });
    if (planned.kind !== 'planned') throw new Error(planned.message);
    return planned;
  };
  const { url, headers } = (config.mcp_servers as Record<string, JsonObject>).hub as Record<string, JsonObject>;

  const some = edited({ headers: { 'X-Team': null, 'X-New': 'b' }, timeout: 60 });
  t.same(some.entry, { url, headers: { Authorization: 'Bearer ${HUB_TOKEN}', 'X-New': 'b' }, timeout: 60 });
  t.same(some.unused, [], 'it still reads its token');
  const tools = edited({ tools: { include: ['a'], exclude: null } });
  t.same(tools.edits, [{ path: path('tools'), value: { include: ['a'] } }]);
  t.same(tools.entry, { url, headers, tools: { include: ['a'] } });
  t.same(edited({ headers: { 'X-Team': 'a', 'X-New': 'b' } }).edits, [{ path: path('headers', 'X-New'), value: 'b' }]);
  t.same(edited({ oauth: {} }).edits, [{ path: path('oauth'), value: {} }], 'an empty object that is asked for');
  t.same(edited({ timeout: null, headers: { 'X-None': null } }).edits, []);
  t.same(edited({ headers: null }).entry, { url });

  const env = { HUB_TOKEN: 'of the process' };
  const renewed = edited({ headers: { Authorization: 'Bearer new' } }, { env });
  t.same(renewed.variables, [{ variable: 'HUB_TOKEN', value: 'new' }], 'no other entry reads it');

  const entry = { command: 'x' };
  t.same(plan('hub', { kind: 'add', entry, replaces: true }), {
    kind: 'planned',
    edits: [{ path: path(), value: entry }],
    variables: [],
    entry,
    unused: ['HUB_TOKEN'],
  });
  t.same(plan('hub', { kind: 'remove' }), {
    kind: 'planned',
    edits: [{ path: path(), value: undefined }],
    variables: [],
    entry: undefined,
    unused: ['HUB_TOKEN'],
  });
  const odd = { mcp_servers: { hub: 'text' } };
  t.match(plan('hub', { kind: 'edit', changes: entry }, { config: odd }), { kind: 'planned', entry });
  t.end();
});

t.test('CFG-1 · a refusal says what is wrong, and what to do', (t) => {
  const messageOf = (name: string, request: EntryRequest): string => {
    const refused = plan(name, request);
    return refused.kind === 'refused' ? refused.message : '';
  };
  t.match(messageOf('a b', { kind: 'add', entry: { command: 'x' }, replaces: false }), /has 1 to 64 letters/);
  t.match(
    messageOf('hub', { kind: 'edit', changes: { headers: { 'X-Team': 'b', Authorization: 'Bearer ***' } } }),
    /^headers\.Authorization: \*\*\* is shown in place of a secret; type the value/,
  );
  t.match(messageOf('none', { kind: 'remove' }), /named "none"; `agent config show mcp_servers` lists them/);
  t.match(messageOf('hbu', { kind: 'remove' }), 'no mcp server is named "hbu"; did you mean "hub"?');
  t.end();
});
