import t from 'tap';
import { readText as read } from '../../support/read-config.ts';

t.test('RTE-1 · SCR-2 · COA-1 · an empty route, and an empty coalesce block, are every default', (t) => {
  const { settings } = read(
    'platforms: {webhook: {secret: long-enough-secret, routes: {r: {}, c: {coalesce: {key: id}}}}}',
  );
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
    allowIdenticalBodies: false,
  };
  const shared = { kind: 'shared', secret: 'long-enough-secret' };
  t.same(settings.webhook.routes, [
    { route, secret: shared },
    {
      route: { ...route, name: 'c', coalesce: { key: 'id', windowMs: 30_000, maxWaitMs: 300_000 } },
      secret: shared,
    },
  ]);
  t.match(
    read(
      'platforms: {webhook: {secret: long-enough-secret, routes: {c: {coalesce: {key: id, mode: batch}, deliver_only: true, deliver: slack}}}}',
    ).settings,
    {
      webhook: { routes: [{ route: { deliverOnly: true, coalesce: { mode: 'batch' } } }] },
    },
  );
  t.end();
});

t.test('ADP-1 · each key stands under extra or beside it, extra wins, and the environment comes last', (t) => {
  const rows: readonly (readonly [key: string, setting: string, direct: unknown, extra: unknown])[] = [
    ['host', 'host', '127.0.0.1', '::1'],
    ['port', 'port', 1, 2],
    ['secret', 'secret', 'direct-secret', 'extra-secret'],
    ['rate_limit', 'rateLimit', 3, 4],
    ['max_body_bytes', 'maxBodyBytes', 5, 6],
    ['max_unverified_bytes', 'maxUnverifiedBytes', 7, 8],
    ['script_concurrency', 'scriptConcurrency', 10, 11],
    ['allow_weak_secrets', 'allowWeakSecrets', true, false],
  ];
  const env = { WEBHOOK_PORT: '9', WEBHOOK_SECRET: 'of-the-environment' };
  const webhook = (value: object): Record<string, unknown> =>
    read(JSON.stringify({ platforms: { webhook: value } }), env).settings.webhook as never;
  for (const [key, setting, direct, extra] of rows) {
    t.equal(webhook({ [key]: direct })[setting], direct, `${key}: direct`);
    t.equal(webhook({ extra: { [key]: extra } })[setting], extra, `${key}: under extra`);
    t.equal(webhook({ [key]: direct, extra: { [key]: extra } })[setting], extra, `${key}: extra wins`);
  }
  const twice = read('platforms: {webhook: {port: 1, routes: {}, extra: {host: localhost, routes: {}}}}').diagnostics;
  t.same(
    twice.map(({ code, message }) => [code, /^\S+/.exec(message)?.[0]]),
    [['webhook-key-twice', 'platforms.webhook.routes']],
  );
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
  for (const [url, found] of [
    ['http://localhost:8644', []],
    ['http://[::1]:8644', []],
    [
      'https://me:login-1@hooks.example.org',
      [{ code: 'insecure-not-loopback', severity: 'warning', message: /"https:..hooks\.example\.org"/ }],
    ],
  ] as const) {
    const text = `platforms: {webhook: {host: "::1", public_url: "${url}", routes: {r: {secret: INSECURE_NO_AUTH}}}}`;
    t.match(read(text).diagnostics, found, url);
    t.equal(read(text).diagnostics.length, found.length, url);
  }
  t.end();
});

t.test('CFG-2 · LIM-2 · a bound of all routes that stands in one is led to its place', (t) => {
  const { diagnostics } = read('platforms: {webhook: {routes: {r: {rate_limit: 5}}}}');
  const [unknown] = diagnostics.filter(({ code }) => code === 'unknown-key');
  t.match(unknown?.message, /"rate_limit"; .*platforms\.webhook\.extra\.rate_limit$/);
  t.end();
});

t.test('SEC-6 · a weak secret on loopback is a warning where a public_url leads to it', (t) => {
  for (const [url, severities] of [
    ['http://localhost:8644', []],
    ['https://me:login-1@hooks.example.org', ['warning', 'warning']],
  ] as const) {
    const text = `platforms: {webhook: {host: "::1", public_url: "${url}", secret: hunter2, routes: {r: {secret: hunter2}}}}`;
    const { diagnostics } = read(text);
    t.same(
      diagnostics.map(({ severity }) => severity),
      severities,
      url,
    );
    for (const { message } of diagnostics) t.match(message, /public_url is "https:..hooks\.example\.org"; make one by/);
  }
  t.end();
});
