/**
 * Where other agent programs keep their MCP servers on each system, and how to find the servers in such a file's content.
 * Reads no file.
 * @see CLI-5 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';

export const programTitles = {
  'claude-code': 'Claude Code',
  'claude-desktop': 'Claude Desktop',
  cursor: 'Cursor',
  vscode: 'VS Code',
  codex: 'Codex',
  'gemini-cli': 'Gemini CLI',
  windsurf: 'Windsurf',
  zed: 'Zed',
  opencode: 'OpenCode',
  goose: 'goose',
  hermes: 'Hermes Agent',
  openclaw: 'OpenClaw',
} as const;
export type ForeignProgram = keyof typeof programTitles;

export interface ForeignFile {
  readonly program: ForeignProgram;
  readonly path: string;
  readonly form: 'json' | 'toml' | 'yaml';
  /** The folder of `${workspaceFolder}`, if the file belongs to one. */
  readonly workspace?: string;
  /** Other files of the program that may switch off servers of this one, or deny tools of theirs. */
  readonly switches?: readonly string[];
}

export interface ForeignPlaces {
  readonly platform: string;
  readonly userHome: string;
  /** The working folder of the command, whose project files are read too. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A server in another program's file. */
export interface ForeignServer {
  readonly name: string;
  readonly value: JsonObject;
  /** The folder that it is for, in a file that has servers of several folders. */
  readonly folder?: string;
  /** Descriptions of VS Code's input prompts, by id. */
  readonly inputs: Readonly<Record<string, string>>;
}

/** Servers that Claude Code has for a folder that is not read. */
export interface ServersElsewhere {
  readonly folder: string;
  readonly names: readonly string[];
}

/** Every file that may exist: those of the user, then those of the folder and its parents. */
export function foreignFiles({ platform, userHome, folder, env }: ForeignPlaces): readonly ForeignFile[] {
  const settings = settingsFolder(platform, userHome, env);
  const codex = setIn(env.CODEX_HOME) ?? `${userHome}/.codex`;
  const claude = setIn(env.CLAUDE_CONFIG_DIR) ?? userHome;
  // OpenCode has this folder on every system, and Zed its own on each.
  const dotConfig = setIn(env.XDG_CONFIG_HOME) ?? `${userHome}/.config`;
  const zed = { darwin: `${userHome}/.config/zed`, win32: `${settings}/Zed` }[platform] ?? `${dotConfig}/zed`;
  const hermes =
    setIn(env.HERMES_HOME) ??
    (platform === 'win32' ? `${setIn(env.LOCALAPPDATA) ?? `${userHome}/AppData/Local`}/hermes` : `${userHome}/.hermes`);
  const openclaw = setIn(env.OPENCLAW_STATE_DIR) ?? `${userHome}/.openclaw`;
  const json = (program: ForeignProgram, path: string): ForeignFile => ({ program, path, form: 'json' });
  const around = foldersAround(folder, userHome);
  const inEach = (program: ForeignProgram, name: string): readonly ForeignFile[] =>
    around.map((workspace) => ({ ...json(program, `${workspace}/${name}`), workspace }));
  const editors = ['Code', 'Code - Insiders', 'VSCodium'];
  const ofClaude = `${claude}/.claude.json`;
  const settingsOfClaude = `${setIn(env.CLAUDE_CONFIG_DIR) ?? `${userHome}/.claude`}/settings.json`;
  const files: readonly ForeignFile[] = [
    { ...json('claude-code', ofClaude), switches: [settingsOfClaude] },
    ...inEach('claude-code', '.mcp.json').map((file) => ({
      ...file,
      switches: [
        ofClaude,
        settingsOfClaude,
        `${file.workspace}/.claude/settings.json`,
        `${file.workspace}/.claude/settings.local.json`,
      ],
    })),
    json('claude-desktop', `${settings}/Claude/claude_desktop_config.json`),
    json('cursor', `${userHome}/.cursor/mcp.json`),
    ...inEach('cursor', '.cursor/mcp.json'),
    ...editors.flatMap((editor) => [
      json('vscode', `${settings}/${editor}/User/mcp.json`),
      json('vscode', `${settings}/${editor}/User/settings.json`),
    ]),
    ...inEach('vscode', '.vscode/mcp.json'),
    ...inEach('vscode', '.vscode/settings.json'),
    { program: 'codex', path: `${codex}/config.toml`, form: 'toml' },
    ...inEach('codex', '.codex/config.toml').map((file) => ({ ...file, form: 'toml' as const })),
    json('gemini-cli', `${userHome}/.gemini/settings.json`),
    ...inEach('gemini-cli', '.gemini/settings.json'),
    json('windsurf', `${userHome}/.codeium/windsurf/mcp_config.json`),
    json('zed', `${zed}/settings.json`),
    ...inEach('zed', '.zed/settings.json'),
    ...['opencode.json', 'opencode.jsonc'].flatMap((name) => [
      json('opencode', `${dotConfig}/opencode/${name}`),
      ...inEach('opencode', name),
    ]),
    {
      program: 'goose',
      path: `${platform === 'win32' ? `${settings}/Block/goose/config` : `${dotConfig}/goose`}/config.yaml`,
      form: 'yaml',
    },
    { program: 'hermes', path: `${hermes}/config.yaml`, form: 'yaml' },
    json('openclaw', setIn(env.OPENCLAW_CONFIG_PATH) ?? `${openclaw}/openclaw.json`),
  ];
  // In the home itself, a program's own file and the folder's file are the same.
  return files.filter(({ path }, index) => files.findIndex((other) => other.path === path) === index);
}

/** The keys of a block of servers, with the program whose references and keys its servers have. */
const keysOfBlocks: readonly (readonly [key: string, program: ForeignProgram])[] = [
  ['mcpServers', 'claude-code'],
  ['servers', 'vscode'],
  ['context_servers', 'zed'],
  ['extensions', 'goose'],
  ['mcp', 'opencode'],
];

/** The program in whose form a block of servers is, by its keys; undefined if by none. */
export function programOf(value: Json, form: ForeignFile['form']): ForeignProgram | undefined {
  const held = objectOf(value);
  if (isJsonObject(held.mcp_servers)) return form === 'toml' ? 'codex' : 'hermes';
  return keysOfBlocks.find(([key]) => isJsonObject(held[key]))?.[1];
}

/** The servers in a file's value. Claude Code's own file has servers per folder; only this folder's count. */
export function serversIn(
  file: ForeignFile,
  value: Json,
  { folder, userHome }: Pick<ForeignPlaces, 'folder' | 'userHome'>,
): readonly ForeignServer[] {
  if (!isJsonObject(value)) return [];
  switch (file.program) {
    case 'claude-code': {
      const projects = objectOf(value.projects);
      const own = foldersAround(folder, userHome).map((around) => ({ around, project: objectOf(projects[around]) }));
      const ofFolders = own.flatMap(({ around, project }) =>
        named(project.mcpServers).map((server) => ({ ...server, folder: around })),
      );
      const servers = [...named(value.mcpServers), ...ofFolders];
      return withoutOff(servers, new Set(own.flatMap(({ project }) => texts(project.disabledMcpServers))));
    }
    case 'claude-desktop':
    case 'cursor':
    case 'windsurf':
      return named(value.mcpServers);
    case 'gemini-cli': {
      const servers = named(value.mcpServers);
      const { allowed, excluded } = objectOf(value.mcp);
      const on = texts(allowed);
      const off = servers.map(({ name }) => name).filter((name) => on.length > 0 && !on.includes(name));
      return withoutOff(servers, new Set([...off, ...texts(excluded)]));
    }
    case 'vscode': {
      // Older versions kept both in the settings, under one key.
      const held = file.path.endsWith('/settings.json') ? objectOf(value.mcp) : value;
      return named(held.servers, inputsOf(held.inputs));
    }
    case 'codex':
    case 'hermes':
      return named(value.mcp_servers);
    case 'goose':
      // Its own extensions have no server.
      return named(value.extensions).filter(({ value: { cmd, uri } }) => cmd !== undefined || uri !== undefined);
    case 'openclaw':
      return named(objectOf(value.mcp).servers);
    case 'zed':
      return named(value.context_servers);
    case 'opencode': {
      // Its second version keeps them one level deeper; in the first, a server may have that name.
      const held = objectOf(value.mcp);
      const deeper = objectOf(held.servers);
      return named(held.servers === undefined || typeof deeper.type === 'string' ? held : deeper);
    }
  }
}

/** Why a file that is for servers alone has none: it is in the form of another program, or lacks the key around them. */
export function lackIn({ program, path }: ForeignFile, value: Json): string | undefined {
  const key = program === 'vscode' ? 'servers' : 'mcpServers';
  const isForServers = /\/(?:\.?mcp|mcp_config)\.json$/.test(path);
  if (!isForServers || isJsonObject(objectOf(value)[key]) || Object.keys(objectOf(value)).length === 0)
    return undefined;
  return `it has no object ${key} with servers in it`;
}

/** Names of a folder's servers that a person has refused or switched off, from one of Claude Code's files. */
export function switchedOffIn(value: Json, workspace: string | undefined): readonly string[] {
  if (!isJsonObject(value) || workspace === undefined) return [];
  const project = objectOf(objectOf(value.projects)[workspace]);
  return [value.disabledMcpjsonServers, project.disabledMcpjsonServers, project.disabledMcpServers].flatMap(texts);
}

/** The servers without the tools that Claude Code's permissions deny: `mcp__server`, `mcp__server__*`, `mcp__server__tool`. */
export function withoutDenied(servers: readonly ForeignServer[], rules: readonly string[]): readonly ForeignServer[] {
  return servers.map((server) => {
    const own = `mcp__${server.name.replace(/[^\w-]/g, '_')}`;
    const denied = rules.flatMap((rule) =>
      rule === own ? ['*'] : rule.startsWith(`${own}__`) ? [rule.slice(own.length + 2)] : [],
    );
    if (denied.length === 0) return server;
    return { ...server, value: { ...server.value, excludeTools: [...texts(server.value.excludeTools), ...denied] } };
  });
}

/** The rules of one of Claude Code's files of settings by which it never calls a tool. */
export function deniedIn(value: Json): readonly string[] {
  return texts(objectOf(objectOf(value).permissions).deny);
}

/** The servers, with the named ones switched off here too. */
export function withoutOff(servers: readonly ForeignServer[], off: ReadonlySet<string>): readonly ForeignServer[] {
  return servers.map((server) =>
    off.has(server.name) ? { ...server, value: { ...server.value, disabled: true } } : server,
  );
}

/** The servers of other folders in Claude Code's own file, to be shown. */
export function serversElsewhere(
  file: ForeignFile,
  value: Json,
  { folder, userHome }: Pick<ForeignPlaces, 'folder' | 'userHome'>,
): readonly ServersElsewhere[] {
  if (file.program !== 'claude-code' || !isJsonObject(value)) return [];
  const around = new Set(foldersAround(folder, userHome));
  return Object.entries(objectOf(value.projects)).flatMap(([other, project]) => {
    const names = named(objectOf(project).mcpServers).map(({ name }) => name);
    return around.has(other) || names.length === 0 ? [] : [{ folder: other, names }];
  });
}

/** The folder and its parents, nearest first, as far as they belong to the user: folders above may be anyone's. */
function foldersAround(folder: string, userHome: string): readonly string[] {
  const around = [folder];
  if (!folder.startsWith(`${userHome}/`)) return around;
  for (let at = folder; at !== userHome; ) {
    at = at.slice(0, at.lastIndexOf('/'));
    around.push(at);
  }
  return around;
}

function settingsFolder(platform: string, userHome: string, env: ForeignPlaces['env']): string {
  if (platform === 'darwin') return `${userHome}/Library/Application Support`;
  if (platform === 'win32') return setIn(env.APPDATA) ?? `${userHome}/AppData/Roaming`;
  return setIn(env.XDG_CONFIG_HOME) ?? `${userHome}/.config`;
}

/** An empty variable counts as unset, as in the XDG specification and the programs. */
function setIn(variable: string | undefined): string | undefined {
  return variable === '' ? undefined : variable;
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
    found.push([input.id, whatIsAsked(input, input.id)]);
  }
  return Object.fromEntries(found);
}

/** Its description, with the choices that VS Code would offer. */
function whatIsAsked(input: JsonObject, id: string): string {
  const what = typeof input.description === 'string' ? input.description : id;
  const offered = (Array.isArray(input.options) ? (input.options as readonly Json[]) : []).map((option) =>
    isJsonObject(option) ? option.value : option,
  );
  const details = [
    ...(offered.length > 0 ? [`one of ${texts(offered.filter((one) => one !== undefined)).join(', ')}`] : []),
    ...(typeof input.default === 'string' && input.password !== true && input.default !== ''
      ? [`VS Code proposes ${input.default}`]
      : []),
  ];
  return details.length > 0 ? `${what} (${details.join('; ')})` : what;
}

/** The texts of a list; none if it is no list. */
export function texts(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? (value as readonly Json[]).filter((one): one is string => typeof one === 'string') : [];
}

export function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
