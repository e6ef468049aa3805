import t from 'tap';
import { ChurnMap } from '../../../machines/base/churn-map.ts';
import { fc, runs } from '../../support/property.ts';

interface Step {
  readonly kind: 'set' | 'delete' | 'clear' | 'look';
  readonly key: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('set', 'set', 'set', 'delete', 'delete', 'delete', 'look', 'clear'),
  key: fc.nat(40),
});

const entriesOf = (churn: ChurnMap<number, object>): (readonly [number, object])[] => {
  const entries: (readonly [number, object])[] = [];
  churn.each((key, value) => entries.push([key, value]));
  return entries;
};

t.test('INS-1 · a churn map holds what a map would, in the same order, however keys come and go', (t) => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
      const churn = new ChurnMap<number, object>();
      const map = new Map<number, object>();
      return steps.every(({ kind, key }) => {
        const value = {};
        if (kind === 'set') {
          churn.set(key, value);
          map.set(key, value);
        }
        if (kind === 'delete' && churn.delete(key) !== map.delete(key)) return false;
        if (kind === 'clear' && key === 0) {
          churn.clear();
          map.clear();
        }
        const entries = entriesOf(churn);
        return (
          churn.size === map.size &&
          churn.get(key) === map.get(key) &&
          churn.has(key) === map.has(key) &&
          entries.length === map.size &&
          entries.every(([at, held], index) => [...map.keys()][index] === at && map.get(at) === held)
        );
      });
    }),
    { numRuns: runs(200) },
  );
  t.end();
});

t.test('INS-1 · an entry that is gone before its turn is not visited, also where the map moved meanwhile', (t) => {
  const churn = new ChurnMap<number, string>();
  for (let key = 0; key < 100; key += 1) churn.set(key, `first ${key}`);
  const visited: (readonly [number, string])[] = [];

  churn.each((key, value) => {
    visited.push([key, value]);
    // Half of them go at once, more than it takes to move; one comes back as another.
    if (key === 0) for (let gone = 1; gone < 90; gone += 1) churn.delete(gone);
    if (key === 0) churn.set(95, 'another');
    return key < 98;
  });

  t.equal(visited.length, 10 - 1, 'up to the one that ends it, without the one that is another now');
  t.same(visited[0], [0, 'first 0']);
  t.notOk(visited.some(([key]) => key > 0 && key < 90));
  t.end();
});
