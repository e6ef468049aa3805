/**
 * Reads a written route into the one that the gateway uses, or reports why the adapter must not start with it. Serves static
 * routes and dynamic subscriptions.
 * @see RTE-1, SIG-5, SIG-6 and PRF-1 in docs/specification.md
 */

import { defined, isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { defaultProfile, type ProfileName, profileName, routeName } from '../base/names.ts';
import { declared } from './declared.ts';
import type { ConfigPath } from './document.ts';
import { unresolvedReference } from './interpolate.ts';
import { readSigning, strangeSecret } from './read-signature.ts';
import {
  deliverEntry,
  type FollowedStep,
  type Route,
  type RouteDelivery,
  type RouteSecret,
  type RouteWithSecret,
  routeSchema,
  templateToken,
  textsOfSecret,
} from './route.ts';
import { insecureSecret, weaknessOf } from './secret-strength.ts';
import type { EntryFinding } from './server-entry.ts';
import { sourceOf } from './sources.ts';
import { canonicalTarget, cureOfTarget } from './targets.ts';

export interface RouteContext {
  readonly source: 'static' | 'dynamic';
  /** The profile whose file contains the route; it cannot declare a route of another profile. */
  readonly profile: ProfileName;
  /** Where senders reach the listener. */
  readonly publicUrl?: string | undefined;
  /** The global fallback secret. */
  readonly secret?: string;
  /** The names that the secret refers to as it is written; absent if it was not interpolated. */
  readonly referred?: readonly string[];
  /** The listener's bind address. */
  readonly host: string;
  /** Whether a weak secret is only a warning when the listener is bound outside loopback. */
  readonly allowWeakSecrets?: boolean;
  readonly checkFilters: FilterChecker;
  /** Keys that the schema has already rejected; what depends on them is not checked. */
  readonly unread?: ReadonlySet<string>;
  /** The existing profiles; absent if unknown. */
  readonly profiles?: ReadonlySet<string>;
}

/** Checks the conditions of a profile's route; injected, because machines/webhook/ reads conditions. */
export type FilterChecker = (
  conditions: readonly JsonObject[],
  profile: ProfileName,
) => readonly { readonly path: ConfigPath; readonly message: string; readonly code: string }[];

export type RouteRead =
  /** Warnings stop nothing. */
  | { readonly ok: true; readonly value: RouteWithSecret; readonly warnings: readonly EntryFinding[] }
  | {
      readonly ok: false;
      readonly findings: readonly EntryFinding[];
      /** The route without its faulty parts, so that the rest is checked in the same pass (CFG-7). Not for use. */
      readonly draft: RouteWithSecret;
      readonly warnings: readonly EntryFinding[];
    };

const defaultTarget = routeSchema.properties.deliver.default;
const loopbackHosts: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '::1']);
/** Text that a header carries unchanged through every HTTP server and proxy. */
const headerSafe = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** Reads a route that passed the schema, except for the keys in `context.unread`. */
export function readRoute(name: string, written: JsonObject, context: RouteContext): RouteRead {
  const findings: EntryFinding[] = [];
  const refuse = (path: ConfigPath, message: string, code: string): void => {
    findings.push({ path, message: `route "${name}" ${message}`, code });
  };
  const unread = (key: string): boolean => context.unread?.has(key) === true;
  const given = unread('deliver') ? undefined : written.deliver;
  const deliverTo = Array.isArray(given) ? (given as readonly JsonObject[]).map(entryOf) : undefined;
  const deliver = deliverTo?.[0]?.to ?? (typeof given === 'string' ? given : defaultTarget);
  const target = canonicalTarget(deliver);
  for (const [index, to] of (deliverTo?.map(({ to }) => to) ?? [deliver]).entries()) {
    if (canonicalTarget(to) !== undefined) continue;
    const path = deliverTo === undefined ? ['deliver'] : ['deliver', index, 'to'];
    refuse(path, `delivers to "${to}", which is no target; ${cureOfTarget(to)}`, 'deliver-unknown');
  }
  if (deliverTo !== undefined && written.deliver_extra !== undefined) {
    refuse(
      ['deliver_extra'],
      'sets deliver_extra beside a list in deliver; give each entry an extra of its own',
      'deliver-extra-with-list',
    );
  }
  for (const [index, { when }] of deliverTo?.entries() ?? []) {
    for (const found of context.checkFilters(when, context.profile)) {
      refuse(
        ['deliver', index, 'when', ...found.path],
        `has a condition in deliver that cannot be used: ${found.message}`,
        found.code,
      );
    }
  }
  const notified = unread('on_failure') ? undefined : (written.on_failure as string | undefined);
  if (notified !== undefined && canonicalTarget(notified) === undefined) {
    refuse(
      ['on_failure'],
      `notifies "${notified}" of failed runs, which is no target; ${cureOfTarget(notified)}`,
      'deliver-unknown',
    );
  }
  const deliverOnly = written.deliver_only === true;
  const hasCron = written.cron_job !== undefined;
  const isLogged = deliverTo?.every(({ to }) => canonicalTarget(to) === 'log') ?? target === 'log';
  if (deliverOnly && isLogged && !unread('deliver')) {
    refuse(
      ['deliver_only'],
      'sets deliver_only but delivers to "log"; name a real target such as telegram, or drop deliver_only',
      'deliver-only-needs-target',
    );
  }
  const on = unread('on') ? undefined : written.on;
  if (on !== undefined && deliverTo !== undefined) {
    refuse(['on'], 'sets on beside a list in deliver; give its entry of http an on of its own', 'on-needs-http');
  }
  const followed = deliverTo?.map((entry, index) => ({ ...entry, path: ['deliver', index, 'on'] }));
  for (const { to, on: steps, path } of followed ?? [{ to: deliver, on, path: ['on'] }]) {
    if (steps === undefined) continue;
    if (canonicalTarget(to) !== 'http') {
      refuse(
        path,
        `sets on but delivers to "${to}", which reports no runs; deliver to http, or drop on`,
        'on-needs-http',
      );
    } else if (deliverOnly || hasCron) {
      const other = deliverOnly ? 'deliver_only' : 'cron_job';
      refuse(
        path,
        `sets on together with ${other}, so that no run of its own is reported; keep one of them`,
        'on-unused',
      );
    } else if (Array.isArray(steps) && steps.includes('failed') && canonicalTarget(notified ?? '') === 'http') {
      refuse(path, 'sets on: [failed] together with on_failure: http; keep one of them', 'on-with-on-failure');
    }
  }
  if (hasCron && deliverOnly) {
    refuse(['cron_job'], 'sets cron_job together with deliver_only; keep one of them', 'cron-job-with-deliver-only');
  }
  if (written.coalesce !== undefined && hasCron) {
    refuse(['coalesce'], 'sets coalesce together with cron_job; keep one of them', 'coalesce-not-allowed');
  }
  // The events of a window are delivered only if the route says which of them.
  if (deliverOnly && isJsonObject(written.coalesce) && written.coalesce.mode === undefined) {
    refuse(
      ['coalesce'],
      'sets coalesce together with deliver_only; keep one of them, or set coalesce.mode to latest or batch to deliver the newest or all texts of a window',
      'coalesce-not-allowed',
    );
  }
  const groupKey = isJsonObject(written.coalesce) ? written.coalesce.key : undefined;
  const literal = typeof groupKey === 'string' ? literalGroup(groupKey) : undefined;
  if (literal !== undefined) {
    refuse(
      ['coalesce', 'key'],
      `has a coalescing key in which "${literal}" is no token, so all events would have the same key; a token is letters, digits, "_" and "." in braces, and other fields are named alone, without braces`,
      'coalesce-key',
    );
  }
  const profile = unread('profile') ? context.profile : profileOf(written, context);
  if (profile === undefined) {
    refuse(
      ['profile'],
      `names the profile "${String(written.profile)}", which ${context.profile === defaultProfile ? 'is no profile name' : `is not "${context.profile}", whose file this is`}`,
      'route-profile',
    );
  }
  if (profile !== undefined && context.profiles?.has(profile) === false) {
    refuse(
      ['profile'],
      `names the profile "${profile}", which does not exist; make the folder profiles/${profile} with its config.yaml, or name another`,
      'profile-missing',
    );
  }
  const verifyToken = unread('verify_token') ? undefined : (written.verify_token as string | undefined);
  const signing = readSigning(written, { publicUrl: context.publicUrl, unread }, refuse);
  const secretKey = sourceOf(signing.sender)?.secretKey ?? 'secret';
  // A missing or unusable secret has its own finding.
  const isLacking = secretKey !== 'secret' && (verifyToken === undefined || written.secret !== undefined);
  const held =
    isLacking || unread('secret') || unread(secretKey)
      ? undefined
      : secretOf({ ...written, secret: written[secretKey] as Json }, context, refuse);
  const secret = held?.kind === 'shared' && verifyToken !== undefined ? { ...held, verifyToken } : held;
  const warnings: EntryFinding[] = [];
  const own = written[secretKey] === undefined ? undefined : secret;
  if (held?.kind === 'insecure' && isPublic(context.publicUrl)) {
    const message = `route "${name}" uses ${insecureSecret} while platforms.webhook.extra.public_url is "${context.publicUrl}", so that everyone who reaches that address can send to it; give the route a secret`;
    warnings.push({ path: own === undefined ? [] : [secretKey], message, code: 'insecure-not-loopback' });
  }
  for (const text of own === undefined ? [] : textsOfSecret(own)) {
    const weak = weakOutside({ secret: text, route: name }, context);
    if (weak?.severity === 'error') refuse([secretKey], weak.why, weakSecretCode);
    else if (weak !== undefined) {
      warnings.push({ path: [secretKey], message: `route "${name}" ${weak.why}`, code: weakSecretCode });
    }
  }
  for (const text of secret === undefined ? [] : textsOfSecret(secret)) {
    const strange = strangeSecret(text, signing);
    const path = own === undefined ? ['source'] : [secretKey];
    if (strange?.isCertain === true) refuse(path, strange.why, 'secret-strange');
    else if (strange !== undefined) {
      warnings.push({ path, message: `route "${name}" ${strange.why}`, code: 'secret-strange' });
    }
  }
  if (own !== undefined && signing.sender === undefined && signing.signature === undefined && !isHeaderSafe(own)) {
    warnings.push({ path: ['secret'], message: `route "${name}" ${unsafeSecret}`, code: 'secret-not-header-safe' });
  }
  const events = Array.isArray(written.events) ? written.events : [];
  if (sourceOf(signing.sender)?.sendsBodyTwice === true && events.length === 0) {
    warnings.push({ path: ['source'], message: `route "${name}" ${unlistedEvents}`, code: 'events-unlisted' });
  }
  const conditions = Array.isArray(written.filters) ? (written.filters as readonly JsonObject[]) : [];
  for (const found of context.checkFilters(conditions, profile ?? context.profile)) {
    refuse(['filters', ...found.path], `has a filter that cannot be used: ${found.message}`, found.code);
  }
  const { source } = context;
  if (findings.length > 0 || secret === undefined || profile === undefined) {
    const { on_failure_extra: _, ...rest } = written;
    // If on_failure cannot be read, its extra is not reported as unused.
    const readable = unread('on_failure') ? rest : written;
    const route = routeOf(name, readable, { source, profile: profile ?? context.profile, deliver, deliverTo });
    return { ok: false, findings, draft: { route, secret: secret ?? { kind: 'shared', secret: '' } }, warnings };
  }
  return {
    ok: true,
    value: { route: { ...routeOf(name, written, { source, profile, deliver, deliverTo }), ...signing }, secret },
    warnings,
  };
}

/** Whether senders reach a listener on loopback from elsewhere, by a proxy. */
export function isPublic(publicUrl = ''): boolean {
  return URL.canParse(publicUrl) && !loopbackHosts.has(new URL(publicUrl).hostname.replace(/[[\]]/g, ''));
}

export const weakSecretCode = 'secret-weak';

/**
 * Why a secret is too weak for a listener that other machines can reach, as the predicate of a sentence; undefined if it is
 * strong enough or other machines cannot reach the listener. Behind a proxy it is a warning (SEC-6).
 */
export function weakOutside(
  { secret, route }: { readonly secret: string; readonly route?: string | undefined },
  { host, publicUrl, allowWeakSecrets }: Pick<RouteContext, 'host' | 'publicUrl' | 'allowWeakSecrets'>,
): { readonly why: string; readonly severity: 'error' | 'warning' } | undefined {
  const weakness = secret === insecureSecret ? undefined : weaknessOf(secret, route);
  const isBound = !loopbackHosts.has(host);
  if (weakness === undefined || !(isBound || isPublic(publicUrl))) return undefined;
  const reached = isBound ? `the adapter binds "${host}"` : `platforms.webhook.extra.public_url is "${publicUrl}"`;
  const cure = isBound
    ? ', bind 127.0.0.1, localhost or ::1, or set platforms.webhook.extra.allow_weak_secrets: true'
    : '';
  return {
    why: `has a secret that ${weakness}, while ${reached}; make one by \`openssl rand -hex 32\`${cure}`,
    severity: isBound && allowWeakSecrets !== true ? 'error' : 'warning',
  };
}

/** The warning about a secret that is unsafe in a header; HMAC schemes are not affected. */
export const unsafeSecret =
  'has a secret that signs well but cannot be relied on as a token (X-Gitlab-Token): headers lose spaces and bytes beyond ASCII at their ends; choose visible ASCII';

const unlistedEvents =
  'lists no events, and its source sends several with the same body, of which one would run, because nothing signs their types; list them in events';

/** Whether a secret arrives unchanged if the sender puts it into a header (GitLab's scheme). */
export function isHeaderSafe(secret: RouteSecret): boolean {
  return textsOfSecret(secret).every((text) => headerSafe.test(text));
}

/** The first group in braces that is not a token, or the entire key if it has a brace but no group. */
function literalGroup(key: string): string | undefined {
  if (!key.includes('{')) return undefined;
  const groups = key.match(/\{[^{}]*\}/g) ?? [];
  return groups.find((group) => group.replace(templateToken, '') !== '') ?? (groups.length === 0 ? key : undefined);
}

function routeOf(
  name: string,
  written: JsonObject,
  {
    source,
    profile,
    deliver,
    deliverTo,
  }: Pick<Route, 'source' | 'profile' | 'deliver'> & { readonly deliverTo: Route['deliverTo'] | undefined },
): RouteWithSecret['route'] {
  const read = declared(routeSchema, written);
  const { cron_job: cronJob, coalesce } = read;
  return defined({
    name: routeName(name),
    source,
    profile,
    enabled: read.enabled,
    events: read.events,
    filters: read.filters as readonly JsonObject[],
    scriptTimeoutMs: milliseconds(read.script_timeout_seconds),
    skills: read.skills,
    deliver,
    deliverExtra: deliverTo?.[0]?.extra ?? (read.deliver_extra as JsonObject),
    deliverTo,
    deliverOnly: read.deliver_only,
    allowIdenticalBodies: read.allow_identical_bodies,
    onFailure: read.on_failure,
    onFailureExtra: read.on_failure_extra as JsonObject | undefined,
    ...followed(written, { deliver, deliverTo }),
    prompt: read.prompt,
    script: read.script,
    toolsets: read.toolsets,
    cronJob: cronJob === undefined ? undefined : String(cronJob),
    concurrency: read.concurrency,
    body: read.body,
    description: read.description,
    createdAt: read.created_at,
    coalesce:
      coalesce &&
      defined({
        key: coalesce.key,
        windowMs: milliseconds(coalesce.window_seconds),
        maxWaitMs: milliseconds(coalesce.max_wait_seconds),
        mode: coalesce.mode === 'batch' ? 'batch' : undefined,
      }),
  });
}

/** The steps that http reports, for the route or for each entry of a list. */
function followed(
  written: JsonObject,
  { deliver, deliverTo }: { readonly deliver: string; readonly deliverTo: Route['deliverTo'] | undefined },
): Partial<Route> {
  const { on, on_failure, deliver_only, cron_job } = written;
  if (deliver_only === true || cron_job !== undefined) return {};
  // Failures have one destination unless both are named.
  const usual: readonly FollowedStep[] = on_failure === undefined ? ['finished', 'failed'] : ['finished'];
  const isHttp = (to: string): boolean => canonicalTarget(to) === 'http';
  if (deliverTo !== undefined)
    return { deliverTo: deliverTo.map((entry) => (isHttp(entry.to) ? { on: usual, ...entry } : entry)) };
  if (!isHttp(deliver)) return {};
  const steps = Array.isArray(on) ? (on as readonly FollowedStep[]) : usual;
  return { on: steps };
}

/** An entry that passed the schema. */
function entryOf(written: JsonObject): RouteDelivery {
  const { to = defaultTarget, extra, when, text, on } = declared(deliverEntry, written) ?? {};
  return defined({
    to,
    extra: (extra ?? {}) as JsonObject,
    when: (when ?? []) as readonly JsonObject[],
    text,
    on,
  });
}

function profileOf(written: JsonObject, { profile }: RouteContext): ProfileName | undefined {
  if (written.profile === undefined) return profile;
  const named = profileName(String(written.profile));
  // A named profile's file declares routes only for itself; the home's file may bind any profile.
  return profile === defaultProfile || named === profile ? named : undefined;
}

function secretOf(
  written: JsonObject,
  context: RouteContext,
  refuse: (path: ConfigPath, message: string, code: string) => void,
): RouteSecret | undefined {
  const given = Array.isArray(written.secret) ? (written.secret as readonly string[]) : [written.secret];
  if (given.includes('')) {
    refuse(
      ['secret'],
      'has an empty secret; give it one, or drop the key to use the global secret',
      'route-secret-empty',
    );
    return undefined;
  }
  const texts = written.secret === undefined ? [context.secret ?? ''] : (given as readonly string[]);
  const [secret = '', ...older] = texts;
  if (secret === '') {
    refuse(
      [],
      'has no secret and there is no global one; set its secret, platforms.webhook.extra.secret, or WEBHOOK_SECRET',
      'route-secret-missing',
    );
    return undefined;
  }
  const path = written.secret === undefined ? [] : ['secret'];
  const unset = texts.map(unresolvedReference).find((name) => name !== undefined);
  if (unset !== undefined) {
    refuse(path, whyUnresolved(unset, written.secret, context), 'secret-unresolved');
    return undefined;
  }
  if (!texts.includes(insecureSecret)) return { kind: 'shared', secret, ...(older.length === 0 ? {} : { older }) };
  if (older.length > 0) {
    refuse(
      path,
      `has ${insecureSecret} in a list of secrets, which would let everybody in; drop it`,
      'insecure-in-list',
    );
    return undefined;
  }
  if (loopbackHosts.has(context.host)) return { kind: 'insecure' };
  refuse(
    path,
    `uses ${insecureSecret} while the adapter binds "${context.host}"; bind 127.0.0.1, localhost or ::1, or give the route a secret`,
    'insecure-not-loopback',
  );
  return undefined;
}

/** An unresolved reference as the key would be readable by everyone in the documentation. */
function whyUnresolved(name: string, own: unknown, { source, referred }: RouteContext): string {
  if (own === undefined) return `has no secret of its own and the global one refers to "${name}", which is not set`;
  if (referred !== undefined && !referred.includes(name)) return `has a secret from a variable ${rescanned(name)}`;
  return source === 'dynamic'
    ? `has a secret that refers to "${name}", and references are not read in the subscriptions file; write the secret itself`
    : `has a secret that refers to "${name}", which is not set; set ${name} in the profile's .env or in the environment`;
}

/** Why a reference within the value of a variable is not resolved, after the words for the variable. */
export function rescanned(name: string): string {
  return `whose value holds "\${${name}}", and values of variables are not read for references; write the secret itself into the variable`;
}

function milliseconds(seconds: number): number {
  return Math.round(seconds * 1_000);
}
