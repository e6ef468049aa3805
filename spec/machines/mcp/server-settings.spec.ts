import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { normaliseServerEntry } from '../../../machines/config/server-entry.ts';
import { boolLike, readServerSettings } from '../../../machines/mcp/server-settings.ts';

const read = (entry: JsonObject) => readServerSettings(normaliseServerEntry('s', entry));
const url = 'https://mcp.example.com/mcp';

t.test('CFG-1 · an entry that says nothing has the documented defaults', (t) => {
  t.match(read({ command: 'node' }), {
    transport: { kind: 'stdio', command: 'node', args: [], env: {} },
    protocol: 'auto',
    timeoutMs: 300_000,
    connectTimeoutMs: 60_000,
    parallel: false,
    lazy: false,
    keepaliveMs: undefined,
    idleTimeoutMs: 0,
    maxLifetimeMs: 0,
    trust: 'full',
    tools: { include: undefined, exclude: [], resources: true, prompts: true },
    elicitation: { enabled: true, timeoutMs: 300_000 },
    sampling: { enabled: true, maxTokensCap: 4096, timeoutMs: 30_000, maxRequestsPerMinute: 10, maxToolRounds: 5 },
    resultCap: 2_000_000,
    breaker: { failures: 5, resetMs: 30_000 },
  });
  t.match(read({ url }), { transport: { kind: 'http', url, headers: {}, skipPreflight: false, oauth: null } });
  t.end();
});

t.test('TRU-1 · any word but full is untrusted', (t) => {
  for (const [trust, expected] of [
    ['full', 'full'],
    ['untrusted', 'untrusted'],
    ['Full', 'untrusted'],
    ['', 'untrusted'],
  ] as const) {
    t.equal(read({ command: 'x', trust }).trust, expected, trust);
  }
  t.end();
});

t.test('TLS-1 · each shape of a client certificate says from which key its paths were read', (t) => {
  const both = { certKey: 'client_cert', keyKey: 'client_cert' };
  const rows: readonly (readonly [JsonObject, JsonObject])[] = [
    [{}, { verify: true, ...both }],
    [{ ssl_verify: false }, { verify: false, ...both }],
    [{ ssl_verify: '~/ca.pem' }, { verify: '~/ca.pem', ...both }],
    [{ client_cert: 'a.pem' }, { verify: true, cert: 'a.pem', key: 'a.pem', ...both }],
    [
      { client_cert: 'a.pem', client_key: 'a.key' },
      { verify: true, cert: 'a.pem', key: 'a.key', certKey: 'client_cert', keyKey: 'client_key' },
    ],
    [{ client_cert: ['a.pem', 'a.key'] }, { verify: true, cert: 'a.pem', key: 'a.key', ...both }],
    [
      { client_cert: ['a.pem', 'a.key', 'pass'] },
      { verify: true, cert: 'a.pem', key: 'a.key', password: 'pass', ...both },
    ],
  ];
  for (const [entry, tls] of rows) {
    const { transport } = read({ url, ...entry });
    t.same(transport.kind === 'stdio' ? undefined : transport.tls, tls, JSON.stringify(entry));
  }
  t.end();
});

t.test('FLT-2 · words for yes and no are read in any case; any other is the default', (t) => {
  for (const word of ['true', '1', 'yes', 'on', 'YES', true, 1]) t.equal(boolLike(word, false), true, String(word));
  for (const word of ['false', '0', 'no', 'off', 'Off', false, 0]) t.equal(boolLike(word, true), false, String(word));
  for (const word of ['maybe', '', undefined, null]) t.equal(boolLike(word, true), true, String(word));
  t.end();
});

t.test('FLT-1 · a filter of one name is a list of one, and an empty include is kept', (t) => {
  t.match(read({ command: 'x', tools: { include: 'a', exclude: ['b', 'c'] } }).tools, {
    include: ['a'],
    exclude: ['b', 'c'],
  });
  t.same(read({ command: 'x', tools: { include: [] } }).tools.include, []);
  t.end();
});
