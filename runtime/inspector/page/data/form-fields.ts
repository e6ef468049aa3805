/**
 * Turns a JSON Schema into the fields of a form, and a filled-in form into arguments. A type without a field of its own
 * becomes a field of JSON text, so that every tool can be called.
 * @see INS-2, TRU-3 and SEC-7 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../../../../machines/base/json.ts';
import { inQuotes } from '../../../../machines/base/shown-json.ts';
import { isExact } from './differences.ts';
import { localTime } from './format.ts';

export interface FormField {
  readonly name: string;
  readonly label: string;
  readonly description: string;
  readonly required: boolean;
  readonly kind: 'text' | 'long' | 'number' | 'integer' | 'boolean' | 'choice' | 'choices' | 'json';
  readonly choices: readonly { readonly value: Json; readonly label: string }[];
  readonly initial: Json | undefined;
  /** For the browser's input help. */
  readonly format?: 'email' | 'url' | 'date' | 'datetime-local';
}

type FormReading =
  | { readonly kind: 'values'; readonly values: JsonObject }
  | { readonly kind: 'refused'; readonly problems: Readonly<Record<string, string>> };

/** The person's input by field; for a boolean, whether it is ticked. */
export type FormEntries = Readonly<Record<string, string | boolean | readonly string[]>>;

const formats: Readonly<Record<string, FormField['format']>> = {
  email: 'email',
  uri: 'url',
  date: 'date',
  'date-time': 'datetime-local',
};

/** Texts that are longer than this get a box of several lines. */
const longText = 200;

/** The fields of an object's schema, the required ones first. */
export function fieldsOf(schema: Json | undefined): readonly FormField[] {
  if (!isJsonObject(schema) || !isJsonObject(schema.properties)) return [];
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const fields = Object.entries(schema.properties).map(([name, property]) =>
    fieldOf(name, isJsonObject(property) ? property : {}, required.has(name)),
  );
  return [...fields.filter((field) => field.required), ...fields.filter((field) => !field.required)];
}

/** Puts the labels of a server's form in quotes, so that they cannot imitate the page's own question (SEC-7). */
export function quotedFields(fields: readonly FormField[]): readonly FormField[] {
  return fields.map((field) => ({
    ...field,
    // A title of blanks alone would leave a field without a name.
    label: inQuotes(field.label) || inQuotes(field.name) || '“”',
    description: inQuotes(field.description),
    choices: field.choices.map((choice) => ({ ...choice, label: inQuotes(choice.label) || '“”' })),
  }));
}

export function entriesOf(fields: readonly FormField[]): FormEntries {
  return Object.fromEntries(fields.map((field) => [field.name, entryOf(field)]));
}

/** Returns the values without optional fields that are empty; or the problem of each field that cannot be read. */
export function readEntries(fields: readonly FormField[], entries: FormEntries): FormReading {
  const values: Record<string, Json> = {};
  const problems: Record<string, string> = {};
  for (const field of fields) {
    const read = readEntry(field, entries[field.name]);
    if (read.kind === 'problem') problems[field.name] = read.problem;
    else if (read.kind === 'value') values[field.name] = read.value;
  }
  return Object.keys(problems).length > 0 ? { kind: 'refused', problems } : { kind: 'values', values };
}

function fieldOf(name: string, property: JsonObject, required: boolean): FormField {
  const format = typeof property.format === 'string' ? formats[property.format] : undefined;
  return {
    name,
    label: typeof property.title === 'string' ? property.title : name,
    description: typeof property.description === 'string' ? property.description : '',
    required,
    kind: kindOf(property),
    choices: choicesOf(property),
    initial: property.default,
    ...(format === undefined ? {} : { format }),
  };
}

function kindOf(property: JsonObject): FormField['kind'] {
  const isList = property.type === 'array';
  if (isList) return isJsonObject(property.items) && choicesOf(property).length > 0 ? 'choices' : 'json';
  if (choicesOf(property).length > 0) return 'choice';
  switch (property.type) {
    case 'string':
      return typeof property.maxLength === 'number' && property.maxLength > longText ? 'long' : 'text';
    case 'number':
    case 'integer':
    case 'boolean':
      return property.type;
    default:
      return 'json';
  }
}

/** The choices of `enum`, named by `enumNames`, or of a `oneOf` or `anyOf` of constants; for a list, those of its items. */
function choicesOf(property: JsonObject): FormField['choices'] {
  const held = property.type === 'array' && isJsonObject(property.items) ? property.items : property;
  if (Array.isArray(held.enum)) {
    const names = Array.isArray(held.enumNames) ? held.enumNames : [];
    return held.enum.map((value, at) => ({ value, label: labelOf(names[at] ?? value) }));
  }
  const constants = [held.oneOf, held.anyOf].find(
    (list): list is Json[] => Array.isArray(list) && list.every((one) => isJsonObject(one) && one.const !== undefined),
  );
  return (constants ?? []).filter(isJsonObject).map((one) => ({
    value: one.const ?? null,
    label: labelOf(one.title ?? one.const ?? null),
  }));
}

function entryOf({ kind, initial, choices, format }: FormField): string | boolean | readonly string[] {
  if (kind === 'boolean') return initial === true;
  if (kind === 'choices') return Array.isArray(initial) ? initial.map((value) => String(choiceAt(choices, value))) : [];
  if (initial === undefined) return '';
  if (kind === 'choice') return String(choiceAt(choices, initial));
  if (kind === 'json') return JSON.stringify(initial, null, 2);
  const text = labelOf(initial);
  // What the browser's field does not show would be sent unseen.
  if (kind === 'text' && format === 'datetime-local') return localTime(text);
  return kind === 'text' && format === 'date' && !/^\d{4}-\d\d-\d\d$/.test(text) ? '' : text;
}

/** Returns a choice's place in the list, because values of any type can be chosen. */
function choiceAt(choices: FormField['choices'], value: Json): number | '' {
  const at = choices.findIndex((choice) => JSON.stringify(choice.value) === JSON.stringify(value));
  return at < 0 ? '' : at;
}

type EntryReading =
  | { readonly kind: 'value'; readonly value: Json }
  | { readonly kind: 'absent' }
  | { readonly kind: 'problem'; readonly problem: string };

function readEntry(field: FormField, entry: FormEntries[string] | undefined): EntryReading {
  if (field.kind === 'boolean') {
    return entry === true || field.required || field.initial !== undefined
      ? { kind: 'value', value: entry === true }
      : { kind: 'absent' };
  }
  if (field.kind === 'choices') {
    const chosen = Array.isArray(entry) ? entry.map((at) => field.choices[Number(at)]?.value ?? null) : [];
    if (chosen.length > 0) return { kind: 'value', value: chosen };
    return field.required ? { kind: 'problem', problem: 'choose at least one' } : { kind: 'absent' };
  }
  const text = typeof entry === 'string' ? entry : '';
  if (text === '') return field.required ? { kind: 'problem', problem: 'is needed' } : { kind: 'absent' };
  return readText(field, text);
}

function readText(field: FormField, text: string): EntryReading {
  switch (field.kind) {
    case 'choice': {
      const choice = field.choices[Number(text)];
      return choice === undefined
        ? { kind: 'problem', problem: 'is none of the choices' }
        : { kind: 'value', value: choice.value };
    }
    case 'number':
    case 'integer': {
      const number = Number(text);
      if (!Number.isFinite(number)) return { kind: 'problem', problem: 'is no number' };
      if (field.kind === 'integer' && !Number.isInteger(number)) {
        return { kind: 'problem', problem: 'is no whole number' };
      }
      // It would be sent as another one.
      if (/^-?\d+$/.test(text) && !Number.isSafeInteger(number)) {
        return { kind: 'problem', problem: 'is too large to be sent exactly' };
      }
      return { kind: 'value', value: number };
    }
    case 'json':
      try {
        const value = JSON.parse(text) as Json;
        return isExact(text)
          ? { kind: 'value', value }
          : { kind: 'problem', problem: 'has a number that is too large to be sent exactly' };
      } catch {
        return { kind: 'problem', problem: 'is no JSON' };
      }
    default:
      return field.format === 'datetime-local' ? readMoment(text) : { kind: 'value', value: text };
  }
}

/** Converts to UTC: the browser's field has no zone, but the schema's format needs one. */
function readMoment(text: string): EntryReading {
  const moment = new Date(text);
  return Number.isNaN(moment.getTime())
    ? { kind: 'problem', problem: 'is no time' }
    : { kind: 'value', value: moment.toISOString() };
}

/** Returns a text unchanged, and any other value of a third party's schema as JSON. */
function labelOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
