/**
 * Decides which variables the program of a run has, and what its words may hold of a value that a sender chose. Knows no
 * process.
 * @see CON-3 and SEC-4 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject, objectAt } from '../base/json.ts';
import { type InterpolationScope, variableIn, variablesIn } from './interpolate.ts';

/** The variables of a run that `agent.command` may name; they are filled in when the run starts. */
export const runVariables = ['AGENT_MCP_CONFIG', 'AGENT_PROMPT_FILE', 'AGENT_RUN_ID', 'AGENT_DELIVERY_ID'] as const;

/** Those of them whose values senders choose. */
export const senderVariables: ReadonlySet<string> = new Set(['AGENT_DELIVERY_ID']);

const basic: ReadonlySet<string> = new Set('PATH HOME LANG TZ TMPDIR USER LOGNAME SHELL TERM'.split(' '));

/** Configure the gateway itself, by their names alone. */
const heldBack = ['AGENT_HOME', 'WEBHOOK_SECRET'] as const;

/** Whether every child process has this variable: what programs need to run at all, and never a secret. */
export function isBasicVariable(name: string): boolean {
  return basic.has(name) || name.startsWith('LC_');
}

/** Read by the gateway, its libraries or the programs that it starts, by their names alone. */
const reserved =
  /^(?:(?:WEBHOOK|AGENT|OTEL|NODE|LD|DYLD|XDG|GH|GIT|SSH|SSL|UWS)_.*|(?:HTTPS?|ALL|NO)_PROXY|NO_COLOR|BROWSER|SSLKEYLOGFILE)$/i;

/** Whether a value in `.env` under this name configures more than the entry that refers to it (CLI-5). */
export function isReservedVariable(name: string): boolean {
  return isBasicVariable(name.toUpperCase()) || reserved.test(name);
}

/**
 * Returns the variables that a profile lends its program, by name: those that `agent.env` names, from `.env` or the process
 * environment. Without `agent.env`, those of `.env` to which nothing else in the configuration refers. Basic variables of
 * `.env` are always among them.
 */
export function variablesOfProgram(written: JsonObject, scope: InterpolationScope): Readonly<Record<string, string>> {
  const { env } = objectAt(written, 'agent');
  const referred = new Set([...variablesIn(referringParts(written)), ...heldBack]);
  const isLent = (name: string): boolean => isBasicVariable(name) || (env === undefined && !referred.has(name));
  const named = Array.isArray(env) ? env.map(String) : [];
  return Object.fromEntries([
    ...[...scope.secrets].filter(([name]) => isLent(name)),
    ...named.flatMap((name) => {
      const value = variableIn(scope, name);
      return value === undefined ? [] : [[name, value] as const];
    }),
  ]);
}

/**
 * Everything that is written, so that a new section withholds its variables by itself. What `agent.command` and `workspace`
 * refer to, the program is meant to have; of a route only the secret is interpolated.
 */
function referringParts(written: JsonObject): Json {
  return notReferring.reduce<Json>((parts, { path, keep }) => changedAt(parts, path, keep), written);
}

const notReferring: readonly { readonly path: readonly string[]; readonly keep: (value: Json) => Json }[] = [
  { path: ['workspace'], keep: () => null },
  { path: ['agent', 'command'], keep: () => null },
  { path: ['platforms', 'webhook', 'routes'], keep: secretsOf },
  { path: ['platforms', 'webhook', 'extra', 'routes'], keep: secretsOf },
];

function secretsOf(routes: Json): Json {
  if (!isJsonObject(routes)) return routes;
  return Object.values(routes).map((route) =>
    isJsonObject(route) ? [route.secret ?? null, route.verify_token ?? null] : route,
  );
}

/** A value that lacks the path, or is no object on its way, stays as it is. */
function changedAt(value: Json, [key, ...rest]: readonly string[], change: (value: Json) => Json): Json {
  if (key === undefined) return change(value);
  const held = isJsonObject(value) ? value[key] : undefined;
  return held === undefined ? value : { ...(value as JsonObject), [key]: changedAt(held, rest, change) };
}

/**
 * Returns a value that a sender chose as it may be a part of an argument: every character but letters, digits and
 * `. _ ~ : = + @ , -` as percent-encoded UTF-8, and a hyphen at its beginning too. It is then no option, no path and no
 * syntax of a shell; decoding it gives the value.
 */
export function asArgument(value: string): string {
  return value.replace(/^-|[^\w.~:=+@,-]/gu, (character) =>
    [...new TextEncoder().encode(character)]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
      .join(''),
  );
}
