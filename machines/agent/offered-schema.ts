/**
 * Rewrites a tool's input schema for model endpoints. They require an object with properties, and refuse every request if
 * one tool has alternatives at the top of its schema, an array that does not describe its items, or describes them as drafts
 * before 2020-12 did, a property whose schema is `true`, one whose name has other characters than a few, or a malformed
 * keyword. The properties of all alternatives are offered, under names that endpoints take; a call is checked against the
 * tool's own schema.
 * @see DIS-3 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject, objectAt } from '../base/json.ts';
import { withPropertyObjects } from '../base/property-schemas.ts';
import { wireName } from '../mcp/wire-name.ts';

export function offeredSchema(inputSchema: Json | undefined): JsonObject {
  const { required, properties: named, ...own } = unitedSchema(withPropertyObjects(inputSchema ?? null));
  const properties = Object.entries(named).map(([name, form]) => [offeredName(name), withItems(form)]);
  return {
    ...(withItems(own) as JsonObject),
    properties: Object.fromEntries(properties),
    ...(Array.isArray(required) ? { required: required.map(offeredName) } : {}),
  };
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

const types: ReadonlySet<Json> = new Set(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']);

/** Whether a keyword has a value as in draft 2020-12, of those that other drafts and OpenAPI write otherwise. */
function isWellFormed([key, value]: readonly [string, Json]): boolean {
  if (key === 'type') return [value].flat().every((type) => types.has(type));
  if (key === 'required') return Array.isArray(value);
  return !/^exclusiveM(?:in|ax)imum$/.test(key) || typeof value === 'number';
}

/** Describes the items of each array in a schema, without a description as any, and leaves out malformed keywords. */
function withItems(schema: Json, depth = 0): Json {
  if (!isJsonObject(schema) || depth > deepest) return schema;
  const inner = (part: Json): Json => withItems(part, depth + 1);
  const wellFormed = Object.entries(schema).filter(isWellFormed);
  const entries = wellFormed.map(([key, value]): [string, Json] => {
    if (listedSchemas.test(key) && Array.isArray(value)) return [key, (value as readonly Json[]).map(inner)];
    if (oneSchema.test(key)) return [key, inner(value)];
    if (!namedSchemas.test(key) || !isJsonObject(value)) return [key, value];
    return [key, Object.fromEntries(Object.entries(value).map(([name, form]) => [name, inner(form)]))];
  });
  const { items = anyItems, additionalItems = anyItems, ...own } = Object.fromEntries(entries);
  if (Array.isArray(items)) return { ...own, prefixItems: items, items: additionalItems };
  return [schema.type].flat().includes('array') ? { ...own, items } : Object.fromEntries(entries);
}

interface UnitedSchema extends JsonObject {
  readonly properties: JsonObject;
}

/** The schema as an object without alternatives at its top. */
function unitedSchema(inputSchema: Json | undefined): UnitedSchema {
  const schema = isJsonObject(inputSchema) ? inputSchema : {};
  const { anyOf, oneOf, allOf, not: _, enum: __, ...own } = schema;
  const alternatives = [anyOf, oneOf, allOf].flatMap((all) => (Array.isArray(all) ? (all as readonly Json[]) : []));
  /** The forms of each property by their text, so that equal ones are offered once. */
  const forms = new Map<string, Map<string, Json>>();
  for (const one of alternatives) {
    const { properties } = resolved(one, schema);
    for (const [name, form] of Object.entries(isJsonObject(properties) ? properties : {})) {
      const known = forms.get(name) ?? new Map<string, Json>();
      forms.set(name, known.set(JSON.stringify(form), form));
    }
  }
  const united = [...forms].map(([name, known]): [string, Json] => {
    const [only = null, ...others] = known.values();
    return [name, others.length === 0 ? only : { anyOf: [only, ...others] }];
  });
  const properties = isJsonObject(own.properties) ? own.properties : {};
  return { type: 'object', ...own, properties: { ...Object.fromEntries(united), ...properties } };
}

/** An alternative may be defined elsewhere in the schema. */
function resolved(alternative: Json, schema: JsonObject): JsonObject {
  if (!isJsonObject(alternative)) return {};
  const { $ref: ref } = alternative;
  return typeof ref === 'string' && ref.startsWith('#/') ? objectAt(schema, ...ref.slice(2).split('/')) : alternative;
}
