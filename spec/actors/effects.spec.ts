import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { createCommandRunner } from '../../actors/agent/run-command.ts';
import { echoRunner } from '../../actors/agent/run-echo.ts';
import { fileDocuments } from '../../actors/documents.ts';
import { ensurePrivateFolder, stampOf, updateFileLocked, writeFileAtomic } from '../../actors/files.ts';
import type { AgentRunRequest } from '../../actors/ports.ts';
import { runCommand, scrubbedEnv } from '../../actors/process-group.ts';
import { createListReader } from '../../actors/webhook/read-lists.ts';
import { createSubscriptionsStore } from '../../actors/webhook/subscriptions.store.ts';
import type { Json } from '../../machines/base/json.ts';
import { defaultProfile } from '../../machines/base/names.ts';
import { readingSubscriptions } from '../../machines/config/subscription.ts';
import { makeHome } from '../support/home.ts';
import { hasEnded, until } from '../support/processes.ts';
import { plainRequest } from '../support/records.ts';

const never = new AbortController().signal;

t.test('HOME-3 · files are private from creation, whatever the umask, and replaced whole', async (t) => {
  const home = makeHome(t);
  const before = process.umask(0);
  try {
    await ensurePrivateFolder(`${home.path}/a/b`);
    await writeFileAtomic(`${home.path}/a/b/f`, 'one');
    await writeFileAtomic(`${home.path}/a/b/f`, 'two');
  } finally {
    process.umask(before);
  }
  t.equal(statSync(`${home.path}/a/b`).mode & 0o777, 0o700);
  t.equal(statSync(`${home.path}/a/b/f`).mode & 0o777, 0o600);
  t.equal(readFileSync(`${home.path}/a/b/f`, 'utf8'), 'two');
  t.same(execFileSync('ls', ['-A', `${home.path}/a/b`], { encoding: 'utf8' }), 'f\n', 'no temporary file is left');
});

t.test('HOME-3 · two processes that change one file lose nothing of each other', async (t) => {
  const home = makeHome(t, { 'n.txt': '' });
  const worker = `import { updateFileLocked } from ${JSON.stringify(new URL('../../actors/files.js', import.meta.url).href)};
for (let n = 0; n < 20; n += 1) await updateFileLocked(process.argv[1], (text) => text + process.argv[2] + n + '\\n');`;
  await Promise.all(
    ['a', 'b', 'c'].map(
      (name) =>
        new Promise((resolve) =>
          spawn(process.execPath, ['--input-type=module', '-e', worker, `${home.path}/n.txt`, name]).on(
            'close',
            resolve,
          ),
        ),
    ),
  );
  t.equal(readFileSync(`${home.path}/n.txt`, 'utf8').trim().split('\n').length, 60);
});

t.test('HOME-3 · a lock whose holder died is taken over', async (t) => {
  const home = makeHome(t, { 'f.txt.lock': '999999999' });
  await updateFileLocked(`${home.path}/f.txt`, () => 'written');
  t.equal(readFileSync(`${home.path}/f.txt`, 'utf8'), 'written');
});

t.test(
  'SUB-2 · the file is re-read when it changes; a corrupt one keeps the last good set and is not overwritten',
  async (t) => {
    const home = makeHome(t, { 'subs.json': '{"one":{"secret":"long-enough-secret"}}' });
    const path = `${home.path}/subs.json`;
    const store = createSubscriptionsStore({
      document: fileDocuments.at(path),
      read: (text) => readingSubscriptions(text, { profile: defaultProfile, host: '0.0.0.0', checkFilters: () => [] }),
    });
    const names = (): string[] => store.current().routes.map(({ route }) => route.name);
    t.same(names(), ['one']);
    t.equal(store.current().routes, store.current().routes, 'the same list while nothing changes');
    const { atime, mtime } = statSync(path);
    writeFileSync(path, '{"two":{"secret":"long-enough-secret"}}');
    utimesSync(path, atime, mtime);
    await writeFileAtomic(path, '{"six":{"secret":"long-enough-secret"}}');
    utimesSync(path, atime, mtime);
    t.same(names(), ['six'], 'seen by its inode, though time and size are the same');
    writeFileSync(path, '{corrupt');
    t.same(names(), ['six']);
    t.equal(store.current().fault?.code, 'subscriptions-corrupt');
    const refused = await store.update(() => '{}');
    t.equal(refused.ok, false);
    t.equal(readFileSync(path, 'utf8'), '{corrupt');
    t.not(stampOf(path), undefined);
  },
);

t.test('FIL-3 · lists are arrays, keys or lines, re-read when changed, and only from the home', (t) => {
  const home = makeHome(t, {
    'a.json': '["x", 7, {"no": 1}]',
    'o.json': '{"k": 1}',
    'l.txt': 'one\r\n two \n\n',
    'odd.txt': '[not json\n',
  });
  symlinkSync('/etc/passwd', `${home.path}/link.txt`);
  const reader = createListReader({ home: home.path });
  const has = (file: string, value: Json): boolean | string | undefined => reader.list(file)?.has(value);
  t.same([has('a.json', 'x'), has('a.json', 7), has('a.json', '7'), has('a.json', 'no')], [true, true, false, false]);
  t.same([has('a.json', { no: 1 }), has('a.json', { no: 2 })], [true, false]);
  t.same([has('o.json', 'k'), has('o.json', '1')], [true, false]);
  t.same([has('l.txt', 'one'), has('l.txt', 'two'), has('l.txt', '')], [true, true, false]);
  t.equal(has('odd.txt', '[not json'), true);
  home.write('l.txt', 'three');
  t.same([has('l.txt', 'one'), has('l.txt', 'three')], [false, true]);
  for (const file of ['../x', '/etc/passwd', 'link.txt', 'gone', '', '.', 'a\0b'])
    t.equal(reader.list(file), undefined, file);
  t.end();
});

t.test('SCR-2 · a command is bounded in time and output and ends with its whole group', async (t) => {
  const run = (script: string, more = {}) =>
    runCommand({
      argv: ['sh', '-c', script],
      cwd: '.',
      env: scrubbedEnv({ GIVEN: 'yes' }),
      stdin: 'in',
      timeoutMs: 600_000,
      maxOutputBytes: 10_000,
      ...more,
    });
  t.match(await run('cat; exit 3'), { kind: 'exited', code: 3, stdout: 'in' });
  t.match(
    await run('exit 0', { stdin: 'x'.repeat(1_000_000) }),
    { kind: 'exited', code: 0 },
    'a reader that reads nothing',
  );
  t.match(await run('printf "\\377"'), { kind: 'exited', code: 0, stdout: '\uFFFD' }, 'bytes that are no text');
  t.match(await run('sleep 600', { timeoutMs: 50 }), { kind: 'timedOut' });
  t.match(await run('yes'), { kind: 'flooded' });
  t.match(await run('echo $GIVEN ${SECRET_OF_THE_PARENT-unset}'), { stdout: 'yes unset\n' });
  t.same(
    await runCommand({
      argv: ['no-such-command'],
      cwd: '.',
      env: scrubbedEnv(),
      stdin: '',
      timeoutMs: 1,
      maxOutputBytes: 1,
    }),
    { kind: 'missing' },
  );
  const left = await run('sleep 600 >/dev/null 2>&1 & echo $!');
  const pid = left.kind === 'exited' ? Number(left.stdout) : 0;
  t.ok(pid > 0);
  await until(() => hasEnded(pid));
  const aborting = new AbortController();
  const aborted = run('sleep 600', { signal: aborting.signal });
  aborting.abort();
  t.match(await aborted, { kind: 'aborted' });
});

const request: AgentRunRequest = {
  ...plainRequest,
  event: 'e',
  attempt: 2,
  toolsets: ['a', 'b'],
};

t.test('CON-3 · DIS-3 · a command run has its prompt, its variables and its outcome', async (t) => {
  const home = makeHome(t);
  const run = (command: readonly string[]) =>
    createCommandRunner({
      command,
      cwd: home.path,
      env: { KEY: 'k' },
      files: { folder: `${home.path}/runs`, program: ['agent'], openSocket: async () => () => {} },
    })(request, never);
  const env = 'echo "$AGENT_DELIVERY_ID $AGENT_ROUTE $AGENT_EVENT $AGENT_PROFILE $AGENT_ATTEMPT $KEY"; cat';
  t.same(await run(['sh', '-c', env]), { kind: 'responded', response: 'd1 r e default 2 k\nhello' });
  t.match(await run(['sh', '-c', 'echo why >&2; exit 9']), { kind: 'failed', reason: /exited with 9: why/ });
  t.match(await run(['nothing-of-that-name']), { kind: 'failed', reason: /was not found/ });
  t.same(await echoRunner(request, never), { kind: 'responded', response: 'hello' });
});
