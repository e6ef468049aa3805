import t from 'tap';
import { parseJsonc } from '../../../machines/config/jsonc.ts';
import { fc } from '../../support/property.ts';

t.test('CLI-5 · comments and a last comma are passed over, and not in strings', (t) => {
  const rows: readonly (readonly [string, unknown])[] = [
    ['{"a": 1, // one\n /* two */ "b": [1, 2,], }', { a: 1, b: [1, 2] }],
    ['{"u": "https://x/*y*/", "c": ",}"}', { u: 'https://x/*y*/', c: ',}' }],
    ["{ a: 'it\\'s \"x\"', $b_1: {c: 'https://x'}, // d: 1\n }", { a: 'it\'s "x"', $b_1: { c: 'https://x' } }],
    ['\uFEFF{"a": "\\"// no"}', { a: '"// no' }],
  ];
  for (const [text, value] of rows) t.same(parseJsonc(text), { kind: 'read', value }, text);
  for (const text of ['', '{', '{"token": "s3cret" "x"}', '/* never ends']) {
    const verdict = parseJsonc(text);
    t.equal(verdict.kind, 'malformed', text);
    t.notMatch(JSON.stringify(verdict), 's3cret');
  }
  t.end();
});

t.test('CLI-5 · what is JSON stays what it is', (t) => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      t.same(parseJsonc(text), { kind: 'read', value: JSON.parse(text) });
    }),
  );
  t.end();
});
