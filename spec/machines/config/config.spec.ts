import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import t from 'tap';
import { checkFilters, loadHome } from '../../../actors/config/load-config.ts';
import type { Json } from '../../../machines/base/json.ts';
import { defaultProfile, type ProfileName } from '../../../machines/base/names.ts';
import { printDiagnostic } from '../../../machines/config/diagnostic.ts';
import { editConfig } from '../../../machines/config/edit.ts';
import { parseEnvFile } from '../../../machines/config/env-file.ts';
import { expandTilde, type InterpolationScope, interpolate } from '../../../machines/config/interpolate.ts';
import { homeOf, homePaths, profilePaths } from '../../../machines/config/profile.ts';
import { readConfig } from '../../../machines/config/read-config.ts';
import { readSubscription, readSubscriptions } from '../../../machines/config/subscription.ts';
import { canonicalTarget } from '../../../machines/config/targets.ts';
import { makeHome } from '../../support/home.ts';

const scope: InterpolationScope = {
  secrets: new Map([
    ['SECRET', 'from-the-scope'],
    ['EMPTY', ''],
  ]),
  env: { SECRET: 'from-env', OTHER: 'other' },
  userHome: '/home/me',
  workspaceFolder: '/work/place',
  pathSeparator: '/',
};
const read = (text: string, env: Record<string, string> = {}) =>
  readConfig({
    file: 'config.yaml',
    text,
    profile: defaultProfile,
    profiles: new Set(['default', 'work']),
    scope: { ...scope, env: { ...scope.env, ...env } },
    checkFilters,
  });
const codes = (text: string, env: Record<string, string> = {}): string[] =>
  read(text, env).diagnostics.map(({ code }) => code);

t.test(
  'CFG-2 · CFG-1 · CFG-6 · RTE-1 · SIG-1 · PRF-1 · SIG-5 · SIG-6 · FIL-2 · each finding is printed as its golden says',
  (t) => {
    const folder = 'spec/golden/config/err';
    const names = readdirSync(folder).filter((name) => name.endsWith('.yaml'));
    t.ok(names.length > 10);
    for (const name of names) {
      const text = readFileSync(`${folder}/${name}`, 'utf8');
      const printed = `${read(text).diagnostics.map(printDiagnostic).join('\n\n')}\n`;
      t.equal(printed, readFileSync(`${folder}/${name.replace('.yaml', '.out')}`, 'utf8'), name);
      t.notMatch(printed, /from-the-scope|hunter2/, 'no secret is shown');
    }
    t.end();
  },
);

t.test('CON-3 · ADP-1 · CFG-5 · a whole configuration is read as its golden says', (t) => {
  const folder = 'spec/golden/config/ok';
  for (const name of readdirSync(folder).filter((one) => one.endsWith('.yaml'))) {
    const { settings, diagnostics } = read(readFileSync(`${folder}/${name}`, 'utf8'));
    t.same(diagnostics, [], name);
    t.equal(
      `${JSON.stringify(settings, null, 2)}\n`,
      readFileSync(`${folder}/${name.replace('.yaml', '.out')}`, 'utf8'),
      name,
    );
  }
  t.end();
});

t.test('ADP-1 · extra wins over direct keys, configuration over the environment', (t) => {
  const port = (webhook: string, env: Record<string, string> = {}): number =>
    read(`platforms: {webhook: ${webhook}}`, env).settings.webhook.port;
  t.equal(port('{}'), 8_644);
  t.equal(port('{port: 1, extra: {port: 2}}'), 2);
  t.equal(port('{port: 1}', { WEBHOOK_PORT: '3' }), 1);
  t.equal(port('{}', { WEBHOOK_PORT: '3' }), 3);
  t.equal(read('', { WEBHOOK_ENABLED: 'yes' }).settings.webhook.enabled, true);
  t.equal(read('platforms: {webhook: {enabled: false}}', { WEBHOOK_ENABLED: 'true' }).settings.webhook.enabled, false);
  t.equal(read('', { WEBHOOK_SECRET: 's' }).settings.webhook.secret, 's');
  t.same(codes('', { WEBHOOK_PORT: '70000' }), ['variable-malformed']);
  t.same(codes('', { WEBHOOK_ENABLED: 'perhaps' }), ['variable-malformed']);
  t.end();
});

t.test('CFG-3 · a broken server stops itself, a broken route the adapter, neither the other', (t) => {
  const broken = read(
    'mcp_servers: {bad: {command: a, url: "http://x"}, good: {command: b}}\nplatforms: {webhook: {secret: abcdef, routes: {r: {}}}}',
  );
  t.same(
    broken.settings.servers.map(({ name, problem }) => [name, problem]),
    [
      ['bad', 'config.yaml:1: mcp server "bad" has both command and url; keep the one that the server is reached by'],
      ['good', undefined],
    ],
  );
  t.equal(broken.settings.webhook.routes.length, 1);
  t.same(
    broken.diagnostics.map(({ scope: stopped }) => stopped),
    [{ kind: 'server', server: 'bad' }],
  );
  const route = read('platforms: {webhook: {routes: {r: {}}}}');
  t.same(
    route.diagnostics.map(({ scope: stopped }) => stopped.kind),
    ['webhook'],
  );
  t.end();
});

t.test('CFG-5 · the direct key wins over lifecycle', (t) => {
  const [server] = read(
    'mcp_servers: {s: {command: a, idle_timeout_seconds: 1, lifecycle: {idle_timeout_seconds: 2, max_lifetime_seconds: 3}}}',
  ).settings.servers;
  t.match(server?.entry, { idle_timeout_seconds: 1, max_lifetime_seconds: 3, timeout: 300, connect_timeout: 60 });
  t.end();
});

t.test('INT-1 · INT-2 · references resolve once, scope before environment, unset ones stay', (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['${SECRET}', 'from-the-scope'],
    ['${env:SECRET}', 'from-the-scope'],
    ['${OTHER}/${OTHER}', 'other/other'],
    ['${UNSET} ${env:UNSET}', '${UNSET} ${env:UNSET}'],
    ['[${EMPTY}]', '[]'],
    ['${userHome}${/}x', '/home/me/x'],
    ['${workspaceFolder} ${workspaceFolderBasename} ${pathSeparator}', '/work/place place /'],
    ['${USERHOME}', '${USERHOME}'],
    ['$SECRET ${}', '$SECRET ${}'],
  ];
  for (const [text, expected] of rows) t.equal(interpolate(text, scope), expected, text);
  t.same(interpolate({ a: ['${OTHER}', { b: '${OTHER}' }], n: 1 }, scope), { a: ['other', { b: 'other' }], n: 1 });
  fc.assert(
    fc.property(fc.string(), (value) => interpolate('${V}', { ...scope, secrets: new Map([['V', value]]) }) === value),
  );
  t.end();
});

t.test('INT-3 · a leading tilde is the user’s home', (t) => {
  t.equal(expandTilde('~/certs/a.pem', '/home/me'), '/home/me/certs/a.pem');
  t.equal(expandTilde('a/~/b', '/home/me'), 'a/~/b');
  t.end();
});

t.test('HOME-2 · .env is read by the dotenv syntax', (t) => {
  const text =
    '# c\nA=1\nexport B = two words # note\nC="x\\ny\\"z"\nD=\'$A\\n\'\nE=\nF="multi\nline"\nG=a#b\nbad line\nA=2\n';
  t.same(
    [...parseEnvFile(text)],
    [
      ['A', '2'],
      ['B', 'two words'],
      ['C', 'x\ny"z'],
      ['D', '$A\\n'],
      ['E', ''],
      ['F', 'multi\nline'],
      ['G', 'a#b'],
    ],
  );
  t.end();
});

t.test('HOME-1 · AGENT_HOME moves the home, profiles lie under it', (t) => {
  t.equal(homeOf({}, '/home/me'), '/home/me/.agent');
  t.equal(homeOf({ AGENT_HOME: '/srv/agent/' }, '/home/me'), '/srv/agent');
  t.equal(homeOf({ AGENT_HOME: '' }, '/home/me'), undefined);
  t.equal(homePaths('/srv/a').socket, '/srv/a/gateway.sock');
  t.ok(homePaths(`/srv/${'deep/'.repeat(40)}`).socket.length < 108, 'a socket path that can be bound');
  t.equal(profilePaths('/srv/a', defaultProfile).scripts, '/srv/a/scripts');
  t.equal(profilePaths('/srv/a', 'work' as ProfileName).tokens, '/srv/a/profiles/work/mcp-tokens');
  t.end();
});

t.test('HOME-1 · PRF-2 · each profile has its own settings and secrets', (t) => {
  const home = makeHome(t, {
    'config.yaml':
      'gateway: {multiplex_profiles: true}\nagent: {runner: echo}\nplatforms: {webhook: {secret: from-home, routes: {}}}\n',
    'profiles/work/config.yaml':
      'agent: {runner: command, command: ["${TOOL}"]}\nplatforms: {webhook: {routes: {mine: {}}}}\n',
    'profiles/work/.env': 'TOOL=worker\n',
  });
  const loaded = loadHome({ home: home.path, env: {} });
  const work = loaded.profiles.get('work' as ProfileName);
  t.same(loaded.diagnostics, []);
  t.same(work?.settings.agent.command, ['worker']);
  t.match(work?.settings.webhook.routes, [
    { route: { name: 'mine', profile: 'work' }, secret: { secret: 'from-home' } },
  ]);
  t.end();
});

t.test('HOME-4 · an edit keeps comments, order and what it does not touch', (t) => {
  const text = '# top\nb: 1 # why\n\na:\n  # inner\n  x: [1, 2]\n';
  t.equal(
    editConfig(text, [
      { path: ['a', 'y', 'z'], value: true },
      { path: ['b'], value: 2 },
    ]),
    '# top\nb: 2 # why\n\na:\n  # inner\n  x: [1, 2]\n  y:\n    z: true\n',
  );
  t.equal(editConfig('a: [', [{ path: ['a'], value: 1 }]), undefined, 'what cannot be read is not rewritten');
  t.end();
});

t.test('SUB-3 · CFG-2 · CFG-3 · a broken subscription is skipped and told of whole, a corrupt file is a fault', (t) => {
  const context = { profile: defaultProfile, host: '0.0.0.0', checkFilters };
  const result = readSubscriptions(
    JSON.stringify({
      good: { secret: 'abcdef' },
      'Bad Name': { secret: 'abcdef' },
      typo: { secret: 'abcdef', promt: 'x' },
      bare: {},
    }),
    context,
  );
  t.ok(result.ok);
  if (result.ok) {
    t.same(
      result.routes.map(({ route }) => route.name),
      ['good'],
    );
    t.same(
      result.problems.map(({ name, code }) => [name, code]),
      [
        ['Bad Name', 'subscription-name'],
        ['typo', 'unknown-key'],
        ['bare', 'route-secret-missing'],
      ],
    );
  }
  const rows: readonly (readonly [name: string, record: Json, codes: readonly string[]])[] = [
    ['Bad', { secret: '', promt: 'x' }, ['subscription-name', 'unknown-key', 'route-secret-empty']],
    [
      'two',
      { prompt: 5, deliver: 'fax', deliver_only: true, cron_job: 'j', secret: 's' },
      ['wrong-type', 'deliver-unknown', 'cron-job-with-deliver-only'],
    ],
    ['once', { filters: [5, { field: 'a' }], secret: 's' }, ['wrong-type', 'filter-operator']],
    ['typed', { deliver: 5, deliver_only: true, secret: 5 }, ['wrong-type', 'wrong-type']],
    ['none', 'text', ['wrong-type']],
  ];
  for (const [name, record, codes] of rows) {
    const found = readSubscription(name, record, context);
    t.same(found.ok || found.problems.map(({ code }) => code).sort(), [...codes].sort(), name);
  }
  for (const text of ['[]', '{', 'null']) t.equal(readSubscriptions(text, context).ok, false, text);
  t.ok(readSubscriptions('', context).ok, 'an empty file is no subscriptions');
  t.end();
});

t.test('DLV-5 · each target answers to its platform’s own name', (t) => {
  for (const [own, neutral] of [
    ['telegram', 'messenger_a'],
    ['slack', 'team_chat_a'],
    ['github_comment', 'codehost_comment'],
    ['qqbot', 'messenger_c'],
    ['email', 'email'],
  ] as const) {
    t.equal(canonicalTarget(own), neutral);
  }
  t.equal(canonicalTarget('fax'), undefined);
  t.end();
});

t.test('CFG-2 · whatever the text, reading ends in findings and never throws', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'abc:-[]{}&*!|>#\n "\'%@'), maxLength: 60 }), (text) =>
      Array.isArray(read(text).diagnostics),
    ),
    { numRuns: 300 },
  );
  t.same(codes('a: &x [1]\nb: [*x,*x]'), ['unknown-key', 'unknown-key']);
  t.end();
});
