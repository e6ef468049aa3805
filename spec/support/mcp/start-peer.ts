/**
 * Starts the bundle of the stdio peer with V8's cache of its compiled code, if the build has written one. Hundreds of peers
 * start in one run of the specs, compiling the SDK is half of what that takes, and Node 20 keeps no such cache by itself.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';

const bundle = fileURLToPath(new URL('../../peers/stdio-peer.cjs', import.meta.url));
const cache = `${bundle}.cache`;
const script = new Script(`(function (exports, require, __filename) {${readFileSync(bundle, 'utf8')}\n})`, {
  filename: bundle,
  cachedData: existsSync(cache) ? readFileSync(cache) : undefined,
});
script.runInThisContext()({}, createRequire(bundle), process.argv[1]);

if (process.env.SPEC_WRITES_CACHE !== undefined)
  process.once('exit', () => writeFileSync(cache, script.createCachedData()));
