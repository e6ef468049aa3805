/**
 * Reads what a server or a client writes as `null` as absent, since many serializers write every member that is not given
 * so, and an empty list in place of an object as an object without members, since PHP writes it so.
 * @see FLT-4 and LIF-13 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';

/** The members of the protocol that are objects with members of their own, or lists of them. */
const parts: ReadonlySet<string> = new Set([
  'annotations',
  'arguments',
  'capabilities',
  'clientInfo',
  'content',
  'contents',
  'execution',
  'icons',
  'inputSchema',
  'messages',
  'outputSchema',
  'prompts',
  'resource',
  'resources',
  'serverInfo',
  'tasks',
  'tools',
]);
/** The members of the protocol that are objects, wherever they are. */
const objects: ReadonlySet<string> = new Set([
  '_meta',
  'annotations',
  'capabilities',
  'execution',
  'inputSchema',
  'outputSchema',
  'properties',
  'serverInfo',
]);
/** Members that may be `null`: keywords of a schema, a result, and what a server logs. */
const values: ReadonlySet<string> = new Set(['const', 'data', 'default', 'structuredContent']);

/** Levels of parts in parts; a server may write more. */
const deepest = 4;

/**
 * Returns the object without what is `null` in it and in the parts that the protocol defines.
 * @param within the member that it is; those of the capabilities are objects, whatever their names
 */
export function withoutNulls(given: JsonObject, level = 0, within = ''): JsonObject {
  return Object.fromEntries(
    Object.entries(given)
      .filter(([key, value]) => value !== null || values.has(key))
      .map(([key, value]) => {
        const part = (one: Json): Json => (isJsonObject(one) ? withoutNulls(one, level + 1, key) : one);
        if (isEmptyList(value) && (objects.has(key) || within === 'capabilities')) return [key, {}];
        if (level === deepest || !parts.has(key)) return [key, value];
        return [key, Array.isArray(value) ? (value as readonly Json[]).map(part) : part(value)];
      }),
  );
}

/**
 * Returns a message without what is `null` in itself, which the protocol permits only for the `id` of an answer, and
 * without a `_meta` that is no object. A `result` counts as absent only beside an error. No member of a message is a list.
 */
export function messageWithoutNulls(message: JsonObject): JsonObject {
  if (!Object.values(message).some((value) => value === null || isEmptyList(value) || hasOddMeta(value)))
    return message;
  const isKept = (key: string): boolean =>
    key === 'id' ? typeof message.method !== 'string' : key === 'result' && !isJsonObject(message.error);
  return Object.fromEntries(
    Object.entries(message)
      .filter(([key, value]) => value !== null || isKept(key))
      .map(([key, value]) => [key, isEmptyList(value) ? {} : hasOddMeta(value) ? withoutMeta(value) : value]),
  );
}

function hasOddMeta(part: Json): part is JsonObject {
  return isJsonObject(part) && part._meta !== undefined && !isJsonObject(part._meta);
}

function withoutMeta({ _meta, ...part }: JsonObject): JsonObject {
  return part;
}

export function isEmptyList(value: Json | undefined): boolean {
  return Array.isArray(value) && value.length === 0;
}
