import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { open as openLmdb } from 'lmdb';
import t from 'tap';
import { openLmdbJournal } from '../../../actors/store/lmdb-journal.ts';
import { enter } from '../../../actors/store/lmdb-store.ts';
import { layout, layoutOf } from '../../../actors/store/lmdb-upgrade.ts';
import { got, openJournal } from '../../support/open-journal.ts';

const keys = Array.from({ length: 400 }, (_, n) => `k${String(n).padStart(4, '0')}`);

/** Makes a store with some records, small and large, and returns its folder. */
async function filled(home: string): Promise<string> {
  const directory = join(home, 'state');
  const journal = await openJournal(directory);
  for (const [n, key] of keys.entries()) {
    const value = { filling: 'x'.repeat(n % 3 === 0 ? 5000 : 500) };
    void journal.commit([{ kind: 'put', collection: 'events', key, value }]);
  }
  await journal.close();
  return directory;
}

const damages: Readonly<Record<string, (data: Buffer) => Buffer>> = {
  'an empty file': () => Buffer.alloc(0),
  'a file of zeros': (data) => Buffer.alloc(data.length),
  'a file of rubbish': (data) => Buffer.alloc(data.length, 'rubbish'),
  'a text file': () => Buffer.from('not a store\n'),
  'a file cut within its first page': (data) => data.subarray(0, 100),
  'a file cut after its first page': (data) => data.subarray(0, 4096),
  'a file cut after its heads': (data) => data.subarray(0, 8192),
  'a file cut in the middle': (data) => data.subarray(0, Math.floor(data.length / 2)),
  'a file with a placeholder': (data) => Buffer.from(data).fill(0, 16_384, data.length - 16_384),
  'rubbish after its heads': (data) => Buffer.from(data).fill('rubbish', 8192),
};

for (const [name, damage] of Object.entries(damages)) {
  t.test(`DUR-1 · refuses ${name}, says how to go on, and leaves it as it is`, async (t) => {
    const directory = await filled(t.testdir());
    const path = join(directory, 'data.mdb');
    const damaged = damage(readFileSync(path));
    writeFileSync(path, damaged);

    const opened = await openLmdbJournal({ directory });

    t.match(opened, { ok: false, fault: { code: 'journal-corrupt' } });
    const message = opened.ok ? '' : opened.fault.message;
    t.ok(message.startsWith(`${path}: the store is damaged: `), message);
    t.ok(message.includes(`mv '${path}' '${path}.aside'`), message);
    t.ok(damaged.equals(readFileSync(path)), 'not a byte is changed');
  });
}

t.test(
  'LIF-9 · SEC-4 · a store that is checked first gets a low descriptor, whatever else is opened meanwhile',
  { skip: process.platform !== 'linux' && 'needs /proc' },
  async (t) => {
    const directory = await filled(t.testdir());
    rmSync(join(directory, 'closed'));
    const child = fileURLToPath(new URL('../../support/journal-child.js', import.meta.url));
    const { stdout, stderr } = spawnSync(process.execPath, [child, 'descriptor', directory], { encoding: 'utf8' });
    const { inherited, others } = JSON.parse(stdout || `"${stderr}"`);
    t.equal(inherited.length, 1);
    t.ok(inherited[0] < others, `${inherited} is below ${others}`);
  },
);

t.test('DUR-1 · begins anew once the damaged store was moved aside', async (t) => {
  const directory = await filled(t.testdir());
  const path = join(directory, 'data.mdb');
  writeFileSync(path, '');
  t.match(await openLmdbJournal({ directory }), { ok: false });

  renameSync(path, `${path}.aside`);
  const journal = await openJournal(directory);
  t.teardown(() => journal.close());

  t.same(await journal.commit([{ kind: 'put', collection: 'events', key: 'e', value: {} }]), { kind: 'committed' });
});

t.test('DUR-1 · does not mind what is left in the lock file', async (t) => {
  for (const lock of [Buffer.alloc(0), Buffer.from('rubbish'), Buffer.alloc(20_000, 'rubbish')]) {
    const directory = await filled(t.testdir());
    writeFileSync(join(directory, 'lock.mdb'), lock);

    const journal = await openJournal(directory);

    t.equal(journal.local?.list('events', { order: 'oldest', limit: 1000 }).length, keys.length);
    t.same(await journal.commit([{ kind: 'put', collection: 'events', key: 'e', value: {} }]), { kind: 'committed' });
    await journal.close();
  }
});

t.test('DUR-1 · refuses a store of a newer layout and leaves it as it is', async (t) => {
  const directory = await filled(t.testdir());
  const path = join(directory, 'data.mdb');
  const root = openLmdb({ path: directory, noSubdir: false, encoding: 'binary' });
  const meta = root.openDB<Buffer, string>({ name: 'meta', encoding: 'binary' });
  await meta.put('layout', Buffer.from(`{"version":${layout + 1}}`));
  await root.close();
  const before = readFileSync(path);

  const opened = await openLmdbJournal({ directory });

  const message = `${path}: the store has layout ${layout + 1}, this gateway knows layout ${layout}; run the gateway that wrote it, or move`;
  t.match(opened, { ok: false, fault: { code: 'journal-version', message } });
  t.ok(before.equals(readFileSync(path)), 'not a byte is changed');
});

t.test('DUR-2 · a store that is put in place of one while the gateway runs is brought up to date too', async (t) => {
  const directory = await filled(t.testdir());
  const root = openLmdb({ path: directory, noSubdir: false, encoding: 'binary' });
  await root.openDB<Buffer, string>({ name: 'meta', encoding: 'binary' }).put('layout', Buffer.from('{"version":3}'));
  await root.close();

  const entered = got(await enter(directory));

  t.equal(layoutOf(entered.tables.meta), layout);
  await entered.close();
});

t.test('DUR-1 · refuses the LMDB store of another program and another data format', async (t) => {
  const directory = join(t.testdir(), 'state');
  const path = join(directory, 'data.mdb');
  const root = openLmdb({ path: directory, noSubdir: false, encoding: 'binary', overlappingSync: false });
  await root.openDB({ name: 'cookies', encoding: 'binary' }).put('a', Buffer.from('b'));
  await root.close();
  const before = readFileSync(path);

  const found = { ok: false, fault: { code: 'journal-version', message: `${path}: the store has no journal` } };
  t.match(await openLmdbJournal({ directory }), found);
  t.ok(before.equals(readFileSync(path)), 'not a byte is changed');

  before.writeUInt32LE(1, 28);
  writeFileSync(path, before);
  const format = { ok: false, fault: { code: 'journal-version', message: `${path}: the store has data format 1` } };
  t.match(await openLmdbJournal({ directory }), format);
});

t.test('DUR-1 · says what is in the way of its folder', async (t) => {
  const home = t.testdir({ state: 'a file', folder: { 'data.mdb': {} } });

  for (const directory of [join(home, 'state'), join(home, 'state', 'below'), join(home, 'folder')]) {
    const opened = await openLmdbJournal({ directory });
    t.match(opened, { ok: false, fault: { code: 'journal-unreadable', message: `${directory}: ` } });
  }
});

t.test('HOME-3 · makes the folder 0700 and its files 0600 under any umask', async (t) => {
  for (const umask of [0o000, 0o022, 0o077]) {
    const directory = join(t.testdir(), 'new', 'state');
    const before = process.umask(umask);
    const journal = await openJournal(directory);
    process.umask(before);
    t.teardown(() => journal.close());

    const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
    t.equal(modeOf(directory), '700');
    t.equal(modeOf(join(directory, '..')), '700');
    t.same(
      readdirSync(directory).map((name) => `${name} ${modeOf(join(directory, name))}`),
      ['data.mdb 600', 'lock.mdb 600'],
    );
    await journal.close();
  }
});

t.test('HOME-3 · keeps a folder with a dot in its name apart from a file', async (t) => {
  const directory = join(t.testdir(), 'state.d');
  mkdirSync(directory);
  const journal = await openJournal(directory);
  t.teardown(() => journal.close());

  t.same(readdirSync(directory), ['data.mdb', 'lock.mdb']);
});
