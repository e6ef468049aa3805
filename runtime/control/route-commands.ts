/**
 * The commands that show a route in full, disable, enable, hold and release it, and edit a subscription. Part of the table of the
 * control socket.
 * @see INS-4, SUB-1, SUB-4 and HOME-4 in docs/specification.md
 */

import { editHome } from '../../actors/config/edit-home.ts';
import { readText } from '../../actors/files.ts';
import { inPieces } from '../../actors/in-pieces.ts';
import { defined, isJsonObject, type Json, type JsonObject } from '../../machines/base/json.ts';
import { defaultProfile, type ProfileName } from '../../machines/base/names.ts';
import type { ConfigPath } from '../../machines/config/document.ts';
import { parsingConfig, valueIn } from '../../machines/config/edit.ts';
import { holdOf } from '../../machines/config/hints.ts';
import { profilePaths } from '../../machines/config/profile.ts';
import { routesPath } from '../../machines/config/read-webhook.ts';
import type { Route, RouteWithSecret } from '../../machines/config/route.ts';
import type { ShownSetting } from '../../machines/config/shown-settings.ts';
import { sourceOf, sourceWords } from '../../machines/config/sources.ts';
import { filterWords } from '../../machines/webhook/filter.ts';
import { counted } from '../inspector/timeline-sources.ts';
import { editSubscription } from '../webhook/edit-subscription.ts';
import type { CommandHost, Commands } from './command.ts';
import { configFile, showConfig } from './config-view.ts';
import { inForce, refuse } from './contract/refusal.ts';
import type { RouteDetail, RouteHeld } from './contract/routes.ts';
import type { Result } from './contract.ts';
import { askedRoute } from './event-choice.ts';
import {
  askedRouteOf,
  checkCronJob,
  knownRouteOf,
  listRoutes,
  type RoutedHome,
  routedHomeOf,
  showRoute,
} from './home-view.ts';
import { routeStandings } from './route-standing.ts';
import { applied } from './server-commands.ts';

export const routeCommands = {
  'webhook.list': async (host, { brief }) => {
    const rows = listRoutes(routedHomeOf(host), host.daemon?.url());
    if (host.daemon === undefined || brief === true) return rows;
    const standingOf = await routeStandings(host.daemon);
    return rows.map((row) => (row.profile === undefined ? row : { ...row, ...standingOf(row) }));
  },

  'webhook.show': async (host, params) => {
    const routed = routedHomeOf(host);
    const entry = askedRouteOf(routed, askedRoute(params));
    const row = showRoute(routed, entry.route, host.daemon?.url());
    const standingOf = host.daemon && (await routeStandings(host.daemon));
    return {
      ...row,
      ...standingOf?.(row),
      ...(await originOf(entry, host)),
      source_words: sourceWords(entry.route),
      filter_words: entry.route.filters.map(filterWords),
      limits: limitsOf(entry.route, routed),
    };
  },

  'webhook.enable': (host, params) => setEnabled(host, params, true),
  'webhook.disable': (host, params) => setEnabled(host, params, false),
  'webhook.hold': (host, params) => setHeld(host, params, true),
  'webhook.release': (host, params) => setHeld(host, params, false),
  'webhook.edit': async (host, params) => {
    const { route } = askedRouteOf(routedHomeOf(host), askedRoute(params));
    if (route.source === 'static') {
      refuse('subscription-static', `"${route.name}" is a route of config.yaml, which is edited there`);
    }
    const { secret, ...rest } = isJsonObject(params.record) ? params.record : {};
    const source = sourceOf(rest.source === undefined ? route.sender : String(rest.source));
    const { secretKey = 'secret' } = source ?? {};
    // The verify token of an earlier source means nothing to another one.
    const isMoved = rest.source !== undefined && rest.source !== route.sender;
    if (isMoved && source?.secret.sent === 'silently' && secret === undefined) {
      const cure = `subscribe a route with --source ${String(rest.source)}, or replace this one with --force`;
      refuse('secret-needed', `${source.title} sends its secret to the address of a new subscription alone; ${cure}`);
    }
    const change = { ...(isMoved ? { verify_token: null } : {}), ...rest };
    const record: JsonObject = secret === undefined ? change : { ...change, secret: null, [secretKey]: secret };
    const routed = routedHomeOf(host);
    if (record.cron_job !== null) checkCronJob(routed.home, route.profile, record.cron_job);
    const { older_secret: older } = params;
    if (older === 'keep' && secretKey !== 'secret')
      refuse('secret-needed', `a ${secretKey} is one text: no earlier one can be kept beside it`);
    await editSubscription(routed, route, (before) => (older === 'keep' ? withEarlier(before, record) : record));
    if (older === 'drop')
      await editSubscription(routed, route, ({ secret: all }) => ({ secret: [all ?? null].flat()[0] ?? null }));
    return showRoute(routedHomeOf(host), route, host.daemon?.url());
  },
} satisfies Partial<Commands>;

/** With a list of the new secret and the earlier one, while the sender is given the new one. */
function withEarlier({ secret: all }: JsonObject, record: JsonObject): JsonObject {
  const [newest] = [all ?? []].flat();
  if (newest === undefined || typeof record.secret !== 'string')
    return refuse('secret-needed', 'the subscription has no secret of its own that could be kept beside a new one');
  return { ...record, secret: [record.secret, newest] };
}

/** Finds a static route: in the file of its profile, or in that of the home, which may define routes of profiles. */
async function findRoute({ name, profile }: Route, { source }: CommandHost) {
  for (const one of new Set<ProfileName>([profile, defaultProfile])) {
    const text = (await readText(profilePaths(source.home, one).config)) ?? '';
    const document = await inPieces(parsingConfig(text));
    const path: ConfigPath = [...routesPath(document.value), name];
    if (valueIn(document.value, path) !== undefined) return { profile: one, path, line: document.place(path).line };
  }
  return undefined;
}

/** The route's file and line, and the origin of its secret; never the secret. */
async function originOf({ route, secret }: RouteWithSecret, host: CommandHost): Promise<Partial<RouteDetail>> {
  const verifies = secret.kind === 'shared';
  const set = { set: true, ...(secret.kind === 'shared' && secret.older ? { older: secret.older.length } : {}) };
  if (route.source === 'dynamic') {
    const file = subscriptionsFile(route);
    return { place: { file }, secret: verifies ? { ...set, from: file } : { set: false } };
  }
  const found = await findRoute(route, host);
  if (found === undefined) return {};
  const file = configFile(found.profile);
  const place = { file, line: found.line };
  if (!verifies) return { place, secret: { set: false } };
  const from = await secretOrigin(found, sourceOf(route.sender)?.secretKey ?? 'secret', host);
  return { place, secret: { ...set, from } };
}

function subscriptionsFile({ profile }: Route): string {
  return `${profile === defaultProfile ? '' : `profiles/${profile}/`}webhook_subscriptions.json`;
}

/** If both are set, the first one counts. */
const globalSecrets: readonly ConfigPath[] = [
  ['platforms', 'webhook', 'extra', 'secret'],
  ['platforms', 'webhook', 'secret'],
];

/** The route's own secret, else that of its file, else the home's: a file, or a variable and where it is set. */
async function secretOrigin(
  { path, profile }: { readonly path: ConfigPath; readonly profile: ProfileName },
  key: string,
  { source }: CommandHost,
): Promise<string> {
  for (const one of new Set<ProfileName>([profile, defaultProfile])) {
    const paths = [...(one === profile ? [[...path, key]] : []), ...globalSecrets];
    const { file, settings } = await showConfig(source, one, paths);
    const keys = paths.map((held) => held.join('.'));
    const [used] = keys.flatMap((name) => settings.filter((row) => row.key === name && isOfProfile(row, one)));
    const [variable] = used?.variables ?? [];
    if (used !== undefined) return variable === undefined ? file : `${variable.from}, ${variable.name}`;
  }
  return configFile(profile);
}

/** WEBHOOK_SECRET of the gateway's own environment is the home's alone. */
function isOfProfile({ from, variables }: ShownSetting, profile: ProfileName): boolean {
  return from !== 'variable' || profile === defaultProfile || variables?.[0]?.from === '.env';
}

function limitsOf({ coalesce, concurrency, scriptTimeoutMs, script }: Route, { home }: RoutedHome): readonly string[] {
  const { rateLimit, maxBodyBytes } = home.main.settings.webhook;
  return [
    `${rateLimit.toLocaleString('en')} requests per minute`,
    `bodies up to ${Math.round(maxBodyBytes / 1_024).toLocaleString('en')} KiB`,
    ...(concurrency === undefined ? [] : [`${counted(concurrency, 'run')} at the same time`]),
    ...(coalesce === undefined
      ? []
      : [`batches by ${coalesce.key}, ${coalesce.windowMs / 1_000} s after the last event`]),
    ...(script === undefined ? [] : [`script ${script}, up to ${scriptTimeoutMs / 1_000} s`]),
  ];
}

async function setEnabled(host: CommandHost, params: JsonObject, enabled: boolean): Promise<Result<'webhook.enable'>> {
  const { route } = askedRouteOf(routedHomeOf(host), askedRoute(params));
  if (route.source === 'dynamic') await editSubscription(routedHomeOf(host), route, () => ({ enabled }));
  else {
    await editRoute(host, route, ['enabled', () => enabled]);
    await inForce(host.daemon?.reload());
  }
  return { name: route.name, profile: route.profile, enabled };
}

/**
 * Holds or releases a route. Does not touch a limit of 0, which also holds its runs: it may be the limit of all, or be
 * meant as one.
 */
async function setHeld(host: CommandHost, params: JsonObject, held: boolean): Promise<RouteHeld> {
  const { route } = askedRouteOf(routedHomeOf(host), askedRoute(params));
  const { name, profile } = route;
  if (held && route.deliverOnly) {
    const why = 'has deliver_only: no agent runs, and its deliveries cannot be held';
    refuse('route-runless', `route "${name}" ${why}; \`agent webhook disable\` answers its senders 403`);
  }
  const isSo = (written: Json | undefined): boolean => (held ? written === true : !written);
  let unwritten: Pick<RouteHeld, 'not_in_force'> = {};
  // Those of a released route begin at once.
  const waited = held ? undefined : await waitingRuns(host, route);
  let isChanged: boolean;
  let file = subscriptionsFile(route);
  if (route.source === 'dynamic') {
    const change = { held: held || null };
    isChanged = await editSubscription(routedHomeOf(host), route, (before) => (isSo(before.held) ? undefined : change));
    await host.daemon?.applyRoutes();
  } else {
    const edited = await editRoute(host, route, ['held', (before) => (isSo(before) ? before : held || undefined)]);
    ({ isChanged, file } = edited);
    unwritten = await applied(host);
  }
  const routed = routedHomeOf(host);
  const { held: _, ...limits } = knownRouteOf(routed, { name, profile })?.route ?? route;
  const limit = holdOf(routed.home.main.settings.agent.concurrency, limits);
  const by = limit === 'concurrency' ? `concurrency of the route in ${file}` : `${limit} in config.yaml`;
  if (!held && !isChanged && limit !== undefined)
    refuse('route-limited', `route "${name}" is held by ${by}, which is 0; raise it there`);
  const waiting = held ? await waitingRuns(host, route) : waited;
  return {
    name,
    profile,
    held,
    ...(isChanged ? {} : { unchanged: true }),
    ...(route.enabled ? {} : { disabled: true }),
    ...defined({ held_by: held || limit === undefined ? undefined : by, waiting }),
    ...unwritten,
  };
}

/** @param edit a key of the route, and what it shall be, given what is written; undefined takes it out */
async function editRoute(
  host: CommandHost,
  route: Route,
  [key, next]: readonly [key: string, next: (before: Json | undefined) => Json | undefined],
): Promise<{ readonly isChanged: boolean; readonly file: string }> {
  const found = await findRoute(route, host);
  const { profile, path: at } = found ?? { profile: route.profile, path: [] };
  const path = [...at, key];
  let isChanged = false;
  // A file that is not YAML is refused as such.
  const changed = await editHome<'absent'>({ home: host.source.home, profile }, (config) => {
    if (found === undefined) return 'absent';
    const before = valueIn(config, path);
    const value = next(before);
    isChanged = value !== before;
    return isChanged ? [{ path, value }] : [];
  });
  if (changed.kind === 'unwritable') return refuse('config-unwritable', changed.why);
  if (changed.kind === 'absent') refuse('route-unknown', `config.yaml has no route "${route.name}" any more`);
  return { isChanged, file: configFile(profile) };
}

/** Undefined where no gateway runs and the journal cannot be read. */
async function waitingRuns({ daemon, source }: CommandHost, route: Route): Promise<number | undefined> {
  const of = { route: route.name, profile: route.profile };
  if (daemon !== undefined) return daemon.waiting(of);
  const { askKeptRuns } = await import('./kept-runs.ts');
  const unheard = (): void => {};
  return askKeptRuns(source, unheard, (runs) => runs.waiting(of)).catch(() => undefined);
}
