/**
 * Hostile input for parsers of what comes from outside: text of the parser's own grammar and JSON with its field names,
 * nested deep, repeated long, and mixed with what breaks parsers. A parser returns a verdict for all of it, leaves
 * prototypes as they are, and takes time in proportion to the input.
 */

import type { Test } from 'tap';
import { isLinear } from './linear.ts';
import { fc, runs } from './property.ts';
import { isEachTier } from './tier.ts';

export interface HostileParser {
  readonly name: string;
  /** Returns the verdict, or a promise of it; throws and rejects never. */
  readonly read: (text: string) => unknown;
  /** Pieces of its grammar. */
  readonly parts: readonly string[];
  /** Names that it looks for. Where given, it reads JSON text. */
  readonly fields?: readonly string[];
  /** It reads in turns or over a connection, so that the growth of its time is not measured. */
  readonly isAsync?: true;
  /** The owner's own file: its growth is checked by its grammar alone, not in each frame and field. */
  readonly isOwn?: true;
  /** Put hostile text where the parser reads on. */
  readonly frames?: readonly ((inner: string) => string)[];
}

const polluting = { polluted: true };
/** Lone halves of characters, numbers beyond any, names of prototypes, line ends, NUL, marks of order and direction. */
const atoms: readonly string[] = [
  ...['\ud800', '\udfff', '\u0000', '\ufeff', '\u2028', '\u202e', '\r', '\n', '\r\n', '\t', '\u00a0', '\u0085', '\x7f'],
  ...['9'.repeat(400), '1e999', '-0', '-1', '0x1p-1', '1e-999', '9007199254740993', 'NaN', 'Infinity', '٣'],
  ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'then', 'toJSON', 'length'],
  ...[
    '"',
    "'",
    '\\',
    '\\u',
    '\\ud800',
    '%',
    '%00',
    '%ff',
    '${',
    '}',
    '{',
    '[',
    ']',
    '(',
    '<',
    '>',
    '&',
    '=',
    ':',
    ';',
    ',',
  ],
  ...[
    'é',
    'é',
    '😀',
    '👩‍👩‍👧‍👦',
    'İ',
    'ß',
    ' ',
    '..',
    '/',
    '//',
    '*',
    '+',
    '?',
    '$',
    '#',
    '-',
    '.',
    '|',
    '^',
    '@',
    '!',
  ],
];
const closers: Readonly<Record<string, string>> = { '{': '}', '[': ']', '(': ')', '<': '>' };
const hostileKeys = ['__proto__', 'constructor', 'prototype', 'toString', 'then', 'toJSON', '', '\ud800', '0', 'a.b'];

/** Nested values, each in the one before; objects by a key. */
function nested(depth: number, key: string | undefined): string {
  const name = key === undefined ? undefined : JSON.stringify(key);
  return name === undefined
    ? '['.repeat(depth) + ']'.repeat(depth)
    : `${`{${name}:`.repeat(depth)}null${'}'.repeat(depth)}`;
}

/** A text that is opened again and again, and closed as often where that is known. */
function opened(part: string, depth: number): string {
  const closer = [...part].reverse().flatMap((character) => closers[character] ?? []);
  return part.repeat(depth) + closer.join('').repeat(depth);
}

/** Characters of one run or nesting; what is far longer is tried once each, where the growth of time is checked. */
const maxLength = 400;

function hostileText({ parts, fields, frames = [] }: HostileParser): fc.Arbitrary<string> {
  const piece = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...parts) },
    { weight: 2, arbitrary: fc.constantFrom(...atoms) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 8 }) },
  );
  const count = fc.integer({ min: 1, max: maxLength });
  const mixed = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''));
  const long = fc.tuple(mixed, piece, count, mixed).map(([before, one, times, after]) => {
    return before + one.repeat(Math.ceil(times / Math.max(1, one.length))) + after;
  });
  const deep = fc.tuple(piece, count).map(([part, depth]) => opened(part, Math.ceil(depth / Math.max(1, part.length))));
  const text = fc.oneof(
    { weight: 6, arbitrary: mixed },
    { weight: 1, arbitrary: long },
    { weight: 1, arbitrary: deep },
  );
  const json = fields === undefined ? [] : [{ weight: 8, arbitrary: hostileJson(fields) }];
  const framed = frames.map((frame) => ({ weight: 4, arbitrary: text.map(frame) }));
  return fc.oneof({ weight: 4, arbitrary: text }, ...json, ...framed);
}

/** JSON text with the given names and those of prototypes as keys. */
function hostileJson(fields: readonly string[]): fc.Arbitrary<string> {
  const key = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...fields) },
    { weight: 1, arbitrary: fc.constantFrom(...hostileKeys) },
  );
  const text = fc.oneof(
    fc.constantFrom(...atoms, ...fields, 'https://a.example/x', 'http://127.0.0.1:1', 'Bearer x'),
    fc.array(fc.constantFrom(...atoms), { maxLength: 6 }).map((all) => all.join('')),
  );
  const leaf = fc.oneof(
    fc.constantFrom(
      'null',
      'true',
      'false',
      '0',
      '-0',
      '1',
      '1e308',
      '1e999',
      '-1',
      '0.1',
      '9'.repeat(400),
      '[]',
      '{}',
    ),
    text.map((one) => JSON.stringify(one)),
    fc.constant(JSON.stringify(polluting)),
    fc
      .tuple(fc.integer({ min: 1, max: maxLength / 8 }), fc.option(key, { nil: undefined }))
      .map(([d, k]) => nested(d, k)),
  );
  const { value } = fc.letrec<{ value: string; list: string; object: string }>((tie) => ({
    list: fc.oneof(
      fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
      fc.tuple(leaf, fc.integer({ min: 1, max: 12 })).map(([one, times]) => `[${Array(times).fill(one).join(',')}]`),
    ),
    object: fc
      .array(fc.tuple(key, tie('value')), { maxLength: 6 })
      .map((pairs) => `{${pairs.map(([name, held]) => `${JSON.stringify(name)}:${held}`).join(',')}}`),
    value: fc.oneof({ depthSize: 'small', withCrossShrink: true }, leaf, tie('object'), tie('list')),
  }));
  return fc.oneof(
    {
      weight: 3,
      arbitrary: fc
        .array(fc.tuple(key, value), { maxLength: 12 })
        .map((pairs) => `{${pairs.map(([name, held]) => `${JSON.stringify(name)}:${held}`).join(',')}}`),
    },
    { weight: 1, arbitrary: value },
  );
}

const prototypes = [Object, Array, Function, String, Number, Map, Set].map(({ prototype }) => ({
  prototype: prototype as object,
  keys: Reflect.ownKeys(prototype as object).length,
}));

/** Why the verdict is not one of a parser that leaves prototypes as they are; undefined where it is. */
function pollution(verdict: unknown): string | undefined {
  if (prototypes.some(({ prototype, keys }) => Reflect.ownKeys(prototype).length !== keys))
    return 'a prototype changed';
  let left = 300;
  const pending: unknown[] = [verdict];
  while (pending.length > 0 && left > 0) {
    const one = pending.pop();
    left -= 1;
    if (typeof one !== 'object' || one === null) continue;
    if ('polluted' in one && !Object.hasOwn(one, 'polluted'))
      return 'an object of the verdict has a prototype of the input';
    pending.push(...(one instanceof Map ? [...one.values()] : Object.values(one)).slice(0, 100));
  }
  return undefined;
}

/** Checks 10,000 inputs, and fewer in `npm test`; reports the slowest in `npm run test:all`. */
export function checkParser(t: Test, parser: HostileParser): void {
  t.test(parser.name, async (t) => {
    let slow: readonly { readonly text: string; readonly ms: number }[] = [];
    const property = fc.asyncProperty(hostileText(parser), async (text) => {
      const began = performance.now();
      const verdict = await parser.read(text);
      slow = slowest([...slow, { text, ms: performance.now() - began }]);
      const why = pollution(verdict);
      if (why !== undefined) throw new Error(why);
    });
    await fc.assert(property, { numRuns: runs(10_000, parser.isAsync ? 20 : 50) });
    for (const [title, grow] of growths(parser).filter(([title]) => nests.test(title))) {
      t.equal(pollution(await parser.read(grow(10_000))), undefined, `${title} 10,000 deep`);
    }
    if (isEachTier) return;
    // What the machine did meanwhile is no part of the parser's time.
    for (let round = 0; round < 5; round += 1) {
      const again: (typeof slow)[number][] = [];
      for (const { text, ms } of slow) {
        const began = performance.now();
        await parser.read(text);
        again.push({ text, ms: Math.min(ms, performance.now() - began) });
      }
      slow = again;
    }
    const [most] = slowest(slow);
    if (most !== undefined) {
      const { text, ms } = most;
      t.comment(`${parser.name}: slowest ${ms.toFixed(1)} ms, ${text.length} characters: ${shown(text)}`);
    }
    if (parser.isAsync) return;
    for (const [title, grow] of growths(parser)) t.ok(isInProportion(parser.read, grow), title);
  });
}

/** Titles of growths that reach deep into a parser that is recursive. */
const nests = /^"[[{]", nested|: nested$/;

/** A separator of lines in a comment would end the test. */
function shown(text: string): string {
  return JSON.stringify(text.slice(0, 60)).replace(/[^\x20-\x7e]/g, '·');
}

function slowest<Row extends { readonly ms: number }>(rows: readonly Row[]): readonly Row[] {
  return rows.toSorted((one, other) => other.ms - one.ms).slice(0, 10);
}

type Grow = (size: number) => string;

function growths({ parts, fields, frames = [], isOwn }: HostileParser): readonly (readonly [title: string, Grow])[] {
  const pieces = [...new Set([...parts, '\n', ' ', '"', '\\', '{', '[', '(', 'a', ',', ':', '-', '\u0000', '😀', '9'])];
  const plain = pieces.flatMap((part): [string, Grow][] => [
    [`${JSON.stringify(part)}, repeated`, (size) => part.repeat(size)],
    [`${JSON.stringify(part)}, nested`, (size) => opened(part, size)],
  ]);
  const framed = frames.flatMap((frame, at) =>
    plain.map(([title, grow]): [string, Grow] => [`${title}, in frame ${at}`, (size) => frame(grow(size))]),
  );
  const list = (size: number, item: (at: number) => string): string =>
    Array.from({ length: size }, (_, at) => item(at)).join(',');
  const json = (fields ?? []).flatMap((name): [string, Grow][] => {
    const key = JSON.stringify(name);
    const record = `{${(fields ?? []).map((field) => `${JSON.stringify(field)}:"x"`).join(',')}}`;
    return [
      [`${name}: a long text`, (size) => `{${key}:"${'x'.repeat(size)}"}`],
      [`${name}: many texts`, (size) => `{${key}:[${list(size, (at) => `"${at}"`)}]}`],
      [`${name}: many records`, (size) => `{${key}:[${list(size / 10, () => record)}]}`],
      [`${name}: many keys`, (size) => `{${key}:{${list(size, (at) => `"k${at}":"x"`)}}}`],
      [`${name}: many keyed records`, (size) => `{${key}:{${list(size / 10, (at) => `"k${at}":${record}`)}}}`],
      [`${name}: nested`, (size) => `{${key}:${nested(size, name)}}`],
    ];
  });
  return isOwn ? plain : [...plain, ...framed, ...json];
}

/** What takes less than this at the larger size is quick enough, however it grows. */
const quickMs = 20;

function isInProportion(read: (text: string) => unknown, grow: Grow): boolean {
  const large = grow(16_000);
  const began = performance.now();
  read(large);
  if (performance.now() - began < quickMs) return true;
  return isLinear((size) => {
    const text = grow(size);
    return () => read(text);
  }, 1_000);
}
