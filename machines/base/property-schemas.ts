/**
 * Rewrites a tool's JSON Schema for those who read more strictly than the standard: clients of MCP and endpoints of models
 * refuse all tools for one property whose schema is `true`, as servers in Go list it, and clients hold results to formats,
 * which only describe a value unless a reader chooses otherwise.
 * @see CLI-5 and DIS-3 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from './json.ts';

const namedSchemas = /^(?:properties|patternProperties|\$defs|definitions)$/;
const nestedSchemas = /^(?:items|prefixItems|additionalProperties|anyOf|oneOf|allOf)$/;
/** Deeper parts are left as they are. */
const deepest = 100;

/** The schema with each property's schema that is no object as the object that means the same: `true` as `{}`. */
export function withPropertyObjects(schema: Json): Json {
  return rewritten(schema, (own) => own, 0);
}

/** The same without formats. */
export function withoutFormats(schema: Json): Json {
  return rewritten(schema, ({ format: _, ...own }) => own, 0);
}

function rewritten(schema: Json, change: (own: JsonObject) => JsonObject, depth: number): Json {
  if (depth > deepest) return schema;
  const inner = (part: Json): Json => rewritten(part, change, depth + 1);
  if (Array.isArray(schema)) return (schema as readonly Json[]).map(inner);
  if (!isJsonObject(schema)) return schema;
  const entries = Object.entries(change(schema)).map(([key, value]): readonly [string, Json] => {
    if (nestedSchemas.test(key)) return [key, inner(value)];
    if (!namedSchemas.test(key) || !isJsonObject(value)) return [key, value];
    return [key, Object.fromEntries(Object.entries(value).map(([name, form]) => [name, inner(asObject(form))]))];
  });
  return Object.fromEntries(entries);
}

function asObject(form: Json): Json {
  if (form === false) return { not: {} };
  return typeof form === 'object' && form !== null ? form : {};
}
