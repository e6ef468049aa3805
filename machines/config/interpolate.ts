/**
 * Replaces `${…}` references in the string values of a configuration at any depth, once: the result is not interpolated
 * again.
 * @see INT-1 and INT-2 in docs/specification.md
 */

import { eachText, isJsonObject, type Json } from '../base/json.ts';
import type { ConfigPath } from './document.ts';

export interface InterpolationScope {
  /** The profile's `.env`, which takes precedence. */
  readonly secrets: ReadonlyMap<string, string>;
  /** The process environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  /** The `workspace` of the home; if undefined, references to it are kept. */
  readonly workspaceFolder?: string;
  readonly pathSeparator: string;
}

const reference = /\$\{([^{}]+)\}/g;

/** A reference to an unset variable is kept as it is written; one to an empty variable becomes empty. */
export function interpolate(value: Json, scope: InterpolationScope): Json {
  return eachText(value, (text) => text.replace(reference, (whole, name: string) => resolve(name, scope) ?? whole));
}

/** The name of the first reference left in a text; undefined if there is none. */
export function unresolvedReference(text: string): string | undefined {
  const name = /\$\{([^{}]+)\}/.exec(text)?.[1];
  return name === undefined ? undefined : variableOf(name);
}

/** What is wrong with a value that refers to an unset variable, and how to fix it, as the predicate of a sentence. */
export function refersToUnset(name: string): string {
  return `refers to "${name}", which is not set; set ${name} in .env or in the environment`;
}

/** The texts of a value at any depth, each with its path. */
export function textsIn(
  value: Json,
  at: ConfigPath = [],
): readonly { readonly path: ConfigPath; readonly text: string }[] {
  if (typeof value === 'string') return [{ path: at, text: value }];
  if (Array.isArray(value)) return value.flatMap((item, index) => textsIn(item, [...at, index]));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, held]) => textsIn(held, [...at, key]));
}

/** References to the workspace: the path of each text with one, and the name of its first such reference. */
export function workspaceReferences(value: Json): readonly { readonly path: ConfigPath; readonly name: string }[] {
  return textsIn(value).flatMap(({ path, text }) => {
    const name = /\$\{(workspaceFolder(?:Basename)?)\}/.exec(text)?.[1];
    return name === undefined ? [] : [{ path, name }];
  });
}

function resolve(name: string, scope: InterpolationScope): string | undefined {
  switch (name) {
    case 'userHome':
      return scope.userHome;
    case 'workspaceFolder':
      return scope.workspaceFolder;
    case 'workspaceFolderBasename':
      return scope.workspaceFolder?.split(scope.pathSeparator).filter(Boolean).at(-1);
    case 'pathSeparator':
    case '/':
      return scope.pathSeparator;
    default:
      return variableIn(scope, variableOf(name));
  }
}

function variableOf(name: string): string {
  return name.startsWith('env:') ? name.slice('env:'.length) : name;
}

/** Returns the value of a variable from the profile's `.env`, else from the process environment. */
export function variableIn({ secrets, env }: InterpolationScope, name: string): string | undefined {
  return secrets.get(name) ?? (Object.hasOwn(env, name) ? env[name] : undefined);
}

/** Returns the names of the variables that the string values of a configuration refer to, at any depth. */
export function variablesIn(value: Json): readonly string[] {
  const found: string[] = [];
  const look = (held: Json): void => {
    if (typeof held === 'string') for (const [, name = ''] of held.matchAll(reference)) found.push(variableOf(name));
    else if (typeof held === 'object' && held !== null) Object.values(held).forEach(look);
  };
  look(value);
  return found;
}

/** Replaces a leading `~` by the user's home (INT-3). */
export function expandTilde(path: string, userHome: string): string {
  return path === '~' || path.startsWith('~/') ? userHome + path.slice(1) : path;
}
