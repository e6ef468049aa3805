import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import t from 'tap';
import { parseDocument } from 'yaml';
import { parseWords } from '../../cli/parse.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import { homeSchema } from '../../machines/config/schema.ts';
import { sourceNames } from '../../machines/config/sources.ts';
import { targets } from '../../machines/config/targets.ts';
import { validate } from '../../machines/config/validate.ts';
import { keptSecret, readText } from '../support/read-config.ts';
import { pagesOf } from './pages.ts';
import { sourceFiles } from './sources.ts';

/** Files by their name without a folder, as prose sometimes names them. */
const names = new Set(
  ['machines', 'actors', 'runtime', 'cli', 'spec'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => path.slice(path.lastIndexOf('/') + 1)),
  ),
);

/** Links are not among them: another spec follows those. */
const fullPath = /(?<![\w./~-])(?:machines|actors|runtime|cli|spec)\/(?:[\w-]+\/)*(?:[\w-]+(?:\.[\w-]+)+)?/g;
const sourceName = /(?<![\w./-])[a-z][\w-]*(?:\.[\w-]+)*\.tsx?(?![\w./])/g;

t.test('every file that a page names exists', (t) => {
  let found = 0;
  for (const { path: page, text: written } of pagesOf()) {
    const text = written.replace(/https?:\/\/\S+|\]\([^)]*\)/g, '');
    for (const [path] of text.matchAll(fullPath)) {
      found += 1;
      t.ok(existsSync(path), `${page} names ${path}`);
    }
    for (const [name] of text.matchAll(sourceName)) t.ok(names.has(name), `${page} names ${name}`);
  }
  t.ok(found > 150, 'the paths are found');
  t.end();
});

/** A command between backticks, with values that the program puts in; one with dots stands for several. */
const namedCommand = /`agent ([a-z](?:[^`\\…$[]| (?:\$\{[^}`]*\})+)+)\\?`/g;

t.test('CLI-1 · every command that a page or a text of the program names exists, with its flags', (t) => {
  let found = 0;
  for (const { path, text } of [...pagesOf(), ...sourceFiles()]) {
    for (const [whole, command = ''] of text.matchAll(namedCommand)) {
      found += 1;
      const words = command
        .replace(/(?:\$\{[^}]*\})+|'[^']*'|"[^"]*"/g, 'X')
        .replace(/ [|>#&;].*/, '')
        .split(/\s+/);
      const parsed = parseWords(words);
      // The name of a group stands for its commands, and where a word of the command is a value, it is not known here.
      const unknown = /unknown (?:flag|command "[a-z -]+")/;
      if (parsed.kind === 'misused') t.notMatch(parsed.message, unknown, `${path}: ${whole}`);
    }
  }
  t.ok(found > 400, 'the commands are found');
  t.end();
});

t.test('the rows of a table have as many cells as its head', (t) => {
  let found = 0;
  for (const { path, text } of pagesOf()) {
    const tables = text.replace(/^```[\s\S]*?^```/gm, '').matchAll(/^\|.*(?:\n\|.*)+/gm);
    for (const [table] of tables) {
      found += 1;
      const counts = table.split('\n').map((row) => row.replaceAll('\\|', '').split('|').length);
      t.same([...new Set(counts)], counts.slice(0, 1), `${path}: ${table.slice(0, 60)}`);
    }
  }
  t.ok(found > 40, 'the tables are found');
  t.end();
});

/** Files in the table of each journey: the ways that a request takes in turn, those that few take among them. */
const maxFiles = { 'One webhook': 50, 'One tool call': 23, 'One login': 18, 'A reload': 14 };

t.test('no journey leads through more files than it did', (t) => {
  const sections = readFileSync('docs/ARCHITECTURE.md', 'utf8').split(/^## /m);
  for (const [title, max] of Object.entries(maxFiles)) {
    const rows = sections.find((section) => section.startsWith(title))?.match(/^\|.*$/gm) ?? [];
    const files = new Set([...rows.join().matchAll(fullPath)].map(([path]) => path));
    t.equal(files.size, max, `${title}: ${[...files].join(', ')}`);
  }
  t.end();
});

t.test('CFG-4 · every example in YAML can be read, and a configuration has no error', (t) => {
  let found = 0;
  const sections = Object.keys(homeSchema.properties);
  for (const { path, text } of pagesOf()) {
    for (const [, indent = '', example = ''] of text.matchAll(/^( *)```yaml\n([\s\S]*?)^ *```/gm)) {
      const read = parseDocument(example.replace(new RegExp(`^${indent}`, 'gm'), ''));
      t.same(
        read.errors.map(({ message }) => message),
        [],
        `${path}: ${example.slice(0, 60)}`,
      );
      const value = read.toJS() as JsonObject;
      if (!Object.keys(value).every((key) => sections.includes(key))) continue;
      found += 1;
      t.same(validate(homeSchema, value), [], `${path}: ${example.slice(0, 60)}`);
      const names = [...example.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => name);
      const env = {
        ...Object.fromEntries(names.map((name) => [name, keptSecret])),
        DATABASE_URL: 'postgres://db/agent',
      };
      const { diagnostics } = readText(example, env);
      const errors = diagnostics.filter(({ severity }) => severity === 'error').map(({ message }) => message);
      t.same(errors, [], `${path}: ${example.slice(0, 60)}`);
    }
  }
  t.ok(found > 10, 'the configurations are found');
  t.end();
});

/** The keys of a schema at any depth. */
function keysIn(schema: unknown): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties } = schema as { readonly properties?: object };
  return [...Object.keys(properties ?? {}), ...Object.values(schema).flatMap(keysIn)];
}

t.test('CFG-4 · every key of the configuration is on a page that is written by hand', (t) => {
  const text = pagesOf()
    .filter(({ path }) => path !== 'docs/cli.md')
    .map((page) => page.text)
    .join('\n');
  const keys = new Set(keysIn(homeSchema));
  t.ok(keys.size > 150, 'the keys are found');
  t.same(
    [...keys].filter((key) => !new RegExp(`\\b${key}\\b`).test(text)),
    [],
    'keys that no page names; docs/configuration.md has the table',
  );
  t.end();
});

t.test('SRC-1 · DLV-1 · the README counts the sources and the targets, and the pages list them', (t) => {
  const readme = readFileSync('README.md', 'utf8');
  t.match(readme, `signatures of ${sourceNames.length} sources`, 'README.md');
  t.match(readme, `delivery to ${targets.size} targets`, 'README.md');
  t.match(readme, `Slack, mail and ${targets.size - 2} others`, 'README.md');
  const [, listed = ''] = /Known sources are ([^;]+);/.exec(readFileSync('docs/specification.md', 'utf8')) ?? [];
  t.same(listed.split(', '), sourceNames, 'SRC-1 in docs/specification.md');
  const page = readFileSync('docs/deliveries.md', 'utf8');
  for (const target of targets.keys()) t.match(page, `\n| \`${target}\` | `, `${target} in docs/deliveries.md`);
  t.end();
});

t.test('the README leads to every page', (t) => {
  const readme = readFileSync('README.md', 'utf8');
  for (const page of readdirSync('docs').filter((name) => name.endsWith('.md'))) {
    t.ok(readme.includes(`](docs/${page})`), page);
  }
  t.end();
});

t.test('every link to a heading finds it', (t) => {
  const pages = new Map(pagesOf().map(({ path, text }) => [path, text]));
  let found = 0;
  for (const [page, text] of pages) {
    for (const [, file = '', anchor = ''] of text.matchAll(/\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)/g)) {
      found += 1;
      const target = file === '' ? page : normalize(join(dirname(page), file));
      t.ok(anchorsOf(pages.get(target) ?? '').has(anchor), `${page} links to ${file}#${anchor}`);
    }
  }
  t.ok(found > 20, 'the links are found');
  t.end();
});

/** The anchors that GitHub makes of headings. */
function anchorsOf(text: string): ReadonlySet<string> {
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}
