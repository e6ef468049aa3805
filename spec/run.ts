/**
 * Runs the specs: `npm test [-- part-of-a-file-name …]`, and with `--all` those that only `npm run test:all` runs. Prints a
 * line per file with its time, and `N passed, N failed` last, which stands in `.tap/counts.txt` too. A file that fails is run
 * once more, alone and with source maps: passing then it counts as passed and is reported as flaky; more than three flaky
 * files fail the run. A run that is ended by a signal prints what has failed by then, and the counts.
 * @see docs/contributing.md
 */

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { planUnits, type Unit } from './runner/plan.ts';
import { endAll, type FileResult, runUnit, type UnitOptions } from './runner/run-unit.ts';

const maxFlaky = 3;
/** A unit that reports nothing for so long hangs. It never judges speed: no test waits a tenth of it between two assertions. */
const silenceMs = 600_000;
/** Far more than the homes and databases of one run take. */
const roomBytes = 4 * 2 ** 30;
const folder = process.env.SPEC_FOLDER ?? 'dist/spec';
const words = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const all = process.argv.includes('--all');
/** Processes at a time. One more than there are processors: a journey also waits. */
const jobs = Number(process.env.SPEC_JOBS ?? Math.min(8, availableParallelism()) + 1);
/** With those that start only while the processors have nothing to do, as on a quiet machine during the journeys. */
const maxJobs = process.env.SPEC_JOBS === undefined ? jobs + 2 : jobs;
/** Half of one of two processors. */
const muchIdle = 0.25;
const lookEveryMs = 2_000;

/** One seed for every property, so that `npm test` checks the same cases each time. */
const seed = process.env.SPEC_SEED ?? (all ? String(Math.floor(Math.random() * 2 ** 31)) : '1');
/** Each file that has ended, for a run that is itself ended. */
const read: FileResult[] = [];
const scratch = makeScratch();
// Reading these certificates takes Node as long as the rest of a start; only the specs of the image reach other machines.
const { NODE_EXTRA_CA_CERTS: SPEC_CA_CERTS, ...given } = process.env;
const env = { ...given, SPEC_CA_CERTS, TMPDIR: scratch, SPEC_SEED: seed, SPEC_TIER: all ? 'all' : 'each' };

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    endAll();
    for (const result of read) describe(result);
    say(`ended by ${signal}; of the files that had ended: ${countsOf(read)}`);
    process.exit(130);
  });
}
process.once('exit', () => {
  endAll();
  try {
    rmSync(scratch, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    // A process that is on its way out may still write there; what it leaves fails no run.
  }
});

if (all) process.stdout.write(`seed of the properties: ${seed} (SPEC_SEED=${seed} repeats it)\n`);
// More than run at a time, so that none runs alone for long at the end.
const first = await runAll(planUnits({ folder, all, words, groups: maxJobs }));
const results = new Map(first.map((result) => [result.file, result]));

// A file whose process ended before its turn was not run yet; it has its first run now.
const unread = first.filter(({ ran }) => !ran).map(({ file }) => [file]);
for (const result of await runAll(unread)) results.set(result.file, result);

const flaky: string[] = [];
for (const failed of [...results.values()].filter(({ failures }) => failures.length > 0)) {
  const [again = failed] = await runUnit([failed.file], options());
  results.set(failed.file, again);
  if (again.failures.length > 0) {
    describe(again);
    continue;
  }
  describe(failed);
  for (const { title, assertions } of failed.failures) {
    flaky.push(`FLAKY ${failed.file}: ${[title, ...assertions.map((one) => one.title)].join(' > ')}`);
  }
}

report([...results.values()]);

function options(): UnitOptions {
  const overdue = new AbortController();
  const watchdog = setTimeout(() => overdue.abort(), silenceMs).unref();
  return { env, overdue: overdue.signal, heard: () => void watchdog.refresh() };
}

async function runAll(units: readonly Unit[]): Promise<readonly FileResult[]> {
  const queue = [...units];
  const done: FileResult[] = [];
  let running = 0;
  const runNext = async (): Promise<void> => {
    running += 1;
    const unit = queue.shift();
    const more = { sourceMaps: false, read: (result: FileResult) => void read.push(result) };
    if (unit !== undefined) done.push(...(await runUnit(unit, { ...options(), ...more })));
    running -= 1;
  };
  const work = async (): Promise<void> => {
    while (queue.length > 0) await runNext();
  };
  const more: Promise<void>[] = [];
  const idle = idleMeter();
  const looking = setInterval(() => {
    if (idle() > muchIdle && running < maxJobs && queue.length > 0) more.push(runNext());
  }, lookEveryMs);
  await Promise.all(Array.from({ length: jobs }, work));
  clearInterval(looking);
  await Promise.all(more);
  return done;
}

/** Returns a function that returns the share of the processors' time in which they were idle, since it was last called. */
function idleMeter(): () => number {
  const read = (): readonly [idle: number, total: number] => {
    const times = cpus().map((one) => one.times);
    const idle = times.reduce((sum, one) => sum + one.idle, 0);
    return [idle, times.reduce((sum, one) => sum + one.idle + one.user + one.nice + one.sys + one.irq, 0)];
  };
  let last = read();
  return () => {
    const now = read();
    const share = (now[0] - last[0]) / Math.max(1, now[1] - last[1]);
    last = now;
    return share;
  };
}

/**
 * Makes the folder for the temporary files of the specs, as open as `/tmp`; it is removed at the end. It is in memory where
 * there is room, because specs otherwise wait for the disk: no spec cuts the power, so none needs one.
 */
function makeScratch(): string {
  const memory = '/dev/shm';
  const mounts = existsSync('/proc/mounts') ? readFileSync('/proc/mounts', 'utf8').split('\n') : [];
  const [, , , mode] = mounts.map((line) => line.split(' ')).find(([, place]) => place === memory) ?? [];
  const fits = (): boolean => {
    const { bavail, bsize } = statfsSync(memory);
    return Math.min(bavail * bsize, process.availableMemory()) > roomBytes;
  };
  // Scripts in the homes are run where they are.
  const isUsable =
    process.env.TMPDIR === undefined && mode !== undefined && !mode.split(',').includes('noexec') && fits();
  const place = isUsable ? memory : tmpdir();
  removeLeft(place);
  const folder = mkdtempSync(join(place, `specs-${process.pid}-`));
  chmodSync(folder, 0o1777);
  return folder;
}

/** Removes the folders of runs that were killed: what they left in memory would stay there. */
function removeLeft(place: string): void {
  for (const name of readdirSync(place)) {
    const [, pid] = /^specs-(\d+)-/.exec(name) ?? [];
    if (pid !== undefined && !existsSync(`/proc/${pid}`) && existsSync('/proc/self'))
      rmSync(join(place, name), { recursive: true, force: true });
  }
}

function describe({ file, failures }: FileResult): void {
  for (const { title, assertions } of failures) {
    process.stdout.write(`not ok ${file}: ${title}\n`);
    for (const { title, details } of assertions) {
      process.stdout.write(`    not ok ${title}\n`);
      if (details) process.stdout.write(`${stringify(details).replace(/^/gm, '      ').trimEnd()}\n`);
    }
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function countsOf(files: readonly FileResult[]): string {
  const passed = files.reduce((sum, file) => sum + file.passed, 0);
  return `${passed} passed, ${files.reduce((sum, file) => sum + file.failures.length, 0)} failed`;
}

function report(files: readonly FileResult[]): void {
  for (const { file, skipped } of files) for (const title of skipped) say(`skipped  ${file}: ${title}`);
  for (const { file, failures, milliseconds } of [...files].sort((a, b) => a.milliseconds - b.milliseconds)) {
    say(`${failures.length > 0 ? 'FAILED' : 'ok'}  ${(milliseconds / 1_000).toFixed(1).padStart(6)} s  ${file}`);
  }
  for (const line of flaky) say(line);
  const passed = files.reduce((sum, file) => sum + file.passed, 0);
  let failed = files.reduce((sum, file) => sum + file.failures.length, 0);
  const flakyFiles = new Set(flaky.map((line) => line.slice(0, line.indexOf(': ')))).size;
  if (flakyFiles > maxFlaky) {
    say(`${flakyFiles} files are flaky; more than ${maxFlaky} fail the run`);
    failed += 1;
  }
  if (files.length === 0) {
    say(`no spec file in ${folder} matches ${words.join(' ') || 'this tier'}`);
    failed += 1;
  }
  const counts = `${passed} passed, ${failed} failed`;
  mkdirSync('.tap', { recursive: true });
  writeFileSync('.tap/counts.txt', `${counts}\n`);
  say(counts);
  process.exitCode = failed === 0 ? 0 : 1;
}
