import t from 'tap';
import { createIds, newMark, timeKey } from '../../../runtime/system/ids.ts';
import { fc } from '../../support/property.ts';

t.test('DUR-2 · keys rise strictly, also within a millisecond and when the clock steps back', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.nat(3), fc.integer({ min: 0, max: 2 ** 42 })), { minLength: 2, maxLength: 200 }),
      (times) => {
        const nextId = createIds();
        const keys = times.map(nextId);
        return keys.every((key, index) => index === 0 || key > (keys[index - 1] ?? ''));
      },
    ),
  );
  t.end();
});

t.test('DUR-2 · keys rise and keep their length where more of them fall on one moment than its order counts', (t) => {
  const nextId = createIds();
  let last = nextId(5);
  let rising = true;
  for (let made = 0; made < 36 ** 4 + 2; made += 1) {
    const key = nextId(5);
    rising &&= key > last && key.length === 18;
    last = key;
  }
  t.ok(rising);
  t.ok(last >= timeKey(6), 'it has borrowed from the next moment');
  t.end();
});

t.test('DUR-2 · a key is eighteen characters of base 36 and sorts by its time', (t) => {
  const atMs = Date.UTC(2026, 0, 1);
  const key = createIds()(atMs);
  t.match(key, /^[0-9a-z]{18}$/);
  t.ok(key >= timeKey(atMs), 'not before its moment');
  t.ok(key < timeKey(atMs + 1), 'and before the next one');
  fc.assert(fc.property(fc.nat(), fc.nat(), (one, other) => timeKey(one) < timeKey(other) === one < other));
  t.equal(timeKey(-5), timeKey(0), 'history kept for longer than there has been time');
  t.equal(timeKey(1.9), timeKey(1));
  t.end();
});

t.test('DUR-1 · two gateways make no equal keys in the same millisecond', (t) => {
  const makers = Array.from({ length: 20 }, createIds);
  const keys = makers.map((nextId) => nextId(1_000));
  t.equal(new Set(keys).size, keys.length);
  t.same(new Set(keys.map((key) => key.slice(0, 13))).size, 1, 'they differ by chance alone');
  t.end();
});

t.test('TRU-3 · the marks of starts are letters, and differ', (t) => {
  const marks = Array.from({ length: 50 }, newMark);
  t.ok(marks.every((mark) => /^[bcdfghjkmnpqrstvwxz]{5}$/.test(mark)));
  t.equal(new Set(marks).size, 50);
  t.end();
});
