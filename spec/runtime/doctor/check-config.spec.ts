import t from 'tap';
import { loadHome } from '../../../actors/config/load-config.ts';
import { createDocumentsInForce } from '../../../runtime/config/documents-in-force.ts';
import { checkConfig, checkCron } from '../../../runtime/doctor/check-config.ts';
import { answering, codes, examined, troubles } from '../../support/examined.ts';

const strong = 'k3Yq9-vT7mZ1pX4w';

t.test(
  'CFG-2 · CFG-7 · INT-1 · CLI-2 · findings, broken subscriptions and unset variables are reported at their places',
  (t) => {
    const one = examined(t, {
      'config.yaml': `platforms: {webhook: {enabled: true, secret: ${strong}, routes: {r: {prompt: p, delivr: log}}}}\nmcp_servers:\n  s: {command: x, env: {A: "\${UNSET_A}", B: "\${SET_B}"}}\n  off: {command: x, enabled: false, env: {A: "\${UNSET_C}"}}\n`,
      '.env': 'SET_B=1\n',
      'webhook_subscriptions.json': '{"Bad Name": {"secret": "long-enough-secret"}}',
    });
    const found = troubles(checkConfig(one));
    t.same(codes(found), ['wrong config-finding', 'warning config-finding', 'warning subscription-finding']);
    t.match(found, [
      { place: /^config\.yaml:1:\d+$/, what: /delivr.*\[unknown-key\]/, cure: '`agent config check` shows the line' },
      { place: /^config\.yaml:3:\d+$/, what: /refers to "UNSET_A" in env\.A, which is not set; set UNSET_A in \.env/ },
      {
        place: 'webhook_subscriptions.json: Bad Name',
        cure: /^correct it in that file, so .*secret stays, or agent webhook/,
      },
    ]);
    t.same(codes(checkConfig(examined(t))), []);
    t.end();
  },
);

t.test('CFG-2 · CLI-2 · where no line is shown, as of .env, none is promised', (t) => {
  const found = troubles(checkConfig(examined(t, { '.env': 'A=1\nfoo bar\n' })));
  t.match(found, [{ place: '.env:2:1', cure: '`agent config check` shows whether it is corrected' }]);
  t.end();
});

t.test('CFG-2 · CLI-2 · what a route or a subscription names and is not there is a warning', (t) => {
  const one = examined(t, {
    'config.yaml': `platforms: {webhook: {enabled: true, secret: ${strong}, routes: {r: {script: gone.sh}}}}\n`,
    'webhook_subscriptions.json': JSON.stringify({ hook: { secret: strong, cron_job: 'gone' } }),
  });
  const found = troubles(checkConfig(one));
  t.same(codes(found), ['warning config-finding', 'warning subscription-finding']);
  t.match(found, [
    { place: /^config\.yaml:1:\d+$/, what: /runs the script "gone\.sh".*\[script-missing\]/ },
    { place: 'webhook_subscriptions.json: hook', what: /fires the cron job "gone".*\[cron-job-missing\]/ },
  ]);
  t.end();
});

t.test('PRF-2 · CLI-2 · the cure of a subscription is a command that reaches it', (t) => {
  const one = examined(t, {
    'config.yaml': `gateway: {multiplex_profiles: true}\nplatforms: {webhook: {enabled: true, secret: ${strong}}}\n`,
    'webhook_subscriptions.json': JSON.stringify({ 'Bad Name': { secret: strong } }),
    'profiles/work/config.yaml': '',
    'profiles/work/webhook_subscriptions.json': JSON.stringify({ hook: { secret: strong, cron_job: 'gone' } }),
  });
  t.match(troubles(checkConfig(one)), [
    { cure: /^correct it in that file, so .*, or agent webhook remove 'Bad Name'$/ },
    { cure: /; agent webhook remove hook --profile work takes it away$/ },
  ]);
  t.end();
});

t.test('SUB-2 · CLI-2 · subscriptions in a database are left unread, and that is no fault of the home', (t) => {
  const one = examined(t, {
    'config.yaml': `gateway: {journal: postgres, postgres: {url: "\${DB}"}}\nplatforms: {webhook: {enabled: true, secret: ${strong}, routes: {r: {cron_job: shared}}}}\n`,
    '.env': 'DB=postgres://me@127.0.0.1:1/db\n',
    'cron/jobs.json': '[]',
  });
  const { choose } = createDocumentsInForce({ home: one.paths.home, log: { log: () => {}, warnOnce: () => {} } });
  const home = loadHome({ home: one.paths.home, env: {}, documents: choose });
  t.same(codes(checkConfig({ ...one, home, diagnostics: home.diagnostics })), ['note not-asked']);
  t.end();
});

t.test('CFG-2 · CLI-2 · a gateway that has refused the configuration on disk is shown with the reason', (t) => {
  const one = examined(t);
  const fault = 'config.yaml:1:1: not YAML [yaml-syntax]';
  const gateway = answering({ status: { config: { in_force: false, fault } } });
  t.match(troubles(checkConfig({ ...one, gateway })), [
    { level: 'wrong', code: 'config-refused', what: /last good one stays in force: config\.yaml:1:1/ },
  ]);
  const inForce = answering({ status: { config: { in_force: true } } });
  t.same(codes(checkConfig({ ...one, gateway: inForce })), []);
  t.end();
});

t.test('CFG-2 · CLI-2 · a setting that waits for a start is shown, and the start is as the earlier one', (t) => {
  const gateway = answering({ status: { restart_for: ['gateway.node'] } });
  t.match(troubles(checkConfig({ ...examined(t), gateway })), [
    { code: 'restart-needed', place: 'gateway.node', cure: /^agent gateway restart, or restart its service$/ },
  ]);
  t.end();
});

t.test('CFG-2 · CLI-2 · the findings are those of the running gateway, whose environment may set more', (t) => {
  const one = examined(t, { 'config.yaml': 'platforms: {webhook: {enabled: true, routes: {r: {prompt: p}}}}\n' });
  t.match(troubles(checkConfig(one)), [{ what: /route-secret-missing/ }]);
  t.same(codes(checkConfig({ ...one, diagnostics: [] })), []);
  t.end();
});

t.test('DIS-3 · CLI-2 · runs that are held are a warning', (t) => {
  const held = checkConfig(examined(t, { 'config.yaml': 'agent: {concurrency: 0}\n' }));
  t.match(troubles(held), [
    { level: 'warning', code: 'runs-held', what: /^agent\.concurrency is 0: .* their runs wait$/ },
  ]);
  const one = examined(t, {
    'config.yaml': 'platforms: {webhook: {enabled: true}}\n',
    'webhook_subscriptions.json': JSON.stringify({ hook: { secret: strong, held: true }, other: { secret: strong } }),
  });
  t.match(troubles(checkConfig(one)), [
    { code: 'runs-held', place: 'webhook_subscriptions.json: hook', what: /^is held: .* their runs wait$/ },
  ]);
  t.end();
});

const daily = { schedule: '0 9 * * *', prompt: 'p' };

t.test('CRN-1 · CLI-2 · a job that is never fired is reported, with the command that takes it away', (t) => {
  const jobs = [
    { ...daily, id: 'good' },
    { ...daily, id: 'paused', paused: true, deliver: 'slack' },
    { ...daily, id: 'a b', name: 'late', schedule: '61 9 * * *' },
    { ...daily, id: 'off', enabled: 'false' },
    { ...daily, id: 'chat', deliver: 'slack' },
    { ...daily, id: 'never', schedule: '0 0 31 2 *' },
    7,
  ];
  const one = examined(t, {
    'config.yaml': 'gateway: {multiplex_profiles: true}\n',
    'cron/jobs.json': JSON.stringify({ jobs }),
    'profiles/work/config.yaml': '',
    'profiles/work/cron/jobs.json': JSON.stringify([{ ...daily, id: 'w', timezone: 'Mars/Olympus' }]),
  });
  const found = troubles(checkCron(one));
  t.match(found, [
    { place: 'cron/jobs.json', what: /^record 7 of jobs\.json is no object/ },
    { place: 'cron/jobs.json: late', what: /61/, cure: /, or agent cron remove 'a b'$/ },
    { place: 'cron/jobs.json: off', what: /enabled is "false"/ },
    { place: 'cron/jobs.json: chat', what: /delivers to "slack", which is not enabled/ },
    { place: 'cron/jobs.json: never' },
    { place: 'profiles/work/cron/jobs.json: w', what: /Mars/, cure: /agent cron remove w --profile work$/ },
  ]);
  t.equal(found.length, 6);
  t.ok(found.every(({ level, code }) => level === 'warning' && code === 'cron-finding'));
  t.end();
});

t.test('CRN-1 · CLI-2 · a file that holds no list of jobs is reported, and one that is absent is not', (t) => {
  t.match(troubles(checkCron(examined(t, { 'cron/jobs.json': '{' }))), [
    { code: 'cron-finding', place: 'cron/jobs.json', what: /^is no list of jobs/ },
  ]);
  t.same(codes(checkCron(examined(t))), []);
  t.end();
});
