/**
 * Writes what the package says of its dependencies: `dist/sbom.cdx.json`, a CycloneDX bill of materials that npm makes from
 * the lockfile, and `dist/licences/`, the licence text of each. Both hold what is installed with the package and what is
 * bundled into the inspector's page, nothing that only builds or tests it. Made again when the lockfile changes.
 * @see SEC-9 in docs/specification.md
 */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';

/** Development dependencies whose code lies in the page all the same. */
const bundledIntoPage = ['node_modules/elkjs', 'node_modules/preact'];
const bill = 'dist/sbom.cdx.json';
const licences = 'dist/licences';
const sources = ['package.json', 'package-lock.json', 'spec/house/build-notices.ts'];

interface Locked {
  readonly name?: string;
  readonly version: string;
  readonly license?: string;
  readonly dev?: true;
}

interface Component {
  readonly 'bom-ref': string;
  readonly purl: string;
}

interface Bill {
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
  readonly metadata: { readonly component: object };
}

if (!isNewer(bill)) {
  const shipped = shippedPackages();
  rmSync(licences, { recursive: true, force: true });
  mkdirSync(licences, { recursive: true });
  for (const [path, { version, license }] of shipped) {
    const file = readdirSync(path).find((name) => /^(?:licen[cs]e|copying)/i.test(name));
    if (file === undefined && license === undefined) throw new Error(`${path} says nothing of its licence`);
    const text = file === undefined ? `${license}\n` : readFileSync(`${path}/${file}`, 'utf8');
    writeFileSync(`${licences}/${nameOf(path).replace('/', '__')}@${version}.txt`, text);
  }
  const refs = new Set(shipped.map(([path, { name, version }]) => `${name ?? nameOf(path)}@${version}`));
  writeFileSync(bill, `${JSON.stringify(billOf(refs), null, 2)}\n`);
}

/** The lockfile's packages that are installed here with the package, or bundled into it; those of other systems are not. */
function shippedPackages(): readonly (readonly [path: string, Locked])[] {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, Locked> };
  return Object.entries(packages).filter(
    ([path, { dev }]) => path !== '' && (dev !== true || bundledIntoPage.includes(path)) && existsSync(path),
  );
}

/** npm's bill of everything, cut to what is shipped, without what changes from one run to the next. */
function billOf(refs: ReadonlySet<string>): object {
  const text = execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 64 * 1_048_576,
  });
  const { serialNumber: _, ...whole } = JSON.parse(text) as Bill & { serialNumber: string };
  const components = whole.components.filter((component) => refs.has(component['bom-ref']));
  const missing = [...refs].filter((ref) => !components.some((component) => component['bom-ref'] === ref));
  if (missing.length > 0) throw new Error(`npm sbom leaves out ${missing.join(', ')}`);
  const { timestamp: __, ...metadata } = whole.metadata as Bill['metadata'] & { timestamp: string };
  const { name } = JSON.parse(readFileSync('package.json', 'utf8')) as { name: string };
  const own = whole.dependencies.filter(({ ref }) => refs.has(ref) || ref.startsWith(`${name}@`));
  return {
    ...whole,
    metadata: { ...metadata, component: { ...metadata.component, name } },
    components,
    dependencies: own.map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => refs.has(other)) })),
  };
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

function isNewer(file: string): boolean {
  return existsSync(file) && sources.every((source) => statSync(source).mtimeMs <= statSync(file).mtimeMs);
}
