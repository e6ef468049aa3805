import { chmodSync, existsSync, readFileSync, statSync } from 'node:fs';
import t from 'tap';
import { areas } from '../../runtime/doctor/examine.ts';
import { findingCodes } from '../../runtime/doctor/finding.ts';
import { askCli, startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';

const config = `inspector: {enabled: false}
platforms: {webhook: {enabled: true, extra: {host: 127.0.0.1, port: 0, secret: "\${WEBHOOK_SECRET}", routes: {r: {prompt: p}}}}}
`;
const env = 'WEBHOOK_SECRET="k3Yq9-vT7mZ1pX4w-doctored"\n';
interface Row {
  readonly level: string;
  readonly area: string;
  readonly code?: string;
  readonly what: string;
  readonly fixed?: boolean;
}

t.test('CLI-2 · doctor finds nothing wrong with a home as setup makes it, with and without a gateway', async (t) => {
  const home = makeHome(t, { 'config.yaml': config, '.env': env });
  const look = async (): Promise<void> => {
    const { code, stdout, stderr } = await askCli(['doctor', '--json'], home.path);
    t.equal(code, 0, stderr);
    const rows = JSON.parse(stdout) as readonly Row[];
    t.same(
      rows.filter(({ level }) => level === 'wrong' || level === 'warning'),
      [],
    );
    t.same(new Set(rows.map(({ area }) => area)), areas, 'every area is reported');
  };
  await look();
  await startDaemon(t, home.path);
  await look();
  const text = await askCli(['doctor'], home.path);
  t.match(text.stdout, /ok +lock +the gateway runs \(pid \d+\)[\s\S]*Nothing is wrong\./);
  for (const line of text.stdout.split('\n')) {
    // A path cannot be broken, so only what stands beside one may be longer.
    t.ok(line.length <= 80 || /\/\S{20,}/.test(line), line);
  }
});

t.test('CLI-2 · LIF-1 · doctor looks for programs in the PATH of the gateway that runs, not in its own', async (t) => {
  const home = makeHome(t, {
    'config.yaml': `${config}agent: {runner: command, command: [my-agent]}\n`,
    '.env': env,
    'scripts/my-agent': '#!/bin/sh\n',
  });
  chmodSync(`${home.path}/scripts/my-agent`, 0o755);
  const agentOf = async () => {
    const rows = JSON.parse((await askCli(['doctor', '--offline', '--json'], home.path)).stdout) as readonly Row[];
    return rows.find(({ area }) => area === 'agent');
  };
  t.match(await agentOf(), { code: 'command-missing', what: /not in the gateway's PATH/ });
  await startDaemon(t, home.path, { PATH: `${home.path}/scripts:${process.env.PATH}` });
  t.match(await agentOf(), { level: 'good' });
});

t.test('CLI-2 · CFG-2 · what cannot be read is not reported as a fact', async (t) => {
  const home = makeHome(t, { 'config.yaml': config, '.env': env });
  await startDaemon(t, home.path, { OURS: 'postgres://me@127.0.0.1:1/db' });
  let whats: readonly string[] = [];
  const facts = async (text: string) => {
    home.write('config.yaml', text);
    const rows = JSON.parse((await askCli(['doctor', '--offline', '--json'], home.path)).stdout) as readonly Row[];
    const notes = rows.filter(({ code }) => code === 'not-checked');
    whats = notes.map(({ what }) => what);
    return notes.map(({ area }) => area);
  };
  const all = ['secrets', 'port', 'store', 'agent', 'servers', 'targets'];
  t.same(await facts('platforms: ['), all);
  t.match(whats[0], /cannot be read/);
  t.same(await facts(`${config}gateway: {postgres: {url: "\${OURS}"}}\n`), all);
  t.match(whats[0], /refers to "OURS", which is not set/, 'here, but the gateway has it');
  t.same(await facts(`${config}agent: {runner: modle}\n`), all);
  t.same(await facts(`${config}log: {events: some}\n`), []);
});

t.test('CLI-2 · HOME-2 · doctor --fix fixes what is safe to fix, and says what is left', async (t) => {
  const home = makeHome(t, {
    'config.yaml': `${config}mcp_servers: {gone: {command: /nowhere/mcp}}\n`,
    '.env': env,
    'gateway.lock': '{"pid": 999999999, "startedAt": "1"}',
  });
  chmodSync(`${home.path}/.env`, 0o644);
  const found = await askCli(['doctor'], home.path);
  t.equal(found.code, 1);
  t.match(found.stdout, /warn +home +\.env: can be reached by other users \(mode 0644\)\n +→ {2}chmod 600/);
  t.match(found.stdout, /WRONG +servers +gone: /);
  t.match(found.stdout, /1 thing is wrong, 2 warnings\. `agent doctor --fix` fixes 2 of them\./);
  t.equal(statSync(`${home.path}/.env`).mode & 0o777, 0o644, 'looking changes nothing');

  const mended = await askCli(['doctor', '--fix', '--json'], home.path);
  t.equal(mended.code, 1, 'the server is still gone');
  const rows = JSON.parse(mended.stdout) as readonly Row[];
  t.same(
    rows.filter(({ fixed }) => fixed === true).map(({ code }) => code),
    ['path-open', 'lock-stale'],
  );
  t.equal(statSync(`${home.path}/.env`).mode & 0o777, 0o600);
  t.notOk(existsSync(`${home.path}/gateway.lock`));
  t.notMatch(mended.stdout + found.stdout, /k3Yq9/);

  const offline = await askCli(['doctor', '--offline'], home.path);
  t.equal(offline.code, 0, offline.stdout);
  t.match(offline.stdout, /note +servers +gone: was not asked/);
});

t.test('CLI-2 · a home that is not there is one finding', async (t) => {
  const { path } = makeHome(t);
  const { code, stdout } = await askCli(['doctor', '--home', '/nowhere/at/all'], path);
  t.equal(code, 1);
  t.match(stdout, /^WRONG +home +\/nowhere\/at\/all: there is no such folder/);
  t.match(stdout, /→ +agent --home \/nowhere\/at\/all gateway setup makes it/);
  const asJson = await askCli(['doctor', '--home', '/nowhere/at/all', '--json'], path);
  t.match(JSON.parse(asJson.stdout), [{ code: 'home-missing', level: 'wrong' }]);
});

t.test('CLI-2 · every code of the doctor is in docs/doctor.md, and every one there exists', (t) => {
  const documented = [...readFileSync('docs/doctor.md', 'utf8').matchAll(/^\| `([a-z-]+)`/gm)].map(
    ([, code]) => code ?? '',
  );
  t.same(documented, [...findingCodes]);
  t.end();
});
