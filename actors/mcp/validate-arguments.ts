/**
 * Holds a call's arguments against the tool's input schema, compiled at the first call. The schema is a stranger's: it is
 * never fetched from, its patterns run in linear time, and one that cannot be compiled checks nothing.
 * @see LIF-13 in docs/specification.md
 */

import { createRequire } from 'node:module';
import type { ValidateFunction } from 'ajv';
import type { JsonObject } from '../../machines/base/json.ts';
import { compilePattern } from '../../machines/webhook/pattern.ts';

/** Undefined where the arguments fit; otherwise every place that does not. */
export type ArgumentCheck = (args: JsonObject) => string | undefined;

/** A schema beyond this is no description of arguments any more. */
const longestSchema = 262_144;
const mostFindings = 10;
const options = {
  strict: false,
  allErrors: true,
  validateFormats: false,
  code: { regExp: Object.assign(linearPattern, { code: 'linearPattern' }) },
} as const;

/** A step of a chart cannot wait, and no daemon should load this before its first call: it is CommonJS, so it need not. */
const require = createRequire(import.meta.url);

const checks = new WeakMap<JsonObject, ArgumentCheck>();

/** The check of a tool's schema; made once for each schema. */
export function checkOf(inputSchema: JsonObject): ArgumentCheck {
  const standing = checks.get(inputSchema);
  if (standing !== undefined) return standing;
  const made = makeCheck(inputSchema);
  checks.set(inputSchema, made);
  return made;
}

function makeCheck(schema: JsonObject): ArgumentCheck {
  const validate = compiled(schema);
  if (validate === undefined) return () => undefined;
  return (args) => {
    if (validate(args)) return undefined;
    const given = withoutNulls(args, schema);
    if (given !== undefined && validate(given)) return undefined;
    const found = (validate.errors ?? []).slice(0, mostFindings);
    return found
      .map(({ instancePath, message }) => `${instancePath || 'arguments'} ${message ?? 'does not fit'}`)
      .join('; ');
  };
}

/**
 * The arguments without the nulls of properties that need not be there: models send null for what they leave out.
 * Undefined where there is none. The call itself goes out as it was given.
 */
function withoutNulls(args: JsonObject, { required }: JsonObject): JsonObject | undefined {
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  const kept = Object.entries(args).filter(([name, value]) => value !== null || needed.includes(name));
  return kept.length === Object.keys(args).length ? undefined : Object.fromEntries(kept);
}

function compiled(schema: JsonObject): ValidateFunction | undefined {
  try {
    if (JSON.stringify(schema).length > longestSchema) return undefined;
    // Two servers may use one $id; an instance for each schema keeps them apart.
    const isDraft7 = typeof schema.$schema === 'string' && /draft-0[467]/.test(schema.$schema);
    if (isDraft7) {
      const { Ajv } = require('ajv') as typeof import('ajv');
      return new Ajv(options).compile(schema);
    }
    const { Ajv2020 } = require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js');
    return new Ajv2020(options).compile(schema);
  } catch {
    return undefined;
  }
}

/** Stands for RegExp within the compiled schema; what the linear engine does not know, and a text that is too long for it, matches. */
function linearPattern(source: string): RegExp {
  const pattern = compilePattern(source);
  const test = pattern.ok ? (text: string) => pattern.search(text) !== 'absent' : () => true;
  // Ajv tells patterns apart by their text, those of its own meta-schema too.
  return { test, toString: () => `/${source}/` } as unknown as RegExp;
}
