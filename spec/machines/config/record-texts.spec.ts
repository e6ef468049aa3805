import t from 'tap';
import { recordTexts } from '../../../machines/config/record-texts.ts';
import { fc, runs } from '../../support/property.ts';

/** What the members come to, as `JSON.parse` would have it; undefined where the text is no object. */
function read(text: string): string | undefined {
  const found = new Map<string, unknown>();
  const records = recordTexts(text);
  try {
    for (let next = records.next(); ; next = records.next()) {
      if (next.done === true) return next.value ? spelled(found) : undefined;
      found.set(next.value.name, JSON.parse(next.value.text));
    }
  } catch {
    return undefined;
  }
}

function parse(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? spelled(new Map(Object.entries(value))) : undefined;
  } catch {
    return undefined;
  }
}

function spelled(members: ReadonlyMap<string, unknown>): string {
  return JSON.stringify([...members].sort(([one], [other]) => (one < other ? -1 : 1)));
}

const object = fc.dictionary(fc.string(), fc.jsonValue());
const written = fc
  .tuple(object, fc.constantFrom('', ' ', '\n  ', '\t'))
  .map(([value, indent]) => `${indent}${JSON.stringify(value, null, indent)}${indent}`);

t.test('SUB-2 · cuts an object into what JSON.parse finds in it', async () => {
  fc.assert(
    fc.property(written, (text) => read(text) === parse(text)),
    { numRuns: runs(2_000) },
  );
});

t.test('SUB-2 · refuses what JSON.parse refuses, wherever a text is spoilt', async () => {
  const spoilt = fc
    .tuple(
      written,
      fc.nat(),
      fc.nat(3),
      fc.constantFrom('', '"', '{', '}', '[', ']', ',', ':', '\\', ' ', '0', 'a', '\n'),
    )
    .map(([text, at, cut, put]) => {
      const place = at % (text.length + 1);
      return text.slice(0, place) + put + text.slice(place + cut);
    });
  fc.assert(
    fc.property(spoilt, (text) => read(text) === parse(text)),
    { numRuns: runs(5_000) },
  );
});

for (const [text, names] of [
  ['{}', []],
  ['{"a":1,"a":2}', ['a', 'a']],
  ['{"__proto__":{"x":1}}', ['__proto__']],
  ['{"\\u0061\\"":"}\\\\"}', ['a"']],
  ['\uFEFF{"a":1}', ['a']],
  ['{"a":1,}', undefined],
  ['{"a":1}{}', undefined],
  ['{a:1}', undefined],
  ['[1]', undefined],
  ['\u00a0{}', undefined],
] as const) {
  t.test(`SUB-2 · the names in ${text}`, async (t) => {
    const records = recordTexts(text);
    const found: string[] = [];
    let whole = false;
    for (let next = records.next(); ; next = records.next()) {
      if (next.done === true) {
        whole = next.value;
        break;
      }
      found.push(next.value.name);
    }
    t.same(whole ? found : undefined, names);
  });
}
