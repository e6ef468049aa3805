import { readdirSync, readFileSync } from 'node:fs';
import t from 'tap';
import { faultCodes } from '../../machines/base/fault-catalogue.ts';
import { onlyInAll } from '../runner/plan.ts';
import { sourceFiles } from './sources.ts';

const specification = readFileSync('docs/specification.md', 'utf8');
const ids = [...specification.matchAll(/^- \*\*([A-Z]+-\d+)\*\* /gm)].map(([, id = '']) => id);
const specs = readdirSync('spec', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, text: readFileSync(`spec/${name}`, 'utf8') }));
const named = specs.flatMap(namedBy);
/** A test, with those in it, that `npm test` skips whatever its parameters are. */
const inAllTest =
  /^( *)t\.test\((?:(?!=>)[\s\S])*?\bskip: (?:(?!&&|=>|\})[\s\S])*?\binAllOnly\b(?:(?!=>)[\s\S])*?=> \{[\s\S]*?^\1\}?\);$/gm;

/** Returns the rules in the titles of a file. */
function namedBy({ name, text }: (typeof specs)[number]) {
  return (text.match(/t\.test\(\s*['`"]((?:[A-Z]+-\d+ · )+)/g) ?? [])
    .flatMap((title) => title.match(/[A-Z]+-\d+/g) ?? [])
    .map((id) => ({ id, name }));
}

t.test('every rule is named by a spec, and every named rule exists', (t) => {
  const known = new Set(ids);
  const cited = new Set(named.map(({ id }) => id));
  t.ok(ids.length > 80, 'the specification holds the rules');
  t.same(
    ids.filter((id) => !cited.has(id)),
    [],
    'rules without a spec',
  );
  t.same(
    [...cited].filter((id) => !known.has(id)),
    [],
    'specs that name an unknown rule',
  );
  // All that looks like a rule, without the names of standards and the keys of examples.
  const mentioned = sourceFiles().flatMap(({ path, text }) =>
    (text.match(/\b(?!(?:UTF|SHA|CRC|SEP|APP|OPS|ENG)-)[A-Z]{3,}-\d+\b/g) ?? []).map((id) => ({ path, id })),
  );
  t.same(
    mentioned.filter(({ id }) => !known.has(id)),
    [],
    'sources that name an unknown rule',
  );
  t.end();
});

/** What a spec of a folder shows: that a rule decides rightly, that an effect obeys it, or that the whole program does. */
const levels = { rule: /^(machines|paths|house|golden)\//, effect: /^(actors|runtime)\//, whole: /^(cli|journeys)\// };

/** Decisions that each change must see proven at one level only: they need no effect, or have no other door. */
const ofOneLevel = ['CFG-4', 'CFG-5', 'CFG-6', 'EVT-2', 'INS-3', 'INT-3', 'LNG-1', 'SIG-6', 'TPL-2'];

t.test('every other rule is proven at two levels or three by what each change must pass', (t) => {
  const inEach = specs
    .filter(({ name }) => !onlyInAll.some((pattern) => pattern.test(`/${name}`)))
    .flatMap(({ name, text }) => namedBy({ name, text: text.replace(inAllTest, '') }));
  const levelsOf = (rule: string): number =>
    Object.values(levels).filter((level) => inEach.some(({ id, name }) => id === rule && level.test(name))).length;
  t.same(ids.filter((id) => levelsOf(id) < 2).sort(), ofOneLevel);
  t.end();
});

t.test('every fault is in docs/errors.md, every fault there exists, and every code is used', (t) => {
  const page = readFileSync('docs/errors.md', 'utf8');
  const codes: readonly string[] = faultCodes;
  const documented = [...page.matchAll(/^## ([a-z-]+)$/gm)].map(([, code]) => code ?? '');
  t.same(
    codes.filter((code) => !documented.includes(code)),
    [],
  );
  t.same(
    documented.filter((code) => !codes.includes(code)),
    [],
  );
  const sources = sourceFiles()
    .filter(({ path }) => !path.endsWith('fault-catalogue.ts'))
    .map(({ text }) => text)
    .join('\n');
  t.same(
    codes.filter((code) => !sources.includes(`'${code}'`)),
    [],
    'codes that nothing uses',
  );
  t.end();
});

t.test('every code of a finding is in docs/errors.md', (t) => {
  const page = readFileSync('docs/errors.md', 'utf8');
  const files = sourceFiles().filter(({ path }) => /^machines\/(?:config\/|webhook\/filter|cron\/job)/.test(path));
  const written = /code: '([a-z]+(?:-[a-z]+)+)'|,\s*'([a-z]+(?:-[a-z]+)+)',?\s*\)/g;
  const codes = new Set(
    files.flatMap(({ text }) => [...text.matchAll(written)].map(([, one, other]) => one ?? other ?? '')),
  );
  t.ok(codes.size > 80, 'the codes are found');
  for (const code of codes) t.ok(page.includes(`| \`${code}\` |`), code);
  t.end();
});

t.test('every code of a finding, of the configuration or the doctor, is named by a spec or a golden', (t) => {
  const codesOf = (file: string): readonly string[] =>
    [...readFileSync(file, 'utf8').matchAll(/^\| `([a-z]+(?:-[a-z]+)+)` \|/gm)].map(([, code]) => code ?? '');
  const texts = readdirSync('spec', { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:ts|out)$/.test(name))
    .map((name) => readFileSync(`spec/${name}`, 'utf8'))
    .join('\n');
  const codes = [...codesOf('docs/errors.md'), ...codesOf('docs/doctor.md')];
  t.ok(codes.length > 150, 'the codes are found');
  t.same(
    codes.filter((code) => !new RegExp(`\\b${code}\\b`).test(texts)),
    [],
    'codes that no spec names',
  );
  t.end();
});

t.test('every code of a call is in docs/errors.md, and every one there exists', (t) => {
  const [, union = ''] =
    /interface CallFault \{([\s\S]*?);/.exec(readFileSync('machines/mcp/call-faults.ts', 'utf8')) ?? [];
  const codes = [...union.matchAll(/'([a-z_]+)'/g)].map(([, code]) => code ?? '');
  const [, section = ''] = /^# Codes of a call$([\s\S]*?)^# /m.exec(readFileSync('docs/errors.md', 'utf8')) ?? [];
  const documented = [...section.matchAll(/^\| `([a-z_]+)`/gm)].map(([, code]) => code ?? '');
  t.ok(codes.length > 5);
  t.same(documented.sort(), codes.sort());
  t.end();
});

t.test('every refusal of a link and finding of a document is in docs/errors.md, and every one there exists', (t) => {
  const page = readFileSync('docs/errors.md', 'utf8');
  for (const [file, prefix] of [
    ['machines/mcp/install-link.ts', 'link'],
    ['machines/oauth/metadata-document.ts', 'document'],
  ] as const) {
    const codes = new Set(readFileSync(file, 'utf8').match(new RegExp(`'${prefix}-[a-z0-9-]+'`, 'g')) ?? []);
    const documented = [...page.matchAll(new RegExp(`^\\| \`(${prefix}-[a-z0-9-]+)\``, 'gm'))].map(
      ([, code]) => `'${code}'`,
    );
    t.same(documented.sort(), [...codes].sort(), prefix);
  }
  t.end();
});

t.test('every control method is documented, and every documented one exists', async (t) => {
  const { commands } = await import('../../runtime/control/commands.ts');
  const documented = [
    ...readFileSync('docs/control-protocol.md', 'utf8').matchAll(/^#+ `?([a-z]+\.[a-zA-Z]+)`?$/gm),
  ].map(([, name]) => name ?? '');
  t.same(
    [...commands.keys()].filter((name) => !documented.includes(name)),
    [],
    'methods without a heading in docs/control-protocol.md',
  );
  t.same(
    documented.filter((name) => !commands.has(name)),
    [],
    'headings there without a method',
  );
});

t.test('CFG-4 · the shipped schema is the validator’s', async (t) => {
  const { configSchema } = await import('../../machines/config/schema.ts');
  t.same(
    JSON.parse(readFileSync('docs/config.schema.json', 'utf8')),
    JSON.parse(JSON.stringify(configSchema())),
    'npm run schema',
  );
});

t.test(
  'CON-3 · the contract lists every key of agent, targets and inspector with its default, and every variable',
  async (t) => {
    const { homeSchema } = await import('../../machines/config/schema.ts');
    const { agent, inspector, platforms } = homeSchema.properties;
    const { webhook: _, ...targets } = platforms.properties;
    const contract = specification.match(/^- \*\*CON-3\*\* [\s\S]*?(?=\n- \*\*)/m)?.[0] ?? '';
    const lists = (word: string): boolean => new RegExp(`[\`{ ]${word.replaceAll('.', '\\.')}[\`:,}]`).test(contract);
    const sections: readonly KeySchema[] = [agent, inspector, ...(Object.values(targets) as object[])];
    for (const [key, schema] of sections.flatMap(keysOf)) {
      t.ok(lists(key), key);
      const { default: value } = schema;
      if (value === undefined || typeof value === 'object' || key === 'enabled') continue;
      t.ok(lists(`${key}: ${String(value)}`), `${key}: ${String(value)}`);
    }
    const program = readFileSync('actors/agent/run-command.ts', 'utf8');
    for (const [variable] of program.matchAll(/\b(?:AGENT_[A-Z_]+|TRACEPARENT)\b/g)) t.ok(lists(variable), variable);
    t.end();
  },
);

interface KeySchema {
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, object>>;
  readonly additionalProperties?: unknown;
}

/** Every key that a section may hold, at any depth, with its schema. */
function keysOf({ properties = {}, additionalProperties: others }: KeySchema): [string, KeySchema][] {
  const own = Object.entries(properties).flatMap(([key, schema]): [string, KeySchema][] => [
    [key, schema],
    ...keysOf(schema),
  ]);
  return typeof others === 'object' && others !== null ? [...own, ...keysOf(others)] : own;
}

t.test('every dependency has its line of reason', (t) => {
  const { dependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<
    string,
    Record<string, string>
  >;
  const page = readFileSync('docs/decisions/0002-dependencies.md', 'utf8');
  for (const name of Object.keys({ ...dependencies, ...devDependencies })) t.ok(page.includes(`\`${name}\``), name);
  t.end();
});

t.test('pages link to what exists, and no file names a machine', (t) => {
  const pages = [
    'README.md',
    ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`),
  ];
  for (const page of pages) {
    const text = readFileSync(page, 'utf8');
    const folder = page.includes('/') ? page.slice(0, page.lastIndexOf('/')) : '.';
    for (const [, target = ''] of text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)) {
      t.ok(fileExists(`${folder}/${target}`), `${page} links to ${target}`);
    }
    t.notMatch(text, /(?<![\w.])\/(work|root|home)\/[A-Za-z]/, `${page} names no machine's path`);
  }
  t.end();
});

function fileExists(path: string): boolean {
  try {
    readFileSync(path);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EISDIR';
  }
}
