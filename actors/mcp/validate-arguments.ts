/**
 * Checks a value against the JSON Schema of a tool: a call's arguments against the input schema, a result against the
 * output schema. A schema is compiled when it is first needed. It comes from a third party: references are never fetched,
 * patterns run in linear time or under a time limit, and compiling and checking have a time limit too. A malformed
 * keyword is ignored; a schema that cannot be used at all rejects all arguments.
 * @see LIF-13 in docs/specification.md
 */

import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import type { Ajv, ErrorObject, ValidateFunction } from 'ajv';
import type { Ajv2020 } from 'ajv/dist/2020.js';
import { causeOf } from '../../machines/base/fault.ts';
import { cut, isJsonObject, type Json, type JsonObject } from '../../machines/base/json.ts';
import { deepestJson, isDeeper } from '../../machines/base/read-json.ts';
import { compilePattern } from '../../machines/webhook/pattern.ts';
import type { LimitedVerdict, SchemaTime, TimeLimit } from './schema-time.ts';

export type ArgumentVerdict =
  | { readonly kind: 'fits' }
  /** @property why every place that does not fit, up to ten */
  | { readonly kind: 'invalid'; readonly why: string }
  /** The value could not be checked. With `isFinal`, it cannot be until the tool has another schema. */
  | { readonly kind: 'unchecked'; readonly why: string; readonly isFinal: boolean };

/** A compiled schema. `whole` names the value itself in a finding. */
type Check = (value: Json, whole: string, within: TimeLimit) => ArgumentVerdict;

/** Characters. Schemas of arguments are shorter. */
const maxSchemaLength = 262_144;
/** Malformed keywords are removed one layer at a time, as a schema inside a malformed keyword is not checked. */
const maxRepairs = 5;
const maxFindings = 10;
/** Characters of a finding's place and of its text. A place consists of keys of the value, which a server may choose. */
const maxPartLength = 200;
/** Characters of a reason, which may quote a reference of the schema. */
const maxWhyLength = 500;
/** Characters of a schema times parts of a value. Up to this product any check is cheap; above it, checks are timed. */
const cheapSteps = 2_000_000;
/** With these keywords even a short schema may take any number of steps. */
const multiplies = /"(?:\$ref|\$dynamicRef|\$recursiveRef|uniqueItems|pattern|patternProperties)"/;
const options = {
  strict: false,
  allErrors: true,
  // A parameter that is named `constructor` is not given by the prototype of the arguments.
  ownProperties: true,
  validateFormats: false,
  // A part that is used a thousand times is compiled once.
  inlineRefs: false,
  code: { regExp: Object.assign(linearPattern, { code: 'linearPattern' }) },
} as const;

/** Used once a schema has passed the rules; compiling those rules takes most of the time of a compilation. */
const unruled = { ...options, meta: false, validateSchema: false } as const;

/**
 * A step of a chart cannot wait for an import, and a daemon should not load Ajv before its first call. Ajv is CommonJS,
 * so `require` works.
 */
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

/** Characters of schemas whose checks are kept per server: as many as all its tools may have (LIF-14). */
const maxKept = 4_194_304;

const checks = new WeakMap<JsonObject, Check>();

/**
 * The checks of one server by the text of their schemas: each listing makes new objects, and the same text need not be
 * compiled and charged again. Per server, so that a value that was too expensive to check does not disable another
 * server's tool.
 */
export interface KnownChecks {
  readonly get: (text: string) => Check | undefined;
  readonly keep: (text: string, check: Check) => void;
}

/** Keeps the checks of the newest 4,194,304 characters of schemas. */
export function createKnownChecks(): KnownChecks {
  const kept = new Map<string, { readonly check: Check; readonly length: number }>();
  let length = 0;
  return {
    get: (text) => kept.get(digestOf(text))?.check,
    keep(text, check) {
      kept.set(digestOf(text), { check, length: text.length });
      length += text.length;
      for (const [digest, oldest] of kept) {
        if (length <= maxKept) return;
        kept.delete(digest);
        length -= oldest.length;
      }
    },
  };
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

export function checkArguments(
  inputSchema: JsonObject,
  args: JsonObject,
  within: TimeLimit,
  known: KnownChecks = createKnownChecks(),
): ArgumentVerdict {
  // The message with them could not be written, and the connection would count as lost for every caller.
  if (isDeeper(args)) return { kind: 'invalid', why: `arguments are nested more than ${deepestJson} deep` };
  const check = compiledOnce(inputSchema, within, known);
  const verdict = check(args, 'arguments', within);
  if (verdict.kind !== 'invalid') return verdict;
  const given = asRead(args, inputSchema);
  return given === undefined ? verdict : check(given, 'arguments', within);
}

/**
 * Checks results against their output schema, through the SDK's interface. A result that cannot be checked counts as
 * valid.
 */
export function resultChecks(time: SchemaTime) {
  const known = createKnownChecks();
  return {
    getValidator<Value>(schema: unknown) {
      return (value: unknown) => {
        const within = time.forOne();
        const verdict = compiledOnce(schema as JsonObject, within, known)(value as Json, 'it', within);
        return verdict.kind === 'invalid'
          ? { valid: false as const, data: undefined, errorMessage: verdict.why }
          : { valid: true as const, data: value as Value, errorMessage: undefined };
      };
    },
  };
}

function compiledOnce(schema: JsonObject, within: TimeLimit, known: KnownChecks): Check {
  const before = checks.get(schema);
  if (before !== undefined) return before;
  const made = knownOrCompiled(schema, within, known);
  if (typeof made !== 'function') return () => notNow(made);
  checks.set(schema, made);
  return made;
}

type NotNow = Exclude<LimitedVerdict<never>, { readonly kind: 'done' | 'tooDear' }>;

function notNow(verdict: NotNow): ArgumentVerdict {
  if (verdict.kind === 'starved') return unchecked('the machine is too busy to check it now; try again', false);
  const seconds = Math.ceil(verdict.waitMs / 1_000);
  return unchecked(`the server's schemas took too much time to check; try again in ${seconds} s`, false);
}

function unchecked(why: string, isFinal: boolean): ArgumentVerdict {
  return { kind: 'unchecked', why: cut(why, maxWhyLength), isFinal };
}

function unusable(why: string): Check {
  return () => unchecked(why, true);
}

function knownOrCompiled(given: JsonObject, within: TimeLimit, known: KnownChecks): Check | NotNow {
  try {
    const text = JSON.stringify(given);
    if (text.length > maxSchemaLength)
      return unusable(`the schema has ${text.length} characters; ${maxSchemaLength} are allowed`);
    const before = known.get(text);
    if (before !== undefined) return before;
    const made = compiled(given, text, within);
    if (typeof made === 'function') known.keep(text, made);
    return made;
  } catch (thrown) {
    return unusable(causeOf(thrown));
  }
}

function compiled(given: JsonObject, text: string, within: TimeLimit): Check | NotNow {
  try {
    const draft = typeof given.$schema === 'string' && /draft-0[467]/.test(given.$schema) ? drafts.older : drafts.newer;
    // Compiled before the clock starts, because all servers share it.
    const Compiler = draft.compiler();
    draft.rules ??= new Compiler(options);
    const { rules } = draft;
    rules.validateSchema({ $schema: draft.address });
    const verdict = within(() => {
      const schema = wellFormed(text, draft.address, rules);
      // Two servers may use the same $id, so each schema has its own instance.
      return new Compiler(unruled).compile(schema);
    });
    if (verdict.kind === 'starved' || verdict.kind === 'spent') return verdict;
    return verdict.kind === 'done' ? boundedCheck(verdict.value, text) : unusable('compiling it takes too long');
  } catch (thrown) {
    return unusable(whyNot(thrown));
  }
}

/** A schema with circular references overflows the stack, when it is compiled or when a value is checked. */
function whyNot(thrown: unknown): string {
  return thrown instanceof RangeError ? 'its references lead in a circle' : causeOf(thrown);
}

/** The schema without its malformed keywords, which constrain nothing. Throws if it is not valid even then. */
function wellFormed(text: string, address: string, rules: InstanceType<typeof Ajv>): JsonObject {
  const schema = { ...(JSON.parse(text) as JsonObject), $schema: address };
  for (let repair = 0; rules.validateSchema(schema) !== true; repair += 1) {
    const errors = rules.errors ?? [];
    if (repair >= maxRepairs) throw new Error(`it is malformed: ${findings(errors, 'it')}`);
    for (const { instancePath } of errors) leaveOut(schema, instancePath);
  }
  leaveOutRefused(schema);
  return schema;
}

/** Keywords whose values are not schemas, and those whose values are schemas by name. */
const dataKeywords: ReadonlySet<string> = new Set(['const', 'default', 'dependentRequired', 'enum', 'examples']);
const namedSchemas: ReadonlySet<string> = new Set([
  '$defs',
  'definitions',
  'dependencies',
  'dependentSchemas',
  'patternProperties',
  'properties',
]);

/**
 * Removes what the rules permit and Ajv does not: `nullable` without a type, as OpenAPI has it, an empty `enum`, and the `id`
 * of older drafts. Ajv's own `$async` would turn a check into a promise, which counts as a match and rejects unhandled.
 */
function leaveOutRefused(value: Json, isByName = false): void {
  if (typeof value !== 'object' || value === null) return;
  if (!isByName && !Array.isArray(value)) {
    const schema = value as Record<string, Json>;
    const { type, enum: choices } = schema;
    delete schema.$async;
    delete schema.id;
    const types: readonly (Json | undefined)[] = Array.isArray(type) ? type : [type];
    if (types.includes(undefined) || types.includes('null')) delete schema.nullable;
    if (Array.isArray(choices) && choices.length === 0) delete schema.enum;
  }
  for (const [key, held] of Object.entries(value))
    if (isByName || !dataKeywords.has(key)) leaveOutRefused(held, !isByName && namedSchemas.has(key));
}

function unescaped(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** Removes the keyword that a JSON Pointer (RFC 6901) leads to or into. */
function leaveOut(schema: JsonObject, pointer: string): void {
  let holder: Json | undefined = schema;
  let keyword: (() => void) | undefined;
  for (const key of pointer.split('/').slice(1).map(unescaped)) {
    // Another error had the same path, and its keyword is removed already.
    if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, key)) return;
    const parent = holder as Record<string, Json>;
    // Removing an item would shift its neighbours, so the complete list is removed.
    if (!Array.isArray(holder)) keyword = () => void delete parent[key];
    holder = parent[key];
  }
  keyword?.();
}

function boundedCheck(validate: ValidateFunction, text: string): Check {
  const maxParts = multiplies.test(text) ? 0 : Math.floor(cheapSteps / text.length);
  const validates = (value: Json): boolean => validate(value) || hasNumbers(value, validate);
  let ended: ArgumentVerdict | undefined;
  return (value, whole, within) => {
    if (ended !== undefined) return ended;
    try {
      const verdict =
        countParts(value, maxParts) <= maxParts
          ? { kind: 'done' as const, value: validates(value) }
          : within(() => validates(value));
      if (verdict.kind === 'starved' || verdict.kind === 'spent') return notNow(verdict);
      if (verdict.kind === 'done') {
        return verdict.value ? { kind: 'fits' } : { kind: 'invalid', why: findings(validate.errors ?? [], whole) };
      }
      // A schema that was too expensive for one value is not tried again.
      ended = unchecked('checking a value takes too long', true);
    } catch (thrown) {
      ended = unchecked(whyNot(thrown), true);
    }
    return ended;
  };
}

/**
 * Whether the value fits with its long whole numbers as numbers where the schema wants one. They are the text of their
 * digits, and a server reads that as a number or refuses it.
 */
function hasNumbers(value: Json, validate: ValidateFunction): boolean {
  const at = (held: Json | undefined, part: string): Json | undefined => (held as Record<string, Json>)?.[part];
  const paths = (validate.errors ?? [])
    .filter(({ keyword, params }) => keyword === 'type' && /integer|number/.test(String(params.type)))
    .map(({ instancePath }) => instancePath.split('/').slice(1).map(unescaped))
    .filter((path) => path.length > 0 && isLongNumber(path.reduce(at, value)));
  // A result may be too deep for a copy, and then this schema would check nothing more.
  if (paths.length === 0) return false;
  const copy = structuredClone(value);
  for (const path of paths) {
    const key = path.pop() as string;
    const holder = path.reduce(at, copy) as Record<string, Json>;
    holder[key] = Number(holder[key]);
  }
  return validate(copy);
}

function isLongNumber(digits: Json | undefined): boolean {
  return typeof digits === 'string' && /^-?\d{16,}$/.test(digits) && !Number.isSafeInteger(Number(digits));
}

function findings(errors: readonly ErrorObject[], whole: string): string {
  return errors
    .slice(0, maxFindings)
    .map(({ instancePath, message = 'does not fit' }) => `${short(instancePath || whole)} ${short(message)}`)
    .join('; ');
}

function short(text: string): string {
  return cut(text, maxPartLength);
}

/** Counts values, a long text as several, up to a limit. */
function countParts(value: Json, max: number): number {
  let count = 0;
  const left: Json[] = [value];
  while (left.length > 0 && count <= max) {
    const next = left.pop() ?? null;
    count += typeof next === 'string' ? 1 + next.length / 64 : 1;
    if (typeof next === 'object' && next !== null) for (const each of Object.values(next)) left.push(each as Json);
  }
  return count;
}

/**
 * The arguments as a server reads them: without nulls of optional properties, because models send null for what they leave
 * out, and with the defaults of required ones that are absent, because some generators of schemas (Zod's) call those
 * required too. Undefined if these are the given ones. The call itself is sent as given.
 */
function asRead(args: JsonObject, { required, properties }: JsonObject): JsonObject | undefined {
  const needed: readonly Json[] = Array.isArray(required) ? required : [];
  const kept = Object.entries(args).filter(([name, value]) => value !== null || needed.includes(name));
  const filled = needed.flatMap((name) => {
    const isAbsent = typeof name === 'string' && !Object.hasOwn(args, name);
    const property = isAbsent && isJsonObject(properties) ? properties[name] : undefined;
    return isJsonObject(property) && property.default !== undefined ? [[name, property.default] as const] : [];
  });
  if (filled.length === 0 && kept.length === Object.keys(args).length) return undefined;
  return Object.fromEntries([...kept, ...filled]);
}

/**
 * Replaces RegExp in the compiled schema. Patterns that the linear engine does not support, such as look-around, and
 * texts that are too long for it use the language's own engine; every schema with a pattern is checked under the time
 * limit.
 */
function linearPattern(source: string, flags: string): RegExp {
  const pattern = compilePattern(source);
  let own: Pick<RegExp, 'test'> | undefined;
  const test = (text: string): boolean => {
    const verdict = pattern.ok ? pattern.search(text) : 'tooLong';
    if (verdict !== 'tooLong') return verdict === 'found';
    own ??= ownPattern(source, [flags, '']);
    return own.test(text);
  };
  // Ajv identifies patterns by their text, also those of its own meta-schema.
  return { test, toString: () => `/${source}/` } as RegExp;
}

/**
 * The pattern in the first mode that accepts it: many escape what the strict mode forbids. A malformed one constrains
 * nothing.
 */
function ownPattern(source: string, modes: readonly string[]): Pick<RegExp, 'test'> {
  for (const flags of modes) {
    try {
      return new RegExp(source, flags);
    } catch {
      // The next mode may accept it.
    }
  }
  return { test: () => true };
}
