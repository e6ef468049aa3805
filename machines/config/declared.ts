/**
 * Reads a value by its schema. A schema declares once what a key may hold, its meaning and its default: the types, the
 * checks (`validate.ts`) and the JSON Schema for editors are derived from it.
 * @see CFG-7 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { type Keyword, type Schema, violationsOf } from './check-schema.ts';

/** The type of a schema's value. In a mapping, a key with a default and a required key are always present. */
export type Declared<S> = S extends { readonly enum: readonly (infer One)[] }
  ? One
  : S extends { readonly anyOf: readonly (infer One)[] }
    ? Declared<One>
    : S extends { readonly properties: infer Keys }
      ? Mapping<Keys, S extends { readonly required: readonly (infer Name)[] } ? Name : never>
      : S extends { readonly additionalProperties: infer Each extends Schema }
        ? Readonly<Record<string, Declared<Each>>>
        : S extends { readonly items: infer Item }
          ? readonly Declared<Item>[]
          : S extends { readonly type: infer Name }
            ? Scalars[Extract<Name extends readonly (infer One)[] ? One : Name, keyof Scalars>]
            : Json;

type Mapping<Keys, Required> = {
  readonly [Key in keyof Keys as Keys[Key] extends { readonly default: unknown } ? Key : Key & Required]: Declared<
    Keys[Key]
  >;
} & {
  readonly [Key in keyof Keys as Keys[Key] extends { readonly default: unknown }
    ? never
    : Exclude<Key, Required>]?: Declared<Keys[Key]>;
};

interface Scalars {
  readonly string: string;
  readonly number: number;
  readonly integer: number;
  readonly boolean: boolean;
  readonly null: null;
  readonly object: JsonObject;
}

/** The keywords that decide a value's type; a number outside its bounds is still a number. */
const shapes: ReadonlySet<Keyword> = new Set(['type', 'enum', 'anyOf', 'required', 'items']);

/**
 * Returns the keys that a mapping's schema declares, each with its written value or its default. Fills in the defaults of
 * nested mappings, but not of those in lists or under free keys, which have schemas of their own. Returns undefined if a
 * required key is missing.
 * @param written A value of the wrong type counts as absent: it is a finding, which stops the part that it belongs to.
 */
export function declared<const S extends Schema>(schema: S, written: JsonObject): Read<S> {
  // The walk follows the schema, as the type does.
  return readMapping(schema, written) as Read<S>;
}

type Read<S> = S extends { readonly required: readonly unknown[] } ? Declared<S> | undefined : Declared<S>;

function read(schema: Schema, written: Json | undefined): Json | undefined {
  const { properties, default: otherwise } = schema;
  if (properties !== undefined) {
    const held = isJsonObject(written) ? written : otherwise;
    return isJsonObject(held) ? readMapping(schema, held) : undefined;
  }
  if (written === undefined) return otherwise;
  return violationsOf(schema, written).some(({ keyword }) => shapes.has(keyword)) ? otherwise : written;
}

function readMapping({ properties = {}, required = [] }: Schema, written: JsonObject): JsonObject | undefined {
  const held: Record<string, Json> = {};
  for (const [key, schema] of Object.entries(properties)) {
    const value = read(schema, Object.hasOwn(written, key) ? written[key] : undefined);
    if (value !== undefined) held[key] = value;
  }
  return required.every((key) => Object.hasOwn(held, key)) ? held : undefined;
}
