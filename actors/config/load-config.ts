/**
 * Reads a home: the configuration and secrets of the default profile and, with `multiplex_profiles`, of every other
 * profile.
 * @see HOME-1, INT-1 and PRF-1 in docs/specification.md
 */

import { isUtf8 } from 'node:buffer';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, isAbsolute, sep } from 'node:path';
import { causeOf } from '../../machines/base/fault.ts';
import { defined, type JsonObject } from '../../machines/base/json.ts';
import { defaultProfile, type ProfileName, profileName } from '../../machines/base/names.ts';
import { atOnce, type Pieces } from '../../machines/base/pieces.ts';
import { byPlace, type Diagnostic, findingOfFile } from '../../machines/config/diagnostic.ts';
import { parsingConfig } from '../../machines/config/edit.ts';
import { keptQuotes, parseEnvFile, replacedLines, strayLines } from '../../machines/config/env-file.ts';
import type { InterpolationScope } from '../../machines/config/interpolate.ts';
import { homePaths, type ProfilePaths, profilePaths } from '../../machines/config/profile.ts';
import { type ConfigRead, type ConfigSource, readConfig, readingConfig } from '../../machines/config/read-config.ts';
import type { FilterChecker } from '../../machines/config/read-route.ts';
import type { ServerEntry } from '../../machines/config/server-entry.ts';
import type { Settings } from '../../machines/config/settings.ts';
import { compileFilters } from '../../machines/webhook/filter.ts';
import { leadsOut } from '../confine.ts';
import { type Documents, fileDocuments } from '../documents.ts';
import { stampForReader } from '../files.ts';
import { inPieces } from '../in-pieces.ts';
import { isFolder } from '../process-group.ts';
import { userHomeFolder } from '../user-home.ts';
import { takeParsed } from './parsed-files.ts';
import { findLooseEnds } from './route-world.ts';

export interface HomeSource {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Texts by file path, read instead of the files. */
  readonly drafts?: ReadonlyMap<string, string>;
  /** The store of the home's documents for this gateway configuration. Default: files. */
  readonly documents?: (gateway: Settings['gateway']) => Documents;
}

export interface LoadedProfile {
  readonly name: ProfileName;
  readonly paths: ProfilePaths;
  readonly settings: Settings;
  /** Its `.env`. */
  readonly scope: ReadonlyMap<string, string>;
  /** Its `config.yaml` as it was read. Secret: it may hold tokens. */
  readonly text: string;
  /** The values of that text. Secret likewise. */
  readonly written: JsonObject;
  /** The PATH for the profile's programs: from its `.env`, else from the process. */
  readonly searchPath: string;
  /** Those of its files that are empty, as after an interrupted write, or do not exist. */
  readonly emptyFiles: ReadonlySet<string>;
}

export interface LoadedHome {
  /** The default profile first. */
  readonly profiles: ReadonlyMap<string, LoadedProfile>;
  readonly main: LoadedProfile;
  /** Every profile that has a folder or a draft, served or not. */
  readonly existing: ReadonlySet<string>;
  readonly diagnostics: readonly Diagnostic[];
  /** The findings that stop the webhook adapter. */
  readonly webhookBlocked: readonly Diagnostic[];
  /** The files that were read, each with a stamp taken just before, so that any later change is noticed. */
  readonly stamps: ReadonlyMap<string, string | undefined>;
  readonly documents: Documents;
}

/** Checks filter conditions against the folder of their profile, because they may name lists in it. */
export function filterChecker(home: string): FilterChecker {
  return (conditions, profile) => {
    const folder = profilePaths(home, profile).home;
    const compiled = compileFilters(conditions, (file) => leadsOut(folder, file));
    return compiled.ok ? [] : compiled.problems;
  };
}

export function loadHome(source: HomeSource): LoadedHome {
  return atOnce(loadingHome(source));
}

/**
 * Reads a home in pieces.
 * @param stamps Filled in as the files are read.
 */
export function* loadingHome(source: HomeSource, stamps = new Map<string, string | undefined>()): Pieces<LoadedHome> {
  const folder = homePaths(source.home).profiles;
  stamps.set(folder, stampForReader(folder));
  const unlisted: Diagnostic[] = [];
  const named = [...new Set([...profilesOf(folder, unlisted), ...profilesOfDrafts(folder, source)])];
  const existing = new Set<string>([defaultProfile, ...named]);
  const main = yield* loadingProfile(defaultProfile, source, { known: { profiles: existing }, stamps });
  const profiles = new Map([[defaultProfile, main.profile]]);
  const read = [main];
  const { gateway, webhook, workspace } = main.profile.settings;
  const { host, secret, allowWeakSecrets, publicUrl } = webhook;
  for (const name of named) {
    // A draft is checked whether its profile is served or not.
    if (!gateway.multiplexProfiles && source.drafts?.has(profilePaths(source.home, name).config) !== true) continue;
    const listener = defined({ host, allowWeakSecrets, secret, publicUrl });
    const loaded = yield* loadingProfile(name, source, { known: { listener }, stamps, workspace });
    profiles.set(name, loaded.profile);
    read.push(loaded);
  }
  const documents = source.documents?.(main.profile.settings.gateway) ?? fileDocuments;
  // A route may be bound to a profile that is read after the route's own.
  const looseEndsOf = findLooseEnds({ profiles, documents });
  const ofFiles: Diagnostic[] = [];
  for (const { diagnostics: found, drafts, warnOf } of read) {
    const ofFile = [...found];
    for (const entry of drafts) {
      for (const finding of looseEndsOf(entry)) ofFile.push(warnOf(entry.route.name, finding));
      yield undefined;
    }
    ofFiles.push(...ofFile.sort(byPlace));
  }
  const diagnostics = gateway.multiplexProfiles ? [...unlisted, ...ofFiles] : ofFiles;
  const webhookBlocked = diagnostics.filter(
    ({ scope, severity }) => severity === 'error' && scope.kind !== 'server' && scope.kind !== 'platform',
  );
  return { profiles, main: main.profile, existing, diagnostics, webhookBlocked, stamps, documents };
}

/**
 * Reads entries of servers by their names as a profile's `config.yaml` would be read: interpolated, with all errors.
 * @param written the values of that file, where they have been read already
 */
export async function readEntries(
  source: HomeSource,
  profile: ProfileName,
  { entries, written }: { readonly entries: JsonObject; readonly written?: JsonObject },
): Promise<{ readonly servers: readonly ServerEntry[]; readonly findings: readonly Diagnostic[] }> {
  const { home, env } = source;
  const scope = parseEnvFile(textOf(profilePaths(home, profile).env, []));
  // Of the files, which may be long, only the workspace matters. As a draft, a profile is read whether it is served or not.
  const drafts = new Map<string, string>();
  for (const one of new Set([defaultProfile, profile])) {
    const { config } = profilePaths(home, one);
    const held = one === profile && written !== undefined ? written : await writtenIn(config);
    drafts.set(config, JSON.stringify(defined({ workspace: held.workspace })));
  }
  const { profiles, main } = loadHome({ ...source, drafts });
  const { workspace } = (profiles.get(profile) ?? main).settings;
  const read = readConfig({
    file: 'entry',
    // JSON is YAML.
    text: JSON.stringify({ mcp_servers: entries }),
    profile,
    scope: interpolationScope(scope, { env, workspace }),
    checkFilters: filterChecker(home),
    isFolder: isAbsoluteFolder,
  });
  const findings = read.diagnostics.filter(
    ({ scope: { kind }, severity }) => kind === 'server' && severity === 'error',
  );
  return { servers: read.settings.servers, findings };
}

async function writtenIn(config: string): Promise<JsonObject> {
  return (await inPieces(parsingConfig(textOf(config, [])))).value;
}

/** The home's `.env` may hold WEBHOOK_* and overrides the process environment. */
function interpolationScope(
  secrets: ReadonlyMap<string, string>,
  { env, workspace }: Pick<HomeSource, 'env'> & { readonly workspace: string | undefined },
): InterpolationScope {
  return {
    secrets,
    // Spreading thousands of variables takes four times as long.
    env: Object.fromEntries([...Object.entries(env), ...secrets]),
    userHome: userHomeFolder(),
    ...(workspace === undefined ? {} : { workspaceFolder: workspace }),
    pathSeparator: sep,
  };
}

function* loadingProfile(
  name: ProfileName,
  { home, env, drafts }: HomeSource,
  {
    known,
    stamps,
    workspace,
  }: {
    readonly known: Pick<ConfigSource, 'listener' | 'profiles'>;
    readonly stamps: Map<string, string | undefined>;
    /** The home's workspace, the default of a named profile. */
    readonly workspace?: string | undefined;
  },
): Pieces<{ readonly profile: LoadedProfile } & Pick<ConfigRead, 'diagnostics' | 'drafts' | 'warnOf'>> {
  const paths = profilePaths(home, name);
  for (const path of [paths.config, paths.env]) stamps.set(path, stampForReader(path));
  const unread: Diagnostic[] = [];
  const folder = name === defaultProfile ? '' : `profiles/${name}/`;
  const variables = textOf(paths.env, unread, `${folder}.env`);
  const text = drafts?.get(paths.config) ?? textOf(paths.config, unread, `${folder}config.yaml`);
  const parsed = takeParsed(paths.config, text);
  const scope = parseEnvFile(variables);
  const warn = (line: number, why: string): void => {
    const found = findingOfFile(`${folder}.env`, { message: `this line ${why}`, code: 'env-line' });
    unread.push({ ...found, line, column: 1, severity: 'warning' });
  };
  yield undefined;
  for (const at of strayLines(variables))
    warn(at, 'sets no variable and is skipped; write NAME=value, or # before a comment');
  for (const at of keptQuotes(variables))
    warn(
      at,
      'begins a value with a quote that does not enclose it and is kept; close it, drop it, or use the other kind of quotes',
    );
  yield undefined;
  for (const [at, by] of replacedLines(variables))
    warn(at, `sets a variable that line ${by} sets to another value, which counts; remove one of the two`);
  const isEmpty = (path: string, held: string): boolean =>
    held.trim() === '' && !unread.some(({ file }) => file === path);
  const texts = [
    [paths.config, text],
    [paths.env, variables],
  ] as const;
  const read = yield* readingConfig({
    file: `${folder}config.yaml`,
    text,
    parsed,
    profile: name,
    scope: interpolationScope(scope, { env, workspace }),
    checkFilters: filterChecker(home),
    isFolder: isAbsoluteFolder,
    ...known,
  });
  return {
    profile: {
      ...{ name, paths, settings: read.settings, scope, text, written: read.written },
      searchPath: scope.get('PATH') ?? env.PATH ?? '',
      emptyFiles: new Set(texts.flatMap(([path, held]) => (isEmpty(path, held) ? [path] : []))),
    },
    diagnostics: [...unread, ...read.diagnostics],
    drafts: read.drafts,
    warnOf: read.warnOf,
  };
}

function isAbsoluteFolder(path: string): boolean {
  return isAbsolute(path) && isFolder(path);
}

/** A missing file counts as empty; an unreadable one is a finding, as is one in another encoding, such as Latin-1. */
function textOf(path: string, unread: Diagnostic[], file = path): string {
  try {
    const bytes = readFileSync(path);
    const text = bytes.toString('utf8');
    // One in UTF-16 has its own finding.
    if (isUtf8(bytes) || text.includes('\0')) return text;
    const [before = ''] = text.split('\uFFFD');
    const message = 'not UTF-8: this character is lost, and commands do not change the file; save it as UTF-8';
    const place = { line: before.split('\n').length, column: before.length - before.lastIndexOf('\n') };
    unread.push({ ...findingOfFile(file, { message, code: 'not-utf8' }), ...place, severity: 'warning' });
    return text;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') unread.push(unreadable(path, thrown));
    return '';
  }
}

function unreadable(path: string, thrown: unknown): Diagnostic {
  // Containers make a folder of a file that is to be mounted and does not exist.
  const isFolderThere = (thrown as NodeJS.ErrnoException).code === 'EISDIR';
  const message = isFolderThere
    ? 'is a folder, where a file belongs; move it away'
    : `cannot be read: ${causeOf(thrown)}; check its owner and permissions`;
  return findingOfFile(path, { message, code: 'file-unreadable' });
}

/** A profile is made when its first draft is saved. */
function profilesOfDrafts(folder: string, { drafts = new Map() }: HomeSource): ProfileName[] {
  return [...drafts.keys()].flatMap((path) => {
    const home = dirname(path);
    return dirname(home) === folder ? (profileName(basename(home)) ?? []) : [];
  });
}

/** Finds a folder that cannot be listed, because its profiles are not gone, and one in it that is no profile. */
function profilesOf(folder: string, unlisted: Diagnostic[]): ProfileName[] {
  try {
    return readdirSync(folder)
      .sort()
      .flatMap((text) => {
        const name = profileName(text);
        // A hidden folder is another program's. A link is what it leads to: people keep their settings elsewhere.
        if (text.startsWith('.') || !isFolder(`${folder}/${text}`)) return [];
        if (name !== undefined && name !== defaultProfile) return [name];
        const message =
          'is not served: the name of a profile has 1 to 64 letters, digits, ".", "_" and "-", begins with a letter or digit and is not "default"; rename the folder';
        const file = `profiles/${text}`;
        unlisted.push({ ...findingOfFile(file, { message, code: 'profile-folder' }), severity: 'warning' });
        return [];
      });
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') unlisted.push(unreadable(folder, thrown));
    return [];
  }
}
