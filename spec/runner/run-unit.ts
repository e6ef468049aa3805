/**
 * Runs one unit of spec files in a process of its own and reads what it reports. The process leads a process group, which is
 * ended with it: no daemon that a spec started outlives the spec.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { Parser } from 'tap-parser';
import { nativeNode } from '../support/native-node.ts';
import { ofNative, type Unit } from './plan.ts';

export interface UnitOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborts when the unit must be hanging. */
  readonly overdue: AbortSignal;
  /** The unit reported something, such as an assertion: it is not hanging. */
  readonly heard?: () => void;
  /** A file has ended, before the others of the unit. */
  readonly read?: (result: FileResult) => void;
  /** Whether what is reported leads to the source. Reading the maps takes a fifth of the time that a process needs to start. */
  readonly sourceMaps?: boolean;
}

export interface FileResult {
  readonly file: string;
  /** Whether the file had its turn; false where the process ended in a file before it. */
  readonly ran: boolean;
  /** How many of its tests passed. */
  readonly passed: number;
  /** The titles of the tests that were skipped, each with its reason. */
  readonly skipped: readonly string[];
  readonly failures: readonly Failure[];
  readonly milliseconds: number;
}

/** A test that failed, or a process that ended as it should not. */
export interface Failure {
  readonly title: string;
  readonly assertions: readonly FailedAssertion[];
}

export interface FailedAssertion {
  /** The titles of the subtests around it, and its message. */
  readonly title: string;
  /** What tap reports: the difference, the place, the line of source. */
  readonly details: unknown;
}

const sourceMapsFlag = '--enable-source-maps';
const loader = new URL('./load.js', import.meta.url).pathname;
const running = new Set<ChildProcess>();

/** Resolves with one result a file, in the unit's order. Never rejects: what goes wrong around a test fails its file. */
export async function runUnit(
  unit: Unit,
  { env, overdue, heard = () => {}, read = () => {}, sourceMaps = true }: UnitOptions,
): Promise<readonly FileResult[]> {
  const startedAtMs = performance.now();
  const [program, ...words] = (unit.some((file) => ofNative.test(file)) && nativeNode()) || [process.execPath];
  const child = spawn(program, [...words, ...(sourceMaps ? [sourceMapsFlag] : []), loader, ...unit], {
    // tap's own time limits would judge speed.
    env: { ...env, TAP_TIMEOUT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  running.add(child);
  const results: FileResult[] = [];
  const around: FailedAssertion[] = [];
  const parser = new Parser();
  let last = '';
  const ended = (title: string): void => {
    last = title;
  };
  parser.on('child', (file: Parser) =>
    readFile(file, ended, (result) => {
      results.push(result);
      read(result);
    }),
  );
  // The result of a file repeats what is known of it; any other was thrown outside of every test.
  parser.on('assert', (point: TestPoint) => {
    if (!point.ok && !unit.includes(point.name)) around.push({ title: point.name, details: point.diag });
  });
  const parsed = new Promise((resolve) => parser.once('complete', resolve));
  child.stdout.pipe(parser);
  child.stdout.on('data', heard);
  const end = (): void => endGroup(child);
  overdue.addEventListener('abort', end, { once: true });
  const [code, signal] = await new Promise<readonly [number | null, NodeJS.Signals | null]>((resolve) =>
    child.once('exit', (...end) => resolve(end)),
  );
  overdue.removeEventListener('abort', end);
  // A process may end well and leave others of its group.
  end();
  running.delete(child);
  await parsed;
  const hasFailed = around.length > 0 || results.some(({ failures }) => failures.length > 0);
  const hung = overdue.aborted && signal === 'SIGKILL';
  if (hung || around.length > 0 || (code !== 0 && !hasFailed)) {
    const where = last === '' ? 'in the first test' : `after "${last}"`;
    const title = hung ? `hung ${where}, and was ended` : `the process ended with ${signal ?? `exit code ${code}`}`;
    // The last file that began is the one in which it happened; before the first, all are in doubt and the first takes it.
    const result = results.pop() ?? unread(unit[0] ?? '', true);
    results.push({ ...result, failures: [...result.failures, { title, assertions: around }] });
  }
  const [only] = results;
  if (unit.length === 1 && only !== undefined) return [{ ...only, milliseconds: performance.now() - startedAtMs }];
  return unit.map((file) => results.find((result) => result.file === file) ?? unread(file, false));
}

/** Ends every process that a unit started; for a runner that is itself stopped. */
export function endAll(): void {
  for (const child of running) endGroup(child);
}

function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nothing of it is left.
  }
}

function unread(file: string, ran: boolean): FileResult {
  return { file, ran, passed: 0, skipped: [], failures: [], milliseconds: 0 };
}

interface TestPoint {
  readonly ok: boolean;
  readonly name: string;
  readonly skip: boolean | string;
  readonly todo: boolean | string;
  readonly diag: unknown;
}

/** Reads the subtest of a file, whose own subtests are the tests of the file. */
function readFile(file: Parser, ended: (title: string) => void, done: (result: FileResult) => void): void {
  let passed = 0;
  const skipped: string[] = [];
  const failures: Failure[] = [];
  let ofTest: readonly FailedAssertion[] = [];
  file.on('child', (test: Parser) => {
    ofTest = failedIn(test, []);
  });
  file.on('assert', ({ ok, name, skip, diag }: TestPoint) => {
    ended(name);
    if (skip !== false) skipped.push(skip === true ? name : `${name} (${skip})`);
    else if (ok) passed += 1;
    else failures.push({ title: name, assertions: ofTest.length > 0 ? ofTest : [{ title: name, details: diag }] });
    ofTest = [];
  });
  file.once('complete', ({ ok, time }: { readonly ok: boolean; readonly time: number | null }) => {
    const isEmpty = passed + skipped.length + failures.length === 0;
    if (isEmpty) failures.push({ title: 'the file has no test', assertions: [] });
    else if (!ok && failures.length === 0) failures.push({ title: 'not all of its tests ran', assertions: [] });
    done({ file: file.name, ran: true, passed, skipped, failures, milliseconds: time ?? 0 });
  });
}

/** The failed assertions of a test and of its subtests; the list fills as they are read. */
function failedIn(test: Parser, titles: readonly string[]): readonly FailedAssertion[] {
  const failed: FailedAssertion[] = [];
  const subtests = new Set<string>();
  test.on('child', (subtest: Parser) => {
    subtests.add(subtest.name);
    const own = failedIn(subtest, [...titles, subtest.name]);
    subtest.once('complete', () => failed.push(...own));
  });
  test.on('assert', ({ ok, name, skip, todo, diag }: TestPoint) => {
    if (ok || skip !== false || todo !== false || subtests.has(name)) return;
    failed.push({ title: [...titles, name].join(' > '), details: diag });
  });
  return failed;
}
