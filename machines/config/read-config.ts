/**
 * Reads one profile's `config.yaml` whole: text to settings, with every finding at once. A broken server entry or
 * platform stops only itself; a broken webhook setting or route stops the adapter.
 * @see CFG-2, CFG-3 and CON-3 in docs/specification.md
 */

import { isJsonObject, type JsonObject, objectAt } from '../base/json.ts';
import { checkAgent, interpolateAgent, readAgent } from './agent-settings.ts';
import type { Diagnostic } from './diagnostic.ts';
import { createFindings, type Findings } from './findings.ts';
import { type InterpolationScope, interpolate } from './interpolate.ts';
import { checkPlatform, readPlatform } from './platform-settings.ts';
import { readWebhook, routesPath, type WebhookSource } from './read-webhook.ts';
import { checkServerEntry, type EntryFinding, normaliseServerEntry } from './server-entry.ts';
import type { GatewaySettings, PlatformSettings, ServerEntry, Settings } from './settings.ts';
import { canonicalTarget } from './targets.ts';

export interface ConfigSource extends WebhookSource {
  /** How messages name the file. */
  readonly file: string;
  readonly text: string;
}

export interface ConfigRead {
  readonly settings: Settings;
  readonly diagnostics: readonly Diagnostic[];
  /** Puts a warning of a route of this file to its place; its message goes on from the route's name. */
  warnOf(route: string, finding: EntryFinding): Diagnostic;
}

export function readConfig(source: ConfigSource): ConfigRead {
  const { file, text, scope } = source;
  const findings = createFindings(file, text);
  const { written } = findings;
  const webhook = readWebhook(findings, source);
  const servers = readServers(findings, scope);
  const platforms = readPlatforms(findings, scope);
  const agent = interpolateAgent(objectAt(written, 'agent'), scope);
  // Of a file that is stopped whole nothing is taken for said.
  const said = findings.problemOf({ kind: 'home' }) === undefined ? written : {};
  for (const { severity, ...found } of checkAgent(agent)) findings.report(found, { kind: 'home' }, severity);
  return {
    settings: {
      gateway: readGateway(objectAt(said, 'gateway')),
      webhook,
      agent: readAgent(said === written ? agent : {}),
      inspector: readInspector(objectAt(said, 'inspector')),
      telemetry: readTelemetry(objectAt(said, 'telemetry'), scope),
      platforms,
      servers,
    },
    diagnostics: findings.all(),
    warnOf: (name, { path, message, code }) =>
      findings.placed(
        { path: [...routesPath(written), name, ...path], message: `route "${name}" ${message}`, code },
        { kind: 'webhook' },
        'warning',
      ),
  };
}

function readServers(findings: Findings, scope: InterpolationScope): readonly ServerEntry[] {
  return Object.entries(objectAt(findings.written, 'mcp_servers')).map(([name, entry]) => {
    const part = { kind: 'server', server: name } as const;
    if (!isJsonObject(entry)) {
      return { name, enabled: true, entry: {}, problem: findings.problemOf(part) ?? 'its entry cannot be read' };
    }
    if (name.trim() === '') {
      const message = 'mcp_servers has an entry without a name; write one before the colon';
      findings.report({ path: ['mcp_servers', name], message, code: 'server-name' });
    }
    const resolved = interpolate(entry, scope) as JsonObject;
    for (const found of checkServerEntry(resolved)) {
      const message = `mcp server "${name}" ${found.message}`;
      findings.report({ ...found, message, path: ['mcp_servers', name, ...found.path] });
    }
    const problem = findings.problemOf(part);
    return { ...normaliseServerEntry(name, resolved), ...(problem === undefined ? {} : { problem }) };
  });
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
    if (findings.problemOf(part) === undefined) {
      for (const found of checkPlatform(name, resolved)) {
        findings.report({ ...found, path: ['platforms', name, ...found.path] });
      }
    }
    platforms[target] = readPlatform(
      name,
      isJsonObject(entry) ? resolved : { enabled: true },
      findings.problemOf(part),
    );
  }
  return platforms;
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
