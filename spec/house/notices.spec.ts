import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { resolve } from 'node:path';
import t from 'tap';
import { build } from 'vite';
import { makeHome } from '../support/home.ts';
import { notesPackages, pagePackages, programPackages } from './bundled-packages.ts';

interface Locked {
  readonly dev?: true;
  readonly hasInstallScript?: true;
}

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, Locked> };
const bill = JSON.parse(readFileSync('dist/sbom.cdx.json', 'utf8')) as {
  bomFormat: string;
  components: readonly { name: string; version: string; licenses?: readonly unknown[]; hashes?: readonly unknown[] }[];
};
const named = new Set(bill.components.map(({ name }) => name));
const licences = readdirSync('dist/licences').map((file) => file.slice(0, file.lastIndexOf('@')).replace('__', '/'));

t.test(
  'SEC-9 · the bill of materials names what is shipped, each with its licence and digest, and nothing else',
  async (t) => {
    const { dependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<
      string,
      Record<string, string>
    >;
    const bundled = new Set(
      [pagePackages, programPackages].flatMap((list) =>
        (JSON.parse(readFileSync(list, 'utf8')) as string[]).map((path) => path.replace('node_modules/', '')),
      ),
    );

    t.equal(bill.bomFormat, 'CycloneDX');
    t.same(
      Object.keys(dependencies ?? {}).filter((name) => !named.has(name)),
      [],
    );
    t.same(
      Object.keys(devDependencies ?? {}).filter((name) => named.has(name) !== bundled.has(name)),
      [],
      'of the development’s packages those alone whose code lies in the program or the page',
    );
    t.same(
      bill.components.filter(({ licenses, hashes }) => !licenses?.length || !hashes?.length),
      [],
    );
    t.same(licences.toSorted(), [...named].toSorted());
  },
);

t.test('SEC-9 · each licence is a text and not a name alone', (t) => {
  for (const file of readdirSync('dist/licences')) {
    t.match(readFileSync(`dist/licences/${file}`, 'utf8'), /permission|redistribution|licensor/i, file);
  }
  t.end();
});

t.test('SEC-9 · the sources that a package bundles have their licences too', (t) => {
  const text = (name: string): string =>
    readFileSync(`dist/licences/${readdirSync('dist/licences').find((file) => file.startsWith(name))}`, 'utf8');
  for (const name of ['lmdb@', '@lmdb__lmdb-']) {
    for (const part of [/The OpenLDAP Public License/, /Howard Chu, Symas Corp/, /LZ4 Library[\s\S]*Yann Collet/])
      t.match(text(name), part, name);
  }
  t.match(text('undici@'), /lib\/web\/fetch\/LICENSE:/);
  t.end();
});

t.test('SEC-9 · a package that the page imports is listed by its build, and one that it does not is not', async (t) => {
  const { path } = makeHome(t, {
    'main.js':
      "import { parse } from 'yaml'; import url from 'elkjs/lib/elk-worker.min.js?url'; console.log(parse, url, make());\nconst make = () => new Worker(new URL('worker.js', import.meta.url), { type: 'module' });",
    'worker.js': "import { LRUCache } from 'lru-cache'; console.log(LRUCache);",
  });
  symlinkSync(resolve('node_modules'), `${path}/node_modules`);
  const found = new Set<string>();

  await build({
    configFile: false,
    root: path,
    logLevel: 'silent',
    plugins: [notesPackages(path, found)],
    worker: { plugins: () => [notesPackages(path, found)] },
    build: { write: false, assetsInlineLimit: 0, rollupOptions: { input: `${path}/main.js` } },
  });

  t.same([...found].sort(), ['node_modules/elkjs', 'node_modules/lru-cache', 'node_modules/yaml']);
});

t.test('SEC-9 · licences that are missing are made again, and what npm complains of is passed on', (t) => {
  const files = { 'package.json': '{"name":"x","version":"1.0.0","dependencies":{"yaml":"2.9.1"}}' };
  const lock = { name: 'x', version: '1.0.0', lockfileVersion: 3, packages: {} };
  const folder = makeHome(t, {
    ...files,
    'package-lock.json': JSON.stringify(lock),
    'spec/house/build-notices.ts': '',
    'dist/sbom.cdx.json': '{}',
    [pagePackages]: '[]',
    [programPackages]: '[]',
  }).path;
  const script = new URL('./build-notices.js', import.meta.url).pathname;

  const { status, stderr } = spawnSync(process.execPath, [script], { cwd: folder, encoding: 'utf8' });

  t.equal(status, 1);
  t.match(stderr, /npm sbom failed; run `npm ci`/);
  t.match(stderr, /npm error .*yaml/s);
  t.end();
});

t.test('SEC-9 · installing runs no scripts, and the packages that have one do without it', async (t) => {
  t.match(readFileSync('.npmrc', 'utf8'), /^ignore-scripts=true$/m);
  const shipped = Object.entries(packages).filter(
    ([, { dev, hasInstallScript }]) => dev !== true && hasInstallScript === true,
  );

  t.same(
    shipped.map(([path]) => path),
    ['node_modules/lmdb', 'node_modules/msgpackr-extract'],
    'a new one needs a look whether it works without its script, and a line in decision 0002',
  );
});
