import { type SpawnOptions, spawn } from 'node:child_process';
import { chmodSync, existsSync } from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import t from 'tap';
import {
  type CommandRequest,
  type CommandResult,
  endOf,
  findCommand,
  runCommand,
  scrubbedEnv,
  spawnWatched,
  watched,
  watchedLeader,
} from '../../actors/process-group.ts';
import { processIdLimit } from '../../actors/process-numbers.ts';
import { makeHome } from '../support/home.ts';
import { lentTime } from '../support/lent-time.ts';
import { asOther, hasEnded, numbersIn, until } from '../support/processes.ts';
import { inAllOnly } from '../support/tier.ts';
import { deferred } from '../support/turns.ts';

function sh(script: string, more: Partial<CommandRequest> = {}): Promise<CommandResult> {
  return runCommand({
    argv: ['sh', '-c', script, 'sh'],
    cwd: '.',
    env: scrubbedEnv(),
    stdin: '',
    timeoutMs: 600_000,
    maxOutputBytes: 1_000,
    ...more,
  });
}

t.test('SCR-2 · a command that ignores SIGTERM ends with its children', async (t) => {
  const home = makeHome(t);
  const time = lentTime(t);
  const stopping = new AbortController();
  const stubborn = sh(
    "trap '' TERM; (trap '' TERM; echo $$ >>pids; exec sleep 600) & echo $! >>pids; while :; do sleep 1; done",
    { cwd: home.path, signal: stopping.signal },
  );
  await until(() => numbersIn(`${home.path}/pids`).length === 2);

  stopping.abort();
  time.pass(2_000);

  t.match(await stubborn, { kind: 'aborted' });
  await until(() => numbersIn(`${home.path}/pids`).every(hasEnded));
});

t.test('DUR-1 · a command does not begin before what must come first has', async (t) => {
  const home = makeHome(t);
  const first = deferred<void>();
  const asked = deferred<void>();
  const before = () => {
    asked.resolve();
    return first.promise;
  };
  const reading = sh('[ -e released ] && cat', { cwd: home.path, stdin: 'prompt\n2', before });
  await asked.promise;
  // Time enough for a command that did not wait.
  for (let n = 0; n < 20; n += 1) await sh('true');

  home.write('released', '');
  first.resolve();

  t.match(await reading, { kind: 'exited', code: 0, stdout: 'prompt\n2' }, 'and has its input whole');
  lentTime(t);
  const stopping = new AbortController();
  const never = deferred<void>();
  const stopped = {
    before: () => Promise.resolve(stopping.abort()).then(() => never.promise),
    signal: stopping.signal,
  };
  t.match(await sh('echo $$ >>begun', { cwd: home.path, ...stopped }), { kind: 'aborted' });
  never.resolve();
  t.same(numbersIn(`${home.path}/begun`), [], 'one that is stopped before never begins');
});

t.test('SCR-2 · the command itself is asked to end before it is killed', async (t) => {
  const home = makeHome(t);
  // However long it takes to say goodbye, nothing kills it meanwhile.
  lentTime(t);
  const stopping = new AbortController();
  const polite = sh("trap 'echo 1 >>bye; exit' TERM; sleep 600 & echo 1 >>ready; wait", {
    cwd: home.path,
    signal: stopping.signal,
  });
  await until(() => numbersIn(`${home.path}/ready`).length === 1);

  stopping.abort();

  t.match(await polite, { kind: 'aborted' });
  t.same(numbersIn(`${home.path}/bye`), [1]);
});

const noSetsid = process.platform === 'linux' ? false : 'there is no setsid command';
t.test(
  'SCR-2 · LIF-9 · a child that left the group neither holds the answer up nor outlives it',
  { skip: noSetsid },
  async (t) => {
    const home = makeHome(t);
    const leave = (more: string): string => `setsid sh -c 'echo $$ >>pids; exec sleep 600' ${more} &`;
    const script = `${leave('')} ${leave('>/dev/null 2>&1 </dev/null')} until [ $(wc -l <pids) = 2 ]; do :; done; echo out`;
    t.teardown(() => {
      for (const pid of numbersIn(`${home.path}/pids`)) if (!hasEnded(pid)) process.kill(pid, 'SIGKILL');
    });

    t.match(await sh(`touch pids; ${script}`, { cwd: home.path }), { kind: 'exited', code: 0, stdout: 'out\n' });

    t.equal(numbersIn(`${home.path}/pids`).length, 2);
    await until(() => numbersIn(`${home.path}/pids`).every(hasEnded));
  },
);

t.test('SCR-2 · LIF-9 · the end of one command touches nothing of another', { skip: noSetsid }, async (t) => {
  const home = makeHome(t);
  const stopping = new AbortController();
  const other = sh('echo $$ >>pids; sleep 600', { cwd: home.path, signal: stopping.signal });
  await until(() => numbersIn(`${home.path}/pids`).length === 1);

  t.match(await sh('setsid sleep 600 & exit 3'), { kind: 'exited', code: 3 });

  t.same(numbersIn(`${home.path}/pids`).filter(hasEnded), []);
  stopping.abort();
  t.match(await other, { kind: 'aborted' });
});

t.test('SCR-2 · LIF-9 · many commands that end at once leave nothing behind', { skip: noSetsid }, async (t) => {
  const home = makeHome(t);
  const count = 20;
  t.teardown(() => {
    for (const pid of numbersIn(`${home.path}/pids`)) if (!hasEnded(pid)) process.kill(pid, 'SIGKILL');
  });
  const leave = "setsid sh -c 'echo $$ >>pids; exec sleep 600' >/dev/null 2>&1 </dev/null &";

  // Each waits for all, so that their ends fall together.
  const script = `${leave} until [ $(wc -l <pids) = ${count} ]; do sleep 0.1; done`;
  await sh('touch pids', { cwd: home.path });
  await Promise.all(Array.from({ length: count }, () => sh(script, { cwd: home.path })));

  t.equal(numbersIn(`${home.path}/pids`).length, count);
  await until(() => numbersIn(`${home.path}/pids`).every(hasEnded));
});

t.test(
  'SCR-2 · commands that end while one search is under way share the next',
  { skip: process.platform !== 'linux' },
  async (t) => {
    const { readdir } = files;
    t.teardown(() => {
      files.readdir = readdir;
      syncBuiltinESMExports();
    });
    const first = deferred<void>();
    // However long the commands take to end, they wait for the search.
    lentTime(t);
    let searches = 0;
    files.readdir = (async (path: string) => {
      searches += 1;
      await first.promise;
      return readdir(path);
    }) as typeof readdir;
    syncBuiltinESMExports();
    const children = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'ProcessWrap').length;
    const before = children();
    const results = Array.from({ length: 20 }, () => sh('exit 0'));
    await until(() => children() === before);
    first.resolve();
    for (const result of await Promise.all(results)) t.match(result, { kind: 'exited', code: 0 });
    t.equal(searches, 2, 'the first that ended had one, and all others one together');
  },
);

t.test(
  'LIF-9 · SCR-2 · a search that hangs delays the end of a group only for a time',
  { skip: noSetsid },
  async (t) => {
    const home = makeHome(t);
    const time = lentTime(t);
    const { readdir } = files;
    const hanging = deferred<void>();
    const place = { cwd: home.path, env: scrubbedEnv() };
    files.readdir = (async (path: string) => {
      await hanging.promise;
      return readdir(path);
    }) as typeof readdir;
    syncBuiltinESMExports();
    t.teardown(() => {
      hanging.resolve();
      files.readdir = readdir;
      syncBuiltinESMExports();
    });
    const { child, sweep } = spawnWatched('/bin/true', [], place);
    t.teardown(() => process.kill(-(child.pid ?? 0), 'SIGKILL'));
    const isSwept = sweep().then(() => true);
    const left = "(trap '' TERM; exec sleep 600) & echo $! >>pids";
    const result = sh(left, { ...place, timeoutMs: 2 ** 31 });

    await until(() => {
      time.pass(2_000);
      return numbersIn(`${home.path}/pids`).length === 1 && numbersIn(`${home.path}/pids`).every(hasEnded);
    });

    t.match(await result, { kind: 'exited', code: 0 });
    t.ok(await isSwept);
  },
);

t.test('SCR-2 · LIF-9 · the end of a command reads no process that was there before', { skip: noSetsid }, async (t) => {
  const { readFile } = files;
  t.teardown(() => {
    files.readFile = readFile;
    syncBuiltinESMExports();
  });
  const read = new Set<number>();
  files.readFile = ((path: string, ...more: []) => {
    read.add(Number(/^\/proc\/(\d+)\/environ$/.exec(path)?.[1]));
    return readFile(path, ...more);
  }) as typeof readFile;
  syncBuiltinESMExports();
  // Near the greatest process id every process could be the command's; the ids are used up until they begin again.
  const limit = await processIdLimit();
  for (let last = limit; last > limit - 4_000; ) {
    const burnt = await sh('echo $$; i=0; while [ $i -lt 500 ]; do (:); i=$((i + 1)); done');
    last = burnt.kind === 'exited' ? Number(burnt.stdout) : 0;
  }
  const older = Array.from({ length: 20 }, () => spawn('sleep', ['600'], { stdio: 'ignore' }));
  t.teardown(() => {
    for (const one of older) one.kill('SIGKILL');
  });
  const pids = older.map(({ pid = 0 }) => pid);
  // The first command has no count of processes from before it; ids begin again at the bottom once in many thousands.
  for (let own = 0; own < Math.max(...pids); ) {
    await sh('true');
    read.clear();
    const ended = await sh('setsid sleep 600 & echo $$');
    own = ended.kind === 'exited' ? Number(ended.stdout) : 0;
  }

  t.ok(read.size > 1, 'those that may be its own are read');
  t.same(
    pids.filter((pid) => read.has(pid)),
    [],
  );
});

t.test('SCR-2 · a flood on either stream is bounded', async (t) => {
  t.match(await sh('yes'), { kind: 'flooded' });
  const loud = await sh('head -c 5000000 /dev/zero >&2; echo end >&2; exit 1');
  t.match(loud, { kind: 'exited', code: 1, stderr: /end\n$/ });
  t.ok(loud.kind === 'exited' && loud.stderr.length <= 16_384);
  t.match(await sh('head -c 1000 /dev/zero'), { kind: 'exited', code: 0 }, 'exactly the cap passes');
  t.match(await sh('head -c 1001 /dev/zero; sleep 600'), { kind: 'flooded' });
});

t.test('SCR-2 · words reach the command untouched by any shell', async (t) => {
  const words = ['$(touch x)', '`id`', ';', '*', "it's", 'a  b', '', '--', '-e', 'ä\n'];
  const result = await runCommand({
    argv: [process.execPath, '-e', 'process.stdout.write(JSON.stringify(process.argv.slice(1)))', '--', ...words],
    cwd: '.',
    env: scrubbedEnv(),
    stdin: '',
    timeoutMs: 600_000,
    maxOutputBytes: 1_000,
  });
  t.same(result.kind === 'exited' ? JSON.parse(result.stdout) : result, words);
});

t.test('LIF-10 · SEC-4 · bash reads no ~/.bashrc for a child, although its pipes are sockets', async (t) => {
  const home = makeHome(t, { '.bashrc': 'echo from bashrc; export LEAKED=secret' });
  const env = scrubbedEnv({ HOME: home.path });
  const script = 'read -r line; echo "$line ${LEAKED-none}"';
  const argv = ['bash', '-c', script];
  t.match(await sh('', { argv, env, stdin: 'in\n' }), { kind: 'exited', code: 0, stdout: 'in none\n' });
});

t.test('LIF-9 · a command sees no descriptor of ours and few variables', async (t) => {
  process.env.SPEC_SECRET = 'x';
  process.env.LC_SPEC = 'y';
  t.teardown(() => {
    delete process.env.SPEC_SECRET;
    delete process.env.LC_SPEC;
  });
  const { SPEC_SECRET, LC_SPEC, GIVEN } = scrubbedEnv({ GIVEN: 'z' });
  t.same([SPEC_SECRET, LC_SPEC, GIVEN], [undefined, 'y', 'z']);
  if (process.platform !== 'linux') return;
  const seen = await sh(
    'for d in /proc/self/fd/*; do readlink $d; done | grep -v -e pipe: -e socket: -e /dev/null; true',
  );
  t.match(seen, { kind: 'exited' });
  t.notMatch(seen.kind === 'exited' ? seen.stdout : '', /socket:|\.mdb/);
});

t.test('SCR-2 · what cannot be started is missing, with its cause, and never rejects', async (t) => {
  t.same(await runWords(['no-such-command']), { kind: 'missing' });
  t.same(await runWords([]), { kind: 'missing' });
  t.same(await runWords(['./package.json']), { kind: 'missing' });
  t.match(await runWords(['echo'], '/no/such/folder'), { kind: 'missing', cause: /not a folder/ });
  t.match(await runWords(['echo', 'a\0b']), { kind: 'missing', cause: /null bytes/ });
  t.same(await sh('exit 0', { signal: AbortSignal.abort() }), { kind: 'aborted', stdout: '', stderr: '' });
});

t.test('SCR-2 · a command that a signal ended has the signal in its code', async (t) => {
  t.match(await sh('kill -KILL $$'), { kind: 'exited', code: 137 });
  t.match(await sh('kill -TERM $$'), { kind: 'exited', code: 143 });
  t.match(await sh('kill -INT 0; exec sleep 600'), { kind: 'exited', code: 130 }, 'the group too');
  t.match(await sh('kill -KILL 0'), { kind: 'exited', code: null });
});

t.test('LIF-9 · no command outlives a daemon that is killed with SIGKILL', async (t) => {
  const home = makeHome(t);
  const pids = `${home.path}/pids`;
  const scripts = [
    'echo $$ >>pids; sleep 600',
    // Ends its own group politely, which must not blind the one who watches.
    "trap '' TERM; kill -TERM 0; echo $$ >>pids; while :; do sleep 1; done",
    'sleep 600 & echo $! >>pids; wait',
    ...(noSetsid === false ? ["setsid sh -c 'echo $$ >>pids; exec sleep 600' & sleep 600"] : []),
  ];
  const daemon = spawn(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { runCommand, scrubbedEnv } from ${JSON.stringify(new URL('../../actors/process-group.js', import.meta.url).href)};
for (const script of process.argv.slice(1)) void runCommand({ argv: ['sh', '-c', script], cwd: '.', env: scrubbedEnv(), stdin: '', timeoutMs: 1e6, maxOutputBytes: 1e6 });`,
      ...scripts,
    ],
    { cwd: home.path, stdio: 'inherit' },
  );
  t.teardown(() => {
    for (const pid of numbersIn(pids)) if (!hasEnded(pid)) process.kill(pid, 'SIGKILL');
  });
  await until(() => numbersIn(pids).length === scripts.length);
  t.same(numbersIn(pids).filter(hasEnded), [], 'all of them run');

  daemon.kill('SIGKILL');

  await until(() => numbersIn(pids).every(hasEnded));
});

t.test(
  'LIF-9 · what left the group is ended, although the daemon is killed between its end and the search for it',
  { skip: noSetsid },
  async (t) => {
    const leave =
      "setsid sh -c 'echo $$ >>pids; exec sleep 600' >/dev/null 2>&1 & until [ -s pids ]; do sleep 0.01; done";
    const modules = new URL('../../actors/', import.meta.url).href;
    const place = "{ cwd: '.', env: scrubbedEnv() }";
    for (const begin of [
      `void runCommand({ argv: ['sh', '-c', script], ...${place}, stdin: '', timeoutMs: 1e6, maxOutputBytes: 1e6 });`,
      `const { child, sweep } = spawnWatched('/bin/sh', ['-c', script], ${place});
       const exited = new Promise((resolve) => child.once('exit', resolve));
       void endGroup({ group: child.pid, exited, sweep, politeMs: 1e6, termMs: 0 });`,
    ]) {
      const home = makeHome(t);
      const code = `import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
const { readFile } = files;
files.readFile = (path, ...more) => String(path).endsWith('/environ') ? process.kill(process.pid, 'SIGKILL') : readFile(path, ...more);
syncBuiltinESMExports();
const { runCommand, scrubbedEnv, spawnWatched } = await import('${modules}process-group.js');
const { endGroup } = await import('${modules}mcp/process-exit.js');
const [, script] = process.argv;
${begin}`;
      const daemon = spawn(process.execPath, ['--input-type=module', '-e', code, leave], {
        ...{ cwd: home.path, stdio: 'inherit' },
      });
      const pids = `${home.path}/pids`;
      t.teardown(() => {
        for (const pid of numbersIn(pids)) if (!hasEnded(pid)) process.kill(pid, 'SIGKILL');
      });
      t.same(await new Promise((resolve) => daemon.once('exit', (_, signal) => resolve(signal))), 'SIGKILL');

      await until(() => numbersIn(pids).length === 1 && numbersIn(pids).every(hasEnded));
    }
  },
);

/** What `/bin/sh` is on one system or another; each where this one has it. */
const shells = (
  [
    ['/bin/sh'],
    ['dash'],
    // It tries for 15 s to start a process before it gives up; the group ends after that.
    ['bash', '--posix'],
    ['busybox', 'sh'],
  ] as const
).map(([name, ...words]) => {
  const file = findCommand(name, process.env.PATH ?? '', '.');
  return { shell: [file ?? name, ...words], missing: file === undefined && `this machine has no ${name}`, name };
});

/** A command under the watcher of a shell, as it is started for a daemon whose pipe is descriptor 3. */
function startWatched(
  shell: readonly string[],
  script: string,
  { limit = '', lines = watched([]), ...more }: SpawnOptions & { limit?: string; lines?: readonly string[] },
) {
  const command = ['-c', lines.join('\n'), 'sh', 'no-mark', '/bin/sh', '-c', script];
  const [program = '', ...words] = ['/bin/sh', '-c', `${limit} exec "$@"`, 'sh', ...shell, ...command];
  const child = spawn(program, words, { ...more, detached: true, stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
  const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve([code, signal])));
  return { child, ended };
}

for (const [index, { shell, missing, name }] of shells.entries()) {
  t.test(
    `LIF-9 · a watcher that can start no process still ends its group: ${shell.join(' ')}`,
    { skip: missing || ('skip' in asOther && asOther.skip) || (name === 'bash' && inAllOnly) },
    async (t) => {
      // One of its own, since the processes of all specs of a user count.
      let uid = 50_000 + 2_000 * index + 2 * (process.pid % 1_000);
      for (const lines of [watched([]), watchedLeader]) {
        uid += 1;
        const { path } = makeHome(t);
        chmodSync(path, 0o777);
        // The shell, its reader and the command are all that this user may run.
        const { child, ended } = startWatched(shell, 'echo began >began; exec sleep 600', {
          ...{ uid, cwd: path, lines, limit: 'ulimit -p 3 2>/dev/null || ulimit -u 3;' },
        });
        await until(() => existsSync(`${path}/began`));

        // What the death of the daemon does.
        child.stdio[3]?.destroy();

        t.same(await ended, [null, 'SIGKILL']);
      }
    },
  );

  t.test(
    `SCR-2 · a signal to the group is the command's, and its code is passed on: ${shell.join(' ')}`,
    { skip: missing },
    async (t) => {
      for (const [script, code] of [
        ['kill -INT 0; exec sleep 600', 130],
        ['kill -TERM 0; exec sleep 600', 143],
        ['kill -KILL $$', 137],
        ['exit 3', 3],
      ] as const) {
        const { child, ended } = startWatched(shell, script, {});
        t.same(await ended, [code, null], script);
        process.kill(-(child.pid ?? 0), 'SIGKILL');
      }
      for (const [script, outcome] of [
        ['kill -INT 0; exec sleep 600', [null, 'SIGINT']],
        ['kill -TERM 0; exec sleep 600', [null, 'SIGTERM']],
        ['exit 3', [3, null]],
      ] as const) {
        const { child, ended } = startWatched(shell, script, { lines: watchedLeader });
        t.same(await ended, outcome, `as its leader: ${script}`);
        t.ok(process.kill(-(child.pid ?? 0), 'SIGKILL'), 'the watcher is still there');
      }
    },
  );
}

t.test(
  'LIF-9 · a process that is started while the watcher searches is found by its next pass',
  { skip: noSetsid },
  async (t) => {
    const { path, write } = makeHome(t);
    // Ends the first search with the start of a process that its list of processes cannot have. The last one may outlive
    // this spec and its files.
    write(
      'bin/grep',
      `#!/bin/sh
"$REAL_GREP" "$@"
if [ -e pids ] || [ ! -e bin/grep ]; then exit; fi
AGENT_PROCESS_MARK=$MARK setsid sh -c 'echo $$ >pids; exec sleep 600' >/dev/null 2>&1 &
until [ -s pids ] || [ ! -e bin/grep ]; do sleep 0.01; done
`,
      0o700,
    );
    const words = ['-c', watched([]).join('\n'), 'sh', path, '/bin/sh', '-c', 'echo began >began; exec sleep 600'];
    const env = scrubbedEnv({
      REAL_GREP: findCommand('grep', process.env.PATH ?? '', '.') ?? '',
      MARK: path,
      PATH: `${path}/bin:${process.env.PATH}`,
    });
    const child = spawn('/bin/sh', words, {
      ...{ cwd: path, env, detached: true, stdio: ['ignore', 'ignore', 'ignore', 'pipe'] },
    });
    t.teardown(() => {
      for (const pid of numbersIn(`${path}/pids`)) if (!hasEnded(pid)) process.kill(pid, 'SIGKILL');
    });
    await until(() => existsSync(`${path}/began`));

    child.stdio[3]?.destroy();

    await until(() => numbersIn(`${path}/pids`).length === 1 && numbersIn(`${path}/pids`).every(hasEnded));
  },
);

t.test('OBS-1 · the end of a text never begins within a word', (t) => {
  t.equal(endOf('  short \n', 10), 'short');
  t.equal(endOf('key sk-abcdefghijklmnop broke', 15), '…broke');
  t.equal(endOf('sk-abcdefghijklmnop', 10), '…');
  const frames = '    at Module._compile (node:internal/modules/cjs/loader:1495:20)\n'.repeat(9);
  const thrown = `/home/a.js:1\n\nError: no field x\n    at f (/home/a.js:1:7)\n${frames}\nNode.js v20.20.2\n`;
  t.equal(endOf(thrown, 100), '/home/a.js:1\n\nError: no field x\n    at f (/home/a.js:1:7)', 'without frames of Node');
  t.end();
});

function runWords(argv: readonly string[], cwd = '.'): Promise<CommandResult> {
  return runCommand({ argv, cwd, env: scrubbedEnv(), stdin: '', timeoutMs: 600_000, maxOutputBytes: 1_000 });
}

t.test('SCR-2 · a limit longer than a timer can wait is no limit of a millisecond', async (t) => {
  t.match(await sh('echo hi', { timeoutMs: 2_592_000_000 }), { kind: 'exited', stdout: 'hi\n' });
});
