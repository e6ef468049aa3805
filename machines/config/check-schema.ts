/**
 * Checks a value against a JSON Schema with the few keywords that the configuration's schema uses, and returns every
 * violation in the schema's order. Interprets the schema: compiling one at every start would cost a hundred times as much as
 * checking one configuration. A spec compares it with a full validator.
 * @see CFG-1 and CFG-4 in docs/specification.md
 */

import type { Json, JsonObject } from '../base/json.ts';

export interface Violation {
  readonly keyword: Keyword;
  readonly path: readonly string[];
  readonly asks: unknown;
  /** The schema that contains the keyword. */
  readonly schema: Schema;
  readonly value: Json;
  /** The property that is not allowed, or is missing. */
  readonly property?: string;
}

export const keywords = [
  'type',
  'maximum',
  'minimum',
  'exclusiveMinimum',
  'minLength',
  'pattern',
  'enum',
  'anyOf',
  'maxItems',
  'minItems',
  'items',
  'required',
  'additionalProperties',
  'properties',
] as const;
export type Keyword = (typeof keywords)[number];

export interface Schema {
  readonly type?: string | readonly string[];
  readonly maximum?: number;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly pattern?: string;
  readonly enum?: readonly Json[];
  readonly anyOf?: readonly Schema[];
  readonly maxItems?: number;
  readonly minItems?: number;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  /** Names that may hold anything. */
  readonly patternProperties?: Readonly<Record<string, { readonly description: string }>>;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly description?: string;
  /** The value if the key is absent. */
  readonly default?: Json;
  /** Accepted, but not offered. */
  readonly deprecated?: boolean;
}

export function violationsOf(schema: Schema, value: Json): readonly Violation[] {
  const found: Violation[] = [];
  check(schema, value, [], found);
  return found;
}

function check(schema: Schema, value: Json, path: readonly string[], found: Violation[]): void {
  const say = (keyword: Keyword, property?: string): void => {
    const violation = { keyword, path, asks: schema[keyword], schema, value };
    found.push(property === undefined ? violation : { ...violation, property });
  };
  if (schema.type !== undefined && !hasType(value, schema.type)) say('type');
  if (typeof value === 'number' && Number.isFinite(value)) checkNumber(schema, value, say);
  if (typeof value === 'string') checkText(schema, value, say);
  if (schema.enum !== undefined && !schema.enum.includes(value)) say('enum');
  if (schema.anyOf !== undefined && !schema.anyOf.some((one) => violationsOf(one, value).length === 0)) say('anyOf');
  if (Array.isArray(value)) {
    if (schema.maxItems !== undefined && value.length > schema.maxItems) say('maxItems');
    if (schema.minItems !== undefined && value.length < schema.minItems) say('minItems');
    const { items } = schema;
    if (items !== undefined) {
      for (const [index, item] of value.entries()) check(items, item as Json, [...path, String(index)], found);
    }
  } else if (typeof value === 'object' && value !== null)
    checkObject(schema, value as JsonObject, path, { found, say });
}

type Say = (keyword: Keyword, property?: string) => void;

function checkNumber({ maximum, minimum, exclusiveMinimum }: Schema, value: number, say: Say): void {
  if (maximum !== undefined && value > maximum) say('maximum');
  if (minimum !== undefined && value < minimum) say('minimum');
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) say('exclusiveMinimum');
}

function checkText({ minLength, pattern }: Schema, value: string, say: Say): void {
  // In characters, some of which take two UTF-16 units.
  if (minLength !== undefined && value.length < minLength * 2 && [...value].length < minLength) say('minLength');
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(value)) say('pattern');
}

function checkObject(
  { required = [], additionalProperties, patternProperties = {}, properties = {} }: Schema,
  value: JsonObject,
  path: readonly string[],
  { found, say }: { readonly found: Violation[]; readonly say: Say },
): void {
  for (const name of required) if (!Object.hasOwn(value, name)) say('required', name);
  for (const [name, held] of Object.entries(value)) {
    if (Object.hasOwn(properties, name) || additionalProperties === undefined || additionalProperties === true)
      continue;
    if (Object.keys(patternProperties).some((pattern) => new RegExp(pattern, 'u').test(name))) continue;
    if (additionalProperties === false) say('additionalProperties', name);
    else check(additionalProperties, held, [...path, name], found);
  }
  for (const [name, schema] of Object.entries(properties)) {
    const held = Object.hasOwn(value, name) ? value[name] : undefined;
    if (held !== undefined) check(schema, held, [...path, name], found);
  }
}

function hasType(value: Json, type: string | readonly string[]): boolean {
  if (typeof type !== 'string') return type.some((one) => hasType(value, one));
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    case 'number':
      return Number.isFinite(value);
    default:
      return typeof value === type;
  }
}
