import t from 'tap';
import { parseJsonc, parseToml } from '../../../machines/config/foreign-text.ts';
import { isLinear } from '../../support/linear.ts';
import { fc } from '../../support/property.ts';

t.test('CLI-5 · comments and a last comma of JSON are skipped, and not in strings', (t) => {
  const rows: readonly (readonly [string, unknown])[] = [
    ['{"a": 1, // one\n /* two */ "b": [1, 2,], }', { a: 1, b: [1, 2] }],
    ['{"u": "https://x/*y*/", "c": ",}"}', { u: 'https://x/*y*/', c: ',}' }],
    ["{ a: 'it\\'s \"x\"', $b_1: {c: 'https://x'}, // d: 1\n }", { a: 'it\'s "x"', $b_1: { c: 'https://x' } }],
    ['\uFEFF{"a": "\\"// no"}', { a: '"// no' }],
  ];
  for (const [text, value] of rows) t.same(parseJsonc(text), { kind: 'read', value }, text);
  for (const text of ['', '{', "{a: 'b\n}", '{"token": "s3cret" "x"}', '/* never ends']) {
    const verdict = parseJsonc(text);
    t.equal(verdict.kind, 'malformed', text);
    t.notMatch(JSON.stringify(verdict), 's3cret');
  }
  for (const piece of ['\\"', "\\'", 'a', ' ', '/*'])
    t.ok(
      isLinear(
        (size) => () => parseJsonc(`"${piece.repeat(size)}\n'${piece.repeat(size)}\n${piece.repeat(size)}`),
        1_000,
      ),
    );
  t.end();
});

t.test('CLI-5 · JSON is read as JSON.parse reads it', (t) => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      t.same(parseJsonc(text), { kind: 'read', value: JSON.parse(text) });
    }),
  );
  t.end();
});

t.test('CLI-5 · TOML becomes JSON values: dates are texts, and no key reaches a prototype', (t) => {
  const rows: readonly (readonly [string, unknown])[] = [
    ['\uFEFF# nothing\n\n', {}],
    ['a = 1 # one\nb = "x#y"\r\nc = true', { a: 1, b: 'x#y', c: true }],
    ['[[s]]\nn = 1\n[[s]]\nn = 2\n[s.t]\nx = 1', { s: [{ n: 1 }, { n: 2, t: { x: 1 } }] }],
    ['a = { x = 1, y.z = "2", l = [{}] }', { a: { x: 1, y: { z: '2' }, l: [{}] } }],
    ['a = nan\nb = -inf\nc = 0xFF', { a: null, b: null, c: 255 }],
    [
      'a = 2026-11-05T10:00:00Z\nb = 2026-11-05 10:00:00\nc = 10:00:00',
      { a: '2026-11-05T10:00:00.000Z', b: '2026-11-05T10:00:00.000', c: '10:00:00.000' },
    ],
  ];
  for (const [text, value] of rows) t.same(parseToml(text), { kind: 'read', value }, text);
  const kept = parseToml('__proto__.polluted = true\n[constructor]\nx = 1');
  t.equal(({} as Record<string, unknown>).polluted, undefined);
  t.ok(kept.kind === 'read' && Object.hasOwn(kept.value as object, '__proto__'));
  t.end();
});

t.test('CLI-5 · malformed TOML is refused with its line, and not quoted', (t) => {
  const rows: readonly (readonly [string, RegExp])[] = [
    ['a = 1\n= 2', /^not TOML at line 2: .*end of key/],
    ['a = 1\n\na = 2', /^not TOML at line 3: .*already defined/],
    ['token = "secret', /^not TOML at line 1: unfinished string$/],
    [`a = ${'['.repeat(200)}`, /^not TOML at line 1: .*nested/],
  ];
  for (const [text, why] of rows) t.match(parseToml(text), { kind: 'malformed', why }, text.slice(0, 40));
  t.ok(isLinear((size) => () => parseToml(`a = """${'""\\"'.repeat(size)}`), 1_000));
  t.end();
});
