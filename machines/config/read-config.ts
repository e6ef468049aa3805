/**
 * Reads one profile's `config.yaml` completely: text to settings, with all findings at once. A broken server or platform
 * entry stops only itself; a broken webhook setting or route stops the adapter; so does another section, which then takes
 * defaults that permit no more than was meant.
 * @see CFG-2, CFG-3 and CON-3 in docs/specification.md
 */

import { defined, isJsonObject, type Json, type JsonObject, objectAt } from '../base/json.ts';
import { atOnce, type Pieces } from '../base/pieces.ts';
import { checkAgent, doubtsOfAgent, interpolateAgent, readAgent } from './agent-settings.ts';
import { databaseUrlProblem, ignoredParameters, parseDatabaseUrl } from './database-url.ts';
import { declared } from './declared.ts';
import type { Diagnostic, DiagnosticScope, EntryFinding } from './diagnostic.ts';
import { type ConfigDocument, partsOf } from './document.ts';
import { creatingFindings, type Findings } from './findings.ts';
import {
  expandTilde,
  type InterpolationScope,
  interpolate,
  refersToUnset,
  textsIn,
  unresolvedReference,
  workspaceReferences,
} from './interpolate.ts';
import { checkPlatform, readPlatform } from './platform-settings.ts';
import { variablesOfProgram } from './program-variables.ts';
import { readInspector } from './read-inspector.ts';
import { readingWebhook, routesPath, type WebhookSource } from './read-webhook.ts';
import type { RouteWithSecret } from './route.ts';
import { gatewaySchema, logSchema, telemetrySchema } from './schema.ts';
import { checkServerEntry, doubtsOf, normaliseServerEntry, type ServerEntry } from './server-entry.ts';
import type { GatewaySettings, PlatformSettings, Settings } from './settings.ts';
import { canonicalTarget } from './targets.ts';
import { resolvedProblem } from './validate.ts';

export interface ConfigSource extends WebhookSource {
  /** The file's name in messages. */
  readonly file: string;
  readonly text: string;
  /** The text as `parsingConfig` has parsed it. */
  readonly parsed?: ConfigDocument | undefined;
  /** Whether an absolute path is a folder. */
  readonly isFolder: (path: string) => boolean;
}

export interface ConfigRead {
  readonly settings: Settings;
  /** The file's values as they are written. */
  readonly written: JsonObject;
  readonly diagnostics: readonly Diagnostic[];
  /** Every route as far as it can be read, only for checks: findings about a broken one come in the same pass (CFG-7). */
  readonly drafts: readonly RouteWithSecret[];
  /** Places a warning about a route of this file; its message continues from the route's name. */
  warnOf(route: string, finding: EntryFinding): Diagnostic;
}

export function readConfig(source: ConfigSource): ConfigRead {
  return atOnce(readingConfig(source));
}

/** Reads in pieces, of which a file with thousands of routes or servers has many. */
export function* readingConfig(source: ConfigSource): Pieces<ConfigRead> {
  const { file, text, parsed, isFolder } = source;
  const findings = yield* creatingFindings(file, text, parsed);
  const { written } = findings;
  const workspace = readWorkspace(findings, source);
  const scope = { ...source.scope, ...(workspace === undefined ? {} : { workspaceFolder: workspace }) };
  if (workspace === undefined) reportWorkspaceReferences(findings);
  yield* reportingBareNames(findings);
  const { settings: webhook, drafts } = yield* readingWebhook(findings, { ...source, scope });
  const servers = yield* readingServers(findings, { scope, isFolder });
  const platforms = readPlatforms(findings, scope);
  const agent = withFolder(findings, interpolateAgent(objectAt(written, 'agent'), scope), { scope, isFolder });
  const isStopped = findings.problemOf({ kind: 'home' }) !== undefined;
  for (const found of checkAgent(agent)) findings.report(found);
  for (const found of doubtsOfAgent(agent, scope)) {
    // A reference in place of a name has its error, and what it refers to may be a secret.
    if (!findings.isRefused(found.path)) findings.report(found, 'warning');
  }
  // Read for their findings even if the entire file is stopped; then not used.
  const gateway = readGateway(findings, objectAt(written, 'gateway'), scope);
  const inspector = readInspector(findings, objectAt(written, 'inspector'), scope);
  return {
    settings: {
      gateway: isStopped ? readGateway(findings, {}, scope) : gateway,
      webhook,
      agent: isStopped
        ? { ...readAgent({}), env: {} }
        : { ...readAgent(agent), env: variablesOfProgram(written, scope) },
      inspector: isStopped
        ? readInspector(findings, {}, scope)
        : { ...inspector, enabled: inspector.enabled && findings.problemOf(ofSection('inspector')) === undefined },
      telemetry:
        findings.problemOf(ofSection('telemetry')) !== undefined
          ? {}
          : readTelemetry(findings, objectAt(written, 'telemetry'), scope),
      log: declared(logSchema, isStopped ? {} : objectAt(written, 'log')),
      platforms,
      servers,
      ...(workspace === undefined ? {} : { workspace }),
    },
    written,
    diagnostics: findings.all(),
    drafts,
    warnOf: (name, { path, message, code }) =>
      findings.placed(
        { path: [...routesPath(written), name, ...path], message: `route "${name}" ${message}`, code },
        'warning',
      ),
  };
}

function ofSection(section: string): DiagnosticScope {
  return { kind: 'section', section };
}

/** The folder of `workspace`, absolute; that of the scope if the file has none. */
function readWorkspace(findings: Findings, { scope, isFolder }: ConfigSource): string | undefined {
  const { workspace } = findings.written;
  if (typeof workspace !== 'string') return scope.workspaceFolder;
  const folder = expandTilde(interpolate(workspace, scope) as string, scope.userHome);
  if (isFolder(folder)) return folder;
  const message = `workspace "${workspace}" is not the absolute path of a folder; servers start in the home instead; create the folder or correct the path`;
  findings.report({ path: ['workspace'], message, code: 'folder-missing' }, 'warning');
  return undefined;
}

/** Routes are excluded: their texts are payload templates, in which `${…}` has no meaning. */
function reportWorkspaceReferences({ written, report }: Findings): void {
  const { platforms, mcp_servers = {}, agent = {}, telemetry = {} } = written;
  const { webhook: _, ...targets } = isJsonObject(platforms) ? platforms : {};
  for (const { path, name } of workspaceReferences({ mcp_servers, platforms: targets, agent, telemetry })) {
    const why =
      typeof written.workspace === 'string'
        ? `the workspace "${written.workspace}" is no folder; create it, correct the path`
        : 'no workspace is configured; set the top-level key workspace to a folder';
    const message = `"${path.join('.')}" refers to \${${name}}, but ${why}, or write the path`;
    // An unusable server or target stops only itself; other sections must not stop the home for this.
    const stopsHome = path[0] === 'agent' || path[0] === 'telemetry';
    report({ path, message, code: 'workspace-unset' }, stopsHome ? 'warning' : 'error');
  }
}

/** `$NAME` in place of `${NAME}` is taken literally; as the secret of a route, everyone could guess it. */
function* reportingBareNames({ written, report }: Findings): Pieces<void> {
  const { platforms = {}, mcp_servers = {}, agent = {}, inspector = {} } = written;
  for (const part of partsOf({ platforms, mcp_servers, agent, inspector })) {
    for (const found of textsIn(part)) reportBareName(found, report);
    yield undefined;
  }
}

function reportBareName({ path, text }: ReturnType<typeof textsIn>[number], report: Findings['report']): void {
  if (!/^(?:Bearer )?\$[A-Z_][A-Z\d_]*$/.test(text) || path[2] === 'args') return;
  const isOfWebhook = path[1] === 'webhook';
  const key = path.findLast((one) => typeof one === 'string');
  if (isOfWebhook && key !== 'secret' && key !== 'verify_token') return;
  const why = isOfWebhook ? 'which everyone could guess' : 'which is taken literally';
  const message = `"${path.join('.')}" is a variable without braces, ${why}; write \${NAME}`;
  const code = isOfWebhook ? 'secret-unresolved' : 'variable-unset';
  report({ path, message, code }, isOfWebhook ? 'error' : 'warning');
}

interface FolderScope {
  readonly scope: InterpolationScope;
  readonly isFolder: (path: string) => boolean;
}

/** The agent section with an absolute `cwd`. A run starts in no other folder, so a missing one stops the runs alone. */
function withFolder(findings: Findings, agent: JsonObject, { scope, isFolder }: FolderScope): JsonObject {
  if (typeof agent.cwd !== 'string') return agent;
  const cwd = expandTilde(agent.cwd, scope.userHome);
  const given = String(objectAt(findings.written, 'agent').cwd);
  const message = `agent.cwd "${given}" is not the absolute path of a folder; create the folder or correct the path`;
  if (!isFolder(cwd)) findings.report({ path: ['agent', 'cwd'], message, code: 'folder-missing' }, 'warning');
  return { ...agent, cwd };
}

/** An entry with `cwd` and `roots` as absolute paths; each that is not a folder is a finding. */
function withFolders(
  findings: Findings,
  { name, entry, resolved }: { readonly name: string; readonly entry: JsonObject; readonly resolved: JsonObject },
  { scope, isFolder }: FolderScope,
): JsonObject {
  const folderAt = (path: readonly (string | number)[], written: Json, given: Json): Json => {
    const folder = typeof given === 'string' ? expandTilde(given, scope.userHome) : given;
    if (typeof folder === 'string' && !isFolder(folder)) {
      const message = `mcp server "${name}": ${path.join('.')} "${String(written)}" is not the absolute path of a folder; create the folder or correct the path`;
      findings.report({ path: ['mcp_servers', name, ...path], message, code: 'folder-missing' });
    }
    return folder;
  };
  const { cwd, roots } = resolved;
  const isStdio = typeof resolved.command === 'string';
  const written = Array.isArray(entry.roots) ? (entry.roots as readonly Json[]) : [];
  return {
    ...resolved,
    ...(isStdio && scope.workspaceFolder !== undefined ? { cwd: scope.workspaceFolder } : {}),
    ...(cwd === undefined ? {} : { cwd: folderAt(['cwd'], entry.cwd ?? '', cwd) }),
    ...(Array.isArray(roots)
      ? {
          roots: (roots as readonly Json[]).map((root, index) =>
            folderAt(['roots', index], written[index] ?? '', root),
          ),
        }
      : {}),
  };
}

function* readingServers(findings: Findings, folders: FolderScope): Pieces<readonly ServerEntry[]> {
  const servers: ServerEntry[] = [];
  for (const [name, entry] of Object.entries(objectAt(findings.written, 'mcp_servers'))) {
    servers.push(readServer(findings, folders, { name, entry }));
    yield undefined;
  }
  return servers;
}

function readServer(
  findings: Findings,
  folders: FolderScope,
  { name, entry }: { readonly name: string; readonly entry: Json },
): ServerEntry {
  const part = { kind: 'server', server: name } as const;
  if (!isJsonObject(entry)) {
    return { ...normaliseServerEntry(name, {}), problem: findings.problemOf(part) ?? 'its entry cannot be read' };
  }
  if (name.trim() === '') {
    const message = 'mcp_servers has an entry without a name; write one before the colon';
    findings.report({ path: ['mcp_servers', name], message, code: 'server-name' });
  }
  const resolved = withFolders(
    findings,
    { name, entry, resolved: interpolate(entry, folders.scope) as JsonObject },
    folders,
  );
  const report = (severity: Diagnostic['severity']) => (found: EntryFinding) => {
    const message = `mcp server "${name}" ${found.message}`;
    findings.report({ ...found, message, path: ['mcp_servers', name, ...found.path] }, severity);
  };
  checkServerEntry(resolved).forEach(report('error'));
  const doubts = resolved.enabled === false ? [] : doubtsOf(resolved);
  doubts.forEach(report('warning'));
  const unset = doubts.filter(({ code }) => code === 'variable-unset').map(({ message }) => message);
  const problem = findings.problemOf(part);
  return {
    ...normaliseServerEntry(name, resolved),
    ...(problem === undefined ? {} : { problem }),
    ...(unset.length === 0 ? {} : { unset }),
  };
}

function readPlatforms(findings: Findings, scope: InterpolationScope): Readonly<Record<string, PlatformSettings>> {
  const platforms: Record<string, PlatformSettings> = {};
  for (const [name, entry] of Object.entries(objectAt(findings.written, 'platforms'))) {
    const target = canonicalTarget(name);
    if (target === undefined) continue;
    if (platforms[target] !== undefined) {
      const message = `platforms has "${name}" and "${platforms[target].name}", which are one target; keep one of them`;
      findings.report({ path: ['platforms', name], message, code: 'platform-twice' });
      continue;
    }
    const part = { kind: 'platform', platform: name } as const;
    const resolved = isJsonObject(entry) ? (interpolate(entry, scope) as JsonObject) : {};
    for (const found of checkPlatform(name, resolved)) {
      const path = ['platforms', name, ...found.path];
      if (!findings.isRefused(path)) findings.report({ ...found, path });
    }
    platforms[target] = readPlatform(
      name,
      isJsonObject(entry) ? resolved : { enabled: true },
      findings.problemOf(part),
    );
  }
  return platforms;
}

function readGateway(findings: Findings, written: JsonObject, scope: InterpolationScope): GatewaySettings {
  const read = declared(gatewaySchema, written);
  const { multiplex_profiles, front, journal, drain_timeout_seconds, history } = read;
  const url = readDatabase(findings, written, scope);
  const node = interpolate(read.node ?? '', scope) as string;
  const unset = unresolvedReference(node);
  if (unset !== undefined) {
    const message = `gateway.node ${refersToUnset(unset)}; until then the name is made of the host's name and the home`;
    findings.report({ path: ['gateway', 'node'], message, code: 'variable-unset' }, 'warning');
  }
  return defined({
    multiplexProfiles: multiplex_profiles,
    front,
    journal,
    postgres: url === undefined ? undefined : { url, pool: read.postgres?.pool ?? 4 },
    // A name shared by several gateways is worse than none.
    node: node === '' || unset !== undefined ? undefined : node,
    drainTimeoutMs: drain_timeout_seconds * 1_000,
    history: { maxAgeMs: history.max_age_hours * 3_600_000, maxBytes: history.max_megabytes * 1_048_576 },
  });
}

/**
 * The URL of the journal's database; undefined if the configuration needs none, empty if it cannot be used. Its password
 * belongs in .env, and is never quoted.
 */
function readDatabase(findings: Findings, written: JsonObject, scope: InterpolationScope): string | undefined {
  const given = objectAt(written, 'postgres').url;
  if (given === undefined && written.journal !== 'postgres') return undefined;
  // The schema has already rejected it.
  if (findings.unreadAt(['gateway']).has('postgres')) return '';
  const path = ['gateway', 'postgres', 'url'];
  const url = typeof given === 'string' ? (interpolate(given, scope) as string) : '';
  const unset = unresolvedReference(url);
  const problem = databaseUrlProblem(url);
  if (unset !== undefined || problem !== undefined) {
    const why =
      unset !== undefined
        ? `refers to "${unset}", which is not set`
        : typeof given === 'string'
          ? problem
          : 'is missing';
    const message = `gateway.postgres.url ${why}; write "\${DATABASE_URL}" and set DATABASE_URL=postgres://user:password@host/database in .env`;
    findings.report({ path, message, code: 'postgres-url-missing' });
    return '';
  }
  if (typeof given === 'string' && given === url && parseDatabaseUrl(url)?.password !== '') {
    const message = 'gateway.postgres.url holds its password; move the URL to .env and write "${DATABASE_URL}" here';
    findings.report({ path, message, code: 'secret-in-config' }, 'warning');
  }
  for (const ignored of ignoredParameters(url)) {
    const cure = /schema|search_?path/i.test(ignored)
      ? 'name the schema by "options=-csearch_path%3D" and its name'
      : /^(?:db|database)/i.test(ignored)
        ? 'name the database behind the host, as in postgres://host/database'
        : 'correct its name, or remove it';
    const message = `gateway.postgres.url has the parameter "${ignored}", which is ignored; ${cure}`;
    findings.report({ path, message, code: 'postgres-url-parameter' }, 'warning');
  }
  return url;
}

function readTelemetry(findings: Findings, written: JsonObject, scope: InterpolationScope): Settings['telemetry'] {
  const { otlp_endpoint } = declared(telemetrySchema, interpolate(written, scope) as JsonObject);
  const form = { ...telemetrySchema.properties.otlp_endpoint, pattern: '^https?://' };
  const wrong =
    otlp_endpoint === undefined ? undefined : resolvedProblem('telemetry.otlp_endpoint', otlp_endpoint, form);
  if (wrong === undefined) return defined({ otlpEndpoint: otlp_endpoint });
  findings.report({ path: ['telemetry', 'otlp_endpoint'], ...wrong }, 'warning');
  return {};
}
