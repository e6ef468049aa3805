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

  t.same(readCache(cacheText(discovery), 'f1', 1_100), { kind: 'fresh', discovery });
  t.same(readCache(cacheText(bare), 'f1', 1e15), { kind: 'fresh', discovery: bare }, 'without a time to live it holds');
  t.same(readCache(cacheText({ ...bare, tools: [] }), 'f1', 0).kind, 'fresh', 'no tools is an answer too');
  t.end();
});

t.test('LIF-6 · another fingerprint, an old format or the end of its time make an entry stale', (t) => {
  const text = cacheText(discovery);
  const rows: readonly (readonly [string, string, number, string])[] = [
    [text, 'f2', 1_100, 'the server entry has changed'],
    [text, 'f1', 1_500, 'the server let it hold for 500 ms'],
    [text, 'f1', 999, 'the server let it hold for 500 ms'],
    [cacheText({ ...discovery, ttlMs: 0 }), 'f1', 1_000, 'the server let it hold for 0 ms'],
    ['{"format":0}', 'f1', 1_100, 'it has format 0, not 1'],
    ['{"format":2,"tools":"elsewhere"}', 'f1', 1_100, 'it has format 2, not 1'],
  ];
  for (const [held, fingerprint, nowMs, why] of rows)
    t.same(readCache(held, fingerprint, nowMs), { kind: 'stale', why }, `${held} ${fingerprint} ${nowMs}`);
  for (const nowMs of [1_000, 1_499]) t.equal(readCache(text, 'f1', nowMs).kind, 'fresh');
  t.end();
});

t.test('LIF-6 · a spoilt entry is told from a stale one, whatever it holds', (t) => {
  const spoilt = (change: object): string => JSON.stringify({ ...JSON.parse(cacheText(discovery)), ...change });
  const rows = [
    '',
    '{"format":1',
    '[]',
    'null',
    '{}',
    spoilt({ format: '1' }),
    spoilt({ fingerprint: undefined }),
    spoilt({ savedAtMs: 'now' }),
    spoilt({ ttlMs: '5' }),
    spoilt({ tools: {} }),
    spoilt({ tools: [{}] }),
    spoilt({ tools: [null] }),
    spoilt({ capabilities: [] }),
    spoilt({ instructions: 7 }),
  ];
  for (const text of rows) t.equal(readCache(text, 'f1', 1_100).kind, 'corrupt', text);
  fc.assert(fc.property(fc.json(), (text) => readCache(text, 'f1', 0).kind !== 'fresh'));
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
