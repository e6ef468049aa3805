import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { checkServerEntry, serverEntrySchema } from '../../../machines/config/server-entry.ts';
import { validate } from '../../../machines/config/validate.ts';
import type { ForeignProgram } from '../../../machines/mcp/foreign-files.ts';
import { type ImportVerdict, importServer } from '../../../machines/mcp/import-server.ts';

function imported(program: ForeignProgram, value: JsonObject, workspace?: string): ImportVerdict {
  return importServer({ name: 'it', value, inputs: { key: 'The key' } }, { program, workspace });
}

const rows: readonly (readonly [ForeignProgram, JsonObject, object])[] = [
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
    { type: 'http', url: 'https://x/', timeout: 90_000 },
    { entry: { url: 'https://x/', timeout: 90 }, notes: [/auth: oauth/] },
  ],
  [
    'claude-code',
    { url: 'https://x/', headersHelper: 'h', oauth: { clientId: 'c', callbackPort: 7 } },
    { entry: { auth: 'oauth', oauth: { client_id: 'c', redirect_port: 7 } }, notes: ['not taken over: headersHelper'] },
  ],
  [
    'claude-code',
    { command: '${BIN:-node}', args: ['${A}', 'x${HOME}'] },
    {
      entry: { command: '${BIN}', args: ['${A}', 'x${HOME}'] },
      wanted: [{ variable: 'BIN', fallback: 'node' }, { variable: 'A' }, { variable: 'HOME' }],
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
      notes: ['not taken over: envFile'],
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
        connect_timeout: 20,
        timeout: 45,
        tools: { include: ['a'], exclude: ['b'] },
      },
      wanted: [{ variable: 'C' }],
      notes: ['not taken over: cwd'],
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
  ['codex', { command: 'x', startup_timeout_ms: 1_500 }, { entry: { connect_timeout: 1.5 } }],
];

t.test('CLI-5 · each program’s keys become ours, and what has no counterpart is named', (t) => {
  for (const [program, value, expected] of rows) {
    const verdict = imported(program, value, '/w');
    t.match(verdict, { kind: 'imported', ...expected }, `${program}: ${JSON.stringify(value)}`);
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

t.test('CLI-5 · a server that nothing can be started or reached by is not taken over', (t) => {
  for (const value of [{}, { command: 1 }, { args: ['x'] }]) {
    t.match(imported('cursor', value), { kind: 'unusable', why: /neither/ });
  }
  t.end();
});
