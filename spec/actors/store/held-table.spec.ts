import t from 'tap';
import { createHeldTable } from '../../../actors/store/held-table.ts';
import { createMemoryTables } from '../../../actors/store/memory-tables.ts';
import type { Row, Table } from '../../../actors/store/tables.ts';
import { fc, runs } from '../../support/property.ts';

const row = (version: number): Row => ({ version, dueAtMs: undefined, heldBy: undefined, value: { version } });
const all = { limit: 99 };
const key = fc.constantFrom('a', 'b', 'c');
const step: fc.Arbitrary<(table: Table) => unknown> = fc.oneof(
  fc.tuple(key, fc.nat(9)).map(
    ([key, version]) =>
      (table: Table) =>
        table.write(key, row(version)),
  ),
  fc.tuple(key, fc.nat(9)).map(
    ([key, version]) =>
      (table: Table) =>
        table.create(key, row(version)),
  ),
  key.map((key) => (table: Table) => table.remove(key)),
  key.map((key) => (table: Table) => table.read(key)),
  key.map((key) => (table: Table) => table.head(key)?.version),
  fc.constant((table: Table) => table.keys(all)),
);
const written = (table: Table): unknown => table.keys(all).map((key) => [key, table.read(key)]);

t.test('DUR-1 · answers like the table that it holds rows for, and leaves the same behind', async () => {
  fc.assert(
    fc.property(fc.array(fc.array(step, { maxLength: 8 }), { maxLength: 4 }), (transactions) => {
      const plain = createMemoryTables().tables.groups;
      const under = createMemoryTables().tables.groups;
      const held = createHeldTable(under);
      return transactions.every((steps) => {
        const alike = steps.every((step) => JSON.stringify(step(held)) === JSON.stringify(step(plain)));
        held.flush();
        return alike && JSON.stringify(written(under)) === JSON.stringify(written(plain));
      });
    }),
    { numRuns: runs(500) },
  );
});

t.test('DUR-1 · spells a row once a transaction, and not at all where that is given up', (t) => {
  const under = createMemoryTables().tables.groups;
  const spelled: string[] = [];
  const held = createHeldTable({
    ...under,
    write(key, row) {
      spelled.push(`${key}${row.version}`);
      under.write(key, row);
    },
  });
  for (const version of [1, 2, 3]) held.write('a', row(version));
  held.flush();
  t.same(spelled, ['a3']);
  under.write('a', row(9));
  t.equal(held.read('a')?.version, 9, 'what another gateway writes then is seen');
  held.flush();
  t.equal(under.read('a')?.version, 9, 'and stays');
  held.write('a', row(4));
  held.remove('b');
  held.drop();
  held.flush();
  t.same([spelled, held.read('a')?.version], [['a3'], 9]);
  t.end();
});
