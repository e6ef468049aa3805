import { readdirSync, readFileSync } from 'node:fs';
import t from 'tap';
import { filterChecker } from '../../../actors/config/load-config.ts';
import { defaultProfile } from '../../../machines/base/names.ts';
import { printDiagnostic } from '../../../machines/config/diagnostic.ts';
import { editConfig } from '../../../machines/config/edit.ts';
import type { InterpolationScope } from '../../../machines/config/interpolate.ts';
import { readConfig } from '../../../machines/config/read-config.ts';
import { filterOperators, routeSchema } from '../../../machines/config/route.ts';
import { serverEntrySchema } from '../../../machines/config/server-entry.ts';
import { fc, runs } from '../../support/property.ts';

const checkFilters = filterChecker('/home/of/nobody');

const scope: InterpolationScope = {
  secrets: new Map([
    ['SECRET', 'from-the-very-scope'],
    ['EMPTY', ''],
  ]),
  env: { SECRET: 'from-env', OTHER: 'other' },
  userHome: '/home/me',
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
    isFolder: (path) => path.startsWith('/there'),
  });
const codes = (text: string, env: Record<string, string> = {}): string[] =>
  read(text, env).diagnostics.map(({ code }) => code);

t.test(
  'CFG-2 · CFG-7 · CFG-1 · CFG-6 · TLS-1 · RTE-1 · SIG-1 · PRF-1 · SIG-5 · SIG-6 · SEC-6 · FIL-2 · DLV-7 · each finding is printed as its golden says',
  (t) => {
    const folder = 'spec/golden/config/err';
    const names = readdirSync(folder).filter((name) => name.endsWith('.yaml'));
    t.ok(names.length > 10);
    for (const name of names) {
      const text = readFileSync(`${folder}/${name}`, 'utf8');
      const printed = `${read(text).diagnostics.map(printDiagnostic).join('\n\n')}\n`;
      t.equal(printed, readFileSync(`${folder}/${name.replace('.yaml', '.out')}`, 'utf8'), name);
      t.notMatch(printed, /from-the-very-scope|hunter2/, 'no secret is shown');
    }
    t.end();
  },
);

t.test('CON-3 · ADP-1 · CFG-5 · INT-1 · a whole configuration is read as its golden says', (t) => {
  const folder = 'spec/golden/config/ok';
  for (const name of readdirSync(folder).filter((one) => one.endsWith('.yaml'))) {
    const { settings, diagnostics } = read(readFileSync(`${folder}/${name}`, 'utf8'));
    t.same(
      diagnostics.map(({ code }) => code),
      ['variable-unset', 'webhook-key-twice'],
      `${name}: but for what nothing sets, which stays as it is written, and what is set twice`,
    );
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
    'mcp_servers: {bad: {command: a, url: "http://x"}, good: {command: b}}\nplatforms: {webhook: {secret: long-enough-secret, routes: {r: {}}}}',
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

t.test(
  'CFG-7 · CFG-4 · the schema completes targets, filter operators and words for trust, and forbids no other',
  (t) => {
    const server = serverEntrySchema.properties.trust.anyOf[0].enum;
    const { deliver, filters } = routeSchema.properties;
    t.same(server, ['full', 'untrusted']);
    t.ok(
      deliver.anyOf[0].enum.includes('slack') && !deliver.anyOf[0].enum.includes('team_chat_a'),
      'by their real names',
    );
    t.match(Object.keys(filters.items.properties), ['field', ...filterOperators, 'all', 'any', 'not']);
    const text =
      'mcp_servers: {s: {command: a, trust: low}}\nplatforms: {webhook: {secret: long-enough-secret, routes: {r: {deliver: slack, filters: [{field: a, equals: [1]}]}}}}';
    t.same(codes(text), ['trust-unknown']);
    t.end();
  },
);

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

t.test('CFG-2 · whatever the text, reading ends in findings and never throws', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'abc:-[]{}&*!|>#\n "\'%@'), maxLength: 60 }), (text) =>
      Array.isArray(read(text).diagnostics),
    ),
    { numRuns: runs(300) },
  );
  t.same(codes('a: &x [1]\nb: [*x,*x]'), ['unknown-key', 'unknown-key']);
  t.end();
});
