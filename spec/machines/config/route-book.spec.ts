import t from 'tap';
import type { Route } from '../../../machines/config/route.ts';
import { bookOf } from '../../../machines/config/route-book.ts';
import { fc } from '../../support/property.ts';

t.test('RTE-3 · PRF-1 · a book finds the first route of each profile and name, and no other', (t) => {
  const name = fc.constantFrom('a', 'b', 'a/b', '__proto__');
  const entries = fc.array(fc.record({ profile: name, name }), { maxLength: 30 });
  fc.assert(
    fc.property(entries, name, name, (written, profile, asked) => {
      const routes = written.map((route) => ({ route: route as unknown as Route }));
      t.equal(
        bookOf(routes).get(profile)?.get(asked),
        routes.find(({ route }) => route.profile === profile && route.name === asked),
      );
    }),
  );
  t.end();
});
