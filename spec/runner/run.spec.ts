import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { collected, hasEnded, until } from '../support/processes.ts';
import { inAllOnly } from '../support/tier.ts';
import { importsOf, planUnits } from './plan.ts';
import { runUnit } from './run-unit.ts';

const runner = new URL('../run.js', import.meta.url).pathname;

interface Run {
  readonly code: number | null;
  readonly lines: readonly string[];
  /** The folder that the runner ran in. */
  readonly folder: string;
}

/** Runs the runner over spec files written for it. Each file is given as the body of its module. */
async function runSpecs(
  t: Test,
  files: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>> = {},
  words: readonly string[] = [],
): Promise<Run> {
  const folder = t.testdir(
    Object.fromEntries(
      Object.entries(files).map(([name, body]) => [`${name}.spec.js`, `import t from 'tap';\n${body}`]),
    ),
  );
  const child = spawn(process.execPath, [runner, ...words], {
    cwd: folder,
    // One process for all of them: starting one is nearly all that these files cost.
    env: { ...process.env, SPEC_FOLDER: '.', SPEC_JOBS: '1', ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const output = collected(child.stdout);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, lines: output().trimEnd().split('\n'), folder };
}

/** The body of a file that fails until it has been run a number of times. */
const failsUntilRun = (times: number): string => `
import { appendFileSync, readFileSync } from 'node:fs';
const mark = import.meta.filename + '.runs';
appendFileSync(mark, '.');
t.test('holds now and then', async (t) => t.ok(readFileSync(mark).length >= ${times}, 'the second time is the charm'));`;

const passes = `t.test('one', async (t) => t.ok(true)); t.test('two', async (t) => t.ok(true));`;

t.test('counts tests, lists each file with its time, and passes where all of them do', async (t) => {
  const { code, lines, folder } = await runSpecs(t, {
    a: passes,
    b: `t.test('not here', { skip: 'no such shell' }, async () => {}); ${passes}`,
  });
  t.equal(code, 0);
  t.equal(lines.at(-1), '4 passed, 0 failed');
  t.equal(readFileSync(join(folder, '.tap/counts.txt'), 'utf8'), '4 passed, 0 failed\n');
  for (const name of ['a', 'b']) {
    const fits = new RegExp(`^ok +\\d+\\.\\d s {2}${name}\\.spec\\.js$`);
    t.equal(lines.filter((line) => fits.test(line)).length, 1, name);
  }
  t.ok(lines.includes('skipped  b.spec.js: not here (no such shell)'));
});

t.test(
  'temporary files are in a folder of the run, as open as /tmp and gone with it',
  { skip: inAllOnly },
  async (t) => {
    const { code, lines } = await runSpecs(t, {
      a: `import { mkdtempSync, statSync } from 'node:fs';
      import { tmpdir } from 'node:os';
      t.test('x', async (t) => {
        mkdtempSync(tmpdir() + '/left-');
        t.equal(statSync(tmpdir()).mode & 0o7777, 0o1777);
      });
      t.test(tmpdir(), { skip: true }, async () => {});`,
    });
    t.equal(code, 0);
    const folder = /skipped {2}a\.spec\.js: (\S*specs-\w+)/.exec(lines.join('\n'))?.[1] ?? '';
    t.match(folder, /specs-/);
    t.notOk(existsSync(folder));
  },
);

t.test('a file that fails twice fails the run, and its assertion is shown', async (t) => {
  const { code, lines } = await runSpecs(t, {
    good: passes,
    bad: failsUntilRun(3),
    maps: `t.test('which run', async (t) => t.fail(process.execArgv.includes('--enable-source-maps') ? 'mapped' : 'plain'));`,
    broken: `throw new Error('at import');`,
    empty: '',
  });
  t.equal(code, 1);
  t.equal(lines.at(-1), '2 passed, 4 failed');
  t.ok(lines.includes('not ok bad.spec.js: holds now and then'));
  t.same(
    lines.filter((line) => line.startsWith('    not ok')),
    ['    not ok the second time is the charm', '    not ok at import', '    not ok mapped'],
    'source maps are read where a file is run again, and its second failure is the one that is shown',
  );
  t.ok(lines.includes('not ok broken.spec.js: the file can be imported'), 'a file that cannot be imported fails alone');
  t.ok(lines.includes('not ok empty.spec.js: the file has no test'), 'and so does one without a test');
  t.notMatch(lines.join('\n'), 'FLAKY');
});

t.test('a file that passes when run again alone passes and is reported as flaky', async (t) => {
  const flaky = failsUntilRun(2);
  const { code, lines } = await runSpecs(t, { a: flaky, b: flaky, good: passes });
  t.equal(code, 0);
  t.same(lines.slice(-3), [
    ...['a', 'b'].map((name) => `FLAKY ${name}.spec.js: holds now and then > the second time is the charm`),
    '4 passed, 0 failed',
  ]);
});

t.test('more than three flaky files fail the run', { skip: inAllOnly }, async (t) => {
  const flaky = failsUntilRun(2);
  const three = await runSpecs(t, { a: flaky, b: flaky, c: flaky });
  t.equal(three.code, 0);
  const four = await runSpecs(t, { a: flaky, b: flaky, c: flaky, d: flaky });
  t.equal(four.code, 1);
  t.same(four.lines.slice(-2), ['4 files are flaky; more than 3 fail the run', '4 passed, 1 failed']);
});

t.test('a file that hangs is ended with every process it started, and fails', async (t) => {
  const folder = t.testdir({
    'hangs.spec.js': `
import { spawn } from 'node:child_process';
import { renameSync, writeFileSync } from 'node:fs';
import t from 'tap';
t.test('ends', async (t) => void t.pass());
t.test('waits for ever', async (t) => {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' });
  const pid = import.meta.dirname + '/pid';
  writeFileSync(pid + '.new', String(child.pid));
  renameSync(pid + '.new', pid);
  await new Promise(() => setTimeout(() => {}, 600_000));
});`,
  });
  const overdue = new AbortController();
  const running = runUnit([join(folder, 'hangs.spec.js')], { env: process.env, overdue: overdue.signal });
  await until(() => existsSync(join(folder, 'pid')));
  overdue.abort();
  const [result] = await running;
  t.match(result?.failures.at(-1), { title: 'hung after "ends", and was ended' });
  const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'));
  await until(() => hasEnded(pid));
});

t.test('a run that is ended by a signal shows what has failed by then', async (t) => {
  const { code, lines } = await runSpecs(t, {
    a: `t.test('one', async (t) => t.ok(false, 'is so'));`,
    b: `t.test('two', async () => {
  process.kill(process.ppid, 'SIGTERM');
  await new Promise(() => setTimeout(() => {}, 600_000));
});`,
  });
  t.equal(code, 130);
  t.equal(lines[0], 'not ok a.spec.js: one');
  t.equal(lines.at(-1), 'ended by SIGTERM; of the files that had ended: 0 passed, 1 failed');
});

t.test('a file that ends its process takes no other file with it', { skip: inAllOnly }, async (t) => {
  const { code, lines } = await runSpecs(t, {
    a: passes,
    b: `t.test('ends it', async () => process.kill(process.pid, 'SIGKILL'));`,
    c: passes,
    d: passes,
  });
  t.equal(code, 1);
  t.match(lines.at(-1), /^6 passed, [12] failed$/);
  t.ok(lines.includes('not ok b.spec.js: the process ended with SIGKILL'), lines.join('\n'));
  t.equal(lines.filter((line) => line.startsWith('ok')).length, 3);
});

t.test('a file that ends its process with success before its last test fails', async (t) => {
  const { code, lines } = await runSpecs(t, {
    a: `t.test('one', async (t) => t.ok(true)); t.test('two', async () => process.exit(0)); t.test('three', async () => {});`,
  });
  t.equal(code, 1);
  t.match(lines.at(-1), /^\d passed, [12] failed$/, lines.join('\n'));
});

t.test(
  'a file that ends its process fails, also where another file of the group failed before',
  { skip: inAllOnly },
  async (t) => {
    const folder = t.testdir({
      'a.spec.js': `import t from 'tap'; t.test('one', async (t) => t.ok(false));`,
      'b.spec.js': `import t from 'tap'; t.test('one', async (t) => t.ok(true));
t.test('two', async () => process.kill(process.pid, 'SIGKILL'));`,
    });
    const unit = ['a', 'b'].map((name) => join(folder, `${name}.spec.js`));
    let reports = 0;
    const heard = (): void => {
      reports += 1;
    };
    const results = await runUnit(unit, { env: process.env, overdue: new AbortController().signal, heard });
    t.same(
      results.map(({ failures }) => failures.length > 0),
      [true, true],
    );
    t.ok(reports > 0, 'each report puts off the end of a unit that hangs');
  },
);

t.test('files that share a process have a folder each, whenever they ask for it', { skip: inAllOnly }, async (t) => {
  const file = `
import fs from 'node:fs';
import t from 'tap';
const home = t.testdir();
t.test('same title', async (t) => {
  t.not(t.testdir({ a: '' }), home);
  fs.writeFileSync(home + '/only', '', { flag: 'wx' });
});`;
  const folder = t.testdir({ 'a.spec.js': file, 'b.spec.js': file });
  const unit = ['a', 'b'].map((name) => join(folder, `${name}.spec.js`));
  const results = await runUnit(unit, { env: process.env, overdue: new AbortController().signal });
  t.match(results, [
    { passed: 1, failures: [] },
    { passed: 1, failures: [] },
  ]);
});

t.test('what is thrown in a callback fails the test that is running, and outside of every test its file', async (t) => {
  const { code, lines } = await runSpecs(t, {
    callback: `
const thrown = (error) => new Promise(() => { setTimeout(() => { throw error; }); });
t.test('by a timer', async () => thrown(new Error('in a callback')));
t.test('by a promise', async (t) => t.test('deep', async () => { void Promise.reject(new Error('unhandled')); await new Promise(() => {}); }));
t.test('goes on', async (t) => t.ok(true));`,
    late: `t.test('ends at once', async (t) => { t.ok(true); setTimeout(() => { throw new Error('too late'); }, 200); });`,
  });
  t.equal(code, 1);
  t.same(
    lines.filter((line) => / *not ok/.test(line)),
    [
      ...['not ok callback.spec.js: by a timer', '    not ok in a callback'],
      ...['not ok callback.spec.js: by a promise', '    not ok deep > unhandled'],
      ...['not ok late.spec.js: the process ended with exit code 1', '    not ok too late'],
    ],
    lines.join('\n'),
  );
  t.equal(lines.at(-1), '2 passed, 3 failed');
});

t.test('words choose files by their names; words that match none fail', { skip: inAllOnly }, async (t) => {
  const files = { one: passes, other: passes };
  t.equal((await runSpecs(t, files, {}, ['other'])).lines.at(-1), '2 passed, 0 failed');
  const none = await runSpecs(t, files, {}, ['third']);
  t.equal(none.code, 1);
  t.equal(none.lines.at(-1), '0 passed, 1 failed');
});

t.test('files share a process with those of their kind, save those that need it to themselves', (t) => {
  const units = planUnits({ folder: 'dist/spec', all: false, words: [], groups: 2 });
  const unitOf = (name: string): readonly string[] =>
    units.find((unit) => unit.includes(`dist/spec/${name}.spec.js`)) ?? [];
  t.equal(unitOf('runtime/http/http-servers').length, 1, 'starts with what lets the native server load');
  t.equal(unitOf('machines/base/pool').length, 1, 'measures the collector');
  t.ok(unitOf('machines/webhook/verifier').length > 50);
  const neighbours = unitOf('runtime/doctor/check-lock');
  t.ok(neighbours.length > 1);
  t.same(neighbours, [...neighbours].sort(), 'of those beside it');
  t.ok(units[0]?.includes('dist/spec/journeys/inspector-page.spec.js'));
  t.ok(
    units[0]?.every((file) => file.includes('/journeys/inspector-')),
    'one browser for the pages',
  );
  t.ok(unitOf('journeys/token-refresh').includes('dist/spec/journeys/private-login.spec.js'), 'the same ports');
  t.ok(unitOf('journeys/crash').length > 1);
  t.ok(unitOf('journeys/crash').every((file) => file.includes('/journeys/')));
  t.same(unitOf('journeys/leaks'), [], 'in npm run test:all alone');
  t.equal(units.flat().length, new Set(units.flat()).size, 'each file once');
  t.ok(importsOf('dist/runtime/daemon.js').includes('lmdb'));
  t.end();
});

t.test(
  'a process that a spec starts carries nothing of tap, and keeps the NODE_OPTIONS the spec gave it',
  async (t) => {
    const seen = async (env: NodeJS.ProcessEnv): Promise<unknown> => {
      const print = 'console.log(JSON.stringify([process.execArgv, process.env]))';
      const child = spawn(process.execPath, ['-e', print], { env, stdio: ['ignore', 'pipe', 'inherit'] });
      const output = collected(child.stdout);
      await once(child, 'close');
      return JSON.parse(output());
    };
    const [argv, plain] = (await seen(process.env)) as [string[], NodeJS.ProcessEnv];
    t.same(argv, ['-e', 'console.log(JSON.stringify([process.execArgv, process.env]))'].slice(0, argv.length));
    t.equal(plain.NODE_OPTIONS, process.env.NODE_OPTIONS);
    t.notMatch(plain.NODE_OPTIONS ?? '', 'tapjs');
    t.same(
      Object.keys(plain).filter((name) => name.startsWith('_TAPJS_')),
      [],
    );
    const [, own] = (await seen({ ...process.env, NODE_OPTIONS: '--no-warnings' })) as [unknown, NodeJS.ProcessEnv];
    t.equal(own.NODE_OPTIONS, '--no-warnings');
  },
);
