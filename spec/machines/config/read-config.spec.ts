import fc from 'fast-check';
import t from 'tap';
import { checkFilters } from '../../../actors/config/load-config.ts';
import { defaultProfile } from '../../../machines/base/names.ts';
import { printDiagnostic } from '../../../machines/config/diagnostic.ts';
import { type ConfigRead, readConfig } from '../../../machines/config/read-config.ts';

const secret = 'never-to-be-printed';

function read(text: string, env: Record<string, string> = {}): ConfigRead {
  return readConfig({
    file: 'config.yaml',
    text,
    profile: defaultProfile,
    profiles: new Set(['default']),
    scope: {
      secrets: new Map([['SECRET', secret]]),
      env,
      userHome: '/home/me',
      workspaceFolder: '/work',
      pathSeparator: '/',
    },
    checkFilters,
  });
}

t.test('ADP-1 · CON-3 · DUR-1 · DUR-2 · an empty file is every default', (t) => {
  const { settings, diagnostics } = read('');
  t.same(diagnostics, []);
  t.same(settings, {
    gateway: {
      multiplexProfiles: false,
      front: 'auto',
      journal: 'lmdb',
      drainTimeoutMs: 30_000,
      history: { maxAgeMs: 7 * 24 * 3_600_000, maxBytes: 1024 * 1_048_576 },
    },
    webhook: {
      enabled: false,
      host: '0.0.0.0',
      port: 8_644,
      rateLimit: 30,
      maxBodyBytes: 1_048_576,
      routes: [],
    },
    agent: { runner: 'echo', command: [], timeoutMs: 600_000, concurrency: 4, onInterrupted: 'rerun' },
    inspector: { enabled: true, host: '127.0.0.1', port: 8_645 },
    platforms: {},
    servers: [],
    telemetry: {},
  });
  t.end();
});

t.test('RTE-1 · SCR-2 · COA-1 · an empty route, and an empty coalesce block, are every default', (t) => {
  const { settings } = read('platforms: {webhook: {secret: abcdefgh, routes: {r: {}, c: {coalesce: {key: id}}}}}');
  const route = {
    name: 'r',
    source: 'static',
    profile: 'default',
    enabled: true,
    events: [],
    filters: [],
    scriptTimeoutMs: 30_000,
    skills: [],
    deliver: 'log',
    deliverExtra: {},
    deliverOnly: false,
  };
  const shared = { kind: 'shared', secret: 'abcdefgh' };
  t.same(settings.webhook.routes, [
    { route, secret: shared },
    {
      route: { ...route, name: 'c', coalesce: { key: 'id', windowMs: 30_000, maxWaitMs: 300_000 } },
      secret: shared,
    },
  ]);
  t.end();
});

t.test('ADP-1 · each key stands under extra or beside it, extra wins, and the environment comes last', (t) => {
  const rows: readonly (readonly [key: string, setting: string, direct: unknown, extra: unknown])[] = [
    ['host', 'host', '127.0.0.1', '::1'],
    ['port', 'port', 1, 2],
    ['secret', 'secret', 'direct-secret', 'extra-secret'],
    ['rate_limit', 'rateLimit', 3, 4],
    ['max_body_bytes', 'maxBodyBytes', 5, 6],
  ];
  const env = { WEBHOOK_PORT: '9', WEBHOOK_SECRET: 'of-the-environment' };
  const webhook = (value: object): Record<string, unknown> =>
    read(JSON.stringify({ platforms: { webhook: value } }), env).settings.webhook as never;
  for (const [key, setting, direct, extra] of rows) {
    t.equal(webhook({ [key]: direct })[setting], direct, `${key}: direct`);
    t.equal(webhook({ extra: { [key]: extra } })[setting], extra, `${key}: under extra`);
    t.equal(webhook({ [key]: direct, extra: { [key]: extra } })[setting], extra, `${key}: extra wins`);
  }
  t.match(webhook({}), { port: 9, secret: 'of-the-environment', enabled: false });
  t.match(
    (webhook({ routes: { a: {} }, extra: { routes: { b: {} } } }).routes as readonly object[]).at(0),
    { route: { name: 'b' } },
    'routes too, as a whole',
  );
  t.end();
});

t.test('ADP-1 · a variable switches on, and one that cannot be read is a finding', (t) => {
  for (const [words, enabled] of [
    [['true', '1', 'yes', 'on', 'TRUE', 'On'], true],
    [['false', '0', 'no', 'off', ''], false],
  ] as const) {
    for (const word of words) {
      const found = read('', { WEBHOOK_ENABLED: word });
      t.same([found.settings.webhook.enabled, found.diagnostics], [enabled, []], word);
    }
  }
  t.equal(read('platforms: {webhook: {enabled: false}}', { WEBHOOK_ENABLED: '1' }).settings.webhook.enabled, false);
  for (const [variable, value] of [
    ['WEBHOOK_ENABLED', 'perhaps'],
    ['WEBHOOK_PORT', 'high'],
    ['WEBHOOK_PORT', '70000'],
    ['WEBHOOK_PORT', '-1'],
    ['WEBHOOK_PORT', '80.5'],
  ] as const) {
    const { diagnostics } = read('', { [variable]: value });
    t.match(diagnostics, [{ file: variable, code: 'variable-malformed', severity: 'error' }], `${variable}=${value}`);
    t.equal(diagnostics.length, 1);
    t.notMatch(diagnostics[0]?.message ?? '', value, 'it may be a secret in the wrong place');
  }
  t.end();
});

t.test('SIG-5 · the global secret may be insecure on a loopback bind, and there alone', (t) => {
  const codes = (host: string): string[] =>
    read(`platforms: {webhook: {host: "${host}", secret: INSECURE_NO_AUTH, routes: {r: {}}}}`).diagnostics.map(
      ({ code }) => code,
    );
  for (const host of ['127.0.0.1', 'localhost', '::1']) t.same(codes(host), [], host);
  for (const host of ['0.0.0.0', '::', '127.0.0.2', '192.168.1.1', 'example.org', '']) {
    t.ok(
      codes(host).includes('insecure-not-loopback') || codes(host).includes('wrong-value'),
      `${host}: ${codes(host)}`,
    );
  }
  t.same(
    read('platforms: {webhook: {secret: INSECURE_NO_AUTH, routes: {r: {}}}}').diagnostics.map(({ code }) => code),
    ['insecure-not-loopback'],
    'the default bind is none',
  );
  t.end();
});

t.test('CFG-2 · OBS-1 · no finding shows what a reference stands for, wherever it stands', (t) => {
  const places: readonly ((text: string) => object)[] = [
    (text) => ({ mcp_servers: { s: { url: text } } }),
    (text) => ({ mcp_servers: { s: { command: text, url: `http://${text}` } } }),
    (text) => ({ mcp_servers: { s: { command: 'x', protocol: text, transport: text, trust: 5, timeout: text } } }),
    (text) => ({ mcp_servers: { s: { url: 'https://e.org', auth: 'oauth', oauth: { client_metadata_url: text } } } }),
    (text) => ({ mcp_servers: { s: { url: 'https://e.org', client_cert: [text, text, text, text], ssl_verify: 5 } } }),
    (text) => ({
      platforms: { webhook: { secret: 'abcdefgh', port: text, host: 5, routes: { r: { deliver: text } } } },
    }),
    (text) => ({ platforms: { webhook: { secret: text, host: '0.0.0.0', routes: { r: { profile: text } } } } }),
    (text) => ({
      platforms: { webhook: { secret: 'abcdefgh', routes: { r: { filters: [{ field: 'a', regex: `(${text}` }] } } } },
    }),
    (text) => ({ platforms: { messenger_a: { token: text, timeout_seconds: text, enabled: text } } }),
    (text) => ({ agent: { runner: text, timeout_seconds: text, model: { base_url: text, api_key: text } } }),
    (text) => ({ gateway: { front: text, journal: text } }),
  ];
  fc.assert(
    fc.property(
      fc.constantFrom(...places),
      fc.constantFrom('${SECRET}', '${env:SECRET}', 'x${SECRET}y'),
      (place, text) => {
        const { diagnostics } = read(JSON.stringify(place(text)));
        const shown = JSON.stringify(diagnostics) + diagnostics.map(printDiagnostic).join('\n');
        return !shown.includes(secret);
      },
    ),
  );
  t.end();
});
