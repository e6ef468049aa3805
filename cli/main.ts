#!/usr/bin/env node
/**
 * The `agent` executable. Answers `--version` by itself and leaves everything else to `run.ts`, loaded once Node's cache of
 * compiled code is on. Ctrl-C ends a command that does not say otherwise: `Cancelled.`, and 130. Knows no command.
 * @see CON-1, CLI-2 and CLI-6 in docs/specification.md
 */

import { version } from './version.ts';

const [first] = process.argv.slice(2);
if (first === '--version' || first === '-V') process.stdout.write(`${version()}\n`);
else {
  const { keepCompiledCode } = await import('./compiled-cache.ts');
  keepCompiledCode(process.env);
  const { runWords } = await import('./run.ts');
  process.on('SIGINT', () => {
    // A command that has something to end first listens too.
    if (process.listenerCount('SIGINT') > 1) return;
    process.stderr.write('Cancelled.\n');
    process.exit(130);
  });
  process.exitCode = await runWords(process.argv.slice(2));
}
