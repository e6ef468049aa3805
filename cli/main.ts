#!/usr/bin/env node
/**
 * The `agent` executable. Answers `--version` by itself and leaves everything else to `run.ts`, loaded once Node's cache of
 * compiled code is on. Knows no command.
 * @see CON-1 and CLI-2 in docs/specification.md
 */

import { version } from './version.ts';

const [first] = process.argv.slice(2);
if (first === '--version' || first === '-V') process.stdout.write(`${version()}\n`);
else {
  const { keepCompiledCode } = await import('./compiled-cache.ts');
  keepCompiledCode(process.env);
  const { runWords } = await import('./run.ts');
  process.exitCode = await runWords(process.argv.slice(2));
}
