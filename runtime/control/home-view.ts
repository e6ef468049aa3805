/**
 * The commands on a home: list its routes, change its subscriptions. While a daemon runs, the home is the one in force
 * and its stores are the daemon's own; without one, the files are read here.
 * @see SUB-1, SUB-2 and CLI-5 in docs/specification.md
 */

import { randomBytes } from 'node:crypto';
import { type HomeSource, type LoadedHome, loadHome } from '../../actors/config/load-config.ts';
import { findLooseEnds } from '../../actors/config/route-world.ts';
import { createJobsStore } from '../../actors/cron/jobs.store.ts';
import type { Logger } from '../../actors/ports.ts';
import { defined, isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import { defaultProfile, type ProfileName, profileName } from '../../machines/base/names.ts';
import { shellWord } from '../../machines/base/shell-word.ts';
import type { Diagnostic } from '../../machines/config/diagnostic.ts';
import { holdOf } from '../../machines/config/hints.ts';
import { meantOr } from '../../machines/config/nearest.ts';
import { profilePaths } from '../../machines/config/profile.ts';
import { deliveriesOf, type Route, type RouteWithSecret, textsOfSecret } from '../../machines/config/route.ts';
import { isAsymmetric, type Source, sourceOf } from '../../machines/config/sources.ts';
import { editSubscriptions, readSubscription } from '../../machines/config/subscription.ts';
import { jobsMeant } from '../../machines/cron/job.ts';
import { compileRoute } from '../../machines/webhook/compile-route.ts';
import { handshakeCode } from '../../machines/webhook/handshake.ts';
import { sampleFor } from '../../machines/webhook/samples.ts';
import { createSourceReader, subscriptionContext } from '../webhook/route-sources.ts';
import type { RouteSources } from '../webhook/route-table.ts';
import { got, Refusal, refuse } from './contract/refusal.ts';
import type { ProviderWords, RouteDetail, RouteRow } from './contract/routes.ts';
import type { Result } from './contract.ts';

/** A home with its routes: the one in force, or the files if no daemon runs. */
export interface RoutedHome {
  readonly home: LoadedHome;
  readonly sources: RouteSources;
  /** Current findings of the files, which would block the adapter. */
  readonly problems: readonly Diagnostic[];
}

/** Where a command finds the home: `inForce` is given by a daemon. */
interface HomeOrigin {
  readonly inForce?: () => RoutedHome;
  readonly source: HomeSource;
}

export interface SubscriptionRequest {
  readonly name: string;
  readonly profile: ProfileName;
  /** The record as written; without a secret it gets one. */
  readonly record: JsonObject;
  /** Replaces a subscription of the same name. */
  readonly force: boolean;
}

/** Bytes of a generated secret (SUB-1). */
const secretBytes = 32;
const quiet: Logger = { log: () => {}, warnOnce: () => {} };

/** The home in force, or the files if no daemon runs. */
export function homeOf({ inForce, source }: HomeOrigin): LoadedHome {
  return inForce?.().home ?? loadHome(source);
}

export function routedHomeOf({ inForce, source }: HomeOrigin): RoutedHome {
  return inForce?.() ?? readRoutedHome(source);
}

export const webhooksOff = 'webhooks are not enabled; `agent gateway setup --enable` enables them';

/** Reads the files. */
export function readRoutedHome(source: HomeSource): RoutedHome {
  const home = loadHome(source);
  const sources = createSourceReader({ log: quiet, learn: () => {} }).read(home);
  return { home, sources, problems: home.webhookBlocked };
}

/**
 * The rows of `webhook list`: static and dynamic routes, and invalid ones.
 * @param listener the base URL of the listener; undefined while nothing listens
 */
export function listRoutes(
  { home, sources, problems }: RoutedHome,
  listener: string | undefined,
): Result<'webhook.list'> {
  const rowOf = routeRows(home, listener);
  const rows: RouteRow[] = sources.configured.map(rowOf);
  const taken = new Set(sources.configured.map(({ route }) => `${route.profile}/${route.name}`));
  for (const store of sources.subscriptions.values()) {
    const { routes, problems: broken, fault } = store.current();
    for (const entry of routes) {
      const hidden = taken.has(`${entry.route.profile}/${entry.route.name}`);
      rows.push({
        ...rowOf(entry),
        ...(hidden ? { problem: 'is not used: a route of config.yaml has the same name' } : {}),
      });
    }
    for (const { name, message } of broken) rows.push(brokenRow(name, message));
    if (fault !== undefined) rows.push(brokenRow('webhook_subscriptions.json', fault.message));
  }
  for (const { file, line, message } of problems) {
    rows.push(brokenRow(line === 0 ? file : `${file}:${line}`, message));
  }
  return rows;
}

/** One route, without its secret. */
export function showRoute(routed: RoutedHome, asked: AskedRoute, listener: string | undefined): RouteDetail {
  const entry = askedRouteOf(routed, asked);
  return { ...routeRows(routed.home, listener)(entry), definition: entry.route };
}

/** A route with its secret, for signing a test. */
export function askedRouteOf(routed: RoutedHome, asked: AskedRoute): RouteWithSecret {
  return knownRouteOf(routed, asked) ?? unknownRoute(routed, asked);
}

/**
 * Creates a subscription, with a generated secret if none is given; the record is checked by the rules of routes before
 * it is written.
 */
export async function subscribe(
  { home, sources }: RoutedHome,
  request: SubscriptionRequest,
  listener: string | undefined,
): Promise<Result<'webhook.subscribe'>> {
  const { name, profile, record, force } = request;
  const isStatic = sources.configured.some(({ route }) => route.name === name && route.profile === profile);
  if (isStatic) {
    refuse('subscription-static', `"${name}" is a route of config.yaml, which takes precedence; choose another name`);
  }
  checkCronJob(home, profile, record.cron_job);
  const sender = sourceOf(String(record.source));
  const url = routeUrl(publicBase(home, listener), { profile, name });
  const secrets = secretsOf(record, sender, url);
  const { secret: _, ...rest } = record;
  const whole: JsonObject = { ...rest, ...secrets.keys, created_at: new Date().toISOString() };
  const read = readSubscription(name, whole, subscriptionContext(home, profile));
  if (!read.ok) {
    const [first] = read.problems;
    const reasons = read.problems.map(({ message }) => message).join('; ');
    throw Refusal.carrying(first?.code ?? 'subscription-unfit', reasons);
  }
  const store = sources.subscriptions.get(profile);
  if (store === undefined) throw notServed(profile);
  let exists = false;
  let isHeld = false;
  got(
    await store.update((text, records) => {
      // Under the lock, because another command, or another gateway, may subscribe the same name at the same time.
      const before = records.get(name);
      exists = before !== undefined;
      if (exists && !force) return undefined;
      // A hold is not part of the definition that is replaced.
      isHeld = record.held === undefined && before?.read.ok === true && before.read.value.route.held === true;
      return editSubscriptions(text, name, isHeld ? { ...whole, held: true } : whole);
    }),
  );
  if (exists && !force) {
    refuse('subscription-exists', `"${name}" is subscribed already; remove it first or pass --force`);
  }
  const { route } = read.value;
  const row = routeRows(home, listener)(isHeld ? { ...read.value, route: { ...route, held: true } } : read.value);
  const local = routeUrl(listener ?? configuredUrl(home), { profile, name });
  return {
    ...row,
    url: `${url}${queryOf(read.value.route, secrets.keys)}`,
    ...(local === url ? {} : { local_url: local }),
    ...secrets.shown,
    ...(sender === undefined ? {} : { provider: wordsOf(read.value, sender, url) }),
  };
}

interface Secrets {
  readonly secret?: string;
  readonly verify_token?: string;
}

/** The record's keys with secrets, and those that a person is shown; missing secrets are generated. */
function secretsOf(
  { secret, verify_token: token, signature }: JsonObject,
  sender: Source | undefined,
  url: string,
): { readonly keys: Secrets; readonly shown: Secrets } {
  const given = typeof secret === 'string' && secret !== '' ? secret : undefined;
  const typedToken = typeof token === 'string' && token !== '' ? token : undefined;
  const fresh = (): string => randomBytes(secretBytes).toString('hex');
  if (sender?.secretKey === 'verify_token') {
    const made = typedToken ?? given ?? fresh();
    return { keys: { verify_token: made }, shown: { secret: made } };
  }
  // Until the provider sends the secret, a random one is stored and never shown.
  if (given === undefined && sender?.secret.sent !== undefined)
    return { keys: { secret: fresh(), verify_token: typedToken ?? fresh() }, shown: {} };
  if (given === undefined && sender !== undefined && sender.secret.typed !== true) {
    const what = `${sender.title} makes the secret: ${sender.secret.is}`;
    refuse(
      'secret-needed',
      `${what}; make the webhook there for ${url} (${sender.page}), then give it with --secret -`,
    );
  }
  const { algorithm } = isJsonObject(signature) ? signature : {};
  if (given === undefined && isAsymmetric(algorithm))
    refuse('secret-needed', `the secret of ${algorithm} is the sender’s public key; give it with --secret -`);
  const made = given ?? fresh();
  // Meta echoes a text chosen by the owner when it verifies the address.
  const second = typedToken ?? (sender?.handshake === 'meta' ? fresh() : undefined);
  const both = second === undefined ? { secret: made } : { secret: made, verify_token: second };
  return { keys: both, shown: both };
}

/**
 * The query of the address to paste: for Event Grid, and where the route declares one, the secret; for Notion and Asana the code that
 * identifies its handshake.
 */
function queryOf(route: Route, { secret = '', verify_token: code = '' }: Secrets): string {
  const sender = sourceOf(route.sender);
  const { at } = route.signature ?? sender?.schemes[0] ?? {};
  if (at !== undefined && 'query' in at) return `?${new URLSearchParams({ [at.query]: secret })}`;
  return sender?.secret.sent !== undefined && code !== '' ? `?${new URLSearchParams({ [handshakeCode]: code })}` : '';
}

function wordsOf(definition: RouteWithSecret, { title, page, secret, setup }: Source, url: string): ProviderWords {
  const sample = sampleFor(definition.route.sender, compileRoute(definition).acceptsEvent);
  const { is, typed = false, sent } = secret;
  const [key = ''] = textsOfSecret(definition.secret);
  return {
    title,
    page,
    secret: is,
    typed,
    ...(sent === undefined ? {} : { sent }),
    ...(setup === undefined
      ? {}
      : { setup: setup.replace('{url}', shellWord(url)).replace('{secret}', shellWord(key)) }),
    ...(sample === undefined ? {} : { sample }),
  };
}

export async function unsubscribe({ sources }: RoutedHome, name: string, profile: ProfileName): Promise<void> {
  const store = sources.subscriptions.get(profile);
  const standing = store?.current();
  const isNamed = ({ route }: RouteWithSecret): boolean => route.name === name;
  const known =
    standing?.routes.some(isNamed) === true || standing?.problems.some((problem) => problem.name === name) === true;
  if (store === undefined || !known) {
    const isStatic = sources.configured.some((entry) => isNamed(entry) && entry.route.profile === profile);
    const others = isStatic ? [] : [...sources.subscriptions];
    const [other] = others.find(([, one]) => one.current().routes.some(isNamed)) ?? [];
    const cure = other === undefined ? 'routes of config.yaml are removed there' : `it is one of profile "${other}"`;
    refuse('subscription-unknown', `"${name}" is no dynamic subscription of profile "${profile}"; ${cure}`);
  }
  got(await store.update((text) => editSubscriptions(text, name, undefined)));
}

export function profileOf(text: unknown): ProfileName {
  if (text === undefined || text === null || text === '') return defaultProfile;
  const given = JSON.stringify(text);
  return (typeof text === 'string' && profileName(text)) || refuse('profile-name', `${given} is no profile name`);
}

export function notServed(profile: ProfileName): Refusal {
  const cure = `set gateway.multiplex_profiles: true and make profiles/${profile}`;
  return new Refusal('profile-unknown', `profile "${profile}" is not served; ${cure}`);
}

/** A route by its name, and by its profile if one is given. */
export interface AskedRoute {
  readonly name: string;
  readonly profile?: ProfileName;
}

export function checkCronJob({ main, documents }: LoadedHome, profile: ProfileName, job: unknown): void {
  // The schema refuses what is no text.
  if (typeof job !== 'string') return;
  const document = documents.at(profilePaths(main.paths.home, profile).jobs);
  const { jobs, problem } = createJobsStore({ document }).read();
  if (jobsMeant(jobs, job).length > 0) return;
  if (problem !== undefined) refuse('cron-jobs-corrupt', problem);
  throw unknownJob(job, profile);
}

export function unknownJob(ref: string, profile: string): Refusal {
  return new Refusal(
    'cron-job-unknown',
    `cron job "${ref}" does not exist in profile "${profile}"; \`agent cron list\` lists them`,
  );
}

/** Without a profile: the route of the default profile, else the only one of that name. */
export function knownRouteOf(routed: RoutedHome, { name, profile }: AskedRoute): RouteWithSecret | undefined {
  const named = allRoutes(routed).filter(({ route }) => route.name === name);
  const wanted = profile ?? defaultProfile;
  const found = named.find(({ route }) => route.profile === wanted);
  if (found !== undefined || profile !== undefined) return found;
  const profiles = [...new Set(named.map(({ route }) => route.profile))];
  if (profiles.length > 1) {
    refuse('route-ambiguous', `"${name}" is a route of the profiles ${profiles.join(', ')}; name one with --profile`);
  }
  return named[0];
}

function unknownRoute(routed: RoutedHome, asked: AskedRoute): never {
  const routes = allRoutes(routed).map(({ route }) => route);
  const other = routes.find(({ name }) => name === asked.name);
  const near = meantOr(
    asked.name,
    routes.map(({ name }) => name),
    '`agent webhook list` lists them',
  );
  const cure =
    other === undefined ? (cureOfUnread(routed.problems) ?? near) : `it is a route of profile "${other.profile}"`;
  return refuse('route-unknown', `no route is named "${asked.name}"${ofProfile(asked)}; ${cure}`);
}

/** The remedy for a name that is not known because a file is not YAML; undefined if every file is. */
export function cureOfUnread(findings: readonly Diagnostic[]): string | undefined {
  const unread = findings.find(({ code }) => code === 'yaml-syntax');
  return unread && `${unread.file} cannot be read: \`agent config check\` shows why`;
}

function allRoutes({ sources }: RoutedHome): readonly RouteWithSecret[] {
  return [...sources.configured, ...[...sources.subscriptions.values()].flatMap((store) => store.current().routes)];
}

function ofProfile({ profile }: AskedRoute): string {
  return profile === undefined ? '' : ` of profile "${profile}"`;
}

/** Returns a function that formats a route as a row; missing things that the route names are checked now. */
function routeRows(home: LoadedHome, listener: string | undefined): (entry: RouteWithSecret) => RouteRow {
  const base = publicBase(home, listener);
  const looseEndsOf = findLooseEnds(home);
  const closed = home.main.settings.webhook.enabled ? [] : [`is not served: ${webhooksOff}`];
  return (entry) => {
    const loose = [...closed, ...looseEndsOf(entry).map(({ message }) => message)];
    return {
      ...routeRow(entry, base),
      // A disabled one accepts no events.
      ...defined({ held: entry.route.enabled ? holdOf(home.main.settings.agent.concurrency, entry.route) : undefined }),
      ...(loose.length === 0 ? {} : { problem: loose.join('; and it ') }),
    };
  };
}

function routeRow({ route }: RouteWithSecret, base: string): RouteRow {
  return {
    name: route.name,
    url: routeUrl(base, route),
    events: route.events,
    deliver: deliveriesOf(route)
      .map(({ to }) => to)
      .join(', '),
    description: route.description ?? '',
    source: route.source,
    profile: route.profile,
    enabled: route.enabled,
  };
}

export function routeUrl(base: string, route: { readonly profile: string; readonly name: string }): string {
  const name = encodeURIComponent(route.name);
  return `${base}${route.profile === defaultProfile ? '' : `/p/${route.profile}`}/webhooks/${name}`;
}

/** The base of addresses that people read and paste: `public_url`, else the listener's own. */
export function publicBase(home: LoadedHome, listener: string | undefined): string {
  return home.main.settings.webhook.publicUrl ?? listener ?? configuredUrl(home);
}

function brokenRow(name: string, problem: string): RouteRow {
  return { name, url: '', events: [], deliver: '', description: '', problem };
}

function configuredUrl(home: LoadedHome): string {
  const { host, port } = home.main.settings.webhook;
  const shown = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${shown.includes(':') ? `[${shown}]` : shown}:${port}`;
}
