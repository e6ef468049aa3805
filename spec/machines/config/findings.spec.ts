import t from 'tap';
import { atOnce } from '../../../machines/base/pieces.ts';
import type { DiagnosticScope } from '../../../machines/config/diagnostic.ts';
import type { ConfigPath } from '../../../machines/config/document.ts';
import { creatingFindings } from '../../../machines/config/findings.ts';

const found = (path: ConfigPath) => ({ path, message: 'is odd', code: 'odd' });
const home: DiagnosticScope = { kind: 'home' };
const webhook: DiagnosticScope = { kind: 'webhook' };
const section = (name: string): DiagnosticScope => ({ kind: 'section', section: name });
const server = (name: string): DiagnosticScope => ({ kind: 'server', server: name });

t.test('CFG-3 · an error stops the part that it lies in, and one of the whole file stops every part', (t) => {
  const rows: readonly (readonly [path: ConfigPath, scope: DiagnosticScope])[] = [
    [['mcp_servers', 'a', 'url'], server('a')],
    [['mcp_servers', 0], server('0')],
    [['mcp_servers'], home],
    [['platfroms', 'slack'], home],
    [['log', 'events'], section('log')],
    [['strange'], section('strange')],
    [['gateway', 'journal'], home],
    [['gateway', 'front'], section('gateway')],
    [['inspecter'], section('inspector')],
    [['platforms', 'webhook', 'extra', 'port'], webhook],
    [['platforms', 'discord'], { kind: 'platform', platform: 'discord' }],
    [['platforms'], home],
    [['agent', 'runner'], home],
    [['workspace'], home],
    [[], home],
  ];
  for (const [path, scope] of rows) {
    const findings = atOnce(creatingFindings('config.yaml', '{}'));
    findings.report(found(path));
    t.match(findings.all(), [{ scope, severity: 'error' }], path.join('.'));
    t.match(findings.problemOf(scope), /^config\.yaml:1: is odd$/);
    t.equal(findings.problemOf(server('b')) === undefined, scope.kind !== 'home');
  }
  const findings = atOnce(creatingFindings('config.yaml', '{}'));
  findings.report(found([]), 'warning');
  t.equal(findings.problemOf(home), undefined, 'a warning stops nothing');
  t.end();
});

t.test('CFG-2 · what the schema has refused is not read, and what lies beside it is', (t) => {
  const text = 'platforms: {webhook: {port: x, host: ::1, extra: {routes: {r: {deliver: 5, prompt: p}}}}}';
  const findings = atOnce(creatingFindings('config.yaml', text));
  const adapter = ['platforms', 'webhook'];
  const route = [...adapter, 'extra', 'routes', 'r'];

  t.same(findings.readable({ port: 'x', host: '::1' }, ...adapter), { host: '::1' });
  t.same([...findings.unreadAt(adapter)].sort(), ['extra', 'port']);
  t.same([...findings.unreadAt(route)], ['deliver']);
  t.same([...findings.unreadAt([...adapter, 'extra', 'routes', 's'])], []);
  t.equal(findings.isRefused([...route, 'deliver']), true);
  t.equal(findings.isRefused(route), false);
  findings.report(found(['agent']));
  t.equal(findings.isRefused(['agent']), false, 'only the schema refuses');
  t.end();
});

t.test('CFG-2 · LIF-13 · a line is masked by the keys above it, and a header whatever its name', (t) => {
  const block = '  a:\n    url: x\n    headers:\n      X-Team: [abc]\n';
  const text = `mcp_servers:\n${block}  b: { headers: { X-Team: abc }, odd: 1 }\n`;
  const shown = atOnce(creatingFindings('config.yaml', text))
    .all()
    .map(({ line, sourceLine }) => `${line}:${sourceLine}`);
  t.same(shown, ['5:      X-Team: [***]', '6:  b: { headers: { X-Team: *** }, odd: 1 }']);
  t.end();
});

t.test('CFG-2 · findings come in the order of the file, each with its line, secrets masked', (t) => {
  const findings = atOnce(creatingFindings('config.yaml', 'agent: {}\nplatforms:\n  webhook: {secret: abcdefgh}\n'));
  findings.report(found(['platforms', 'webhook', 'secret']));
  findings.report(found(['agent']));
  findings.reportOutside('WEBHOOK_PORT', { message: 'is no number', code: 'variable-malformed' }, 'warning');

  t.match(findings.all(), [
    { file: 'WEBHOOK_PORT', line: 0, scope: webhook, severity: 'warning', sourceLine: '' },
    { line: 1, sourceLine: 'agent: {}' },
    { line: 3, column: 13, sourceLine: '  webhook: {secret: ***}' },
  ]);
  const { length } = findings.all();
  t.match(findings.placed(found(['agent']), 'warning'), { line: 1, scope: home, severity: 'warning' });
  t.equal(findings.all().length, length, 'what is only placed is not added');
  t.end();
});
