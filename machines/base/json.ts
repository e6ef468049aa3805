/**
 * The JSON values that every other file speaks, and the three questions asked of them everywhere: what lies at a dotted
 * path, how it is written, and where the text is cut. Knows nothing of templates, filters or HTTP.
 */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** Tells whether a value is a JSON object: not null, not a list. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the object without the keys whose value is undefined, for types whose optional keys must not be undefined. */
export function defined<const Held extends object>(held: Held): Defined<Held> {
  return Object.fromEntries(Object.entries(held).filter(([, value]) => value !== undefined)) as Defined<Held>;
}

type MayBeUndefined<Held> = { [Key in keyof Held]: undefined extends Held[Key] ? Key : never }[keyof Held];
type Defined<Held> = Omit<Held, MayBeUndefined<Held>> & {
  [Key in MayBeUndefined<Held>]?: Exclude<Held[Key], undefined>;
};

/**
 * Returns a copy of a record with some members changed. A spread with members after it adds each new one on the engine's slow
 * path, a microsecond each.
 */
export function changed<Held extends object>(held: Held, members: Partial<Held>): Held {
  return Object.assign({}, held, members);
}

/** The text of a string, a number or a boolean; empty for all else, since an object from outside names its own `toString`. */
export function scalarText(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

/** The object that lies under some keys, one in the other; an empty one where something else lies there, or nothing. */
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
 * Looks a dotted path up: own keys of objects, whole decimal indexes of lists.
 * @returns undefined where any step is missing; never reaches into a prototype.
 */
export function lookUp(root: Json, path: string): Json | undefined {
  return compilePath(path)(root);
}

/** Takes a dotted path apart once, for many look-ups. */
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

export interface Spelling {
  /** Characters (Unicode code points) after which the text stops, without a marker. */
  readonly limit?: number;
  /** Spaces per level; 0 for everything on one line. */
  readonly indent?: number;
}

/**
 * Formats a value as `JSON.stringify` does, but walks no further than the limit and survives any depth that a parser gives:
 * what indenting adds grows with the square of the depth, and a recursive walk would exhaust the stack.
 */
export function spell(value: Json, { limit = Number.POSITIVE_INFINITY, indent = 0 }: Spelling = {}): string {
  // A character takes at most two UTF-16 units, so twice the limit holds all that is kept.
  const enough = limit * 2;
  const open: OpenValue[] = [];
  let spelled = '';
  let next: Json | undefined = value;
  while (spelled.length < enough) {
    if (next !== undefined) {
      const opened = openedOf(next);
      if (opened === undefined) spelled += JSON.stringify(next);
      else if (opened.size === 0) spelled += opened.keys === undefined ? '[]' : '{}';
      else {
        spelled += opened.keys === undefined ? '[' : '{';
        open.push(opened);
      }
      next = undefined;
      continue;
    }
    const at = open.at(-1);
    if (at === undefined) break;
    if (at.next === at.size) {
      open.pop();
      spelled += lineBreak(open.length, indent) + (at.keys === undefined ? ']' : '}');
      continue;
    }
    spelled += (at.next === 0 ? '' : ',') + lineBreak(open.length, indent);
    const key = at.keys?.[at.next];
    if (key !== undefined) spelled += JSON.stringify(key) + (indent === 0 ? ':' : ': ');
    next = key === undefined ? (at.held as readonly Json[])[at.next] : (at.held as JsonObject)[key];
    at.next += 1;
  }
  return cut(spelled, limit);
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
