/**
 * The JSON values that every other file speaks, and the three questions asked of them everywhere: what lies at a dotted
 * path, how it is spelled, and where the spelling is cut. Knows nothing of templates, filters or HTTP.
 */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** Tells whether a value is a JSON object: not null, not a list. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Looks a dotted path up: own keys of objects, whole decimal indexes of lists.
 * @returns undefined where any step is missing; never reaches into a prototype.
 */
export function lookUp(root: Json, path: string): Json | undefined {
  let at: Json | undefined = root;
  for (const step of path.split('.')) {
    if (at === null || typeof at !== 'object') return undefined;
    if (Array.isArray(at)) {
      if (!/^(0|[1-9]\d*)$/.test(step)) return undefined;
      at = at[Number(step)];
    } else {
      if (!Object.hasOwn(at, step)) return undefined;
      at = (at as JsonObject)[step];
    }
    if (at === undefined) return undefined;
  }
  return at;
}

/** Cuts a text to at most `limit` characters (Unicode code points), without a marker (TPL-1). */
export function cut(text: string, limit: number): string {
  // A text has at most as many code points as UTF-16 units, so a short one needs no counting.
  if (text.length <= limit) return text;
  let end = 0;
  for (let count = 0; count < limit && end < text.length; count += 1) {
    const unit = text.charCodeAt(end);
    end += unit >= 0xd800 && unit <= 0xdbff && end + 1 < text.length ? 2 : 1;
  }
  return text.slice(0, end);
}
