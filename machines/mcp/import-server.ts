/**
 * Turns another program's server into an entry of ours: keys by the same meaning, references in our spelling, and a word
 * about everything that has no counterpart here. Decides nothing about names that are taken.
 * @see CLI-5 and CFG-1 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import type { ForeignProgram, ForeignServer } from './foreign-files.ts';
import { spelled } from './secret-places.ts';

/** A variable that the entry refers to and that somebody must set. */
export interface WantedVariable {
  readonly variable: string;
  /** What it is for. */
  readonly why: string;
  /** What the other program takes where nothing is set. */
  readonly fallback?: string;
}

export interface ImportedServer {
  readonly entry: JsonObject;
  readonly wanted: readonly WantedVariable[];
  /** What could not be taken over, and what to look at. */
  readonly notes: readonly string[];
}

export interface ImportPlace {
  readonly program: ForeignProgram;
  readonly workspace: string | undefined;
}

export type ImportVerdict =
  | ({ readonly kind: 'imported' } & ImportedServer)
  | { readonly kind: 'unusable'; readonly why: string };

export function importServer(server: ForeignServer, place: ImportPlace): ImportVerdict {
  const { value } = server;
  if (typeof value.command !== 'string' && typeof value.url !== 'string' && typeof value.serverUrl !== 'string') {
    return { kind: 'unusable', why: 'it has neither a command nor a url' };
  }
  const wanted: WantedVariable[] = [];
  const notes: string[] = [];
  const mapped = place.program === 'codex' ? fromCodex(value, wanted, notes) : fromJson(value, notes);
  const entry = withReferences(mapped, server, place, wanted) as JsonObject;
  if (entry.url !== undefined && entry.headers === undefined && entry.auth === undefined) {
    notes.push('if it asks for a login, set auth: oauth and run `agent mcp login`');
  }
  return { kind: 'imported', entry, wanted, notes };
}

/** Keys that say nothing beyond what others say, or that only the other program's screen needs. */
const silent: ReadonlySet<string> = new Set([
  'type',
  'name',
  'description',
  'gallery',
  'version',
  'alwaysAllow',
  'autoApprove',
]);

function fromJson(value: JsonObject, notes: string[]): JsonObject {
  const {
    command,
    args,
    env,
    url,
    serverUrl,
    headers,
    type,
    transport,
    disabled,
    enabled,
    timeout,
    oauth,
    auth,
    ...rest
  } = value;
  const remote = typeof url === 'string' ? url : serverUrl;
  const isStdio = typeof command === 'string';
  const login = isJsonObject(oauth) ? oauth : isJsonObject(auth) ? auth : undefined;
  leaveOut(rest, notes);
  return present({
    command: isStdio ? command : undefined,
    args: isStdio && Array.isArray(args) && args.length > 0 ? args : undefined,
    env: isStdio ? filled(env) : undefined,
    url: isStdio ? undefined : remote,
    transport: !isStdio && (type === 'sse' || transport === 'sse') ? 'sse' : undefined,
    headers: isStdio ? undefined : filled(headers),
    enabled: disabled === true || enabled === false ? false : undefined,
    // The others count milliseconds.
    timeout: typeof timeout === 'number' && timeout >= 1_000 ? timeout / 1_000 : undefined,
    ...(isStdio || login === undefined ? {} : loginOf(login)),
  });
}

function fromCodex(value: JsonObject, wanted: WantedVariable[], notes: string[]): JsonObject {
  const { command, args, env, env_vars, url, bearer_token_env_var, http_headers, env_http_headers, ...more } = value;
  const { enabled, startup_timeout_sec, startup_timeout_ms, tool_timeout_sec, enabled_tools, disabled_tools, ...rest } =
    more;
  const isStdio = typeof command === 'string';
  leaveOut(rest, notes);
  const referred = (variable: string): string => {
    wanted.push({ variable, why: 'Codex reads it from the environment' });
    return `\${${variable}}`;
  };
  const forwarded = texts(env_vars).map((name) => [name, referred(name)] as const);
  const fromEnv = Object.entries(objectOf(env_http_headers)).map(
    ([header, name]) => [header, referred(String(name))] as const,
  );
  const bearer =
    typeof bearer_token_env_var === 'string' ? { Authorization: `Bearer ${referred(bearer_token_env_var)}` } : {};
  const seconds = typeof startup_timeout_ms === 'number' ? startup_timeout_ms / 1_000 : startup_timeout_sec;
  const tools = present({
    include: texts(enabled_tools).length > 0 ? texts(enabled_tools) : undefined,
    exclude: texts(disabled_tools).length > 0 ? texts(disabled_tools) : undefined,
  });
  return present({
    command: isStdio ? command : undefined,
    args: isStdio && Array.isArray(args) && args.length > 0 ? args : undefined,
    env: isStdio ? filled({ ...objectOf(env), ...Object.fromEntries(forwarded) }) : undefined,
    url: isStdio ? undefined : url,
    headers: isStdio ? undefined : filled({ ...objectOf(http_headers), ...Object.fromEntries(fromEnv), ...bearer }),
    enabled: enabled === false ? false : undefined,
    connect_timeout: typeof seconds === 'number' && seconds > 0 ? seconds : undefined,
    timeout: typeof tool_timeout_sec === 'number' && tool_timeout_sec > 0 ? tool_timeout_sec : undefined,
    tools: Object.keys(tools).length > 0 ? tools : undefined,
  });
}

/** Claude Code's and Cursor's spellings of one thing. */
function loginOf(login: JsonObject): JsonObject {
  const scopes = login.scopes ?? login.scope;
  return {
    auth: 'oauth',
    oauth: present({
      client_id: login.clientId ?? login.CLIENT_ID,
      client_secret: login.clientSecret ?? login.CLIENT_SECRET,
      redirect_port: login.callbackPort,
      scope: Array.isArray(scopes) ? texts(scopes).join(' ') : scopes,
    }),
  };
}

function leaveOut(rest: JsonObject, notes: string[]): void {
  const left = Object.keys(rest).filter((key) => !silent.has(key));
  if (left.length > 0) notes.push(`not taken over: ${left.join(', ')}`);
}

/** Codex and Claude Desktop take every text as it stands; the others know references, each in its spelling. */
function withReferences(value: Json, server: ForeignServer, place: ImportPlace, wanted: WantedVariable[]): Json {
  if (place.program === 'codex' || place.program === 'claude-desktop') return value;
  if (Array.isArray(value)) return value.map((item) => withReferences(item, server, place, wanted));
  if (isJsonObject(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([key, held]) => [key, withReferences(held, server, place, wanted)]),
    );
  }
  return typeof value === 'string' ? referencesOf(value, server, place, wanted) : value;
}

function referencesOf(
  text: string,
  server: ForeignServer,
  { workspace }: ImportPlace,
  wanted: WantedVariable[],
): string {
  return text.replace(/\$\{([^{}]+)\}/g, (whole, inner: string) => {
    if (inner.startsWith('input:')) {
      const id = inner.slice('input:'.length);
      const [prefix, own] = [spelled(server.name), spelled(id)];
      const variable = own.startsWith(prefix) ? own : `${prefix}_${own}`;
      wanted.push({ variable, why: server.inputs[id] ?? id });
      return `\${${variable}}`;
    }
    if ((inner === 'workspaceFolder' || inner === 'cwd') && workspace !== undefined) return workspace;
    const [, variable, fallback] = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s.exec(inner) ?? [];
    if (variable === undefined || places.has(variable)) return whole;
    const why = 'it is read from the environment';
    wanted.push(fallback === undefined ? { variable, why } : { variable, why, fallback });
    return `\${${variable}}`;
  });
}

/** References that are no variables; they mean the same here. */
const places: ReadonlySet<string> = new Set([
  'userHome',
  'workspaceFolder',
  'workspaceFolderBasename',
  'pathSeparator',
]);

function present(entry: Readonly<Record<string, Json | undefined>>): JsonObject {
  return Object.fromEntries(Object.entries(entry).filter((pair): pair is [string, Json] => pair[1] !== undefined));
}

function filled(value: Json | undefined): JsonObject | undefined {
  const map = objectOf(value);
  return Object.keys(map).length > 0 ? map : undefined;
}

function texts(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? (value as readonly Json[]).filter((one): one is string => typeof one === 'string') : [];
}

function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
