/**
 * Checks the values that a person entered against a server's form, and converts them: a terminal gives only text. Supports
 * the flat schemas that forms may have.
 * @see SRV-1 and SEC-7 in docs/specification.md
 * @see [MCP elicitation](https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation)
 */

import { isJsonObject, type Json, type JsonObject, scalarText } from '../base/json.ts';
import { wordInSentence } from '../base/shown-json.ts';
import { timeMs } from '../base/since.ts';
import { boolLike } from './server-settings.ts';

interface ElicitationFinding {
  /** Empty if the form itself is invalid. */
  readonly field: string;
  readonly message: string;
}

type ElicitationValues =
  | { readonly kind: 'accepted'; readonly content: JsonObject }
  | { readonly kind: 'refused'; readonly findings: readonly ElicitationFinding[] };

/** A converted value, or what is wrong with it. */
type Reading = { readonly value: Json } | { readonly wrong: string };

/** Choices that a finding names. */
const maxListed = 20;

/** The formats that texts of a form may have. */
export const textFormats: Readonly<Record<string, (text: string) => boolean>> = {
  email: (text) => /^[^\s@]+@[^\s@]+$/.test(text),
  uri: (text) => URL.canParse(text),
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(timeMs(text)),
  'date-time': (text) =>
    !Number.isNaN(timeMs(text.slice(0, 10))) &&
    /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$/.test(text),
};

/** Converts the values and applies the form's defaults; returns all findings. */
export function checkElicitationValues(requestedSchema: Json, values: JsonObject): ElicitationValues {
  const properties = isJsonObject(requestedSchema) ? requestedSchema.properties : undefined;
  if (!isJsonObject(requestedSchema) || !isJsonObject(properties)) {
    return { kind: 'refused', findings: [{ field: '', message: 'the form has no fields' }] };
  }
  const required = new Set(
    Array.isArray(requestedSchema.required) ? (requestedSchema.required as readonly Json[]) : [],
  );
  const content: [string, Json][] = [];
  const findings: ElicitationFinding[] = [...Object.keys(values), ...required].flatMap((field) =>
    typeof field === 'string' && !Object.hasOwn(properties, field) ? [{ field, message: 'is not in the form' }] : [],
  );
  for (const [field, schema] of Object.entries(properties)) {
    const given = givenValue(Object.hasOwn(values, field) ? values[field] : undefined, schema);
    if (given === undefined) {
      if (required.has(field)) findings.push({ field, message: 'is required' });
      continue;
    }
    const reading = readValue(given, schema);
    if ('wrong' in reading) findings.push({ field, message: reading.wrong });
    else content.push([field, reading.value]);
  }
  if (findings.length > 0) return { kind: 'refused', findings };
  return { kind: 'accepted', content: Object.fromEntries(content) };
}

/** The given value, else the default. An empty line is a value only for a text field. */
function givenValue(value: Json | undefined, schema: Json): Json | undefined {
  const isBlank = value === undefined || value === null || (value === '' && !asksForText(schema));
  return isBlank ? (isJsonObject(schema) ? schema.default : undefined) : value;
}

function asksForText(schema: Json): boolean {
  return isJsonObject(schema) && schema.type === 'string' && choicesOf(schema) === undefined;
}

function readValue(value: Json, schema: Json): Reading {
  if (!isJsonObject(schema)) return { wrong: 'has a schema that is not an object' };
  switch (schema.type) {
    case 'string':
      return readText(value, schema);
    case 'number':
    case 'integer':
      return readNumber(value, schema);
    case 'boolean':
      return readBoolean(value);
    case 'array':
      return readList(value, schema);
    default:
      return choicesOf(schema) === undefined
        ? { wrong: 'asks for a type that forms do not have' }
        : readText(value, schema);
  }
}

function readText(value: Json, schema: JsonObject): Reading {
  if (typeof value !== 'string') return { wrong: 'takes a text' };
  const choices = valuesOf(schema);
  if (choices !== undefined && !choices.includes(value)) return { wrong: `takes one of ${listed(choices)}` };
  const length = [...value].length;
  if (length < limit(schema.minLength, 0)) return { wrong: `takes at least ${schema.minLength} characters` };
  if (length > limit(schema.maxLength, length)) return { wrong: `takes at most ${schema.maxLength} characters` };
  const format =
    typeof schema.format === 'string' && Object.hasOwn(textFormats, schema.format) ? schema.format : undefined;
  if (format !== undefined && textFormats[format]?.(value) === false)
    return { wrong: `takes ${format === 'email' ? 'an' : 'a'} ${format}` };
  return { value };
}

function readNumber(value: Json, schema: JsonObject): Reading {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) return { wrong: 'takes a number' };
  if (schema.type === 'integer' && !Number.isInteger(number)) return { wrong: 'takes a whole number' };
  if (number < limit(schema.minimum, number)) return { wrong: `takes at least ${schema.minimum}` };
  if (number > limit(schema.maximum, number)) return { wrong: `takes at most ${schema.maximum}` };
  return { value: number };
}

function readBoolean(value: Json): Reading {
  // An unknown word yields each default in turn, so the two results differ.
  const read = boolLike(value, true);
  return read === boolLike(value, false) ? { value: read } : { wrong: 'takes true or false' };
}

function readList(value: Json, schema: JsonObject): Reading {
  const { items } = schema;
  const choices = isJsonObject(items) ? valuesOf(items) : undefined;
  if (choices === undefined) return { wrong: 'asks for a list that is not one of choices' };
  const list: readonly Json[] = Array.isArray(value) ? value : [value];
  if (list.some((each) => typeof each !== 'string' || !choices.includes(each))) {
    return { wrong: `takes some of ${listed(choices)}` };
  }
  if (list.length < limit(schema.minItems, 0)) return { wrong: `takes at least ${schema.minItems} of its choices` };
  if (list.length > limit(schema.maxItems, list.length))
    return { wrong: `takes at most ${schema.maxItems} of its choices` };
  return { value: list };
}

export interface FormChoice {
  readonly value: string;
  /** What a person reads; the value itself unless the form names it. */
  readonly title: string;
}

/** The choices of an enum, plain or titled; undefined for a field without any. */
export function choicesOf(schema: JsonObject): readonly FormChoice[] | undefined {
  if (Array.isArray(schema.enum)) {
    const names: readonly Json[] = Array.isArray(schema.enumNames) ? schema.enumNames : [];
    return schema.enum.map((value, at) => ({ value: scalarText(value), title: scalarText(names[at] ?? value) }));
  }
  const titled = schema.oneOf ?? schema.anyOf;
  if (!Array.isArray(titled)) return undefined;
  return (titled as readonly Json[]).flatMap((each) =>
    isJsonObject(each) && typeof each.const === 'string'
      ? [{ value: each.const, title: scalarText(each.title ?? each.const) }]
      : [],
  );
}

/** The server's words within a sentence for the person who answers (SEC-7). */
function listed(choices: readonly string[]): string {
  const left = choices.length - maxListed;
  return `${choices.slice(0, maxListed).map(wordInSentence).join(', ')}${left > 0 ? ` and ${left} more` : ''}`;
}

function valuesOf(schema: JsonObject): readonly string[] | undefined {
  return choicesOf(schema)?.map(({ value }) => value);
}

function limit(value: Json | undefined, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise;
}
