/** What a user installs: its size, and that what it loads is in it or installed with it. */

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import t from 'tap';

interface Manifest {
  readonly engines: { readonly node: string };
  readonly files: readonly string[];
  readonly dependencies: Record<string, string>;
  readonly peerDependencies: Record<string, string>;
  readonly peerDependenciesMeta: Record<string, { readonly optional: boolean }>;
}

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest;
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  packages: Record<string, { readonly dev?: true; readonly engines?: { readonly node?: string } }>;
};
const [packed] = JSON.parse(
  execFileSync('npm', ['pack', '--dry-run', '--json'], { encoding: 'utf8', stdio: 'pipe' }),
) as [{ readonly unpackedSize: number; readonly files: readonly { readonly path: string }[] }];
const paths = packed.files.map(({ path }) => path);

t.test('PKG-1 · what is installed takes at most 60 MB', async (t) => {
  const besides = Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true && existsSync(path))
    .map(([path]) => sizeOf(path));

  t.ok(besides.length > 5, 'the packages of this platform are here');
  t.ok(besides.reduce((sum, size) => sum + size, packed.unpackedSize) < 60e6);
});

t.test(
  'PKG-1 · the oldest Node.js that the package accepts is accepted by each package that it installs',
  async (t) => {
    const oldest = versionOf(manifest.engines.node.replace('>=', ''));
    const wanted = Object.entries(packages).filter(([path, { dev }]) => path !== '' && dev !== true);
    const refusing = wanted.filter(([, { engines }]) => !accepts(engines?.node ?? '*', oldest)).map(([path]) => path);

    t.ok(wanted.some(([, { engines }]) => engines?.node?.startsWith('>=20')));
    t.notOk(accepts('>=20.20', oldest) || accepts('^18 || 21.x', oldest), 'the check can fail');
    t.same(refusing, []);
  },
);

t.test('PKG-1 · the native HTTP server is installed by those alone who ask for it', async (t) => {
  t.same(Object.keys(manifest.peerDependencies), ['uWebSockets.js']);
  t.same(manifest.peerDependenciesMeta, { 'uWebSockets.js': { optional: true } });
});

t.test('PKG-1 · the package holds the program once, without source maps', async (t) => {
  t.same(
    paths.filter((path) => path.endsWith('.map')),
    [],
  );
  t.same(
    paths.filter((path) => /^dist\/(?!bundle\/|licences\/|runtime\/inspector\/page\/|cli\/main\.js|sbom)/.test(path)),
    [],
  );
});

t.test('SEC-9 · what is packed holds the bill and the licences', async (t) => {
  t.ok(paths.includes('dist/sbom.cdx.json'));
  t.same(
    paths.filter((path) => path.startsWith('dist/licences/')),
    readdirSync('dist/licences').map((name) => `dist/licences/${name}`),
  );
});

t.test('PKG-1 · no secrets of a deployment are packed', async (t) => {
  t.equal(manifest.files.at(-1), '!**/.env', 'last, because an entry after it would include again');
  t.ok(readFileSync('.dockerignore', 'utf8').split('\n').includes('**/.env'));
});

t.test('PKG-1 · what the program loads is in the package or installed with it', async (t) => {
  const known = new Set([
    ...builtinModules,
    ...Object.keys(manifest.dependencies),
    ...Object.keys(manifest.peerDependencies),
  ]);
  // Found where a statement stands: text in the program that only looks like one has more before it.
  const statement =
    /(?:^(?:import|export)\b[^'"\n]*?|^\} from |(?<!`)\bimport\(|(?<!`)\brequire(?:\.resolve)?\()\s*["']([^."'][^"'\s]*)["']/gm;
  const missing = new Map<string, string>();
  let seen = 0;
  for (const path of paths.filter((one) => /^dist\/(?:bundle|cli)\/.*\.js$/.test(one))) {
    for (const [, name = ''] of readFileSync(path, 'utf8').matchAll(statement)) {
      seen += 1;
      if (name.startsWith('node:') || known.has(packageOf(name))) continue;
      missing.set(name, path);
    }
  }

  t.ok(seen > 100, 'statements are found');
  t.same([...missing], []);
});

t.test('PKG-2 · the README leads to a page for each first use, and to what follows it', async (t) => {
  const readme = readFileSync('README.md', 'utf8');
  const pages = ['quick-starts', 'install', 'deploy', 'service', 'CHANGELOG'].map((name) => `docs/${name}.md`);
  for (const page of [...pages, '.github/SECURITY.md']) t.ok(readme.includes(`](${page})`) && existsSync(page), page);
  for (const task of ['Install', 'Upgrade', 'Back up and restore', 'Uninstall']) {
    t.ok(readFileSync('docs/install.md', 'utf8').includes(`\n## ${task}\n`), task);
  }
});

/** Whether a range, as packages write it, includes a version. */
function accepts(range: string, version: number): boolean {
  return range.split('||').some((one) => {
    const [, sign = '', from = '0'] = /^\s*(>=|[\^~])?\s*v?([\d.]*)/.exec(one) ?? [];
    const least = versionOf(from);
    return version >= least && (sign === '>=' || from === '' || Math.floor(version / 1e6) === Math.floor(least / 1e6));
  });
}

function versionOf(text: string): number {
  const [major = 0, minor = 0, patch = 0] = text.split('.').map(Number);
  return major * 1e6 + minor * 1e3 + patch;
}

function packageOf(name: string): string {
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');
}

function sizeOf(path: string): number {
  const stats = statSync(path);
  if (!stats.isDirectory()) return stats.size;
  return readdirSync(path)
    .filter((name) => name !== 'node_modules')
    .reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}
