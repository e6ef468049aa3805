/** JSON types, and the basic operations on JSON values: look up a dotted path, format, cut. */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** Whether a value is a JSON object: not null, not a list. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Equality of JSON values: no coercion, keys in any order. */
export function sameJson(one: Json, other: Json): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
    return one.every((item, index) => sameJson(item, other[index] as Json));
  }
  const left = one as JsonObject;
  const right = other as JsonObject;
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length) return false;
  return keys.every((key) => Object.hasOwn(right, key) && sameJson(left[key] as Json, right[key] as Json));
}

/** Returns the object without keys whose value is undefined, for types whose optional keys must not be undefined. */
export function defined<const Held extends object>(held: Held): Defined<Held> {
  return Object.fromEntries(Object.entries(held).filter(([, value]) => value !== undefined)) as Defined<Held>;
}

type MayBeUndefined<Held> = { [Key in keyof Held]: undefined extends Held[Key] ? Key : never }[keyof Held];
type Defined<Held> = Omit<Held, MayBeUndefined<Held>> & {
  [Key in MayBeUndefined<Held>]?: Exclude<Held[Key], undefined>;
};

/**
 * Returns a copy of a record with some members changed. In a spread followed by members, each new member takes the engine's
 * slow path, a microsecond each.
 */
export function changed<Held extends object>(held: Held, members: Partial<Held>): Held {
  return Object.assign({}, held, members);
}

/** The text of a string, number or boolean; else empty, since a foreign object may define its own `toString`. */
export function scalarText(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

/** The value with each text within it changed, but no key. */
export function eachText(value: Json, change: (text: string) => Json): Json {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => eachText(item, change));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, held]) => [key, eachText(held, change)]));
}

/** Formats a value on one line with the keys of each object in order, so that equal values have equal texts. */
export function sortedJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${sortedJson(value[key] ?? null)}`).join(',')}}`;
}

/** The object at nested keys; an empty one if there is none. */
export function objectAt(root: JsonObject, ...keys: readonly string[]): JsonObject {
  let at = root;
  for (const key of keys) {
    const next = at[key];
    if (!isJsonObject(next)) return {};
    at = next;
  }
  return at;
}

/**
 * Looks up a dotted path: own keys of objects, decimal indexes of lists.
 * @returns undefined if any step is missing; never reaches into a prototype.
 */
export function lookUp(root: Json, path: string): Json | undefined {
  return compilePath(path)(root);
}

/** Parses a dotted path once, for many look-ups. */
export function compilePath(path: string): (root: Json) => Json | undefined {
  const steps = path.split('.').map((name) => ({ name, index: /^(0|[1-9]\d*)$/.test(name) ? Number(name) : -1 }));
  return (root) => {
    let at: Json | undefined = root;
    for (const { name, index } of steps) {
      if (at === null || typeof at !== 'object') return undefined;
      if (Array.isArray(at)) {
        if (index < 0) return undefined;
        at = at[index];
      } else {
        if (!Object.hasOwn(at, name)) return undefined;
        at = (at as JsonObject)[name];
      }
      if (at === undefined) return undefined;
    }
    return at;
  };
}

interface StringifyOptions {
  /** Characters (Unicode code points) after which the text ends, without a marker. */
  readonly limit?: number;
  /** Spaces per level; 0 for a single line. */
  readonly indent?: number;
}

/**
 * Formats a value like `JSON.stringify`, but stops at the limit and supports any depth that the parser allows: indentation
 * grows with the square of the depth, and recursion would exhaust the stack.
 */
export function stringify(
  value: Json,
  { limit = Number.POSITIVE_INFINITY, indent = 0 }: StringifyOptions = {},
): string {
  if (limit === Number.POSITIVE_INFINITY && indent === 0) {
    try {
      return JSON.stringify(value);
    } catch {
      // It is deeper than the stack.
    }
  }
  // A character takes at most two UTF-16 units, so twice the limit is enough.
  const enough = limit * 2;
  const open: OpenValue[] = [];
  let text = '';
  let next: Json | undefined = value;
  while (text.length < enough) {
    if (next !== undefined) {
      const opened = openedOf(next);
      if (opened === undefined) text += JSON.stringify(next);
      else if (opened.size === 0) text += opened.keys === undefined ? '[]' : '{}';
      else {
        text += opened.keys === undefined ? '[' : '{';
        open.push(opened);
      }
      next = undefined;
      continue;
    }
    const at = open.at(-1);
    if (at === undefined) break;
    if (at.next === at.size) {
      open.pop();
      text += lineBreak(open.length, indent) + (at.keys === undefined ? ']' : '}');
      continue;
    }
    text += (at.next === 0 ? '' : ',') + lineBreak(open.length, indent);
    const key = at.keys?.[at.next];
    if (key !== undefined) text += JSON.stringify(key) + (indent === 0 ? ':' : ': ');
    next = key === undefined ? (at.held as readonly Json[])[at.next] : (at.held as JsonObject)[key];
    at.next += 1;
  }
  return cut(text, limit);
}

/** A list or object whose members are being written. */
interface OpenValue {
  readonly held: readonly Json[] | JsonObject;
  /** Absent for a list. */
  readonly keys?: readonly string[];
  readonly size: number;
  next: number;
}

function openedOf(value: Json): OpenValue | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) return { held: value, size: value.length, next: 0 };
  const keys = Object.keys(value);
  return { held: value, keys, size: keys.length, next: 0 };
}

function lineBreak(depth: number, indent: number): string {
  return indent === 0 ? '' : `\n${' '.repeat(depth * indent)}`;
}

/** Cuts a text to at most `limit` characters with a mark, after which the beginning of a secret is found (OBS-1). */
export function cutWithMark(text: string, limit: number): string {
  return cut(text, limit) === text ? text : `${cut(text, limit - 1)}…`;
}

/** Cuts a text to at most `limit` characters (Unicode code points), without a marker (TPL-1). */
export function cut(text: string, limit: number): string {
  // A text has at most as many code points as UTF-16 units, so a short one need not be counted.
  if (text.length <= limit) return text;
  let end = 0;
  for (let count = 0; count < limit && end < text.length; count += 1) {
    const unit = text.charCodeAt(end);
    end += unit >= 0xd800 && unit <= 0xdbff && end + 1 < text.length ? 2 : 1;
  }
  return text.slice(0, end);
}
