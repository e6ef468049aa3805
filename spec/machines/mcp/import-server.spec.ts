import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { checkServerEntry, serverEntrySchema } from '../../../machines/config/server-entry.ts';
import { validate } from '../../../machines/config/validate.ts';
import type { ForeignProgram } from '../../../machines/mcp/foreign-files.ts';
import { type ImportVerdict, importServer } from '../../../machines/mcp/import-server.ts';

function imported(program: ForeignProgram, value: JsonObject, workspace?: string): ImportVerdict {
  return importServer({ name: 'it', value, inputs: { key: 'The key' } }, { program, workspace, isSet: () => false });
}

type Row = readonly [ForeignProgram, JsonObject, object];
const rows: readonly Row[] = [
  [
    'goose',
    {
      type: 'stdio',
      name: 'notes',
      display_name: 'Notes',
      bundled: false,
      enabled: false,
      cmd: 'npx',
      args: ['-y', 'notes'],
      envs: { LANG: 'en' },
      env_keys: ['NOTES_KEY'],
      timeout: 300,
      available_tools: [],
    },
    {
      entry: {
        command: 'npx',
        args: ['-y', 'notes'],
        env: { LANG: 'en', NOTES_KEY: '${NOTES_KEY}' },
        timeout: 300,
        enabled: false,
      },
      wanted: [{ variable: 'NOTES_KEY' }],
      notes: [/switched off/],
    },
  ],
  [
    'goose',
    { type: 'sse', uri: 'https://x/sse', headers: { A: 'b' }, envs: {}, available_tools: ['a'], timeout: 5 },
    { entry: { url: 'https://x/sse', transport: 'sse', headers: { A: 'b' }, tools: { include: ['a'] }, timeout: 5 } },
  ],
  [
    'goose',
    { type: 'streamable_http', uri: 'https://x/mcp', envs: {} },
    { entry: { url: 'https://x/mcp' }, notes: [/login/] },
  ],
  [
    'goose',
    {
      type: 'streamable_http',
      uri: 'https://${ HOST }/mcp?key=$',
      envs: { HOST: 'eu.example', REGION: 'eu$1' },
      env_keys: ['TOKEN'],
      headers: { Authorization: 'Bearer $TOKEN', 'X-Region': '${REGION}', 'X-Price': '$5 for $OTHER' },
    },
    {
      entry: {
        url: 'https://eu.example/mcp?key=$',
        headers: { Authorization: 'Bearer ${TOKEN}', 'X-Region': 'eu$1', 'X-Price': '$5 for $OTHER' },
      },
      wanted: [{ variable: 'TOKEN' }],
      notes: [],
    },
  ],
  [
    'hermes',
    {
      command: 'npx',
      args: '-y notes',
      env: { KEY: '${NOTES_KEY}' },
      timeout: 120,
      connect_timeout: 60,
      tools: { include: ['a'] },
      retries: 3,
      headers: {},
      sampling: { enabled: true, log_level: 'info' },
    },
    {
      entry: {
        command: 'npx',
        args: ['-y', 'notes'],
        env: { KEY: '${NOTES_KEY}' },
        timeout: 120,
        connect_timeout: 60,
        tools: { include: ['a'] },
        sampling: { enabled: true },
      },
      wanted: [{ variable: 'NOTES_KEY' }],
      notes: ['not imported: sampling.log_level', 'not imported: retries'],
    },
  ],
  [
    'openclaw',
    {
      url: 'https://x/mcp',
      transport: 'streamable-http',
      headers: { Authorization: { source: 'env', provider: 'default', id: 'TOKEN' } },
      connectionTimeoutMs: 10_000,
      requestTimeoutMs: 30_000,
      sslVerify: false,
      supportsParallelToolCalls: true,
      toolFilter: { include: ['a', 'b'], exclude: ['b'] },
      codex: { agents: ['main'] },
    },
    {
      entry: {
        url: 'https://x/mcp',
        headers: { Authorization: '${TOKEN}' },
        timeout: 30,
        connect_timeout: 10,
        ssl_verify: false,
        supports_parallel_tool_calls: true,
        tools: { include: ['a'] },
      },
      wanted: [{ variable: 'TOKEN' }],
      notes: ['not imported: codex'],
    },
  ],
  [
    'openclaw',
    { url: 'https://x/mcp', auth: 'oauth', oauth: { scope: 'docs.read' } },
    { entry: { url: 'https://x/mcp', transport: 'sse', auth: 'oauth', oauth: { scope: 'docs.read' } } },
  ],
  ['openclaw', { command: 'node', workingDirectory: '/srv' }, { entry: { command: 'node', cwd: '/srv' }, notes: [] }],
  [
    'openclaw',
    { command: 'slow', timeout: 1_800, connectTimeout: 5 },
    { entry: { command: 'slow', timeout: 1_800, connect_timeout: 5 }, notes: [] },
  ],
  ...(['goose', 'openclaw'] as const).flatMap((program) =>
    ['30', 0].map(
      (timeout): Row => [
        program,
        { [program === 'goose' ? 'cmd' : 'command']: 'x', timeout },
        { entry: { timeout: undefined }, notes: ['not imported: timeout'] },
      ],
    ),
  ),
  ['goose', { cmd: 'x', timeout: null }, { entry: { command: 'x' }, notes: [] }],
  [
    'openclaw',
    { command: 'quick', timeout: 20, requestTimeoutMs: 30_000, connectTimeout: 5, connectionTimeoutMs: 10_000 },
    { entry: { command: 'quick', timeout: 30, connect_timeout: 10 }, notes: [] },
  ],
  [
    'gemini-cli',
    {
      command: 'python',
      env: { KEY: '$MY_KEY', URL: '${DB_URL}' },
      cwd: '/srv',
      timeout: 15_000,
      trust: true,
      includeTools: ['a', 'b'],
      excludeTools: ['b'],
    },
    {
      entry: {
        command: 'python',
        env: { KEY: '${MY_KEY}', URL: '${DB_URL}' },
        cwd: '/srv',
        timeout: 15,
        tools: { include: ['a'] },
      },
      wanted: [{ variable: 'MY_KEY' }, { variable: 'DB_URL' }],
      notes: ['not imported: trust'],
    },
  ],
  [
    'gemini-cli',
    { url: 'https://x/sse', httpUrl: 'https://x/mcp', headers: { A: 'b' } },
    { entry: { url: 'https://x/mcp' } },
  ],
  ['gemini-cli', { url: 'https://x/sse' }, { entry: { transport: 'sse' } }],
  [
    'windsurf',
    { serverUrl: 'https://x/mcp', headers: { Authorization: 'Bearer ${env:TOKEN}' }, disabledTools: ['t'] },
    {
      entry: { url: 'https://x/mcp', headers: { Authorization: 'Bearer ${TOKEN}' }, tools: { exclude: ['t'] } },
      wanted: [{ variable: 'TOKEN' }],
    },
  ],
  [
    'zed',
    { source: 'custom', enabled: false, command: 'uv', args: ['run', '$X'], env: { A: '${B}' } },
    { entry: { command: 'uv', args: ['run', '$X'], env: { A: '${B}' }, enabled: false }, wanted: [], notes: [/off/] },
  ],
  [
    'zed',
    { command: { path: 'uv', args: ['run'], env: { A: '1' } }, settings: {} },
    { entry: { command: 'uv', args: ['run'], env: { A: '1' } }, notes: ['not imported: settings'] },
  ],
  [
    'opencode',
    { type: 'local', command: ['npx', '-y', 'x'], environment: { K: '{env:KEY}', F: '{file:k}' }, timeout: 5_000 },
    {
      entry: { command: 'npx', args: ['-y', 'x'], env: { K: '${KEY}' } },
      wanted: [{ variable: 'KEY' }],
      notes: ['not imported: timeout', /means nothing here/],
    },
  ],
  [
    'opencode',
    { type: 'remote', url: 'https://x/mcp', enabled: true, oauth: { clientId: 'c', scope: 's' } },
    { entry: { url: 'https://x/mcp', auth: 'oauth', oauth: { client_id: 'c', scope: 's' } } },
  ],
  [
    'claude-desktop',
    { command: 'npx', args: ['-y', 'x'], env: { A: '1' } },
    { entry: { command: 'npx', args: ['-y', 'x'], env: { A: '1' } }, notes: [] },
  ],
  ['claude-desktop', { command: 'x', args: [], env: {} }, { entry: { command: 'x' } }],
  [
    'claude-code',
    { type: 'sse', url: 'https://x/', headers: { 'X-A': 'b' } },
    { entry: { url: 'https://x/', transport: 'sse', headers: { 'X-A': 'b' } } },
  ],
  [
    'claude-code',
    { url: 'https://x/sse' },
    { entry: { url: 'https://x/sse', transport: 'sse' }, notes: [/by its url/] },
  ],
  ['claude-code', { type: 'http', url: 'https://x/sse' }, { entry: { url: 'https://x/sse', transport: undefined } }],
  [
    'claude-code',
    { type: 'http', url: 'https://x/', timeout: 90_000 },
    { entry: { url: 'https://x/', timeout: 90 }, notes: [/auth: oauth/] },
  ],
  [
    'claude-code',
    { url: 'https://x/', headersHelper: 'h', oauth: { clientId: 'c', callbackPort: 7 } },
    { entry: { auth: 'oauth', oauth: { client_id: 'c', redirect_port: 7 } }, notes: ['not imported: headersHelper'] },
  ],
  [
    'claude-code',
    { command: '${BIN:-node}', args: ['${A}', 'x${HOME}'] },
    {
      entry: { command: 'node', args: ['${A}', 'x${HOME}'] },
      wanted: [{ variable: 'A' }, { variable: 'HOME' }],
    },
  ],
  [
    'cursor',
    { command: '${workspaceFolder}/x', env: { K: '${env:K}', U: '${userHome}' }, disabled: true },
    { entry: { command: '/w/x', env: { K: '${K}', U: '${userHome}' }, enabled: false }, wanted: [{ variable: 'K' }] },
  ],
  [
    'cursor',
    { url: 'https://x/', auth: { CLIENT_ID: 'c', CLIENT_SECRET: 's', scopes: ['a', 'b'] } },
    { entry: { auth: 'oauth', oauth: { client_id: 'c', client_secret: 's', scope: 'a b' } } },
  ],
  [
    'vscode',
    { type: 'stdio', command: 'x', env: { K: '${input:key}' }, envFile: '.env', gallery: true },
    {
      entry: { command: 'x', env: { K: '${IT_KEY}' } },
      wanted: [{ variable: 'IT_KEY', why: 'The key' }],
      notes: ['not imported: envFile'],
    },
  ],
  [
    'vscode',
    { type: 'http', url: 'https://x/', headers: { Authorization: 'Bearer ${input:it-token}' } },
    { entry: { headers: { Authorization: 'Bearer ${IT_TOKEN}' } } },
  ],
  [
    'codex',
    {
      command: 'x',
      env: { A: '${B}' },
      env_vars: ['C'],
      cwd: '/y',
      startup_timeout_sec: 20,
      tool_timeout_sec: 45,
      enabled_tools: ['a'],
      disabled_tools: ['b'],
    },
    {
      entry: {
        command: 'x',
        env: { A: '${B}', C: '${C}' },
        cwd: '/y',
        connect_timeout: 20,
        timeout: 45,
        tools: { include: ['a'] },
      },
      wanted: [{ variable: 'C' }],
      notes: [],
    },
  ],
  [
    'codex',
    {
      url: 'https://x/',
      bearer_token_env_var: 'T',
      http_headers: { 'X-R': 'eu' },
      env_http_headers: { 'X-K': 'KEY' },
      enabled: false,
    },
    {
      entry: { headers: { 'X-R': 'eu', 'X-K': '${KEY}', Authorization: 'Bearer ${T}' }, enabled: false },
      wanted: [{ variable: 'KEY' }, { variable: 'T' }],
    },
  ],
  [
    'codex',
    {
      url: 'https://x/',
      headers: { Authorization: 'Bearer t', 'X-R': 'us' },
      http_headers: { 'X-R': 'eu' },
      timeout: 30_000,
      connectionTimeoutMs: 9_000,
      includeTools: ['a', 'b'],
      excludeTools: ['b'],
      supportsParallelToolCalls: true,
    },
    {
      entry: {
        headers: { Authorization: 'Bearer t', 'X-R': 'eu' },
        timeout: 30,
        connect_timeout: 9,
        tools: { include: ['a'] },
        supports_parallel_tool_calls: true,
      },
      notes: [],
    },
  ],
  ['codex', { command: 'x', tool_timeout_sec: 0.5 }, { entry: { timeout: 0.5 }, notes: [] }],
  ['codex', { command: 'x', timeout: 60, tool_timeout_sec: 90 }, { entry: { timeout: 90 } }],
  [
    'codex',
    { command: 'x', timeout: 60, tool_timeout_sec: 0 },
    { entry: { command: 'x' }, notes: ['not imported: timeout, tool_timeout_sec'] },
  ],
  ['codex', { command: 'x', startup_timeout_ms: 1_500 }, { entry: { connect_timeout: 1.5 } }],
  ['codex', { command: 'x', startup_timeout_ms: 1_500, startup_timeout_sec: 9 }, { entry: { connect_timeout: 9 } }],
  [
    'codex',
    { command: 'x', env_vars: ['A', { name: 'B', source: 'local' }, 3, {}], enabled_tools: [] },
    { entry: { env: { A: '${A}', B: '${B}' }, tools: { include: [] } } },
  ],
  [
    'codex',
    {
      url: 'https://x/',
      scopes: ['a', 'b'],
      oauth: { client_id: 'c', client_secret: 's' },
      oauth_resource: 'https://r/',
      supports_parallel_tool_calls: true,
      default_tools_approval_mode: 'prompt',
    },
    {
      entry: {
        auth: 'oauth',
        oauth: { client_id: 'c', client_secret: 's', scope: 'a b' },
        supports_parallel_tool_calls: true,
        trust: 'untrusted',
      },
      notes: ['not imported: oauth_resource'],
    },
  ],
  [
    'codex',
    { url: 'https://x/', bearer_token: 't', default_tools_approval_mode: 'auto' },
    { entry: { headers: { Authorization: 'Bearer t' } }, notes: ['not imported: default_tools_approval_mode'] },
  ],
  [
    'claude-code',
    { type: 'streamable-http', url: 'https://x/sse', headers: { A: 'b' } },
    { entry: { url: 'https://x/sse' } },
  ],
  [
    'cursor',
    { url: 'https://x/sse?a=b' },
    { entry: { transport: 'sse' }, notes: [/taken for the sse transport/, /auth/] },
  ],
  ['vscode', { type: 'http', url: 'https://x/sse/' }, { entry: { transport: 'sse' } }],
  ['vscode', { command: 'x', env: { P: 8_080, N: null } }, { entry: { command: 'x', env: { P: 8_080 } } }],
  [
    'vscode',
    { command: '${config:x.y}', args: ['${/}', '${command:z}'] },
    {
      entry: { command: '${config:x.y}', args: ['${/}', '${command:z}'] },
      wanted: [],
      notes: ['means nothing here, put its value there: ${config:x.y}, ${command:z}'],
    },
  ],
  ['claude-code', { command: 'x', timeout: 60 }, { entry: { command: 'x' }, notes: ['not imported: timeout'] }],
  [
    'claude-code',
    { type: 'http', url: 'https://x/', oauth: { clientId: 'c', authServerMetadataUrl: 'https://m/' } },
    { entry: { oauth: { client_id: 'c' } }, notes: ['not imported: oauth.authServerMetadataUrl'] },
  ],
  ['claude-code', { type: 'http', url: '${API_BASE:-https://x}/mcp' }, { entry: { url: 'https://x/mcp' } }],
  ['cursor', { url: 'https://x/', auth: 'oauth' }, { entry: { auth: 'oauth' }, notes: [] }],
  [
    'claude-code',
    { httpUrl: 'https://g/', includeTools: ['a', 'b'], excludeTools: ['b'] },
    { entry: { url: 'https://g/', tools: { include: ['a'] } }, notes: [/auth: oauth/] },
  ],
  [
    'cursor',
    { serverUrl: 'https://w/', headers: { A: 'b' }, disabledTools: ['drop'] },
    { entry: { url: 'https://w/', headers: { A: 'b' }, tools: { exclude: ['drop'] } }, notes: [] },
  ],
  [
    'claude-code',
    { command: 'x', tools: ['read', 'list'] },
    { entry: { tools: { include: ['read', 'list'] } }, notes: [] },
  ],
  ['claude-code', { command: 'x', tools: ['*'] }, { entry: { tools: undefined }, notes: [] }],
  ['claude-code', { command: 'x', tools: { a: true } }, { notes: ['not imported: tools'] }],
  ['claude-code', { command: 'x', disabled: true }, { entry: { enabled: false }, notes: [/switched off there/] }],
];

t.test('CLI-5 · each program’s keys become ours, and what has no counterpart is named', (t) => {
  for (const [program, value, expected] of rows) {
    const verdict = imported(program, value, '/w');
    t.match(verdict, { kind: 'imported', ...expected }, `${program}: ${JSON.stringify(value)}`);
  }
  t.end();
});

t.test('CLI-5 · a relative cwd of a folder’s server is in that folder', (t) => {
  const rows: readonly (readonly [cwd: string | undefined, becomes: string])[] = [
    [undefined, '/w/a'],
    ['.', '/w/a/'],
    ['./', '/w/a/'],
    ['./tools', '/w/a/tools'],
    ['.tools', '/w/a/.tools'],
    ['..', '/w/a/..'],
    ['../b', '/w/a/../b'],
    ['/srv', '/srv'],
    ['~/b', '~/b'],
  ];
  for (const [cwd, becomes] of rows) {
    const value = { command: 'x', ...(cwd === undefined ? {} : { cwd }) };
    const place = { program: 'cursor', workspace: '/w/a', isSet: () => false } as const;
    t.match(importServer({ name: 'x', value, inputs: {} }, place), { entry: { cwd: becomes } }, cwd ?? 'none');
  }
  t.end();
});

t.test('CLI-5 · CFG-1 · what is imported is an entry without a finding', (t) => {
  for (const [program, value] of rows) {
    const verdict = imported(program, value, '/w');
    const entry = verdict.kind === 'imported' ? verdict.entry : {};
    t.same([...validate(serverEntrySchema, entry), ...checkServerEntry(entry)], [], JSON.stringify(entry));
  }
  t.end();
});

t.test('CLI-5 · what a file leaves out stays out: no key is added', (t) => {
  const exact: readonly (readonly [ForeignProgram, JsonObject, JsonObject])[] = [
    ['claude-code', { type: 'streamable-http', url: 'https://x/sse' }, { url: 'https://x/sse' }],
    ['cursor', { url: 'https://x/', auth: 'oauth' }, { url: 'https://x/', auth: 'oauth' }],
    ['cursor', { url: 'https://x/assess' }, { url: 'https://x/assess' }],
    ['vscode', { command: 'x', env: { N: null } }, { command: 'x' }],
    ['codex', { command: 'x', enabled: true, disabled_tools: [], required: false }, { command: 'x' }],
    [
      'codex',
      { command: 'x', enabled_tools: ['read', 'drop'], disabled_tools: ['drop'] },
      { command: 'x', tools: { include: ['read'] } },
    ],
    ['codex', { command: 'x', disabled_tools: ['drop'] }, { command: 'x', tools: { exclude: ['drop'] } }],
  ];
  for (const [program, value, entry] of exact) t.same((imported(program, value) as { entry: object }).entry, entry);
  t.end();
});

t.test('CLI-5 · an unsupported transport is reported, not written', (t) => {
  const rows: readonly (readonly [ForeignProgram, JsonObject, RegExp])[] = [
    ['claude-code', { type: 'ws', url: 'wss://x/' }, /not http or https but wss$/],
    ['vscode', { type: 'http', url: 'unix:///tmp/mcp.sock' }, /but unix$/],
    ['claude-code', { type: 'sdk', name: 'x' }, /neither/],
    ['zed', { source: 'extension', enabled: true, settings: { token: 't' } }, /extension of Zed starts it/],
    ['codex', { command: 'agent', args: ['mcp', 'serve'] }, /offers the tools of a gateway/],
    ['claude-desktop', { command: '/bin/node', args: ['/opt/bin/agent', 'mcp', 'serve'] }, /of a gateway/],
    ['cursor', { command: 'npx', args: ['-y', 'agent-gateway', 'mcp', 'serve'] }, /of a gateway/],
  ];
  for (const [program, value, why] of rows) t.match(imported(program, value), { kind: 'unusable', why });
  t.end();
});

t.test('CLI-5 · a server that nothing can be started or reached by is not taken over', (t) => {
  for (const value of [{}, { command: 1 }, { args: ['x'] }]) {
    t.match(imported('cursor', value), { kind: 'unusable', why: /neither/ });
  }
  t.end();
});

t.test('SEC-2 · CLI-5 · what no variable can be named is no reference, and no line of .env', (t) => {
  const odd = 'KEY\nPATH';
  const read = (value: JsonObject) => imported('codex', value) as Extract<ImportVerdict, { kind: 'imported' }>;
  const remote = read({ url: 'https://x/', bearer_token_env_var: odd, env_http_headers: { 'X-A': odd, 'X-B': 'B' } });
  t.same(remote.entry, { url: 'https://x/', headers: { 'X-B': '${B}' } });
  t.same(
    remote.wanted.map(({ variable }) => variable),
    ['B'],
  );
  t.match(remote.notes.join(), /no variable has such a name/);
  t.same(read({ command: 'x', env_vars: [odd] }).entry, { command: 'x' });
  t.end();
});
