/**
 * Removes invisible Unicode tag characters from a server's output: a person never sees them, but a model reads them as text.
 * Covers any JSON value, keys included, and limits its depth.
 * @see LIF-13 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';

/** Deeper than any schema or result in use, and far below the stack's limit. */
const deepest = 128;

/** Removes U+E0000 to U+E007F. Regional flags, which use them, become the plain black flag. */
export function stripTags(text: string): string {
  return text.replace(/[\u{E0000}-\u{E007F}]/gu, '');
}

/** A tool without tag characters in its name, descriptions and schemas. */
export function cleanTool(tool: JsonObject): JsonObject {
  const cleaned = mapStrings(tool, stripTags);
  return isJsonObject(cleaned) ? cleaned : {};
}

/**
 * Changes the titles and descriptions within a value whose depth is limited. Its other strings stay, because calls must fit
 * them, such as names, the values of an enumeration and patterns.
 */
export function mapWords(value: Json, change: (text: string) => string): Json {
  if (Array.isArray(value)) return value.map((item) => mapWords(item, change));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, held]) => [
      key,
      typeof held === 'string' && (key === 'description' || key === 'title') ? change(held) : mapWords(held, change),
    ]),
  );
}

/** Changes every string within a value, keys too. Values that are nested too deeply become null, to limit recursion. */
export function mapStrings(value: Json, change: (text: string) => string, depth = 0): Json {
  if (typeof value === 'string') return change(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= deepest) return null;
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, change, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, held]) => [change(key), mapStrings(held, change, depth + 1)]),
  );
}
