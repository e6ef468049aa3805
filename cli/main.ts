#!/usr/bin/env node
/**
 * The `agent` executable. Answers `--version` itself; everything else is in `run.ts`, loaded after Node's compile cache is
 * on. Ctrl-C ends a command that does not handle it, with `Cancelled.` and exit code 130.
 * @see CON-1, CLI-2 and CLI-6 in docs/specification.md
 */

import { isTooOld, oldestNode } from '../machines/base/node-version.ts';
import { watchOutput } from './end-output.ts';
import { version } from './version.ts';

const [first] = process.argv.slice(2);
const { node } = process.versions;
if (first === '--version' || first === '-V') {
  watchOutput();
  process.stdout.write(`${version()}\n`);
} else if (isTooOld(node)) {
  // npm only warns of it, and a part that needs a newer one would fail without saying so.
  process.stderr.write(`agent: this is Node.js ${node}; install ${oldestNode} or newer\n`);
  process.exitCode = 1;
} else {
  const { keepCompiledCode } = await import('./compiled-cache.ts');
  keepCompiledCode(process.env);
  const { runWords } = await import('./run.ts');
  process.on('SIGINT', () => {
    // A command that has to clean up first has its own listener.
    if (process.listenerCount('SIGINT') > 1) return;
    process.stderr.write('Cancelled.\n');
    process.exit(130);
  });
  process.exitCode = await runWords(process.argv.slice(2));
}
