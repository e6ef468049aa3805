/**
 * Writes what the package says of its dependencies: `dist/sbom.cdx.json`, a CycloneDX bill of materials that npm makes from
 * the lockfile, and `dist/licences/`, the licence and notice texts of each and of the sources that it bundles. Both hold what
 * is installed with the package and what is bundled into the program and the inspector's page, nothing that only builds or tests it. Made again when the lockfile changes.
 * @see SEC-9 in docs/specification.md
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { pagePackages, programPackages } from './bundled-packages.ts';

const bill = 'dist/sbom.cdx.json';
const licences = 'dist/licences';
const sources = ['package.json', 'package-lock.json', 'spec/house/build-notices.ts', pagePackages, programPackages];

const standards = 'spec/house/licences';
const isLicence = /^(?:licen[cs]e|copying)/i;
const isNotice = /^(?:notice|copyright)/i;
const isCode = /\.(?:[cm]?[jt]sx?|json|map)$/i;
/** Prebuilt parts whose licence lies in the package of the same project. */
const projects = {
  'node_modules/@lmdb/': 'node_modules/lmdb',
  'node_modules/@msgpackr-extract/': 'node_modules/msgpackr-extract',
};

interface Manifest {
  readonly author?: string | { readonly name: string };
  readonly repository?: string | { readonly url: string };
}

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

if (!isNewer(bill) || !existsSync(licences)) {
  const shipped = shippedPackages();
  // All of them before the first is written: a folder that is there counts as complete.
  const notices = shipped.map(([path, { version, license }]) => ({
    file: `${licences}/${nameOf(path).replace('/', '__')}@${version}.txt`,
    text: noticeOf(path, license),
  }));
  rmSync(licences, { recursive: true, force: true });
  mkdirSync(licences, { recursive: true });
  for (const { file, text } of notices) writeFileSync(file, text);
  const refs = new Set(shipped.map(([path, { name, version }]) => `${name ?? nameOf(path)}@${version}`));
  writeFileSync(bill, `${JSON.stringify(billOf(refs), null, 2)}\n`);
}

/**
 * The lockfile's packages that are installed here with the package, or bundled into it; those of other systems are not.
 * Development dependencies are among them where their code lies in the program or the page.
 */
function shippedPackages(): readonly (readonly [path: string, Locked])[] {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, Locked> };
  const bundled = [pagePackages, programPackages].flatMap(
    (list) => JSON.parse(readFileSync(list, 'utf8')) as readonly string[],
  );
  const unlocked = bundled.filter((path) => packages[path] === undefined);
  if (unlocked.length > 0) throw new Error(`the bundles hold ${unlocked.join(', ')}, which the lockfile leaves out`);
  return Object.entries(packages).filter(
    ([path, { dev }]) => path !== '' && (dev !== true || bundled.includes(path)) && existsSync(path),
  );
}

/** The package's own licence and notice files; without a licence, those of its project, or the standard text. */
function noticeOf(path: string, license: string | undefined): string {
  const own = textsOf(path);
  if (own.some(([name]) => isLicence.test(name))) return joined(own);
  const project = Object.entries(projects).find(([scope]) => path.startsWith(scope))?.[1];
  if (project !== undefined) return joined([...textsOf(project), ...own]);
  const standard = `${standards}/${license}.txt`;
  if (!existsSync(standard)) throw new Error(`${path} has no licence text, and ${standard} is missing`);
  const { author, repository } = JSON.parse(readFileSync(`${path}/package.json`, 'utf8')) as Manifest;
  const by = typeof author === 'object' ? author.name : author;
  const from = typeof repository === 'object' ? repository.url : repository;
  return joined([
    ['', `${nameOf(path)} by ${by ?? `the authors at ${from}`}\n\n${readFileSync(standard, 'utf8')}`],
    ...own,
  ]);
}

/** The licence and notice texts of a package and of the sources that it bundles, each once; names are paths in the package. */
function textsOf(path: string): readonly (readonly [name: string, text: string])[] {
  const texts = new Map<string, string>();
  const walk = (folder: string): void => {
    const entries = readdirSync(`${path}/${folder}`, { withFileTypes: true });
    for (const { name } of entries.filter((entry) => entry.isFile()).sort(byName)) {
      if (isCode.test(name) || !(isLicence.test(name) || isNotice.test(name))) continue;
      const text = readFileSync(`${path}/${folder}${name}`, 'utf8');
      if (!texts.has(text)) texts.set(text, folder + name);
    }
    for (const { name } of entries.filter((entry) => entry.isDirectory()).sort(byName)) {
      if (name !== 'node_modules' && !name.startsWith('.')) walk(`${folder}${name}/`);
    }
  };
  walk('');
  return [...texts].map(([text, name]) => [name, name.includes('/') ? `${name}:\n\n${text}` : text]);
}

function byName(one: { readonly name: string }, other: { readonly name: string }): number {
  return one.name < other.name ? -1 : 1;
}

function joined(texts: readonly (readonly [name: string, text: string])[]): string {
  return texts.map(([, text]) => text).join('\n\n');
}

/** npm's bill of everything, cut to what is shipped, without what changes from one run to the next. */
function billOf(refs: ReadonlySet<string>): object {
  const made = spawnSync('npm', ['sbom', '--sbom-format', 'cyclonedx', '--loglevel', 'error'], {
    encoding: 'utf8',
    maxBuffer: 64 * 1_048_576,
  });
  if (made.status !== 0) throw new Error(`npm sbom failed; run \`npm ci\`\n${made.stderr}`);
  const text = made.stdout;
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
