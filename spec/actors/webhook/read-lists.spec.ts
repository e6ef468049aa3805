import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import t from 'tap';
import { createListReader, isBrokenList } from '../../../actors/webhook/read-lists.ts';
import type { ListMembership } from '../../../machines/webhook/filter.ts';
import { makeHome } from '../../support/home.ts';
import { fc } from '../../support/property.ts';

t.test('FIL-3 · what is written as JSON or as lines is found, and nothing else', (t) => {
  const home = makeHome(t);
  const reader = createListReader({ home: home.path });
  const entry = fc
    .string({ unit: 'grapheme', minLength: 1 })
    .filter((text) => !/[\r\n]/.test(text) && text === text.trim());
  let n = 0;
  const read = (text: string): ListMembership | undefined => {
    n += 1;
    home.write(`list-${n}`, text);
    return reader.list(`list-${n}`);
  };
  fc.assert(
    fc.property(fc.uniqueArray(entry, { minLength: 1 }), entry, (entries, other) => {
      const lists = [
        read(JSON.stringify(entries)),
        read(JSON.stringify(Object.fromEntries(entries.map((one) => [one, true])))),
        // A first line that opens JSON would be read as such where the whole is JSON.
        ...(/^[[{]/.test(entries[0] ?? '') ? [] : [read(`${entries.join('\r\n')}\n\n`)]),
      ];
      return lists.every(
        (list) => entries.every((one) => list?.has(one)) && list?.has(other) === entries.includes(other),
      );
    }),
    { numRuns: 60 },
  );
  t.end();
});

t.test('FIL-2 · FIL-3 · a list of ids beyond 2^53 holds their digits', (t) => {
  const home = makeHome(t, { l: '[10000000000000000001, 7]' });
  const list = createListReader({ home: home.path }).list('l');
  const asked = ['10000000000000000001', '10000000000000000000', '10000000000000000002', 7];
  t.same(
    asked.map((id) => list?.has(id)),
    [true, false, false, true],
  );
  t.end();
});

t.test('FIL-5 · FIL-3 · a JSON list is compared without coercion, lines and keys by their text', (t) => {
  const home = makeHome(t, { list: '[1, true, "2", null, {"a": 1}]', lines: '1\ntrue\n', keys: '{"1": 0, "true": 0}' });
  const reader = createListReader({ home: home.path });
  const asked = [1, '1', true, 'true', '2', 2, null, 'null'];
  const found = (name: string) => asked.filter((value) => reader.list(name)?.has(value));
  t.same(found('list'), [1, true, '2', null]);
  t.same(found('lines'), [1, '1', 'true']);
  t.same(found('keys'), [1, '1', 'true']);
  t.end();
});

t.test('FIL-3 · a list that begins as JSON and is not decides nothing', (t) => {
  const home = makeHome(t);
  const reader = createListReader({ home: home.path });
  for (const [name, text, decides] of [
    ['a.json', '[\n "mallory",\n "eve",\n]', false],
    ['b.json', '["mallory', false],
    ['c.json', '{mallory: 1}', false],
    ['d.txt', '[\n "mallory",\n', false],
    ['e.txt', '{ "mallory": 1, }', false],
    ['f.txt', '[bot]\nmallory', true],
    ['i.txt', '[17, 18,', false],
    ['j.txt', '[', false],
    ['k.txt', '[["mallory"', false],
    ['l.txt', '[true,', false],
    ['m.json', '', false],
    ['n.json', '\uFEFF["mallory"]', true],
    ['g.json', 'mallory\neve', true],
    ['h.json', '["mallory"]', true],
  ] as const) {
    home.write(name, text);
    t.match(reader.list(name)?.has('mallory'), decides ? true : 'the list is JSON with a syntax error', name);
    t.equal(isBrokenList(`${home.path}/${name}`), !decides, name);
  }
  t.notOk(isBrokenList(`${home.path}/none`));
  t.end();
});

t.test('FIL-3 · a change is seen at once, a file that went is no list, one that came back is', (t) => {
  const home = makeHome(t, { l: 'one', 'next/l': 'two' });
  const reader = createListReader({ home: home.path });
  t.ok(reader.list('l')?.has('one'));
  t.equal(reader.list('l'), reader.list('l'), 'kept while nothing changes');
  renameSync(`${home.path}/next/l`, `${home.path}/l`);
  t.same([reader.list('l')?.has('one'), reader.list('l')?.has('two')], [false, true]);
  rmSync(`${home.path}/l`);
  t.equal(reader.list('l'), undefined);
  home.write('l', 'three');
  t.ok(reader.list('l')?.has('three'));
  t.end();
});

t.test('FIL-3 · a list that could not be read is read once its permissions are corrected', (t) => {
  const home = makeHome(t, { l: 'one' });
  // The superuser reads everything.
  const other = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  if (other.uid !== undefined) for (const path of [home.path, `${home.path}/l`]) chownSync(path, other.uid, other.gid);
  const program = `
import { chmodSync } from 'node:fs';
import { createListReader } from ${JSON.stringify(new URL('../../../actors/webhook/read-lists.js', import.meta.url).href)};
const [home] = process.argv.slice(1);
const reader = createListReader({ home });
const seen = [0, 0o600].map((mode) => {
  chmodSync(home + '/l', mode);
  return reader.list('l')?.has('one') ?? null;
});
process.stdout.write(JSON.stringify(seen));`;
  const words = ['--input-type=module', '-e', program, home.path];
  const { stdout, stderr } = spawnSync(process.execPath, words, { ...other, env: {}, encoding: 'utf8' });
  t.equal(stdout, '[null,true]', stderr);
  t.end();
});

t.test('FIL-3 · nothing outside the home is read, and nothing that is no file is waited for', (t) => {
  const home = makeHome(t, { 'lists/in': 'x', 'lists/deep/in': 'x' });
  const other = makeHome(t, { secret: 'x' });
  mkdirSync(`${home.path}/profiles`);
  symlinkSync(`${other.path}/secret`, `${home.path}/out`);
  symlinkSync(other.path, `${home.path}/outside`);
  symlinkSync('lists/in', `${home.path}/within`);
  symlinkSync('loop', `${home.path}/loop`);
  execFileSync('mkfifo', [`${home.path}/pipe`]);
  const reader = createListReader({ home: home.path });
  for (const name of ['lists/in', 'within', './lists/../lists/deep/in', `${home.path}/lists/in`]) {
    t.ok(reader.list(name)?.has('x'), name);
  }
  const outside = [
    'out',
    'outside/secret',
    `${other.path}/secret`,
    '../x',
    'loop',
    'pipe',
    'profiles',
    'lists',
    '',
    '.',
  ];
  for (const name of outside) t.equal(reader.list(name), undefined, name);
  t.end();
});
