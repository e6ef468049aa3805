import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { putField } from '../../../machines/base/put-field.ts';
import { fc } from '../../support/property.ts';

t.test('SUB-4 · a field is put into a text of JSON, of which every other character stays', (t) => {
  const rows: readonly (readonly [json: string, path: string, expected: string])[] = [
    ['{}', 'id', '{"id":"x"}'],
    [' { "n": 12345678901234567890 }', 'id', ' { "n": 12345678901234567890,"id":"x" }'],
    ['{"id" : [1, {"id": 2}] , "n": 1.10}', 'id', '{"id" : "x" , "n": 1.10}'],
    ['{"a": {"n": 1e400, "id": 1}, "id": 1.0}', 'a.id', '{"a": {"n": 1e400, "id": "x"}, "id": 1.0}'],
    ['{"a": 7}', 'a.b.id', '{"a": {"b":{"id":"x"}}}'],
    ['{"id": 1, "id": 2}', 'id', '{"id": 1, "id": "x"}'],
    ['{"\\u0069d": "}\\"{", "q\\\\": ","}', 'id', '{"\\u0069d": "x", "q\\\\": ","}'],
    ['[1]', 'id', '{"id":"x"}'],
  ];
  for (const [json, path, expected] of rows) t.equal(putField(json, path.split('.'), 'x'), expected, json);
  t.end();
});

t.test('SUB-4 · any object has the field afterwards, and its other fields', (t) => {
  const key = fc.constantFrom('id', 'a', '', '"', '\\', 'é');
  const object = fc.dictionary(fc.oneof(key, fc.string()), fc.jsonValue(), { maxKeys: 5 });
  fc.assert(
    fc.property(object, key, fc.constantFrom(0, 2), (held, name, width) => {
      const put = JSON.parse(putField(JSON.stringify(held, null, width), [name], 7)) as JsonObject;
      t.strictSame(put, { ...JSON.parse(JSON.stringify(held)), [name]: 7 });
    }),
  );
  t.end();
});
