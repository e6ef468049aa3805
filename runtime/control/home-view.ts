/**
 * What the commands may do to a home without a daemon: read its configuration, change its subscriptions.
 * @see SUB-1 in docs/specification.md
 */

import { randomBytes } from 'node:crypto';
import { type LoadedHome, loadHome } from '../../actors/config/load-config.ts';
import { createJobsStore } from '../../actors/cron/jobs.store.ts';
import type { Logger } from '../../actors/ports.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import { defaultProfile, type ProfileName, profileName } from '../../machines/base/names.ts';
import { profilePaths } from '../../machines/config/profile.ts';
import type { RouteWithSecret } from '../../machines/config/route.ts';
import { editSubscriptions, readSubscription } from '../../machines/config/subscription.ts';
import { routeSourcesOf, subscriptionContext } from '../route-sources.ts';
import { Refusal } from './refusal.ts';

export interface HomeSource {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface SubscriptionRequest {
  readonly name: string;
  readonly profile: ProfileName;
  /** The record as it is written, without its secret. */
  readonly record: JsonObject;
  /** Replaces a subscription of the same name. */
  readonly force: boolean;
}

/** Bytes of a generated secret (SUB-1). */
const secretBytes = 32;
const quiet: Logger = { log: () => {}, warnOnce: () => {} };

/** The rows of `webhook list`: static and dynamic routes, and records that cannot be used. */
export function listRoutes(source: HomeSource, baseUrl: string | undefined): JsonObject[] {
  const home = loadHome(source);
  const base = baseUrl ?? configuredUrl(home);
  const sources = routeSourcesOf(home, quiet);
  const rows: JsonObject[] = sources.configured.map((entry) => routeRow(entry, base));
  const taken = new Set(sources.configured.map(({ route }) => `${route.profile}/${route.name}`));
  for (const store of sources.subscriptions.values()) {
    const { routes, problems, fault } = store.current();
    for (const entry of routes) {
      const hidden = taken.has(`${entry.route.profile}/${entry.route.name}`);
      rows.push({
        ...routeRow(entry, base),
        ...(hidden ? { problem: 'a route of config.yaml has the same name and is used instead' } : {}),
      });
    }
    for (const { name, message } of problems) rows.push(brokenRow(name, message));
    if (fault !== undefined) rows.push(brokenRow('webhook_subscriptions.json', fault.message));
  }
  for (const found of home.webhookBlocked) rows.push(brokenRow(`${found.file}:${found.line}`, found.message));
  return rows;
}

/** One route with everything but its secret; undefined where there is none of that name. */
export function showRoute(source: HomeSource, name: string, baseUrl: string | undefined): JsonObject | undefined {
  const found = findRoute(source, name);
  if (found === undefined) return undefined;
  return {
    ...routeRow(found.entry, baseUrl ?? configuredUrl(found.home)),
    definition: found.entry.route as unknown as JsonObject,
  };
}

/** A dynamic route with its secret, for signing a test; undefined for static ones and unknown names. */
export function dynamicRoute(source: HomeSource, name: string): RouteWithSecret | undefined {
  const found = findRoute(source, name)?.entry;
  return found?.route.source === 'dynamic' ? found : undefined;
}

/** Creates a subscription with a fresh secret; every rule of a route holds for it before it is written. */
export async function subscribe(
  source: HomeSource,
  request: SubscriptionRequest,
  baseUrl: string | undefined,
): Promise<JsonObject> {
  const { name, profile, record, force } = request;
  const home = loadHome(source);
  const isStatic = [...home.profiles.values()].some(({ settings }) =>
    settings.webhook.routes.some(({ route }) => route.name === name && route.profile === profile),
  );
  if (isStatic)
    throw new Refusal(
      'subscription-static',
      `"${name}" is a route of config.yaml, which takes precedence; choose another name`,
    );
  checkCronJob(source, profile, record.cron_job);
  const secret = randomBytes(secretBytes).toString('hex');
  const whole: JsonObject = { ...record, secret, created_at: new Date().toISOString() };
  const read = readSubscription(name, whole, subscriptionContext(home, profile));
  if (!read.ok) {
    const [first] = read.problems;
    throw new Refusal(first?.code ?? 'subscription-unfit', read.problems.map(({ message }) => message).join('; '));
  }
  const store = routeSourcesOf(home, quiet).subscriptions.get(profile);
  if (store === undefined) {
    throw new Refusal(
      'profile-unknown',
      `profile "${profile}" is not served; set gateway.multiplex_profiles: true and make profiles/${profile}`,
    );
  }
  const { routes, problems } = store.current();
  const exists = routes.some(({ route }) => route.name === name) || problems.some((problem) => problem.name === name);
  if (exists && !force)
    throw new Refusal('subscription-exists', `"${name}" is subscribed already; remove it first or pass --force`);
  const updated = await store.update((text) => editSubscriptions(text, name, whole));
  if (!updated.ok) throw new Refusal(updated.fault.code, updated.fault.message);
  return { ...routeRow(read.value, baseUrl ?? configuredUrl(home)), secret };
}

export async function unsubscribe(source: HomeSource, name: string, profile: ProfileName): Promise<void> {
  const store = routeSourcesOf(loadHome(source), quiet).subscriptions.get(profile);
  const standing = store?.current();
  const known =
    standing?.routes.some(({ route }) => route.name === name) === true ||
    standing?.problems.some((problem) => problem.name === name) === true;
  if (store === undefined || !known) {
    throw new Refusal(
      'subscription-unknown',
      `"${name}" is no dynamic subscription; routes of config.yaml are removed there`,
    );
  }
  const updated = await store.update((text) => editSubscriptions(text, name, undefined));
  if (!updated.ok) throw new Refusal(updated.fault.code, updated.fault.message);
}

/** A profile's name from a flag. */
export function profileOf(text: unknown): ProfileName {
  if (text === undefined || text === null || text === '') return defaultProfile;
  const profile = profileName(String(text));
  if (profile === undefined) throw new Refusal('profile-name', `"${String(text)}" is no profile name`);
  return profile;
}

function checkCronJob({ home }: HomeSource, profile: ProfileName, job: unknown): void {
  if (job === undefined) return;
  const found = createJobsStore({ folder: profilePaths(home, profile).cron }).find(String(job));
  if (found === undefined)
    throw new Refusal('cron-job-unknown', `cron job "${String(job)}" does not exist in profile "${profile}"`);
}

function findRoute(
  source: HomeSource,
  name: string,
): { readonly entry: RouteWithSecret; readonly home: LoadedHome } | undefined {
  const home = loadHome(source);
  const sources = routeSourcesOf(home, quiet);
  const dynamic = [...sources.subscriptions.values()].flatMap((store) => store.current().routes);
  const entry = [...sources.configured, ...dynamic].find(({ route }) => route.name === name);
  return entry && { entry, home };
}

function routeRow({ route }: RouteWithSecret, base: string): JsonObject {
  const name = encodeURIComponent(route.name);
  const path = route.profile === defaultProfile ? `/webhooks/${name}` : `/p/${route.profile}/webhooks/${name}`;
  return {
    name: route.name,
    url: `${base}${path}`,
    events: route.events,
    deliver: route.deliver,
    description: route.description ?? '',
    source: route.source,
    profile: route.profile,
    enabled: route.enabled,
  };
}

function brokenRow(name: string, problem: string): JsonObject {
  return { name, url: '', events: [], deliver: '', description: '', problem };
}

function configuredUrl(home: LoadedHome): string {
  const { host, port } = home.main.settings.webhook;
  const shown = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${shown.includes(':') ? `[${shown}]` : shown}:${port}`;
}
