import t from 'tap';
import { offeredSchema, ownArguments } from '../../../machines/agent/offered-schema.ts';
import type { JsonObject } from '../../../machines/base/json.ts';

const text = { type: 'string' };
const number = { type: 'number' };

t.test('DIS-3 · a schema without alternatives at its top is offered as it is, and always as an object', (t) => {
  const nested = { type: 'object', properties: { at: { anyOf: [text, number] } }, required: ['at'] };
  t.same(offeredSchema(nested), nested);
  t.same(offeredSchema({ required: ['x'] }), { type: 'object', properties: {}, required: ['x'] });
  for (const none of [undefined, null, 'none', []]) t.same(offeredSchema(none), { type: 'object', properties: {} });
  t.end();
});

t.test('DIS-3 · of alternatives at the top, which endpoints refuse, all properties are offered', (t) => {
  for (const keyword of ['anyOf', 'oneOf', 'allOf']) {
    const schema = {
      properties: { both: text },
      required: ['both'],
      [keyword]: [
        { properties: { kind: { const: 'a' }, id: text, both: number } },
        { properties: { kind: { const: 'b' }, id: text } },
        { $ref: '#/$defs/third' },
        { $ref: '#/$defs/gone' },
        true,
      ],
      not: { required: ['x'] },
      enum: [1],
      $defs: { third: { properties: { third: number } } },
    };
    t.same(offeredSchema(schema), {
      type: 'object',
      required: ['both'],
      $defs: { third: { properties: { third: number } } },
      properties: { kind: { anyOf: [{ const: 'a' }, { const: 'b' }] }, id: text, both: text, third: number },
    });
  }
  t.end();
});

t.test('DIS-3 · alternatives within alternatives are offered too, each once', (t) => {
  const $defs = {
    paged: { properties: { page: number }, anyOf: [{ $ref: '#/$defs/either' }, { $ref: '#/$defs/paged' }] },
    either: { oneOf: [{ properties: { a: text } }, { properties: { b: text } }] },
  };
  // As of zod: an object, and a union.
  const schema = {
    type: 'object',
    allOf: [{ properties: { id: text } }, { $ref: '#/$defs/paged', properties: { beside: text } }],
    $defs,
  };
  t.same(offeredSchema(schema).properties, { id: text, beside: text, page: number, a: text, b: text });
  t.end();
});

t.test('DIS-3 · a malformed keyword, for which endpoints refuse every request, is not offered', (t) => {
  const properties = {
    any: { type: 'any', description: 'Anything' },
    either: { type: ['string', 'file'] },
    least: { type: ['integer', 'null'], minimum: 0, exclusiveMinimum: true, exclusiveMaximum: 9 },
    rows: { type: 'array', items: { type: 'object', required: true, properties: { type: text, required: text } } },
  };
  t.same(offeredSchema({ type: 'object', properties, required: null }), {
    type: 'object',
    properties: {
      any: { description: 'Anything' },
      either: {},
      least: { type: ['integer', 'null'], exclusiveMinimum: 0, exclusiveMaximum: 9 },
      rows: { type: 'array', items: { type: 'object', properties: { type: text, required: text } } },
    },
  });
  t.end();
});

t.test('DIS-3 · a property whose schema is true, which endpoints refuse, is offered with an object', (t) => {
  const data = { type: 'array', items: { type: 'object', properties: { model: true } } };
  t.same(offeredSchema({ type: 'object', properties: { data, free: true } }), {
    type: 'object',
    properties: { data: { type: 'array', items: { type: 'object', properties: { model: {} } } }, free: {} },
  });
  t.end();
});

t.test('DIS-3 · a property whose name endpoints refuse is offered by another, and called by its own', (t) => {
  const schema = { type: 'object', properties: { $filter: text, 'a.b-c_1': text }, required: ['$filter', 'a.b-c_1'] };
  const offered = offeredSchema(schema);
  const [first = '', ...others] = Object.keys(offered.properties as object);
  t.match(first, /^_filter_[0-9a-f]{10}$/);
  t.same(others, ['a.b-c_1']);
  t.same(offered.required, [first, 'a.b-c_1']);
  t.same(ownArguments({ [first]: 'x', 'a.b-c_1': 'y', more: 1 }, schema), { $filter: 'x', 'a.b-c_1': 'y', more: 1 });
  t.same(ownArguments({ $filter: 'x' }, schema), { $filter: 'x' });
  t.same(ownArguments({ x: 1 }, undefined), { x: 1 });
  t.end();
});

t.test(
  'DIS-3 · an array without a description of its items, which endpoints refuse, is offered with any items',
  (t) => {
    const bare = { type: 'array', description: 'names' };
    const schema = {
      type: 'object',
      properties: {
        bare,
        nullable: { type: ['array', 'null'] },
        inner: { anyOf: [{ type: 'object', properties: { bare } }, { $ref: '#/$defs/row' }] },
        rows: { type: 'array', items: bare },
        pair: { type: 'array', items: [text, bare], additionalItems: false },
        described: { type: 'array', items: text, default: [{ type: 'array' }] },
        items: { type: 'string', enum: ['array'] },
      },
      $defs: { row: bare },
    };
    const any = { ...bare, items: {} };
    t.same(offeredSchema(schema), {
      type: 'object',
      properties: {
        bare: any,
        nullable: { type: ['array', 'null'], items: {} },
        inner: { anyOf: [{ type: 'object', properties: { bare: any } }, { $ref: '#/$defs/row' }] },
        rows: { type: 'array', items: any },
        pair: { type: 'array', prefixItems: [text, any], items: false },
        described: { type: 'array', items: text, default: [{ type: 'array' }] },
        items: { type: 'string', enum: ['array'] },
      },
      $defs: { row: any },
    });
    let deep: JsonObject = bare;
    for (let depth = 0; depth < 20_000; depth += 1) deep = { type: 'array', items: deep };
    t.equal(offeredSchema({ properties: { deep } }).type, 'object', 'of any depth');
    t.end();
  },
);

t.test('DIS-3 · what draft 2020-12 does not have, for which endpoints refuse all tools, is left out', (t) => {
  const schema = {
    type: ['object', 'null'],
    properties: {
      ttl: { type: 'integer', minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
      odd: { type: 'number', exclusiveMinimum: 1, exclusiveMaximum: true },
      any: { type: 'any', description: 'anything', title: null, minLength: null },
      id: { type: 'string', required: true, enum: 'x' },
      type: 'object',
      choice: { anyOf: [text, 'number'], oneOf: ['number'], not: 'x', additionalProperties: true },
      inner: { type: 'object', properties: { type: text, required: 'string' }, required: ['type'] },
      none: { type: 'object', properties: [] },
    },
    required: true,
  };
  t.same(offeredSchema(schema), {
    type: 'object',
    properties: {
      ttl: { type: 'integer', exclusiveMinimum: 0, maximum: 9 },
      odd: { type: 'number', exclusiveMinimum: 1 },
      any: { description: 'anything' },
      id: { type: 'string' },
      choice: { anyOf: [text], additionalProperties: true },
      inner: { type: 'object', properties: { type: text }, required: ['type'] },
      none: { type: 'object', properties: {} },
    },
  });
  t.end();
});
