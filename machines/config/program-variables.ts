/**
 * Which variables a run's program gets, and how values that a sender chose are escaped in its arguments.
 * @see CON-3 and SEC-4 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject, objectAt } from '../base/json.ts';
import { type InterpolationScope, variableIn, variablesIn } from './interpolate.ts';

/** The variables of a run that `agent.command` may refer to; filled in when the run starts. */
export const runVariables = ['AGENT_MCP_CONFIG', 'AGENT_PROMPT_FILE', 'AGENT_RUN_ID', 'AGENT_DELIVERY_ID'] as const;

/** Those that every run's program has and `agent.command` cannot refer to. */
export const ownVariables: ReadonlySet<string> = new Set(
  'AGENT_ROUTE AGENT_EVENT AGENT_PROFILE AGENT_ATTEMPT AGENT_TOOLSETS AGENT_SOCKET'.split(' '),
);

/** Those whose values senders choose. */
export const senderVariables: ReadonlySet<string> = new Set(['AGENT_DELIVERY_ID']);

const basic: ReadonlySet<string> = new Set('PATH HOME LANG TZ TMPDIR USER LOGNAME SHELL TERM'.split(' '));

/** Variables that configure the gateway itself, by name alone. */
const heldBack = ['AGENT_HOME', 'WEBHOOK_SECRET'] as const;

/** Where the network of a company can be left only by a proxy, or reads along with certificates of its own. */
const ofNetwork =
  /^(?:(?:HTTPS?|ALL|NO)_PROXY|NODE_EXTRA_CA_CERTS|SSL_CERT_(?:FILE|DIR)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE)$/i;

/**
 * Whether every child process gets this variable: what programs need to run and to reach the network, never a secret, as the
 * login in the address of a proxy.
 */
export function isBasicVariable(name: string, value = ''): boolean {
  // A path may have an @ too: the user of a domain may have a home that is named by the mail address.
  const isLogin = /_proxy$/i.test(name) && value.includes('@');
  return basic.has(name) || name.startsWith('LC_') || (ofNetwork.test(name) && !isLogin);
}

/** Variables that the gateway, its libraries or its child programs read, by name alone. */
const reserved = /^(?:(?:WEBHOOK|AGENT|OTEL|NODE|LD|DYLD|XDG|GH|GIT|SSH|SSL|UWS)_.*|NO_COLOR|BROWSER|SSLKEYLOGFILE)$/i;

/** Whether a value in `.env` under this name affects more than the entry that refers to it (CLI-5). */
export function isReservedVariable(name: string): boolean {
  return isBasicVariable(name.toUpperCase()) || reserved.test(name);
}

/**
 * Returns the variables that a profile gives its program, by name: those that `agent.env` lists, from `.env` or the process
 * environment. Without `agent.env`, those of `.env` that nothing else in the configuration refers to. Basic variables of
 * `.env` are always included.
 */
export function variablesOfProgram(written: JsonObject, scope: InterpolationScope): Readonly<Record<string, string>> {
  const { env } = objectAt(written, 'agent');
  const referred = new Set([...variablesIn(referringParts(written)), ...heldBack]);
  const isLent = (name: string, value: string): boolean =>
    isBasicVariable(name, value) || (env === undefined && !referred.has(name));
  const named = Array.isArray(env) ? env.map(String) : [];
  return Object.fromEntries([
    ...[...scope.secrets].filter(([name, value]) => isLent(name, value)),
    ...named.flatMap((name) => {
      const value = variableIn(scope, name);
      return value === undefined ? [] : [[name, value] as const];
    }),
  ]);
}

/**
 * The complete configuration, so that a new section withholds its variables automatically. Excluded are `agent.command`,
 * `agent.cwd` and `workspace`, whose variables the program may have, and all of a route but its secrets, which alone are
 * interpolated.
 */
function referringParts(written: JsonObject): Json {
  return notReferring.reduce<Json>((parts, { path, keep }) => changedAt(parts, path, keep), written);
}

const notReferring: readonly { readonly path: readonly string[]; readonly keep: (value: Json) => Json }[] = [
  { path: ['workspace'], keep: () => null },
  { path: ['agent', 'command'], keep: () => null },
  { path: ['agent', 'cwd'], keep: () => null },
  { path: ['platforms', 'webhook', 'routes'], keep: secretsOf },
  { path: ['platforms', 'webhook', 'extra', 'routes'], keep: secretsOf },
];

function secretsOf(routes: Json): Json {
  if (!isJsonObject(routes)) return routes;
  return Object.values(routes).map((route) =>
    isJsonObject(route) ? [route.secret ?? null, route.verify_token ?? null] : route,
  );
}

/** A value without the path is returned unchanged. */
function changedAt(value: Json, [key, ...rest]: readonly string[], change: (value: Json) => Json): Json {
  if (key === undefined) return change(value);
  const held = isJsonObject(value) ? value[key] : undefined;
  return held === undefined ? value : { ...(value as JsonObject), [key]: changedAt(held, rest, change) };
}

/**
 * Escapes a value that a sender chose, for use in an argument: every character except letters, digits and `. _ ~ : = + @ ,
 * -` becomes percent-encoded UTF-8, and so does a leading hyphen. The result is never an option, a path or shell syntax;
 * decoding it gives the value.
 */
export function asArgument(value: string): string {
  return value.replace(/^-|[^\w.~:=+@,-]/gu, (character) =>
    [...new TextEncoder().encode(character)]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
      .join(''),
  );
}
