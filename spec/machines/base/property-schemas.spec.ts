import t from 'tap';
import type { Json } from '../../../machines/base/json.ts';
import { withoutFormats, withPropertyObjects } from '../../../machines/base/property-schemas.ts';

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

t.test('CLI-5 · the formats of a schema are left out, and nothing else of that name', (t) => {
  const at = { type: 'string', format: 'date-time' };
  t.same(
    withoutFormats({
      format: 'odd',
      properties: { at, format: at, either: { anyOf: [at, { type: 'null' }] }, fixed: { const: { format: 'x' } } },
      $defs: { row: { items: at } },
      required: ['format'],
    }),
    {
      properties: {
        at: { type: 'string' },
        format: { type: 'string' },
        either: { anyOf: [{ type: 'string' }, { type: 'null' }] },
        fixed: { const: { format: 'x' } },
      },
      $defs: { row: { items: { type: 'string' } } },
      required: ['format'],
    },
  );
  t.end();
});
