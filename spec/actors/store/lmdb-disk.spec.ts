import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const child = fileURLToPath(new URL('../../support/journal-child.js', import.meta.url));
const canMount = spawnSync('unshare', ['-m', 'true']).status === 0;
const mounting = canMount ? {} : { skip: 'needs `unshare -m`: run as root on Linux' };

/** Runs a shell script in a mount namespace of its own; `$NODE` runs the child. Returns the lines it printed. */
function run(script: string, folder: string, wrapper: readonly string[] = ['unshare', '-m']): unknown[] {
  const [command = '', ...args] = [...wrapper, 'bash', '-ec', script];
  // The runner's own hooks catch SIGXFSZ, which Node ignores by itself; the child must be as the daemon is.
  const env = { ...process.env, NODE: `env -u NODE_OPTIONS ${process.execPath} ${child}`, FOLDER: folder };
  const { stdout, stderr, status, signal } = spawnSync(command, args, { env, encoding: 'utf8', timeout: 60_000 });
  if (status !== 0) throw new Error(`exit ${status ?? signal}: ${stderr}`);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line): unknown => JSON.parse(line));
}

const tmpfs = (size: string) => `mount -t tmpfs -o size=${size} none "$FOLDER"; `;

t.test('DUR-1 · DUR-3 · acknowledges nothing on a full disk and goes on when there is room', mounting, async (t) => {
  const folder = t.testdir();
  const [refused, full, healed, kept] = run(`${tmpfs('4m')} $NODE fill "$FOLDER/state"`, folder);

  const fault = { code: 'journal-full', message: `${folder}/state: the journal has no room; free space on this disk` };
  t.match(refused, { refused: { kind: 'unavailable', fault } });
  t.match(full, { probe: { code: 'journal-full' }, again: { kind: 'unavailable', fault }, reads: true });
  t.match(healed, { probe: 'well', after: { kind: 'committed' }, reads: true });
  t.same(kept, { kept: true });
});

t.test('DUR-1 · acknowledges nothing beyond a limit on file sizes', async (t) => {
  const script = 'ulimit -f 2000; $NODE fill "$FOLDER/state"';
  const [refused, full] = run(script, t.testdir(), ['env']);

  t.match(refused, { refused: { kind: 'unavailable', fault: { code: 'journal-full' } } });
  t.match(full, { probe: { code: 'journal-full' }, again: { kind: 'unavailable' }, reads: true });
});

t.test('DUR-1 · opens within a limit on address space, where LMDB would end the process', async (t) => {
  const script = 'ulimit -v 20000000; $NODE open "$FOLDER/state"; $NODE open "$FOLDER/state"';
  t.same(run(script, t.testdir(), ['env']), ['opened', 'opened']);
});

t.test('DUR-1 · refuses to begin a journal on a full disk and leaves nothing there', mounting, async (t) => {
  const script = `${tmpfs('64k')} mkdir "$FOLDER/state"; dd if=/dev/zero of="$FOLDER/ballast" 2>/dev/null || true
    $NODE open "$FOLDER/state"; find "$FOLDER/state" -type f -printf '"%f"\\n'`;

  t.match(run(script, t.testdir()), [{ code: 'journal-full' }]);
});

t.test('DUR-1 · opens a store whose lock file is gone only if there is room for it', mounting, async (t) => {
  const script = `${tmpfs('2m')} $NODE open "$FOLDER/state"; rm "$FOLDER/state/lock.mdb"
    dd if=/dev/zero of="$FOLDER/ballast" 2>/dev/null || true
    $NODE open "$FOLDER/state"; rm "$FOLDER/ballast"; $NODE open "$FOLDER/state"`;

  t.match(run(script, t.testdir()), ['opened', { code: 'journal-full' }, 'opened']);
});

t.test(
  'DUR-1 · DUR-3 · a store of an earlier layout on a full disk is upgraded once there is room',
  mounting,
  async (t) => {
    const script = `${tmpfs('4m')} $NODE older "$FOLDER/state"; dd if=/dev/zero of="$FOLDER/ballast" 2>/dev/null || true
    $NODE open "$FOLDER/state"; rm "$FOLDER/ballast"; $NODE open "$FOLDER/state"`;

    t.match(run(script, t.testdir()), [{ code: 'journal-full' }, 'opened']);
  },
);

t.test('DUR-1 · says that a folder is read-only', mounting, async (t) => {
  const readOnly = 'mount --bind "$FOLDER" "$FOLDER"; mount -o remount,bind,ro "$FOLDER";';
  const fault = {
    code: 'journal-read-only',
    message: /state: the journal may not write here; its disk is read-only; mount it/,
  };

  const fresh = t.testdir({ fresh: {}, used: {} });
  t.match(run(`${readOnly} $NODE open "$FOLDER/state"`, `${fresh}/fresh`), [fault]);
  const used = `$NODE open "$FOLDER/state"; ${readOnly} $NODE open "$FOLDER/state"`;
  t.match(run(used, `${fresh}/used`), ['opened', fault]);
  t.same(readdirSync(`${fresh}/used/state`).sort(), ['closed', 'data.mdb', 'lock.mdb']);
});

t.test(
  'DUR-2 · DUR-3 · is read where its disk became read-only, and goes on when it can be written',
  mounting,
  async (t) => {
    const fault = { code: 'journal-read-only' };
    t.match(run('$NODE readOnly "$FOLDER/state"', t.testdir()), [
      { refused: { kind: 'unavailable', fault }, probe: fault, reads: true },
      { probe: 'well', after: { kind: 'committed' }, reads: true },
    ]);
  },
);
