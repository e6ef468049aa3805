/**
 * Reads a home: the configuration and secrets of the default profile and, where profiles are multiplexed, of every other.
 * @see HOME-1, INT-1 and PRF-1 in docs/specification.md
 */

import { readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { sep } from 'node:path';
import { causeOf } from '../../machines/base/fault.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import { defaultProfile, type ProfileName, profileName } from '../../machines/base/names.ts';
import type { Diagnostic } from '../../machines/config/diagnostic.ts';
import { parseEnvFile } from '../../machines/config/env-file.ts';
import type { InterpolationScope } from '../../machines/config/interpolate.ts';
import { type ProfilePaths, profilePaths } from '../../machines/config/profile.ts';
import { type ConfigSource, readConfig } from '../../machines/config/read-config.ts';
import type { FilterChecker } from '../../machines/config/read-route.ts';
import type { ServerEntry, Settings } from '../../machines/config/settings.ts';
import { compileFilters } from '../../machines/webhook/filter.ts';

export interface HomeSource {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface LoadedProfile {
  readonly name: ProfileName;
  readonly paths: ProfilePaths;
  readonly settings: Settings;
  /** Its `.env`. */
  readonly scope: ReadonlyMap<string, string>;
}

export interface LoadedHome {
  /** The default profile first. */
  readonly profiles: ReadonlyMap<ProfileName, LoadedProfile>;
  readonly main: LoadedProfile;
  /** Every profile that has a folder, served or not. */
  readonly existing: ReadonlySet<string>;
  readonly diagnostics: readonly Diagnostic[];
  /** Those that stop the webhook adapter. */
  readonly webhookBlocked: readonly Diagnostic[];
}

export const checkFilters: FilterChecker = (conditions) => {
  const compiled = compileFilters(conditions);
  return compiled.ok ? [] : compiled.problems;
};

export function loadHome(source: HomeSource): LoadedHome {
  const named = profilesOf(source.home);
  const existing = new Set<string>([defaultProfile, ...named]);
  const main = loadProfile(defaultProfile, source, { profiles: existing });
  const profiles = new Map([[defaultProfile, main.profile]]);
  const diagnostics = [...main.diagnostics];
  if (main.profile.settings.gateway.multiplexProfiles) {
    const { host, secret } = main.profile.settings.webhook;
    for (const name of named) {
      const listener = { host, ...(secret === undefined ? {} : { secret }) };
      const loaded = loadProfile(name, source, { listener });
      profiles.set(name, loaded.profile);
      diagnostics.push(...loaded.diagnostics);
    }
  }
  const webhookBlocked = diagnostics.filter(
    ({ scope, severity }) => severity === 'error' && (scope.kind === 'webhook' || scope.kind === 'home'),
  );
  return { profiles, main: main.profile, existing, diagnostics, webhookBlocked };
}

/** Reads a server's entry as it would be read in a profile's `config.yaml`: interpolated, with every finding about it. */
export function readEntry(
  { home, env }: HomeSource,
  profile: ProfileName,
  entry: { readonly name: string; readonly value: JsonObject },
): { readonly server: ServerEntry | undefined; readonly findings: readonly Diagnostic[] } {
  const scope = parseEnvFile(textOf(profilePaths(home, profile).env, []));
  const read = readConfig({
    file: 'entry',
    // JSON is YAML.
    text: JSON.stringify({ mcp_servers: { [entry.name]: entry.value } }),
    profile,
    scope: interpolationScope(scope, env),
    checkFilters,
  });
  const findings = read.diagnostics.filter((found) => found.scope.kind === 'server');
  return { server: read.settings.servers[0], findings };
}

/** The home's `.env` may hold WEBHOOK_*; the process environment comes after it. */
function interpolationScope(secrets: ReadonlyMap<string, string>, env: HomeSource['env']): InterpolationScope {
  return {
    secrets,
    env: { ...env, ...Object.fromEntries(secrets) },
    userHome: homedir(),
    workspaceFolder: process.cwd(),
    pathSeparator: sep,
  };
}

function loadProfile(
  name: ProfileName,
  { home, env }: HomeSource,
  known: Pick<ConfigSource, 'listener' | 'profiles'>,
): { readonly profile: LoadedProfile; readonly diagnostics: readonly Diagnostic[] } {
  const paths = profilePaths(home, name);
  const unread: Diagnostic[] = [];
  const scope = parseEnvFile(textOf(paths.env, unread));
  const read = readConfig({
    file: name === defaultProfile ? 'config.yaml' : `profiles/${name}/config.yaml`,
    text: textOf(paths.config, unread),
    profile: name,
    scope: interpolationScope(scope, env),
    checkFilters,
    ...known,
  });
  return { profile: { name, paths, settings: read.settings, scope }, diagnostics: [...unread, ...read.diagnostics] };
}

/** A file that is not there is empty; one that cannot be read is a finding. */
function textOf(path: string, unread: Diagnostic[]): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') {
      const message = `cannot be read: ${causeOf(thrown)}; check its owner and permissions`;
      unread.push({
        file: path,
        line: 0,
        column: 0,
        message,
        code: 'file-unreadable',
        severity: 'error',
        scope: { kind: 'home' },
        sourceLine: '',
      });
    }
    return '';
  }
}

function profilesOf(home: string): ProfileName[] {
  try {
    return readdirSync(`${home}/profiles`, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => profileName(name))
      .filter((name) => name !== undefined && name !== defaultProfile)
      .filter((name): name is ProfileName => name !== undefined)
      .sort();
  } catch {
    return [];
  }
}
