/**
 * Takes invisible Unicode tag characters out of what a server says: a person never sees them, a model reads them as
 * text. Goes through any JSON value, keys too, and bounds its depth. Knows no shape of a message.
 * @see LIF-13 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';

/** Deeper than any schema or result in use, and far from the end of the stack. */
const deepest = 128;

/** Removes U+E0000 to U+E007F. Flags of regions, which are written with them, become the plain black flag. */
export function stripTags(text: string): string {
  return text.replace(/[\u{E0000}-\u{E007F}]/gu, '');
}

/** A tool as a server lists it, without tags in its name, its descriptions and its schemas. */
export function cleanTool(tool: JsonObject): JsonObject {
  const cleaned = mapStrings(tool, stripTags);
  return isJsonObject(cleaned) ? cleaned : {};
}

/** Changes every string within a value, keys too. What lies too deep becomes null: a stack is not endless. */
export function mapStrings(value: Json, change: (text: string) => string, depth = 0): Json {
  if (typeof value === 'string') return change(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= deepest) return null;
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, change, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, held]) => [change(key), mapStrings(held, change, depth + 1)]),
  );
}
