import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { hiddenFromUnit, systemdUnit, type UnitInput } from '../../cli/systemd-unit.ts';
import { askCli, runCli } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';

const input: UnitInput = {
  scope: 'system',
  node: process.execPath,
  program: '/opt/agent gateway/100%/main.js',
  home: '/var/lib/agent-gateway',
  path: '/usr/bin',
  socketInHome: true,
  drainSeconds: 30,
};

t.test('PKG-1 · CON-2 · a container is given as long to stop as a unit', (t) => {
  const seconds = /^TimeoutStopSec=(\d+)$/m.exec(systemdUnit(input))?.[1] ?? '';
  const [compose = '', page = ''] = ['deploy/compose.yaml', 'deploy.md'].map((name) =>
    readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8'),
  );
  const given = [
    ...compose.matchAll(/stop_grace_period: (\d+)s/g),
    ...page.matchAll(/(?:docker stop -t|terminationGracePeriodSeconds:) (\d+)/g),
  ].map(([, stated]) => stated);
  t.strictSame(given, Array(4).fill(seconds));
  t.end();
});

t.test('SCA-2 · PKG-1 · the balancer keeps the body of a request that it sends again when a gateway died', (t) => {
  const file = readFileSync(new URL('../../../docs/deploy/Caddyfile', import.meta.url), 'utf8');
  t.match(file, /\n\t\trequest_buffers \d+MiB\n/);
  t.match(file, '\n\t\tlb_try_duration 5s\n');
  t.end();
});

t.test('CLI-2 · CON-2 · the unit drains on stop, reloads on HUP, and quotes what systemd would read', (t) => {
  const unit = systemdUnit(input);
  t.match(unit, `ExecStart=${process.execPath} "/opt/agent gateway/100%%/main.js" gateway run\n`);
  for (const line of [
    'WorkingDirectory=/var/lib/agent-gateway',
    'KillMode=mixed',
    'TimeoutStopSec=65',
    'UMask=0077',
    'NoNewPrivileges=yes',
    'ProtectSystem=strict',
    'PrivateTmp=yes',
    'StateDirectoryMode=0700',
    'WantedBy=multi-user.target',
  ]) {
    t.match(unit, `\n${line}\n`);
  }
  t.notMatch(unit, 'MemoryDenyWriteExecute', 'the engine compiles code while it runs');
  t.notMatch(systemdUnit({ ...input, socketInHome: false }), 'PrivateTmp', 'the socket lies in /tmp');
  t.match(systemdUnit({ ...input, scope: 'user', home: '/srv/$x y' }), 'Environment="AGENT_HOME=/srv/$x y"');
  t.match(systemdUnit({ ...input, scope: 'user', home: '/srv/5% x' }), '\nWorkingDirectory=-/srv/5%% x\n');
  t.match(systemdUnit({ ...input, program: '/opt/$x/main.js' }), ' /opt/$$x/main.js gateway run');
  t.match(
    systemdUnit({ ...input, path: '/opt/100%/my bin:/usr/bin' }),
    '\nEnvironment="PATH=/opt/100%%/my bin:/usr/bin"\n',
  );
  t.match(systemdUnit({ ...input, scope: 'user' }), /# {3}agent gateway stop .*\n# {3}systemctl --user daemon-reload/);
  t.notMatch(systemdUnit({ ...input, path: '' }), 'PATH=');
  t.match(systemdUnit({ ...input, home: '/srv/agent' }), /\nReadWritePaths=\/srv\/agent\n/);
  const own = systemdUnit({ ...input, home: '/srv/my agent' });
  t.match(own, "\n#   install -d -m 0700 -o agent-gateway '/srv/my agent'\n");
  t.match(own, "agent --home '/srv/my agent' gateway status\n");
  t.notMatch(unit, 'install -d');
  t.end();
});

t.test('DUR-1 · PKG-1 · a crash is followed by a start, however many starts came before it', (t) => {
  for (const scope of ['user', 'system'] as const) {
    const unit = systemdUnit({ ...input, scope });
    t.match(unit, '\nStartLimitIntervalSec=0\n');
    t.match(unit, '\nRestart=on-failure\n');
    t.notMatch(unit, 'StartLimitBurst');
  }
  t.end();
});

t.test(
  'PKG-1 · a program that the kernel ends because memory ran out does not stop the gateway that started it',
  (t) => {
    for (const scope of ['user', 'system'] as const)
      t.match(systemdUnit({ ...input, scope }), '\nOOMPolicy=continue\n');
    t.end();
  },
);

t.test('CLI-2 · PKG-1 · a program in a home folder is found, since a system unit cannot start it', (t) => {
  const installed = '/usr/local/lib/node_modules/agent-gateway/dist/cli/main.js';
  t.equal(hiddenFromUnit(['/usr/bin/node', installed]), undefined);
  for (const folder of ['/home/ada/.nvm', '/root', '/run/user/1000'])
    t.equal(hiddenFromUnit([`${folder}/bin/node`, installed]), `${folder}/bin/node`);
  t.end();
});

t.test('CLI-2 · systemd finds nothing wrong with what the command prints', { skip: missing() }, async (t) => {
  const home = makeHome(t, { 'config.yaml': 'gateway: {drain_timeout_seconds: 75}\n' });
  for (const flags of [[], ['--user'], ['--system']]) {
    const { code, stdout, stderr } = await runCli(['gateway', 'service', ...flags], home.path);
    t.equal(code, 0, stderr);
    t.match(stdout, `AGENT_HOME=${home.path}`);
    t.match(stdout, `\nEnvironment=PATH=${process.env.PATH}\n`);
    t.match(stdout, /TimeoutStopSec=110/);
    const file = `${home.path}/agent-gateway.service`;
    writeFileSync(file, stdout);
    const scope = flags.includes('--system') ? [] : ['--user'];
    // Where no manager runs, the units of the machine are asked for all the same; only what is said of ours counts.
    const verdict = spawnSync('systemd-analyze', ['verify', '--man=no', ...scope, file], {
      encoding: 'utf8',
      env: { ...process.env, XDG_RUNTIME_DIR: home.path },
    });
    t.same(
      verdict.stderr.split('\n').filter((line) => line.includes('agent-gateway')),
      [],
      flags.join(' '),
    );
  }
  t.match(await runCli(['gateway', 'service', '--user', '--system'], home.path), {
    code: 2,
    stderr: /--user and --system exclude each other/,
  });
});

t.test('CLI-2 · PKG-1 · a home that a system unit hides is named, as AGENT_HOME of a person is', async (t) => {
  const hidden = /the home \/home\/ada\/\.agent is in a home folder, .*--home \/var\/lib\/agent-gateway/;
  t.match(await askCli(['gateway', 'service', '--system'], '/home/ada/.agent'), { code: 0, stderr: hidden });
  t.notMatch((await askCli(['gateway', 'service', '--user'], '/home/ada/.agent')).stderr, 'hides');
});

t.test('CLI-2 · a unit is printed where its configuration cannot be read, and says so', async (t) => {
  const home = makeHome(t, { 'config.yaml/of-another': '' });
  const { code, stdout, stderr } = await runCli(['gateway', 'service', '--system'], home.path);
  t.equal(code, 0);
  t.match(stdout, /TimeoutStopSec=65/);
  t.match(stderr, /config\.yaml cannot be read \(EISDIR.*\), so the unit allows for a drain of 30 s/);
});

t.test('PKG-1 · the launchd agent restarts a gateway that failed, drains on its end, and finds programs', async (t) => {
  const home = makeHome(t, { 'config.yaml': 'gateway: {drain_timeout_seconds: 75}\n' });
  const { code, stdout } = await runCli(['gateway', 'service', '--launchd'], home.path, { PATH: '/opt/<&>/bin' });
  t.equal(code, 0);
  t.match(stdout, /agent gateway stop .*\n +launchctl bootstrap /);
  const read = spawnSync('python3', ['-c', reader], { input: stdout, encoding: 'utf8' });
  if (read.error !== undefined) return t.comment('not installed: python3');
  t.match(JSON.parse(read.stdout), {
    Label: 'agent-gateway',
    ProgramArguments: [process.execPath, /main\.js$/, 'gateway', 'run'],
    EnvironmentVariables: { AGENT_HOME: home.path, PATH: '/opt/<&>/bin' },
    RunAtLoad: true,
    KeepAlive: { SuccessfulExit: false },
    ExitTimeOut: 110,
    Umask: 0o077,
    StandardErrorPath: `${home.path}/logs/gateway.log`,
  });
});

/** Reads a property list by another program than ours. */
const reader = 'import plistlib, json, sys; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))';

function missing(): string | false {
  return spawnSync('systemd-analyze', ['--version']).error === undefined ? false : 'not installed: systemd-analyze';
}
