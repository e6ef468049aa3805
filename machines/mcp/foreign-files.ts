/**
 * Knows where other agent programs keep their MCP servers on each system, and finds the servers in what such a file holds.
 * Reads no file and changes no entry.
 * @see CLI-5 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';

const foreignPrograms = ['claude-code', 'claude-desktop', 'cursor', 'vscode', 'codex'] as const;
export type ForeignProgram = (typeof foreignPrograms)[number];

export interface ForeignFile {
  readonly program: ForeignProgram;
  readonly path: string;
  readonly form: 'json' | 'toml';
  /** The folder that `${workspaceFolder}` means, where the file belongs to one. */
  readonly workspace?: string;
}

export interface ForeignPlaces {
  readonly platform: string;
  readonly userHome: string;
  /** Where the command runs: the files of its project are looked at too. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A server as another program's file has it. */
export interface ForeignServer {
  readonly name: string;
  readonly value: JsonObject;
  /** Descriptions of what VS Code would ask for, by id. */
  readonly inputs: Readonly<Record<string, string>>;
}

/** Every file that may be there, those of the user first. */
export function foreignFiles({ platform, userHome, folder, env }: ForeignPlaces): readonly ForeignFile[] {
  const settings = settingsFolder(platform, userHome, env);
  const codex = env.CODEX_HOME ?? `${userHome}/.codex`;
  const claude = env.CLAUDE_CONFIG_DIR ?? userHome;
  const json = (program: ForeignProgram, path: string): ForeignFile => ({ program, path, form: 'json' });
  const own = (program: ForeignProgram, path: string): ForeignFile => ({ ...json(program, path), workspace: folder });
  const editors = ['Code', 'Code - Insiders', 'VSCodium'];
  return [
    json('claude-code', `${claude}/.claude.json`),
    own('claude-code', `${folder}/.mcp.json`),
    json('claude-desktop', `${settings}/Claude/claude_desktop_config.json`),
    json('cursor', `${userHome}/.cursor/mcp.json`),
    own('cursor', `${folder}/.cursor/mcp.json`),
    ...editors.map((editor) => json('vscode', `${settings}/${editor}/User/mcp.json`)),
    own('vscode', `${folder}/.vscode/mcp.json`),
    { program: 'codex', path: `${codex}/config.toml`, form: 'toml' },
    { program: 'codex', path: `${folder}/.codex/config.toml`, form: 'toml', workspace: folder },
  ];
}

/** The servers of a file's value. Claude Code's own file has some for every folder, of which this folder's count. */
export function serversIn(file: ForeignFile, value: Json, folder: string): readonly ForeignServer[] {
  if (!isJsonObject(value)) return [];
  switch (file.program) {
    case 'claude-code': {
      const projects = objectOf(value.projects);
      return [...named(value.mcpServers), ...named(objectOf(projects[folder]).mcpServers)];
    }
    case 'claude-desktop':
    case 'cursor':
      return named(value.mcpServers);
    case 'vscode':
      return named(value.servers, inputsOf(value.inputs));
    case 'codex':
      return named(value.mcp_servers);
  }
}

function settingsFolder(platform: string, userHome: string, env: ForeignPlaces['env']): string {
  if (platform === 'darwin') return `${userHome}/Library/Application Support`;
  if (platform === 'win32') return env.APPDATA ?? `${userHome}/AppData/Roaming`;
  return env.XDG_CONFIG_HOME ?? `${userHome}/.config`;
}

function named(servers: Json | undefined, inputs: Readonly<Record<string, string>> = {}): readonly ForeignServer[] {
  return Object.entries(objectOf(servers)).flatMap(([name, value]) =>
    isJsonObject(value) ? [{ name, value, inputs }] : [],
  );
}

function inputsOf(inputs: Json | undefined): Readonly<Record<string, string>> {
  const found: [string, string][] = [];
  for (const input of Array.isArray(inputs) ? (inputs as readonly Json[]) : []) {
    if (!isJsonObject(input) || typeof input.id !== 'string') continue;
    found.push([input.id, typeof input.description === 'string' ? input.description : input.id]);
  }
  return Object.fromEntries(found);
}

function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
