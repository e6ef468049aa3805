import t from 'tap';
import { databaseUrlProblem } from '../../../machines/config/database-url.ts';
import { printDiagnostic } from '../../../machines/config/diagnostic.ts';
import { fc } from '../../support/property.ts';
import { readText as read, keptSecret as secret } from '../../support/read-config.ts';

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
      allowWeakSecrets: false,
      maxBodyBytes: 1_048_576,
      maxUnverifiedBytes: 67_108_864,
      scriptConcurrency: 8,
      routes: [],
    },
    agent: {
      runner: 'echo',
      command: [],
      env: { SECRET: secret },
      timeoutMs: 600_000,
      concurrency: 4,
      onInterrupted: 'rerun',
    },
    inspector: { enabled: true, host: '127.0.0.1', port: 8_645 },
    platforms: {},
    servers: [],
    telemetry: {},
    log: { events: 'summary' },
  });
  t.end();
});

t.test(
  'CFG-1 · a top-level key with x- in front holds anchors and is not read; any other unknown key is a finding',
  (t) => {
    const text = (key: string): string => `${key}: {base: &base {prompt: one, secret: "\${NONE}"}, log: {level: 7}}
platforms: {webhook: {enabled: true, port: 1, secret: long-enough-secret, routes: {r: {<<: *base, secret: own-enough-secret}}}}`;
    const { settings, diagnostics } = read(text('x-shared'));
    t.same(diagnostics, []);
    t.match(settings.webhook.routes, [{ route: { name: 'r', prompt: 'one' } }]);
    t.match(read(text('y-shared')).diagnostics, [{ code: 'unknown-key' }]);
    t.match(read('log: {x-more: 1}').diagnostics, [{ code: 'unknown-key' }], 'only at the top');
    t.end();
  },
);

t.test('SEC-1 · a scrape token may be a reference; one that is not set opens nothing', (t) => {
  const reading = (written: string, vars: Record<string, string>) => {
    const { settings, diagnostics } = read(`inspector: {scrape_token: "${written}"}`, vars);
    return [settings.inspector.scrapeToken, ...diagnostics.map(({ severity, code }) => `${severity} ${code}`)];
  };
  t.same(reading('a-token', {}), ['a-token']);
  t.same(reading('${SCRAPE}', { SCRAPE: 'from-env' }), ['from-env']);
  t.same(reading('${SCRAPE}', {}), ['', 'warning secret-unresolved']);
  t.same(reading('${SCRAPE}', { SCRAPE: '' }), ['', 'warning secret-unresolved']);
  t.end();
});

t.test('SEC-1 · users of the page have a strong password, and one who has none cannot sign in', (t) => {
  const reading = (inspector: string, vars: Record<string, string> = {}) => {
    const { settings, diagnostics } = read(`inspector: ${inspector}`, vars);
    t.notMatch(JSON.stringify(diagnostics), /hunter2/);
    const { publicUrl, users = [] } = settings.inspector;
    return [
      publicUrl,
      users.map(({ name, role = 'operator' }) => `${name} ${role}`),
      diagnostics.map(({ code }) => code),
    ];
  };
  const users = '{maya: {password: "${MAYA}"}, noor: {password: "${NOOR}", role: reader}}';
  const strong = { MAYA: 'q8Zr4Lk2Wm7Tn1-Vx5', NOOR: 'Hd3Jf6Pw9Ys0BcR5K-' };
  t.same(reading(`{public_url: "https://agent.example.com/", users: ${users}}`, strong), [
    'https://agent.example.com',
    ['maya operator', 'noor reader'],
    [],
  ]);
  t.same(reading(`{users: ${users}}`, { MAYA: 'hunter2' }), [
    undefined,
    [],
    ['public-url-missing', 'secret-weak', 'secret-unresolved'],
  ]);
  t.match(reading('{public_url: "http://agent.example.com"}'), [undefined, [], ['wrong-value']]);
  const variable = '{public_url: "${PU}"}';
  t.same(reading(variable, { PU: 'https://agent.example.com' }), ['https://agent.example.com', [], []]);
  for (const wrong of ['http://agent.example.com', 'https://a b', 'nope']) {
    t.same(reading(variable, { PU: wrong }), [undefined, [], ['wrong-value']], wrong);
  }
  t.same(reading(variable), [undefined, [], ['variable-unset']]);
  t.match(reading('{users: {"two words": {password: x}}}'), [undefined, [], Array]);
  t.match(reading('{users: {maya: {password: x, role: god}}}'), [undefined, [], Array]);
  t.end();
});

t.test('SEC-1 · CFG-2 · a page that its address keeps from being served is a warning', (t) => {
  for (const [inspector, codes] of [
    ['{host: 0.0.0.0}', ['warning public-url-missing']],
    ['{host: agent.example.com}', ['warning public-url-missing']],
    ['{host: "[::1]"}', ['warning public-url-missing']],
    ['{host: 0.0.0.0, enabled: false}', []],
    ['{host: 0.0.0.0, public_url: "https://agent.example.com"}', []],
    ['{host: localhost}', []],
    ['{host: "::1"}', []],
  ] as const) {
    const { diagnostics } = read(`inspector: ${inspector}`);
    t.strictSame(
      diagnostics.map(({ severity, code }) => `${severity} ${code}`),
      codes,
      inspector,
    );
  }
  t.end();
});

t.test('SCA-1 · CFG-2 · a name of the gateway that refers to an unset variable is a warning, and not used', (t) => {
  for (const [env, node, codes] of [
    [{ POD: 'a' }, 'gw-a', []],
    [{}, undefined, ['warning variable-unset']],
  ] as const) {
    const { settings, diagnostics } = read('gateway: {node: "gw-${POD}"}', env);
    t.equal(settings.gateway.node, node);
    t.strictSame(
      diagnostics.map(({ severity, code }) => `${severity} ${code}`),
      codes,
    );
  }
  t.end();
});

t.test('CFG-2 · a reference among the names of agent.env is one error without the value of the variable', (t) => {
  const { diagnostics } = read('agent: {runner: command, command: [cat], env: ["${KEY}", "${UNSET}", NAME]}', {
    KEY: 'ghp_0123456789',
  });
  t.strictSame(
    diagnostics.map(({ severity, code, message }) => [severity, code, message]),
    [
      ...['0', '1'].map((index) => [
        'error',
        'wrong-value',
        `"agent.env.${index}" has the wrong form; expected: The name of a variable, such as GITHUB_TOKEN; neither its value nor a reference to it.`,
      ]),
      [
        'warning',
        'variable-unset',
        'agent.env names "NAME", which is not set; set NAME in .env or in the environment, or drop it',
      ],
    ],
  );
  t.end();
});

t.test('CFG-2 · CFG-7 · an endpoint of traces that is no address is a warning, and none is used', (t) => {
  for (const [endpoint, used, codes] of [
    ['http://localhost:4318', 'http://localhost:4318', []],
    ['nope', undefined, ['wrong-value']],
    ['"${UNSET}"', undefined, ['variable-unset']],
  ] as const) {
    const { settings, diagnostics } = read(`telemetry: {otlp_endpoint: ${endpoint}}`, {});
    t.equal(settings.telemetry.otlpEndpoint, used);
    t.same(
      diagnostics.map(({ code }) => code),
      codes,
    );
  }
  t.end();
});

t.test('CFG-2 · an address that no machine can have is refused where it is bound', (t) => {
  const codesOf = (host: string) =>
    [
      ...read(`inspector: {host: "${host}"}`).diagnostics,
      ...read(`platforms: {webhook: {host: "${host}"}}`).diagnostics,
    ].filter(({ code }) => code === 'wrong-value');
  for (const host of ['999.1.1.1', '10.0.0.256']) t.equal(codesOf(host).length, 2, host);
  for (const host of ['10.0.0.255', '0.0.0.0', '127.1', '::1', 'localhost', '1.2.3.4.example'])
    t.equal(codesOf(host).length, 0, host);
  t.end();
});

t.test('INT-1 · SIG-1 · an address is checked once its references are resolved, and values are not read again', (t) => {
  const reading = (extra: string, vars: Record<string, string>) => {
    const { settings, diagnostics } = read(`platforms: {webhook: {enabled: true, extra: ${extra}}}`, vars);
    return [settings.webhook.publicUrl, ...diagnostics.map(({ message }) => message)];
  };
  const variable = '{host: localhost, public_url: "${PU}"}';
  t.same(reading(variable, { PU: 'https://hooks.example.com/a' }), ['https://hooks.example.com/a']);
  t.match(
    reading(variable, { PU: 'nope' })[1],
    /public_url" has the wrong form; expected: Where senders reach .*such as/,
  );
  t.match(reading(variable, {})[1], /public_url refers to "PU", which is not set; set PU in \.env/);
  const secret = { S: 'a-long-enough-${X}-secret' };
  const again = /from a variable whose value holds "\$\{X\}", and values of variables are not read for references/;
  t.match(reading('{host: localhost, routes: {r: {secret: "${S}"}}}', secret)[1], again);
  t.match(reading('{host: localhost, secret: "${S}"}', secret)[1], again);
  t.match(reading('{host: localhost, secret: "${X}"}', secret)[1], /refers to "X", which is not set/);
  t.end();
});

t.test(
  'CFG-2 · OBS-1 · a journal in Postgres needs a URL, whose password belongs into .env and is never shown',
  (t) => {
    const reading = (gateway: string, vars: Record<string, string> = {}) => {
      const { settings, diagnostics } = read(`gateway: ${gateway}`, vars);
      t.notMatch(JSON.stringify(diagnostics), /hunter2/);
      return [settings.gateway.postgres?.url, ...diagnostics.map(({ severity, code }) => `${severity} ${code}`)];
    };
    const url = 'postgres://me:hunter2@db/agent';
    const of = (written: string) => `{journal: postgres, postgres: {url: "${written}"}}`;
    t.same(reading(of('${DB}'), { DB: url }), [url]);
    t.same(reading(of('postgres://me@db/agent')), ['postgres://me@db/agent'], 'without a password it may stand there');
    const socket = 'postgresql:///agent?host=/run/pg&user=me';
    const named = 'postgres://me:hunter2@db/agent?application_name=gw@eu,us';
    const commas = 'postgres://me,us:hunter,2@db/agent,2?options=-csearch_path%3Da,b';
    const ofUser = 'postgres://me:hunter2@/agent?host=/cloudsql/a-project:eu:db&sslmode=disable';
    for (const known of [socket, ofUser, named, commas, 'postgres:///agent?host=/run/pg', 'postgres://db/agent'])
      t.same(reading(of('${DB}'), { DB: known }), [known]);
    for (const misread of [
      'postgres://me:/hunter2@db/agent',
      'postgres://me:123/hunter2@db/agent',
      'postgres://me:1?hunter2@db/agent',
      'postgres://me:1#hunter2@db/agent',
      'postgres://me:hunter2#@db/agent',
      'postgres:///hunter2',
      'postgres://me:1@2?hunter2&3@db/agent',
      'postgres://me:1@/2?hunter2=3@db/agent',
      'postgres://me:1@2/3?hunter2@db/agent',
      'postgres://me:hunter2@/agent',
      'postgres://me:1@/hunter2@/agent?host=/run/pg',
      'postgres://me:hunter2@db1:5432,db2:5432/agent',
      'postgres:///agent?host=db1,db2',
    ])
      t.same(reading(of('${DB}'), { DB: misread }), ['', 'error postgres-url-missing'], misread);
    t.match(databaseUrlProblem('postgres://me:hunter2@db1:5432,db2:5432/agent'), /^names several hosts/);
    t.match(databaseUrlProblem('postgres:///agent?host=db1,db2'), /^names several hosts/);
    t.notMatch(databaseUrlProblem('postgres://me:a,b/2@db/agent'), /several/, 'a password that is not encoded');
    t.same(reading(of(url)), [url, 'warning secret-in-config']);
    t.same(reading(of('postgres://me:hunter2@/agent?host=/run/pg'))[1], 'warning secret-in-config');
    for (const ignored of [
      `${url}?schema=public`,
      `${url}?sslMode=verify-full`,
      `${ofUser}&currentSchema=a`,
      `${socket}&dbname=b`,
    ])
      t.same(reading(of('${DB}'), { DB: ignored }), [ignored, 'warning postgres-url-parameter']);
    const several = reading(of('${DB}'), { DB: `${url}?schema=public&sslMode=no&sslMode=yes` });
    t.same(several.slice(1), ['warning postgres-url-parameter', 'warning postgres-url-parameter']);
    t.same(reading('{journal: postgres}'), ['', 'error postgres-url-missing']);
    t.same(reading(of('${DB}')), ['', 'error postgres-url-missing']);
    t.same(reading(of('mysql://me:hunter2@db')), ['', 'error postgres-url-missing']);
    t.same(reading('{journal: lmdb}'), [undefined]);
    t.end();
  },
);

t.test('SCA-2 · a gateway among others has the name that it is given, unless nothing stands for it', (t) => {
  const nodeOf = (written: string, vars: Record<string, string> = {}) =>
    read(`gateway: {node: "${written}"}`, vars).settings.gateway.node;
  t.same([nodeOf('one'), nodeOf('gw-${POD}', { POD: '2' })], ['one', 'gw-2']);
  for (const none of [nodeOf('${POD}'), nodeOf('${POD}', { POD: '' })]) t.equal(none, undefined);
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
      platforms: { webhook: { secret: 'long-enough-secret', port: text, host: 5, routes: { r: { deliver: text } } } },
    }),
    (text) => ({ platforms: { webhook: { secret: text, host: '0.0.0.0', routes: { r: { profile: text } } } } }),
    (text) => ({
      platforms: {
        webhook: { secret: 'long-enough-secret', routes: { r: { filters: [{ field: 'a', regex: `(${text}` }] } } },
      },
    }),
    (text) => ({ platforms: { telegram: { token: text, timeout_seconds: text, enabled: text } } }),
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

t.test('CFG-2 · where a text is meant, a value without quotes is the text as written', (t) => {
  const { settings, diagnostics } = read(`
shared: &shared { HEX: 0x1F, MODE: 0640 }
mcp_servers:
  one:
    command: python
    args: [-m, server, --python, 3.10, 1e3, .5]
    env: { <<: *shared, API_VERSION: 1.10, PIN: 0042, DEBUG: True, PORT: 8080, RATIO: 0.5 }
    timeout: 2.50
    ssl_verify: False
    enabled: True
platforms:
  telegram: { token: t-t-t, home_channel: 0042 }
`);
  t.match(
    diagnostics.map(({ code }) => code),
    ['unknown-key'],
  );
  const entry = settings.servers[0]?.entry;
  t.strictSame(entry?.args, ['-m', 'server', '--python', '3.10', '1e3', '.5']);
  const numbers = { PORT: 8080, RATIO: 0.5 };
  t.strictSame(entry?.env, { HEX: '0x1F', MODE: '0640', API_VERSION: '1.10', PIN: '0042', DEBUG: 'True', ...numbers });
  t.equal(entry?.timeout, 2.5);
  t.equal(entry?.ssl_verify, false);
  t.match(JSON.stringify(settings.platforms), '"0042"');
  t.end();
});

t.test('CFG-2 · INT-1 · a variable without braces is found; as the secret of a route it is an error', (t) => {
  const found = (text: string) => {
    const { diagnostics } = read(text);
    t.notMatch(JSON.stringify(diagnostics.map(({ message }) => message)), 'MINE', 'it may be a secret all the same');
    return diagnostics.map(({ severity, line, code }) => `${severity} ${line} ${code}`);
  };
  const webhook = (routes: string): string =>
    `platforms:\n  webhook: {enabled: true, host: 127.0.0.1, routes: {${routes}}}\n`;
  t.same(found(webhook('a: {secret: $MINE}')), ['error 2 secret-unresolved']);
  t.same(found(webhook(`a: {secret: [${secret}, $MINE]}`)), ['error 2 secret-unresolved']);
  t.same(found(webhook(`a: {secret: ${secret}, prompt: $MINE}, b: {secret: '$mine-${secret}'}`)), []);
  t.same(found('platforms: {slack: {enabled: true, token: $MINE}}'), ['warning 1 variable-unset']);
  t.same(found("mcp_servers: {a: {url: 'https://a.example', headers: {authorization: Bearer $MINE}}}"), [
    'warning 1 variable-unset',
  ]);
  t.same(found('mcp_servers: {a: {command: sh, args: [-c, $MINE]}}'), [], 'a shell resolves it');
  t.end();
});
