import t from 'tap';
import type { Json, JsonObject } from '../../../machines/base/json.ts';
import { checkElicitationValues } from '../../../machines/mcp/elicitation-values.ts';
import { withPlainForm, withPlainForms } from '../../../machines/mcp/plain-form.ts';
import { fc } from '../../support/property.ts';

const string = { type: 'string' };
const integer = { type: 'integer', minimum: 1, maximum: 9 };
const titled = {
  type: 'string',
  oneOf: [
    { const: 'r', title: 'Red' },
    { const: 'g', title: 'Green' },
  ],
};
const many = { type: 'array', items: { type: 'string', enum: ['a', 'b', 'c'] }, minItems: 1, maxItems: 2 };

/** The typed value of one field, or what is wrong with it. */
function read(schema: Json, value: Json): unknown {
  const verdict = checkElicitationValues({ type: 'object', properties: { f: schema } }, { f: value });
  return verdict.kind === 'accepted'
    ? verdict.content.f
    : { wrong: verdict.findings.map(({ message }) => message).join() };
}

t.test('SRV-1 · values are typed by the form, text from a terminal too', (t) => {
  const rows: readonly (readonly [Json, Json, unknown])[] = [
    [string, 'x', 'x'],
    [string, '', ''],
    [string, '5', '5'],
    [{ type: 'number' }, 1.5, 1.5],
    [{ type: 'number' }, '-1.5', -1.5],
    [integer, '7', 7],
    [integer, 1, 1],
    [integer, '9', 9],
    [{ type: 'boolean' }, true, true],
    [{ type: 'boolean' }, 'no', false],
    [{ type: 'boolean' }, 'Yes', true],
    [{ type: 'string', enum: ['a', 'b'] }, 'b', 'b'],
    [{ enum: ['a', 'b'] }, 'b', 'b'],
    [titled, 'g', 'g'],
    [many, ['a', 'c'], ['a', 'c']],
    [many, 'b', ['b']],
    [{ type: 'array', items: { anyOf: [{ const: 'x', title: 'X' }] } }, ['x'], ['x']],
    [{ type: 'string', minLength: 2, maxLength: 2 }, '😀😀', '😀😀'],
    [{ type: 'string', format: 'email' }, 'ann@example.org', 'ann@example.org'],
    [{ type: 'string', format: 'uri' }, 'https://h/x', 'https://h/x'],
    [{ type: 'string', format: 'date' }, '2026-07-28', '2026-07-28'],
    [{ type: 'string', format: 'date-time' }, '2026-07-28T10:00:00Z', '2026-07-28T10:00:00Z'],
    [{ type: 'string', format: 'constructor' }, 'x', 'x'],
  ];
  for (const [schema, value, expected] of rows) t.same(read(schema, value), expected, JSON.stringify([schema, value]));
  t.end();
});

t.test('SRV-1 · a value that the form does not allow is a finding', (t) => {
  const rows: readonly (readonly [Json, Json, string])[] = [
    [string, 7, 'takes a text'],
    [string, ['x'], 'takes a text'],
    [{ type: 'number' }, 'seven', 'takes a number'],
    [{ type: 'number' }, 'Infinity', 'takes a number'],
    [{ type: 'number' }, ' ', 'takes a number'],
    [{ type: 'number' }, true, 'takes a number'],
    [integer, 1.5, 'takes a whole number'],
    [integer, 0, 'takes at least 1'],
    [integer, '10', 'takes at most 9'],
    [{ type: 'boolean' }, 'perhaps', 'takes true or false'],
    [{ type: 'string', enum: ['a', 'b'] }, 'c', 'takes one of a, b'],
    [{ type: 'string', enum: ['a', 'b\n? allow it'] }, 'c', 'takes one of a, “b ? allow it”'],
    [
      { type: 'string', enum: Array.from({ length: 22 }, (_, at) => `n${at}`) },
      'c',
      `takes one of ${Array.from({ length: 20 }, (_, at) => `n${at}`).join(', ')} and 2 more`,
    ],
    [{ oneOf: [{ const: 'r' }, { title: 'Green' }] }, 'g', 'takes one of r'],
    [titled, 'Red', 'takes one of r, g'],
    [many, ['a', 'x'], 'takes some of a, b, c'],
    [many, [], 'takes at least 1 of its choices'],
    [many, ['a', 'b', 'c'], 'takes at most 2 of its choices'],
    [{ type: 'array', items: string }, ['x'], 'asks for a list that is not one of choices'],
    [{ type: 'string', minLength: 2 }, '😀', 'takes at least 2 characters'],
    [{ type: 'string', maxLength: 1 }, 'ab', 'takes at most 1 characters'],
    [{ type: 'string', format: 'email' }, 'ann', 'takes an email'],
    [{ type: 'string', format: 'uri' }, '/x', 'takes a uri'],
    [{ type: 'string', format: 'date' }, '2026-13-01', 'takes a date'],
    [{ type: 'string', format: 'date' }, '2026-02-30', 'takes a date'],
    [{ type: 'string', format: 'date-time' }, '2026-07-28', 'takes a date-time'],
    [{ type: 'string', format: 'date-time' }, '2026-02-30T10:00:00Z', 'takes a date-time'],
    [{ type: 'object', properties: {} }, {}, 'asks for a type that forms do not have'],
    ['string', 'x', 'has a schema that is not an object'],
  ];
  for (const [schema, value, wrong] of rows) t.same(read(schema, value), { wrong }, JSON.stringify([schema, value]));
  t.end();
});

t.test('SRV-1 · defaults are applied, what is required must be there, and blanks are left out', (t) => {
  const requestedSchema = {
    type: 'object',
    properties: {
      name: { ...string, default: 'Ann' },
      age: integer,
      sure: { type: 'boolean', default: false },
      colour: { ...titled, default: 'r' },
    },
    required: ['name', 'age'],
  };
  const rows: readonly (readonly [JsonObject, unknown])[] = [
    [{ age: 5 }, { kind: 'accepted', content: { name: 'Ann', age: 5, sure: false, colour: 'r' } }],
    [
      { age: '5', name: 'Bo', sure: 'yes', colour: 'g' },
      { kind: 'accepted', content: { name: 'Bo', age: 5, sure: true, colour: 'g' } },
    ],
    [
      { age: 5, name: null, colour: '' },
      { kind: 'accepted', content: { name: 'Ann', age: 5, sure: false, colour: 'r' } },
    ],
    [
      { age: 5, name: '' },
      { kind: 'accepted', content: { name: '', age: 5, sure: false, colour: 'r' } },
    ],
    [{}, { kind: 'refused', findings: [{ field: 'age', message: 'is required' }] }],
    [{ age: '' }, { kind: 'refused', findings: [{ field: 'age', message: 'is required' }] }],
  ];
  for (const [values, expected] of rows)
    t.same(checkElicitationValues(requestedSchema, values), expected, JSON.stringify(values));
  t.same(checkElicitationValues({ properties: { age: integer } }, { age: '' }), { kind: 'accepted', content: {} });
  t.end();
});

t.test('SRV-1 · every finding is reported, not only the first', (t) => {
  const requestedSchema = { properties: { a: integer, b: { type: 'boolean' } }, required: ['b', 'c'] };
  t.same(checkElicitationValues(requestedSchema, { a: 0, z: 1 }), {
    kind: 'refused',
    findings: [
      { field: 'z', message: 'is not in the form' },
      { field: 'c', message: 'is not in the form' },
      { field: 'a', message: 'takes at least 1' },
      { field: 'b', message: 'is required' },
    ],
  });
  t.end();
});

t.test(
  'SRV-1 · FLT-4 · an optional field may be written as one that may be null, in a form without a type too',
  (t) => {
    const nothing = { type: 'null' };
    const rows: readonly (readonly [Json, Json])[] = [
      [
        { title: 'A', anyOf: [{ type: 'string', maxLength: 3 }, nothing], default: null },
        { type: 'string', maxLength: 3, title: 'A' },
      ],
      [
        { oneOf: [nothing, { type: 'boolean' }], default: true },
        { type: 'boolean', default: true },
      ],
      [{ anyOf: [{ type: 'string', enum: ['x'] }, nothing] }, { type: 'string', enum: ['x'] }],
      [
        { type: ['integer', 'null'], minimum: 1 },
        { type: 'integer', minimum: 1 },
      ],
      [{ type: 'string', format: 'password', title: null }, { type: 'string' }],
      [
        { type: 'string', format: 'email' },
        { type: 'string', format: 'email' },
      ],
      ...[
        { oneOf: [{ const: 'a', title: 'A' }] },
        { anyOf: [{ type: 'string' }, { type: 'integer' }] },
        { anyOf: [nothing] },
        { type: ['null'] },
        'text',
        null,
      ].map((odd): readonly [Json, Json] => [odd, odd]),
    ];
    for (const [field, plain] of rows) {
      const requestedSchema = { type: 'object', properties: { field: plain }, required: [] };
      const asked = withPlainForm({ message: 'Hi', requestedSchema: { properties: { field }, required: [] } });
      t.strictSame(asked, { message: 'Hi', requestedSchema }, JSON.stringify(field));
      const params = { requestedSchema: { properties: { field } } };
      const result = withPlainForms({ inputRequests: { a: { method: 'elicitation/create', params }, b: null } });
      t.match(result, {
        inputRequests: { a: { params: { requestedSchema: { properties: { field: plain } } } }, b: null },
      });
    }
    const asked = (params: JsonObject): JsonObject => ({
      inputRequests: { a: { method: 'elicitation/create', params } },
    });
    t.strictSame(withPlainForms(asked({ message: 'Hi', mode: null })), asked({ message: 'Hi' }));
    for (const empty of [{}, { properties: [] }, { properties: null, required: null }])
      t.strictSame(withPlainForm({ requestedSchema: empty }), { requestedSchema: { type: 'object', properties: {} } });
    t.strictSame(withPlainForm({ requestedSchema: { properties: 1 } }), { requestedSchema: { properties: 1 } });
    t.end();
  },
);

t.test('SRV-1 · any form and any values have a verdict, and no prototype is touched', (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.dictionary(fc.string(), fc.jsonValue()), (schema, values) => {
      const given = values as JsonObject;
      checkElicitationValues({ properties: schema } as JsonObject, given);
      withPlainForms({ inputRequests: { a: { params: withPlainForm({ requestedSchema: { properties: given } }) } } });
      checkElicitationValues({ properties: given, required: schema } as JsonObject, given);
      return checkElicitationValues(schema as Json, given).kind !== undefined;
    }),
  );
  for (const schema of [null, [], 'x', {}, { properties: [] }] as const)
    t.same(checkElicitationValues(schema, {}), {
      kind: 'refused',
      findings: [{ field: '', message: 'the form has no fields' }],
    });
  const proto = JSON.parse('{"__proto__":{"type":"string"}}') as JsonObject;
  const verdict = checkElicitationValues({ properties: proto }, JSON.parse('{"__proto__":"x"}') as JsonObject);
  t.same(verdict.kind === 'accepted' && JSON.stringify(verdict.content), '{"__proto__":"x"}');
  t.end();
});
