import t from 'tap';
import { createMemoryTables } from '../../../actors/store/memory-journal.ts';
import { SortedKeys } from '../../../actors/store/sorted-keys.ts';
import { bareKey, type KeyRange } from '../../../actors/store/tables.ts';
import { fc } from '../../support/property.ts';

/** What a plain sorted list gives. */
function expected(keys: Iterable<string>, { from, until, order, limit }: KeyRange): string[] {
  const sorted = [...keys].sort();
  if (order === 'newest') sorted.reverse();
  const isBefore = (one: string, other: string): boolean => (order === 'newest' ? one > other : one < other);
  return sorted
    .filter((key) => (from === undefined || isBefore(from, key)) && (until === undefined || isBefore(key, until)))
    .slice(0, limit);
}

const key = fc.nat(60).map((n) => `k${n}`);
const range: fc.Arbitrary<KeyRange> = fc.record(
  { from: key, until: key, order: fc.constantFrom('newest', 'oldest'), limit: fc.nat(70) },
  { requiredKeys: ['limit'] },
);
const step = fc.oneof(
  fc.record({ kind: fc.constant('add' as const), key }),
  fc.record({ kind: fc.constant('remove' as const), key }),
  fc.record({ kind: fc.constant('list' as const), range }),
);

t.test('DUR-2 · keys are listed in their order, whatever was added and removed before', (t) => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const keys = new SortedKeys();
      const model = new Set<string>();
      for (const step of steps) {
        if (step.kind === 'list') t.strictSame(keys.within(step.range), expected(model, step.range));
        else if (model.has(step.key) === (step.kind === 'add')) continue;
        else if (step.kind === 'add') {
          keys.add(step.key);
          model.add(step.key);
        } else {
          keys.remove(step.key);
          model.delete(step.key);
        }
        const isLast = (other: string): boolean => [...model].every((key) => key < other);
        t.ok(['k0', 'k31', 'k99'].every((other) => keys.isNewest(other) === isLast(other)));
      }
    }),
  );
  t.end();
});

t.test(
  'IDM-2 · the keys of claims, which are put in order as they are sought, are listed like those of any table',
  (t) => {
    const { claims } = createMemoryTables().tables;
    const names = Array.from({ length: 61 }, (_, n) => `k${(n * 17) % 61}`);
    for (const name of names) claims.write(name, bareKey);
    claims.remove('k31');
    const kept = names.filter((name) => name !== 'k31');
    fc.assert(fc.property(range, (range) => void t.strictSame(claims.keys(range), expected(kept, range))));
    t.end();
  },
);

t.test('DUR-2 · keys of many blocks are listed in their order, forwards and backwards and from between', (t) => {
  const count = 10_007;
  const keys = new SortedKeys();
  const all = Array.from({ length: count }, (_, n) => String(100_000 + ((n * 7_919) % count)));
  for (const key of all) keys.add(key);
  // Those after the 108,000 are whole blocks.
  const removed = new Set(all.filter((key, n) => n % 3 === 0 || key > '108000'));
  for (const key of removed) keys.remove(key);
  const kept = all.filter((key) => !removed.has(key));
  for (const range of [
    { limit: count },
    { limit: count, order: 'newest' as const },
    { limit: 3_000, from: '101500', until: '109000' },
    { limit: 3_000, from: '109000', until: '101500', order: 'newest' as const },
  ])
    t.strictSame(keys.within(range), expected(kept, range));
  t.ok(keys.isNewest('108001'));
  t.notOk(keys.isNewest(kept.reduce((one, other) => (one > other ? one : other))));
  t.end();
});

t.test('COA-1 · INS-4 · what is added and removed between two listings costs its own time, not that of all', (t) => {
  // With a list that is sorted anew for each it would take minutes.
  const keys = new SortedKeys();
  for (let n = 0; n < 200_000; n += 1) keys.add(String(1_000_000 + n));
  const range = { from: '1100000', limit: 1 };
  for (let n = 0; n < 20_000; n += 1) {
    keys.add(`1100000/${n}`);
    if (keys.within(range)[0] !== `1100000/${n}`) return t.fail(`at ${n}`);
    keys.remove(`1100000/${n}`);
  }
  t.strictSame(keys.within(range), ['1100001']);
  t.end();
});
