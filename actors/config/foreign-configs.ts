/**
 * Reads the files in which other agent programs keep their MCP servers. A missing file is skipped; an unreadable one is
 * reported. Changes none of them.
 * @see CLI-5 in docs/specification.md
 */

import { causeOf } from '../../machines/base/fault.ts';
import type { Json } from '../../machines/base/json.ts';
import { parsingConfig } from '../../machines/config/edit.ts';
import { parseEnvFile } from '../../machines/config/env-file.ts';
import { type ForeignText, parseJsonc, parseToml, parseYaml } from '../../machines/config/foreign-text.ts';
import type { ProfilePaths } from '../../machines/config/profile.ts';
import {
  deniedIn,
  type ForeignFile,
  type ForeignPlaces,
  type ForeignProgram,
  type ForeignServer,
  foreignFiles,
  lackIn,
  programOf,
  type ServersElsewhere,
  serversElsewhere,
  serversIn,
  switchedOffIn,
  withoutDenied,
  withoutOff,
} from '../../machines/mcp/foreign-files.ts';
import { type ImportItem, planImport } from '../../machines/mcp/plan-import.ts';
import { readText } from '../files.ts';
import { inPieces } from '../in-pieces.ts';

export interface ForeignConfig {
  readonly file: ForeignFile;
  readonly servers: readonly ForeignServer[];
  /** Servers that the program has for other folders. */
  readonly elsewhere: readonly ServersElsewhere[];
  /** Why the file could not be read. */
  readonly problem?: string;
}

export async function readForeignConfigs(places: ForeignPlaces): Promise<readonly ForeignConfig[]> {
  const found = await Promise.all(foreignFiles(places).map((file) => readOne(file, places)));
  return found.filter((one) => one !== undefined);
}

/** The problem of a block without servers in a form that is known by its keys. */
export const blockLacksServers = 'it has no object mcpServers or servers with servers in it';

/**
 * Reads a block of servers as the page of a server shows it, or the file of any program that keeps its servers in a form of
 * the known ones.
 * @param program whose form it has; by its keys unless given
 */
export async function readForeignBlock(
  path: string,
  places: ForeignPlaces,
  program?: ForeignProgram,
  read: () => Promise<string | undefined> = () => readText(path),
): Promise<ForeignConfig> {
  const none = { file: { program: program ?? 'claude-code', path, form: 'json' }, servers: [], elsewhere: [] } as const;
  const text = await read().catch((thrown: unknown) => thrown as Error);
  if (typeof text !== 'string')
    return { ...none, problem: text === undefined ? 'there is no such file' : `cannot be read: ${causeOf(text)}` };
  // Pages often leave out the outermost braces, which is the YAML of the same.
  const form = /^\s*[{/]/.test(text) ? 'json' : /^\[+[\w.]/m.test(text) ? 'toml' : 'yaml';
  const parsed = documentOf({ ...none.file, form }, text);
  if (parsed.kind === 'malformed') return { ...none, problem: parsed.why };
  const found = program ?? programOf(parsed.value, form);
  const file: ForeignFile = { program: found ?? 'claude-code', path, form };
  const servers = found === undefined ? [] : serversIn(file, parsed.value, places);
  return { file, servers, elsewhere: [], ...(servers.length === 0 ? { problem: blockLacksServers } : {}) };
}

/** Plans the import of the found servers into a profile. */
export async function planForeign(
  configs: readonly ForeignConfig[],
  { paths, places }: { readonly paths: ProfilePaths; readonly places: ForeignPlaces },
): Promise<readonly ImportItem[]> {
  const [config = '', env = ''] = await Promise.all([readText(paths.config), readText(paths.env)]);
  return planImport({
    found: configs.flatMap(({ file, servers }) => servers.map((server) => ({ file, server }))),
    config: (await inPieces(parsingConfig(config))).value,
    secrets: parseEnvFile(env),
    env: places.env,
    userHome: places.userHome,
  });
}

async function readOne(file: ForeignFile, places: ForeignPlaces): Promise<ForeignConfig | undefined> {
  let text: string | undefined;
  try {
    text = await readText(file.path);
  } catch (thrown) {
    // A path component is a file instead of a folder, so the program is not installed.
    if ((thrown as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined;
    return { file, servers: [], elsewhere: [], problem: `cannot be read: ${causeOf(thrown)}` };
  }
  if (text === undefined) return undefined;
  const read = documentOf(file, text);
  if (read.kind === 'malformed') return { file, servers: [], elsewhere: [], problem: read.why };
  const lack = lackIn(file, read.value);
  if (lack !== undefined) return { file, servers: [], elsewhere: [], problem: lack };
  const switches = await Promise.all((file.switches ?? []).map(switchesOf));
  const off = new Set(switches.flatMap((value) => switchedOffIn(value, file.workspace)));
  return {
    file,
    servers: withoutDenied(withoutOff(serversIn(file, read.value, places), off), switches.flatMap(deniedIn)),
    elsewhere: serversElsewhere(file, read.value, places),
  };
}

/** An unreadable file of switches switches nothing off. */
async function switchesOf(path: string): Promise<Json> {
  const text = await readText(path).catch(() => undefined);
  const read = text === undefined ? undefined : parseJsonc(text);
  return read?.kind === 'read' ? read.value : {};
}

function documentOf({ form }: ForeignFile, text: string): ForeignText {
  // Some programs leave an empty file when they have no servers.
  if (text.trim() === '') return { kind: 'read', value: {} };
  return { json: parseJsonc, toml: parseToml, yaml: parseYaml }[form](text);
}
