/**
 * Checks a value against a schema and describes every violation for people, with its path.
 * @see CFG-1, CFG-2 and CFG-7 in docs/specification.md
 */

import { isJsonObject, type Json } from '../base/json.ts';
import { type Schema, type Violation, violationsOf } from './check-schema.ts';
import type { EntryFinding } from './diagnostic.ts';
import { refersToUnset, unresolvedReference } from './interpolate.ts';
import { meantOr, nearest } from './nearest.ts';

/** Hints for keys that people expect here but that are configured elsewhere, or that other programs have. */
const elsewhere: Readonly<Record<string, string>> = {
  cron: 'cron jobs are made by `agent cron add`',
  cron_jobs: 'cron jobs are made by `agent cron add`',
  'routes.max_body_bytes': 'one bound is for all routes: platforms.webhook.extra.max_body_bytes',
  'platforms.webhook.extra.script_timeout_seconds': 'write it on each route that has a script',
  'routes.rate_limit': 'one bound is for every route: platforms.webhook.extra.rate_limit',
  host: 'write platforms.webhook.extra.host',
  port: 'write platforms.webhook.extra.port',
  routes: 'write platforms.webhook.extra.routes',
  'mcp_servers.type': 'drop it; transport: sse selects the older transport of a url',
  'mcp_servers.disabled': 'write enabled: false, or drop it',
  'mcp_servers.serverUrl': 'write url',
  'mcp_servers.httpUrl': 'write url',
  'mcp_servers.cmd': 'write command',
  'mcp_servers.environment': 'write env',
  'mcp_servers.envFile': 'put its variables into .env, and name them in env',
  'mcp_servers.http_headers': 'write headers',
  'mcp_servers.env_http_headers': 'write headers, with ${NAME} as values',
  'mcp_servers.bearer_token_env_var': "write headers: { Authorization: 'Bearer ${NAME}' }",
  'mcp_servers.startup_timeout_sec': 'write connect_timeout',
  'mcp_servers.tool_timeout_sec': 'write timeout',
  'mcp_servers.enabled_tools': 'write tools.include',
  'mcp_servers.includeTools': 'write tools.include',
  'mcp_servers.disabled_tools': 'write tools.exclude',
  'mcp_servers.disabledTools': 'write tools.exclude',
  'mcp_servers.excludeTools': 'write tools.exclude',
  'mcp_servers.alwaysAllow': 'drop it; approvals has the calls of an untrusted server that run without a question',
  'mcp_servers.autoApprove': 'drop it; approvals has the calls of an untrusted server that run without a question',
};
/** The mappings whose keys are names. */
const named: ReadonlySet<unknown> = new Set(['routes', 'mcp_servers']);

export function validate(schema: object, value: Json): readonly EntryFinding[] {
  return violationsOf(schema as Schema, value)
    .flatMap(closest)
    .map(sentence);
}

/** Among several forms, a list is checked against the list form, so that the finding names the wrong item. */
function closest(violation: Violation): readonly Violation[] {
  const { keyword, path, schema, value } = violation;
  const list =
    keyword === 'anyOf' && Array.isArray(value) ? schema.anyOf?.find(({ type }) => type === 'array') : undefined;
  if (list === undefined) return [violation];
  return violationsOf(list, value).map((inner) => ({ ...inner, path: [...path, ...inner.path] }));
}

function sentence({ keyword, path, asks, schema, value, property = '' }: Violation): EntryFinding {
  const name = path.length === 0 ? 'the file' : `"${path.join('.')}"`;
  const wrong = (message: string): EntryFinding => ({ path, message, code: 'wrong-value' });
  switch (keyword) {
    case 'additionalProperties': {
      const known = Object.entries(schema.properties ?? {}).flatMap(([key, { deprecated }]) =>
        deprecated ? [] : [key],
      );
      const holder = path.at(-2);
      const place = named.has(holder) ? `${holder}.${property}` : [...path, property].join('.');
      const cure =
        (Object.hasOwn(elsewhere, place) ? elsewhere[place] : undefined) ??
        sectionOf(schema, [...path, property]) ??
        meantOr(property, known, `known are ${known.join(', ')}`);
      return { path: [...path, property], message: `unknown key "${property}"; ${cure}`, code: 'unknown-key' };
    }
    case 'type':
      return {
        path,
        message: `${name} must be ${typeNames(asks)}; ${isOr(asks, value, schema)}${isCommandList(path, value) ? '; write its first word here, and the others as args' : ''}`,
        code: 'wrong-type',
      };
    case 'enum': {
      const known = (asks as readonly unknown[]).map(String);
      return wrong(`${name} must be one of ${known.join(', ')}${meant(value, known) ?? cureOfSource(path)}`);
    }
    case 'required':
      return { path, message: `${name} lacks "${property}"`, code: 'missing-key' };
    case 'anyOf':
      return { path, message: `${name} must be ${describe(schema)}; it is ${typeOf(value)}`, code: 'wrong-type' };
    case 'minLength':
      return wrong(`${name} must not be empty`);
    case 'minItems':
      return wrong(`${name} needs at least ${String(asks)} items`);
    case 'maxItems':
      return wrong(`${name} holds at most ${String(asks)} items`);
    case 'minimum':
      return wrong(`${name} must be >= ${String(asks)}`);
    case 'maximum':
      return wrong(`${name} must be <= ${String(asks)}`);
    case 'exclusiveMinimum':
      return wrong(`${name} must be > ${String(asks)}`);
    case 'pattern':
      return wrong(`${name} ${formOf(schema)}`);
    case 'items':
    case 'properties':
      return wrong(`${name} is not allowed`);
  }
}

/** Where a key of these sections belongs if it is at the top of the file, as `telegram`. */
function sectionOf({ properties = {} }: Schema, [property, ...deeper]: EntryFinding['path']): string | undefined {
  const holder = ['platforms', 'agent'].find((key) =>
    Object.hasOwn(properties[key]?.properties ?? {}, String(property)),
  );
  return holder === undefined || deeper.length > 0 ? undefined : `write ${holder}.${property}`;
}

/** What the form of a text must be, in words if the schema has some. */
function formOf({ description, pattern }: Schema): string {
  return description === undefined ? `must match pattern "${pattern}"` : `has the wrong form; expected: ${description}`;
}

/** What is wrong with an address whose references were resolved; undefined if it has the form of its schema. */
export function resolvedProblem(
  key: string,
  resolved: string,
  schema: Schema & { readonly pattern: string },
): Pick<EntryFinding, 'message' | 'code'> | undefined {
  const unset = unresolvedReference(resolved);
  if (unset !== undefined) {
    return { message: `${key} ${refersToUnset(unset)}`, code: 'variable-unset' };
  }
  if (new RegExp(schema.pattern).test(resolved) && URL.canParse(resolved)) return undefined;
  return { message: `"${key}" ${formOf(schema)}`, code: 'wrong-value' };
}

/** Whether a text is an http or https address without a login: HTTP clients do not send one, and it would be shown. */
export function isPlainAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return /^https?:$/.test(protocol) && username === '' && password === '';
}

/** What a value is; for a word that means true or false in other YAML versions, what to write. */
function isOr(asks: unknown, value: Json, schema: Schema): string {
  const word = asks === 'boolean' && typeof value === 'string' ? value.toLowerCase() : '';
  if (['true', 'yes', 'on'].includes(word)) return 'write true';
  if (['false', 'no', 'off'].includes(word)) return 'write false';
  const cure = cureOf(asks, value, schema);
  return `it is ${typeOf(value)}${cure === undefined ? '' : `; ${cure}`}`;
}

/** Whether the command of a server is written as a list, as `agent.command` is. */
function isCommandList(path: EntryFinding['path'], value: Json): boolean {
  return path[0] === 'mcp_servers' && path[2] === 'command' && path.length === 3 && Array.isArray(value);
}

/** The value itself is not quoted: it may be a secret. */
function cureOf(asks: unknown, value: Json, { required = [] }: Schema): string | undefined {
  if (asks === 'string' && isBareText(value)) return 'put it in quotes';
  if (asks === 'array') return `write it as ${isJsonObject(value) ? '[{ a: b }]' : '[a, b]'}`;
  if (asks === 'object') {
    if (value === null) return 'indent its keys below it';
    return required.length === 1 ? `write it as { ${required[0]}: … }` : 'write it as { a: b }';
  }
  if (typeof value !== 'string' || (asks !== 'integer' && asks !== 'number')) return undefined;
  const [, unit] = /^\d+(?:\.\d+)?( ?[a-z]*)$/i.exec(value) ?? [];
  if (unit === undefined) return undefined;
  return unit === '' ? 'drop its quotes' : 'write the number alone, without a unit';
}

/** Whether YAML made another value of a text without quotes: `4711`, or `{action}`, which is a mapping without values. */
function isBareText(value: Json): boolean {
  if (typeof value === 'number' || typeof value === 'boolean') return true;
  return isJsonObject(value) && Object.values(value).length > 0 && Object.values(value).every((one) => one === null);
}

function meant(value: Json, known: readonly string[]): string | undefined {
  const near = typeof value === 'string' ? nearest(value, known) : undefined;
  return near === undefined ? undefined : `; did you mean "${near}"?`;
}

/** The only closed list whose values are not all that there is: any sender can be declared (SRC-1). */
function cureOfSource(path: EntryFinding['path']): string {
  return path.at(-1) === 'source' ? '; for another sender leave source out and declare its signature or token' : '';
}

function describe({ description, anyOf = [] }: Schema): string {
  const types = anyOf.map(({ type }) => type).filter((type) => type !== undefined);
  if (types.length === anyOf.length) return [...new Set(types)].map(typeNames).join(' or ');
  return anyOf[0]?.description ?? description ?? 'of another form';
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
  // `.inf` or `.nan`
  return typeof value === 'number' && !Number.isFinite(value) ? 'not finite' : typeNames(typeof value);
}
