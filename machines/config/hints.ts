/**
 * What a valid configuration may still lack, for a person who checks it: routes whose runs have no server tools although
 * servers are enabled, routes that share a secret, and runs that are held. A hint is not a finding: it is neither logged nor counted.
 * @see CFG-2, DIS-5 and SEC-6 in docs/specification.md
 */

import { defaultProfile } from '../base/names.ts';
import { type Route, textsOfSecret } from './route.ts';
import type { Settings } from './settings.ts';
import { type Source, sourceOf } from './sources.ts';

type Routes = Settings['webhook']['routes'];

const maxNamed = 3;

type Profiles = ReadonlyMap<string, { readonly settings: Pick<Settings, 'servers' | 'agent' | 'webhook'> }>;

/** The hints on the routes of all profiles, as non-empty texts. */
export function hintsOf(profiles: Profiles): readonly string[] {
  const enabled = enabledRoutes(profiles);
  const onTools = [...profiles].flatMap(([name, { settings }]) =>
    hintOnTools(
      settings,
      enabled.filter(({ route }) => route.profile === name),
    ),
  );
  return [...onTools, ...hintsOnSecrets(enabled), ...hintsOnHeld(profiles)];
}

function enabledRoutes(profiles: Profiles): Routes {
  return [...profiles.values()].flatMap(({ settings }) => settings.webhook.routes).filter(({ route }) => route.enabled);
}

/** One hint for all routes that run an agent without `toolsets` although servers are enabled. */
function hintOnTools({ servers, agent }: Pick<Settings, 'servers' | 'agent'>, routes: Routes): readonly string[] {
  const server = servers.find(({ enabled }) => enabled)?.name;
  if (server === undefined || agent.runner === 'echo') return [];
  const lacking = routes
    .filter(({ route }) => !route.deliverOnly && route.cronJob === undefined && route.toolsets === undefined)
    .map(({ route }) => `"${route.name}"`);
  if (lacking.length === 0) return [];
  const run = lacking.length === 1 ? `route ${named(lacking)} runs` : `routes ${named(lacking)} run`;
  return [`${run} without the tools of your servers; add toolsets: [agent-webhook, mcp-${server}] to lend them`];
}

/** How many runs of a route there may be at once. */
export function runLimitOf({
  held,
  concurrency = Number.POSITIVE_INFINITY,
}: Pick<Route, 'held' | 'concurrency'>): number {
  return held ? 0 : concurrency;
}

/** The key that holds runs: `held: true` of a route, or a limit of 0. */
export type Hold = 'agent.concurrency' | 'concurrency' | 'held';

/** What holds all runs of a route, or of cron jobs if none is given; undefined if they may begin. */
export function holdOf(ofAll: number, route?: Pick<Route, 'held' | 'concurrency' | 'deliverOnly'>): Hold | undefined {
  if (route?.deliverOnly === true) return undefined;
  if (ofAll === 0) return 'agent.concurrency';
  if (route?.held) return 'held';
  return route?.concurrency === 0 ? 'concurrency' : undefined;
}

/** Runs that wait for a person to release them or to raise `concurrency`: of all routes, or of some. */
export function hintsOnHeld(profiles: Profiles): readonly string[] {
  if (profiles.get(defaultProfile)?.settings.agent.concurrency === 0)
    return ['agent.concurrency is 0: events are accepted, and their runs wait'];
  const routes = enabledRoutes(profiles);
  return (['held', 'concurrency'] as const).flatMap((hold) => {
    const held = routes.filter(({ route }) => holdOf(1, route) === hold).map(({ route }) => placeOf(route));
    if (held.length === 0) return [];
    const [of, its, are] = held.length === 1 ? ['route', 'its', 'is'] : ['routes', 'their', 'are'];
    const words = `${of} ${named(held)}`;
    const why = hold === 'held' ? `${words} ${are} held` : `concurrency of ${words} is 0`;
    return [`${why}: events are accepted, and ${its} runs wait`];
  });
}

/**
 * One hint for each secret that several routes share: an event sent to two of them has the same signature. A token is no
 * signature of the event.
 */
function hintsOnSecrets(routes: Routes): readonly string[] {
  const sharing = new Map<string, string[]>();
  for (const { route, secret } of routes) {
    const schemes: Source['schemes'] = route.signature ? [route.signature] : (sourceOf(route.sender)?.schemes ?? []);
    if (schemes.length > 0 && schemes.every(({ algorithm }) => algorithm === 'token' || algorithm === 'jwt')) continue;
    for (const text of textsOfSecret(secret)) sharing.set(text, [...(sharing.get(text) ?? []), placeOf(route)]);
  }
  return [...sharing.values()]
    .filter((names) => names.length > 1)
    .map(
      (names) =>
        `routes ${named(names)} share a secret, and an event that a sender sends to several of them runs once; give each a secret of its own`,
    );
}

function placeOf({ name, profile }: Routes[number]['route']): string {
  return profile === defaultProfile ? `"${name}"` : `"${name}" of profile "${profile}"`;
}

function named(names: readonly string[]): string {
  const left = names.length - maxNamed;
  return names.slice(0, maxNamed).join(', ') + (left > 0 ? ` and ${left} more` : '');
}
