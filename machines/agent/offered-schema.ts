/**
 * Rewrites a tool's input schema for model endpoints. They require an object with properties, and refuse every request if
 * one tool has alternatives at the top of its schema, an array that does not describe its items, a keyword in a form that
 * draft 2020-12 does not have, a property whose schema is `true`, or one whose name has other characters than a few. The
 * properties of all alternatives are offered, under names that endpoints take, and what is not valid is left out; a call is
 * checked against the tool's own schema.
 * @see DIS-3 in docs/specification.md
 */

import { getOrMake } from '../base/get-or-make.ts';
import { isJsonObject, type Json, type JsonObject, objectAt } from '../base/json.ts';
import { withPropertyObjects } from '../base/property-schemas.ts';
import { wireName } from '../mcp/wire-name.ts';

export function offeredSchema(inputSchema: Json | undefined): JsonObject {
  const { required = null, properties: named, ...own } = unitedSchema(inputSchema);
  const properties = schemasIn(named).map(([name, form]) => [offeredName(name), valid(form)]);
  return withPropertyObjects({
    ...(valid(own) as JsonObject),
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(isFit('required', required) ? { required: (required as readonly Json[]).map(offeredName) } : {}),
  }) as JsonObject;
}

/** Returns the arguments of a call under the names of the tool's own schema. */
export function ownArguments(args: JsonObject, inputSchema: Json | undefined): JsonObject {
  const { properties } = unitedSchema(inputSchema);
  const own = new Map(Object.keys(properties).map((name) => [offeredName(name), name]));
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [own.get(name) ?? name, value]));
}

/** Anthropic's pattern. */
function offeredName<Name extends Json>(name: Name): Name | string {
  return typeof name !== 'string' || /^[\w.-]{1,64}$/.test(name) ? name : wireName(name);
}

/** The keywords whose value is a schema, a list of schemas, or an object of named ones. */
const oneSchema = /^(?:items|additional(?:Items|Properties)|not|if|then|else|contains|propertyNames|unevaluated\w+)$/;
const listedSchemas = /^(?:anyOf|oneOf|allOf|prefixItems|items)$/;
const namedSchemas = /^(?:properties|patternProperties|\$defs|definitions|dependentSchemas)$/;
/** Deeper parts are left as they are. */
const deepest = 100;
const anyItems: JsonObject = {};

/** The valid keywords of a schema. Describes the items of each array: without a description, any. */
function valid(schema: Json, depth = 0): Json {
  if (!isJsonObject(schema) || depth > deepest) return schema;
  const inner = (part: Json): Json => valid(part, depth + 1);
  const entries = Object.entries(withBounds(schema)).flatMap(([key, value]): [string, Json][] => {
    if (!isFit(key, value)) return [];
    if (listedSchemas.test(key) && Array.isArray(value)) {
      const list = (value as readonly Json[]).filter(isSchema).map(inner);
      return list.length === 0 ? [] : [[key, list]];
    }
    if (oneSchema.test(key)) return isSchema(value) ? [[key, inner(value)]] : [];
    if (!namedSchemas.test(key)) return [[key, value]];
    return [[key, Object.fromEntries(schemasIn(value).map(([name, form]) => [name, inner(form)]))]];
  });
  const { items = anyItems, additionalItems = anyItems, ...own } = Object.fromEntries(entries);
  if (Array.isArray(items)) return { ...own, prefixItems: items, items: additionalItems };
  return [own.type].flat().includes('array') ? { ...own, items } : Object.fromEntries(entries);
}

const types: ReadonlySet<Json> = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);

/** Whether a keyword has a form of draft 2020-12. */
function isFit(key: string, value: Json): boolean {
  const list: readonly Json[] | undefined = Array.isArray(value) ? value : undefined;
  switch (key) {
    case 'type':
      return (list ?? [value]).every((one) => types.has(one));
    case 'required':
      return list?.every((one) => typeof one === 'string') === true;
    case 'anyOf':
    case 'oneOf':
    case 'allOf':
    case 'prefixItems':
    case 'enum':
      return list !== undefined;
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
    case 'exclusiveMaximum':
    case 'minLength':
    case 'maxLength':
    case 'minItems':
    case 'maxItems':
      return typeof value === 'number';
    case 'title':
    case 'description':
    case 'format':
    case 'pattern':
      return typeof value === 'string';
    default:
      return true;
  }
}

function isSchema(value: Json): boolean {
  return isJsonObject(value) || typeof value === 'boolean';
}

function schemasIn(named: Json): [string, Json][] {
  return Object.entries(isJsonObject(named) ? named : {}).filter(([, form]) => isSchema(form));
}

/** Draft 4 marks a bound as exclusive; later ones have the exclusive bound itself. Absent ones are null, and left out. */
function withBounds(schema: JsonObject): JsonObject {
  const { minimum = null, maximum = null, exclusiveMinimum = null, exclusiveMaximum = null, ...others } = schema;
  return {
    ...others,
    ...(exclusiveMinimum === true ? { exclusiveMinimum: minimum } : { minimum, exclusiveMinimum }),
    ...(exclusiveMaximum === true ? { exclusiveMaximum: maximum } : { maximum, exclusiveMaximum }),
  };
}

interface UnitedSchema extends JsonObject {
  readonly properties: JsonObject;
}

const alternatives = ['anyOf', 'oneOf', 'allOf', 'not', 'enum'];

/**
 * The same schema if it has no alternatives at its top. Otherwise one with the properties of all: clients of MCP leave the
 * tool out, or their models refuse every request.
 */
export function withoutAlternatives(inputSchema: Json): Json {
  return isJsonObject(inputSchema) && alternatives.some((key) => key in inputSchema)
    ? unitedSchema(inputSchema)
    : inputSchema;
}

/** The schema as an object without alternatives at its top. */
function unitedSchema(inputSchema: Json | undefined): UnitedSchema {
  const schema = isJsonObject(inputSchema) ? inputSchema : {};
  const { anyOf: _, oneOf: __, allOf: ___, not: ____, enum: _____, ...own } = schema;
  /** The forms of each property by their text, so that equal ones are offered once. */
  const forms = new Map<string, Map<string, Json>>();
  for (const { properties } of alternativesIn(schema)) {
    for (const [name, form] of Object.entries(isJsonObject(properties) ? properties : {})) {
      getOrMake(forms, name, () => new Map()).set(JSON.stringify(form), form);
    }
  }
  const united = [...forms].map(([name, known]): [string, Json] => {
    const [only = null, ...others] = known.values();
    return [name, others.length === 0 ? only : { anyOf: [only, ...others] }];
  });
  const properties = isJsonObject(own.properties) ? own.properties : {};
  return { type: 'object', ...own, properties: { ...Object.fromEntries(united), ...properties } };
}

/** The alternatives at the top of a schema, and what is within them or referred to there: each once, as they may be circular. */
function alternativesIn(schema: JsonObject): Iterable<JsonObject> {
  const found = new Set([schema]);
  for (const { anyOf, oneOf, allOf, $ref: ref } of found) {
    for (const one of [anyOf, oneOf, allOf].flat()) if (isJsonObject(one)) found.add(one);
    if (typeof ref === 'string' && ref.startsWith('#/')) found.add(objectAt(schema, ...ref.slice(2).split('/')));
  }
  found.delete(schema);
  return found;
}
