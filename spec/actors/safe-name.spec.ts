import t from 'tap';
import { safeName } from '../../actors/safe-name.ts';
import { fc } from '../support/property.ts';

t.test('OAU-2 · LIF-10 · a plain name is kept, any other is encoded so that it leaves no folder', (t) => {
  for (const [name, expected] of [
    ['github', 'github'],
    ['a.b-c_9', 'a.b-c_9'],
    ['.hidden', '%2Ehidden'],
    ['..', '%2E.'],
    ['a/b', 'a%2Fb'],
    ['%2F', '%252F'],
    ['é', '%C3%A9'],
    ['a b\n', 'a%20b%0A'],
  ] as const) {
    t.equal(safeName(name), expected);
  }
  t.end();
});

t.test('OAU-2 · two names never share a file, whatever their length', (t) => {
  const name = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ minLength: 150, maxLength: 400 }));
  fc.assert(
    fc.property(name, name, (one, other) => {
      const file = safeName(one);
      const whole = Buffer.from(one).toString() === Buffer.from(other).toString();
      return /^[\w%-][\w.%-]*$/.test(file) && file.length <= 180 && (file === safeName(other)) === whole;
    }),
  );
  const long = 'x'.repeat(500);
  t.not(safeName(`${long}1`), safeName(`${long}2`));
  t.match(safeName(''), /^-[0-9a-f]{64}$/);
  t.end();
});

t.test('OAU-2 · LIF-10 · names that differ in their capitals have files that differ in more', (t) => {
  for (const [name, expected] of [
    ['github', 'github'],
    ['GitHub', 'GitHub~9'],
    ['GITHUB', 'GITHUB~3f'],
    ['a~1', 'a%7E1'],
  ] as const) {
    t.equal(safeName(name, true), expected);
  }
  t.equal(safeName('GitHub', false), 'GitHub');
  const name = fc.oneof(fc.string(), fc.stringMatching(/^[aAbB~]{0,12}$/), fc.stringMatching(/^[aA]{175,185}$/));
  fc.assert(
    fc.property(name, name, (one, other) => {
      const [file, second] = [safeName(one, true), safeName(other, true)];
      return file.length <= 180 && (file.toLowerCase() === second.toLowerCase()) === (one === other);
    }),
  );
  t.end();
});
