/** A daemon that starts on a full or read-only disk: refuses for now, and heals by itself when the disk does. */

import { spawn, spawnSync } from 'node:child_process';
import { rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { type Daemon, followDaemon, main, runCli, startDaemon } from '../support/daemon.ts';
import { makeHome, type TestHome } from '../support/home.ts';
import { postSigned } from '../support/sign.ts';
import { inAllOnly } from '../support/tier.ts';
import { secret, webhookConfig } from '../support/webhook-home.ts';

const canMount = spawnSync('unshare', ['-m', 'true']).status === 0;
const mounting: { readonly skip?: string } = canMount ? {} : { skip: 'needs `unshare -m`: run as root on Linux' };

/** Starts the daemon in a mount namespace of its own, after a script that lays out the disk of `$AGENT_HOME`. */
function startOn(
  t: Test,
  script: string,
  env: { readonly AGENT_HOME: string; readonly FOLDER: string },
): Promise<Daemon> {
  const words = ['-m', 'bash', '-ec', `${script}; exec "$NODE" "$MAIN" gateway run`];
  return followDaemon(
    t,
    spawn('unshare', words, {
      env: { ...process.env, AGENT_LOG_LEVEL: 'debug', NODE: process.execPath, MAIN: main, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );
}

function configured(t: Test): TestHome {
  const home = makeHome(t);
  home.write('config.yaml', webhookConfig('        gh: {prompt: "run {n}"}\n'));
  return home;
}

async function healsOnceMended(t: Test, daemon: Daemon, mend: () => void): Promise<void> {
  const post = (id: string) => postSigned(`${daemon.url}/webhooks/gh`, { n: id }, { secret, id });
  const refused = await post('early');
  t.same([refused.status, refused.body], [503, { error: 'Service unavailable' }]);
  t.ok(Number(refused.headers.get('retry-after')) > 0);
  t.equal((await fetch(`${daemon.url}/health`)).status, 200);
  t.ok(daemon.log.some(({ message }) => /journal unavailable; .*cannot be written: E(NOSPC|ROFS)/.test(message)));

  mend();

  await daemon.line(({ message }) => message.startsWith('journal writes again'));
  t.equal((await post('early')).status, 202, 'the sender sends again, as it was asked to');
  t.match(await daemon.line(({ message }) => message === 'response: run early'), { level: 'info' });
}

t.test('DUR-3 · a gateway that starts on a full disk answers 503 and heals when there is room', mounting, async (t) => {
  const home = configured(t);
  const disk = `${home.path}/disk`;
  const script =
    'mkdir "$FOLDER/disk"; mount -t tmpfs -o size=8m none "$FOLDER/disk"; mkdir -m 700 "$AGENT_HOME"; cp "$FOLDER/config.yaml" "$AGENT_HOME"; dd if=/dev/zero of="$FOLDER/disk/ballast" 2>/dev/null || true';
  const daemon = await startOn(t, script, { AGENT_HOME: `${disk}/home`, FOLDER: home.path });

  await healsOnceMended(t, daemon, () => rmSync(`/proc/${daemon.child.pid}/root${disk}/ballast`));
});

t.test('DUR-3 · CLI-1 · a start in the background on a full disk names the disk at once', mounting, (t) => {
  const home = configured(t);
  const script =
    'mkdir "$FOLDER/disk"; mount -t tmpfs -o size=1m none "$FOLDER/disk"; mkdir -m 700 "$AGENT_HOME" "$AGENT_HOME/logs"; dd if=/dev/zero of="$FOLDER/disk/ballast" 2>/dev/null || true; "$NODE" "$MAIN" gateway';
  const env = { AGENT_HOME: `${home.path}/disk/home`, FOLDER: home.path, NODE: process.execPath, MAIN: main };
  const { status, stderr } = spawnSync('unshare', ['-m', 'bash', '-ec', script], {
    env: { ...process.env, ...env },
    encoding: 'utf8',
  });
  const [, pid] = /^agent: the gateway runs \(pid (\d+)\), but its disk takes no file \(ENOSPC.*/.exec(stderr) ?? [];
  if (pid !== undefined) process.kill(Number(pid), 'SIGKILL');
  t.equal(status, 1);
  t.ok(pid, stderr);
  t.end();
});

const readOnly = 'mount --bind "$FOLDER" "$FOLDER"; mount -o remount,bind,ro "$FOLDER"';

t.test(
  'DUR-3 · HOME-2 · a gateway that starts on a read-only disk after a crash heals likewise',
  mounting,
  async (t) => {
    const home = configured(t);
    const first = await startDaemon(t, home.path);
    await first.kill('SIGKILL');
    const daemon = await startOn(t, readOnly, { AGENT_HOME: home.path, FOLDER: home.path });

    const within = (script: string) =>
      spawnSync('nsenter', ['-t', String(daemon.child.pid), '-m', 'sh', '-ec', script], {
        env: { ...process.env, FOLDER: home.path },
      });

    await healsOnceMended(t, daemon, () => within('mount -o remount,bind,rw "$FOLDER"'));

    await daemon.line(({ message }) => message.startsWith('control: listens'));
    const second = startDaemon(t, home.path);
    await t.rejects(second, /already runs this home/, 'the lock is held from then on');

    t.equal(within(readOnly).status, 0);
    daemon.kill('SIGTERM');
    await daemon.line(({ message }) => message === 'stopped');
    t.equal(await daemon.exited, 0, 'it stops although neither its socket nor its lock can be removed');
  },
);

t.test(
  'DUR-3 · HOME-2 · who never had the home leaves the socket of who has taken it',
  { skip: mounting.skip ?? inAllOnly },
  async (t) => {
    const home = configured(t);
    for (const takesNotice of [false, true]) {
      const first = await startOn(t, readOnly, { AGENT_HOME: home.path, FOLDER: home.path });
      const second = await startDaemon(t, home.path);
      const before = statSync(`${home.path}/gateway.sock`).ino;

      spawnSync('nsenter', ['-t', String(first.child.pid), '-m', 'mount', '-o', 'remount,bind,rw', home.path]);
      if (!takesNotice) first.kill('SIGTERM');

      await first.exited;
      t.equal(statSync(`${home.path}/gateway.sock`, { throwIfNoEntry: false })?.ino, before);
      const asked = await runCli(['gateway', 'status', '--json'], home.path);
      t.match(JSON.parse(asked.stdout), { pid: second.child.pid }, 'and it answers there');
      await second.kill('SIGTERM');
    }
  },
);

t.test('DUR-3 · a lock file that names no process is waited out, and ends no gateway', mounting, async (t) => {
  const home = configured(t);
  const daemon = await startOn(t, readOnly, { AGENT_HOME: home.path, FOLDER: home.path });
  const lock = `${home.path}/gateway.lock`;
  writeFileSync(lock, '');
  const stillMade = setInterval(() => utimesSync(lock, new Date(), new Date()), 200);
  t.teardown(() => clearInterval(stillMade));

  spawnSync('nsenter', ['-t', String(daemon.child.pid), '-m', 'mount', '-o', 'remount,bind,rw', home.path]);
  const again = await Promise.race([
    daemon.line(({ message }) => message.includes('another start of this home is under way')),
    daemon.exited,
  ]);
  clearInterval(stillMade);
  t.match(again, { level: String }, 'it says so and goes on');

  await daemon.line(({ message }) => message.startsWith('control: listens'));
  t.equal((await postSigned(`${daemon.url}/webhooks/gh`, { n: 1 }, { secret, id: 'a' })).status, 202);
});
