import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { checkOf } from '../../../actors/mcp/validate-arguments.ts';
import type { JsonObject } from '../../../machines/base/json.ts';

const echo = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };

t.test('LIF-13 · every place that does not fit is named', (t) => {
  const strict = { ...echo, additionalProperties: false, properties: { text: { type: 'string' }, n: { minimum: 3 } } };
  const rows: readonly (readonly [JsonObject, JsonObject, RegExp | undefined])[] = [
    [echo, { text: 'hi' }, undefined],
    [echo, {}, /^arguments must have required property 'text'$/],
    [echo, { text: 1 }, /^\/text must be string$/],
    [strict, { text: 'x', n: 1, more: 1 }, /must NOT have additional properties.*\/n must be >= 3|\/n .*; /],
    [{}, { anything: [1] }, undefined],
    [{ type: 'object' }, {}, undefined],
  ];
  for (const [schema, args, expected] of rows) {
    const found = checkOf(schema)(args);
    if (expected === undefined) t.equal(found, undefined, JSON.stringify(args));
    else t.match(found, expected, JSON.stringify(args));
  }
  t.end();
});

t.test('LIF-13 · both drafts that servers write are understood', (t) => {
  const tuple = { type: 'array', prefixItems: [{ type: 'string' }], items: false };
  const newer = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: { pair: tuple },
  };
  t.equal(checkOf(newer)({ pair: ['a'] }), undefined);
  t.type(checkOf(newer)({ pair: ['a', 'b'] }), 'string');
  const old = { type: 'array', items: [{ type: 'string' }], additionalItems: false };
  const older = { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', properties: { pair: old } };
  t.equal(checkOf(older)({ pair: ['a'] }), undefined);
  t.type(checkOf(older)({ pair: ['a', 'b'] }), 'string');
  t.end();
});

t.test('LIF-13 · a schema that refers to an address is never fetched, and checks nothing', async (t) => {
  let asked = 0;
  const server = createServer((_, res) => {
    asked += 1;
    res.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/schema.json`;
  t.equal(checkOf({ type: 'object', properties: { value: { $ref: url } } })({ value: 1 }), undefined);
  t.equal(asked, 0);
});

t.test('LIF-13 · a pattern that would backtrack for ever answers at once', (t) => {
  const schema = { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } };
  const check = checkOf(schema);
  t.type(check({ text: `${'a'.repeat(50_000)}!` }), 'string');
  t.equal(check({ text: 'aaaa' }), undefined);
  const strange = { type: 'object', properties: { text: { type: 'string', pattern: '(?<=a)b' } } };
  t.equal(checkOf(strange)({ text: 'zzz' }), undefined, 'what the linear engine does not know checks nothing');
  t.end();
});

t.test('LIF-13 · each of several patterns is its own', (t) => {
  const check = checkOf({
    type: 'object',
    properties: { a: { pattern: '^a+$' }, b: { pattern: '^b+$' } },
    patternProperties: { '^x-': { type: 'number' } },
  });
  t.equal(check({ a: 'a', b: 'b', 'x-n': 1 }), undefined);
  t.equal(check({ a: 'b' }), '/a must match pattern "^a+$"');
  t.equal(check({ b: 'a' }), '/b must match pattern "^b+$"');
  t.equal(check({ 'x-n': 'text' }), '/x-n must be number');
  t.end();
});

t.test('LIF-13 · two schemas with one $id do not meet, broken and huge ones check nothing', (t) => {
  const withId = (type: string) => ({ $id: 'https://example.com/args', type: 'object', properties: { v: { type } } });
  t.equal(checkOf(withId('string'))({ v: 'x' }), undefined);
  t.equal(checkOf(withId('number'))({ v: 1 }), undefined);
  t.equal(checkOf({ type: 'no-such-type' })({}), undefined);
  t.equal(checkOf({ type: 'object', required: ['v'], description: 'x'.repeat(300_000) })({}), undefined);
  const circle: Record<string, unknown> = { type: 'object' };
  circle.properties = { self: circle };
  t.equal(checkOf(circle as JsonObject)({}), undefined);
  t.end();
});
