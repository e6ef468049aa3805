import { Ajv } from 'ajv';
import t from 'tap';
import { isJsonObject, type Json, type JsonObject } from '../../../machines/base/json.ts';
import { keywords, type Schema, violationsOf } from '../../../machines/config/check-schema.ts';
import { routeSchema } from '../../../machines/config/route.ts';
import { configSchema } from '../../../machines/config/schema.ts';
import { serverEntrySchema } from '../../../machines/config/server-entry.ts';
import { fc, runs } from '../../support/property.ts';

const schemas: readonly Schema[] = [configSchema(), serverEntrySchema, routeSchema].map(
  (schema) => JSON.parse(JSON.stringify(schema)) as Schema,
);
/** Keywords that ask for nothing. */
const silent = new Set(['$schema', 'title', 'description', 'default', 'deprecated', 'patternProperties']);

t.test('CFG-4 · the schemas are written in the keywords that are checked', (t) => {
  const strays = new Set<string>();
  const look = (schema: unknown): void => {
    if (!isJsonObject(schema)) return;
    for (const [word, held] of Object.entries(schema)) {
      if (!silent.has(word) && !(keywords as readonly string[]).includes(word)) strays.add(word);
      if (word === 'properties' && isJsonObject(held)) for (const one of Object.values(held)) look(one);
      if (word === 'items' || word === 'additionalProperties') look(held);
      if (word === 'anyOf') for (const one of held as readonly Json[]) look(one);
    }
  };
  for (const schema of schemas) look(schema);
  t.same([...strays], [], 'keywords that machines/config/check-schema.ts does not check');
  t.end();
});

/** What a whole validator says, without what the branches of an anyOf say. */
function oracle(schema: Schema): (value: Json) => string[] {
  const validate = new Ajv({ allErrors: true, verbose: true, strict: false, allowUnionTypes: true }).compile(schema);
  return (value) => {
    validate(value);
    const errors = validate.errors ?? [];
    const unions = errors.filter(({ keyword }) => keyword === 'anyOf').map(({ schemaPath }) => `${schemaPath}/`);
    return errors
      .filter(({ schemaPath }) => !unions.some((union) => schemaPath.startsWith(union)))
      .map(({ keyword, instancePath, params }) => {
        const path = instancePath
          .split('/')
          .slice(1)
          .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
        return `${path.join('\u0000')} ${keyword} ${String(params.additionalProperty ?? params.missingProperty ?? '')}`;
      });
  };
}

function told(schema: Schema, value: Json): string[] {
  return violationsOf(schema, value).map(
    ({ path, keyword, property = '' }) => `${path.join('\u0000')} ${keyword} ${property}`,
  );
}

/** A value that fits a schema here and there, and elsewhere does not. */
function nearly(schema: Schema, depth = 0): fc.Arbitrary<Json> {
  const odd: fc.Arbitrary<Json> = fc.constantFrom<Json[]>(
    null,
    true,
    0,
    -1,
    1.5,
    70_000,
    '',
    'x',
    'yes',
    [],
    ['x'],
    {},
    { x: 1 },
  );
  const likely: fc.Arbitrary<Json>[] = [];
  if (schema.enum !== undefined) likely.push(fc.constantFrom(...schema.enum));
  for (const one of schema.anyOf ?? []) likely.push(nearly(one, depth + 1));
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
  for (const type of types) likely.push(ofType(type, schema, depth));
  if (likely.length === 0) return odd;
  return fc.oneof({ weight: 6, arbitrary: fc.oneof(...likely) }, { weight: 1, arbitrary: odd });
}

function ofType(type: string, schema: Schema, depth: number): fc.Arbitrary<Json> {
  switch (type) {
    case 'object': {
      const { properties = {}, additionalProperties } = schema;
      // Deep trees of every key would take longer than they teach.
      const names = Object.keys(properties);
      const some = fc.subarray(names, { maxLength: Math.min(names.length, depth < 2 ? 4 : 2) });
      const other = isJsonObject(additionalProperties)
        ? nearly(additionalProperties as Schema, depth + 1)
        : fc.constant<Json>(1);
      const extra = fc.dictionary(fc.constantFrom('extra', 'x-more', 'a/b~c', '__proto__', 'constructor'), other, {
        maxKeys: 1,
      });
      return fc
        .tuple(some, extra)
        .chain(([chosen, more]) =>
          fc
            .record(Object.fromEntries(chosen.map((name) => [name, nearly(properties[name] ?? {}, depth + 1)])))
            .map((known): JsonObject => Object.fromEntries([...Object.entries(known), ...Object.entries(more)])),
        );
    }
    case 'array':
      return fc.array(schema.items === undefined ? fc.constant<Json>('x') : nearly(schema.items, depth + 1), {
        maxLength: 4,
      });
    case 'integer':
      return fc.oneof(fc.integer({ min: -2, max: 70_000 }), fc.constantFrom(schema.minimum ?? 0, schema.maximum ?? 0));
    case 'number':
      return fc.oneof(fc.double({ min: -2, max: 9, noNaN: true }), fc.constantFrom(schema.exclusiveMinimum ?? 0));
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    default:
      return fc.oneof(fc.string({ maxLength: 3 }), fc.constantFrom('TRUE', 'off', '😀'));
  }
}

t.test('CFG-1 · every violation that a whole validator finds is found, in its order, and no other', (t) => {
  let violations = 0;
  for (const schema of schemas) {
    const whole = oracle(schema);
    fc.assert(
      fc.property(nearly(schema), (value) => {
        const expected = whole(value);
        violations += expected.length;
        t.same(told(schema, value), expected, JSON.stringify(value));
      }),
      { numRuns: runs(300) },
    );
  }
  t.ok(violations > runs(300), 'the values were wrong often enough');
  t.end();
});

t.test('CFG-1 · numbers that are none, and characters of two units', (t) => {
  t.same(told({ type: 'number' }, Number.POSITIVE_INFINITY), [' type ']);
  t.same(told({ type: 'number', minimum: 1 }, Number.NaN), [' type ']);
  t.same(told({ minLength: 2 }, '😀'), [' minLength ']);
  t.same(told({ minLength: 1 }, '😀'), []);
  t.end();
});
