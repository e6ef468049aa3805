/**
 * Converts answers into edits of config.yaml and variables of .env: each key where it takes effect, each secret as a
 * reference to a variable. Reads and writes no file.
 * @see CLI-1, HOME-4 and ADP-1 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject, scalarText } from '../../machines/base/json.ts';
import type { ConfigEdit } from '../../machines/config/edit.ts';
import { sourceOf } from '../../machines/config/sources.ts';
import type { Answers, RouteAnswer } from './answers.ts';

/** Reads the current value at a path of config.yaml. */
export type Standing = (...path: readonly string[]) => Json | undefined;

export interface SecretPlace {
  /** The variable that holds the secret. */
  readonly variable: string;
  /** The key that will refer to it; absent if no change is needed. */
  readonly refersAt?: readonly string[];
  /** Whether it replaces a literal secret there, which would have taken precedence. */
  readonly replaces: boolean;
}

const adapter = ['platforms', 'webhook'];
const modelKey = ['agent', 'model', 'api_key'];
/** A value that consists of one reference to a variable. */
const reference = /^\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}$/;
/** References that are not variables. */
const known: ReadonlySet<string> = new Set(['userHome', 'workspaceFolder', 'workspaceFolderBasename', 'pathSeparator']);

/** @param taken the variables that are set; a new variable for a route's secret has none of these names */
export function editsOf(
  answers: Answers,
  standing: Standing,
  taken: ReadonlySet<string> = new Set(),
): readonly ConfigEdit[] {
  const { enabled, host, port, inspectorPort, secret, routes = [], runner, command, model } = answers;
  const edits: ConfigEdit[] = [];
  const set = (path: readonly string[], value: Json | undefined): void => {
    if (value !== undefined && standing(...path) !== value) edits.push({ path, value });
  };
  const refer = ({ variable, refersAt }: SecretPlace): void => {
    if (refersAt !== undefined) edits.push({ path: refersAt, value: `\${${variable}}` });
  };
  set([...adapter, 'enabled'], enabled);
  set(webhookPath(standing, 'host'), host);
  set(webhookPath(standing, 'port'), port);
  set(['inspector', 'port'], inspectorPort);
  if (secret !== undefined) refer(placeOfSecret(standing));
  set(webhookPath(standing, 'allow_weak_secrets'), answers.allowWeakSecrets);
  const places = placesOfRouteSecrets(routes, standing, taken);
  for (const { name, toolsets } of routes) {
    const place = places.get(name);
    if (place !== undefined) refer(place);
    // A new route lists its toolsets explicitly.
    const lent = toolsets ?? (routesIn(standing)[name] === undefined ? defaultToolsets : undefined);
    if (lent !== undefined) edits.push({ path: [...webhookPath(standing, 'routes'), name, 'toolsets'], value: lent });
  }
  set(['agent', 'runner'], runner);
  if (command !== undefined) edits.push({ path: ['agent', 'command'], value: command });
  set(['agent', 'model', 'provider'], model?.provider);
  set(['agent', 'model', 'base_url'], model?.baseUrl);
  set(['agent', 'model', 'name'], model?.name);
  if (model?.key !== undefined) refer(placeOfModelKey(standing));
  return edits;
}

/** The webhook adapter's effective value: under `extra`, else beside it. */
export function webhookValue(standing: Standing, key: string): Json | undefined {
  return standing(...adapter, 'extra', key) ?? standing(...adapter, key);
}

/** Where the global secret is stored. If there is none yet, the variable alone is enough (ADP-1). */
export function placeOfSecret(standing: Standing): SecretPlace {
  const held = webhookValue(standing, 'secret');
  if (held === undefined) return { variable: 'WEBHOOK_SECRET', replaces: false };
  return placeOf(held, webhookPath(standing, 'secret'), 'WEBHOOK_SECRET');
}

/** The default toolsets of a run, without any server's tools. */
export const defaultToolsets: readonly string[] = ['agent-webhook'];

/** The routes of config.yaml by name. */
export function routesIn(standing: Standing): JsonObject {
  const held = webhookValue(standing, 'routes');
  return isJsonObject(held) ? held : {};
}

/**
 * Where the routes' new secrets are stored: each in its own variable, either the one the route already refers to or one
 * named after the route.
 * @param taken the variables that are set
 */
export function placesOfRouteSecrets(
  routes: readonly RouteAnswer[],
  standing: Standing,
  taken: ReadonlySet<string>,
): ReadonlyMap<string, SecretPlace> {
  const written = routesIn(standing);
  const places = new Map<string, SecretPlace>();
  const isFree = (variable: string, route: string): boolean =>
    variable !== placeOfSecret(standing).variable &&
    [...places.values()].every((place) => place.variable !== variable) &&
    Object.entries(written).every(([name, held]) => name === route || variableOf(secretIn(held)) !== variable);
  for (const { name, secret } of routes) {
    if (secret === undefined) continue;
    const held = secretIn(written[name]);
    const own = variableOf(held);
    if (own !== undefined && isFree(own, name)) {
      places.set(name, { variable: own, replaces: false });
      continue;
    }
    const usual = `WEBHOOK_SECRET_${name.toUpperCase().replaceAll('-', '_')}`;
    let variable = usual;
    for (let count = 2; taken.has(variable) || !isFree(variable, name); count += 1) variable = `${usual}_${count}`;
    const refersAt = [...webhookPath(standing, 'routes'), name, 'secret'];
    places.set(name, { variable, refersAt, replaces: held !== undefined && own === undefined });
  }
  return places;
}

/** Whether a route has its own secret: a literal one, or a reference to a variable that is set. */
export function hasOwnSecret(route: Json | undefined, variables: ReadonlySet<string>): boolean {
  const held = secretIn(route);
  const variable = variableOf(held);
  return variable === undefined ? held !== undefined : variables.has(variable);
}

/** Adds a secret for each route that would have none: the named routes, and all routes if there is no global secret. */
export function withRouteSecrets(
  answers: Answers,
  standing: Standing,
  {
    variables,
    hasGlobal,
    generate,
  }: { readonly variables: ReadonlySet<string>; readonly hasGlobal: boolean; readonly generate: () => string },
): Answers {
  const given = answers.routes ?? [];
  const written = routesIn(standing);
  const unsigned = hasGlobal || answers.secret !== undefined ? [] : Object.keys(written);
  const named = new Map<string, RouteAnswer>(
    [...unsigned.map((name) => ({ name })), ...given].map((one) => [one.name, one]),
  );
  const routes = [...named.values()].flatMap((one) => {
    const route = written[one.name];
    if (one.secret !== undefined || (takesFresh(route) && !hasOwnSecret(route, variables))) {
      return [{ ...one, secret: one.secret ?? generate() }];
    }
    return one.toolsets === undefined ? [] : [one];
  });
  return routes.length === 0 ? answers : { ...answers, routes };
}

/** Whether a secret that is made here can be that of a route: many providers make their own. */
function takesFresh(route: Json | undefined): boolean {
  const source = isJsonObject(route) ? sourceOf(scalarText(route.source)) : undefined;
  return source === undefined || (source.secret.typed === true && source.secretKey === undefined);
}

function secretIn(route: Json | undefined): Json | undefined {
  return isJsonObject(route) ? route.secret : undefined;
}

export function placeOfModelKey(standing: Standing): SecretPlace {
  return placeOf(standing(...modelKey), modelKey, 'AGENT_MODEL_KEY');
}

function placeOf(held: Json | undefined, path: readonly string[], usual: string): SecretPlace {
  const named = variableOf(held);
  if (named !== undefined) return { variable: named, replaces: false };
  return { variable: usual, refersAt: path, replaces: held !== undefined };
}

/** The variable, if the value is a single reference to one. */
function variableOf(held: Json | undefined): string | undefined {
  const named = typeof held === 'string' ? reference.exec(held)?.[1] : undefined;
  return named === undefined || known.has(named) ? undefined : named;
}

/** Where a key takes effect (ADP-1): under `extra`, or beside it if it is set only there. */
function webhookPath(standing: Standing, key: string): readonly string[] {
  const isDirect = standing(...adapter, 'extra', key) === undefined && standing(...adapter, key) !== undefined;
  return [...adapter, ...(isDirect ? [] : ['extra']), key];
}
