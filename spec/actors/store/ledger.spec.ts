import fc from 'fast-check';
import t from 'tap';
import type { Write } from '../../../actors/store/journal.ts';
import { timeText } from '../../../actors/store/keys.ts';
import { apply, isKey, unstorable } from '../../../actors/store/ledger.ts';
import { createMemoryTables } from '../../../actors/store/memory-tables.ts';
import { type Tables, tableNames } from '../../../actors/store/tables.ts';
import { workKey } from '../../../actors/store/work-index.ts';

const all = { limit: 1000 };
const key = fc.constantFrom('k0', 'k1');
const time = fc.nat(3);
const write: fc.Arbitrary<Write> = fc.oneof(
  fc.record({
    kind: fc.constant('claim' as const),
    name: fc.constantFrom('n0', 'n1'),
    value: fc.constant({}),
    nowMs: time,
    expiresAtMs: time,
  }),
  fc.record({ kind: fc.constant('release' as const), name: fc.constantFrom('n0', 'n1') }),
  fc.record(
    {
      kind: fc.constant('put' as const),
      collection: fc.constantFrom('events', 'runs'),
      key,
      value: fc.constant({}),
      expect: fc.constantFrom<'absent' | number>('absent', 1, 2),
      dueAtMs: time,
      heldBy: fc.constantFrom('s1', 's2'),
    },
    { requiredKeys: ['kind', 'collection', 'key', 'value'] },
  ),
  fc.record(
    { kind: fc.constant('delete' as const), collection: fc.constantFrom('events', 'runs'), key, expect: fc.nat(2) },
    { requiredKeys: ['kind', 'collection', 'key'] },
  ),
);

/** Everything in the tables, as text. */
function contents(tables: Tables): string[] {
  return tableNames.flatMap((name) =>
    tables[name].keys(all).map((key) => `${name} ${key} ${JSON.stringify(tables[name].read(key))}`),
  );
}

t.test('DUR-1 · leaves not a byte of a refused commit', async () => {
  const commits = fc.array(fc.array(write, { minLength: 1, maxLength: 6 }), { maxLength: 12 });
  fc.assert(
    fc.property(commits, (commits) => {
      const { tables } = createMemoryTables();
      return commits.every((writes) => {
        const before = contents(tables);
        const { kind } = apply(tables, writes);
        return kind === 'committed' || before.join() === contents(tables).join();
      });
    }),
    { numRuns: 500 },
  );
});

t.test('DUR-1 · keeps in its indexes what the records and claims say, and nothing else', async () => {
  const commits = fc.array(fc.array(write, { minLength: 1, maxLength: 4 }), { maxLength: 12 });
  fc.assert(
    fc.property(commits, (commits) => {
      const { tables } = createMemoryTables();
      for (const writes of commits) apply(tables, writes);
      const work = (['events', 'runs'] as const).flatMap((collection) =>
        tables[collection].keys(all).flatMap((key) => {
          const head = tables[collection].head(key);
          return (head && workKey(collection, key, head)) ?? [];
        }),
      );
      const expiry = tables.claims
        .keys(all)
        .map((name) => `${timeText(tables.claims.head(name)?.dueAtMs ?? -1)}/${name}`);
      return (
        work.sort().join() === tables.due.keys(all).join() && expiry.sort().join() === tables.expiry.keys(all).join()
      );
    }),
    { numRuns: 500 },
  );
});

t.test('DUR-1 · says which commits cannot be stored at all', async (t) => {
  const put = (key: string, heldBy?: string): Write => ({
    kind: 'put',
    collection: 'runs',
    key,
    value: {},
    ...(heldBy === undefined ? {} : { heldBy }),
  });
  const rows: readonly (readonly [Write, boolean])[] = [
    [put('k'), true],
    [put('k'.repeat(620), 's'.repeat(32)), true],
    [put(''), false],
    [put('k'.repeat(621)), false],
    [put('k', 's'.repeat(33)), false],
    [{ kind: 'delete', collection: 'runs', key: '' }, false],
    [{ kind: 'release', name: '' }, true],
  ];
  for (const [write, storable] of rows) t.equal(unstorable([write]) === undefined, storable, JSON.stringify(write));
  t.equal(isKey(''), false);
});
