/**
 * Reads the webhook adapter of one `config.yaml`: its listener, secret and routes, with their findings. A named profile's
 * routes share the home's listener.
 * @see ADP-1, RTE-1 and PRF-2 in docs/specification.md
 */

import { defined, isJsonObject, type JsonObject, objectAt } from '../base/json.ts';
import { defaultProfile, type ProfileName } from '../base/names.ts';
import type { Pieces } from '../base/pieces.ts';
import type { ConfigPath } from './document.ts';
import type { Findings } from './findings.ts';
import {
  type InterpolationScope,
  interpolate,
  refersToUnset,
  unresolvedReference,
  variablesIn,
} from './interpolate.ts';
import { keysOfTheHome, variablesOfTheHome } from './profile-keys.ts';
import { type FilterChecker, readRoute } from './read-route.ts';
import { isHeaderSafe, type Listener, rescanned, unsafeSecret, weakOutside, weakSecretCode } from './read-secret.ts';
import type { RouteWithSecret } from './route.ts';
import type { WebhookSettings } from './settings.ts';
import { resolvedProblem } from './validate.ts';
import { listenerKeys, readListener, webhookKey } from './webhook-settings.ts';

export interface WebhookSource {
  readonly profile: ProfileName;
  readonly scope: InterpolationScope;
  readonly checkFilters: FilterChecker;
  /** The home's listener, which a named profile's routes share: its address always, its secret if the profile has none. */
  readonly listener?: Listener;
  /** The existing profiles; absent if unknown. */
  readonly profiles?: ReadonlySet<string>;
}

const adapter: ConfigPath = ['platforms', 'webhook'];
const loopback = 'localhost';

interface WebhookRead {
  readonly settings: WebhookSettings;
  /** Every route as far as it can be read, only for checks. */
  readonly drafts: readonly RouteWithSecret[];
}

export function* readingWebhook(findings: Findings, source: WebhookSource): Pieces<WebhookRead> {
  const { written } = findings;
  const isNamed = source.listener !== undefined;
  const webhook = objectAt(written, 'platforms', 'webhook');
  // The process environment belongs to the home; a profile only has its `.env`.
  const env = isNamed ? { WEBHOOK_SECRET: source.scope.secrets.get('WEBHOOK_SECRET') } : source.scope.env;
  const listener = readListener(interpolate(soundPart(webhook, findings), source.scope) as JsonObject, env);
  for (const { variable, ...found } of listener.findings) {
    findings.reportOutside(isNamed ? envFileOf(source) : variable, found);
  }
  if (isNamed) reportKeysOfTheHome(findings, source);
  else reportPublicUrl(findings, { webhook, publicUrl: listener.settings.publicUrl });
  reportKeysTwice(findings, webhook);
  const own = listener.settings.secret;
  const { host, allowWeakSecrets = false, publicUrl } = source.listener ?? listener.settings;
  // A profile that sets its secret, even to an empty one, never falls back to the home's.
  const saysSecret = webhookKey(webhook, 'secret') !== undefined || env.WEBHOOK_SECRET !== undefined;
  const secret = own ?? (saysSecret ? undefined : source.listener?.secret);
  const shared = defined({ host, allowWeakSecrets, publicUrl, secret });
  const judged = { ...shared, host: isHostUnread(findings, isNamed) ? loopback : host };
  reportSecret(findings, source, { webhook, secret: own, reach: judged });
  const { routes, drafts } = yield* readingRoutes(findings, source, judged);
  return { settings: { ...listener.settings, ...shared, routes }, drafts };
}

export function routesPath(written: JsonObject): ConfigPath {
  const under = webhookKey(objectAt(written, 'platforms', 'webhook'), 'routes')?.under;
  return keyPath('routes', under);
}

function keyPath(key: string, under: 'extra' | 'direct' | undefined): ConfigPath {
  return under === 'extra' ? [...adapter, 'extra', key] : [...adapter, key];
}

/** Without routes, of which there may be thousands. */
function soundPart({ routes: _, ...webhook }: JsonObject, findings: Findings): JsonObject {
  const { routes: __, ...extra } = objectAt(webhook, 'extra');
  return {
    ...findings.readable(webhook, ...adapter),
    // An unreadable value counts as true: otherwise the adapter would seem switched off (CFG-3).
    ...(webhook.enabled === undefined ? {} : { enabled: webhook.enabled }),
    extra: findings.readable(extra, ...adapter, 'extra'),
  };
}

function reportKeysOfTheHome(findings: Findings, source: WebhookSource): void {
  const code = 'profile-key-unused';
  for (const path of keysOfTheHome(findings.written)) {
    const message = `"${path.join('.')}" takes no effect in a profile: one gateway serves them all; set it in the home's config.yaml`;
    findings.report({ path, message, code }, 'warning');
  }
  for (const variable of variablesOfTheHome(source.scope.secrets)) {
    const message = `${variable} takes no effect in a profile: one gateway serves them all; set it in the home's .env`;
    findings.reportOutside(envFileOf(source), { message, code }, 'warning');
  }
}

/** Of a key that is set in both places, the one under `extra` counts (ADP-1). */
function reportKeysTwice(findings: Findings, webhook: JsonObject): void {
  for (const key of Object.keys(objectAt(webhook, 'extra'))) {
    if (key === 'extra' || webhook[key] === undefined) continue;
    const message = `platforms.webhook.${key} takes no effect, because platforms.webhook.extra.${key} is set too; keep one of them`;
    findings.report({ path: keyPath(key, 'direct'), message, code: 'webhook-key-twice' }, 'warning');
  }
}

function reportPublicUrl(
  findings: Findings,
  { webhook, publicUrl }: { readonly webhook: JsonObject; readonly publicUrl: string | undefined },
): void {
  const path = keyPath('public_url', webhookKey(webhook, 'public_url')?.under);
  if (publicUrl === undefined || findings.isRefused(path)) return;
  const wrong = resolvedProblem(path.join('.'), publicUrl, listenerKeys.public_url);
  if (wrong !== undefined) findings.report({ path, ...wrong });
}

/** Reports a global secret that is an unset reference, weak, or unsafe in a header. */
function reportSecret(
  findings: Findings,
  source: WebhookSource,
  {
    webhook,
    secret,
    reach,
  }: { readonly webhook: JsonObject; readonly secret: string | undefined; readonly reach: Listener },
): void {
  if (secret === undefined) return;
  const under = webhookKey(webhook, 'secret')?.under;
  const path = keyPath('secret', under);
  const unset = unresolvedReference(secret);
  if (unset !== undefined) {
    const code = 'secret-unresolved';
    if (under === undefined) {
      const message = `WEBHOOK_SECRET refers to "${unset}", and references are not read in variables; write the secret itself`;
      findings.reportOutside(placeOfVariable(source), { message, code });
    } else {
      const message = variablesIn(webhookKey(webhook, 'secret')?.value ?? '').includes(unset)
        ? `the global webhook secret ${refersToUnset(unset)}`
        : `the global webhook secret comes from a variable ${rescanned(unset)}`;
      findings.report({ path, message, code });
    }
  }
  const weak = unset === undefined ? weakOutside({ secret }, reach) : undefined;
  if (weak !== undefined) {
    const found = { message: `the webhook adapter ${weak.why}`, code: weakSecretCode };
    if (under === undefined) findings.reportOutside(placeOfVariable(source), found, weak.severity);
    else findings.report({ path, ...found }, weak.severity);
  }
  if (under !== undefined && !isHeaderSafe({ kind: 'shared', secret })) {
    const message = `the webhook adapter ${unsafeSecret}`;
    findings.report({ path, message, code: 'secret-not-header-safe' }, 'warning');
  }
}

function* readingRoutes(
  findings: Findings,
  source: WebhookSource,
  listener: Listener,
): Pieces<{ readonly routes: readonly RouteWithSecret[]; readonly drafts: readonly RouteWithSecret[] }> {
  const { written } = findings;
  const isNamed = source.listener !== undefined;
  const multiplexes = objectAt(written, 'gateway').multiplex_profiles === true;
  const prefix = routesPath(written);
  const routes: RouteWithSecret[] = [];
  const drafts: RouteWithSecret[] = [];
  for (const [name, route] of Object.entries(objectAt(written, ...prefix.map(String)))) {
    yield undefined;
    if (!isJsonObject(route)) continue;
    const unread = findings.unreadAt([...prefix, name]);
    const { secret: own, verify_token: token, ...rest } = route;
    // Only secrets are interpolated: braces in a prompt are templates, and `${…}` in it is the user's text.
    const resolved = {
      ...rest,
      ...(own === undefined ? {} : { secret: interpolate(own, source.scope) }),
      ...(token === undefined ? {} : { verify_token: interpolate(token, source.scope) }),
    };
    const read = readRoute(name, resolved, {
      ...listener,
      source: 'static',
      profile: source.profile,
      referred: variablesIn(own ?? ''),
      unread,
      checkFilters: source.checkFilters,
      ...(source.profiles === undefined || !multiplexes ? {} : { profiles: source.profiles }),
    });
    if (!read.ok) {
      for (const finding of read.findings) {
        // An unusable global secret is one finding, not one per route.
        if (finding.code === 'secret-unresolved' && finding.path.length === 0) continue;
        const path = [...prefix, name, ...finding.path];
        // What the schema has reported for this path is not reported again.
        if (!findings.isRefused(path)) findings.report({ ...finding, path });
      }
    } else if (unread.size === 0) routes.push(read.value);
    const draft = read.ok ? read.value : read.draft;
    drafts.push(draft);
    for (const warning of read.warnings) {
      findings.report({ ...warning, path: [...prefix, name, ...warning.path] }, 'warning');
    }
    const { profile } = draft.route;
    if (profile !== defaultProfile && !multiplexes && !isNamed) {
      const message = `route "${name}" answers nothing: its profile "${profile}" is served only with gateway.multiplex_profiles: true`;
      findings.report({ path: [...prefix, name, 'profile'], message, code: 'profile-not-served' }, 'warning');
    }
  }
  return { routes, drafts };
}

/** An unreadable host stops the adapter itself; secrets are not judged by what it might be. */
function isHostUnread(findings: Findings, isNamed: boolean): boolean {
  return !isNamed && [adapter, [...adapter, 'extra']].some((place) => findings.unreadAt(place).has('host'));
}

function placeOfVariable(source: WebhookSource): string {
  return source.listener === undefined ? 'WEBHOOK_SECRET' : envFileOf(source);
}

function envFileOf({ profile }: WebhookSource): string {
  return `the .env of the profile "${profile}"`;
}
