import { chmodSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { loadHome } from '../../../actors/config/load-config.ts';
import { printDiagnostic } from '../../../machines/config/diagnostic.ts';
import { makeHome } from '../../support/home.ts';

const folder = 'spec/golden/config/home';

t.test('CFG-2 · CFG-3 · what routes name and is not there is printed as its golden says, and stops nothing', (t) => {
  const home = makeHome(t, {
    'config.yaml': readFileSync(`${folder}/loose-ends.yaml`, 'utf8'),
    'cron/jobs.json': JSON.stringify({ jobs: [{ id: 'a1', name: 'weekly', schedule: '@weekly', prompt: 'p' }] }),
    'profiles/work/config.yaml':
      'platforms: {slack: {enabled: true, token: xoxb-1}, github_comment: {command: /opt/gone/gh}}\n',
    'scripts/there.sh': 'true',
    'there.txt': 'ada',
    'bin/gh': '',
  });
  symlinkSync('../config.yaml', `${home.path}/scripts/out.sh`);
  symlinkSync('/etc/passwd', `${home.path}/elsewhere.txt`);
  chmodSync(`${home.path}/bin/gh`, 0o755);
  const loaded = loadHome({ home: home.path, env: { PATH: `${home.path}/bin` } });
  t.equal(
    `${loaded.diagnostics.map(printDiagnostic).join('\n\n')}\n`,
    readFileSync(`${folder}/loose-ends.out`, 'utf8'),
  );
  t.same(loaded.webhookBlocked, []);
  t.end();
});

t.test('CFG-7 · a target’s program is looked up as it would be run: by the PATH of its profile, from its home', (t) => {
  const comments = (entry: object) =>
    JSON.stringify({
      platforms: {
        github_comment: entry,
        webhook: {
          secret: 'a-secret-of-the-home',
          routes: { r: { deliver: 'github_comment', deliver_extra: { repo: 'a/b', pr_number: 7 } } },
        },
      },
    });
  const home = makeHome(t, { 'config.yaml': comments({}), 'bin/gh': '', 'tools/hub': '' });
  const codes = () =>
    loadHome({ home: home.path, env: { PATH: `${home.path}/bin` } }).diagnostics.map(({ code }) => code);
  t.same(codes(), ['target-program-missing'], 'what is there may not be executed');
  chmodSync(`${home.path}/bin/gh`, 0o755);
  t.same(codes(), []);
  writeFileSync(`${home.path}/.env`, 'PATH=/nowhere\n');
  t.same(codes(), ['target-program-missing']);
  writeFileSync(`${home.path}/config.yaml`, comments({ command: 'tools/hub' }));
  t.same(codes(), ['target-program-missing']);
  chmodSync(`${home.path}/tools/hub`, 0o755);
  t.same(codes(), []);
  t.end();
});

t.test('CFG-2 · jobs that cannot be read are not said to be missing', (t) => {
  const home = makeHome(t, {
    'config.yaml': 'platforms: {webhook: {secret: a-secret-of-the-home, routes: {r: {cron_job: nightly}}}}\n',
    'cron/jobs.json': 'no json',
  });
  t.same(loadHome({ home: home.path, env: {} }).diagnostics, []);
  t.end();
});

t.test('FIL-2 · FIL-3 · a list outside of the home of its profile is one error, however it is written', (t) => {
  const home = makeHome(t, {
    'vip.txt': '',
    'half.json': '["a",',
    'profiles/work/own.txt': '',
    'profiles/work/config.yaml': '',
  });
  symlinkSync('/etc/passwd', `${home.path}/leaves.txt`);
  const rows: readonly (readonly [file: string, profile: string, found: readonly string[]])[] = [
    ['vip.txt', 'default', []],
    [`${home.path}/vip.txt`, 'default', []],
    ['own.txt', 'work', []],
    [`${home.path}/profiles/work/own.txt`, 'work', []],
    ['../x', 'default', ['error filter-list-outside']],
    ['/etc/passwd', 'default', ['error filter-list-outside']],
    ['../../vip.txt', 'work', ['error filter-list-outside']],
    [`${home.path}/vip.txt`, 'work', ['error filter-list-outside']],
    ['gone.txt', 'default', ['warning list-missing']],
    ['half.json', 'default', ['warning list-broken']],
    ['leaves.txt', 'default', ['warning list-missing']],
  ];
  for (const [file, profile, expected] of rows) {
    const route = { profile, secret: 'a-secret-of-the-route', filters: [{ field: 'a', in_file: file }] };
    const config = { gateway: { multiplex_profiles: true }, platforms: { webhook: { routes: { r: route } } } };
    writeFileSync(`${home.path}/config.yaml`, JSON.stringify(config));
    const { diagnostics } = loadHome({ home: home.path, env: {} });
    t.same(
      diagnostics.map(({ severity, code }) => `${severity} ${code}`),
      expected,
      `${profile}: ${file}`,
    );
  }
  t.end();
});
