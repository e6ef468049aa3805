/**
 * Reads a written route into the one that the gateway uses, or reports why the adapter must not start with it. Serves static
 * routes and dynamic subscriptions.
 * @see RTE-1, SIG-5, SIG-6 and PRF-1 in docs/specification.md
 */

import { defined, isJsonObject, type JsonObject } from '../base/json.ts';
import { defaultProfile, type ProfileName, profileName, routeName } from '../base/names.ts';
import { declared } from './declared.ts';
import type { EntryFinding } from './diagnostic.ts';
import { readSecret, type SecretContext, type WrittenRoute } from './read-secret.ts';
import { type Refuse, readSigning } from './read-signature.ts';
import {
  deliverEntry,
  type FollowedStep,
  type Route,
  type RouteDelivery,
  type RouteWithSecret,
  routeSchema,
  templateToken,
} from './route.ts';
import { sourceOf } from './sources.ts';
import { canonicalTarget, cureOfTarget } from './targets.ts';

export interface RouteContext extends SecretContext {
  /** The profile whose file contains the route; it cannot declare a route of another profile. */
  readonly profile: ProfileName;
  readonly checkFilters: FilterChecker;
  /** Keys that the schema has already rejected; what depends on them is not checked. */
  readonly unread?: ReadonlySet<string>;
  /** The existing profiles; absent if unknown. */
  readonly profiles?: ReadonlySet<string>;
}

/** Checks the conditions of a profile's route; injected, because machines/webhook/ reads conditions. */
export type FilterChecker = (conditions: readonly JsonObject[], profile: ProfileName) => readonly EntryFinding[];

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

/** What several checks use of a written route. */
interface Sketch extends WrittenRoute {
  /** Without the keys that the schema has rejected. */
  readonly sound: JsonObject;
  readonly deliver: string;
  readonly deliverTo: Route['deliverTo'] | undefined;
  readonly onFailure: string | undefined;
  readonly deliverOnly: boolean;
  readonly hasCron: boolean;
}

/** Reads a route that passed the schema, except for the keys in `context.unread`. */
export function readRoute(name: string, written: JsonObject, context: RouteContext): RouteRead {
  const findings: EntryFinding[] = [];
  const warnings: EntryFinding[] = [];
  const into =
    (found: EntryFinding[]): Refuse =>
    (path, message, code) =>
      void found.push({ path, message: `route "${name}" ${message}`, code });
  const refuse = into(findings);
  const warn = into(warnings);
  const sketch = sketchOf(name, written, context);
  checkTargets(sketch, context, refuse);
  checkSteps(sketch, refuse);
  checkTogether(sketch, refuse);
  const profile = readProfile(sketch, context, refuse);
  const signing = readSigning(written, { publicUrl: context.publicUrl, unread: sketch.isUnread }, refuse);
  const secret = readSecret(sketch, signing, context, { refuse, warn });
  const events = Array.isArray(written.events) ? written.events : [];
  if (context.source === 'static' && events.length === 0 && sourceOf(signing.sender)?.sendsBodyTwice === true) {
    warn(['source'], unlistedEvents, 'events-unlisted');
  }
  const conditions = Array.isArray(written.filters) ? (written.filters as readonly JsonObject[]) : [];
  for (const found of context.checkFilters(conditions, profile ?? context.profile)) {
    refuse(['filters', ...found.path], `has a filter that cannot be used: ${found.message}`, found.code);
  }
  if (findings.length > 0 || secret === undefined || profile === undefined) {
    const route = routeOf(sketch, context.source, profile ?? context.profile);
    return { ok: false, findings, draft: { route, secret: secret ?? { kind: 'shared', secret: '' } }, warnings };
  }
  return { ok: true, value: { route: { ...routeOf(sketch, context.source, profile), ...signing }, secret }, warnings };
}

export const unlistedEvents =
  'lists no events, and its source sends several with the same body, of which one would run, because nothing signs their types; list them in events';

function sketchOf(name: string, written: JsonObject, { unread }: RouteContext): Sketch {
  const isUnread = (key: string): boolean => unread?.has(key) === true;
  const sound = Object.fromEntries(Object.entries(written).filter(([key]) => !isUnread(key)));
  const { deliver, on_failure } = sound;
  const deliverTo = Array.isArray(deliver) ? (deliver as readonly JsonObject[]).map(entryOf) : undefined;
  return {
    name,
    written,
    sound,
    isUnread,
    deliver: deliverTo?.[0]?.to ?? (typeof deliver === 'string' ? deliver : defaultTarget),
    deliverTo,
    onFailure: on_failure as string | undefined,
    deliverOnly: written.deliver_only === true,
    hasCron: written.cron_job !== undefined,
  };
}

/** Checks where responses and notices go. */
function checkTargets(
  { written, isUnread, deliver, deliverTo, onFailure, deliverOnly }: Sketch,
  { checkFilters, profile }: RouteContext,
  refuse: Refuse,
): void {
  const named = deliverTo?.map(({ to }, index) => ({ to, path: ['deliver', index, 'to'] }));
  for (const { to, path } of named ?? [{ to: deliver, path: ['deliver'] }]) {
    if (canonicalTarget(to) !== undefined) continue;
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
    for (const found of checkFilters(when, profile)) {
      refuse(
        ['deliver', index, 'when', ...found.path],
        `has a condition in deliver that cannot be used: ${found.message}`,
        found.code,
      );
    }
  }
  if (onFailure !== undefined && canonicalTarget(onFailure) === undefined) {
    refuse(
      ['on_failure'],
      `notifies "${onFailure}" of failed runs, which is no target; ${cureOfTarget(onFailure)}`,
      'deliver-unknown',
    );
  }
  const isLogged = (deliverTo?.map(({ to }) => to) ?? [deliver]).every((to) => canonicalTarget(to) === 'log');
  if (deliverOnly && isLogged && !isUnread('deliver')) {
    refuse(
      ['deliver_only'],
      'sets deliver_only but delivers to "log"; name a real target such as telegram, or drop deliver_only',
      'deliver-only-needs-target',
    );
  }
}

/** Checks the steps of its runs that are reported by http (DLV-6). */
function checkSteps({ sound, deliver, deliverTo, onFailure, deliverOnly, hasCron }: Sketch, refuse: Refuse): void {
  const { on } = sound;
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
    } else if (Array.isArray(steps) && steps.includes('failed') && canonicalTarget(onFailure ?? '') === 'http') {
      refuse(path, 'sets on: [failed] together with on_failure: http; keep one of them', 'on-with-on-failure');
    }
  }
}

/** Checks keys that exclude each other, and the key of a batch. */
function checkTogether({ written, deliverOnly, hasCron }: Sketch, refuse: Refuse): void {
  const { coalesce } = written;
  if (hasCron && deliverOnly) {
    refuse(['cron_job'], 'sets cron_job together with deliver_only; keep one of them', 'cron-job-with-deliver-only');
  }
  if (coalesce !== undefined && hasCron) {
    refuse(['coalesce'], 'sets coalesce together with cron_job; keep one of them', 'coalesce-not-allowed');
  }
  if (!isJsonObject(coalesce)) return;
  // The events of a window are delivered only if the route says which of them.
  if (deliverOnly && coalesce.mode === undefined) {
    refuse(
      ['coalesce'],
      'sets coalesce together with deliver_only; keep one of them, or set coalesce.mode to latest or batch to deliver the newest or all texts of a window',
      'coalesce-not-allowed',
    );
  }
  const literal = typeof coalesce.key === 'string' ? literalGroup(coalesce.key) : undefined;
  if (literal !== undefined) {
    refuse(
      ['coalesce', 'key'],
      `has a coalescing key in which "${literal}" is no token, so all events would have the same key; a token is letters, digits, "_" and "." in braces, and other fields are named alone, without braces`,
      'coalesce-key',
    );
  }
}

/** The first group in braces that is not a token, or the entire key if it has a brace but no group. */
function literalGroup(key: string): string | undefined {
  if (!key.includes('{')) return undefined;
  const groups = key.match(/\{[^{}]*\}/g) ?? [];
  return groups.find((group) => group.replace(templateToken, '') !== '') ?? (groups.length === 0 ? key : undefined);
}

/** The route's profile; undefined if it names one that it cannot have. */
function readProfile({ sound }: Sketch, context: RouteContext, refuse: Refuse): ProfileName | undefined {
  const { profile: own, profiles } = context;
  const isHome = own === defaultProfile;
  const named = sound.profile === undefined ? own : profileName(String(sound.profile));
  // A named profile's file declares routes only for itself; the home's file may bind any profile.
  const profile = isHome || named === own ? named : undefined;
  if (profile === undefined) {
    const why = isHome ? 'is no profile name' : `is not "${own}", whose file this is`;
    refuse(['profile'], `names the profile "${String(sound.profile)}", which ${why}`, 'route-profile');
  } else if (profiles?.has(profile) === false) {
    refuse(
      ['profile'],
      `names the profile "${profile}", which does not exist; make the folder profiles/${profile} with its config.yaml, or name another`,
      'profile-missing',
    );
  }
  return profile;
}

function routeOf(sketch: Sketch, source: Route['source'], profile: ProfileName): Route {
  const { name, deliver, deliverTo, written } = sketch;
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
    allowIdenticalBodies: read.allow_identical_bodies || sourceOf(read.source)?.repeatsBody === true,
    onFailure: read.on_failure,
    // If on_failure cannot be read, its extra is not reported as unused.
    onFailureExtra: sketch.isUnread('on_failure') ? undefined : (read.on_failure_extra as JsonObject | undefined),
    ...followed(sketch),
    // Hermes Agent writes an empty prompt where none is given. A job may be fired without context.
    prompt: read.prompt === '' && cronJob === undefined ? undefined : read.prompt,
    script: read.script,
    toolsets: read.toolsets,
    cronJob: cronJob === undefined ? undefined : String(cronJob),
    concurrency: read.concurrency,
    held: read.held || undefined,
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
function followed({ sound, deliver, deliverTo, onFailure, deliverOnly, hasCron }: Sketch): Partial<Route> {
  if (deliverOnly || hasCron) return {};
  // Failures have one destination unless both are named.
  const defaultSteps: readonly FollowedStep[] = onFailure === undefined ? ['finished', 'failed'] : ['finished'];
  const isHttp = (to: string): boolean => canonicalTarget(to) === 'http';
  if (deliverTo !== undefined)
    return { deliverTo: deliverTo.map((entry) => (isHttp(entry.to) ? { on: defaultSteps, ...entry } : entry)) };
  if (!isHttp(deliver)) return {};
  return { on: Array.isArray(sound.on) ? (sound.on as readonly FollowedStep[]) : defaultSteps };
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

function milliseconds(seconds: number): number {
  return Math.round(seconds * 1_000);
}
