import { appendFileSync, chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { open } from 'lmdb';
import t, { type Test } from 'tap';
import { checkStoreFile, removeMarker, writeMarker } from '../../../actors/store/lmdb-file.ts';
import { openLmdbJournal } from '../../../actors/store/lmdb-journal.ts';
import { openJournal } from '../../support/open-journal.ts';
import { fc, runs } from '../../support/property.ts';

const directory = join(t.testdir(), 'state');
const path = join(directory, 'data.mdb');
const pageBytes = 4096;
const records = 300;

/** A store with branches, leaves, large values and free pages. */
async function fill(): Promise<Buffer> {
  const journal = await openJournal(directory);
  for (let n = 0; n < records * 2; n += 1) {
    const key = `k${String(n).padStart(5, '0')}`;
    const value = { filling: 'x'.repeat((n % 5) * 2000) };
    void journal.commit([
      { kind: 'put', collection: 'events', key, value },
      { kind: 'claim', name: `name-${(n * 7919) % 1000}`, value: {}, forMs: n % 7 === 0 ? 3_600_000 : 0 },
    ]);
  }
  await journal.prune({ keepAfterKey: `k${String(records).padStart(5, '0')}`, maxBytes: 1e12 });
  await journal.commit([{ kind: 'put', collection: 'runs', key: 'r', value: {} }]);
  await journal.close();
  return readFileSync(path);
}
const whole = await fill();
const pages = whole.length / pageBytes;

/** Uses a store that was found whole: a signal here would end the spec. Returns how many records it still reads. */
async function use(): Promise<number | undefined> {
  const opened = await openLmdbJournal({ directory });
  if (!opened.ok) return undefined;
  const journal = opened.value;
  const listed = journal.local?.list('events', { order: 'newest', limit: 10_000 }).length;
  journal.local?.list('events', { order: 'oldest', limit: 10_000 });
  await journal.commit([{ kind: 'put', collection: 'runs', key: 'r', value: { filling: 'y'.repeat(20_000) } }]);
  await journal.prune({ keepAfterKey: 'k', maxBytes: 0 });
  await journal.close();
  return listed;
}

t.test('DUR-1 · finds no fault with a whole store and no store where there is none', async (t) => {
  t.same(await checkStoreFile(path), { kind: 'sound' });
  t.same(await checkStoreFile(`${path}.none`), { kind: 'absent' });
  await t.rejects(checkStoreFile(directory), { code: 'EISDIR' });

  const empty = join(t.testdir(), 'empty.mdb');
  await open({ path: empty }).close();
  t.equal(statSync(empty).size, 2 * pageBytes);
  t.same(await checkStoreFile(empty), { kind: 'sound' });
});

t.test(
  'DUR-1 · a check reads the neighbours in the file at once',
  { skip: !existsSync('/proc/self/io') },
  async (t) => {
    const reads = (): number => Number(/^syscr: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
    const before = reads();

    await checkStoreFile(path);

    t.ok(reads() - before < pages / 8, `${reads() - before} reads of ${pages} pages`);
  },
);

t.test('DUR-1 · passes no store that would end the process, wherever it was cut', async (t) => {
  const found = { sound: 0, corrupt: 0 };
  await fc.assert(
    fc.asyncProperty(fc.nat(whole.length - 1), async (bytes) => {
      writeFileSync(path, whole.subarray(0, bytes));
      const { kind } = await checkStoreFile(path);
      if (kind !== 'sound' && kind !== 'corrupt') throw new Error(kind);
      found[kind] += 1;
      if (kind === 'sound' && (await use()) !== records) throw new Error('records are lost');
    }),
    { numRuns: 60 },
  );
  t.ok(found.corrupt > 40, JSON.stringify(found));
});

t.test('DUR-1 · passes no store that would end the process, whichever page is rubbish', async (t) => {
  const found = { sound: 0, corrupt: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.nat(pages - 1),
      fc.uint8Array({ minLength: 64, maxLength: 64 }),
      // The number, the transaction, the flags and the bounds in the head of the page; its nodes; all of it.
      fc.constantFrom([0, 8], [8, 16], [16, 20], [20, 24], [24, 64], [2048, 4096], [0, 4096]),
      async (page, rubbish, [from = 0, until = 0]) => {
        const damaged = Buffer.from(whole);
        damaged.fill(rubbish, page * pageBytes + from, page * pageBytes + until);
        writeFileSync(path, damaged);
        const { kind } = await checkStoreFile(path);
        if (kind === 'sound') await use();
        if (kind === 'sound' || kind === 'corrupt') found[kind] += 1;
      },
    ),
    { numRuns: runs(150) },
  );
  t.ok(found.corrupt > 2 && found.sound > 2, JSON.stringify(found));
});

t.test('DUR-1 · the number of pages in the head of a large value is that of its record', async (t) => {
  const damaged = Buffer.from(whole);
  for (let number = 2; number < pages; number += 1) {
    const head = damaged.subarray(number * pageBytes, (number + 1) * pageBytes);
    if (head.readUInt16LE(18) === 4) head.writeUInt32LE(1_000_000, 20);
  }
  writeFileSync(path, damaged);

  t.match(await checkStoreFile(path), { kind: 'corrupt', what: /^page \d+ is damaged$/ });
});

t.test('DUR-1 · a store of more tables than any journal has is refused', async (t) => {
  const crowded = join(t.testdir(), 'crowded.mdb');
  const root = open({ path: crowded, maxDbs: 65 });
  for (let n = 0; n < 63; n += 1) root.openDB(`t${n}`, {});
  // ...and the two trees of every store.
  t.same(await checkStoreFile(crowded), { kind: 'corrupt', what: 'it has more than 64 tables' });
  await root.close();
});

t.test('DUR-1 · ends on pages that point at each other', async (t) => {
  const circle = Buffer.from(whole);
  for (let number = 2; number < pages; number += 1) {
    const page = circle.subarray(number * pageBytes, (number + 1) * pageBytes);
    const isBranch = page.readUInt16LE(18) === 1;
    for (let node = 0; isBranch && node < page.readUInt16LE(20) >> 1; node += 1) {
      page.writeUInt32LE(number, 24 + page.readUInt16LE(24 + 2 * node));
    }
  }
  writeFileSync(path, circle);

  t.match(await checkStoreFile(path), { kind: 'corrupt', what: 'its pages point at each other in a circle' });
});

const markerOf = (directory: string): string => join(directory, 'closed');

/** A store with one record, closed in order. */
async function closed(t: Test): Promise<string> {
  const directory = join(t.testdir(), 'state');
  const journal = await openJournal(directory);
  await journal.commit([{ kind: 'put', collection: 'events', key: 'k', value: { n: 1 } }]);
  await journal.close();
  return directory;
}

t.test('DUR-1 · a store that was closed in order has its marker, and opening it removes it', async (t) => {
  const directory = await closed(t);
  t.equal(statSync(markerOf(directory)).mode & 0o777, 0o600);

  const journal = await openJournal(directory);
  t.equal(existsSync(markerOf(directory)), false, 'a crash from here on is noticed');
  t.same(journal.local?.get('events', 'k')?.value, { n: 1 });
  await journal.close();
  t.equal(removeMarker(directory), true);
  t.equal(removeMarker(directory), false, 'it breaks once');
});

t.test('DUR-1 · a store with its marker is not walked through, one without is', async (t) => {
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

  await writeMarker(directory);
  const journal = await openJournal(directory);
  t.same(journal.local?.get('events', 'k')?.value, { n: 1 });
  await journal.close();
});

t.test('DUR-1 · a marker does not hold for what was written after it, nor if it is cut', async (t) => {
  const directory = await closed(t);
  appendFileSync(join(directory, 'data.mdb'), Buffer.alloc(4096));
  t.equal(removeMarker(directory), false, 'a longer file');

  await writeMarker(directory);
  writeFileSync(markerOf(directory), '');
  t.equal(removeMarker(directory), false, 'an empty marker');
});

t.test('DUR-1 · a place that takes no marker is left without a word', async (t) => {
  const directory = await closed(t);
  removeMarker(directory);
  await writeMarker(join(directory, 'nowhere'));
  t.equal(removeMarker(join(directory, 'nowhere')), false);
  if (process.getuid?.() !== 0) {
    chmodSync(directory, 0o500);
    await writeMarker(directory);
    chmodSync(directory, 0o700);
    t.equal(existsSync(markerOf(directory)), false);
  }
});
