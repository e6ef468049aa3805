import t from 'tap';
import { dynamicRoutePattern, inProfile, profileName, profileOption } from '../../../machines/base/names.ts';
import { fc } from '../../support/property.ts';

t.test('HOME-1 · a profile name can never leave its folder', (t) => {
  for (const fine of ['work', 'a', 'A.b-c_9', 'x'.repeat(64)]) t.equal(profileName(fine), fine);
  for (const bad of ['', '.', '..', '.hidden', '-x', 'a/b', 'a\\b', 'a b', 'é', 'a\0', 'x'.repeat(65), 'a\n']) {
    t.equal(profileName(bad), undefined, JSON.stringify(bad));
  }
  fc.assert(fc.property(fc.string(), (text) => !/[/\\\0]|^\.\.?$/.test(profileName(text) ?? 'a')));
  t.end();
});

t.test('SUB-3 · a dynamic route is named in lower case, from a letter or digit on', (t) => {
  for (const fine of ['a', '0', 'a-b_c9']) t.match(fine, dynamicRoutePattern);
  for (const bad of ['', '-a', '_a', 'A', 'a b', 'a.b', 'a/b', 'ä', 'a\n']) t.notMatch(bad, dynamicRoutePattern, bad);
  t.end();
});

t.test('HOME-1 · a printed command chooses a profile that is not the default one', (t) => {
  t.equal(profileOption('default'), '');
  t.equal(profileOption('work'), ' --profile work');
  t.end();
});

t.test('OAU-9 · LIF-1 · a name shows its profile unless that is the default one, and no two look alike', (t) => {
  t.equal(inProfile('hub', 'default'), 'hub');
  t.equal(inProfile('hub', 'work'), 'hub@work');
  t.equal(inProfile('hub@work', 'default'), 'hub@@work');
  const names = fc.tuple(
    fc.string({ unit: fc.constantFrom('@', 'a', 'default') }),
    fc.constantFrom('default', 'a', 'aa'),
  );
  fc.assert(
    fc.property(names, names, ([one, here], [other, there]) => {
      const isSame = one === other && here === there;
      return (inProfile(one, here) === inProfile(other, there)) === isSame;
    }),
  );
  t.end();
});
