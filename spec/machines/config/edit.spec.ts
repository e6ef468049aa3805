import t from 'tap';
import { parse } from 'yaml';
import type { Json } from '../../../machines/base/json.ts';
import { editConfig, editingConfig, parseConfig, valueAt } from '../../../machines/config/edit.ts';
import { fc, runs } from '../../support/property.ts';

const port = ['platforms', 'webhook', 'extra', 'port'];
const edited = (text: string, path: readonly string[] = port): string | undefined =>
  editConfig(text, [{ path, value: 9 }]);

t.test('HOME-4 · only the characters of a changed value move', (t) => {
  const rows: readonly (readonly [string, string, string | undefined])[] = [
    ['nothing', '', 'platforms:\n  webhook:\n    extra:\n      port: 9\n'],
    [
      'a value among comments',
      'agent: {runner: echo}\nplatforms: # c1\n  webhook: # c2\n    extra: # c3\n      port:   1 # c4\n\n# end\n',
      'agent: {runner: echo}\nplatforms: # c1\n  webhook: # c2\n    extra: # c3\n      port:   9 # c4\n\n# end\n',
    ],
    [
      'a new key among comments',
      'platforms: # c1\n  webhook: # c2\n    enabled: true # c3\n# tail\nagent: {runner: echo} # x\n',
      'platforms: # c1\n  webhook: # c2\n    enabled: true # c3\n    extra:\n      port: 9\n# tail\nagent: {runner: echo} # x\n',
    ],
    [
      'a key with nothing but a comment',
      'platforms: # c1\nagent: {runner: echo}\n',
      'platforms: # c1\n  webhook:\n    extra:\n      port: 9\nagent: {runner: echo}\n',
    ],
    [
      'a flow mapping',
      'platforms: {webhook: {enabled: true, extra: {host: "1"}}} # c\n',
      'platforms: {webhook: {enabled: true, extra: {host: "1", port: 9}}} # c\n',
    ],
    [
      'after a text of several lines',
      'platforms:\n  webhook:\n    extra:\n      routes:\n        a:\n          prompt: |\n            text\n\nx: 1 # c\n',
      'platforms:\n  webhook:\n    extra:\n      routes:\n        a:\n          prompt: |\n            text\n      port: 9\n\nx: 1 # c\n',
    ],
    ['no line end', 'agent: {a: 1}', 'agent: {a: 1}\nplatforms:\n  webhook:\n    extra:\n      port: 9\n'],
    ['only a marker', '---\n# c\n', '---\n# c\nplatforms:\n  webhook:\n    extra:\n      port: 9\n'],
    ['no YAML', 'a: [', undefined],
    ['nested too deep', `b: ${'['.repeat(5_000)}${']'.repeat(5_000)}`, undefined],
    ['no mapping on the way', 'platforms: 5\n', undefined],
  ];
  for (const [title, text, expected] of rows) t.equal(edited(text), expected, title);
  t.end();
});

t.test('HOME-4 · new lines end as those of the file do', (t) => {
  const file = 'agent:\n  runner: echo\nplatforms:\n  webhook:\n    extra: {}\n  # kept\n';
  const withEnds = (text: string | undefined, end: string) => text?.replaceAll('\n', end);
  for (const path of [port, ['mcp_servers', 'a', 'command'], ['agent', 'model', 'name'], ['agent', 'runner']]) {
    t.equal(edited(withEnds(file, '\r\n') ?? '', path), withEnds(edited(file, path), '\r\n'), path.join('.'));
  }
  const mixed = 'agent: {runner: echo}\r\nplatforms: {}\n';
  const added = 'agent: {runner: echo}\r\nplatforms: { webhook: { extra: { port: 9 } } }\n';
  t.equal(edited(mixed), added, 'no other line end moves');
  t.end();
});

t.test('HOME-4 · a list or a mapping is replaced in its place, and no other character moves', (t) => {
  const text =
    'agent: {runner: echo}   # a\nmcp_servers:\n  x:\n    command: old\n    args:   # of x\n    - one\n    - two   # last\n\n  # of y\n  y:  {args: [1,2]}   # end\n';
  const rows: readonly (readonly [string, readonly string[], Json, string, string])[] = [
    ['a list in a block', ['x', 'args'], ['new', 'b: c'], '- one\n    - two   # last', '- new\n    - "b: c"'],
    [
      'a mapping in a block',
      ['x'],
      { command: 'other', env: { A: '1' } },
      'command: old\n    args:   # of x\n    - one\n    - two   # last',
      'command: other\n    env:\n      A: "1"',
    ],
    ['a list in brackets', ['y', 'args'], ['z'], '[1,2]', '[ z ]'],
    ['a mapping in braces', ['y'], { url: 'u' }, '{args: [1,2]}', '{ url: u }'],
  ];
  for (const [title, path, value, before, after] of rows) {
    t.equal(editConfig(text, [{ path: ['mcp_servers', ...path], value }]), text.replace(before, after), title);
  }
  t.end();
});

t.test('HOME-4 · several members are added at once, in their order', (t) => {
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['# c\ns: # d\n  a: {x: 1} # e\n# f\n', '# c\ns: # d\n  a: {x: 1} # e\n  c:\n    y: 1\n  b: 2\n# f\n'],
    ['s: {a: 1} # e\n', 's: {a: 1, c: { y: 1 }, b: 2} # e\n'],
    ['s: # d\nr: 1\n', 's: # d\n  c:\n    y: 1\n  b: 2\nr: 1\n'],
    ['', 's:\n  c:\n    y: 1\n  b: 2\n'],
    ['s: text\n', undefined],
    ['r: &r {a: 1}\ns: *r\n', undefined],
  ];
  const edit = { path: ['s'], value: { c: { y: 1 }, b: 2 }, adds: true } as const;
  for (const [text, expected] of rows) t.equal(editConfig(text, [edit]), expected, text);
  t.end();
});

t.test('HOME-4 · an item is added at the end of a list, and its comments stay', (t) => {
  const rows: readonly (readonly [string, string])[] = [
    [
      's:\n  - tool: a # c1\n  # c2\n  - tool: b\n    arguments: {x: 1} # c3\n# tail\nrest: 1\n',
      's:\n  - tool: a # c1\n  # c2\n  - tool: b\n    arguments: {x: 1} # c3\n  - tool: n\n    arguments:\n      y: 2\n# tail\nrest: 1\n',
    ],
    ['s: [{tool: a}, {tool: b}] # c\n', 's: [{tool: a}, {tool: b}, { tool: n, arguments: { y: 2 } }] # c\n'],
  ];
  const value = { tool: 'n', arguments: { y: 2 } };
  for (const [text, expected] of rows) t.equal(editConfig(text, [{ path: ['s', 2], value }]), expected);
  t.end();
});

t.test('HOME-4 · whatever the mapping, the edit says what it should and nothing else changes', (t) => {
  const leaf = fc.oneof(fc.integer(), fc.boolean(), fc.string({ maxLength: 6 }), fc.constant(null));
  const tree = fc.letrec((tie) => ({
    map: fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.oneof({ maxDepth: 3 }, leaf, tie('map'), fc.array(leaf))),
  })).map;
  fc.assert(
    fc.property(tree, fc.boolean(), (value, flow) => {
      const text = flow ? JSON.stringify(value) : editConfig('', [{ path: ['top'], value: value as never }]);
      const after = edited(text ?? '', ['a', 'b']);
      if (after === undefined) return true;
      const expected = JSON.parse(JSON.stringify(parse(text ?? '') ?? {})) as Record<string, unknown>;
      const { a } = expected;
      expected.a = { ...(typeof a === 'object' && a !== null ? a : {}), b: 9 };
      t.same(parse(after), expected);
      return true;
    }),
    { numRuns: runs(200) },
  );
  t.equal(valueAt('a: {b: 1}', ['a', 'b']), 1);
  t.equal(valueAt('a: 1', ['a', 'b']), undefined);
  t.equal(valueAt('a: [', ['a']), undefined);
  t.equal(valueAt(`a: ${'['.repeat(5_000)}${']'.repeat(5_000)}`, ['b']), undefined);
  t.end();
});

t.test('HOME-4 · whatever the form of an entry, only its own lines change, or nothing does', (t) => {
  const tail = '  # of y\n  y:   {a: 1}\nid: 12345678901234567890   # i\n';
  const rows: readonly (readonly [before: string, readonly string[], Json, after: string | undefined])[] = [
    ['  x:\n', ['x'], { url: 'u' }, '  x:\n    url: u\n'],
    ['  x:   null # n\n', ['x', 'env', 'A'], 'a', '  x:   { env: { A: a } } # n\n'],
    ['  x: ~\n', ['x'], { url: 'u' }, '  x: { url: u }\n'],
    ['  x:\n    cwd:   # none\n', ['x', 'cwd'], '/a', '  x:\n    cwd:   /a # none\n'],
    ['  x:\n    args: # none\n', ['x', 'args'], ['a'], '  x:\n    args: [ a ] # none\n'],
    ['  x: text # n\n', ['x'], { url: 'u' }, '  x: { url: u } # n\n'],
    ['  z: &z {a:  1}\n  x: *z\n', ['x'], { url: 'u' }, '  z: &z {a:  1}\n  x: { url: u }\n'],
    ['  x:\n    args: # c\n    - a\n    - b\n\n', ['x', 'args'], [], '  x:\n    args: [] # c\n\n'],
    ['  x:\n    env: {A:  1}\n', ['x', 'env', 'B'], '1\n2', '  x:\n    env: {A:  1, "B":"1\\n2"}\n'],
    ['  x:\n    note: |\n      a\n\n', ['x', 'note'], 'b', '  x:\n    note: b\n\n'],
    [
      '  x:\n    env:\n      A: 1\n      # B: 2\n\n      # C: 3\n    # args: []\n',
      ['x', 'timeout'],
      5,
      '  x:\n    env:\n      A: 1\n      # B: 2\n\n      # C: 3\n    timeout: 5\n    # args: []\n',
    ],
    ['  ? x\n  : {a:  1}\n', ['x'], { url: 'u' }, '  ? x\n  : { url: u }\n'],
    ['  ? x\n  : a: 1\n', ['x', 'b'], 2, undefined],
  ];
  for (const [before, path, value, after] of rows) {
    const text = `mcp_servers:   # s\n${before}${tail}`;
    const expected = after === undefined ? undefined : `mcp_servers:   # s\n${after}${tail}`;
    t.equal(editConfig(text, [{ path: ['mcp_servers', ...path], value }]), expected, before);
  }
  t.end();
});

t.test('HOME-4 · a long file is edited in pieces', (t) => {
  const names = Array.from({ length: 500 }, (_, index) => `s${index}`);
  const text = `mcp_servers:\n${names.map((name) => `  ${name}: # c\n    command:  a\n`).join('')}`;
  const edits = names.slice(0, 2).map((name) => ({ path: ['mcp_servers', name, 'enabled'], value: false }));
  const pieces = editingConfig(text, edits, parseConfig(text));
  let count = 0;
  while (pieces.next().done !== true) count += 1;
  t.ok(count > 60, `${count}`);
  t.end();
});

t.test('HOME-4 · CLI-5 · a key that YAML reads as a number is changed and taken out as any other', (t) => {
  const text = 'routes:\n  404: # not found\n    prompt: p\n  b: {}\n';
  t.equal(
    editConfig(text, [{ path: ['routes', '404', 'enabled'], value: false }]),
    'routes:\n  404: # not found\n    prompt: p\n    enabled: false\n  b: {}\n',
  );
  t.equal(editConfig(text, [{ path: ['routes', '404'], value: undefined }]), 'routes:\n  b: {}\n');
  t.end();
});

t.test(
  'HOME-4 · a file that names one anchor many times, or begins with a byte order mark, is edited in place',
  (t) => {
    const items = Array.from({ length: 150 }, (_, at) => `r${at}: *one\n`).join('');
    t.equal(edited(`one: &one { x: 1 }\n${items}`, ['a']), `one: &one { x: 1 }\n${items}a: 9\n`);
    t.equal(edited('\uFEFFa:   1 # c\n', ['b']), '\uFEFFa:   1 # c\nb: 9\n');
    t.end();
  },
);

t.test('HOME-4 · a value that an anchor, an alias or a merge key gives to other keys too is left as it is', (t) => {
  const merged = 'all: &all { a: { command: x } }\nmcp_servers:\n  <<: *all\n  b: { command: y }\n';
  const anchored = 'mcp_servers:\n  a: &a { command: x }\n  b: *a\n';
  const server = ['mcp_servers', 'a'];
  const enabled = [...server, 'enabled'];
  const rows: readonly (readonly [string, string, readonly string[], boolean | undefined])[] = [
    ['a server of a merge key, taken out', merged, server, undefined],
    ['a key of a server of a merge key', merged, enabled, false],
    ['a key of an alias', 'base: &base { command: x }\nmcp_servers:\n  a: *base\n', enabled, false],
    ['a key of an anchor that is named elsewhere', anchored, enabled, false],
    ['an anchor that is named elsewhere, taken out', anchored, server, undefined],
    ['a text with an anchor', 'mcp_servers: { a: { enabled: &e true }, b: { enabled: *e } }\n', enabled, false],
  ];
  for (const [title, text, path, value] of rows) t.equal(editConfig(text, [{ path, value }]), undefined, title);

  const base = 'base: &base { command: x, enabled: true }\n';
  const beside = `${base}mcp_servers:\n  a:\n    <<: *base\n    lazy: true # mine\n`;
  t.equal(
    editConfig(beside, [{ path: enabled, value: false }]),
    `${beside}    enabled: false\n`,
    'a key beside a merge key has precedence',
  );
  t.end();
});

t.test('HOME-4 · a name of every object is one that is not there', (t) => {
  t.equal(valueAt('a: {b: 1}', ['a', 'constructor']), undefined);
  t.equal(valueAt('a: {b: 1}', ['a', 'toString', 'name']), undefined);
  t.end();
});

t.test('HOME-4 · what is not there is taken out without a trace', (t) => {
  const take = (text: string) => editConfig(text, [{ path: ['mcp_servers', 'a'], value: undefined }]);
  for (const text of ['', '# only words\n', 'mcp_servers:\n', 'mcp_servers: text\n', 'agent:\n  runner: echo\n'])
    t.equal(take(text), text, text);
  t.equal(
    take('mcp_servers:\n  a: { command: x }\n  # kept\n  b: { command: y }\n'),
    'mcp_servers:\n  # kept\n  b: { command: y }\n',
  );
  t.end();
});

t.test('HOME-4 · a key that is taken out takes nothing of the others with it', (t) => {
  const rows: readonly (readonly [string, string, string])[] = [
    [
      'a pair in a block, its comments, and neighbours of any spelling',
      'mcp_servers:   # all\n  x: {enabled: false}   # keep\n  # of a\n  a:   # of a\n    command: [a,b]\n    # of a\n\n  # of y\n  y: {command: \'y\',   args: ["1",2]}\nagent: {runner: echo}\n',
      'mcp_servers:   # all\n  x: {enabled: false}   # keep\n\n  # of y\n  y: {command: \'y\',   args: ["1",2]}\nagent: {runner: echo}\n',
    ],
    [
      'the last lines',
      'mcp_servers:\n  x: {}   # keep\n\n  a:\n    args:\n    - 1\n',
      'mcp_servers:\n  x: {}   # keep\n\n',
    ],
    ['no line end', 'mcp_servers:\n  x: {}\n  a: 1', 'mcp_servers:\n  x: {}\n'],
    [
      'a list, and a comment that is not in it',
      'mcp_servers:\n  a:\n    args:\n      - 1\n  # of x\n  x: {}\n',
      'mcp_servers:\n  # of x\n  x: {}\n',
    ],
    [
      'a text of several lines',
      'mcp_servers:\n  a:\n    prompt: |\n      one\n\n      # two\n\n# of b\nb: {}\n',
      'mcp_servers: {}\n\n# of b\nb: {}\n',
    ],
    ['the only one', 'mcp_servers:   # all\n  a: {}\n# end\n', 'mcp_servers: {}   # all\n# end\n'],
    ['the only one of braces', 'mcp_servers: { a: { command: x } } # all\n', 'mcp_servers: {} # all\n'],
    ['the first of braces', 'mcp_servers: {a: {command: x},  x:   1}\n', 'mcp_servers: {x:   1}\n'],
    ['the last of braces', 'mcp_servers: { x:   1, a: {command: x} }\n', 'mcp_servers: { x:   1 }\n'],
    ['the last of braces with a comma', 'mcp_servers: { x: 1,  a: 2, }\n', 'mcp_servers: { x: 1, }\n'],
    ['one with no value', 'mcp_servers: { x: 1, a, y: }\n', 'mcp_servers: { x: 1, y: }\n'],
    [
      'one on a line of its own',
      'mcp_servers: {\n  x: 1, # of x\n  a: {b: 1}, # of a\n  y: 2 # of y\n}\n',
      'mcp_servers: {\n  x: 1, # of x\n  y: 2 # of y\n}\n',
    ],
    [
      'the last on a line of its own',
      '{\n  "mcp_servers": {\n    "x": 1, # of x\n    "a": { "b": 1 } # of a\n  }\n}\n',
      '{\n  "mcp_servers": {\n    "x": 1 # of x\n  }\n}\n',
    ],
    [
      'line ends of two characters',
      'mcp_servers:\r\n  a:\r\n    b: 1\r\n  x: {c: 1}\r\n',
      'mcp_servers:\r\n  x: {c: 1}\r\n',
    ],
  ];
  for (const [title, text, expected] of rows) {
    t.equal(editConfig(text, [{ path: ['mcp_servers', 'a'], value: undefined }]), expected, title);
  }
  t.equal(
    editConfig('# The home.\na: 1\nb: {c: 1}\n', [{ path: ['a'], value: undefined }]),
    '# The home.\nb: {c: 1}\n',
    'the words at the top are the file\u2019s',
  );
  t.end();
});

interface Member {
  readonly key: string;
  readonly held: string | readonly Member[];
  readonly flow: boolean;
}

/** Writes a tree as a person might, each pair with a comment of its own; what is said of a pair depends on that alone. */
function written(members: readonly Member[], margin = ''): string {
  return members
    .map(({ key, held, flow }) => {
      const head = `${margin}# of ${key}\n${margin}${key}:`;
      if (typeof held === 'string') return `${head}   ${held}   # also ${key}\n`;
      if (held.length === 0) return `${head} {}  # also ${key}\n`;
      if (flow) return `${head} ${braced(held)}  # also ${key}\n`;
      return `${head}  # also ${key}\n${written(held, `${margin}   `)}`;
    })
    .join('');
}

function braced(members: readonly Member[]): string {
  const inner = members.map(({ key, held }) => `${key}:   ${typeof held === 'string' ? held : braced(held)}`);
  return `{${inner.join(',  ')}}`;
}

function without(members: readonly Member[], [first, ...rest]: readonly string[]): readonly Member[] {
  if (rest.length === 0) return members.filter(({ key }) => key !== first);
  return members.map((one) =>
    one.key === first && typeof one.held !== 'string' ? { ...one, held: without(one.held, rest) } : one,
  );
}

function pathsOf(members: readonly Member[]): readonly (readonly string[])[] {
  return members.flatMap(({ key, held }) => [
    [key],
    ...(typeof held === 'string' ? [] : pathsOf(held).map((path) => [key, ...path])),
  ]);
}

t.test('HOME-4 · whatever is taken out, the text is what a person would have written without it', (t) => {
  const leaf = fc.constantFrom(
    '1',
    'true',
    'text',
    '"a: # b"',
    "'it''s'",
    '[1,2,   3]',
    '|-\n              two\n\n              lines',
  );
  const inline = leaf.filter((text) => !text.startsWith('|'));
  const keys = fc.constantFrom('a', 'b', 'c', '"d e"', "'f'");
  const members = (depth: number, flow: boolean): fc.Arbitrary<readonly Member[]> =>
    fc.uniqueArray(member(depth, flow), { maxLength: 3, selector: ({ key }) => key });
  const member = (depth: number, isFlow: boolean): fc.Arbitrary<Member> =>
    fc.boolean().chain((flow) => {
      const text: fc.Arbitrary<Member['held']> = isFlow || flow ? inline : leaf;
      const held = depth === 0 ? text : fc.oneof(text, members(depth - 1, isFlow || flow));
      return fc.record({ key: keys, held, flow: fc.constant(isFlow || flow) });
    });
  fc.assert(
    fc.property(members(2, false), fc.nat(), (tree, which) => {
      const paths = pathsOf(tree);
      const path = paths[which % Math.max(1, paths.length)];
      if (path === undefined) return;
      const plain = path.map((key) => String(parse(key)));
      const left = without(tree, path);

      const after = editConfig(`# The home.\n\n${written(tree)}`, [{ path: plain, value: undefined }]);

      t.equal(after, `# The home.\n\n${left.length === 0 ? '{}\n' : written(left)}`);
    }),
    { numRuns: runs(300) },
  );
  t.end();
});

t.test('HOME-4 · what cannot hold the key is left alone', (t) => {
  for (const text of ['a: [\n', '- a\n- b\n', 'just a text\n', 'platforms: text\n', 'platforms: [a]\n'])
    t.equal(edited(text), undefined, text);
  t.end();
});
