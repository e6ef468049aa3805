import t from 'tap';
import type { Json, JsonObject } from '../../../machines/base/json.ts';
import { parseToml } from '../../../machines/config/toml.ts';
import { isLinear } from '../../support/linear.ts';
import { fc, runs } from '../../support/property.ts';

t.test('CLI-5 · TOML reads as its specification says', (t) => {
  const rows: readonly (readonly [string, JsonObject])[] = [
    ['', {}],
    ['# nothing\n\n', {}],
    ['a = 1 # one\nb = "x#y"\r\nc = true', { a: 1, b: 'x#y', c: true }],
    ['a.b.c = 1\na.b.d = 2', { a: { b: { c: 1, d: 2 } } }],
    ['"a b".\'c.d\' = 1', { 'a b': { 'c.d': 1 } }],
    ['[a]\nx = 1\n[a.b]\ny = 2\n[c]', { a: { x: 1, b: { y: 2 } }, c: {} }],
    ['[a.b]\n[a]\nx = 1', { a: { b: {}, x: 1 } }],
    ['[[s]]\nn = 1\n[[s]]\nn = 2\n[s.t]\nx = 1', { s: [{ n: 1 }, { n: 2, t: { x: 1 } }] }],
    ['a = [1, [2, 3], # c\n "x",\n]', { a: [1, [2, 3], 'x'] }],
    ['a = { x = 1, y.z = "2", l = [{}] }', { a: { x: 1, y: { z: '2' }, l: [{}] } }],
    ['a = "\\u00e9\\U0001F600\\n\\"\\\\"', { a: 'é😀\n"\\' }],
    ["a = 'C:\\n\\x'", { a: 'C:\\n\\x' }],
    ['a = """\nx\n  "quoted" \\\n   on"""', { a: 'x\n  "quoted" on' }],
    ['a = """x"""""', { a: 'x""' }],
    ["a = '''\nx\\y\n'''", { a: 'x\\y\n' }],
    ['a = +1_000\nb = -0.5e3\nc = 0xFF\nd = 0o17\ne = 0b11', { a: 1_000, b: -500, c: 255, d: 15, e: 3 }],
    [
      'a = 2026-11-05T10:00:00Z\nb = 2026-11-05 10:00:00\nc = 10:00:00',
      { a: '2026-11-05T10:00:00.000Z', b: '2026-11-05T10:00:00.000', c: '10:00:00.000' },
    ],
  ];
  for (const [text, value] of rows) t.same(parseToml(text), { kind: 'read', value }, text);
  const kept = parseToml('__proto__.polluted = true\n[constructor]\nx = 1');
  t.equal(({} as Record<string, unknown>).polluted, undefined);
  t.ok(kept.kind === 'read' && Object.hasOwn(kept.value, '__proto__'));
  t.end();
});

t.test('CLI-5 · a malformed document is refused with its line, and not quoted', (t) => {
  const rows: readonly (readonly [string, number, RegExp])[] = [
    ['a = 1\n= 2', 2, /end of key/],
    ['a = 1\n\na = 2', 3, /already defined/],
    ['[a]\n[a]', 2, /already defined/],
    ['a = 1\n[a.b]', 2, /already defined/],
    ['a.b = 1\n[a]', 2, /already defined/],
    ['[a', 1, /end of key/],
    ['a = 01', 1, /leading zero/],
    ['token = "secret', 1, /^unfinished string$/],
    ['a = [1 2]', 1, /expected comma/],
    [`a = ${'['.repeat(200)}`, 1, /nested/],
  ];
  for (const [text, line, why] of rows) t.match(parseToml(text), { kind: 'malformed', line, why }, text.slice(0, 40));
  t.end();
});

const key = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9_-]{1,8}$/),
  fc.string({ minLength: 1, maxLength: 6, unit: 'binary' }),
);
const scalar = fc.oneof(fc.boolean(), fc.integer(), fc.string({ unit: 'binary', maxLength: 12 }));
const value = fc.letrec<{ any: Json }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    scalar,
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(key, tie('any'), { maxKeys: 3 }),
  ),
})).any;

t.test('CLI-5 · whatever a table holds is read back as it was written, inline or under headers', (t) => {
  fc.assert(
    fc.property(fc.dictionary(key, value, { maxKeys: 4 }), (table) => {
      const inline = Object.entries(table).map(([name, one]) => `${quoted(name)} = ${spell(one)}`);
      const headed = `[${'a . "b c"'}]\n${inline.join('\n')}`;
      t.same(parseToml(inline.join('\n')), { kind: 'read', value: { ...table } });
      t.same(parseToml(headed), { kind: 'read', value: { a: { 'b c': { ...table } } } });
    }),
    { numRuns: runs(150) },
  );
  t.end();
});

t.test('CLI-5 · no text makes the reader hang or throw', (t) => {
  const piece = fc.oneof(
    fc.constantFrom('[', ']', '{', '}', '=', '"', "'", '"""', "'''", '\\', '\n', '.', ',', '#', ' ', 'a', '1', 'true'),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const verdict = parseToml(pieces.join(''));
      return verdict.kind === 'read' || verdict.line >= 1;
    }),
    { numRuns: runs(500) },
  );
  const parse = (size: number) => {
    const text = `a = """${'""\\"'.repeat(size)}`;
    return () => parseToml(text);
  };
  t.ok(isLinear(parse, 1_000));
  t.end();
});

function spell(one: Json): string {
  if (Array.isArray(one)) return `[${one.map(spell).join(', ')}]`;
  if (typeof one === 'object' && one !== null) {
    return `{${Object.entries(one)
      .map(([name, held]) => `${quoted(name)} = ${spell(held)}`)
      .join(', ')}}`;
  }
  return typeof one === 'string' ? quoted(one) : String(one);
}

/** JSON’s escapes are TOML’s too. */
function quoted(text: string): string {
  return JSON.stringify(text);
}
