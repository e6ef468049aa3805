import { renameSync, rmSync, symlinkSync } from 'node:fs';
import t, { type Test } from 'tap';
import { type LoadedHome, loadHome } from '../../../actors/config/load-config.ts';
import { homePaths } from '../../../machines/config/profile.ts';
import {
  adapterBlock,
  learnSecrets,
  reportDiagnostics,
  withLostFiles,
  writtenFolders,
} from '../../../runtime/config/loaded-home.ts';
import { createRedactor } from '../../../runtime/observe/redact.ts';
import { makeHome } from '../../support/home.ts';

const load = (t: Test, config: string, env: Record<string, string> = {}) =>
  loadHome({ home: makeHome(t, { 'config.yaml': config }).path, env });

t.test(
  'CFG-3 · findings of the webhook part stop the adapter that is switched on, those of the home everything',
  (t) => {
    const broken = (enabled: boolean): string =>
      `platforms: {webhook: {enabled: ${enabled}, routes: {r: {}, s: {}}}}\n`;
    t.same(adapterBlock(load(t, 'agent: {runner: echo}\n')), { kind: 'free' });
    t.same(adapterBlock(load(t, broken(false))), { kind: 'free' });
    t.match(adapterBlock(load(t, broken(true))), {
      kind: 'adapter',
      fault: /config\.yaml:1:\d+: route "r" has no secret.*\[route-secret-missing\]; and 1 more/,
    });
    for (const section of ['log: {events: some}', 'telemtry: {}', 'inspector: 5', 'strange: x']) {
      t.match(adapterBlock(load(t, `${section}\n`)), { kind: 'section' }, section);
    }
    // Another journal, a shorter history, another agent or no targets would lose work.
    const harmful = [
      'agent: 5',
      'agent: {runner: model}',
      'worksapce: x',
      'platforms:',
      'platfroms: {}',
      'mcp_servers: 5',
    ];
    for (const section of [
      ...harmful,
      'a: [',
      '5',
      'gateway: {journl: postgres}',
      'gatewy: {}',
      'gateway: {history: 5}',
    ]) {
      t.match(adapterBlock(load(t, `${section}\n`)), { kind: 'home' }, section);
    }
    t.match(adapterBlock(load(t, 'gateway: {front: best}\n')), { kind: 'section' });
    t.match(adapterBlock(load(t, '', { WEBHOOK_ENABLED: 'perhaps' })), { kind: 'adapter', fault: /WEBHOOK_ENABLED/ });
    t.match(adapterBlock(load(t, '', { WEBHOOK_SECRET: '${OTHER}' })), { kind: 'free' }, 'switched off');
    t.match(adapterBlock(load(t, '', { WEBHOOK_SECRET: '${OTHER}', WEBHOOK_ENABLED: '1' })), {
      fault: /references are not read in variables/,
    });
    t.end();
  },
);

t.test(
  'CFG-3 · CFG-2 · a file that lost its text while the gateway runs is a finding; one that was empty before is none',
  (t) => {
    const home = makeHome(t, { 'config.yaml': 'agent: {runner: echo}\n' });
    const load = () => loadHome({ home: home.path, env: {} });
    const standing = load();
    const lostSince = (before?: LoadedHome) => withLostFiles(load(), before).diagnostics.map(({ code }) => code);
    t.same(lostSince(standing), []);
    home.write('config.yaml', '\n');
    const empty = load();
    t.same(lostSince(standing), ['file-emptied']);
    t.match(adapterBlock(withLostFiles(empty, standing)), { fault: /is empty, .*\[file-emptied\]/ });
    t.same(lostSince(empty), []);
    t.same(lostSince(), [], 'at a start');
    home.write('config.yaml', '{}\n');
    t.same(lostSince(standing), [], 'nothing is configured on purpose');
    rmSync(`${home.path}/config.yaml`);
    t.same(lostSince(standing), ['file-gone']);
    t.end();
  },
);

t.test('CFG-2 · INT-1 · variables that were lost with their file keep the last good ones in force', (t) => {
  const home = makeHome(t, { 'config.yaml': 'agent: {runner: echo}\n', '.env': 'TOKEN=x\n' });
  const load = () => loadHome({ home: home.path, env: {} });
  const standing = load();
  rmSync(`${home.path}/.env`);
  const without = load();
  t.match(adapterBlock(withLostFiles(without, standing)), { kind: 'home', fault: /\.env: is gone; .*\[file-gone\]/ });
  t.same(withLostFiles(without, without).diagnostics, []);
  home.write('.env', '');
  t.match(adapterBlock(withLostFiles(load(), standing)), {
    kind: 'home',
    fault: /\.env: is empty, .*\[file-emptied\]/,
  });
  home.write('.env', '#\n');
  const commented = load();
  t.same(withLostFiles(commented, standing).diagnostics, [], 'no variable is set on purpose');
  rmSync(`${home.path}/.env`);
  t.same(withLostFiles(load(), commented).diagnostics, [], 'none is lost');
  t.end();
});

t.test('PRF-2 · CFG-2 · a served profile whose link leads nowhere is a finding, and one removed is none', (t) => {
  const elsewhere = makeHome(t, { 'work/config.yaml': 'agent: {runner: echo}\n' }).path;
  const home = makeHome(t, { 'config.yaml': 'gateway: {multiplex_profiles: true}\n', 'profiles/note': '' });
  const link = `${home.path}/profiles/work`;
  symlinkSync(`${elsewhere}/work`, link);
  const load = () => loadHome({ home: home.path, env: {} });
  const standing = load();
  renameSync(`${elsewhere}/work`, `${elsewhere}/away`);
  const lost = withLostFiles(load(), standing);
  t.match(adapterBlock(lost), { kind: 'home', fault: /work: leads to no folder any more; .*\[file-gone\]/ });
  rmSync(link);
  t.same(withLostFiles(load(), standing).diagnostics, []);
  symlinkSync(`${elsewhere}/work`, link);
  home.write('config.yaml', 'agent: {runner: echo}\n');
  t.same(withLostFiles(load(), standing).diagnostics, [], 'profiles are not served any more');
  t.end();
});

t.test(
  'OBS-1 · CFG-7 · a finding is one line of the log, without a source line whose references would be masked',
  (t) => {
    const lines: unknown[] = [];
    const home = load(t, 'platforms: {slack: {enabled: true, token: "${UNSET}"}}\n');
    reportDiagnostics(home, { log: (level: string, message: string) => lines.push([level, message]) } as never);
    t.match(lines, [['error', /^config\.yaml:1:36: target "slack" .* \[credential-unresolved\]$/]]);
    t.end();
  },
);

t.test('HOME-3 · what a killed writer of cached tools has left is swept as well', (t) => {
  const { path } = makeHome(t, { 'config.yaml': 'gateway: {multiplex_profiles: true}\n', 'profiles/work/.env': '' });
  const folders = writtenFolders(loadHome({ home: path, env: {} }), homePaths(path));
  for (const folder of [path, `${path}/cache/mcp`, `${path}/profiles/work/cache/mcp`]) t.ok(folders.includes(folder));
  t.end();
});

t.test('OBS-1 · every secret of a home is learnt', (t) => {
  const redactor = createRedactor();
  learnSecrets(
    load(
      t,
      'platforms: {webhook: {secret: the-global-secret-one, routes: {r: {secret: the-route-secret-one}}}, sms: {auth_token: target-one}}\n',
    ),
    redactor,
  );
  t.equal(redactor.text('the-global-secret-one the-route-secret-one target-one'), '[redacted] [redacted] [redacted]');
  t.end();
});

t.test('OBS-1 · SRC-2 · the verify token of a route is a secret, in config.yaml as in the subscriptions', (t) => {
  const redactor = createRedactor();
  const route = `{source: meta, secret: 3f9d0c7a61e2b8d45c70aa19e6f3b2c8, verify_token: typed-beside-the-url}`;
  learnSecrets(load(t, `platforms: {webhook: {routes: {m: ${route}}}}\n`), redactor);
  t.equal(redactor.text('hub.verify=typed-beside-the-url'), 'hub.verify=[redacted]');
  t.end();
});

t.test('LIF-13 · OBS-1 · every header value of a server is a secret, whatever its name', (t) => {
  const redactor = createRedactor();
  const headers = '{X-Custom-Thing: abc-own-thing, X-Scheme: Bearer tok-of-scheme, X-Short: tiny}';
  learnSecrets(load(t, `mcp_servers: {s: {url: "https://s.example/mcp", headers: ${headers}}}\n`), redactor);
  t.equal(redactor.text('abc-own-thing tok-of-scheme tiny'), '[redacted] [redacted] tiny');
  t.end();
});

t.test('LIF-13 · OBS-1 · a part of a server’s path that a machine made is a secret', (t) => {
  const redactor = createRedactor();
  const generated = ['NjQzZTkxYjAtYmFiZS00', '0b7f5a2c-94e1-4c3d-8a6f-1d2e3f4a5b6c', 'a1b2c3d4e5f60718293a'];
  const words = [
    'api',
    'v1.2-2026-03-26-preview',
    'model-context-protocol-2',
    'ModelContextProtocolServer',
    '2026-03-26',
  ];
  const path = [...generated, ...words].join('/');
  learnSecrets(load(t, `mcp_servers: {s: {url: "https://s.example/${path}?q=1"}}\n`), redactor);
  t.equal(redactor.text(`POST /${path}`), `POST /[redacted][redacted][redacted]/${words.join('/')}`);
  const [token = '', uuid = ''] = generated;
  t.equal(redactor.text(`no ${token}`), 'no [redacted]');
  t.equal(redactor.text(`{"account":"${uuid}"}`), `{"account":"${uuid}"}`, 'what may be an id is shown elsewhere');
  t.end();
});

t.test('LIF-10 · OBS-1 · what `mcp add` would move into .env is a secret in an entry too', (t) => {
  const redactor = createRedactor();
  learnSecrets(load(t, 'mcp_servers: {s: {command: x, env: {DB_PWD: own-password, REGION: eu-central}}}\n'), redactor);
  t.equal(redactor.text('own-password eu-central'), '[redacted] eu-central');
  const args = '[--api-token, own-argument, --region, eu-central]';
  learnSecrets(load(t, `mcp_servers: {s: {command: x, args: ${args}}}\n`), redactor);
  t.equal(redactor.text('--api-token own-argument --region eu-central'), '--api-token [redacted] --region eu-central');
  t.end();
});

t.test(
  'OBS-1 · CLI-6 · what a program gets as a key in its arguments is a secret, and what only stands there is none',
  (t) => {
    const redactor = createRedactor();
    const words = [
      ...['--api-key', 'own-key-0123456789', '--auth-mode', 'with-the-browser-of-mine'],
      '--max-tokens',
      '128000',
    ];
    learnSecrets(load(t, `agent: {runner: command, command: [x, '${words.join("', '")}']}\n`), redactor);
    t.equal(redactor.text(words.join(' ')), words.join(' ').replace('own-key-0123456789', '[redacted]'));
    t.end();
  },
);

t.test('OBS-1 · LIF-13 · the login in the address of a server is a secret as it is sent, too', (t) => {
  const redactor = createRedactor();
  learnSecrets(load(t, 'mcp_servers: {s: {url: "https://me:p%40ss-word-1@s.example/mcp"}}\n'), redactor);
  const sent = Buffer.from('me:p@ss-word-1').toString('base64');
  t.equal(redactor.text(`p@ss-word-1 p%40ss-word-1 ${sent}`).replaceAll('=', ''), '[redacted] [redacted] [redacted]');
  t.end();
});

t.test('OBS-1 · SIG-5 · the word that stands for no secret is none, wherever it stands', (t) => {
  const finding = 'route "r" uses INSECURE_NO_AUTH while the adapter listens on 0.0.0.0';
  for (const [config, env] of [
    ['platforms: {webhook: {secret: INSECURE_NO_AUTH, routes: {r: {}}}}\n', {}],
    ['platforms: {webhook: {routes: {r: {secret: INSECURE_NO_AUTH}}}}\n', {}],
    ['platforms: {webhook: {secret: "${KEY}", routes: {r: {}}}}\n', { KEY: 'INSECURE_NO_AUTH' }],
    ['platforms: {webhook: {routes: {r: {}}}}\n', { WEBHOOK_SECRET: 'INSECURE_NO_AUTH' }],
  ] as const) {
    const redactor = createRedactor();
    const variables = Object.entries(env).map(([name, value]) => `${name}=${value}\n`);
    const home = makeHome(t, { 'config.yaml': config, '.env': variables.join('') });
    learnSecrets(loadHome({ home: home.path, env: {} }), redactor);
    t.equal(redactor.text(finding), finding, config);
  }
  t.end();
});
