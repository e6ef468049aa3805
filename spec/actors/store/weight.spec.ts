import t from 'tap';
import { weightOf } from '../../../actors/store/weight.ts';
import type { Json } from '../../../machines/base/json.ts';
import { fc } from '../../support/property.ts';

t.test('DUR-2 · a value weighs about what its JSON takes', async (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const spelled = JSON.stringify(value).length;
      const weight = weightOf(value as Json);
      // Quotes, commas and escapes are guessed at; the long texts, which fill a store, are counted.
      return weight >= spelled / 8 && weight <= 8 * spelled + 8;
    }),
  );
  t.equal(weightOf('x'.repeat(1_000)), 1_008);
  t.equal(weightOf(undefined), 8);
});
