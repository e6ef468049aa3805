import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import t, { type Test } from 'tap';
import { homePaths } from '../../../machines/config/profile.ts';
import { takeHome, takeLock } from '../../../runtime/system/process.ts';
import { makeHome } from '../../support/home.ts';

const process_ = JSON.stringify(new URL('../../../runtime/system/process.js', import.meta.url).href);
const log_ = JSON.stringify(new URL('../../../runtime/observe/log.js', import.meta.url).href);
const redact_ = JSON.stringify(new URL('../../../runtime/observe/redact.js', import.meta.url).href);

interface Running {
  readonly child: ChildProcess;
  /** Resolves once the process has printed a text. */
  printed(text: string): Promise<void>;
  readonly ended: Promise<{ readonly end: number | NodeJS.Signals | null; readonly output: string }>;
}

/** Runs a module in a process of its own, which the spec may signal and kill. */
function run(t: Test, code: string, ...words: string[]): Running {
  const child = spawn(process.execPath, ['--input-type=module', '-e', code, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  let output = '';
  const waiting = new Set<() => void>();
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
    for (const look of waiting) look();
  });
  return {
    child,
    printed: (text) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!output.includes(text)) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    ended: new Promise((resolve) => child.once('close', (code, signal) => resolve({ end: code ?? signal, output }))),
  };
}

const holding = `import { takeLock } from ${process_};
const taken = takeLock(process.argv[1], '9.9.9');
process.stdout.write(taken.ok ? 'holds it\\n' : taken.fault.message + '\\n');
if (taken.ok) setInterval(() => {}, 1000);`;

t.test('HOME-2 · a lock whose holder is unknown refuses a start with the ways out', (t) => {
  const path = `${makeHome(t, { 'gateway.lock': '' }).path}/gateway.lock`;
  const { now } = Date;
  t.teardown(() => Object.assign(Date, { now }));
  const { mtimeMs } = statSync(path);
  Date.now = () => mtimeMs;
  const message = /\(.*gateway\.lock\); try again, .* run it as that user, or remove the file if no gateway runs$/;
  t.match(takeLock(path), { fault: { code: 'gateway-starting', message } });
  t.end();
});

t.test('HOME-2 · the second of two daemons says who runs and since when; a killed one is succeeded', async (t) => {
  const path = `${makeHome(t).path}/gateway.lock`;
  const first = run(t, holding, path);
  await first.printed('holds it');

  const second = takeLock(path);

  t.match(second, { ok: false, fault: { code: 'gateway-running' } });
  const message = second.ok ? '' : second.fault.message;
  t.match(message, new RegExp(`pid ${first.child.pid} already runs this home since \\d{4}-.*agent gateway stop`));
  t.match(JSON.parse(readFileSync(path, 'utf8')), { pid: first.child.pid, version: '9.9.9', startedAt: String });

  first.child.kill('SIGKILL');
  await first.ended;

  const third = takeLock(path);
  t.ok(third.ok, 'taken over without a word');
  if (third.ok) third.value.release();
});

t.test('HOME-2 · of several that start at once exactly one runs', async (t) => {
  const path = `${makeHome(t).path}/gateway.lock`;
  const starters = Array.from({ length: 5 }, () => run(t, holding, path));
  await Promise.race(starters.map((one) => one.printed('holds it')));
  const refused = (
    await Promise.all(starters.map((one) => Promise.race([one.ended, one.printed('holds it').then(() => undefined)])))
  ).flatMap((end) => (end === undefined ? [] : [end.output]));
  t.equal(refused.length, 4);
  for (const output of refused) t.match(output, /already runs this home/);
});

t.test(
  'HOME-2 · a gateway whose process is in another container keeps its home while its socket answers',
  async (t) => {
    const paths = homePaths(makeHome(t).path);
    const server = createServer().listen(paths.socket);
    await once(server, 'listening');
    // No process has so high an id, just as one of another PID namespace is not found.
    writeFileSync(paths.lock, JSON.stringify({ pid: 2 ** 30, startedAt: '1' }));

    const refused = await takeHome(paths);
    t.match(refused, { ok: false, fault: { code: 'gateway-running', message: /gateway\.sock.*another container/ } });

    server.close();
    await once(server, 'close');
    t.ok((await takeHome(paths)).ok, 'it has ended');
  },
);

t.test(
  'HOME-1 · HOME-3 · a home is made private and held; one that cannot be written is said to be that',
  async (t) => {
    const base = makeHome(t, { file: 'where a folder should be' }).path;
    const taken = await takeHome(homePaths(`${base}/deep/home`), '1');
    t.ok(taken.ok);
    for (const folder of ['', '/state']) t.equal(statSync(`${base}/deep/home${folder}`).mode & 0o777, 0o700, folder);
    if (taken.ok) taken.value.release();

    for (const home of [`${base}/file`, `${base}/file/home`]) {
      const refused = await takeHome(homePaths(home));
      const message = new RegExp(`^home ${home}: cannot be written: E\\w+: .*; make it a folder that you may write`);
      t.match(refused, { ok: false, fault: { code: 'home-unwritable', message } }, home);
    }
  },
);

const daemon = `import { onSignals } from ${process_};
import { createLog } from ${log_};
import { createRedactor } from ${redact_};
const log = createLog({ env: {}, redactor: createRedactor() });
const staying = setInterval(() => {}, 1000);
let nowMs = 0;
let stepMs = 300;
const off = onSignals({
  stop: () => { log.log('info', 'asked to stop'); if (process.argv[1] === 'obeys') { off(); clearInterval(staying); } },
  reload: () => log.log('info', 'asked to reload'),
  log,
  nowMs: () => (nowMs += stepMs),
});
log.log('info', 'ready');
if (process.argv[1] === 'throws') setImmediate(() => { throw new Error('nobody caught it, token=abcdef'); });
if (process.argv[1] === 'rejects') void Promise.reject(new Error('nobody awaited it'));`;

t.test('CON-2 · SIGTERM and SIGINT ask to stop, SIGHUP to reload, and the process ends by itself', async (t) => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const { child, printed, ended } = run(t, daemon, 'obeys');
    await printed('ready');
    child.kill('SIGHUP');
    await printed('asked to reload');
    child.kill(signal);
    const { end, output } = await ended;
    t.equal(end, 0, signal);
    t.match(output, new RegExp(`${signal}: draining.*\\n.*asked to stop`));
  }
});

t.test('CON-2 · SEC-1 · a signal that Node answers with an open debugger, or by ending, changes nothing', async (t) => {
  const { child, printed, ended } = run(t, daemon, 'obeys');
  await printed('ready');
  for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) {
    child.kill(signal);
    await printed(`${signal}: changes nothing`);
  }
  child.kill('SIGTERM');
  const { end, output } = await ended;
  t.equal(end, 0);
  t.notMatch(output, /Debugger/);
});

t.test('CON-2 · a second request to stop ends the process at once, unless it comes with the first', async (t) => {
  const { child, printed, ended } = run(t, daemon, 'hangs');
  await printed('ready');
  child.kill('SIGTERM');
  await printed('asked to stop');
  child.kill('SIGTERM');
  child.kill('SIGHUP');
  await printed('asked to reload');
  child.kill('SIGINT');
  const { end, output } = await ended;
  t.equal(end, 'SIGKILL');
  t.match(output, /SIGINT again: ending at once/);
});

t.test('CON-2 · an uncaught error is logged, redacted, and ends the process', async (t) => {
  const thrown = await run(t, daemon, 'throws').ended;
  t.equal(thrown.end, 'SIGKILL');
  t.match(thrown.output, /"level":"error","message":"uncaught: Error: nobody caught it, token=\[redacted\].*process/s);
  const rejected = await run(t, daemon, 'rejects').ended;
  t.equal(rejected.end, 'SIGKILL');
  t.match(rejected.output, /uncaught: Error: nobody awaited it/);
});

t.test('CON-2 · not even a write of the journal that is under way holds the end up', async (t) => {
  const journal = JSON.stringify(new URL('../../../actors/store/lmdb-journal.js', import.meta.url).href);
  const writing = `
import { openLmdbJournal } from ${journal};
stepMs = 600;
const opened = await openLmdbJournal({ directory: process.argv[2], now: Date.now });
let key = 0;
const write = async () => {
  for (;;) await opened.value.commit([{ kind: 'put', collection: 'events', key: 'k' + (key += 1), value: { body: 'x' } }]);
};
for (let writers = 0; writers < 64; writers += 1) void write();
`;
  for (let times = 0; times < 5; times += 1) {
    const { child, printed, ended } = run(t, daemon + writing, 'hangs', makeHome(t).path);
    await printed('ready');
    child.kill('SIGTERM');
    await printed('asked to stop');
    child.kill('SIGTERM');
    t.equal((await ended).end, 'SIGKILL');
  }
});
