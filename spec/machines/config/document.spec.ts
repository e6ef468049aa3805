import t from 'tap';
import { type JsonObject, objectAt } from '../../../machines/base/json.ts';
import {
  type ConfigPath,
  parseDocument,
  parsingDocument,
  partsOf,
  samePath,
} from '../../../machines/config/document.ts';
import { isLinear } from '../../support/linear.ts';

const text = `# of a person
agent:
  command: [node, main.js]
list:
  - first
  - id: 7
`;

t.test('CFG-2 · a path has the place of its key or item; one that does not exist, of its nearest holder', (t) => {
  const document = parseDocument(text);
  t.same(document.value, { agent: { command: ['node', 'main.js'] }, list: ['first', { id: 7 }] });
  const rows: readonly (readonly [ConfigPath, number, number])[] = [
    [[], 2, 1],
    [['agent'], 2, 1],
    [['agent', 'command'], 3, 3],
    [['agent', 'command', 1], 3, 19],
    [['agent', 'command', '1'], 3, 19],
    [['list', 1, 'id'], 6, 5],
    [['list', 9], 4, 1],
    [['agent', 'nope'], 2, 1],
    [['agent', 'command', 0, 'deeper'], 3, 13],
    [['nope'], 2, 1],
  ];
  for (const [path, line, column] of rows) t.same(document.place(path), { line, column }, path.join('.'));
  t.equal(document.lines[2], '  command: [node, main.js]');
  t.end();
});

t.test('CFG-2 · an empty file holds nothing and every place is its top', (t) => {
  for (const empty of ['', '# only words\n']) {
    const { value, findings, place, lines } = parseDocument(empty);
    t.same([value, findings, place(['a'])], [{}, [], { line: 1, column: 1 }], JSON.stringify(empty));
    t.equal(lines[0], empty.trimEnd());
  }
  t.end();
});

t.test('CFG-2 · a file in UTF-16 is named as such, and none of its lines is printed', (t) => {
  const { findings, lines } = parseDocument(Buffer.from(`\uFEFF${text}`, 'utf16le').toString());
  t.match(findings, [{ line: 1, column: 1, message: /UTF-16.*save it as UTF-8/, code: 'yaml-syntax' }]);
  t.same(lines, []);
  t.end();
});

t.test('CFG-2 · what is no one mapping is a finding with its place', (t) => {
  const many = Array.from({ length: 1_001 }, () => '*a').join(', ');
  const rows: readonly (readonly [string, string, number])[] = [
    ['a: 1\nb: [', 'yaml-syntax', 2],
    ['a: 1\na: 2\n', 'yaml-syntax', 2],
    ['7: 1\n"7": 2\n', 'yaml-syntax', 2],
    ['a: "1"\nb: "2\nc: 3\nd: it\'s\n', 'yaml-syntax', 2],
    ['a:\n  b: "2\n  c: 3\nd: "4"\n', 'yaml-syntax', 2],
    ['a: 1\n---\nb: 2\n', 'yaml-documents', 2],
    ['a: 1\nb: !secret hook\n', 'yaml-syntax', 2],
    ['a: 1\nb: !vault [hook]\n', 'yaml-syntax', 2],
    ['- a\n', 'config-not-mapping', 1],
    ['just words', 'config-not-mapping', 1],
    [`a: &a [1, 2]\nb: [${many}]\n`, 'yaml-aliases', 2],
    ['x: 1\ny: *none\n', 'yaml-aliases', 2],
    ['x: 1\n<<: \n', 'yaml-syntax', 2],
    ['x: 1\n!x <<: \n', 'yaml-syntax', 2],
    ['x: &x 1\n? [a]\n: b', 'yaml-syntax', 2],
    ['x: &x 1\n*x : b', 'yaml-syntax', 2],
    ['x: &x 1\ny:\n  <<: [*x]\n', 'yaml-syntax', 3],
    ['a: 1\nb: {c: &c 1, d: 2,\n c: *c}', 'yaml-syntax', 3],
    ['x: &x\n  y: *x\n', 'yaml-aliases', 2],
    ...['[', '{a: ', '- ', '? '].map((opener) => [`a: 1\nb:\n  ${opener.repeat(50_000)}`, 'yaml-depth', 3] as const),
    [Array.from({ length: 300 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n'), 'yaml-depth', 200],
  ];
  for (const [source, code, line] of rows) {
    const { value, findings } = parseDocument(source);
    t.match(findings, [{ code, line }], source.slice(0, 20));
    t.notMatch(findings[0]?.message, /at line/, 'the place is told once');
    t.same(value, {}, 'nothing of it is used');
  }
  t.same(parseDocument(`a: ${'['.repeat(150)}${']'.repeat(150)}`).findings, [], 'what is deep, but not too deep');
  t.same(parseDocument('a: &a [1]\nb: *a\n').value, { a: [1], b: [1] }, 'an alias as people use it');
  t.same(parseDocument('a: &a { x: 1 }\nb: { <<: *a, y: 2 }\n').value, { a: { x: 1 }, b: { x: 1, y: 2 } }, 'a merge');
  t.end();
});

t.test('CFG-2 · CFG-7 · a text that YAML reads otherwise without quotes is named as that', (t) => {
  const rows: readonly (readonly [string, RegExp])[] = [
    ['prompt: {action} by {user}', /in quotes$/],
    ['  - text: [WIP] done', /in quotes$/],
    ['prompt: Review: {title}', /in quotes$/],
    ['prompt: @all look', /in quotes$/],
    ["prompt: 'it's {title}'", /; inside of single quotes write '' for '$/],
    ['secret: {${SECRET} }', /\$\{…\} in quotes$/],
    ['a: 1\n  b: 2', /compact mappings; begin the next line in the same column as this key$/],
    ['a:\n\tb: 2', /indentation; indent with spaces$/],
    ['a: 1\nb: 2\na: {}', /^not YAML: the key "a" is in line 1 already; merge the two$/],
    [': 1\n: 2', /the key "" is in line 1/],
  ];
  for (const [source, wanted] of rows) t.match(parseDocument(source).findings[0]?.message, wanted, source);
  t.end();
});

t.test('CFG-2 · aliases are refused where they stand for too much, before anything is expanded', (t) => {
  const lines = (count: number, line: (at: number) => string): string =>
    ['a0: &a0 {k: 1}', ...Array.from({ length: count }, (_, at) => `a${at + 1}: &a${at + 1} ${line(at)}`)].join('\n');
  const rows: readonly (readonly [title: string, text: string, finding: object | undefined])[] = [
    ['a chain that doubles', lines(60, (at) => `[*a${at}, *a${at}]`), { line: 12, column: 12, message: /with \*a10,/ }],
    ['a chain of merges', lines(60, (at) => `{<<: [*a${at}, *a${at}]}`), { code: 'yaml-aliases' }],
    ['a chain of single ones', lines(60, (at) => `[*a${at}]`), undefined],
    ['one that is used much', `a: &a 1\nb: [${'*a, '.repeat(1_000)}]`, undefined],
    [
      'one that is used more',
      `a: &a 1\nb: [${'*a, '.repeat(100_000)}]`,
      { line: 2, column: 4_005, message: /^not usable: \*a is/ },
    ],
    ['what looks like aliases', `a: |\n${'  *a\n'.repeat(2_000)}b: "${'*a '.repeat(2_000)}"`, undefined],
  ];
  for (const [title, text, finding] of rows) {
    t.match(parseDocument(text).findings, finding === undefined ? [] : [finding], title);
    t.equal(parseDocument(text).findings.length, finding === undefined ? 0 : 1, title);
  }
  t.end();
});

/** Routes by kinds of writing, more than are composed at once. */
const members = [
  '      NAME: {secret: a0123, prompt: "{x}"}',
  '      # of a person\n      "NAME":\n        prompt: |+\n          one: {a}\n\n      # between\n',
  "      'NAME': # beside\n        events:\n        - push\n        - issues: 0042\n        id: 90071992547409921234",
  '      ? NAME\n      :\n        on: >-\n          folded\n          text\n        port: 0x1F\n        yes: True',
  '      NAME:\n\n        << : {a: 1.10}\n        b: [1, {c: ~}]\n        prompt: "over\n          two lines"\n',
  '      NAME: ~',
  '      NAME: # nothing',
].flatMap((member) => Array.from({ length: 20 }, () => member));
const routesOf = (all: readonly string[]): string =>
  `agent: {}\nplatforms:\n  webhook:\n    routes:\n${all.map((one, at) => one.replace('NAME', String(at % 7 === 0 ? at : `r${at}`))).join('\n')}\n      # the end\n    port: 1\n`;
/** With an anchor, a document is composed as a whole. */
const asWhole = (text: string): string => `${text}zz: &whole 1\n`;

t.test('CFG-2 · a long mapping is composed in pieces, to the same values, places and findings as at once', (t) => {
  const turned = [...members.slice(60), ...members.slice(0, 60)];
  const schema = { properties: {}, additionalProperties: true } as const;
  const piecesOf = (text: string): number => [...parsingDocument(text, schema)].length;
  const inPieces = Math.ceil(members.length / 32);
  const rows: readonly (readonly [title: string, text: string, isSound: boolean, pieces: number])[] = [
    ['of every kind', routesOf(members), true, inPieces],
    ['in another order', routesOf(turned), true, inPieces],
    ['with carriage returns', routesOf(members).replaceAll('\n', '\r\n'), true, inPieces],
    ['a name that is a prototype', routesOf([...members, '      __proto__: {a: 1}']), true, inPieces],
    ['a name twice', routesOf([...members, '      r1: {}']), false, inPieces],
    ['a name twice, of which one is a number', routesOf([...members, '      "0": {}']), false, inPieces],
    ['a key twice in a member', routesOf([...members, '      last: {a: 1, a: 2}']), false, 0],
    ['a member that is no YAML', routesOf([...members, '      last: {a: "1}']), false, 0],
    ['two errors, one of them at the end', `${routesOf(turned.with(40, '       odd: 1'))}a: {b: 1{}\n`, false, 2],
    ['a member further to the left', routesOf([...members, '     last: 1']), false, inPieces],
    ['a merge', routesOf([...members, '      <<: {added: {}}']), true, 0],
    ['a tag', routesOf([...members, '      last: !env A']), false, 0],
    ['two documents', `${routesOf(members)}---\na: 1\n`, false, 0],
    ['in braces', `mcp_servers: {${members.map((_, at) => `s${at}: {a: ${at}}`).join(', ')}}\n`, true, 0],
  ];
  const under = ['platforms', 'webhook', 'routes'];
  const paths = members.flatMap((_, at) => [`r${at}`, `${at}`].map((name) => [...under, name, 'prompt']));
  for (const [title, text, isSound, pieces] of rows) {
    const [found, whole] = [parseDocument(text, schema), parseDocument(asWhole(text), schema)];
    const { zz: _, ...value } = whole.value;
    t.strictSame(found.value, value, title);
    t.strictSame(found.findings, whole.findings, title);
    t.equal(found.findings.length === 0, isSound, title);
    for (const path of isSound ? paths : [])
      if (found.place(path).line !== whole.place(path).line) t.fail(`${title}: ${path.join('.')}`);
    t.equal(piecesOf(text) - piecesOf(asWhole(text)), pieces, title);
  }
  t.end();
});

t.test('CFG-2 · the parts of a file are together the file, its long mappings a few members at a time', (t) => {
  const { value } = parseDocument(routesOf(members));
  const parts = [...partsOf(value)];
  const routes = (part: JsonObject) => Object.entries(objectAt(part, 'platforms', 'webhook', 'routes'));
  t.strictSame(Object.fromEntries(parts.flatMap(routes)), objectAt(value, 'platforms', 'webhook', 'routes'));
  t.ok(parts.every((part) => routes(part).length <= 32));
  t.strictSame(parts.at(-1), { agent: {}, platforms: { webhook: { routes: {}, port: 1 } } });
  t.end();
});

t.test('CFG-2 · the time to read grows with the text, whatever its keys and aliases', (t) => {
  const rows: Readonly<Record<string, (size: number) => string>> = {
    keys: (size) => Array.from({ length: size }, (_, at) => `k${at}: 1`).join('\n'),
    anchors: (size) => Array.from({ length: size }, (_, at) => `k${at}: &k${at} 1`).join('\n'),
    'keys in braces': (size) => `{${Array.from({ length: size }, (_, at) => `k${at}: 1`).join(', ')}}`,
    aliases: (size) => `a: &a 1\nb: [${'*a, '.repeat(size)}]`,
  };
  for (const [title, text] of Object.entries(rows)) {
    t.ok(
      isLinear((size) => {
        const source = text(size);
        return () => parseDocument(source);
      }, 1_000),
      title,
    );
  }
  t.end();
});

t.test('FIL-2 · CFG-2 · a whole number beyond 2^53 is the text of its digits, as it is in a payload', (t) => {
  const rows: readonly (readonly [written: string, value: unknown])[] = [
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', '9007199254740992'],
    ['-10000000000000000001', '-10000000000000000001'],
    ['+10000000000000000001', '10000000000000000001'],
    ['010000000000000000001', '10000000000000000001'],
    ['0x20000000000001', '9007199254740993'],
    ['10000000000000000001.5', 1e19],
    ['1e19', 1e19],
    ["'10000000000000000001'", '10000000000000000001'],
    ['!!str 10000000000000000001', '10000000000000000001'],
  ];
  for (const [written, value] of rows) {
    t.strictSame(parseDocument(`a: &a [${written}]\nb: *a`).value, { a: [value], b: [value] }, written);
  }
  const keyed = parseDocument('10000000000000000001: { a: 1 }');
  t.same(keyed.value, { '10000000000000000001': { a: 1 } });
  t.same(keyed.place(['10000000000000000001', 'a']), { line: 1, column: 25 });
  t.end();
});

t.test('DLV-2 · CFG-2 · a phone number without quotes keeps its plus', (t) => {
  const rows: readonly (readonly [written: string, value: unknown])[] = [
    ['+15551234567', '+15551234567'],
    ['+491701234567', '+491701234567'],
    ['+5', 5],
    ['+0123456789', 123456789],
    ['15551234567', 15551234567],
  ];
  for (const [written, value] of rows) t.strictSame(parseDocument(`a: ${written}`).value, { a: value }, written);
  t.end();
});

t.test('CFG-2 · neither a byte order mark nor a carriage return is part of a line', (t) => {
  const { value, findings, place, lines } = parseDocument('\uFEFFa: 1\r\nb: 2\r\n');
  t.same([value, findings], [{ a: 1, b: 2 }, []]);
  t.same(place(['a']), { line: 1, column: 1 });
  t.same(place(['b']), { line: 2, column: 1 });
  t.same(lines, ['a: 1', 'b: 2', '']);
  t.end();
});

t.test('CFG-2 · CFG-7 · a tag of another program is named, with what to write', (t) => {
  const [found] = parseDocument('a: !env HOOK_SECRET\n').findings;
  t.match(found, { line: 1, column: 4, message: /the tag !env means nothing here; .*"\$\{NAME\}"/ });
  t.same(parseDocument('a: !!str 7\nb: ! x\n').value, { a: '7', b: 'x' });
  t.end();
});

t.test('CFG-2 · two paths are one where their steps are, an index as its text', (t) => {
  t.ok(samePath(['a', 1], ['a', '1']));
  t.notOk(samePath(['a'], ['a', 1]));
  t.notOk(samePath(['a', 1], ['a', 2]));
  t.end();
});
