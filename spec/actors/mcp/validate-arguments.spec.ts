import t from 'tap';
import { createSchemaTime, type TimeLimit, withinTime } from '../../../actors/mcp/schema-time.ts';
import { checkArguments, createKnownChecks, resultChecks } from '../../../actors/mcp/validate-arguments.ts';
import type { Json, JsonObject } from '../../../machines/base/json.ts';
import { listenHttp } from '../../support/http-listener.ts';

const limitedTo =
  (cpuLimitMs: number): TimeLimit =>
  (work) =>
    withinTime(cpuLimitMs, work);

const unhurried = limitedTo(60_000);

/** What is wrong with arguments. Time matters only to the tests that give a limit. */
const checkOf =
  (schema: JsonObject, cpuLimitMs = 60_000) =>
  (args: JsonObject): string | undefined => {
    const verdict = checkArguments(schema, args, limitedTo(cpuLimitMs));
    return verdict.kind === 'fits' ? undefined : `${verdict.kind === 'invalid' ? '' : 'unchecked: '}${verdict.why}`;
  };

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

t.test('LIF-13 · a whole number that is the text of its digits fits where a number does', (t) => {
  const id = '12345678901234567890';
  const optional = { anyOf: [{ type: 'integer' }, { type: 'null' }], default: null };
  const items = { items: { properties: { '/~': { type: ['integer', 'null'], minimum: 1 } } } };
  const check = checkOf({ properties: { id: { type: 'integer', maximum: 1e20 }, optional, items } });
  t.equal(check({ id, optional: id, items: [{ '/~': 1 }, { '/~': id }] }), undefined);
  t.equal(check({ id: `-${id}` }), undefined);
  t.equal(check({ id: '9007199254740991' }), '/id must be integer', 'a shorter one comes as a number');
  t.equal(check({ id: `${id}0` }), '/id must be <= 100000000000000000000', 'and the other rules for numbers hold');
  t.equal(check({ items: [{ '/~': `-${id}` }] }), '/items/0/~1~0 must be >= 1');
  t.end();
});

t.test('LIF-13 · arguments that are too deep to be written are refused', (t) => {
  const nested = (depth: number): JsonObject => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);
  t.equal(checkOf({ type: 'object' })(nested(200)), undefined);
  t.equal(checkOf({ type: 'object' })(nested(201)), 'arguments are nested more than 200 deep');
  t.equal(checkOf({ type: 'object' })(nested(20_000)), 'arguments are nested more than 200 deep');
  t.end();
});

t.test('LIF-13 · FIL-5 · a parameter with a name of the prototype is given only by the arguments', (t) => {
  for (const name of ['constructor', 'toString', '__proto__']) {
    const properties = JSON.parse(`{"${name}": {"type": "string"}}`) as JsonObject;
    const given = JSON.parse(`{"${name}": "ferrari"}`) as JsonObject;
    const check = checkOf({ type: 'object', properties });
    t.equal(check({}), undefined, `${name} is left out`);
    t.equal(check(given), undefined, `${name} is given`);
    t.equal(checkOf({ type: 'object', properties, required: [name] })(given), undefined);
    t.match(checkOf({ type: 'object', required: [name] })({}), /must have required property/, `${name} is missing`);
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

t.test('LIF-13 · a schema that refers to an address is never fetched, and lets nothing through', async (t) => {
  let asked = 0;
  const { url } = await listenHttp(t, (_, res) => {
    asked += 1;
    res.end('{}');
  });
  const check = checkOf({ type: 'object', properties: { value: { $ref: `${url}/schema.json` } } });
  t.match(check({ value: 1 }), /^unchecked: can't resolve reference http/);
  t.equal(asked, 0);
});

t.test('LIF-13 · a pattern that would backtrack for ever answers at once', (t) => {
  const schema = { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } };
  const check = checkOf(schema);
  t.type(check({ text: `${'a'.repeat(50_000)}!` }), 'string');
  t.equal(check({ text: 'aaaa' }), undefined);
  const strange = { type: 'object', properties: { text: { type: 'string', pattern: '(?<=a)b' } } };
  t.type(checkOf(strange)({ text: 'zzz' }), 'string', 'look-around, which the linear engine does not support');
  t.equal(checkOf(strange)({ text: 'ab' }), undefined);
  const escaped = { type: 'object', properties: { text: { type: 'string', pattern: '^(?=a)[\\w\\_]+\\_$' } } };
  t.equal(checkOf(escaped)({ text: 'ab_' }), undefined, 'an escape that only the loose mode allows');
  t.type(checkOf(escaped)({ text: 'b_' }), 'string');
  const backtracks = { type: 'object', properties: { text: { type: 'string', pattern: '^(?=a)(a+)+$' } } };
  t.match(checkOf(backtracks, 50)({ text: `${'a'.repeat(50)}!` }), /^unchecked: /);
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

t.test('LIF-13 · two schemas with one $id do not meet', (t) => {
  const withId = (type: string) => ({ $id: 'https://example.com/args', type: 'object', properties: { v: { type } } });
  t.equal(checkOf(withId('string'))({ v: 'x' }), undefined);
  t.equal(checkOf(withId('number'))({ v: 1 }), undefined);
  t.end();
});

t.test('LIF-13 · a malformed keyword constrains nothing, and everything beside it does', (t) => {
  const rows: readonly (readonly [JsonObject, JsonObject, string | undefined])[] = [
    [{ type: 'no-such-type' }, {}, undefined],
    [{ type: 'object', properties: { a: { type: 'int' }, b: { type: 'string' } } }, { a: 'x', b: 'x' }, undefined],
    [
      { type: 'object', properties: { a: { type: 'int' }, b: { type: 'string' } } },
      { a: 1, b: 1 },
      '/b must be string',
    ],
    [
      { properties: { 'a/b~c': { required: true }, d: { type: 'string' } } },
      { 'a/b~c': {}, d: 1 },
      '/d must be string',
    ],
    [{ properties: { a: 'string', d: { type: 'string' } } }, { a: 1, d: 1 }, '/d must be string'],
    [{ required: ['a', 1], properties: { d: { type: 'string' } } }, { d: 1 }, '/d must be string'],
    [{ properties: { a: { pattern: '(' }, d: { type: 'string' } } }, { a: 'x', d: 1 }, '/d must be string'],
    [{ properties: { a: { items: { enum: 3, minimum: 2 } } } }, { a: [1] }, '/a/0 must be >= 2'],
  ];
  for (const [schema, args, expected] of rows) t.equal(checkOf(schema)(args), expected, JSON.stringify(schema));
  t.end();
});

t.test('LIF-13 · what Ajv refuses and other clients ignore constrains nothing, and everything beside it does', (t) => {
  const d = { type: 'string' };
  const rows: readonly (readonly [JsonObject, JsonObject, string | undefined])[] = [
    [{ properties: { a: { allOf: [{ type: 'number' }], nullable: true }, d } }, { a: 1, d: 1 }, '/d must be string'],
    [{ properties: { a: { type: ['string', 'null'], nullable: false }, d } }, { a: null, d: 1 }, '/d must be string'],
    [{ properties: { a: { type: 'int', nullable: true }, d } }, { a: 'x', d: 1 }, '/d must be string'],
    [{ properties: { a: { type: 'string', nullable: true }, d } }, { a: null, d: 'x' }, undefined],
    [{ id: 'urn:args', properties: { a: { id: '#a', type: 'number' }, d } }, { a: 1, d: 1 }, '/d must be string'],
    [{ properties: { a: { enum: [] }, d } }, { a: 1, d: 1 }, '/d must be string'],
    [{ properties: { id: d, nullable: d, enum: d, $async: d } }, { nullable: 1 }, '/nullable must be string'],
    [{ properties: { a: { const: { id: 1 } } } }, { a: {} }, '/a must be equal to constant'],
    [{ dependentRequired: { id: ['d'] } }, { id: 1 }, 'arguments must have property d when property id is present'],
    [{ properties: { a: { enum: [{ nullable: true }] } } }, { a: { nullable: true } }, undefined],
  ];
  for (const [schema, args, expected] of rows) t.equal(checkOf(schema)(args), expected, JSON.stringify(schema));
  t.end();
});

t.test('LIF-13 · LIF-14 · no schema makes a check pass that has not been made, or end the gateway', (t) => {
  for (const schema of [
    { ...echo, $async: true },
    { ...echo, properties: { text: { ...echo.properties.text, $async: true } } },
    { $async: true, $ref: '#/$defs/echo', $defs: { echo: { ...echo, $async: true } } },
  ]) {
    t.equal(checkOf(schema)({ text: 1 }), '/text must be string');
    t.equal(checkOf(schema)({ text: 'x' }), undefined);
  }
  t.end();
});

t.test('LIF-13 · a schema that cannot be used lets nothing through', (t) => {
  t.match(
    checkOf({ properties: { a: { $ref: '#/$defs/b' } } })({ a: 1 }),
    /^unchecked: can't resolve reference #\/\$defs\/b/,
  );
  t.match(
    checkOf({ type: 'object', description: 'x'.repeat(300_000) })({}),
    /^unchecked: the schema has 3000\d\d characters/,
  );
  const far = checkOf({ properties: { a: { $ref: `#/$defs/${'b'.repeat(100_000)}` } } })({ a: 1 }) ?? '';
  t.match(far, /^unchecked: can't resolve reference #\/\$defs\/b+$/);
  t.ok(far.length < 1_000, 'however long the reference is');
  const circle: Record<string, unknown> = { type: 'object' };
  circle.properties = { self: circle };
  t.match(checkOf(circle as JsonObject)({}), /^unchecked: .*circular/);
  t.end();
});

t.test('LIF-13 · a machine that was too busy is no reason to refuse the next call', (t) => {
  const starved: TimeLimit = () => ({ kind: 'starved' });
  const cheap = { type: 'object', properties: { text: { type: 'string' } } };
  t.match(checkArguments(cheap, { text: 1 }, starved), { kind: 'unchecked', isFinal: false }, 'compiling');
  t.match(checkArguments(cheap, { text: 1 }, unhurried), { kind: 'invalid' });
  const dear = { properties: { list: { uniqueItems: true } } };
  t.match(checkArguments(dear, { list: [1, 1] }, unhurried), { kind: 'invalid' });
  t.match(checkArguments(dear, { list: [1, 1] }, starved), { kind: 'unchecked', isFinal: false }, 'checking');
  t.match(checkArguments(dear, { list: [1, 2] }, unhurried), { kind: 'fits' });
  t.end();
});

/** Each part asks for the next one twice: sixty of them are 2^60 steps. */
function doubling(parts: number): JsonObject {
  const defs: Record<string, JsonObject> = { [`d${parts}`]: {} };
  for (let part = 0; part < parts; part += 1) {
    const next = { $ref: `#/$defs/d${part + 1}` };
    defs[`d${part}`] = { allOf: [next, next] };
  }
  return { type: 'object', properties: { value: { $ref: '#/$defs/d0' } }, $defs: defs };
}

t.test('LIF-13 · a server whose schemas used up their time has no arguments checked, and none let through', (t) => {
  const spent: TimeLimit = () => ({ kind: 'spent', waitMs: 2_500 });
  const schema = { properties: { list: { uniqueItems: true } } };
  const refusal = { kind: 'unchecked', isFinal: false, why: /took too much time to check; try again in 3 s$/ };
  t.match(checkArguments(schema, { list: [1, 2] }, spent), refusal, 'compiling');
  t.match(checkArguments(schema, { list: [1, 2] }, unhurried), { kind: 'fits' });
  t.match(checkArguments(schema, { list: [1, 2] }, spent), refusal, 'checking');
  t.end();
});

t.test('LIF-13 · a required argument with a default may be left out, and only such a one', (t) => {
  const properties = { scale: { enum: ['css', 'device'], default: 'css' }, n: { type: 'number' } };
  const check = checkOf({ properties, required: ['scale'], additionalProperties: false });
  t.equal(check({}), undefined);
  t.equal(check({ n: null }), undefined);
  t.equal(check({ n: 'x' }), '/n must be number');
  t.equal(check({ scale: 'huge' }), '/scale must be equal to one of the allowed values');
  t.equal(checkOf({ properties, required: ['scale', 'n'] })({}), "arguments must have required property 'n'");
  t.equal(checkOf({ properties: { a: { type: 'number', default: 'x' } }, required: ['a'] })({}), '/a must be number');
  t.end();
});

t.test('LIF-13 · a schema that would be checked for ever is ended, and lets nothing through from then on', (t) => {
  const circle = { $ref: '#/$defs/self', $defs: { self: { allOf: [{ $ref: '#/$defs/self' }] } } };
  for (const schema of [doubling(60), circle]) {
    const check = checkOf(schema, 50);
    t.match(check({ value: 'x' }), /^unchecked: /);
    t.match(check({ value: 'y' }), /^unchecked: /);
  }
  // One overflows the stack when a value is checked, the other when it is compiled.
  for (const schema of [circle, { properties: { value: { $ref: '#/properties/value' } } }])
    t.equal(checkOf(schema)({ value: 'x' }), 'unchecked: its references lead in a circle');
  t.end();
});

t.test('LIF-13 · a part that is used many times is compiled once', (t) => {
  const part = { type: 'object', properties: Object.fromEntries(range(100).map((n) => [`k${n}`, { type: 'string' }])) };
  const used = Object.fromEntries(range(200).map((n) => [`p${n}`, { $ref: '#/$defs/part' }]));
  const check = checkOf({ type: 'object', properties: used, $defs: { part } });
  t.equal(check({ p7: { k1: 'text' } }), undefined);
  t.equal(check({ p7: { k1: 1 } }), '/p7/k1 must be string');
  t.end();
});

t.test('LIF-13 · a result is held against its schema by the same bounds', (t) => {
  const rows: readonly (readonly [JsonObject, Json, string | undefined])[] = [
    [echo, { text: 'hi' }, undefined],
    [echo, { text: 1 }, '/text must be string'],
    [echo, {}, "it must have required property 'text'"],
    [
      { properties: { text: { pattern: '^(a+)+$' } } },
      { text: `${'a'.repeat(60)}!` },
      '/text must match pattern "^(a+)+$"',
    ],
    [doubling(60), { value: 'x' }, undefined],
    [{ properties: { list: { uniqueItems: true } } }, { list: range(50_000).map((n) => ({ n })) }, undefined],
  ];
  for (const [schema, value, expected] of rows) {
    const verdict = resultChecks(createSchemaTime()).getValidator(schema)(value);
    t.equal(verdict.errorMessage, expected);
    t.same(verdict.data, expected === undefined ? value : undefined);
  }
  let nested: Json = 'x';
  for (let depth = 0; depth < 10_000; depth += 1) nested = [nested];
  const deep = resultChecks(createSchemaTime()).getValidator(echo)({ text: 1, nested });
  t.equal(deep.errorMessage, '/text must be string', 'of any depth');
  t.end();
});

t.test('LIF-13 · a schema that is listed again is compiled once for its server', (t) => {
  const known = createKnownChecks();
  let pieces = 0;
  const counted: TimeLimit = (work) => {
    pieces += 1;
    return unhurried(work);
  };
  const listed = (): JsonObject => structuredClone(echo);
  for (let listing = 0; listing < 3; listing += 1)
    t.match(checkArguments(listed(), { text: 1 }, counted, known), { kind: 'invalid' });
  t.equal(pieces, 1);
  checkArguments(listed(), { text: 1 }, counted, createKnownChecks());
  t.equal(pieces, 2, 'another server compiles its own');
  t.end();
});

t.test('LIF-13 · a server keeps the checks of 4,194,304 characters of schemas, the newest', (t) => {
  const known = createKnownChecks();
  const long = 'x'.repeat(262_000);
  const texts = range(17).map((n) => `${n}${long}`);
  for (const text of texts) known.keep(text, () => ({ kind: 'fits' }));
  t.same(
    texts.map((text) => known.get(text) !== undefined),
    [false, ...Array(16).fill(true)],
  );
  t.end();
});

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}
