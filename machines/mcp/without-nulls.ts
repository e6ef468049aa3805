/**
 * Reads what a server writes as `null` as absent, since many serializers write every member that is not given so.
 * @see FLT-4 and LIF-13 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';

/** The members of the protocol that are objects with members of their own, or lists of them. */
const parts: ReadonlySet<string> = new Set([
  'annotations',
  'arguments',
  'execution',
  'icons',
  'inputSchema',
  'outputSchema',
  'resource',
]);
/** Keywords of a schema that may be `null`. */
const values: ReadonlySet<string> = new Set(['const', 'default']);

/** Returns the object without what is `null` in it and in the parts that the protocol defines. */
export function withoutNulls(given: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(given)
      .filter(([key, value]) => value !== null || values.has(key))
      .map(([key, value]) => [key, parts.has(key) ? partWithoutNulls(value) : value]),
  );
}

function partWithoutNulls(part: Json): Json {
  if (Array.isArray(part)) return (part as readonly Json[]).map((item) => (isJsonObject(item) ? withoutNulls(item) : item));
  return isJsonObject(part) ? withoutNulls(part) : part;
}
