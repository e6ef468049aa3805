import t from 'tap';
import { cut, type Json, stringify } from '../../../machines/base/json.ts';
import { fc } from '../../support/property.ts';

t.test('TPL-1 · a spelling is that of JSON, cut at the limit', (t) => {
  fc.assert(
    fc.property(
      fc.jsonValue({ maxDepth: 5 }),
      fc.integer({ min: 0, max: 200 }),
      fc.constantFrom(0, 1, 2),
      (value, limit, indent) => {
        const whole = JSON.stringify(value, null, indent);
        return (
          stringify(value as Json, { indent }) === whole &&
          stringify(value as Json, { indent, limit }) === cut(whole, limit)
        );
      },
    ),
  );
  const odd = JSON.parse('{"__proto__":{"toJSON":1},"":[],"x":{},"n":1e999,"s":"\\ud800😀"}') as Json;
  t.equal(stringify(odd), JSON.stringify(odd));
  t.end();
});

t.test('TPL-1 · any depth that a parser gives is formatted', (t) => {
  const text = `${'{"a":['.repeat(100_000)}1${']}'.repeat(100_000)}`;
  t.ok(stringify(JSON.parse(text) as Json) === text);
  t.end();
});
