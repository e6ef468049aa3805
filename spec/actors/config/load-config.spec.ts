import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { editHome } from '../../../actors/config/edit-home.ts';
import { type LoadedProfile, loadHome, loadingHome, readEntries } from '../../../actors/config/load-config.ts';
import { type Documents, fileDocuments } from '../../../actors/documents.ts';
import { defaultProfile, type ProfileName } from '../../../machines/base/names.ts';
import { atOnce } from '../../../machines/base/pieces.ts';
import { makeHome } from '../../support/home.ts';

t.test('HOME-1 · PRF-2 · each profile has its own settings and secrets', (t) => {
  const home = makeHome(t, {
    'config.yaml':
      'gateway: {multiplex_profiles: true}\nagent: {runner: echo}\nplatforms: {webhook: {secret: from-the-home-itself, routes: {}}}\n',
    'profiles/work/config.yaml':
      'agent: {runner: command, command: ["${TOOL}"]}\nplatforms: {webhook: {routes: {mine: {}}}}\n',
    'profiles/work/.env': 'TOOL=worker\n',
  });
  const loaded = loadHome({ home: home.path, env: {} });
  const work = loaded.profiles.get('work');
  t.same(loaded.diagnostics, []);
  t.same(work?.settings.agent.command, ['worker']);
  t.match(work?.settings.webhook.routes, [
    { route: { name: 'mine', profile: 'work' }, secret: { secret: 'from-the-home-itself' } },
  ]);
  t.end();
});

t.test('CFG-2 · config.yaml and .env are read at one time, however long the .env takes to be checked', (t) => {
  const home = makeHome(t, { 'config.yaml': 'agent: {runner: echo}\n', '.env': '' });
  const pieces = loadingHome({ home: home.path, env: {} });
  pieces.next();
  home.write('.env', 'NAME=one\n');
  home.write('config.yaml', 'agent: {runner: "${NAME}"}\n');
  const { main, diagnostics } = atOnce(pieces);
  t.same([main.text, diagnostics], ['agent: {runner: echo}\n', []]);
  t.end();
});

t.test('CFG-2 · HOME-4 · a file that was just edited is not parsed again', async (t) => {
  const routes = Array.from({ length: 100 }, (_, index) => `      r${index}: {prompt: p}\n`).join('');
  const home = makeHome(t, { 'config.yaml': `platforms:\n  webhook:\n    routes:\n${routes}` });
  const edit = () =>
    editHome({ home: home.path, profile: defaultProfile }, () => [{ path: ['agent', 'runner'], value: 'echo' }]);
  await edit();
  const read = (): readonly [LoadedProfile, number] => {
    const pieces = loadingHome({ home: home.path, env: {} });
    for (let count = 1; ; count += 1) {
      const next = pieces.next();
      if (next.done === true) return [next.value.main, count];
    }
  };
  const [edited, pieces] = read();
  const [again, piecesAgain] = read();
  t.same(edited, again);
  t.equal(edited.settings.agent.runner, 'echo');
  t.ok(pieces < piecesAgain, `${pieces} < ${piecesAgain}`);

  home.write('config.yaml', 'agent: {runner: model}\n');
  await edit();
  home.write('config.yaml', 'agent: {concurrency: 7}\n');
  t.equal(read()[0].settings.agent.concurrency, 7, 'what was saved after the edit counts');
});

t.test('PRF-2 · CFG-3 · profiles that cannot be listed are a finding of the home, not gone', (t) => {
  const home = makeHome(t, { 'config.yaml': 'gateway: {multiplex_profiles: true}\n' });
  // A folder of another user cannot be made here, but a link to itself cannot be listed either.
  symlinkSync('profiles', `${home.path}/profiles`);
  const finding = { file: `${home.path}/profiles`, code: 'file-unreadable', scope: { kind: 'home' } };
  t.match(loadHome({ home: home.path, env: {} }).webhookBlocked, [finding]);
  home.write('config.yaml', '{}\n');
  t.same(loadHome({ home: home.path, env: {} }).diagnostics, [], 'where they are not served, they do not count');
  t.end();
});

t.test('CFG-2 · a folder in the place of config.yaml or .env is called one', (t) => {
  const home = makeHome(t, {});
  for (const name of ['config.yaml', '.env']) mkdirSync(`${home.path}/${name}`);
  const { diagnostics } = loadHome({ home: home.path, env: {} });
  t.strictSame(
    diagnostics.map(({ file, message, code }) => [file, message, code]),
    ['.env', 'config.yaml'].map((name) => [
      `${home.path}/${name}`,
      'is a folder, where a file belongs; move it away',
      'file-unreadable',
    ]),
  );
  t.end();
});

t.test(
  'CFG-2 · HOME-4 · a file in Latin-1 is a warning at its first lost character, and no command changes it',
  async (t) => {
    const home = makeHome(t, {});
    const config = Buffer.from('# x\nworkspace: /tmp # f\u00fcr', 'latin1');
    for (const name of ['config.yaml', '.env']) writeFileSync(`${home.path}/${name}`, config);
    const { diagnostics } = loadHome({ home: home.path, env: {} });
    const place = { line: 2, column: 20, severity: 'warning', code: 'not-utf8', message: /save it as UTF-8$/ };
    const found = diagnostics.filter(({ code }) => code === 'not-utf8');
    t.match(found, [
      { ...place, file: '.env' },
      { ...place, file: 'config.yaml' },
    ]);
    const add = editHome({ home: home.path, profile: defaultProfile }, () => [{ path: ['log'], value: {} }]);
    await t.rejects(add, { message: /config\.yaml: not UTF-8, so a change would damage it; save it as UTF-8$/ });
    t.strictSame(readFileSync(`${home.path}/config.yaml`), config);
    const legal = Buffer.from('workspace: /tmp # \uFFFD\n');
    writeFileSync(`${home.path}/config.yaml`, legal);
    await editHome({ home: home.path, profile: defaultProfile }, () => [{ path: ['log', 'events'], value: 'all' }]);
    t.match(readFileSync(`${home.path}/config.yaml`, 'utf8'), /^workspace: \/tmp # \uFFFD\nlog:/);
    t.end();
  },
);

t.test('CFG-2 · HOME-2 · a line of .env whose quote has no end is a warning without its value', (t) => {
  const home = makeHome(t, { 'config.yaml': '{}\n', '.env': 'A=1\nB="never-shown\n' });
  const { diagnostics } = loadHome({ home: home.path, env: {} });
  const message =
    'this line begins a value with a quote that does not enclose it and is kept; close it, drop it, or use the other kind of quotes';
  t.match(diagnostics, [{ file: '.env', line: 2, column: 1, message, code: 'env-line', severity: 'warning' }]);
  t.notMatch(JSON.stringify(diagnostics), 'never-shown');
  t.end();
});

t.test('CFG-2 · HOME-2 · a line of .env that a later one replaces is a warning without its value', (t) => {
  const env = '\uFEFFA=never-shown\nB="two\nlines"\nexport A="shown-never"\nB="two\nlines"\n';
  const home = makeHome(t, { 'config.yaml': '{}\n', '.env': env });
  const { diagnostics } = loadHome({ home: home.path, env: {} });
  const message = 'this line sets a variable that line 4 sets to another value, which counts; remove one of the two';
  t.match(diagnostics, [{ file: '.env', line: 1, column: 1, message, code: 'env-line', severity: 'warning' }]);
  t.equal(diagnostics.length, 1);
  t.notMatch(JSON.stringify(diagnostics), /never/);
  t.end();
});

t.test('PRF-1 · CFG-2 · a folder whose name no profile can have is a warning, once profiles are served', (t) => {
  const home = makeHome(t, {
    'config.yaml': '{}\n',
    'profiles/Client A/config.yaml': '{}\n',
    'profiles/default/config.yaml': '{}\n',
    'profiles/.git/config': '',
    'profiles/notes.txt': '',
    'profiles/work/config.yaml': '{}\n',
  });
  const load = () => loadHome({ home: home.path, env: {} });
  t.same(load().diagnostics, []);
  home.write('config.yaml', 'gateway: {multiplex_profiles: true}\n');
  const { diagnostics, existing, webhookBlocked } = load();
  t.match(diagnostics, [
    { file: 'profiles/Client A', code: 'profile-folder', severity: 'warning', message: /rename the folder$/ },
    { file: 'profiles/default', code: 'profile-folder', severity: 'warning' },
  ]);
  t.equal(diagnostics.length, 2);
  t.same([...existing], ['default', 'work']);
  t.same(webhookBlocked, [], 'it stops nothing');
  t.end();
});

t.test('PRF-2 · SRV-3 · an entry is read with the workspace of its profile, which is served or not', async (t) => {
  const home = makeHome(t, { 'config.yaml': '{}\n' });
  home.write('profiles/work/config.yaml', `workspace: ${home.path}\n`);
  const entries = { files: { command: 'x', args: ['${workspaceFolder}'] } };
  const { servers, findings } = await readEntries({ home: home.path, env: {} }, 'work' as ProfileName, { entries });
  t.same(findings, []);
  t.same(servers[0]?.entry.args, [home.path]);
});

t.test('HOME-1 · PRF-1 · a profile may be a link to a folder elsewhere', (t) => {
  const elsewhere = makeHome(t, { 'config.yaml': 'agent: {timeout_seconds: 5}\n' }).path;
  const { path } = makeHome(t, { 'config.yaml': 'gateway: {multiplex_profiles: true}\n', 'profiles/file': '' });
  symlinkSync(elsewhere, `${path}/profiles/work`);
  symlinkSync(`${path}/gone`, `${path}/profiles/gone`);
  const { profiles, existing } = loadHome({ home: path, env: {} });
  t.equal(profiles.get('work')?.settings.agent.timeoutMs, 5_000);
  t.same([...existing], ['default', 'work']);
  t.end();
});

const home = (webhook: string): string =>
  `gateway: {multiplex_profiles: true}\nplatforms: {webhook: {enabled: true, host: 127.0.0.1, ${webhook}}}\n`;

t.test("PRF-2 · SIG-5 · a profile's routes are opened by its own secret where it has one, else by the home's", (t) => {
  const routes = 'routes: {plain: {}, own: {secret: of-the-route-itself}}';
  const rows: readonly (readonly [config: string, env: string, secret: string | undefined])[] = [
    [`platforms: {webhook: {${routes}}}`, '', 'of-the-home-itself'],
    [`platforms: {webhook: {extra: {secret: of-the-work-profile, ${routes}}}}`, '', 'of-the-work-profile'],
    [`platforms: {webhook: {secret: of-the-work-profile, ${routes}}}`, '', 'of-the-work-profile'],
    [`platforms: {webhook: {secret: "\${KEY}", ${routes}}}`, 'KEY=of-the-work-profile', 'of-the-work-profile'],
    [`platforms: {webhook: {${routes}}}`, 'WEBHOOK_SECRET=of-the-work-profile', 'of-the-work-profile'],
    [`platforms: {webhook: {${routes}}}`, 'WEBHOOK_SECRET=', undefined],
    [`platforms: {webhook: {secret: of-the-file-itself, ${routes}}}`, 'WEBHOOK_SECRET=', 'of-the-file-itself'],
    [
      `platforms: {webhook: {secret: of-the-file-itself, ${routes}}}`,
      'WEBHOOK_SECRET=of-the-work-profile',
      'of-the-file-itself',
    ],
    [`platforms: {webhook: {secret: "", ${routes}}}`, 'WEBHOOK_SECRET=of-the-work-profile', undefined],
  ];
  // The process's environment is the home's.
  for (const env of [{}, { WEBHOOK_SECRET: 'of-the-process', WEBHOOK_PORT: 'high' }]) {
    for (const [config, variables, secret] of rows) {
      const { path } = makeHome(t, {
        'config.yaml': home('secret: of-the-home-itself, port: 1'),
        'profiles/work/config.yaml': `${config}\n`,
        'profiles/work/.env': `${variables}\n`,
      });
      const { profiles } = loadHome({ home: path, env });
      const { webhook } = profiles.get('work')?.settings ?? {};
      const title = `${config} ${variables}`;
      t.same([webhook?.host, webhook?.secret], ['127.0.0.1', secret], title);
      t.same(
        webhook?.routes.map(({ secret: used }) => used.kind === 'shared' && used.secret),
        secret === undefined ? ['of-the-route-itself'] : [secret, 'of-the-route-itself'],
        title,
      );
    }
  }
  t.end();
});

t.test("PRF-2 · SIG-5 · a profile's secret that cannot be used is a finding, never the home's in its place", (t) => {
  for (const [config, env, found] of [
    ['platforms: {webhook: {secret: "${GONE}", routes: {r: {}}}}', '', { code: 'secret-unresolved', line: 1 }],
    ['platforms: {webhook: {routes: {r: {}}}}', 'WEBHOOK_SECRET=${GONE}', { file: /the .env of the profile "work"/ }],
    ['platforms: {webhook: {secret: "", routes: {r: {}}}}', '', { code: 'route-secret-missing' }],
    ['platforms: {webhook: {routes: {r: {}}}}', 'WEBHOOK_SECRET=', { code: 'route-secret-missing' }],
    ['platforms: {webhook: {secret: 5, routes: {r: {}}}}', '', { code: 'wrong-type' }],
  ] as const) {
    const { path } = makeHome(t, {
      'config.yaml': home('secret: of-the-home-itself'),
      'profiles/work/config.yaml': `${config}\n`,
      'profiles/work/.env': `${env}\n`,
    });
    const { webhookBlocked } = loadHome({ home: path, env: {} });
    t.match(webhookBlocked[0], { severity: 'error', ...found }, `${config} ${env}`);
  }
  t.end();
});

t.test("PRF-2 · SRC-2 · SEC-6 · a profile's routes are reached at the home's public_url", (t) => {
  const { path } = makeHome(t, {
    'config.yaml': home('secret: of-the-home-itself, public_url: "https://hooks.example/in"'),
    'profiles/work/config.yaml':
      'platforms: {webhook: {routes: {calls: {source: twilio, secret: 9f86d081884c7d659a2feaa0c55ad015}, weak: {secret: hunter2}}}}\n',
  });
  const { profiles, webhookBlocked, diagnostics } = loadHome({ home: path, env: {} });
  t.same(webhookBlocked, []);
  t.same(
    diagnostics.map(({ file, code, severity }) => [file, code, severity]),
    [['profiles/work/config.yaml', 'secret-weak', 'warning']],
  );
  const { routes = [] } = profiles.get('work')?.settings.webhook ?? {};
  t.match(routes[0]?.route, { name: 'calls', publicUrl: 'https://hooks.example/in' });
  t.end();
});

t.test('PRF-2 · CFG-1 · what only counts in the home is a warning in a profile', (t) => {
  const places = [
    'gateway: {front: node}',
    'inspector: {port: 1}',
    'telemetry: {otlp_endpoint: "http://e"}',
    'agent: {concurrency: 2}',
    ...[
      'host: 127.0.0.1',
      'port: 1',
      'rate_limit: 1',
      'max_body_bytes: 1',
      'max_unverified_bytes: 1',
      'script_concurrency: 1',
    ].flatMap((key) => [`platforms: {webhook: {${key}}}`, `platforms: {webhook: {extra: {${key}}}}`]),
    'platforms: {webhook: {enabled: false}}',
  ];
  const warnings = (config: string, env = ''): unknown => {
    const { path } = makeHome(t, {
      'config.yaml': home('secret: of-the-home-itself'),
      'profiles/work/config.yaml': `${config}\n`,
      'profiles/work/.env': env,
    });
    return loadHome({ home: path, env: {} }).diagnostics.map(({ file, code, severity }) => [file, code, severity]);
  };
  for (const place of places) {
    t.same(warnings(place), [['profiles/work/config.yaml', 'profile-key-unused', 'warning']], place);
  }
  for (const variable of ['WEBHOOK_PORT=1', 'WEBHOOK_ENABLED=perhaps']) {
    t.same(warnings('', variable), [['the .env of the profile "work"', 'profile-key-unused', 'warning']], variable);
  }
  t.same(
    warnings('platforms: {webhook: {enabled: true, secret: of-the-work-profile}}\nagent: {timeout_seconds: 5}'),
    [],
  );
  t.end();
});

t.test('PRF-2 · CFG-3 · a key that only counts in the home takes nothing else of its profile with it', (t) => {
  const { path } = makeHome(t, {
    'config.yaml': home('secret: of-the-home-itself'),
    'profiles/work/config.yaml': [
      'agent: {concurrency: 2, runner: command, command: [cat]}',
      'telemetry: {otlp_endpoint: "http://e"}',
      'mcp_servers: {broken: {command: a, url: "http://b"}, sound: {command: b}}',
      '',
    ].join('\n'),
  });
  const { profiles } = loadHome({ home: path, env: {} });
  const { agent, servers } = profiles.get('work')?.settings ?? {};
  t.match(agent, { runner: 'command', command: ['cat'] });
  t.match(servers, [
    { name: 'broken', problem: /^profiles\/work\/config\.yaml:3: .*both command and url/ },
    { name: 'sound', problem: undefined },
  ]);
  t.end();
});

t.test(
  'INT-2 · SRV-3 · the workspace is that of the home unless the profile has its own, and starts its servers',
  (t) => {
    const home = makeHome(t, {
      'shop/here': '',
      'work/here': '',
      'config.yaml': 'gateway: {multiplex_profiles: true}\n',
      'profiles/own/config.yaml': '',
      'profiles/shared/config.yaml': '',
    });
    const servers = "mcp_servers: {files: {command: x, args: ['${workspaceFolder}', '${workspaceFolderBasename}']}}\n";
    const entryOf = (profile: string): unknown => {
      const { profiles } = loadHome({ home: home.path, env: {} });
      const [server] = profiles.get(profile)?.settings.servers ?? [];
      return { args: server?.entry.args, cwd: server?.entry.cwd, failed: server?.problem !== undefined };
    };
    for (const profile of ['own', 'shared']) home.write(`profiles/${profile}/config.yaml`, servers);
    t.same(entryOf('shared'), {
      args: ['${workspaceFolder}', '${workspaceFolderBasename}'],
      cwd: undefined,
      failed: true,
    });

    home.write('config.yaml', `workspace: ${home.path}/shop\ngateway: {multiplex_profiles: true}\n`);
    home.write('profiles/own/config.yaml', `workspace: ${home.path}/work\n${servers}`);

    const placed = (name: string): unknown => ({
      args: [`${home.path}/${name}`, name],
      cwd: `${home.path}/${name}`,
      failed: false,
    });
    t.same(entryOf('shared'), placed('shop'));
    t.same(entryOf('own'), placed('work'));
    t.end();
  },
);

t.test('CRN-1 · CFG-2 · the jobs that routes name are looked up in the documents of the source', (t) => {
  const { path } = makeHome(t, {
    'config.yaml':
      'platforms: {webhook: {secret: long-enough-secret, routes: {one: {cron_job: here}, two: {cron_job: gone}}}}\n',
    'cron/jobs.json': '[{"id": "gone", "name": "gone", "prompt": ""}]',
  });
  const asked: string[] = [];
  const documents: Documents = {
    ...fileDocuments,
    at: (place) => ({
      ...fileDocuments.at(place),
      stamp: () => 'read',
      text: () => '[{"id": "here", "name": "here", "prompt": ""}]',
    }),
  };

  const loaded = loadHome({
    home: path,
    env: {},
    documents({ journal }) {
      asked.push(journal);
      return documents;
    },
  });

  t.same(asked, ['lmdb']);
  t.equal(loaded.documents, documents);
  t.same(
    loaded.diagnostics.map(({ code, message }) => [code, message.includes('"gone"')]),
    [['cron-job-missing', true]],
  );
  t.end();
});
