import { appendFileSync, chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { openLmdbJournal } from '../../../actors/store/lmdb-journal.ts';
import { breakSeal, sealStore } from '../../../actors/store/lmdb-seal.ts';
import { openJournal } from '../../support/open-journal.ts';

const sealOf = (directory: string): string => join(directory, 'closed');

/** A store with one record, closed in order. */
async function closed(t: Test): Promise<string> {
  const directory = join(t.testdir(), 'state');
  const journal = await openJournal(directory);
  await journal.commit([{ kind: 'put', collection: 'events', key: 'k', value: { n: 1 } }]);
  await journal.close();
  return directory;
}

t.test('DUR-1 · a store that was closed in order is sealed, and opening it breaks the seal', async (t) => {
  const directory = await closed(t);
  t.equal(statSync(sealOf(directory)).mode & 0o777, 0o600);

  const journal = await openJournal(directory);
  t.equal(existsSync(sealOf(directory)), false, 'a crash from here on is noticed');
  t.same(journal.local?.get('events', 'k')?.value, { n: 1 });
  await journal.close();
  t.equal(breakSeal(directory), true);
  t.equal(breakSeal(directory), false, 'it breaks once');
});

t.test('DUR-1 · a sealed store is not walked through, an unsealed one is', async (t) => {
  const directory = await closed(t);
  const path = join(directory, 'data.mdb');
  // Both heads count a table too many: a walk finds that, and nothing else asks.
  const data = readFileSync(path);
  const pageSize = 4096;
  const countAt = 128;
  for (const head of [0, pageSize]) data.writeBigUInt64LE(data.readBigUInt64LE(head + countAt) + 1n, head + countAt);
  writeFileSync(path, data);
  t.match(
    await openLmdbJournal({ directory }),
    { ok: false, fault: { code: 'journal-corrupt' } },
    'it is another file',
  );

  await sealStore(directory);
  const journal = await openJournal(directory);
  t.same(journal.local?.get('events', 'k')?.value, { n: 1 });
  await journal.close();
});

t.test('DUR-1 · what was written after the seal breaks it, and so does one that is cut', async (t) => {
  const directory = await closed(t);
  appendFileSync(join(directory, 'data.mdb'), Buffer.alloc(4096));
  t.equal(breakSeal(directory), false, 'a longer file');

  await sealStore(directory);
  writeFileSync(sealOf(directory), '');
  t.equal(breakSeal(directory), false, 'a seal without words');
});

t.test('DUR-1 · a place that cannot be sealed is left without a word', async (t) => {
  const directory = await closed(t);
  breakSeal(directory);
  await sealStore(join(directory, 'nowhere'));
  t.equal(breakSeal(join(directory, 'nowhere')), false);
  if (process.getuid?.() !== 0) {
    chmodSync(directory, 0o500);
    await sealStore(directory);
    chmodSync(directory, 0o700);
    t.equal(existsSync(sealOf(directory)), false);
  }
});
