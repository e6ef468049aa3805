/**
 * Turns answers into changes of config.yaml and variables of .env: each key where it takes effect, each secret behind the
 * reference that stands for it. Reads and writes no file.
 * @see CLI-1, HOME-4 and ADP-1 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../../machines/base/json.ts';
import type { ConfigEdit } from '../../machines/config/edit.ts';
import type { Answers, RouteAnswer } from './answers.ts';

/** Reads what config.yaml says now at a path. */
export type Standing = (...path: readonly string[]) => Json | undefined;

export interface SecretPlace {
  /** The variable that the secret comes from. */
  readonly variable: string;
  /** The key that is to refer to it from now on; absent where nothing need be changed. */
  readonly refersAt?: readonly string[];
  /** Whether a secret stood there itself, and would have won. */
  readonly replaces: boolean;
}

const adapter = ['platforms', 'webhook'];
const modelKey = ['agent', 'model', 'api_key'];
/** A value that is one reference to a variable and nothing else. */
const reference = /^\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}$/;
/** References that are no variables. */
const known: ReadonlySet<string> = new Set(['userHome', 'workspaceFolder', 'workspaceFolderBasename', 'pathSeparator']);

/** @param taken the variables that are set, of which none becomes a route's */
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
    // What a run may use stands with a new route in so many words.
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

/** The webhook adapter's key where it counts: under `extra`, else beside it. */
export function webhookValue(standing: Standing, key: string): Json | undefined {
  return standing(...adapter, 'extra', key) ?? standing(...adapter, key);
}

/** The global secret's place. Where nothing stands the variable alone is enough (ADP-1). */
export function placeOfSecret(standing: Standing): SecretPlace {
  const held = webhookValue(standing, 'secret');
  if (held === undefined) return { variable: 'WEBHOOK_SECRET', replaces: false };
  return placeOf(held, webhookPath(standing, 'secret'), 'WEBHOOK_SECRET');
}

/** The tools of a run without any of a server. */
export const defaultToolsets: readonly string[] = ['agent-webhook'];

/** The routes of config.yaml by their names. */
export function routesIn(standing: Standing): JsonObject {
  const held = webhookValue(standing, 'routes');
  return isJsonObject(held) ? held : {};
}

/**
 * Where the secrets that routes are given go: each into a variable that no other secret comes from, the one that the route
 * refers to already or one named for it.
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

/** Whether a route has a secret of its own: one that is written, or the value of a variable that is set. */
export function hasOwnSecret(route: Json | undefined, variables: ReadonlySet<string>): boolean {
  const held = secretIn(route);
  const variable = variableOf(held);
  return variable === undefined ? held !== undefined : variables.has(variable);
}

/** What the routes are answered, and a secret for each that would have none: those named, and all without a global one. */
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
    if (one.secret !== undefined || !hasOwnSecret(written[one.name], variables)) {
      return [{ ...one, secret: one.secret ?? generate() }];
    }
    return one.toolsets === undefined ? [] : [one];
  });
  return routes.length === 0 ? answers : { ...answers, routes };
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

/** The variable that a value refers to and is nothing else than. */
function variableOf(held: Json | undefined): string | undefined {
  const named = typeof held === 'string' ? reference.exec(held)?.[1] : undefined;
  return named === undefined || known.has(named) ? undefined : named;
}

/** Where a key takes effect (ADP-1): under `extra`, else beside it where it stands there. */
function webhookPath(standing: Standing, key: string): readonly string[] {
  const isDirect = standing(...adapter, 'extra', key) === undefined && standing(...adapter, key) !== undefined;
  return [...adapter, ...(isDirect ? [] : ['extra']), key];
}
