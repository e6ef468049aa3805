/**
 * Finds the secrets in a server's entry by position and shape, and replaces them with references to variables: in the
 * environment, headers, arguments and URL. A text that contains a reference is left unchanged, but for the other parts of a
 * server's URL. Chooses the variables so that
 * the entry reads its own value and no other reader of the configuration gets it.
 * @see CLI-5 and INT-1 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { isReservedVariable } from '../config/program-variables.ts';
import { redactShapes } from './redact-shapes.ts';

/** A value to be stored in `.env`. */
export interface TakenSecret {
  readonly variable: string;
  readonly value: string;
}

/** Returns the variable for a value: the wanted name, or another if that one has a different value. */
type NameVariable = (wanted: string, value: string) => string;

/** Names of secrets. A word is separate, or begins or ends a longer one. */
const secretName =
  /(?:^|[^a-z])(?:tokens?|secrets?|pass(?:word|wd|phrase)?|pwd|pat|keys?|credentials?|auth(?:orization)?|bearer|cookie|dsn|jwt)(?:$|[^a-z])|(?:token|secret|password|passwd|apikey|accesskey|privatekey|authorization)$/i;
const scheme = /^(Bearer|Basic|Token|Bot)\s+(.+)$/i;
/** An argument that contains its value: `--api-key=x`, `TOKEN=x`, or a header line `Name: x`. */
const carried = /^(-{0,2}[A-Za-z][\w.-]*)(=|:\s*)(.+)$/;

/** @param takes `all`: every literal value of the environment and headers counts as a secret, whatever its name */
export function takeSecrets(
  server: string,
  entry: JsonObject,
  nameVariable: NameVariable,
  takes: 'secrets' | 'all' = 'secrets',
): { readonly entry: JsonObject; readonly secrets: readonly TakenSecret[] } {
  const secrets: TakenSecret[] = [];
  const put = (wanted: string, value: string): string => {
    const variable = nameVariable(wanted, value);
    secrets.push({ variable, value });
    return `\${${variable}}`;
  };
  const prefix = variableName(server);
  const isTaken = (name: string, text: string): boolean => (takes === 'all' ? isLiteral(text) : isSecret(name, text));
  const taken: Record<string, Json> = { ...entry };
  if (isJsonObject(entry.env)) {
    taken.env = eachText(entry.env, (name, text) => (isTaken(name, text) ? put(ownName(name, prefix), text) : text));
  }
  if (isJsonObject(entry.headers)) {
    taken.headers = eachText(entry.headers, (name, text) =>
      isTaken(name, text) ? headerOf(name, text, prefix, put) : text,
    );
  }
  if (Array.isArray(entry.args)) taken.args = argumentsOf(entry.args as readonly Json[], prefix, put);
  if (typeof entry.url === 'string') taken.url = urlOf(entry.url, prefix, put);
  if (
    isJsonObject(entry.oauth) &&
    typeof entry.oauth.client_secret === 'string' &&
    isLiteral(entry.oauth.client_secret)
  ) {
    taken.oauth = { ...entry.oauth, client_secret: put(`${prefix}_CLIENT_SECRET`, entry.oauth.client_secret) };
  }
  return { entry: taken, secrets };
}

/** Whether a value of that name must not be readable in a configuration. */
export function isSecret(name: string, text: string): boolean {
  if (!isLiteral(text)) return false;
  return secretName.test(separated(name)) || redactShapes(text) !== text;
}

/** Formats a name with the letters, digits and underscores of a variable. */
export function variableName(name: string): string {
  const letters = separated(name)
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '');
  return /^[A-Z]/.test(letters) ? letters : `MCP_${letters}`;
}

type Put = (wanted: string, value: string) => string;

function headerOf(name: string, text: string, prefix: string, put: Put): string {
  const [, word, rest] = scheme.exec(text) ?? [];
  if (word !== undefined && rest !== undefined) return `${word} ${put(`${prefix}_TOKEN`, rest)}`;
  return put(`${prefix}_${variableName(name)}`, text);
}

/** `--token x`, `--token=x`, `--header "Authorization: Bearer x"`, and anything with the shape of a secret. */
function argumentsOf(args: readonly Json[], prefix: string, put: Put): Json[] {
  let flag = '';
  return args.map((argument) => {
    const before = flag;
    const text = typeof argument === 'string' ? argument : '';
    flag = /^-{1,2}[A-Za-z]/.test(text) && !carried.test(text) ? text : '';
    if (text === '' || !isLiteral(text)) return argument;
    if (/^[a-z+]+:\/\//i.test(text)) return urlOf(text, prefix, put);
    const [, name, between, rest] = carried.exec(text) ?? [];
    if (name !== undefined && between !== undefined && rest !== undefined && isSecret(name, rest)) {
      const [, word, token] = scheme.exec(rest) ?? [];
      const kept =
        word === undefined || token === undefined ? { word: '', value: rest } : { word: `${word} `, value: token };
      return `${name}${between}${kept.word}${put(`${prefix}_${nameOf(name, kept.word)}`, kept.value)}`;
    }
    const isNext = before !== '' && flag === '' && isSecret(before, text) && secretName.test(separated(before));
    if (isNext) return put(`${prefix}_${variableName(before)}`, text);
    return flag === '' && redactShapes(text) !== text ? put(`${prefix}_SECRET`, text) : argument;
  });
}

function nameOf(name: string, word: string): string {
  return word === '' ? variableName(name) : 'TOKEN';
}

/** How the names of variables for keys in the path of a URL end. */
export const pathKey = '_URL_KEY';
/** A UUID, hexadecimal digits, or both cases with digits: what a URL has as a key in its path, and no word looks like. */
const randomSegment =
  /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32,}|(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])[\w-]{24,}={0,2})$/;

/** The password in the URL, the values of query parameters with secret-sounding names, and keys in its path. */
function urlOf(url: string, prefix: string, put: Put): string {
  return url
    .replace(/^([a-z+]+:\/\/[^/?#@:]*:)([^/?#@]+)(?=@)/i, (whole, before: string, password: string) => {
      return isLiteral(whole) ? `${before}${put(`${prefix}_PASSWORD`, password)}` : whole;
    })
    .replace(/(?<=[^/]\/)[^/?#]+/g, (segment) =>
      randomSegment.test(segment) ? put(`${prefix}${pathKey}`, segment) : segment,
    )
    .replace(/([?&])([^=&#]+)=([^&#]+)/g, (whole, mark: string, name: string, value: string) =>
      isSecret(name, value) ? `${mark}${name}=${put(`${prefix}_${variableName(name)}`, value)}` : whole,
    );
}

/** Keeps a name that is valid as a variable, so that it is recognizable. */
function ownName(name: string, prefix: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : `${prefix}_${variableName(name)}`;
}

function isLiteral(text: string): boolean {
  return text.trim() !== '' && !text.includes('${');
}

/** Splits `apiKey` and `APIKey` into words. */
function separated(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').replace(/([A-Z]+)([A-Z][a-z])/g, '$1_$2');
}

function eachText(map: JsonObject, change: (name: string, text: string) => string): JsonObject {
  return Object.fromEntries(
    Object.entries(map).map(([name, value]) => [name, typeof value === 'string' ? change(name, value) : value]),
  );
}

interface Variables {
  /** The variables of `.env`, including planned ones. */
  readonly held: Map<string, string>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether another entry reads a variable, even one that is set only for the gateway. */
  readonly isReferred: (variable: string) => boolean;
}

/** Returns a name that only this server's entry refers to: neither the gateway nor another entry reads it. */
export function ownVariable(wanted: string, server: string): string {
  const prefix = variableName(server);
  return `MCP_${wanted.startsWith(`${prefix}_`) ? wanted : `${prefix}_${wanted}`}`;
}

/** Returns the wanted variable, or the first numbered one that has this value in `.env` or is unused. */
export function variableFor(wanted: string, value: string, { held, env, isReferred }: Variables): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? wanted : `${wanted}_${number}`;
    const standing = held.get(name) ?? (isReferred(name) ? undefined : env[name]);
    if (isReservedVariable(name) || (standing === undefined ? isReferred(name) : standing !== value)) continue;
    held.set(name, value);
    return name;
  }
}
