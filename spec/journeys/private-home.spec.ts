import { spawn } from 'node:child_process';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { type CliResult, followDaemon, main } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { postSigned } from '../support/sign.ts';

/** Starts the command line as a user whose umask keeps nobody out. */
function spawnWide(words: readonly string[], home: string) {
  return spawn('sh', ['-c', 'umask 0; exec "$0" "$@"', process.execPath, main, ...words], {
    env: { ...process.env, NO_COLOR: '1', AGENT_HOME: home },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

async function run(words: readonly string[], home: string): Promise<CliResult> {
  const child = spawnWide(words, home);
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, stdout, stderr };
}

/** Every path of a home with its mode, as `ls` shows it. */
function modesOf(home: string): Record<string, string> {
  const modes: Record<string, string> = { '.': (lstatSync(home).mode & 0o777).toString(8) };
  for (const name of readdirSync(home, { recursive: true, encoding: 'utf8' })) {
    const stats = lstatSync(join(home, name), { throwIfNoEntry: false });
    // What a process writes beside a file, to put it in its place, may have gone meanwhile.
    if (stats === undefined) continue;
    modes[name] = `${stats.isDirectory() ? 'd' : stats.isSocket() ? 's' : '-'}${(stats.mode & 0o777).toString(8)}`;
  }
  return modes;
}

t.test('HOME-3 · CLI-3 · whatever the daemon and the commands make is private, whatever the umask', async (t) => {
  const base = makeHome(t);
  const home = join(base.path, 'a', 'home');
  const setup = await run(
    ['gateway', 'setup', '--enable', '--host', '127.0.0.1', '--port', '0', '--secret', 'a-secret-of-setup'],
    home,
  );
  t.equal(setup.code, 0, setup.stderr);
  const daemon = await followDaemon(t, spawnWide(['gateway', 'run'], home));
  const created = JSON.parse((await run(['webhook', 'subscribe', 'hook', '--json'], home)).stdout) as {
    url: string;
    secret: string;
  };
  t.equal((await postSigned(created.url, {}, { secret: created.secret })).status, 202);
  await daemon.line(({ message }) => message === 'run delivered');

  const modes = modesOf(home);
  for (const [name, mode] of Object.entries(modes)) {
    // What Node writes into its private folder has the modes that it gives.
    if (name.startsWith('cache/compiled/')) continue;
    const expected = name === '.' ? '700' : { d: 'd700', s: 's600', '-': '-600' }[mode[0] ?? '-'];
    t.equal(mode, expected, name);
  }
  const made = ['config.yaml', '.env', 'gateway.sock', 'gateway.lock', 'state', 'webhook_subscriptions.json'];
  t.same(
    made.filter((name) => !(name in modes)),
    [],
    'HOME-2: each in its place',
  );
  t.match(readFileSync(join(home, '.env'), 'utf8'), 'WEBHOOK_SECRET=');
  t.notMatch(readFileSync(join(home, 'config.yaml'), 'utf8'), 'a-secret-of-setup');
  t.equal(await daemon.kill('SIGTERM'), 0);
});

t.test('HOME-3 · CLI-1 · the log of a daemon in the background is private too', async (t) => {
  const base = makeHome(t);
  const home = join(base.path, 'home');
  t.teardown(() => run(['gateway', 'stop'], home));
  await run(
    ['gateway', 'setup', '--enable', '--host', '127.0.0.1', '--port', '0', '--secret', 'a-secret-of-setup'],
    home,
  );
  const started = await run(['gateway'], home);
  t.equal(started.code, 0, started.stderr);
  const modes = modesOf(home);
  t.match(modes, { logs: 'd700', 'logs/gateway.log': '-600' });
});

t.test('HOME-3 · SUB-1 · a subscription may be the first that a home holds, and needs no gateway', async (t) => {
  const home = join(makeHome(t).path, 'a', 'home');
  const subscribed = await run(['webhook', 'subscribe', 'hook', '--prompt', 'p'], home);
  t.equal(subscribed.code, 0, subscribed.stderr);
  t.match(subscribed.stdout, /[0-9a-f]{64}/);
  t.match(modesOf(home), { '.': '700', 'webhook_subscriptions.json': '-600' });
});
