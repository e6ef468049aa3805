/**
 * Runs the specs: `npm test [-- part-of-a-file-name …]`, and with `--all` those that only `npm run test:all` runs. Prints a
 * line per file with its time, and `N passed, N failed` last, which stands in `.tap/counts.txt` too. A file that fails is run
 * once more, alone and with source maps: passing then it counts as passed and is reported as flaky; more than three flaky
 * files fail the run.
 * @see docs/contributing.md
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { stringify } from 'yaml';
import { planUnits, type Unit } from './runner/plan.ts';
import { endAll, type FileResult, runUnit, type UnitOptions } from './runner/run-unit.ts';

const mostFlaky = 3;
/** A unit that reports nothing for so long hangs. It never judges speed: no test waits a tenth of it between two assertions. */
const silenceMs = 600_000;
const folder = process.env.SPEC_FOLDER ?? 'dist/spec';
const words = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const all = process.argv.includes('--all');
/** Processes at a time. One more than there are processors: a journey also waits. */
const jobs = Number(process.env.SPEC_JOBS ?? Math.min(8, availableParallelism()) + 1);

/** One seed for every property, so that `npm test` checks the same cases each time. */
const seed = process.env.SPEC_SEED ?? (all ? String(Math.floor(Math.random() * 2 ** 31)) : '1');
const env = { ...process.env, SPEC_SEED: seed, SPEC_TIER: all ? 'all' : 'each' };

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    endAll();
    process.exit(130);
  });
}
process.once('exit', endAll);

if (all) process.stdout.write(`seed of the properties: ${seed} (SPEC_SEED=${seed} repeats it)\n`);
const first = await runAll(planUnits({ folder, all, words, groups: jobs }));
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
  const work = async (): Promise<void> => {
    for (let unit = queue.shift(); unit !== undefined; unit = queue.shift()) {
      done.push(...(await runUnit(unit, { ...options(), sourceMaps: false })));
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  return done;
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

function report(files: readonly FileResult[]): void {
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  for (const { file, skipped } of files) for (const title of skipped) say(`skipped  ${file}: ${title}`);
  for (const { file, failures, milliseconds } of [...files].sort((a, b) => a.milliseconds - b.milliseconds)) {
    say(`${failures.length > 0 ? 'FAILED' : 'ok'}  ${(milliseconds / 1_000).toFixed(1).padStart(6)} s  ${file}`);
  }
  for (const line of flaky) say(line);
  const passed = files.reduce((sum, file) => sum + file.passed, 0);
  let failed = files.reduce((sum, file) => sum + file.failures.length, 0);
  const flakyFiles = new Set(flaky.map((line) => line.slice(0, line.indexOf(': ')))).size;
  if (flakyFiles > mostFlaky) {
    say(`${flakyFiles} files are flaky; more than ${mostFlaky} fail the run`);
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
