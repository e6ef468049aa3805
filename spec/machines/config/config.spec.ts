import { readdirSync, readFileSync } from 'node:fs';
import t from 'tap';
import { filterChecker } from '../../../actors/config/load-config.ts';
import { defaultProfile } from '../../../machines/base/names.ts';
import { printDiagnostic } from '../../../machines/config/diagnostic.ts';
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
const read = (text: string) =>
  readConfig({
    file: 'config.yaml',
    text,
    profile: defaultProfile,
    profiles: new Set(['default', 'work']),
    scope,
    checkFilters,
    isFolder: (path) => path.startsWith('/there'),
  });
const codes = (text: string): string[] => read(text).diagnostics.map(({ code }) => code);

t.test(
  'CFG-2 · CFG-7 · CFG-1 · CFG-6 · TLS-1 · RTE-1 · SIG-1 · PRF-1 · SIG-5 · SIG-6 · SEC-6 · FIL-2 · DLV-7 · each finding is printed as its golden says',
  (t) => {
    const folder = 'spec/golden/config/err';
    const names = readdirSync(folder).filter((name) => name.endsWith('.yaml'));
    t.ok(names.length > 10);
    for (const name of names) {
      const text = readFileSync(`${folder}/${name}`, 'utf8');
      const printed = `${read(text).diagnostics.map(printDiagnostic).join('\n\n')}\n`;
      const golden = `${folder}/${name.replace('.yaml', '.out')}`;
      t.equal(printed, readFileSync(golden, 'utf8'), golden);
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
    const golden = `${folder}/${name.replace('.yaml', '.out')}`;
    t.equal(`${JSON.stringify(settings, null, 2)}\n`, readFileSync(golden, 'utf8'), golden);
  }
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
