/**
 * Loads the LMDB library, if its binary is the one that is pinned here. No other file loads it.
 * @see SEC-9 in docs/specification.md; docs/decisions/0003
 */

import { createRequire } from 'node:module';
import { basename, dirname } from 'node:path';
import { causeOf } from '../../machines/base/fault.ts';
import { checkPinned, UnusableBinary } from '../pinned-binary.ts';

/** SHA-256 of each `node.<build>.node` of `@lmdb/lmdb-<platform>-<arch>` 3.5.6. */
const pinned: Readonly<Record<string, string>> = {
  'darwin-arm64/napi': '2314da961b1f4e2a9f4b2fc92a27a85fc7e31ff5cd87abae348077122c92c58d',
  'darwin-x64/napi': '398c3a336105c420e3cb57d78055fdd49e9648029e230b1c670a0eac3ca3b36b',
  'linux-arm/napi.glibc': '9a2b904c1b8353bcbfe4ce3b69257b14b81f24974243d11270fdaae3c3c14b81',
  'linux-arm64/abi115.glibc': 'cfbcb5f264a7bf5a3a03c0f1ee858f9378525d097a8e6d34bf8b378e2469a1ea',
  'linux-arm64/abi127.glibc': 'ab2ad896c6574adad7acc2d46a887af2315b52489fd4b39c551dc118a5c6359a',
  'linux-arm64/napi.glibc': 'db71e081d0d6c56ecf487f741a724aecdb906c7b10d76369d3a7eeb1ac7fcf05',
  'linux-arm64/napi.musl': 'a09007db34594664be8cc8bb91768befd2909c78f4ae6103f7dd41f4daa2b242',
  'linux-x64/abi115.glibc': 'f0fa4692f2574eb941f8ed98c722c71ef9c9738589e1279dd265124e45d8feed',
  'linux-x64/abi127.glibc': '34b64bb44a713689b17a043c3562f48486ccfca59eaa036613995e9fcaae03ae',
  'linux-x64/napi.glibc': '0029b0965ac93b05c057a4c7cf6a10f59dccbe69b23a32518209e190181a0b1c',
  'linux-x64/napi.musl': '8dda4c141cd1ecbd365745c160e70c969d7e7de850a67b73c382c2ef361b2ba9',
  'win32-arm64/napi': 'adf515ebbe77c6c1aef3c2ec789d3f68c5f3365a267237eddb236d3aa9ebc034',
  'win32-x64/napi': '187961a0df31dd68d5409729feac64b15e471b17070a427b1a759aefde3e3d7f',
};

const finder = 'node-gyp-build-optional-packages';

/** The binary is an optional package, which an npm that omits those leaves out. */
const installAgain = 'install the package again on this machine, with --include=optional';

const require = createRequire(import.meta.url);
let loaded: typeof import('lmdb') | undefined;

/** Throws an UnusableBinary if its binary is absent, is not the pinned one or cannot load. */
export function loadLmdb(read?: (path: string) => Buffer): typeof import('lmdb') {
  if (loaded !== undefined && read === undefined) return loaded;
  try {
    loaded = loadPinned(read);
    return loaded;
  } catch (thrown) {
    // Below its first line, Node says from where it was loaded.
    const [why = ''] = causeOf(thrown).split('\n');
    throw new UnusableBinary(`the LMDB library cannot be used: ${why}; ${installAgain}`, thrown);
  }
}

function loadPinned(read?: (path: string) => Buffer): typeof import('lmdb') {
  const entry = require.resolve('lmdb');
  // The library finds its binary by this function, also where a variable or a build beside it leads to another.
  const library = createRequire(entry);
  const { path: find } = library(finder) as { readonly path: (folder: string) => string | undefined };
  const build = `${process.platform}-${process.arch}`;
  const path = find(dirname(dirname(entry)));
  const pin = path === undefined ? undefined : pinned[`${build}/${basename(path).replace(/^node\.|\.node$/g, '')}`];
  if (path === undefined || pin === undefined) throw new Error(`no binary is pinned for ${build}: ${path ?? ''}`);
  checkPinned(path, pin, read);
  // Its serializer, which the journal does not use, would load a binary of its own.
  process.env.MSGPACKR_NATIVE_ACCELERATION_DISABLED = 'true';
  // It is given the binary that was checked: it would look in its own URL, which a `#`, `?` or `%` in the path breaks.
  const cached = require.cache[library.resolve(finder)];
  if (cached !== undefined) cached.exports = Object.assign(() => require(path), { path: find });
  return require(entry) as typeof import('lmdb');
}
