/** `npm run native`: fetches what the specs and benchmarks of the native HTTP server need on an older host. */

import { fetchLibraries, nativeNode } from '../support/native-node.ts';

const failure = nativeNode() === undefined ? fetchLibraries() : undefined;
process.stdout.write(
  failure === undefined ? `the native server runs by: ${nativeNode()?.join(' ')}\n` : `not fetched: ${failure}\n`,
);
process.exitCode = nativeNode() === undefined ? 1 : 0;
