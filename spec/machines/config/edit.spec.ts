import fc from 'fast-check';
import t from 'tap';
import { parse } from 'yaml';
import { editConfig, editVariable, valueAt } from '../../../machines/config/edit.ts';
import { parseEnvFile } from '../../../machines/config/env-file.ts';

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
    ['no YAML', 'a: [', undefined],
    ['no mapping on the way', 'platforms: 5\n', undefined],
  ];
  for (const [title, text, expected] of rows) t.equal(edited(text), expected, title);
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
    { numRuns: 200 },
  );
  t.equal(valueAt('a: {b: 1}', ['a', 'b']), 1);
  t.equal(valueAt('a: 1', ['a', 'b']), undefined);
  t.equal(valueAt('a: [', ['a']), undefined);
  t.end();
});

t.test('HOME-4 · CLI-1 · a variable is set in its place, and reads back as it was given', (t) => {
  t.equal(editVariable('', 'A', 'x'), 'A="x"\n');
  t.equal(editVariable('# c\n\nB=1', 'A', 'x'), '# c\n\nB=1\nA="x"\n');
  t.equal(
    editVariable('# c\n\nexport A="two\nlines" # why\nB=1\n', 'A', 'x'),
    '# c\n\nexport A="x" # why\nB=1\n',
    'also one of several lines',
  );
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(...'ab$"\'\\#= \n\r{}') }),
      (value) => parseEnvFile(editVariable('A=old\nB=2\n', 'A', value)).get('A') === value,
    ),
  );
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

t.test('HOME-4 · what cannot hold the key is left alone', (t) => {
  for (const text of ['a: [\n', '- a\n- b\n', 'just a text\n', 'platforms: text\n', 'platforms: [a]\n'])
    t.equal(edited(text), undefined, text);
  t.end();
});
