import t from 'tap';
import type { Json } from '../../../machines/base/json.ts';
import { withPropertyObjects } from '../../../machines/base/property-schemas.ts';

t.test('CLI-5 · DIS-3 · a property whose schema is no object gets the object that means the same', (t) => {
  const row = { type: 'object', properties: { model: true, none: false, odd: null }, additionalProperties: false };
  const rowOfObjects = { ...row, properties: { model: {}, none: { not: {} }, odd: {} } };
  t.same(
    withPropertyObjects({
      properties: { data: { type: 'array', items: row }, properties: true, default: { default: { properties: row } } },
      anyOf: [row, true],
      $defs: { row },
      required: ['data'],
    }),
    {
      properties: {
        data: { type: 'array', items: rowOfObjects },
        properties: {},
        default: { default: { properties: row } },
      },
      anyOf: [rowOfObjects, true],
      $defs: { row: rowOfObjects },
      required: ['data'],
    },
  );
  for (const other of [true, null, 'text', [], {}] as const) t.same(withPropertyObjects(other), other);
  let deep: Json = true;
  for (let depth = 0; depth < 20_000; depth += 1) deep = { items: deep };
  t.equal(typeof withPropertyObjects(deep), 'object', 'of any depth');
  t.end();
});
