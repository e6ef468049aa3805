import { mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import { homedir } from 'node:os';
import t from 'tap';
import { confined, leadsOut, placedIn } from '../../actors/confine.ts';
import { makeHome } from '../support/home.ts';
import { fc, runs } from '../support/property.ts';

t.test('SCR-1 · FIL-3 · no path, however it is written and linked, leads out of its folder', (t) => {
  const home = makeHome(t, { 'in/a': '', 'in/b/c': '', 'in/..d': '', 'in-between': '', out: '' });
  mkdirSync(`${home.path}/in/e`);
  symlinkSync('../out', `${home.path}/in/leaves`);
  symlinkSync('..', `${home.path}/in/up`);
  symlinkSync('b/c', `${home.path}/in/stays`);
  const folder = `${home.path}/in`;
  const root = `${realpathSync(folder)}/`;
  const step = fc.constantFrom(
    'a',
    'b',
    'c',
    '..',
    '.',
    '',
    'e',
    'leaves',
    'up',
    'stays',
    '..d',
    'in',
    'out',
    '\0',
    '~',
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 6 }), fc.boolean(), (steps, isAbsolute) => {
      const found = confined(folder, `${isAbsolute ? `${folder}/` : ''}${steps.join('/')}`);
      return found === undefined || found.startsWith(root);
    }),
    { numRuns: runs(2_000) },
  );
  const inside = ['a', './a', 'b/../a', 'b/c', 'stays', '..d', 'up/in/a', 'e', `${folder}/a`];
  for (const name of inside) t.ok(confined(folder, name)?.startsWith(root), name);
  const outside = ['leaves', 'up/out', '../in-between', '/etc/passwd', 'gone', '', '.', 'up', 'up/in', 'a\0', '~/a'];
  for (const name of outside) t.equal(confined(folder, name), undefined, JSON.stringify(name));
  t.equal(confined(`${home.path}/none`, 'a'), undefined);
  t.end();
});

t.test('FIL-3 · a name that begins with ~/ is in the home of the user', (t) => {
  t.equal(placedIn('/h', '~/a/../b'), `${homedir()}/b`);
  for (const name of ['~a', 'a/~/b']) t.equal(placedIn('/h', name), `/h/${name}`);
  t.notOk(leadsOut(homedir(), '~/a'));
  t.ok(leadsOut(`${homedir()}/a`, '~/b'));
  t.end();
});

t.test(
  'FIL-2 · FIL-3 · a path that leaves by its text differs from one that leaves by a link, and from one inside',
  (t) => {
    const home = makeHome(t, { 'in/a': '', out: '' });
    const folder = `${home.path}/in`;
    symlinkSync('../out', `${folder}/leaves`);
    symlinkSync('in', `${home.path}/linked`);
    const rows: readonly (readonly [name: string, out: boolean])[] = [
      ['../out', true],
      ['a/../../out', true],
      ['..', true],
      ['/etc/passwd', true],
      [`${home.path}/out`, true],
      [`${home.path}/none/a`, true],
      ['a', false],
      ['./..a', false],
      ['b/../a', false],
      ['gone', false],
      ['leaves', false],
      ['../in/a', false],
      [`${folder}/a`, false],
      [`${folder}/gone`, false],
      [`${home.path}/linked/a`, false],
    ];
    for (const [name, out] of rows) t.equal(leadsOut(folder, name), out, name);
    t.equal(leadsOut(`${home.path}/linked`, `${realpathSync(folder)}/gone`), false, 'a folder by its real name');
    t.equal(leadsOut(`${home.path}/none`, '../a'), true, 'a folder that is not there');
    t.end();
  },
);
