import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import {
  checkServerEntry,
  doubtsOf,
  normaliseServerEntry,
  serverEntrySchema,
} from '../../../machines/config/server-entry.ts';
import { validate } from '../../../machines/config/validate.ts';

const stdio: JsonObject = { command: 'npx' };
const http: JsonObject = { url: 'https://example.org/mcp' };
const withOauth = (oauth: JsonObject): JsonObject => ({ ...http, auth: 'oauth', oauth });
const codes = (entry: JsonObject): string[] => [
  ...validate(serverEntrySchema, entry).map(({ code }) => code),
  ...checkServerEntry(entry).map(({ code }) => code),
];

/** Every key of an entry: whom it applies to, values that fit, and values that do not. */
const keys: readonly (readonly [
  key: string,
  to: 'both' | 'stdio' | 'http',
  fits: readonly unknown[],
  invalid: readonly unknown[],
])[] = [
  ['args', 'stdio', [[], ['-y', 1, true]], ['-y', [{}]]],
  ['cwd', 'stdio', ['/srv', '~'], ['', 5, []]],
  ['roots', 'both', [[], ['/srv', '~/docs']], ['/srv', [''], [5]]],
  ['env', 'stdio', [{}, { A: 'b', N: 1, F: false }], [[], { A: [] }]],
  ['headers', 'http', [{ Authorization: 'x' }], ['x', { A: {} }]],
  ['cross_origin_redirects', 'http', [true, false], ['yes', 1]],
  ['ssl_verify', 'http', [true, false, '/ca.pem'], [5, []]],
  ['client_cert', 'http', ['/a.pem', ['/a', '/b'], ['/a', '/b', 'pw']], [['/a'], ['/a', '/b', 'c', 'd'], 5]],
  ['client_key', 'http', ['/k.pem'], [5]],
  ['enabled', 'both', [true, false], ['yes', 1]],
  ['timeout', 'both', [1, 0.5], [0, -1, '300']],
  ['connect_timeout', 'both', [1], [0, 'x']],
  ['protocol', 'both', ['auto', 'stateless', 'legacy'], ['modern', 1]],
  ['supports_parallel_tool_calls', 'both', [true], ['yes']],
  ['skip_preflight', 'http', [true], ['yes']],
  ['transport', 'http', ['sse', 'http', 'streamable-http'], ['stdio', 1]],
  ['keepalive_interval', 'both', [0, 1, 180], [-1, '5']],
  ['lazy', 'both', [true], [1]],
  ['placement', 'both', ['all', 'one'], ['two', true]],
  ['idle_timeout_seconds', 'stdio', [0, 10], [-1, 'x']],
  ['max_lifetime_seconds', 'stdio', [0, 10], [-1, 'x']],
  ['lifecycle', 'stdio', [{}, { idle_timeout_seconds: 1, max_lifetime_seconds: 2 }], [{ idle: 1 }, 5]],
  [
    'tools',
    'both',
    [{}, { include: 'a*', exclude: ['b'], resources: 'Yes', prompts: 0 }],
    [{ includes: 'a' }, { include: 5 }, { resources: 'maybe' }, { prompts: 2 }],
  ],
  ['auth', 'http', ['oauth'], ['basic', true]],
  [
    'oauth',
    'http',
    [
      {
        flow: 'device',
        timeout: 1,
        client_id: 'i',
        client_secret: 's',
        token_endpoint_auth_method: 'm',
        scope: 's',
        client_name: 'n',
        redirect_uri: 'http://localhost/cb',
        redirect_port: 1,
        client_metadata_url: 'https://e.org/c',
        cimd: false,
        user_agent: null,
      },
    ],
    [{ flow: 'both' }, { timeout: 0 }, { redirect_port: 0 }, { cimd: 'no' }, { clientid: 'x' }],
  ],
  [
    'sampling',
    'both',
    [{ enabled: false, model: 'm', allowed_models: [], max_tokens_cap: 1, timeout: 0, max_rpm: 0, max_tool_rounds: 0 }],
    [{ enabled: 'no' }, { max_tokens_cap: 0 }, { max_rpm: 0.5 }, { rpm: 1 }],
  ],
  ['elicitation', 'both', [{ enabled: false, timeout: 1 }], [{ enabled: 'no' }, { timeouts: 1 }]],
  ['trust', 'both', ['full', 'untrusted', 'whatever'], [true]],
  [
    'approvals',
    'both',
    [[], [{ tool: 'merge' }], [{ tool: 'merge', arguments: { repo: 'acme/web' } }]],
    ['merge', [{}], [{ tool: 5 }], [{ tool: 'merge', argument: {} }]],
  ],
  ['max_result_chars', 'both', [1], [0, 'x']],
  ['circuit_breaker', 'both', [{ failures: 1, reset_seconds: 0 }], [{ failures: 0 }, { reset: 1 }]],
];

t.test('CFG-1 · the keys are exactly these', (t) => {
  t.same(Object.keys(serverEntrySchema.properties).sort(), ['command', 'url', ...keys.map(([key]) => key)].sort());
  t.same(codes({ ...stdio, comand: 1 }), ['unknown-key']);
  t.end();
});

t.test('CFG-1 · each key has its type, and belongs to its transport', (t) => {
  for (const [key, to, fits, invalid] of keys) {
    for (const [kind, entry] of [
      ['stdio', stdio],
      ['http', http],
    ] as const) {
      const applies = to === 'both' || to === kind;
      // A key file belongs to a certificate.
      const beside = key === 'client_key' && kind === 'http' ? { client_cert: '/c.pem' } : {};
      for (const value of fits) {
        const found = codes({ ...entry, ...beside, [key]: value } as JsonObject);
        t.same(found, applies ? [] : ['server-key-transport'], `${kind} ${key}: ${JSON.stringify(value)}`);
      }
    }
    for (const value of invalid) {
      const entry = to === 'stdio' ? stdio : http;
      t.not(codes({ ...entry, [key]: value } as JsonObject).length, 0, `${key}: ${JSON.stringify(value)}`);
    }
  }
  t.end();
});

t.test('TLS-1 · a key file stands beside a certificate that names none', (t) => {
  t.same(codes({ ...http, client_key: '/k' }), ['client-key-alone']);
  t.same(codes({ ...http, client_cert: ['/c', '/k'], client_key: '/k' }), ['client-key-twice']);
  t.same(codes({ ...http, client_cert: '/c', client_key: '/k' }), []);
  t.same(codes({ ...stdio, client_key: '/k' }), ['server-key-transport'], 'one finding, not two');
  t.end();
});

t.test('CFG-2 · one mistake is one finding', (t) => {
  for (const [entry, expected] of [
    [{ command: 5 }, ['wrong-type']],
    [{ url: 5 }, ['wrong-type']],
    [{ ...stdio, timeout: -1 }, ['wrong-value']],
    [{ ...http, client_cert: ['/c'] }, ['wrong-value']],
    [{ ...stdio, tools: { include: ['a', 1, {}] } }, ['wrong-type', 'wrong-type']],
  ] as const) {
    t.same(codes(entry as unknown as JsonObject), expected, JSON.stringify(entry));
  }
  t.end();
});

t.test('CFG-6 · one of command and url, and the url is http(s) with a host', (t) => {
  t.same(codes(stdio), []);
  t.same(codes(http), []);
  t.same(codes({ ...stdio, ...http }), ['server-two-transports']);
  t.same(codes({ enabled: true }), ['server-no-transport']);
  t.same(codes({ command: 'https://e.org/mcp', transport: 'http' }), ['server-command-address']);
  for (const url of [
    'ftp://e.org',
    'example.org',
    '/mcp',
    'http://',
    'file:///x',
    '',
    'https:// x',
    'http:///x',
    'https:e.org',
  ]) {
    t.same(codes({ url }), ['server-url'], url);
  }
  for (const url of ['http://e.org', 'https://[::1]:8080/mcp?a=b', 'https://${HOST}/mcp'])
    t.same(codes({ url }), [], url);
  t.same(codes({ command: '' }), ['wrong-value'], 'an empty command is none');
  t.end();
});

t.test('CFG-1 · CFG-5 · LIF-4 · defaults, the floor of the keepalive, and the alias of the two recycling keys', (t) => {
  const defaults = {
    timeout: 300,
    connect_timeout: 60,
    protocol: 'auto',
    supports_parallel_tool_calls: false,
    lazy: false,
    placement: 'all',
    trust: 'full',
    approvals: [],
    enabled: true,
    args: [],
    env: {},
    roots: [],
    headers: {},
    cross_origin_redirects: false,
    ssl_verify: true,
    skip_preflight: false,
    idle_timeout_seconds: 0,
    max_lifetime_seconds: 0,
    max_result_chars: 2_000_000,
    tools: { exclude: [], resources: true, prompts: true },
    oauth: { flow: 'browser', timeout: 300, cimd: true },
    sampling: { enabled: true, allowed_models: [], max_tokens_cap: 4096, timeout: 30, max_rpm: 10, max_tool_rounds: 5 },
    elicitation: { enabled: true, timeout: 300 },
    circuit_breaker: { failures: 5, reset_seconds: 30 },
  };
  t.same(normaliseServerEntry('s', stdio), { name: 's', enabled: true, entry: { ...defaults, ...stdio } });
  t.same(normaliseServerEntry('h', http).entry, { ...defaults, ...http, keepalive_interval: 180 });
  t.equal(normaliseServerEntry('s', { ...stdio, enabled: false }).enabled, false);
  for (const [given, kept] of [
    [1, 5],
    [5, 5],
    [7.5, 7.5],
  ] as const) {
    for (const entry of [stdio, http]) {
      t.equal(normaliseServerEntry('s', { ...entry, keepalive_interval: given }).entry.keepalive_interval, kept);
    }
  }
  const lifecycle = { idle_timeout_seconds: 1, max_lifetime_seconds: 2 };
  t.match(normaliseServerEntry('s', { ...stdio, lifecycle }).entry, lifecycle);
  const { entry } = normaliseServerEntry('s', { ...stdio, lifecycle, idle_timeout_seconds: 0 });
  t.match(entry, { idle_timeout_seconds: 0, max_lifetime_seconds: 2 }, 'the direct key wins, zero too');
  t.notOk('lifecycle' in entry);
  t.end();
});

t.test('OAU-1 · auth and oauth are keys of url servers', (t) => {
  t.same(codes(withOauth({})), []);
  t.same(codes({ command: 'x', auth: 'oauth' }), ['server-key-transport']);
  t.same(codes({ command: 'x', oauth: {} }), ['server-key-transport']);
  t.same(codes({ ...http, auth: 'basic' }), ['wrong-value']);
  t.match(doubtsOf({ ...http, oauth: { scope: 'a' } }), [{ path: ['oauth'], code: 'oauth-unused' }]);
  t.same(doubtsOf(withOauth({ scope: 'a' })), []);
  t.end();
});

t.test('OAU-3 · the keys of oauth, each with its type, and no other', (t) => {
  const rows: readonly (readonly [JsonObject, readonly string[]])[] = [
    [{ flow: 'device', timeout: 0.5, scope: 'a b', client_name: 'n', token_endpoint_auth_method: 'none' }, []],
    [{ client_id: 'c', client_secret: 's', redirect_port: 8_000, cimd: false, user_agent: 'Fleet/7' }, []],
    [{ user_agent: null }, []],
    [{ user_agent: '' }, []],
    [{ flow: 'magic' }, ['wrong-value']],
    [{ timeout: 0 }, ['wrong-value']],
    [{ timeout: '60' }, ['wrong-type']],
    [{ redirect_port: 70_000 }, ['wrong-value']],
    [{ redirect_port: 80.5 }, ['wrong-type']],
    [{ cimd: 'no' }, ['wrong-type']],
    [{ client_id: 5 }, ['wrong-type']],
    [{ user_agent: 5 }, ['wrong-type']],
    [{ headers: { 'x-tenant': '7' } }, ['unknown-key']],
    [{ user_agents: 'x' }, ['unknown-key']],
  ];
  for (const [oauth, expected] of rows) t.same(codes(withOauth(oauth)), expected, JSON.stringify(oauth));
  t.end();
});

t.test('OAU-5 · each rule for the address of the document has its own finding', (t) => {
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ['https://agent.test/client.json', []],
    ['https://agent.test/client?v=2', []],
    ['https://agent.test:8443/a.b/..c/d../e.', []],
    ['${DOCUMENT}', []],
    ['http://agent.test/client.json', ['metadata-url-https']],
    ['agent.test/client.json', ['metadata-url-https']],
    ['https://', ['metadata-url-https']],
    ['https://agent.test/a\\..\\b', ['metadata-url-https']],
    ['https://agent.test/.\t./b', ['metadata-url-https']],
    ['https://agent.test/a b', ['metadata-url-https']],
    ['https://agent.test/a\u0001b', ['metadata-url-https']],
    ['https://agent.test', ['metadata-url-path']],
    ['https://agent.test/', ['metadata-url-path']],
    ['https://agent.test//', ['metadata-url-path']],
    ['https://agent.test/?x=/y', ['metadata-url-path']],
    ['https://agent.test/c#', ['metadata-url-fragment']],
    ['https://agent.test/c#x', ['metadata-url-fragment']],
    ['https://me@agent.test/c', ['metadata-url-userinfo']],
    ['https://me:pw@agent.test/c', ['metadata-url-userinfo']],
    ['https://agent.test/./c', ['metadata-url-dots']],
    ['https://agent.test/a/../c', ['metadata-url-dots']],
    ['https://agent.test/a/%2E%2e/c', ['metadata-url-dots']],
    ['https://agent.test/c/..', ['metadata-url-dots']],
  ];
  for (const [address, expected] of rows) t.same(codes(withOauth({ client_metadata_url: address })), expected, address);
  for (const [address, message] of [
    ['http://agent.test/c', 'must be an https URL'],
    ['https://agent.test/c#', 'must have no fragment'],
    ['https://me@agent.test/c', 'must hold no user name or password'],
    ['https://agent.test', 'must have a path, not only an origin'],
    ['https://agent.test/./c', 'must have no "." or ".." in its path'],
  ] as const) {
    t.match(checkServerEntry(withOauth({ client_metadata_url: address })), [
      { path: ['oauth', 'client_metadata_url'], message: `client_metadata_url ${message}` },
    ]);
  }
  t.end();
});

t.test('OAU-6 · a redirect goes to this computer or by https', (t) => {
  for (const address of [
    'http://localhost:4000/cb',
    'http://127.0.0.1/cb',
    'http://[::1]:1/cb',
    'http://127.9.8.7/cb',
    'http://app.localhost/cb',
    'https://t.example/cb',
  ])
    t.same(codes(withOauth({ redirect_uri: address })), [], address);
  for (const address of ['http://t.example/cb', 'nonsense', 'myapp://cb', 'http://localhost.evil.example/cb'])
    t.same(codes(withOauth({ redirect_uri: address })), ['redirect-uri'], address);
  t.end();
});

t.test('INT-1 · CFG-7 · an argument may leave a variable of the own env to its program', (t) => {
  const entry = (env: JsonObject, arg: string): JsonObject => ({ command: 'npx', args: ['mcp-remote', arg], env });
  t.same(doubtsOf(entry({ AUTH: 'Bearer x' }, 'Authorization:${AUTH}')), []);
  t.match(doubtsOf(entry({ OTHER: 'x' }, 'Authorization:${AUTH}')), [{ path: ['args', '1'], code: 'variable-unset' }]);
  t.match(doubtsOf(entry({ AUTH: '${AUTH}' }, 'x')), [{ path: ['env', 'AUTH'], code: 'variable-unset' }]);
  t.end();
});

t.test('INT-2 · CFG-7 · a reference that only another program resolves is reported', (t) => {
  const found = (entry: JsonObject) => doubtsOf(entry).map(({ path, code }) => `${path.join('.')} ${code}`);
  const url = 'https://x.example/mcp';
  t.same(found({ url, headers: { A: 'Bearer ${input:key}' } }), ['headers.A variable-unset']);
  t.same(found({ url: '${API:-https://x.example}/mcp' }), ['url variable-unset']);
  t.same(found({ url, headers: { A: 'no ${reference at all}' } }), []);
  t.notMatch(JSON.stringify(doubtsOf({ url, headers: { A: '${A:-hunter2}' } })), 'hunter2');
  t.same(found({ command: 'x', args: ['${config:a.b}', '${file:/a}'] }), [
    'args.0 variable-unset',
    'args.1 variable-unset',
  ]);
  t.same(found({ command: 'sh', args: ['-c', 'exec server ${A:-b} ${1} ${x%.*}'] }), [], 'a shell resolves it');
  t.same(found({ command: 'x', args: ['${workspaceFolder}'] }), [], 'it has a finding of its own');
  t.end();
});
