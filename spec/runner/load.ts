/**
 * Runs the spec files given as arguments in one process, one after another, as subtests named after their files. Every file
 * is imported before the first test runs: a file that mocks a timer while another is still being imported would break it.
 */

import asyncHooks from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

// tap names its folders after the arguments, and a name has 255 bytes at most.
const files = process.argv.splice(2);
const t = await importTap();
const fixtures = resolve('.tap/fixtures');

/** The arguments of a call of `t.test`, in any of its forms. */
type Declaration = readonly unknown[];

/** A test, or the root of all. */
interface Running {
  readonly activeSubtests?: Iterable<Running>;
  threw: (error: unknown) => unknown;
}

interface Declares {
  test: (...declaration: Declaration) => Promise<unknown>;
}

/** The tests that each file declared on the root, in order. */
const declared: { readonly file: string; readonly tests: readonly Declaration[] }[] = [];
const root = t as unknown as Declares;
const runTest = root.test;

for (const file of files) {
  const tests: Declaration[] = [];
  // A folder that a file asks for while it is imported is its own.
  t.testdirName = join(fixtures, file.replace(/[^\w.-]+/g, '-'));
  root.test = (...declaration) => {
    tests.push(declaration);
    return Promise.resolve();
  };
  try {
    await import(pathToFileURL(file).href);
  } catch (thrown) {
    tests.splice(0, Number.POSITIVE_INFINITY, [
      'the file can be imported',
      () => {
        throw thrown;
      },
    ]);
  }
  declared.push({ file, tests });
}
root.test = runTest;
t.testdirName = join(fixtures, 'spec');

for (const { file, tests } of declared) {
  void t.test(file, async (t) => {
    for (const declaration of tests) await (t as unknown as Declares).test(...declaration);
  });
}

/**
 * Without tap's own way to know which test an error belongs to: it follows every promise, which takes up to a quarter of
 * what a spec computes. As tests run one after another, it belongs to the one that is running.
 */
async function importTap() {
  const { createHook } = asyncHooks;
  const none = { enable: () => none, disable: () => none };
  const use = (create: typeof createHook): void => {
    asyncHooks.createHook = create;
    syncBuiltinESMExports();
  };
  use(() => none);
  const { default: t } = await import('tap');
  use(createHook);
  process.on('uncaughtException', (error) => {
    let test: Running = t;
    for (let inner: Running | undefined = t; inner !== undefined; [inner] = inner.activeSubtests ?? []) test = inner;
    test.threw(error);
  });
  return t;
}
