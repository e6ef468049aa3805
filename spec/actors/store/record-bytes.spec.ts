import t from 'tap';
import { type Codec, codecs, weightOf } from '../../../actors/store/record-bytes.ts';
import { bareKey, plainRow, type Row } from '../../../actors/store/tables.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../machines/base/json.ts';
import { fc } from '../../support/property.ts';

/** The bytes as a store keeps them: the draft itself is used again. */
function stored(codec: Codec, row: Row): Buffer {
  const { bytes, end } = codec.draft(row);
  return Buffer.from(new Uint8Array(bytes.subarray(0, end)));
}

const value = fc
  .jsonValue()
  .filter(isJsonObject)
  // What JSON cannot distinguish, such as -0 and 0, is no difference here.
  .map((object) => JSON.parse(JSON.stringify(object)) as JsonObject);

t.test('DUR-1 · reads back every record that it spells', async () => {
  const row = fc.record({
    version: fc.integer({ min: 1, max: 2 ** 32 - 1 }),
    dueAtMs: fc.option(fc.integer({ min: 0 }), { nil: undefined }),
    heldBy: fc.option(fc.string({ minLength: 1, unit: 'grapheme' }), { nil: undefined }),
    value,
  });
  fc.assert(
    fc.property(row, (row) => {
      const bytes = stored(codecs.runs, row);
      const { value, ...head } = row;
      return (
        JSON.stringify(codecs.runs.row(bytes)) === JSON.stringify(row) &&
        JSON.stringify(codecs.runs.head(bytes)) === JSON.stringify(head)
      );
    }),
  );
});

t.test('DUR-1 · reads back an event whose body lies beside its JSON, whatever text that is', async () => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 50 }),
    fc.string({ unit: fc.constantFrom('\ud800', '\udc00', '\u0000', '"', '\u00e9', 'a'), maxLength: 20 }),
  );
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue()),
      text,
      fc.option(fc.string({ minLength: 1 })),
      (more, body, heldBy) => {
        const value = JSON.parse(JSON.stringify({ id: 'e', body, ...more, after: 1 })) as JsonObject;
        const row = { version: 1, dueAtMs: undefined, heldBy: heldBy ?? undefined, value };
        const bytes = stored(codecs.events, row);
        return (
          JSON.stringify(codecs.events.row(bytes)) === JSON.stringify(row) &&
          codecs.events.head(bytes).heldBy === row.heldBy
        );
      },
    ),
  );
});

t.test('DUR-1 · reads back every claim and plain object', async () => {
  fc.assert(
    fc.property(value, fc.integer({ min: 0 }), (value, dueAtMs) => {
      const claim = { version: 0, dueAtMs, heldBy: undefined, value };
      const bytes = stored(codecs.claims, claim);
      const plain = plainRow(value);
      return (
        JSON.stringify(codecs.claims.row(bytes)) === JSON.stringify(claim) &&
        codecs.claims.head(bytes).dueAtMs === dueAtMs &&
        JSON.stringify(codecs.meta.row(stored(codecs.meta, plain))) === JSON.stringify(plain)
      );
    }),
  );
});

t.test('DUR-1 · a key that says it all takes no bytes', async (t) => {
  const bytes = stored(codecs.due, bareKey);

  t.equal(bytes.length, 0);
  t.same(codecs.due.row(bytes), bareKey);
});

t.test('DUR-1 · has room for large records after small ones and small after large', async (t) => {
  for (const size of [10, 5_000_000, 10, 70_000, 2_000_000, 1]) {
    const text = '\u20ac'.repeat(size);
    const bytes = stored(codecs.events, { version: 1, dueAtMs: undefined, heldBy: 's1', value: { text } });
    t.equal(codecs.events.row(bytes).value?.text === text, true, `${size} characters`);
  }
});

t.test('DUR-1 · reads no object where there is none', async (t) => {
  for (const text of ['', '{', '[]', '1', 'null', '{"a":1}x', '\u0000']) {
    t.equal(codecs.meta.row(Buffer.from(text)).value, undefined, JSON.stringify(text));
  }
});

t.test('DUR-2 · a value weighs about what its JSON takes', async (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const spelled = JSON.stringify(value).length;
      const weight = weightOf(value as Json);
      // Quotes, commas and escapes are guessed at; the long texts, which fill a store, are counted.
      return weight >= spelled / 8 && weight <= 8 * spelled + 8;
    }),
  );
  t.equal(weightOf('x'.repeat(1_000)), 1_008);
  t.equal(weightOf(undefined), 8);
});
