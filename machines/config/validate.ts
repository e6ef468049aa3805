/**
 * Holds a value against a schema and tells every difference in a person's words, at its path.
 * @see CFG-1 and CFG-2 in docs/specification.md
 */

import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { Json } from '../base/json.ts';
import type { ConfigPath } from './document.ts';
import { nearest } from './nearest.ts';
import type { EntryFinding } from './server-entry.ts';

/** Compiling a schema costs milliseconds, so each is compiled when it is first used, and once. */
const compiled = new WeakMap<object, ValidateFunction>();

export function validate(schema: object, value: Json): readonly EntryFinding[] {
  let check = compiled.get(schema);
  if (check === undefined) {
    check = new Ajv({ allErrors: true, verbose: true, strict: false, allowUnionTypes: true }).compile(schema);
    compiled.set(schema, check);
  }
  if (check(value)) return [];
  return sentences(check.errors ?? []);
}

function sentences(errors: readonly ErrorObject[]): EntryFinding[] {
  // The branches of an `anyOf` say less than the `anyOf` itself.
  const unions = errors.filter(({ keyword }) => keyword === 'anyOf').map(({ schemaPath }) => `${schemaPath}/`);
  return errors.filter(({ schemaPath }) => !unions.some((union) => schemaPath.startsWith(union))).map(sentence);
}

function sentence(error: ErrorObject): EntryFinding {
  const path = pathOf(error.instancePath);
  const name = path.length === 0 ? 'the file' : `"${path.join('.')}"`;
  switch (error.keyword) {
    case 'additionalProperties': {
      const key = String(error.params.additionalProperty);
      const known = Object.keys((error.parentSchema as { properties?: object } | undefined)?.properties ?? {});
      const near = nearest(key, known);
      const cure = near === undefined ? `known are ${known.join(', ')}` : `did you mean "${near}"?`;
      return { path: [...path, key], message: `unknown key "${key}"; ${cure}`, code: 'unknown-key' };
    }
    case 'type':
      return {
        path,
        message: `${name} must be ${typeNames(error.params.type)}; it is ${typeOf(error.data)}`,
        code: 'wrong-type',
      };
    case 'enum':
      return {
        path,
        message: `${name} must be one of ${(error.params.allowedValues as readonly unknown[]).join(', ')}`,
        code: 'wrong-value',
      };
    case 'required':
      return { path, message: `${name} lacks "${String(error.params.missingProperty)}"`, code: 'missing-key' };
    case 'anyOf':
      return {
        path,
        message: `${name} must be ${describe(error.parentSchema)}; it is ${typeOf(error.data)}`,
        code: 'wrong-type',
      };
    case 'minLength':
      return { path, message: `${name} must not be empty`, code: 'wrong-value' };
    case 'minItems':
    case 'maxItems':
      return {
        path,
        message: `${name} ${error.keyword === 'minItems' ? 'needs at least' : 'holds at most'} ${String(error.params.limit)} items`,
        code: 'wrong-value',
      };
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
      return {
        path,
        message: `${name} must be ${String(error.params.comparison)} ${String(error.params.limit)}`,
        code: 'wrong-value',
      };
    default:
      return { path, message: `${name} ${error.message ?? 'is not allowed'}`, code: 'wrong-value' };
  }
}

function describe(schema: unknown): string {
  const { description, anyOf } = (schema ?? {}) as { description?: string; anyOf?: readonly { type?: string }[] };
  const types = (anyOf ?? []).map(({ type }) => type).filter((type) => type !== undefined);
  if (types.length === anyOf?.length) return [...new Set(types)].map((type) => typeNames(type)).join(' or ');
  return description ?? 'of another form';
}

function typeNames(type: unknown): string {
  const words: Readonly<Record<string, string>> = {
    string: 'a text',
    number: 'a number',
    integer: 'a whole number',
    boolean: 'true or false',
    array: 'a list',
    object: 'a mapping',
    null: 'null',
  };
  return (Array.isArray(type) ? type : [type]).map((one) => words[String(one)] ?? String(one)).join(' or ');
}

function typeOf(value: unknown): string {
  if (value === null) return 'empty';
  if (Array.isArray(value)) return 'a list';
  return typeNames(typeof value);
}

/** A JSON Pointer's steps (RFC 6901); list indexes stay text, which the document understands too. */
function pathOf(pointer: string): ConfigPath {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}
