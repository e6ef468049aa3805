/**
 * Node as the native HTTP server needs it: its binaries want a newer C library than Debian 12 has. `npm run native` lays the
 * libraries of Debian 13 beside the packages; Node is then started with them. No spec depends on them.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { whyNotLoadable } from '../../runtime/http/native.ts';
import { noBinary } from './http-servers.ts';

const cache = resolve('node_modules/.cache/debian-13');
const triplet = process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu';
const libraries = join(cache, 'root/usr/lib', triplet);
const linker = join(libraries, process.arch === 'arm64' ? 'ld-linux-aarch64.so.1' : 'ld-linux-x86-64.so.2');

/** The program and its first arguments; undefined where the native server cannot load on this machine. */
export function nativeNode(): readonly [program: string, ...words: string[]] | undefined {
  if (whyNotLoadable() === undefined) return [process.execPath];
  if (noBinary !== false) return undefined;
  return existsSync(linker) ? [linker, '--library-path', libraries, process.execPath] : undefined;
}

/** Fetches the libraries with apt's own client, in folders of its own. Returns what went wrong. */
export function fetchLibraries(): string | undefined {
  const lists = join(cache, 'lists/partial');
  const packages = join(cache, 'packages');
  for (const folder of [lists, packages, join(cache, 'cache/archives/partial')]) mkdirSync(folder, { recursive: true });
  const sources = join(cache, 'sources.list');
  const keys = '/usr/share/keyrings/debian-archive-keyring.gpg';
  writeFileSync(sources, `deb [signed-by=${keys}] http://deb.debian.org/debian trixie main\n`);
  const settings = {
    'Dir::Etc::sourcelist': sources,
    'Dir::Etc::sourceparts': '-',
    'Dir::State': cache,
    'Dir::Cache': join(cache, 'cache'),
    'Acquire::Languages': 'none',
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  return (
    failureOf('apt-get', [...options, '-q', 'update'], cache) ??
    failureOf('apt-get', [...options, '-q', 'download', 'libc6', 'libgcc-s1', 'libstdc++6', 'zlib1g'], packages) ??
    readdirSync(packages)
      .map((name) => failureOf('dpkg-deb', ['-x', join(packages, name), join(cache, 'root')], cache))
      .find((failure) => failure !== undefined)
  );
}

function failureOf(program: string, words: readonly string[], cwd: string): string | undefined {
  const { status, error, stderr } = spawnSync(program, words, { cwd, encoding: 'utf8' });
  return status === 0 ? undefined : `${program}: ${error?.message ?? stderr.trim()}`;
}
