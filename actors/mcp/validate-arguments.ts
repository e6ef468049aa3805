/**
 * Holds a value against the schema of a tool, compiled at the first need: a call's arguments against the input schema, a
 * result against the output schema. The schema is a stranger's: it is never fetched from, its patterns run in linear time,
 * and one that cannot be compiled, or that takes too long, checks nothing.
 * @see LIF-13 in docs/specification.md
 */

import { createRequire } from 'node:module';
import type { Ajv, ValidateFunction } from 'ajv';
import type { Ajv2020 } from 'ajv/dist/2020.js';
import type { Json, JsonObject } from '../../machines/base/json.ts';
import { compilePattern } from '../../machines/webhook/pattern.ts';
import { withinTime } from './within-time.ts';

/** Undefined where the value fits; otherwise every place that does not. */
export type ArgumentCheck = (args: JsonObject) => string | undefined;

/** A compiled schema: whether a value fits, and what does not. */
interface Check {
  readonly fits: (value: Json) => boolean;
  /** What does not, each by its place; the value itself is called so. */
  readonly findings: (whole: string) => string;
}

/** A schema beyond this is no description of arguments any more. */
const longestSchema = 262_144;
const mostFindings = 10;
/** Far more than any honest schema takes, and short for everybody else who waits. */
const limitMs = 500;
/** What is cheap whatever it holds: its characters times the parts of the value. Beyond it, a watch is worth its price. */
const cheapSteps = 2_000_000;
/** With these a schema of few characters may take any number of steps. */
const multiplies = /"(?:\$ref|\$dynamicRef|\$recursiveRef|uniqueItems|pattern|patternProperties)"/;
const options = {
  strict: false,
  allErrors: true,
  validateFormats: false,
  // A part that is used a thousand times is compiled once.
  inlineRefs: false,
  code: { regExp: Object.assign(linearPattern, { code: 'linearPattern' }) },
} as const;

/** The rules for schemas have been held against this one already, and their compilation is most of what one takes. */
const unruled = { ...options, meta: false, validateSchema: false } as const;

/** A step of a chart cannot wait, and no daemon should load this before its first call: it is CommonJS, so it need not. */
const require = createRequire(import.meta.url);

interface Draft {
  readonly compiler: () => typeof Ajv | typeof Ajv2020;
  readonly address: string;
  rules?: InstanceType<typeof Ajv>;
}

const drafts: { readonly older: Draft; readonly newer: Draft } = {
  older: {
    compiler: () => (require('ajv') as typeof import('ajv')).Ajv,
    address: 'http://json-schema.org/draft-07/schema',
  },
  newer: {
    compiler: () => (require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js')).Ajv2020,
    address: 'https://json-schema.org/draft/2020-12/schema',
  },
};

const checks = new WeakMap<JsonObject, Check>();

/** The check of a tool's arguments; its schema is compiled once. */
export function checkOf(inputSchema: JsonObject): ArgumentCheck {
  const { fits, findings } = compiledOnce(inputSchema);
  return (args) => {
    if (fits(args)) return undefined;
    const given = withoutNulls(args, inputSchema);
    return given !== undefined && fits(given) ? undefined : findings('arguments');
  };
}

/** What the SDK holds results against their output schema with, in the form that it asks for; compiles at the first result. */
export const resultChecks = {
  getValidator<Value>(schema: unknown) {
    return (value: unknown) => {
      const { fits, findings } = compiledOnce(schema as JsonObject);
      return fits(value as Json)
        ? { valid: true as const, data: value as Value, errorMessage: undefined }
        : { valid: false as const, data: undefined, errorMessage: findings('it') };
    };
  },
};

function compiledOnce(schema: JsonObject): Check {
  const standing = checks.get(schema);
  if (standing !== undefined) return standing;
  const made = compiled(schema);
  checks.set(schema, made);
  return made;
}

const checksNothing: Check = { fits: () => true, findings: () => '' };

function compiled(schema: JsonObject): Check {
  try {
    const text = JSON.stringify(schema);
    if (text.length > longestSchema) return checksNothing;
    const draft =
      typeof schema.$schema === 'string' && /draft-0[467]/.test(schema.$schema) ? drafts.older : drafts.newer;
    // Compiled before the watch is set: it is the same for all.
    const Compiler = draft.compiler();
    draft.rules ??= new Compiler(options);
    const { rules } = draft;
    rules.validateSchema({ $schema: draft.address });
    const verdict = withinTime(limitMs, () => {
      if (rules.validateSchema({ ...schema, $schema: draft.address }) !== true) return undefined;
      // Two servers may use one $id; an instance for each schema keeps them apart.
      return new Compiler(unruled).compile(schema);
    });
    return verdict.kind === 'late' || verdict.value === undefined ? checksNothing : boundedCheck(verdict.value, text);
  } catch {
    return checksNothing;
  }
}

function boundedCheck(validate: ValidateFunction, text: string): Check {
  const mostParts = multiplies.test(text) ? 0 : Math.floor(cheapSteps / text.length);
  let isTooDear = false;
  const fits = (value: Json): boolean => {
    if (isTooDear) return true;
    try {
      if (countParts(value, mostParts) <= mostParts) return validate(value);
      const verdict = withinTime(limitMs, () => validate(value));
      // Once is enough: what was too dear for one value is not tried with the next.
      isTooDear = verdict.kind === 'late';
      return verdict.kind === 'late' || verdict.value;
    } catch {
      // A schema that refers to itself in a circle ends with the stack.
      isTooDear = true;
      return true;
    }
  };
  const findings = (whole: string): string =>
    (validate.errors ?? [])
      .slice(0, mostFindings)
      .map(({ instancePath, message }) => `${instancePath || whole} ${message ?? 'does not fit'}`)
      .join('; ');
  return { fits, findings };
}

/** Counts values, and a long text as several, until there are more than so many. */
function countParts(value: Json, most: number): number {
  let count = 0;
  const left: Json[] = [value];
  while (left.length > 0 && count <= most) {
    const next = left.pop() ?? null;
    count += typeof next === 'string' ? 1 + next.length / 64 : 1;
    if (typeof next === 'object' && next !== null) for (const each of Object.values(next)) left.push(each as Json);
  }
  return count;
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

/** Stands for RegExp within the compiled schema; what the linear engine does not know, and a text that is too long for it, matches. */
function linearPattern(source: string): RegExp {
  const pattern = compilePattern(source);
  const test = pattern.ok ? (text: string) => pattern.search(text) !== 'absent' : () => true;
  // Ajv tells patterns apart by their text, those of its own meta-schema too.
  return { test, toString: () => `/${source}/` } as unknown as RegExp;
}
