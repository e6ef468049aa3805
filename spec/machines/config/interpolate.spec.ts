import t from 'tap';
import { expandTilde, type InterpolationScope, interpolate } from '../../../machines/config/interpolate.ts';
import { fc } from '../../support/property.ts';

const scope: InterpolationScope = {
  secrets: new Map([
    ['SECRET', 'from-the-very-scope'],
    ['EMPTY', ''],
  ]),
  env: { SECRET: 'from-env', OTHER: 'other' },
  userHome: '/home/me',
  workspaceFolder: '/work/place',
  pathSeparator: '/',
};

t.test('INT-1 · INT-2 · references resolve once, scope before environment, unset ones stay', (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['${SECRET}', 'from-the-very-scope'],
    ['${env:SECRET}', 'from-the-very-scope'],
    ['${OTHER}/${OTHER}', 'other/other'],
    ['${UNSET} ${env:UNSET}', '${UNSET} ${env:UNSET}'],
    ['[${EMPTY}]', '[]'],
    ['${userHome}${/}x', '/home/me/x'],
    ['${workspaceFolder} ${workspaceFolderBasename} ${pathSeparator}', '/work/place place /'],
    ['${USERHOME}', '${USERHOME}'],
    ['${constructor} ${toString} ${__proto__}', '${constructor} ${toString} ${__proto__}'],
    ['$SECRET ${}', '$SECRET ${}'],
  ];
  for (const [text, expected] of rows) t.equal(interpolate(text, scope), expected, text);
  t.same(interpolate({ a: ['${OTHER}', { b: '${OTHER}' }], n: 1 }, scope), { a: ['other', { b: 'other' }], n: 1 });
  fc.assert(
    fc.property(fc.string(), (value) => interpolate('${V}', { ...scope, secrets: new Map([['V', value]]) }) === value),
  );
  t.end();
});

t.test('INT-3 · a leading tilde is the user’s home', (t) => {
  t.equal(expandTilde('~/certs/a.pem', '/home/me'), '/home/me/certs/a.pem');
  t.equal(expandTilde('a/~/b', '/home/me'), 'a/~/b');
  t.end();
});
