/**
 * Writes a property's JSON Schema that is no object as the object that means the same: `true` as `{}`. Servers in Go list
 * `true` for any value, and clients of MCP and endpoints of models refuse all tools for one such property.
 * @see CLI-5 and DIS-3 in docs/specification.md
 */

import { isJsonObject, type Json } from './json.ts';

const namedSchemas = /^(?:properties|patternProperties|\$defs|definitions)$/;
const nestedSchemas = /^(?:items|prefixItems|additionalProperties|anyOf|oneOf|allOf)$/;
/** Deeper parts are left as they are. */
const deepest = 100;

export function withPropertyObjects(schema: Json, depth = 0): Json {
  if (depth > deepest) return schema;
  if (Array.isArray(schema)) return (schema as readonly Json[]).map((one) => withPropertyObjects(one, depth + 1));
  if (!isJsonObject(schema)) return schema;
  const entries = Object.entries(schema).map(([key, value]): readonly [string, Json] => {
    if (nestedSchemas.test(key)) return [key, withPropertyObjects(value, depth + 1)];
    if (!namedSchemas.test(key) || !isJsonObject(value)) return [key, value];
    const forms = Object.entries(value).map(([name, form]) => [name, asObject(form, depth + 1)] as const);
    return [key, Object.fromEntries(forms)];
  });
  return Object.fromEntries(entries);
}

function asObject(form: Json, depth: number): Json {
  if (form === false) return { not: {} };
  return typeof form === 'object' && form !== null ? withPropertyObjects(form, depth) : {};
}
