import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';
import { UnusableBinary } from '../../../actors/pinned-binary.ts';
import { openFault } from '../../../actors/store/lmdb-faults.ts';
import { createBufferedTable, openEnvironment } from '../../../actors/store/lmdb-tables.ts';
import { loadLmdb } from '../../../actors/store/load-lmdb.ts';
import { createMemoryTables } from '../../../actors/store/memory-journal.ts';
import type { Row, Table } from '../../../actors/store/tables.ts';
import { fc, runs } from '../../support/property.ts';

const row = (text: string): Row => ({ version: 1, dueAtMs: undefined, heldBy: undefined, value: { text } });

t.test('DUR-1 · lands nothing of a transaction whose body throws halfway', async (t) => {
  const environment = openEnvironment(t.testdir(), () => {});
  t.teardown(() => environment.close());
  const { events, recentMarks } = environment.tables;

  const refused = environment.transact(() => {
    events.write('a', row('1'));
    recentMarks.set('e/r/', 'a');
    throw new Error('halfway');
  });

  await t.rejects(refused, { message: 'halfway' });
  t.equal(events.read('a'), undefined);
  t.equal(recentMarks.size, 0, 'its marks are to be written anew');
  await environment.transact(() => events.write('b', row('2')));
  t.same(events.keys({ limit: 9 }), ['b']);
});

t.test('SEC-9 · only the pinned binary of LMDB is loaded, and no other native module', (t) => {
  t.throws(() => loadLmdb(() => Buffer.from('another build')), {
    message:
      /\.node is not the pinned binary: its SHA-256 is [0-9a-f]{64}, not [0-9a-f]{64}; install the package again on /,
  });
  const missing = new Error('No native build was found\n    attempted loading from: /x');
  t.throws(
    () =>
      loadLmdb(() => {
        throw missing;
      }),
    { message: /^.*: No native build was found; install the package again on this machine, with --include=optional$/ },
  );
  const url = new URL('../../../actors/store/load-lmdb.js', import.meta.url).href;
  const loads = `const { loadLmdb } = await import('${url}');
    try { loadLmdb(); } catch ({ message }) { console.log(message); }
    const { sharedObjects } = process.report.getReport();
    for (const path of sharedObjects) if (path.endsWith('.node')) console.log(path);`;
  const print = (env: NodeJS.ProcessEnv = {}) =>
    execFileSync(process.execPath, ['--input-type=module', '-e', loads], {
      encoding: 'utf8',
      env: { ...process.env, ...env },
    });
  t.match(print(), /^\S+\/@lmdb\/lmdb-[\w-]+\/node\.[\w.]+\.node\n$/);
  const folder = t.testdir({ build: { Release: { 'node.abi115.node': 'another' } } });
  const refused = /^the LMDB library cannot be used: no binary is pinned for \S+: \S+node\.abi115\.node; install .*\n$/;
  t.match(print({ LMDB_PREBUILD: folder }), refused);
  t.match(openFault('/state', new UnusableBinary('the LMDB library cannot be used')), {
    code: 'journal-unreadable',
    message: 'the LMDB library cannot be used',
  });
  t.end();
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

t.test('DUR-2 · keys that grow fill the pages that they are written to', async (t) => {
  const directory = t.testdir();
  const environment = openEnvironment(directory, () => {});
  t.teardown(() => environment.close());
  const { events, marks } = environment.tables;
  const key = (at: number) => `k${String(at).padStart(6, '0')}`;
  const before = environment.usedBytes();
  // A little less than half a page each.
  await environment.transact(() => {
    for (let at = 0; at < 1_000; at += 1) events.create(key(at), row('x'.repeat(1_800)));
  });
  const pages = (environment.usedBytes() - before) / 4_096;
  t.ok(pages < 600, `${pages} pages for 1,000 rows`);

  // What another process has put behind them, or this one in their midst, is neither lost nor overwritten.
  await environment.transact(() => {
    t.equal(events.create(key(999), row('again')), false);
    t.equal(events.create(`${key(500)}/`, row('between')), true);
    t.equal(events.create(`${key(500)}/`, row('again')), false);
    marks.write('b', row(''));
    marks.write('a', row(''));
    marks.write('b', row(''));
    marks.remove('b');
    marks.write('b', row(''));
  });
  t.equal(events.keys({ limit: 9_999 }).length, 1_001);
  t.same(events.read(`${key(500)}/`)?.value, { text: 'between' });
  t.same(marks.keys({ limit: 9 }), ['a', 'b']);
});

t.test('DUR-1 · two that write behind all others find what the other has put there', async (t) => {
  const directory = t.testdir();
  const first = openEnvironment(directory, () => {});
  await first.transact(() => void first.tables.events.create('m', row('first')));
  await first.close();
  const again = openEnvironment(directory, () => {});
  t.teardown(() => again.close());
  await again.transact(() => {
    t.equal(again.tables.events.create('m', row('again')), false, 'the greatest key is there already');
    t.equal(again.tables.events.create('k', row('less')), true);
    again.tables.events.write('l', row('less'));
    again.tables.events.write('m', row('over'));
  });
  t.same(again.tables.events.keys({ limit: 9 }), ['k', 'l', 'm']);
  t.same(again.tables.events.read('m')?.value, { text: 'over' });
});

t.test('DUR-1 · a batch’s record is read as it was written within the transaction, and gone with it', async (t) => {
  const environment = openEnvironment(t.testdir(), () => {});
  t.teardown(() => environment.close());
  const { groups } = environment.tables;
  await environment.transact(() => {
    groups.create('g', row('1'));
    groups.write('g', row('2'));
    t.same(groups.read('g')?.value, { text: '2' });
  });
  const seenBeside: unknown[] = [];
  const refused = environment.transact(() => {
    groups.write('g', row('3'));
    groups.write('h', row('3'));
    queueMicrotask(() => seenBeside.push(groups.read('g')?.value, groups.keys({ limit: 9 })));
    throw new Error('halfway');
  });
  await t.rejects(refused, { message: 'halfway' });
  t.same(seenBeside, [{ text: '2' }, ['g']], 'nobody sees what is given up, and nobody writes it');
  t.same(groups.read('g')?.value, { text: '2' });
  t.same(groups.keys({ limit: 9 }), ['g']);
});

const versioned = (version: number): Row => ({ version, dueAtMs: undefined, heldBy: undefined, value: { version } });
const all = { limit: 99 };
const key = fc.constantFrom('a', 'b', 'c');
const step: fc.Arbitrary<(table: Table) => unknown> = fc.oneof(
  fc.tuple(key, fc.nat(9)).map(
    ([key, version]) =>
      (table: Table) =>
        table.write(key, versioned(version)),
  ),
  fc.tuple(key, fc.nat(9)).map(
    ([key, version]) =>
      (table: Table) =>
        table.create(key, versioned(version)),
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
      const held = createBufferedTable(under);
      return transactions.every((steps) => {
        const alike = steps.every((step) => JSON.stringify(step(held)) === JSON.stringify(step(plain)));
        held.flush();
        return alike && JSON.stringify(written(under)) === JSON.stringify(written(plain));
      });
    }),
    { numRuns: runs(500) },
  );
});

t.test('DUR-1 · formats a row once in a transaction, and never if that is rolled back', (t) => {
  const under = createMemoryTables().tables.groups;
  const spelled: string[] = [];
  const held = createBufferedTable({
    ...under,
    write(key, row) {
      spelled.push(`${key}${row.version}`);
      under.write(key, row);
    },
  });
  for (const version of [1, 2, 3]) held.write('a', versioned(version));
  held.flush();
  t.same(spelled, ['a3']);
  under.write('a', versioned(9));
  t.equal(held.read('a')?.version, 9, 'what another gateway writes then is seen');
  held.flush();
  t.equal(under.read('a')?.version, 9, 'and stays');
  held.write('a', versioned(4));
  held.remove('b');
  held.drop();
  held.flush();
  t.same([spelled, held.read('a')?.version], [['a3'], 9]);
  t.end();
});
