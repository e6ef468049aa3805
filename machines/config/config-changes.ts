/**
 * Names the differences between two versions of a config.yaml: servers, routes and targets by name, the rest by section.
 * Contains no values.
 * @see INS-4 in docs/specification.md
 */

import { type JsonObject, objectAt, sameJson } from '../base/json.ts';

/** Sections whose members are named, with the word for one. The first that contains a path names it. */
const collections: readonly (readonly [path: readonly string[], word: string])[] = [
  [['mcp_servers'], 'Server'],
  [['platforms', 'webhook', 'extra', 'routes'], 'Route'],
  [['platforms', 'webhook', 'routes'], 'Route'],
  [['platforms'], 'Platform'],
];

/** One short text per difference; empty if there is none. */
export function configChanges(before: JsonObject, after: JsonObject): readonly string[] {
  const named = collections.flatMap(([path, word]) =>
    membersChanged(withoutRoutes(path, objectAt(before, ...path)), withoutRoutes(path, objectAt(after, ...path)), word),
  );
  const rest = membersChanged(withoutNamed(before), withoutNamed(after), 'Section');
  return [...named, ...rest];
}

function membersChanged(before: JsonObject, after: JsonObject, word: string): readonly string[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name) => {
    const [was, is] = [before[name], after[name]];
    // As texts, ten thousand routes would hold up all requests.
    if (was !== undefined && is !== undefined && sameJson(was, is)) return [];
    return [`${word} ${name} ${was === undefined ? 'added' : is === undefined ? 'removed' : 'changed'}`];
  });
}

/** Routes are named separately, so they do not count as a change of their platform. */
function withoutRoutes(path: readonly string[], held: JsonObject): JsonObject {
  if (path.length !== 1 || path[0] !== 'platforms') return held;
  const { routes: _, extra, ...webhook } = objectAt(held, 'webhook');
  const { routes: __, ...ownExtra } = objectAt({ extra: extra ?? {} }, 'extra');
  return held.webhook === undefined ? held : { ...held, webhook: { ...webhook, extra: ownExtra } };
}

function withoutNamed({ mcp_servers: _, platforms: __, ...rest }: JsonObject): JsonObject {
  return rest;
}
