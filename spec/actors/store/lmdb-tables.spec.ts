import { join } from 'node:path';
import t from 'tap';
import { openEnvironment } from '../../../actors/store/lmdb-tables.ts';
import { createMemoryTables } from '../../../actors/store/memory-tables.ts';
import type { Row, Table } from '../../../actors/store/tables.ts';

const row = (text: string): Row => ({ version: 1, dueAtMs: undefined, heldBy: undefined, value: { text } });

t.test('DUR-1 · lands nothing of a transaction whose body throws halfway', async (t) => {
  const environment = openEnvironment(t.testdir(), () => {});
  t.teardown(() => environment.close());
  const { events } = environment.tables;

  const refused = environment.transact(() => {
    events.write('a', row('1'));
    throw new Error('halfway');
  });

  await t.rejects(refused, { message: 'halfway' });
  t.equal(events.read('a'), undefined);
  await environment.transact(() => events.write('b', row('2')));
  t.same(events.keys({ limit: 9 }), ['b']);
});

t.test('DUR-1 · leaves alone what `admit` turns away, and can be opened after that', async (t) => {
  const directory = t.testdir();
  const admit = () => {
    throw new Error('not this one');
  };

  t.throws(() => openEnvironment(directory, admit), { message: 'not this one' });
  const environment = openEnvironment(directory, () => {});

  await environment.close();
  await environment.close();
  t.equal(environment.tables.events.read('a'), undefined, 'closed tables read as empty');
  t.same(environment.tables.events.keys({ limit: 9 }), []);
  t.equal(environment.usedBytes(), 0);
});

t.test('DUR-1 · tables on disk and in memory answer alike', async (t) => {
  const environment = openEnvironment(join(t.testdir(), 'lmdb'), () => {});
  t.teardown(() => environment.close());
  const memory = createMemoryTables();
  const run = (job: (table: Table) => unknown) => job(memory.tables.events);
  const steps: readonly ((table: Table) => unknown)[] = [
    (table) => table.create('b', row('1')),
    (table) => table.create('b', row('2')),
    (table) => table.write('a', row('')),
    (table) => table.write('c', row('3'.repeat(100_000))),
    (table) => table.write('c/d', row('4')),
    (table) => table.read('c')?.value,
    (table) => table.read('a'),
    (table) => table.read('none'),
    (table) => table.keys({ limit: 2 }),
    (table) => table.keys({ limit: 9, from: 'a' }),
    (table) => table.keys({ limit: 9, from: 'aa', until: 'c' }),
    (table) => table.keys({ limit: 9, order: 'newest' }),
    (table) => table.keys({ limit: 9, order: 'newest', from: 'c', until: 'a' }),
    (table) => table.keys({ limit: 1, order: 'newest', from: 'bb' }),
    (table) => table.keys({ limit: 0 }),
    (table) => table.remove('none'),
    (table) => table.remove('b'),
    (table) => table.keys({ limit: 9 }),
    (table) => table.create('b', row('5')),
    (table) => table.read('b'),
    (table) => table.head('b')?.version,
  ];
  for (const [index, step] of steps.entries()) {
    let answer: unknown;
    await environment.transact(() => {
      answer = step(environment.tables.events);
    });
    t.same(answer, run(step), `step ${index}`);
  }
});
