import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { readJson } from '../../../machines/base/read-json.ts';
import { fc, runs } from '../../support/property.ts';

/** A value, and whole numbers of any length. */
type Held = null | boolean | string | number | bigint | readonly Held[] | { readonly [key: string]: Held };

const { held } = fc.letrec<{ held: Held }>((tie) => ({
  held: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (Object.is(number, -0) ? 0 : number)),
    fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }),
    fc.bigInt({ min: 2n ** 53n - 3n, max: 2n ** 53n + 3n }),
    textWithTraps(),
    fc.array(tie('held'), { maxLength: 4 }),
    fc.dictionary(textWithTraps(), tie('held'), { maxKeys: 4 }),
  ),
}));

/** Texts with what a careless scanner trips over. */
function textWithTraps(): fc.Arbitrary<string> {
  const traps = fc.constantFrom('"', '\\', '\\"', '10000000000000000001', ':', ',', '{', '[', 'e', 'ü', '\u2028');
  return fc.oneof(
    fc.string(),
    fc.array(traps, { maxLength: 6 }).map((all) => all.join('')),
  );
}

function spelled(value: Held, gap: string): string {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${gap}${value.map((one: Held) => spelled(one, gap)).join(`${gap},`)}${gap}]`;
  const members = Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}${gap}:${gap}${spelled(one, gap)}`);
  return `{${gap}${members.join(`${gap},${gap}`)}${gap}}`;
}

/** What must come of it: the digits of a whole number that is not exact, the number of every other. */
function expected(value: Held): unknown {
  if (typeof value === 'bigint') return isExact(value) ? Number(value) : String(value);
  // A double may be spelled as a long row of digits.
  if (typeof value === 'number') {
    const text = JSON.stringify(value);
    return /^-?\d+$/.test(text) && !Number.isSafeInteger(value) ? text : value;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(expected);
  return JSON.parse(`{${Object.entries(value).map(member).join()}}`);
}

function member([key, value]: readonly [string, Held]): string {
  return `${JSON.stringify(key)}:${JSON.stringify(expected(value))}`;
}

function isExact(value: bigint): boolean {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) && value >= BigInt(Number.MIN_SAFE_INTEGER);
}

t.test('COA-1 · FIL-2 · TPL-1 · a whole number beyond 2^53 keeps its digits, everything else is JSON.parse’s', (t) => {
  fc.assert(
    fc.property(held, fc.constantFrom('', ' ', '\n\t'), (value, gap) =>
      isDeepStrictEqual(readJson(spelled(value, gap)), expected(value)),
    ),
  );
  const rows: readonly (readonly [string, unknown])[] = [
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', '9007199254740992'],
    ['-9007199254740993', '-9007199254740993'],
    ['[10000000000000000001,10000000000000000002]', ['10000000000000000001', '10000000000000000002']],
    [' {"a":10000000000000000001}', { a: '10000000000000000001' }],
    ['{"a\\\\":10000000000000000001}', { 'a\\': '10000000000000000001' }],
    ['{"a\\\\\\"10000000000000000001":1}', { 'a\\"10000000000000000001': 1 }],
    ['1.0000000000000000001', 1],
    ['10000000000000000001e2', 1e21],
    [
      '{"a":[1e400,-1E+0400 ],"b":1e-400,"c":"1e400","d":1e308}',
      { a: ['1e400', '-1E+0400'], b: 0, c: '1e400', d: 1e308 },
    ],
    [`${'9'.repeat(400)}.5`, `${'9'.repeat(400)}.5`],
    ['10000000000000000001.0', 1e19],
    ['"10000000000000000001"', '10000000000000000001'],
    ['{"a":10000000000000000001,"a":10000000000000000002}', { a: '10000000000000000002' }],
  ];
  for (const [text, value] of rows) t.strictSame(readJson(text), value, text);
  t.end();
});

t.test('LIM-3 · what is no JSON stays none, however long its digits are', (t) => {
  const broken = [
    '{10000000000000000001:1}',
    '[010000000000000000001]',
    '[+10000000000000000001]',
    '[1000000000000000000-1]',
    '[10000000000000000001',
    '"10000000000000000001',
    '10000000000000000001 10000000000000000001',
    '--10000000000000000001',
    '\\"10000000000000000001',
    '',
  ];
  for (const text of broken) t.equal(readJson(text), undefined, text);
  const digits = fc.constantFrom('10000000000000000001', '"', '\\', ':', ',', '{', '}', '[', ']', '-', '.', 'e', ' ');
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(digits).map((all) => all.join('')),
      ),
      (text) => {
        const read = readJson(text);
        try {
          JSON.parse(text);
          return read !== undefined;
        } catch {
          return read === undefined;
        }
      },
    ),
    { numRuns: runs(1_000) },
  );
  t.end();
});

t.test('LIM-3 · a body of megabytes takes a time that grows with its length alone', (t) => {
  const long = '7'.repeat(500_000);
  const hostile: readonly (readonly [string, unknown])[] = [
    [`[${long}]`, [long]],
    [`["${'\\\\'.repeat(250_000)}",10000000000000000001]`, ['\\'.repeat(250_000), '10000000000000000001']],
    [`["${'\\"'.repeat(250_000)}",10000000000000000001]`, ['"'.repeat(250_000), '10000000000000000001']],
  ];
  for (const [text, value] of hostile) t.strictSame(readJson(text), value, text.slice(0, 20));
  const many = readJson(`[${'10000000000000000001,'.repeat(50_000)}1]`);
  t.equal(Array.isArray(many) ? many.length : 0, 50_001);
  const deep = readJson(`${'['.repeat(100_000)}10000000000000000001${']'.repeat(100_000)}`);
  t.ok(Array.isArray(deep), 'any depth that the parser gives');
  t.end();
});
