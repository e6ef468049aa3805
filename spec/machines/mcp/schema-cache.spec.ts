import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { normaliseServerEntry } from '../../../machines/config/server-entry.ts';
import { type CachedDiscovery, cacheText, fingerprintInput, readCache } from '../../../machines/mcp/schema-cache.ts';
import { readServerSettings } from '../../../machines/mcp/server-settings.ts';
import { fc } from '../../support/property.ts';

const discovery: CachedDiscovery = {
  fingerprint: 'f1',
  savedAtMs: 1_000,
  ttlMs: 500,
  tools: [{ name: 'a', inputSchema: { type: 'object' } }],
  capabilities: { tools: { listChanged: true } },
  instructions: 'Be kind.',
  offered: { 'resources/list': [{ uri: 'a://b', name: 'b' }], 'prompts/list': [] },
};

function input(entry: JsonObject): string {
  return fingerprintInput(readServerSettings(normaliseServerEntry('s', entry)));
}

t.test('LIF-6 · what was written is read again', (t) => {
  const { ttlMs: _, instructions: __, offered: ___, ...bare } = discovery;

  for (const nowMs of [1_000, 1_100, 1_499]) t.same(readCache(cacheText(discovery), 'f1', nowMs), discovery);
  t.same(readCache(cacheText(bare), 'f1', 1e15), bare, 'without a time to live it holds');
  t.ok(readCache(cacheText({ ...bare, tools: [] }), 'f1', 0), 'no tools is an answer too');
  t.end();
});

t.test('LIF-6 · another fingerprint, another format, the end of its time and damage make an entry void', (t) => {
  const text = cacheText(discovery);
  const changed = (change: object): string => JSON.stringify({ ...JSON.parse(text), ...change });
  const changes: readonly object[] = [
    ...[{ format: 0 }, { format: 2 }, { format: '1' }, { savedAtMs: 'now' }, { ttlMs: '5' }, { tools: {} }],
    ...[
      { tools: [{}] },
      { tools: [null] },
      { leftOut: [1] },
      { leftOutNames: [1] },
      { capabilities: [] },
      { instructions: 7 },
    ],
  ];
  const rows: readonly (readonly [text: string, fingerprint?: string, nowMs?: number])[] = [
    [text, 'f2'],
    [text, 'f1', 1_500],
    [text, 'f1', 999],
    [cacheText({ ...discovery, ttlMs: 0 }), 'f1', 1_000],
    ...['', '{"format":1', '[]', 'null', '{}', '{"format":1}'].map((damaged) => [damaged] as const),
    ...changes.map((change) => [changed(change)] as const),
  ];
  for (const [held, fingerprint = 'f1', nowMs = 1_100] of rows)
    t.equal(readCache(held, fingerprint, nowMs), undefined, `${held} ${fingerprint} ${nowMs}`);
  fc.assert(fc.property(fc.json(), (json) => readCache(json, 'f1', 0) === undefined));
  t.end();
});

t.test('LIF-6 · the fingerprint changes with all that decides the tool list', (t) => {
  const stdio = { command: 'npx', args: ['-y', 'x'], env: { A: '1' } };
  const http = { url: 'https://h/mcp', headers: { 'X-Team': 'a' } };
  const rows: readonly JsonObject[] = [
    stdio,
    { ...stdio, command: 'node' },
    { ...stdio, args: ['x', '-y'] },
    { ...stdio, args: ['-y x'] },
    { ...stdio, env: { A: '2' } },
    { ...stdio, env: { B: '1' } },
    { ...stdio, cwd: '/a' },
    { ...stdio, cwd: '/b' },
    { ...stdio, protocol: 'stateless' },
    { ...stdio, sampling: { enabled: false } },
    { ...stdio, elicitation: { enabled: false } },
    http,
    { ...http, url: 'https://h/other' },
    { ...http, headers: { 'X-Team': 'b' } },
    { ...http, transport: 'sse' },
    { ...http, auth: 'oauth' },
    { ...http, ssl_verify: '~/ca.pem' },
    { ...http, client_cert: '~/me.pem' },
    { ...http, client_cert: '~/me.pem', client_key: '~/me.key' },
    { ...http, client_cert: ['~/me.pem', '~/me.key', 'password'] },
  ];
  t.equal(new Set(rows.map(input)).size, rows.length);
  t.end();
});

t.test('LIF-6 · the fingerprint keeps through what does not, and through another order of keys', (t) => {
  const base = { command: 'npx', env: { A: '1', B: '2', 10: 'x', 9: 'y' } };
  const rows: readonly JsonObject[] = [
    { env: { 9: 'y', B: '2', 10: 'x', A: '1' }, command: 'npx' },
    { ...base, tools: { include: ['a'], resources: false } },
    { ...base, timeout: 5, connect_timeout: 5, lazy: true, keepalive_interval: 9 },
    { ...base, trust: 'untrusted', supports_parallel_tool_calls: true, max_result_chars: 5 },
  ];
  for (const entry of rows) t.equal(input(entry), input(base), JSON.stringify(entry));
  t.end();
});
