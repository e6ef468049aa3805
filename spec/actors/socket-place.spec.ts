import { chmodSync, chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import t, { type Test } from 'tap';
import { placedPaths, placedSocket, socketPlaces } from '../../actors/socket-place.ts';
import { homePaths } from '../../machines/config/profile.ts';
import { runCli, startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';

/** A home too deep for a socket, and a runtime folder of its user's. */
function deep(t: Test) {
  const { path } = makeHome(t);
  const home = `${path}/${'deep/'.repeat(30)}home`;
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const runtime = makeHome(t).path;
  chmodSync(runtime, 0o700);
  const near = homePaths(home).socket;
  t.teardown(() => rmSync(dirname(near), { recursive: true, force: true }));
  return { home, runtime, near, env: { XDG_RUNTIME_DIR: runtime } };
}

/** As another user would make it: open to others, and as root really theirs. */
function squat(socket: string): void {
  mkdirSync(dirname(socket));
  chmodSync(dirname(socket), 0o777);
  if (process.getuid?.() === 0) chownSync(dirname(socket), 54_321, 54_321);
}

t.test('CLI-3 · the socket of a deep home lies aside, and elsewhere where another user was there first', (t) => {
  const { home, runtime, near, env } = deep(t);
  t.equal(placedSocket('/srv/a', 'gateway.sock', env), '/srv/a/gateway.sock');
  t.equal(placedPaths(home, env).socket, near);
  squat(near);
  const aside = placedPaths(home, env).socket;
  t.ok(aside.startsWith(`${runtime}/agent-`), aside);
  chmodSync(runtime, 0o755);
  t.notOk(placedPaths(home, env).socket.startsWith(runtime), 'a runtime folder that others may read is not used');
  chmodSync(runtime, 0o700);
  mkdirSync(dirname(aside), { mode: 0o700 });
  writeFileSync(aside, '');
  rmSync(dirname(near), { recursive: true });
  t.equal(placedPaths(home, env).socket, aside, 'the socket that exists is found once the name is free again');
  const long = `${runtime}/${'r'.repeat(60)}`;
  mkdirSync(long, { mode: 0o700 });
  t.notOk(socketPlaces(home, 'agent.sock', { XDG_RUNTIME_DIR: long }).some((path) => path.startsWith(long)));
  t.end();
});

t.test('CLI-3 · another user who holds the name of a deep home’s socket folder stops no start', async (t) => {
  const { home, near, env } = deep(t);
  squat(near);
  writeFileSync(
    `${home}/config.yaml`,
    'agent: {runner: echo}\ninspector: {enabled: false}\nplatforms: {webhook: {enabled: true, extra: {host: 127.0.0.1, port: 0, routes: {ci: {secret: of-the-route-itself}}}}}\n',
    { mode: 0o600 },
  );
  const daemon = await startDaemon(t, home, env);
  const status = await runCli(['gateway', 'status', '--json'], home, env);
  t.equal(status.code, 0, status.stderr);
  t.match(JSON.parse(status.stdout), { pid: Number });
  t.match(await runCli(['gateway'], home, env), { code: 0, stdout: 'The gateway is running already.\n' });
  const completed = await runCli(['complete', '--', 'webhook', 'show', '--home', home, ''], makeHome(t).path, env);
  t.match(completed, { code: 0, stdout: /^ci\t/ });
  await daemon.kill('SIGTERM');
  for (const words of [['gateway'], ['gateway', 'stop']]) {
    const { code, stderr } = await runCli(words, home, env);
    t.equal(code, 0, `${words.join(' ')}: ${stderr}`);
  }
});
