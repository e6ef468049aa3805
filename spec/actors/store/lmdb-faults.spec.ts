import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { closedFault, commitFault, corruptFault, openFault, versionFault } from '../../../actors/store/lmdb-faults.ts';

const directory = join(t.testdir(), 'state');
mkdirSync(directory);
writeFileSync(join(directory, 'data.mdb'), 'x');

const thrown = (code: number | string) => Object.assign(new Error(`code ${code}`), { code });

t.test('DUR-1 · names what LMDB, the system and Node say', async (t) => {
  const rows: readonly (readonly [number | string, string])[] = [
    [28, 'journal-full'],
    ['ENOSPC', 'journal-full'],
    [27, 'journal-full'],
    [122, 'journal-full'],
    [-30792, 'journal-full'],
    [30, 'journal-read-only'],
    ['EROFS', 'journal-read-only'],
    [13, 'journal-read-only'],
    ['EACCES', 'journal-read-only'],
    [-30796, 'journal-corrupt'],
    [-30797, 'journal-corrupt'],
    [-30793, 'journal-corrupt'],
    [-30794, 'journal-version'],
    [5, 'journal-unreadable'],
    ['ENOTDIR', 'journal-unreadable'],
    ['toString', 'journal-unreadable'],
  ];
  for (const [code, expected] of rows) {
    const fault = openFault(directory, thrown(code));
    t.equal(fault.code, expected, String(code));
    t.ok(fault.message.startsWith(directory), fault.message);
  }
  t.equal(openFault(directory, 'a text').code, 'journal-unreadable');
});

t.test('DUR-1 · asks the disk about a write that fell short, and leaves nothing there', async (t) => {
  t.equal(commitFault(directory, thrown(5)).code, 'journal-unreadable', 'the disk has room: an error of the disk');
  t.equal(commitFault(directory, thrown(28)).code, 'journal-full');
  t.same(readdirSync(directory), ['data.mdb']);
});

t.test('DUR-1 · names the path and the cure', async (t) => {
  const path = join(directory, 'data.mdb');
  const cure = `mv '${path}' '${path}.aside'`;

  t.ok(corruptFault(path, 'it is empty').message.includes(cure));
  t.ok(versionFault(path, 'layout 2', 'layout 1').message.includes(cure));
  t.match(corruptFault("/home/o'neil/data.mdb", 'it is empty'), {
    message: "mv '/home/o'\\''neil/data.mdb' '/home/o'\\''neil/data.mdb.aside'",
  });
  t.match(closedFault(directory), { code: 'journal-unavailable' });
});
