/**
 * Reads one profile's `config.yaml` whole: text to settings, with every finding at once. A broken server entry or
 * platform stops only itself; a broken webhook setting or route stops the adapter.
 * @see CFG-2, CFG-3 and CON-3 in docs/specification.md
 */

import { isJsonObject, type JsonObject } from '../base/json.ts';
import { defaultProfile, type ProfileName } from '../base/names.ts';
import { checkAgent, interpolateAgent, readAgent } from './agent-settings.ts';
import { type Diagnostic, type DiagnosticScope, maskSecrets } from './diagnostic.ts';
import { type ConfigPath, parseDocument, samePath } from './document.ts';
import { type InterpolationScope, interpolate, unresolvedReference } from './interpolate.ts';
import { checkPlatform, readPlatform } from './platform-settings.ts';
import { type FilterChecker, isHeaderSafe, readRoute, unsafeSecret } from './read-route.ts';
import type { RouteWithSecret } from './route.ts';
import { homeSchema } from './schema.ts';
import { checkServerEntry, type EntryFinding, normaliseServerEntry } from './server-entry.ts';
import type { GatewaySettings, PlatformSettings, ServerEntry, Settings } from './settings.ts';
import { canonicalTarget } from './targets.ts';
import { validate } from './validate.ts';
import { readListener, webhookKey } from './webhook-settings.ts';

export interface ConfigSource {
  /** How messages name the file. */
  readonly file: string;
  readonly text: string;
  readonly profile: ProfileName;
  readonly scope: InterpolationScope;
  readonly checkFilters: FilterChecker;
  /** The listener of the home, which the routes of a named profile share. */
  readonly listener?: { readonly host: string; readonly secret?: string };
  /** The profiles that exist; absent where that is not known. */
  readonly profiles?: ReadonlySet<string>;
}

export interface ConfigRead {
  readonly settings: Settings;
  readonly diagnostics: readonly Diagnostic[];
}

export function readConfig(source: ConfigSource): ConfigRead {
  const document = parseDocument(source.text);
  const diagnostics: Diagnostic[] = document.findings.map((found) => ({
    ...found,
    file: source.file,
    severity: 'error',
    scope: { kind: 'home' },
    sourceLine: maskSecrets(document.line(found.line)),
  }));
  const paths: ConfigPath[] = [];
  const report = (
    { path, message, code }: EntryFinding,
    scope: DiagnosticScope = scopeOf(path),
    severity: Diagnostic['severity'] = 'error',
  ): void => {
    paths.push(path);
    const place = document.place(path);
    const sourceLine = maskSecrets(document.line(place.line));
    diagnostics.push({ ...place, file: source.file, message, code, severity, scope, sourceLine });
  };
  const written = document.value as JsonObject;
  for (const found of validate(homeSchema, written)) report(found);
  const refused: readonly ConfigPath[] = [...paths];
  const stopped = (path: ConfigPath): boolean =>
    diagnostics.some(
      ({ scope, severity }) => severity === 'error' && (scope.kind === 'home' || sameScope(scope, scopeOf(path))),
    );

  /** The keys of a mapping at or below which the schema found something. */
  const unreadAt = (at: ConfigPath): ReadonlySet<string> =>
    new Set(
      refused
        .filter((path) => path.length > at.length && at.every((step, index) => String(path[index]) === String(step)))
        .map((path) => String(path[at.length])),
    );
  /** A mapping without the keys that the schema refused themselves. */
  const readable = (mapping: JsonObject, ...at: ConfigPath): JsonObject =>
    Object.fromEntries(
      Object.entries(mapping).filter(([key]) => !refused.some((path) => samePath(path, [...at, key]))),
    );

  const webhook = objectAt(written, 'platforms', 'webhook');
  const sound = {
    ...readable(webhook, 'platforms', 'webhook'),
    extra: readable(objectAt(webhook, 'extra'), 'platforms', 'webhook', 'extra'),
  };
  const listener = readListener(interpolate(sound, source.scope) as JsonObject, source.scope.env);
  const outside = (variable: string, message: string, code: string): void => {
    diagnostics.push({
      file: variable,
      line: 0,
      column: 0,
      message,
      code,
      severity: 'error',
      scope: { kind: 'webhook' },
      sourceLine: '',
    });
  };
  if (source.profile === defaultProfile) {
    for (const { variable, message, code } of listener.findings) outside(variable, message, code);
  }
  const unset = unresolvedReference(listener.settings.secret ?? '');
  const secretAt = webhookKey(webhook, 'secret')?.under;
  if (unset !== undefined && source.profile === defaultProfile) {
    if (secretAt === undefined)
      outside(
        'WEBHOOK_SECRET',
        `WEBHOOK_SECRET refers to "${unset}", and references are not read in variables; write the secret itself`,
        'secret-unresolved',
      );
    else {
      report({
        path: ['platforms', 'webhook', ...(secretAt === 'extra' ? ['extra'] : []), 'secret'],
        message: `the global webhook secret refers to "${unset}", which is not set; set ${unset} in .env or in the environment`,
        code: 'secret-unresolved',
      });
    }
  }
  const ownSecret = listener.settings.secret;
  if (ownSecret !== undefined && secretAt !== undefined && !isHeaderSafe({ kind: 'shared', secret: ownSecret })) {
    const path = ['platforms', 'webhook', ...(secretAt === 'extra' ? ['extra'] : []), 'secret'];
    const message = `the webhook adapter ${unsafeSecret}`;
    report({ path, message, code: 'secret-not-header-safe' }, { kind: 'webhook' }, 'warning');
  }
  const shared = source.listener ?? listener.settings;
  const multiplexes = objectAt(written, 'gateway').multiplex_profiles === true;
  const routes: RouteWithSecret[] = [];
  // A host that cannot be read refuses the start by itself; no route is blamed for what it might be.
  const hostUnread = [...unreadAt(['platforms', 'webhook']), ...unreadAt(['platforms', 'webhook', 'extra'])].includes(
    'host',
  );
  const found = webhookKey(webhook, 'routes');
  const prefix: ConfigPath =
    found?.under === 'extra' ? ['platforms', 'webhook', 'extra', 'routes'] : ['platforms', 'webhook', 'routes'];
  for (const [name, route] of Object.entries(isJsonObject(found?.value) ? found.value : {})) {
    if (!isJsonObject(route)) continue;
    const unread = unreadAt([...prefix, name]);
    const { secret, ...rest } = route;
    // Only the secret is interpolated: a prompt's braces are templates, and `${…}` in them is the user's text.
    const resolved = secret === undefined ? rest : { ...rest, secret: interpolate(secret, source.scope) };
    const read = readRoute(name, resolved, {
      source: 'static',
      profile: source.profile,
      host: hostUnread ? 'localhost' : shared.host,
      unread,
      checkFilters: source.checkFilters,
      ...(shared.secret === undefined ? {} : { secret: shared.secret }),
      ...(source.profiles === undefined || !multiplexes ? {} : { profiles: source.profiles }),
    });
    if (read.ok && unread.size === 0) routes.push(read.value);
    for (const { path, ...warning } of read.ok ? read.warnings : []) {
      report({ ...warning, path: [...prefix, name, ...path] }, { kind: 'webhook' }, 'warning');
    }
    if (read.ok && read.value.route.profile !== defaultProfile && !multiplexes && source.listener === undefined) {
      report(
        {
          path: [...prefix, name, 'profile'],
          message: `route "${name}" answers nothing: its profile "${read.value.route.profile}" is served only with gateway.multiplex_profiles: true`,
          code: 'profile-not-served',
        },
        { kind: 'webhook' },
        'warning',
      );
    }
    for (const finding of read.ok ? [] : read.findings) {
      // A global secret that cannot be used is one finding, not one for every route.
      if (finding.code === 'secret-unresolved' && finding.path.length === 0) continue;
      const path = [...prefix, name, ...finding.path];
      // What the schema has said of this very place is not said twice.
      if (!refused.some((one) => samePath(one, path))) report({ ...finding, path });
    }
  }

  const servers: ServerEntry[] = [];
  const problemOf = (part: DiagnosticScope): string => {
    const found = diagnostics.find(({ scope }) => scope.kind === 'home' || sameScope(scope, part));
    return found === undefined ? 'its entry cannot be read' : `${found.file}:${found.line}: ${found.message}`;
  };
  for (const [name, entry] of Object.entries(objectAt(written, 'mcp_servers'))) {
    if (!isJsonObject(entry)) {
      servers.push({ name, enabled: true, entry: {}, problem: problemOf({ kind: 'server', server: name }) });
      continue;
    }
    const resolved = interpolate(entry, source.scope) as JsonObject;
    for (const found of checkServerEntry(resolved)) {
      report({
        ...found,
        message: `mcp server "${name}" ${found.message}`,
        path: ['mcp_servers', name, ...found.path],
      });
    }
    const normal = normaliseServerEntry(name, resolved);
    servers.push(
      stopped(['mcp_servers', name]) ? { ...normal, problem: problemOf({ kind: 'server', server: name }) } : normal,
    );
  }

  const platforms: Record<string, PlatformSettings> = {};
  for (const [name, entry] of Object.entries(objectAt(written, 'platforms'))) {
    const target = canonicalTarget(name);
    if (target === undefined) continue;
    if (platforms[target] !== undefined) {
      const message = `platforms has "${name}" and "${platforms[target].name}", which are one target; keep one of them`;
      report({ path: ['platforms', name], message, code: 'platform-twice' });
      continue;
    }
    const resolved = isJsonObject(entry) ? (interpolate(entry, source.scope) as JsonObject) : {};
    if (!stopped(['platforms', name])) {
      for (const found of checkPlatform(name, resolved)) report({ ...found, path: ['platforms', name, ...found.path] });
    }
    const problem = stopped(['platforms', name]) ? problemOf({ kind: 'platform', platform: name }) : undefined;
    platforms[target] = readPlatform(name, isJsonObject(entry) ? resolved : { enabled: true }, problem);
  }

  const homeStopped = diagnostics.some(({ scope }) => scope.kind === 'home');
  const agent = interpolateAgent(objectAt(written, 'agent'), source.scope);
  for (const { severity, ...found } of checkAgent(agent)) report(found, { kind: 'home' }, severity);
  diagnostics.sort((one, other) => one.line - other.line || one.column - other.column);
  return {
    settings: {
      gateway: readGateway(homeStopped ? {} : objectAt(written, 'gateway')),
      webhook: { ...listener.settings, routes },
      agent: readAgent(homeStopped ? {} : agent),
      inspector: readInspector(homeStopped ? {} : objectAt(written, 'inspector')),
      telemetry: readTelemetry(homeStopped ? {} : objectAt(written, 'telemetry'), source.scope),
      platforms,
      servers,
    },
    diagnostics,
  };
}

/** Which part of the gateway a finding at a path stops. */
function scopeOf(path: ConfigPath): DiagnosticScope {
  const [section, name] = path;
  if (section === 'mcp_servers' && name !== undefined) return { kind: 'server', server: String(name) };
  if (section !== 'platforms' || name === undefined) return { kind: 'home' };
  return name === 'webhook' ? { kind: 'webhook' } : { kind: 'platform', platform: String(name) };
}

function sameScope(one: DiagnosticScope, other: DiagnosticScope): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function objectAt(value: JsonObject, ...path: readonly string[]): JsonObject {
  let at: JsonObject = value;
  for (const step of path) {
    const next = at[step];
    if (!isJsonObject(next)) return {};
    at = next;
  }
  return at;
}

function readGateway(written: JsonObject): GatewaySettings {
  const history = objectAt(written, 'history');
  return {
    multiplexProfiles: written.multiplex_profiles === true,
    front: (written.front as GatewaySettings['front'] | undefined) ?? 'auto',
    journal: (written.journal as GatewaySettings['journal'] | undefined) ?? 'lmdb',
    drainTimeoutMs: numberOf(written.drain_timeout_seconds, 30) * 1_000,
    history: {
      maxAgeMs: numberOf(history.max_age_hours, 168) * 3_600_000,
      maxBytes: numberOf(history.max_megabytes, 1_024) * 1_048_576,
    },
  };
}

function readInspector(written: JsonObject): Settings['inspector'] {
  return {
    enabled: written.enabled !== false,
    host: (written.host as string | undefined) ?? '127.0.0.1',
    port: numberOf(written.port, 8_645),
  };
}

function readTelemetry(written: JsonObject, scope: InterpolationScope): Settings['telemetry'] {
  const { otlp_endpoint: endpoint } = interpolate(written, scope) as JsonObject;
  return typeof endpoint === 'string' ? { otlpEndpoint: endpoint } : {};
}

function numberOf(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise;
}
