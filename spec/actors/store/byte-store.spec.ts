import t from 'tap';
import { createByteStore } from '../../../actors/store/byte-store.ts';
import type { Row } from '../../../actors/store/tables.ts';
import { fc } from '../../support/property.ts';

const row: fc.Arbitrary<Row> = fc.record({
  version: fc.nat(9),
  dueAtMs: fc.option(fc.nat(), { nil: undefined }),
  heldBy: fc.option(fc.constantFrom('s1', 's2'), { nil: undefined }),
  // Some larger than a block, some that fill one up.
  value: fc.oneof(
    { weight: 7, arbitrary: fc.record({ body: fc.string({ unit: 'grapheme' }) }) },
    { weight: 1, arbitrary: fc.constantFrom(400_000, 1_500_000).map((length) => ({ body: 'x'.repeat(length) })) },
  ),
});

t.test('DUR-2 · gives every row back as it was kept, however many follow', async () => {
  fc.assert(
    fc.property(fc.array(row, { maxLength: 12 }), (rows) => {
      const store = createByteStore('events');
      const kept = rows.map((row) => store.keep(row));
      return kept.every((place, index) => {
        const { value, ...head } = rows[index] as Row;
        return (
          JSON.stringify(store.row(place)) === JSON.stringify({ ...head, value }) &&
          JSON.stringify(store.head(place)) === JSON.stringify(head) &&
          store.bytes(place) >= String(value?.body).length
        );
      });
    }),
    { numRuns: 100 },
  );
});

t.test('DUR-2 · rows of any letters go from block to block', (t) => {
  const store = createByteStore('events');
  const rows = Array.from({ length: 200 }, (_, at): Row => {
    const value = { body: 'aä→😀'.repeat(100 + 10 * (at % 100)), n: at };
    return { version: at, dueAtMs: undefined, heldBy: at % 2 === 0 ? 'ß' : undefined, value };
  });
  const kept = rows.map((row) => store.keep(row));
  t.ok(new Set(kept.map(({ block }) => block)).size > 1);
  t.same(
    kept.map((place) => store.row(place)),
    rows,
  );
  t.end();
});

t.test('DUR-2 · fills a block anew whose rows are gone, and none that holds one', (t) => {
  const store = createByteStore('events');
  const row = (text: string): Row => ({ version: 1, dueAtMs: undefined, heldBy: undefined, value: { body: text } });
  const large = (letter: string) => store.keep(row(letter.repeat(600_000)));
  const first = large('a');
  const second = large('b');
  const third = large('c');
  t.not(first.block, second.block, 'one fits into a block, two do not');
  store.drop(second);
  t.equal(large('d').block, second.block);
  t.same(store.row(first), row('a'.repeat(600_000)));
  t.same(store.row(third), row('c'.repeat(600_000)));
  const alone = store.keep(row('e'.repeat(2_000_000)));
  const last = store.keep(row('f'));
  store.drop(alone);
  t.not(large('g').block, alone.block, 'a block of another size is let go');
  t.same(store.row(last), row('f'));
  t.end();
});

const large = (letter: string): Row => {
  const value = { body: letter.repeat(400_000) };
  return { version: 1, dueAtMs: undefined, heldBy: undefined, value };
};

t.test('DUR-2 · keeps a block while one of its rows is left', (t) => {
  const store = createByteStore('events');
  const keep = (letter: string) => store.keep(large(letter));
  const [first, second] = [keep('a'), keep('b')];
  t.ok(first.block === second.block);
  keep('c');
  store.drop(first);
  t.notOk([...'defg'].some((letter) => keep(letter).block === second.block));
  t.same(store.row(second), large('b'));
  store.drop(second);
  t.ok(
    [...'hi'].some((letter) => keep(letter).block === second.block),
    'and fills it anew once none is',
  );
  t.end();
});

t.test('DUR-2 · fills the block at hand on, though it was emptied, and gives it out once', (t) => {
  const store = createByteStore('events');
  const first = store.keep(large('a'));
  store.drop(first);
  const second = store.keep(large('b'));
  const third = store.keep(large('c'));
  t.ok(first.block === second.block);
  t.notOk(second.block === third.block);
  t.same([store.row(second), store.row(third)], [large('b'), large('c')]);
  store.drop(third);
  const fourth = store.keep(large('d'));
  store.drop(fourth);
  t.ok(store.keep(large('e')).block === third.block, 'one that is full and empty is not left behind');
  t.end();
});
