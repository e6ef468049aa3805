import t from 'tap';
import type { Diagnostic } from '../../../machines/config/diagnostic.ts';
import type { FailureGroup } from '../../../machines/dispatch/failure-groups.ts';
import type { ApprovalRow } from '../../../runtime/control/contract/approvals.ts';
import type { TargetRow } from '../../../runtime/control/contract/deliveries.ts';
import type { ServerRow } from '../../../runtime/control/contract/servers.ts';
import { type FaultSources, faultsOf, type NeedSources, needsOf } from '../../../runtime/control/overview-needs.ts';
import type { FailingRoute } from '../../../runtime/control/route-standing.ts';

const nothing: NeedSources = {
  approvals: [],
  failures: [],
  routes: [],
  servers: [],
  targets: [],
  held: [],
  faults: [],
};
const since = '2026-11-25T03:00:00.000Z';

const approval = (id: string, expires_at: string, more: Partial<NeedSources['approvals'][number]> = {}) => ({
  ...({
    id,
    kind: 'tool',
    server: 'git-hub',
    profile: 'default',
    tool: 'mcp__git_hub__merge',
  } satisfies Partial<ApprovalRow>),
  message: '',
  asked_at: since,
  expires_at,
  ...more,
});
const server = (name: string, state: string, error?: string): ServerRow => ({
  name,
  profile: 'default',
  state,
  transport: 'stdio',
  era: null,
  tools: 0,
  since,
  ...(error === undefined ? {} : { error }),
});
const group: FailureGroup = {
  key: 'slack/failed/no',
  target: 'slack',
  title: 'Slack: no',
  advice: 'Do it.',
  helps: 'afterFix',
  count: 20,
  firstMs: Date.parse(since),
  lastMs: Date.parse(since),
  routes: ['deploys'],
};
const failing = (route: string, more: Partial<FailingRoute> = {}): FailingRoute => ({
  route,
  profile: 'default',
  share: 'the last 5 events',
  example: { status: 'failed', reason: 'slack: it is archived' },
  ...more,
});
const target = {
  name: 'telegram',
  target: 'telegram',
  title: 'Telegram',
  profile: 'work',
  state: 'failed',
  since,
} satisfies TargetRow;

t.test(
  'INS-4 · what needs a person is listed by kind: approvals by deadline, then failures, servers, targets, logins, configuration, held runs, routes',
  (t) => {
    const needs = needsOf({
      approvals: [approval('a2', '2026-11-25T04:00:00.000Z'), approval('a1', '2026-11-25T03:30:00.000Z')],
      failures: [group],
      routes: [failing('zeta'), failing('ci')],
      servers: [
        server('linear', 'needsLogin'),
        server('zeta', 'failed'),
        server('beta', 'parked'),
        server('ok', 'connected'),
      ],
      targets: [target, { ...target, state: 'connected', name: 'slack' }],
      held: [{ name: 'nightly', profile: 'work' }],
      faults: ['config.yaml:1:1: no'],
    });

    t.same(
      needs.map(({ id }) => id),
      [
        'approval/a1',
        'approval/a2',
        'failures/slack/failed/no',
        'server/default/beta',
        'server/default/zeta',
        'target/work/telegram',
        'login/default/linear',
        'config',
        'held/work/nightly',
        'route/default/ci',
        'route/default/zeta',
      ],
    );
    t.same(needsOf(nothing), []);
    t.end();
  },
);

t.test('INS-4 · each need has a title, a reason, a time and the one place that resolves it', (t) => {
  const [run, call, form, question] = needsOf({
    ...nothing,
    approvals: [
      approval('a1', '1', { route: 'github', event: 'push', run: 'r1' }),
      approval('a2', '2'),
      approval('a3', '3', { kind: 'form' }),
      approval('a4', '4', { kind: 'form', tool: 'clarify' }),
    ],
  });
  t.match(run, {
    title: 'Approve git-hub.merge',
    reason: 'github · push · the run is paused',
    until: '1',
    action: { label: 'Review', place: 'approvals/a1' },
  });
  t.match(call, { reason: 'a call waits for your answer' });
  t.match(form, { title: 'Fill in the form of git-hub' });
  t.match(question, { title: 'Answer the question of a run' });

  const [failures, unsure] = needsOf({ ...nothing, failures: [group, { ...group, helps: 'unsure', count: 1 }] });
  t.match(failures, {
    title: '20 deliveries failed: Slack: no',
    reason: 'deploys · Do it.',
    since,
    action: { label: 'Show', place: 'failures/slack%2Ffailed%2Fno' },
  });
  t.match(unsure, { kind: 'unconfirmed', title: '1 delivery unconfirmed: Slack: no' });

  const failure = { why: 'The server needs a login' };
  const servers = ['failed', 'needsLogin'].map((state) => ({ ...server('b', state), failure }));
  const [broken, locked] = needsOf({ ...nothing, servers });
  t.match(broken, { reason: failure.why, action: { label: 'Open log', place: 'servers/default/b' } });
  t.match(locked, { reason: 'Its tools cannot be called until you log in.', action: { label: 'Log in' } });
  const [config] = needsOf({ ...nothing, faults: ['one', 'two'] });
  t.match(config, { title: '2 configuration errors', reason: 'one' });
  const [held] = needsOf({ ...nothing, held: 'all' });
  t.match(held, { title: 'No run begins', reason: /^agent\.concurrency is 0:/, action: { place: 'config' } });
  t.end();
});

t.test('INS-4 · PRF-1 · an error of the configuration leads to its file and its line', (t) => {
  for (const [fault, place] of [
    ['config.yaml:3:1: no [x]', 'config?file=default&line=3'],
    ['profiles/work/config.yaml:2:5: no [x]', 'config?file=work&line=2'],
    ['profiles/work/config.yaml: no [x]', 'config?file=work'],
    ['the journal is not open', 'config'],
  ] as const)
    t.equal(needsOf({ ...nothing, faults: [fault] })[0]?.action.place, place, fault);
  t.end();
});

t.test('INS-4 · a failing route is a need with its commonest reason, and leads to its failed events', (t) => {
  const [deliveries, unsure, run, ofWork, ...more] = needsOf({
    ...nothing,
    failures: [
      { ...group, routes: ['alerts', 'ci'] },
      { ...group, key: 'slack/unsure/cut off', routes: ['news'] },
    ],
    routes: [
      failing('ci'),
      failing('stripe', { profile: 'work', share: '2 of 3 events in ten minutes', example: { status: 'failed' } }),
      // An untrusted sender could make it a need.
      failing('open', { example: { status: 'refused' } }),
      // Its deliveries are already a group of failures.
      failing('alerts', { example: { status: 'failed', reason: 'slack: no' } }),
      failing('news', { example: { status: 'unknown', reason: 'slack: cut off' } }),
    ],
  });
  t.match([deliveries, unsure], [{ id: 'failures/slack/failed/no' }, { id: 'failures/slack/unsure/cut off' }]);
  t.same(more, []);
  t.match(run, {
    title: 'Route ci is failing',
    reason: 'the last 5 events failed · Slack: it is archived',
    action: { label: 'Show events', place: 'events?q=route%3Aci+status%3Afailed&range=24h' },
  });
  const [ofOne] = needsOf({ ...nothing, routes: [{ ...failing('ci'), isOfSeveral: true }] });
  t.match(ofOne, { action: { place: 'events?q=route%3Aci+status%3Afailed+profile%3Adefault&range=24h' } });
  t.match(ofWork, {
    title: 'Route stripe of profile work is failing',
    reason: '2 of 3 events in ten minutes failed',
    action: { place: 'events?q=route%3Astripe+status%3Afailed+profile%3Awork&range=24h' },
  });
  t.end();
});

const finding = (code: string, scope: Diagnostic['scope'], file = 'config.yaml'): Diagnostic => ({
  ...{ code, scope, file, line: 0, column: 0, message: 'no', severity: 'error', sourceLine: '' },
});
const ofWork = finding('of-work', { kind: 'platform', platform: 'slack' }, 'profiles/work/config.yaml');
const ofRoute = finding('of-route', { kind: 'webhook' });
const ofServer = finding('of-server', { kind: 'server', server: 'files' });
const statusOf = (fault?: string): FaultSources['status'] => ({
  config: fault === undefined ? { in_force: true } : { in_force: false, fault },
  webhook: { enabled: true, url: null },
  journal: 'ready',
});
const profiles = [undefined, 'default', 'work'];

t.test('INS-4 · PRF-2 · an error of a platform is listed for its profile and for all, one of a route for each', (t) => {
  const findings = [ofWork, ofRoute, ofServer, { ...ofRoute, code: 'odd', severity: 'warning' as const }];
  const [work, route] = ['profiles/work/config.yaml: no [of-work]', 'config.yaml: no [of-route]'];
  t.same(
    profiles.map((profile) => faultsOf({ findings, status: statusOf() }, profile)),
    [[work, route], [route], [work, route]],
  );
  t.end();
});

t.test(
  'INS-4 · a fault that the gateway reports is listed unless it is an error that was found, of any profile',
  (t) => {
    const status = statusOf('profiles/work/config.yaml: no [of-work], and 1 more');
    t.same(faultsOf({ findings: [ofWork], status }, 'default'), []);
    const inUse = { ...status, webhook: { enabled: true, url: null, fault: 'webhook listener: the port is in use' } };
    t.same(faultsOf({ findings: [ofWork, ofServer], status: { ...inUse, journal: 'the disk is full' } }, 'default'), [
      'webhook listener: the port is in use',
      'the disk is full',
    ]);
    t.end();
  },
);

t.test('INS-4 · the routes of a group of failures are read once, not for each route that fails', (t) => {
  const names = Array.from({ length: 200 }, (_, index) => `r${index}`);
  let reads = 0;
  const routes = new Proxy(names, {
    get(list, key) {
      reads += 1;
      return Reflect.get(list, key);
    },
  });
  const needs = needsOf({ ...nothing, failures: [{ ...group, routes }], routes: names.map((name) => failing(name)) });
  t.equal(needs.length, 201);
  t.ok(reads < 5 * names.length, `${reads} reads of ${names.length} routes`);
  t.end();
});
